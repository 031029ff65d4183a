/*
 * Gathers the rows of the audit (see the header). It judges nothing that the supervisor or a role
 * has judged, and takes silence for no proof: who should have tried and did not say so is
 * unverified. Called by commands.c through its table.
 */
#include "ctl/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "ctl/json.h"
#include "ctl/spawn.h"

/* A role tries every five minutes; what is much older says nothing about now. */
#define STALE_MS 900000

void audit_list_add(struct audit_list *list, const struct audit_row *row)
{
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 256;
		list->rows = realloc(list->rows, list->room * sizeof(*list->rows));
		CHECK(list->rows);
	}
	list->rows[list->count++] = *row;
	list->verdicts[row->verdict]++;
}

void audit_list_free(struct audit_list *list)
{
	free(list->rows);
	*list = (struct audit_list){ 0 };
}

int audit_list_take(struct audit_list *list, struct str text)
{
	struct audit_row row;
	int got;

	if (!audit_take_head(&text))
		return -1;
	while ((got = audit_take(&text, &row)) > 0)
		audit_list_add(list, &row);
	return got;
}

/* --- What roles tried ------------------------------------------------------------------------ */

static const struct tried {
	const char *check; /* in the status document */
	const char *what;
	enum audit_kind kind;
	enum { OF_ALL, OF_OURS, OF_WORKERS, OF_ELECTOR } whose;
} tried[] = {
	{ "rights-home", "rights in its own namespace", AUDIT_RIGHT, OF_ALL },
	{ "rights-elsewhere", "rights everywhere", AUDIT_RIGHT, OF_OURS },
	{ "door-spec", "a claim without content", AUDIT_DOOR, OF_WORKERS },
	{ "door-delete", "the deletion of a claim", AUDIT_DOOR, OF_WORKERS },
	{ "door-identity", "a claim in another's name", AUDIT_DOOR, OF_WORKERS },
	{ "door-term", "a claim with a lower term", AUDIT_DOOR, OF_WORKERS },
	{ "fence", "the API server enforces the role", AUDIT_FENCE, OF_ELECTOR },
};
#define TRIED_COUNT (sizeof(tried) / sizeof(tried[0]))

static bool is_worker(const char *subject)
{
	return strncmp(subject, "worker ", 7) == 0;
}

static bool tries(const struct tried *one, const char *subject, bool is_pair)
{
	bool is_hub = strncmp(subject, "hub-", 4) == 0;

	switch (one->whose) {
	case OF_ALL: return true;
	case OF_OURS: return !is_hub; /* a worker's KubeSlice account has KubeSlice's rights */
	case OF_WORKERS: return is_worker(subject);
	case OF_ELECTOR: return is_pair && strcmp(subject, "elector") == 0;
	}
	return false;
}

/* What the status document has of it; NULL: nothing. */
static const json_t *find_word(const json_t *status, const char *subject, const char *check)
{
	const json_t *word;
	size_t i;

	json_array_foreach(json_object_get(status, "rights"), i, word)
	{
		const char *worker = member_text(word, "worker");
		char name[300];

		(void)snprintf(name, sizeof(name), "%s%s%s", member_text(word, "name"),
		    *worker ? " " : "", worker);
		if (strcmp(name, subject) == 0 && strcmp(member_text(word, "check"), check) == 0)
			return word;
	}
	return NULL;
}

static void cut_copy(char *to, size_t size, const char *text)
{
	struct str cut = str_cut(str_of(text), size - 1);

	(void)str_copy(to, size, cut);
}

static void judge_word(struct audit_row *row, const json_t *word)
{
	const char *verdict = member_text(word, "verdict");
	long long age_ms = member_number(word, "ageMs");

	cut_copy(row->declared, sizeof(row->declared), member_text(word, "declared"));
	cut_copy(row->probed, sizeof(row->probed), member_text(word, "found"));
	(void)snprintf(
	    row->text, sizeof(row->text), "the role's own word, %lld s ago", age_ms / 1000);
	row->verdict = AUDIT_UNVERIFIED;
	if (strcmp(verdict, "finding") == 0)
		row->verdict = AUDIT_FINDING;
	else if (strcmp(verdict, "ok") == 0 && age_ms < STALE_MS)
		row->verdict = AUDIT_OK;
}

void audit_list_add_tried(struct audit_list *list, const json_t *status)
{
	size_t count = list->count;
	bool is_pair = false;

	for (size_t i = 0; i < count; i++)
		is_pair = is_pair || (list->rows[i].kind == AUDIT_CREDENTIAL &&
					 strcmp(list->rows[i].subject, "publisher") == 0);
	for (size_t i = 0; i < count * TRIED_COUNT; i++) {
		const struct audit_row holder = list->rows[i / TRIED_COUNT];
		const struct tried *one = &tried[i % TRIED_COUNT];
		struct audit_row row = { .kind = one->kind };
		const json_t *word;

		if (holder.kind != AUDIT_CREDENTIAL || strcmp(holder.what, "holder") != 0 ||
		    !tries(one, holder.subject, is_pair))
			continue;
		(void)snprintf(row.subject, sizeof(row.subject), "%s", holder.subject);
		(void)snprintf(row.what, sizeof(row.what), "%s", one->what);
		word = find_word(status, holder.subject, one->check);
		if (holder.verdict == AUDIT_DECLARED) {
			row.verdict = AUDIT_DECLARED;
			(void)snprintf(row.text, sizeof(row.text), "its role does not run");
		} else if (word) {
			judge_word(&row, word);
		} else {
			row.verdict = AUDIT_UNVERIFIED;
			(void)snprintf(row.text, sizeof(row.text), "%s",
			    status ? "its role has not said anything yet"
				   : "status.sock does not answer");
		}
		audit_list_add(list, &row);
	}
}

