/*
 * Goal: what roles tried becomes a row for each thing that should have been tried, and silence, an
 * old word or a missing socket is unverified, never in order; the JSON is what its schema says; the
 * exit code is the worst verdict. Method: rows and status documents made by hand; a checker of the
 * few words of JSON Schema that the schema uses; then the command against a played daemon.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/audit.h"
#include "tests/unit/ctl_schema.h"

static struct audit_row holder_of(const char *subject, enum audit_verdict verdict)
{
	struct audit_row row = { .kind = AUDIT_CREDENTIAL, .verdict = verdict, .what = "holder" };

	(void)snprintf(row.subject, sizeof(row.subject), "%s", subject);
	return row;
}

static void add_holder(struct audit_list *list, const char *subject, enum audit_verdict verdict)
{
	struct audit_row row = holder_of(subject, verdict);

	audit_list_add(list, &row);
}

/* NULL when there is none. */
static const struct audit_row *row_of(
    const struct audit_list *list, const char *subject, const char *what)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->rows[i].subject, subject) == 0 &&
		    strcmp(list->rows[i].what, what) == 0)
			return &list->rows[i];
	return NULL;
}

/* --- What roles tried ------------------------------------------------------------------------ */

static void each_identity_should_have_tried_its_own_things(void **state)
{
	struct audit_list list = { 0 };

	(void)state;
	add_holder(&list, "elector", AUDIT_OK);
	add_holder(&list, "publisher", AUDIT_OK);
	add_holder(&list, "worker worker-1", AUDIT_OK);
	add_holder(&list, "hub-a", AUDIT_OK);
	audit_list_add_tried(&list, NULL);
	assert_int_equal(list.count, 4 + 3 + 2 + 6 + 1);
	assert_int_equal(list.verdicts[AUDIT_UNVERIFIED], 12);
	assert_non_null(row_of(&list, "elector", "the API server enforces the role"));
	assert_non_null(row_of(&list, "worker worker-1", "the deletion of a claim"));
	assert_null(row_of(&list, "publisher", "the deletion of a claim"));
	assert_null(row_of(&list, "hub-a", "rights everywhere"));
	audit_list_free(&list);
	/* Replicas have no HubRole that could be enforced. */
	add_holder(&list, "elector", AUDIT_OK);
	audit_list_add_tried(&list, NULL);
	assert_null(row_of(&list, "elector", "the API server enforces the role"));
	audit_list_free(&list);
}

static enum audit_verdict verdict_of(const char *verdict, long long age_ms)
{
	struct audit_list list = { 0 };
	json_t *status = json_pack("{s:[{s:s, s:s, s:s, s:s, s:s, s:s, s:I}]}", "rights", "name",
	    "worker", "worker", "w", "check", "door-term", "declared", "refused", "found",
	    "not refused", "verdict", verdict, "ageMs", (json_int_t)age_ms);
	const struct audit_row *row;
	enum audit_verdict got;

	add_holder(&list, "worker w", AUDIT_OK);
	audit_list_add_tried(&list, status);
	row = row_of(&list, "worker w", "a claim with a lower term");
	assert_non_null(row);
	assert_string_equal(row->declared, "refused");
	assert_string_equal(row->effective, "");
	assert_string_equal(row->probed, "not refused");
	got = row->verdict;
	/* What it did not speak of is not in order because it spoke of something. */
	assert_int_equal(
	    row_of(&list, "worker w", "the deletion of a claim")->verdict, AUDIT_UNVERIFIED);
	audit_list_free(&list);
	json_decref(status);
	return got;
}

static void only_a_fresh_ok_is_one(void **state)
{
	(void)state;
	assert_int_equal(verdict_of("ok", 1000), AUDIT_OK);
	assert_int_equal(verdict_of("ok", 3600000), AUDIT_UNVERIFIED);
	assert_int_equal(verdict_of("finding", 1000), AUDIT_FINDING);
	assert_int_equal(verdict_of("finding", 3600000), AUDIT_FINDING);
	assert_int_equal(verdict_of("unverified", 1000), AUDIT_UNVERIFIED);
	assert_int_equal(verdict_of("OK", 1000), AUDIT_UNVERIFIED);
}

