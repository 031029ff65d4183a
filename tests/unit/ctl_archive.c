/*
 * Goal: what is restored carries nothing of the cluster that it came from and nothing of the
 * mirror's, a Secret is not printed unasked, and whatever a Secret of the archive holds is read
 * within bounds or refused (C12, H13, B22). Method: pure functions on JSON texts; kubectl and
 * servers are the scenario's (bed verbs).
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "ctl/archive.h"
#include "ctl/archived.h"

static json_t *parse(const char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, 0, &error);

	if (!value)
		fail_msg("%s at %d", error.text, error.position);
	return value;
}

static void restorable(const char *text, const char *expected)
{
	json_t *object = parse(text), *wanted = parse(expected);
	char *got;

	archive_make_restorable(object);
	got = json_dumps(object, JSON_COMPACT);
	if (!json_equal(object, wanted))
		fail_msg("%s", got);
	free(got);
	json_decref(object);
	json_decref(wanted);
}

static void C12_what_is_restored_is_nobodys_copy(void **state)
{
	(void)state;
	restorable(
	    "{\"apiVersion\":\"v1\",\"kind\":\"X\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\","
	    "\"resourceVersion\":\"1\",\"creationTimestamp\":\"t\",\"generation\":3,"
	    "\"managedFields\":[],\"finalizers\":[\"f\"],\"ownerReferences\":[{}],"
	    "\"deletionTimestamp\":\"t\",\"labels\":{\"ha.kubeslice.io/synced-from\":\"active\","
	    "\"l\":\"1\"},\"annotations\":{\"ha.kubeslice.io/source-rv\":\"9\",\"a\":\"1\","
	    "\"ha.kubeslice.io/parked\":\"{\\\"labels\\\":{\\\"app.kubernetes.io/instance\\\":"
	    "\\\"shop\\\"},\\\"annotations\\\":{\\\"t\\\":\\\"x\\\"}}\"}},\"spec\":{\"n\":1},"
	    "\"status\":{\"s\":1}}",
	    "{\"apiVersion\":\"v1\",\"kind\":\"X\",\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":"
	    "\"1\",\"app.kubernetes.io/instance\":\"shop\"},\"annotations\":{\"a\":\"1\",\"t\":"
	    "\"x\"}},\"spec\":{\"n\":1}}");
	restorable(
	    "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"finalizers\":["
	    "\"kubernetes\"]}}",
	    "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\"}}");
	restorable(
	    "{\"kind\":\"Secret\",\"type\":\"kubernetes.io/service-account-token\",\"data\":{\"ca."
	    "crt\":\"x\"},\"metadata\":{\"annotations\":{\"kubernetes.io/service-account.uid\":"
	    "\"u\",\"kubernetes.io/service-account.name\":\"n\"}}}",
	    "{\"kind\":\"Secret\",\"type\":\"kubernetes.io/service-account-token\",\"metadata\":{"
	    "\"annotations\":{\"kubernetes.io/service-account.name\":\"n\"}}}");
	/* Marks that are no marks. */
	restorable(
	    "{\"metadata\":{\"labels\":5,\"annotations\":{\"ha.kubeslice.io/parked\":\"[\"}}}",
	    "{\"metadata\":{\"labels\":5,\"annotations\":{}}}");
	restorable(
	    "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/parked\":\"{\\\"labels\\\":1}\"}}}",
	    "{\"metadata\":{\"annotations\":{}}}");
}

static void equal_is_what_would_not_change(void **state)
{
	json_t *a = parse("{\"kind\":\"X\",\"metadata\":{\"name\":\"a\"},\"spec\":1}");
	json_t *b = parse("{\"kind\":\"X\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"spec\":1,"
			  "\"status\":2}");
	json_t *c = parse("{\"kind\":\"X\",\"metadata\":{\"name\":\"a\"},\"spec\":2}");

	(void)state;
	assert_false(archive_differs(a, b));
	assert_true(archive_differs(a, c));
	assert_non_null(json_object_get(b, "status")); /* not changed */
	json_decref(a);
	json_decref(b);
	json_decref(c);
}