/* --- Asking ---------------------------------------------------------------------------------- */

static int start_offline(const char *config, pid_t *pid)
{
	char *const argv[] = { "understudyd", "-a", "--config", (char *)config, NULL };
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	error = spawn_understudyd(argv, ends[1], -1, pid) == 0 ? 0 : errno;
	close(ends[1]);
	if (error == 0)
		return ends[0];
	close(ends[0]);
	errno = error;
	return -1;
}

/* Its errors go where ours do. */
static enum ctl_exit ask_offline(const char *config, struct buf *rows, struct err *err)
{
	char block[16384];
	pid_t pid;
	ssize_t n;
	int fd = start_offline(config, &pid);

	if (fd < 0) {
		err_set(err,
		    "understudyd cannot be started: %s; it is looked for beside "
		    "understudyctl",
		    strerror(errno));
		return CTL_UNVERIFIED;
	}
	while ((n = read(fd, block, sizeof(block))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			buf_append(rows, block, (size_t)n);
	close(fd);
	(void)spawn_wait(pid);
	if (rows->len > 0)
		return CTL_DONE;
	err_set(err, "%s: nothing could be looked at, as understudyd says", config);
	return CTL_UNVERIFIED;
}

/* The status document, NULL when it cannot be had: rows say so. */
static json_t *read_status(const struct ctl_options *options)
{
	struct buf document = buf_make(CLIENT_MAX_BYTES);
	json_t *status = NULL;
	struct err ignored;

	if (client_read(options->socket, &document, &ignored) == CTL_DONE)
		status = json_loadb(document.data, document.len, JSON_REJECT_DUPLICATES, NULL);
	buf_free(&document);
	return status;
}

struct wish {
	const char *offline; /* configuration; NULL: the daemon */
	bool as_json, deep;
};

static enum ctl_exit parse(int argc, char **argv, struct wish *wish, struct err *err)
{
	*wish = (struct wish){ 0 };
	for (int i = 1; i < argc; i++) {
		bool takes_offline = strcmp(argv[i], "--offline") == 0;

		if (strcmp(argv[i], "--deep") == 0) {
			wish->deep = true;
			continue;
		}
		if (!takes_offline && strcmp(argv[i], "-o") != 0)
			return command_misused(err, argv[0], "unknown word ", argv[i]);
		if (++i == argc || !argv[i][0])
			return command_misused(err, argv[0],
			    takes_offline ? "--offline takes a configuration file"
					  : "-o takes json or text",
			    "");
		if (takes_offline)
			wish->offline = argv[i];
		else if (strcmp(argv[i], "json") != 0 && strcmp(argv[i], "text") != 0)
			return command_misused(err, argv[0], "-o takes json or text", "");
		else
			wish->as_json = strcmp(argv[i], "json") == 0;
	}
	if (wish->deep && wish->offline)
		return command_misused(
		    err, argv[0], "--deep asks a daemon, and --offline asks none", "");
	return CTL_DONE;
}

static enum ctl_exit report(
    const struct audit_report *report, bool as_json, struct buf *out, struct err *err)
{
	const unsigned *verdicts = report->list->verdicts;
	int code = audit_exit_code(verdicts);

	(as_json ? audit_put_json : audit_put_text)(report, out);
	if (code != 0)
		err_set(err, "%u findings, %u unverified", verdicts[AUDIT_FINDING],
		    verdicts[AUDIT_UNVERIFIED]);
	return (enum ctl_exit)code;
}

enum ctl_exit audit_command(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	struct buf rows = buf_make(CLIENT_MAX_BYTES);
	struct audit_list list = { 0 };
	json_t *status = NULL;
	struct wish wish;
	enum ctl_exit code = parse(argc, argv, &wish, err);

	if (code != CTL_DONE)
		return code;
	code = wish.offline ? ask_offline(wish.offline, &rows, err)
			    : client_audit(options->socket, wish.deep, &rows, err);
	if (code == CTL_DONE && audit_list_take(&list, buf_str(&rows)) != 0) {
		err_set(err, "what came back is no audit, or was cut off; are understudyd and "
			     "understudyctl of one version?");
		code = CTL_UNVERIFIED;
	}
	if (code == CTL_DONE) {
		status = wish.offline ? NULL : read_status(options);
		audit_list_add_tried(&list, status);
		code = report(&(struct audit_report){ .list = &list,
				  .identity = member_text(status, "identity"),
				  .mode = member_text(status, "mode"),
				  .time = member_text(status, "time"),
				  .offline = wish.offline != NULL,
				  .deep = wish.deep },
		    wish.as_json, out, err);
	}
	json_decref(status);
	audit_list_free(&list);
	buf_free(&rows);
	return code;
}