static void whose_role_does_not_run_has_nothing_to_try(void **state)
{
	struct audit_list list = { 0 };

	(void)state;
	add_holder(&list, "syncer", AUDIT_DECLARED);
	audit_list_add_tried(&list, NULL);
	assert_int_equal(row_of(&list, "syncer", "rights everywhere")->verdict, AUDIT_DECLARED);
	audit_list_free(&list);
}

/* --- The schema ------------------------------------------------------------------------------ */

static json_t *report_of(const struct audit_list *list, bool offline, bool deep)
{
	const struct audit_report report = { .list = list,
		.identity = offline ? "" : "hub-a",
		.mode = offline ? "" : "active",
		.time = offline ? "" : "2026-01-01T00:00:00.000Z",
		.offline = offline,
		.deep = deep };
	struct buf out = buf_make(1 << 20);
	json_t *root;

	audit_put_json(&report, &out);
	assert_false(out.failed);
	root = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	buf_free(&out);
	return root;
}

static void the_json_follows_its_schema_and_other_json_does_not(void **state)
{
	json_t *schema = json_load_file("docs/audit.schema.json", JSON_REJECT_DUPLICATES, NULL);
	struct audit_list list = { 0 };
	json_t *root;

	(void)state;
	assert_non_null(schema);
	for (unsigned kind = 0; kind < AUDIT_KIND_COUNT; kind++)
		for (unsigned verdict = 0; verdict < AUDIT_VERDICT_COUNT; verdict++) {
			struct audit_row row = { .kind = (enum audit_kind)kind,
				.verdict = (enum audit_verdict)verdict,
				.subject = "s",
				.what = "\"w\"",
				.probed = "p" };

			audit_list_add(&list, &row);
		}
	root = report_of(&list, true, false);
	assert_true(follows(schema, root));
	assert_string_equal(json_string_value(json_object_get(root, "result")), "findings");
	assert_true(json_is_null(json_object_get(root, "identity")));
	json_object_set_new(root, "more", json_true());
	assert_false(follows(schema, root));
	json_decref(root);

	root = report_of(&list, false, false);
	assert_true(follows(schema, root));
	json_object_set_new(
	    json_array_get(json_object_get(root, "rows"), 3), "verdict", json_string("fine"));
	assert_false(follows(schema, root));
	json_object_del(json_array_get(json_object_get(root, "rows"), 3), "verdict");
	assert_false(follows(schema, root));
	json_decref(root);
	json_decref(schema);
	audit_list_free(&list);
}

/* --- The command ----------------------------------------------------------------------------- */

static char directory[] = "/tmp/understudyctl-audit-XXXXXX", path[64], audit_path[64];

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/status.sock", directory);
	(void)snprintf(audit_path, sizeof(audit_path), "%s/audit.sock", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	(void)unlink(audit_path);
	return rmdir(directory);
}

/* A child that answers one connection to audit.sock. */
static pid_t play(const char *answer)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), client;
	pid_t pid;

	(void)unlink(audit_path);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", audit_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	pid = fork();
	if (pid == 0) {
		client = accept(fd, NULL, NULL);
		_exit(write(client, answer, strlen(answer)) < 0);
	}
	close(fd);
	return pid;
}

static struct buf out;
static struct err err;

static int run(const char *answer, const char *word, const char *value)
{
	char *argv[] = { "understudyctl", "--socket", path, "audit", (char *)word, (char *)value,
		NULL };
	pid_t pid = answer ? play(answer) : 0;
	int code;

	buf_free(&out);
	out = buf_make(1 << 20);
	err.text[0] = '\0';
	code = (int)commands_run(!word ? 4 : !value ? 5 : 6, argv, &out, &err);
	if (pid)
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	return code;
}

#define ROW(verdict) "file\tsocket\t/s\troot's\tmode 0660\t\t" verdict "\tbecause\n"