static void a_secret_is_shown_by_its_size(void **state)
{
	json_t *secret =
	    parse("{\"kind\":\"Secret\",\"data\":{\"k\":\"aHVudGVyMg==\"},"
		  "\"stringData\":{\"s\":\"hunter2\"},\"metadata\":{\"annotations\":{"
		  "\"kubectl.kubernetes.io/last-applied-configuration\":\"hunter2\"}}}");
	json_t *other = parse("{\"kind\":\"Role\",\"data\":{\"k\":\"v\"}}");
	char *text;

	(void)state;
	archive_redact(secret);
	text = json_dumps(secret, JSON_COMPACT);
	assert_null(strstr(text, "hunter2"));
	assert_null(strstr(text, "aHVudGVyMg"));
	assert_non_null(strstr(text, "(12 characters, "));
	free(text);
	archive_redact(other);
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(other, "data"), "k")), "v");
	json_decref(secret);
	json_decref(other);
}

#define LINE(name, created, part)                                                                  \
	"{\"name\":\"" name "\",\"creationTimestamp\":\"" created                                  \
	"\",\"annotations\":{\"ha.kubeslice.io/archived-kind\":\"a/v1 K\",\"ha.kubeslice.io/"      \
	"archived-object\":\"n/x\",\"ha.kubeslice.io/archived-because\":\"extra\","                \
	"\"ha.kubeslice.io/archived-part\":\"" part "\"}}\n"

static void lines_become_records_the_newest_first(void **state)
{
	struct archived_list list;
	char name[112];

	(void)state;
	archived_parse("\n" LINE("archive-3-0123456789abcdef", "2026-01-01T00:00:00Z", "1/2")
			   LINE("archive-3-0123456789abcdef-1", "2026-01-01T00:00:00Z", "2/2")
			       LINE("archive-4-0123456789abcdee", "2026-01-02T00:00:00Z", "1/1")
	    /* none of ours */
	    LINE("archive-4-0123456789abcdeg", "2026-01-02T00:00:00Z", "1/1") LINE(
		"archive--0123456789abcdef", "2026-01-02T00:00:00Z", "1/1")
		LINE("archive-5-0123456789abcdef", "x", "1/9999") LINE(
		    "archive-5-0123456789abcdef", "x", "0/0") "{}\n[]\n7\nnull\n{\"name\":5}\n{",
	    &list);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].name, "archive-4-0123456789abcdee");
	assert_int_equal(list.items[0].term, 4);
	assert_int_equal(list.items[1].parts, 2);
	assert_string_equal(list.items[1].kind, "K");
	assert_string_equal(list.items[1].version, "a/v1");
	assert_string_equal(list.items[1].object, "n/x");
	archived_part_name(&list.items[1], 1, name);
	assert_string_equal(name, "archive-3-0123456789abcdef-1");
	archived_free(&list);
	archived_parse("", &list);
	assert_int_equal(list.count, 0);
	archived_free(&list);
}

