/*
 * The verbs of `sync` (see the header). It decides nothing: what is held, what differs and what may
 * be done now is the mirror's word; who could lose something by it sees a list first and types this
 * hub's name. Called by commands.c through its table.
 */
#include "ctl/mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/json.h"
#include "ctl/leftovers.h"
#include "ctl/operate.h"
#include "ctl/show.h"

#define SYNC_PATIENCE_S 30
#define DIFF_PATIENCE_S 150

struct words {
	const char *verb, *kind, *list, *yes;
	bool as_json, dry_run, excluded;
};

struct verb {
	const char *name, *request;
	bool kind, list, dry_run, consents;
	const char *consent;
};

static const struct verb verbs[] = {
	{ "status", NULL, false, false, false, false, NULL },
	{ "diff", "sync-diff", true, false, false, false, NULL },
	{ "resync", "sync-resync", true, false, true, false, NULL },
	{ "confirm-deletes", "sync-confirm-deletes", false, true, true, true,
	    "The copies listed above are deleted on this hub: the source says that it has not got\n"
	    "them any more." },
	{ "discard", "sync-discard", false, true, true, true,
	    "The copies listed above stay on this hub although the source has not got them any "
	    "more.\n"
	    "The mirror leaves them alone until the source has them again." },
	{ "accept-restore", "sync-accept-restore", false, false, true, true,
	    "The source went back in time. From now on this hub follows it: copies that differ or "
	    "that\n"
	    "the source has not got are archived first, then replaced or deleted." },
};

static const struct verb *verb_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static const char *value_of(int argc, char **argv, int *at)
{
	return ++*at < argc && argv[*at][0] ? argv[*at] : NULL;
}

static enum ctl_exit parse(
    int argc, char **argv, const struct verb *verb, struct words *words, struct err *err)
{
	for (int i = 2; i < argc; i++) {
		const char *value;

		if (strcmp(argv[i], "-o") == 0) {
			value = value_of(argc, argv, &i);
			if (!value || (strcmp(value, "json") != 0 && strcmp(value, "text") != 0))
				return command_misused(err, "sync", "-o takes json or text", "");
			words->as_json = strcmp(value, "json") == 0;
		} else if (strcmp(argv[i], "--excluded") == 0 && !verb->request) {
			words->excluded = true;
		} else if (strcmp(argv[i], "--dry-run") == 0 && verb->dry_run) {
			words->dry_run = true;
		} else if (strcmp(argv[i], "--list") == 0 && verb->list) {
			if (!(words->list = value_of(argc, argv, &i)))
				return command_misused(
				    err, "sync", "--list takes the id that sync status shows", "");
		} else if (strcmp(argv[i], "--yes") == 0 && verb->consents) {
			if (!(words->yes = value_of(argc, argv, &i)))
				return command_misused(
				    err, "sync", "--yes takes this hub's name", "");
		} else if (argv[i][0] != '-' && verb->kind && !words->kind) {
			words->kind = argv[i];
		} else {
			return command_misused(err, "sync", "unknown word ", argv[i]);
		}
	}
	return CTL_DONE;
}

static void put_json(struct buf *out, const json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(2) | JSON_PRESERVE_ORDER);

	buf_puts(out, text ? text : "null");
	buf_puts(out, "\n");
	free(text);
}

/* --- Status ----------------------------------------------------------------------------------- */

static enum ctl_exit read_document(
    const struct ctl_options *options, json_t **document, struct err *err)
{
	struct buf bytes = buf_make(CLIENT_MAX_BYTES);
	enum ctl_exit code = client_read(options->socket, &bytes, err);

	*document = NULL;
	if (code == CTL_DONE) {
		*document = json_loadb(bytes.data, bytes.len, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_object(*document)) {
			err_set(err, "what came back is no status document");
			code = CTL_NO_DAEMON;
		}
	}
	buf_free(&bytes);
	return code;
}

static enum ctl_exit run_status(
    const struct ctl_options *options, const struct words *words, struct buf *out, struct err *err)
{
	json_t *document, *part;
	enum ctl_exit code = read_document(options, &document, err);

	if (code == CTL_DONE && words->as_json) {
		part = json_pack("{s:O?, s:O?, s:O?, s:O?}", "identity",
		    json_object_get(document, "identity"), "mirror",
		    json_object_get(document, "mirror"), "kinds",
		    json_object_get(document, "kinds"), "notMirrored",
		    json_object_get(document, "blocked"));
		put_json(out, part);
		json_decref(part);
	} else if (code == CTL_DONE) {
		show_sync(document, words->excluded, out);
	}
	json_decref(document);
	return code;
}

/* --- The others ------------------------------------------------------------------------------- */