static void the_exit_code_is_the_worst_verdict(void **state)
{
	(void)state;
	assert_int_equal(run(AUDIT_HEAD "\n" ROW("ok") AUDIT_END "\n", NULL, NULL), 0);
	assert_non_null(strstr(out.data, "audit: 1 rows, 1 ok, 0 waived, 0 declared, 0 unverified, "
					 "0 finding: clean\n"));
	assert_int_equal(
	    run(AUDIT_HEAD "\n" ROW("ok") ROW("finding") ROW("unverified") AUDIT_END "\n", "-o",
		"json"),
	    1);
	assert_string_equal(err.text, "1 findings, 1 unverified");
	assert_non_null(strstr(out.data, "\"result\": \"findings\""));
	assert_int_equal(run(AUDIT_HEAD "\n" ROW("unverified") AUDIT_END "\n", NULL, NULL), 2);
	/* It stands under its kind, and once more where a person looks. */
	assert_non_null(strstr(out.data, "\n1 unverified:\n  unverified  socket                /s: "
					 "declared root's, effective mode 0660 (because)\n"));
}

static void a_cut_answer_and_none_are_not_clean(void **state)
{
	(void)state;
	assert_int_equal(run(AUDIT_HEAD "\n" ROW("ok"), NULL, NULL), 2);
	assert_non_null(strstr(err.text, "cut off"));
	assert_int_equal(run("HTTP/1.1 200 OK\r\n\r\n", NULL, NULL), 2);
	(void)unlink(audit_path);
	assert_int_equal(run(NULL, NULL, NULL), CTL_NO_DAEMON);
	assert_non_null(strstr(err.text, "audit.sock"));
}

static void other_words_are_told_what_was_expected(void **state)
{
	(void)state;
	assert_int_equal(run(NULL, "-o", "xml"), CTL_USAGE);
	assert_int_equal(run(NULL, "--offline", NULL), CTL_USAGE);
	assert_int_equal(run(NULL, "--deeply", NULL), CTL_USAGE);
	assert_non_null(strstr(err.text, "audit [--deep | --offline CONFIG] [-o text|json]"));
	assert_int_equal(run(NULL, "--deep", "--offline"), CTL_USAGE);
}

/* It asks the socket of the canaries, and says which kind of audit this is. */
static void a_deep_audit_asks_another_socket(void **state)
{
	json_t *schema = json_load_file("docs/audit.schema.json", JSON_REJECT_DUPLICATES, NULL);
	struct audit_list list = { 0 };
	json_t *root;

	(void)state;
	assert_int_equal(run(NULL, "--deep", NULL), CTL_NO_DAEMON);
	assert_non_null(strstr(err.text, "canary.sock"));
	(void)snprintf(audit_path, sizeof(audit_path), "%s/canary.sock", directory);
	assert_int_equal(
	    run(AUDIT_HEAD "\nprobe\tsyncer\ttraces\tkilled by SIGSYS\t\tworks\tfinding"
			   "\tit does not hold\n" AUDIT_END "\n",
		"--deep", NULL),
	    1);
	assert_non_null(strstr(out.data, "audit with canaries"));
	assert_non_null(
	    strstr(out.data, "  finding     syncer                traces: declared killed "
			     "by SIGSYS, probed works (it does not hold)\n"));
	(void)unlink(audit_path);
	(void)snprintf(audit_path, sizeof(audit_path), "%s/audit.sock", directory);

	root = report_of(&list, false, true);
	assert_true(follows(schema, root));
	assert_true(json_is_true(json_object_get(root, "deep")));
	json_object_del(root, "deep");
	assert_false(follows(schema, root));
	json_decref(root);
	json_decref(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_identity_should_have_tried_its_own_things),
		cmocka_unit_test(only_a_fresh_ok_is_one),
		cmocka_unit_test(whose_role_does_not_run_has_nothing_to_try),
		cmocka_unit_test(the_json_follows_its_schema_and_other_json_does_not),
		cmocka_unit_test(the_exit_code_is_the_worst_verdict),
		cmocka_unit_test(a_cut_answer_and_none_are_not_clean),
		cmocka_unit_test(a_deep_audit_asks_another_socket),
		cmocka_unit_test(other_words_are_told_what_was_expected),
	};
	int failed = cmocka_run_group_tests(tests, make_directory, remove_directory);

	buf_free(&out);
	return failed;
}