static size_t zip(const char *text, size_t n, unsigned char *out, size_t size)
{
	z_stream stream = { .next_in = (unsigned char *)text, .avail_in = (unsigned)n };

	assert_int_equal(
	    deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_out = out;
	stream.avail_out = (unsigned)size;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	(void)deflateEnd(&stream);
	return size - stream.avail_out;
}

static void what_is_unpacked_is_bounded(void **state)
{
	static unsigned char packed[65536];
	char *large = calloc(1, 16u << 20);
	struct buf out = buf_make(32u << 20);
	size_t n = zip("{\"a\":1}", 7, packed, sizeof(packed));

	(void)state;
	assert_true(archived_unpack((struct str){ (char *)packed, n }, &out));
	assert_string_equal(out.data, "{\"a\":1}");
	assert_false(archived_unpack((struct str){ (char *)packed, n - 1 }, &out)); /* cut */
	assert_false(archived_unpack(STR_LIT("no gzip"), &out));
	assert_false(archived_unpack((struct str){ "", 0 }, &out));
	packed[n / 2] ^= 0x55;
	assert_false(archived_unpack((struct str){ (char *)packed, n }, &out));
	n = zip(large, 16u << 20, packed, sizeof(packed)); /* 16 MiB of nothing */
	assert_false(archived_unpack((struct str){ (char *)packed, n }, &out));
	free(large);
	buf_free(&out);
}

static void names_and_spans(void **state)
{
	long long ms;

	(void)state;
	assert_true(archived_is_name("archive-12-0123456789abcdef"));
	assert_false(archived_is_name("archive-12-0123456789abcdef-1"));
	assert_false(archived_is_name("archive-12-0123456789ABCDEF"));
	assert_false(archived_is_name("--all"));
	assert_false(archived_is_name("archive-"));
	assert_true(archive_span("30d", &ms));
	assert_int_equal(ms, 30LL * 86400000);
	assert_true(archive_span("1h30m", &ms));
	assert_int_equal(ms, 5400000);
	assert_false(archive_span("", &ms));
	assert_false(archive_span("d", &ms));
	assert_false(archive_span("-1d", &ms));
	assert_false(archive_span("1w", &ms));
}

#define RUN(...)                                                                                   \
	commands_run(                                                                              \
	    (int)(sizeof((char *[]){ "understudyctl", "archive", __VA_ARGS__ }) / sizeof(char *)), \
	    (char *[]){ "understudyctl", "archive", __VA_ARGS__, NULL }, &out, &err)

static void what_is_no_word_is_refused(void **state)
{
	struct buf out = buf_make(65536);
	struct err err;

	(void)state;
	assert_int_equal(RUN("all"), CTL_USAGE);
	assert_int_equal(RUN("list", "--term", "x"), CTL_USAGE);
	assert_int_equal(RUN("list", "--since"), CTL_USAGE);
	assert_int_equal(RUN("list", "--yes", "x"), CTL_USAGE);
	assert_int_equal(RUN("list", "x"), CTL_USAGE);
	assert_int_equal(RUN("list", "-o", "yaml"), CTL_USAGE);
	assert_int_equal(RUN("show"), CTL_USAGE);
	assert_int_equal(RUN("show", "--all"), CTL_USAGE);
	assert_int_equal(RUN("show", "secret-of-another"), CTL_USAGE);
	assert_int_equal(
	    RUN("show", "archive-3-0123456789abcdef", "--namespace", "--all"), CTL_USAGE);
	assert_int_equal(RUN("restore", "archive-3-0123456789abcdef"), CTL_USAGE);
	assert_non_null(strstr(err.text, "--to-context"));
	assert_int_equal(RUN("prune", "--keep", "-1"), CTL_USAGE);
	assert_int_equal(RUN("prune", "--older-than", "soon"), CTL_USAGE);
	buf_free(&out);
}

/* Started by a process that ignores the ends of its children: that kubectl failed is told all the
 * same, and nothing is called done or not there. */
static void a_parent_that_ignores_ends_hides_none(void **state)
{
	char folder[] = "/tmp/understudyctl-test-XXXXXX", script[64];
	struct buf out = buf_make(65536);
	struct err err;
	FILE *file;
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(script, sizeof(script), "%s/kubectl", folder);
	file = fopen(script, "w");
	assert_non_null(file);
	(void)fputs("#!/bin/sh\necho 'Error from server (Forbidden): no' >&2\nexit 1\n", file);
	assert_int_equal(fchmod(fileno(file), 0700), 0);
	assert_int_equal(fclose(file), 0);
	pid = fork();
	if (pid == 0) {
		if (signal(SIGCHLD, SIG_IGN) == SIG_ERR || setenv("PATH", folder, 1) != 0)
			_exit(1);
		if (RUN("list") != CTL_REFUSED || !strstr(err.text, "(Forbidden)"))
			_exit(2);
		(void)signal(SIGCHLD, SIG_IGN);
		_exit(RUN("prune", "--older-than", "1d", "--yes", "x") == CTL_DONE ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)unlink(script);
	(void)rmdir(folder);
	buf_free(&out);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(C12_what_is_restored_is_nobodys_copy),
		cmocka_unit_test(equal_is_what_would_not_change),
		cmocka_unit_test(a_secret_is_shown_by_its_size),
		cmocka_unit_test(lines_become_records_the_newest_first),
		cmocka_unit_test(what_is_unpacked_is_bounded),
		cmocka_unit_test(names_and_spans),
		cmocka_unit_test(what_is_no_word_is_refused),
		cmocka_unit_test(a_parent_that_ignores_ends_hides_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