static void put_rows(const json_t *answer, struct buf *out)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(answer, "rows"), i, row)
	{
		show_text(out, member_text(row, "object"));
		buf_puts(out, ": ");
		show_text(out, member_text(row, "text"));
		buf_puts(out, "\n");
	}
	if (member_number(answer, "rowsLeftOut"))
		buf_printf(out, "and %lld more\n", member_number(answer, "rowsLeftOut"));
}

static json_t *request_of(const struct verb *verb, const struct words *words, bool check)
{
	json_t *request = json_pack("{s:s}", "verb", verb->request);

	if (words->kind)
		json_object_set_new(request, "kind", json_string(words->kind));
	if (words->list)
		json_object_set_new(request, "list", json_string(words->list));
	if (check)
		json_object_set_new(request, "check", json_true());
	return request;
}

/* The list as it is now, unless the operator says which one he has seen. */
static enum ctl_exit see_list(
    const struct ctl_options *options, struct words *words, json_t **document, struct err *err)
{
	enum ctl_exit code = read_document(options, document, err);

	if (code == CTL_DONE && !words->list)
		words->list = member_text(json_object_get(*document, "mirror"), "heldList");
	return code;
}

/* What it would do, shown before consent is asked for. */
static enum ctl_exit preview(const struct ctl_options *options, const struct verb *verb,
    const struct words *words, struct buf *out, struct err *err)
{
	json_t *answer;
	enum ctl_exit code =
	    operate_ask(options, request_of(verb, words, true), SYNC_PATIENCE_S, &answer, err);

	if (code == CTL_DONE && words->as_json && words->dry_run) {
		put_json(out, answer);
		code = operate_exit_of(answer);
		if (code != CTL_DONE)
			err_set(err, "%s", member_text(answer, "text"));
	} else if (code == CTL_DONE) {
		put_rows(answer, out);
		code = operate_exit_of(answer);
		if (code != CTL_DONE || words->dry_run)
			code = operate_tell(verb->name, answer, out, err);
	}
	json_decref(answer);
	return code;
}

/* Everything that was asked for is shown on the terminal before the question about it. */
static void flush_preview(struct buf *out)
{
	(void)fwrite(out->data ? out->data : "", 1, out->len, stderr);
	buf_clear(out);
}

static enum ctl_exit run_verb(const struct ctl_options *options, const struct verb *verb,
    struct words *words, struct buf *out, struct err *err)
{
	bool diff = strcmp(verb->name, "diff") == 0;
	json_t *document = NULL, *answer = NULL, *request;
	enum ctl_exit code = verb->list ? see_list(options, words, &document, err) : CTL_DONE;

	if (code == CTL_DONE && (verb->consents || words->dry_run))
		code = preview(options, verb, words, out, err);
	if (code != CTL_DONE || words->dry_run) {
		json_decref(document);
		return code;
	}
	request = request_of(verb, words, false);
	if (verb->consents) {
		flush_preview(out);
		code = operate_consent(options, words->yes, verb->consent, request, err);
	}
	json_decref(document);
	if (code != CTL_DONE) {
		json_decref(request);
		return code;
	}
	code =
	    operate_ask(options, request, diff ? DIFF_PATIENCE_S : SYNC_PATIENCE_S, &answer, err);
	if (code == CTL_DONE && words->as_json) {
		put_json(out, answer);
		code = operate_exit_of(answer);
		err_set(err, "%s", member_text(answer, "text"));
	} else if (code == CTL_DONE) {
		put_rows(answer, out);
		code = operate_tell(verb->name, answer, out, err);
	}
	if (diff && code == CTL_DONE && json_array_size(json_object_get(answer, "rows")) > 0) {
		err_set(err, "the hubs differ");
		code = (enum ctl_exit)MIRROR_DIFF_DIFFERS;
	} else if (diff && code == CTL_REFUSED) {
		code = (enum ctl_exit)MIRROR_DIFF_REFUSED;
	}
	json_decref(answer);
	return code;
}

enum ctl_exit mirror_sync(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	const struct verb *verb = argc > 1 ? verb_by_name(argv[1]) : NULL;
	struct words words = { 0 };
	enum ctl_exit code;

	if (leftovers_are_meant(argc, argv))
		return leftovers_command(options, argc, argv, out, err);
	if (!verb)
		return argc > 1 ? command_misused(err, "sync", "sync knows no verb ", argv[1])
				: command_misused(err, "sync", "a verb is missing", "");
	code = parse(argc, argv, verb, &words, err);
	if (code != CTL_DONE)
		return code;
	return verb->request ? run_verb(options, verb, &words, out, err)
			     : run_status(options, &words, out, err);
}
