/*
 * The drill (see the header). The guards are the machine's own, asked as `promote --check`; the
 * elector then tries what a takeover asks of others: a last look at the peer, the question to the
 * workers, the claim as a dry run; the mirror is compared object by object; each worker was
 * rehearsed with dry runs by its repointer, which says what came of it. Not tried, and said so:
 * what cannot be taken back, the end of the mirror and the fence. Called by commands.c.
 */
#include "ctl/drill.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/json.h"
#include "ctl/operate.h"
#include "ctl/show.h"

#define DIFF_PATIENCE_S   150
#define OTHERS_PATIENCE_S 20
#define SILENCE_CHECK     "peer silent for" /* the one guard that a living peer fails */

struct drill {
	const struct ctl_options *options;
	json_t *steps;
	bool would;
	long long first_ms, began_ms;
};

static long long now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Ends a step that began at the last one's end. */
static void add_step(struct drill *drill, const char *name, bool ok, const char *text)
{
	long long at_ms = now_ms();

	json_array_append_new(
	    drill->steps, json_pack("{s:s, s:b, s:s, s:I}", "name", name, "ok", ok, "text", text,
			      "ms", (json_int_t)(at_ms - drill->began_ms)));
	drill->began_ms = at_ms;
	drill->would = drill->would && ok;
}

/* Each guard is a step, with its value and its limit. */
static enum ctl_exit try_guards(struct drill *drill, struct err *err)
{
	json_t *answer = NULL;
	const json_t *check;
	char text[256];
	size_t i;
	enum ctl_exit code =
	    operate_ask(drill->options, json_pack("{s:s, s:b}", "verb", "promote", "check", 1),
		CLIENT_PATIENCE_S, &answer, err);

	if (code == CTL_DONE && json_array_size(json_object_get(answer, "checks")) == 0) {
		err_set(err, "drill: %.300s", member_text(answer, "text"));
		code = CTL_REFUSED;
	}
	json_array_foreach(json_object_get(answer, "checks"), i, check)
	{
		bool silence = strcmp(member_text(check, "name"), SILENCE_CHECK) == 0;

		if (code != CTL_DONE || silence)
			continue;
		(void)snprintf(text, sizeof(text), "%.100s, must be: %.100s",
		    member_text(check, "value"), member_text(check, "limit"));
		add_step(drill, member_text(check, "name"), member_true(check, "ok"), text);
	}
	json_decref(answer);
	return code;
}

/* What the elector asked of others at once; each step with the time that it took by itself. */
static enum ctl_exit try_others(struct drill *drill, struct err *err)
{
	json_t *answer = NULL;
	const json_t *step;
	size_t i;
	enum ctl_exit code = operate_ask(
	    drill->options, json_pack("{s:s}", "verb", "drill"), OTHERS_PATIENCE_S, &answer, err);

	if (code == CTL_DONE && json_array_size(json_object_get(answer, "steps")) == 0)
		add_step(
		    drill, "what a takeover asks of others", false, member_text(answer, "text"));
	json_array_foreach(json_object_get(answer, "steps"), i, step)
	{
		add_step(drill, member_text(step, "name"), member_true(step, "ok"),
		    member_text(step, "text"));
		json_object_set(json_array_get(drill->steps, json_array_size(drill->steps) - 1),
		    "ms", json_object_get(step, "ms"));
	}
	json_decref(answer);
	return code;
}

static enum ctl_exit try_mirror(struct drill *drill, struct err *err)
{
	json_t *answer = NULL;
	size_t rows;
	enum ctl_exit code = operate_ask(
	    drill->options, json_pack("{s:s}", "verb", "sync-diff"), DIFF_PATIENCE_S, &answer, err);

	if (code == CTL_DONE) {
		rows = json_array_size(json_object_get(answer, "rows"));
		add_step(drill, "objects of both hubs compared",
		    operate_exit_of(answer) == CTL_DONE && rows == 0, member_text(answer, "text"));
	}
	json_decref(answer);
	return code;
}

/* Unknown is taken for one: then the elector says. */
static bool stands_by(const json_t *document)
{
	const char *role = member_text(json_object_get(document, "leadership"), "role");

	return !role[0] || strcmp(role, "standby") == 0;
}

/* What an operator's promote may pass over is no guard of it, and keeps this hub from taking over
 * by itself all the same. */
static void judge_leave(struct drill *drill, const json_t *document)
{
	const char *holds = member_text(json_object_get(document, "leadership"), "holdsPromotion");

	add_step(drill, "automatic promotion", !holds[0],
	    holds[0] ? holds : "neither manual, paused nor blocked");
}

static void judge_workers(struct drill *drill, const json_t *document)
{
	const json_t *worker;
	char name[160];
	size_t i;

	json_array_foreach(json_object_get(document, "workers"), i, worker)
	{
		(void)snprintf(
		    name, sizeof(name), "worker %.120s rehearsed", member_text(worker, "name"));
		add_step(drill, name, strcmp(member_text(worker, "state"), "ok") == 0,
		    member_text(worker, "detail")[0] ? member_text(worker, "detail")
						     : member_text(worker, "state"));
	}
}

static void judge_credentials(struct drill *drill, const json_t *document)
{
	const json_t *credential;
	char text[200] = "each of them";
	bool ok = true;
	size_t i;

	json_array_foreach(json_object_get(document, "credentials"), i, credential)
	{
		if (member_true(credential, "usable") || !ok)
			continue;
		ok = false;
		(void)snprintf(text, sizeof(text), "%.80s%s%.80s is not",
		    member_text(credential, "name"),
		    member_text(credential, "worker")[0] ? " " : "",
		    member_text(credential, "worker"));
	}
	add_step(drill, "credentials usable", ok, text);
}

static enum ctl_exit try_standby(struct drill *drill, const json_t *document, struct err *err)
{
	enum ctl_exit code = try_others(drill, err);

	if (code == CTL_DONE)
		code = try_mirror(drill, err);
	if (code == CTL_DONE) {
		judge_leave(drill, document);
		judge_workers(drill, document);
		judge_credentials(drill, document);
	}
	return code;
}

static void put_text(const struct drill *drill, bool tried, const char *verdict, struct buf *out)
{
	const json_t *step;
	size_t i;

	json_array_foreach(drill->steps, i, step)
	{
		buf_puts(out, member_true(step, "ok") ? "  ok  " : "  NO  ");
		show_column(out, member_text(step, "name"), 36);
		buf_printf(out, "%6lld ms  ", member_number(step, "ms"));
		show_text(out, member_text(step, "text"));
		buf_puts(out, "\n");
	}
	if (tried)
		buf_puts(out, "  not tried: the end of the mirror, the claim for good, the fence, "
			      "the workload\n");
	show_text(out, verdict);
	buf_puts(out, "\n");
}

static void put_json(
    const struct drill *drill, const json_t *document, const char *verdict, struct buf *out)
{
	json_t *all = json_pack("{s:s, s:b, s:s, s:O?, s:O}", "hub",
	    member_text(document, "identity"), "wouldTakeOver", drill->would, "text", verdict,
	    "afterMs", json_object_get(json_object_get(document, "peer"), "thresholdMs"), "steps",
	    drill->steps);
	char *text = json_dumps(all, JSON_INDENT(2) | JSON_PRESERVE_ORDER);

	buf_printf(out, "%s\n", text ? text : "null");
	free(text);
	json_decref(all);
}

static enum ctl_exit conclude(const struct drill *drill, const json_t *document, bool tried,
    bool as_json, struct buf *out, struct err *err)
{
	long long threshold_ms = member_number(json_object_get(document, "peer"), "thresholdMs");
	char verdict[256];

	if (drill->would)
		(void)snprintf(verdict, sizeof(verdict),
		    "drill: this hub would take over after %lld.%03lld s of silence of its peer; "
		    "what "
		    "was tried took %lld ms",
		    threshold_ms / 1000, threshold_ms % 1000, drill->began_ms - drill->first_ms);
	else
		(void)snprintf(verdict, sizeof(verdict), "drill: %s",
		    tried ? "this hub would not take over by itself, or not with "
			    "everything; see NO above"
			  : "this hub is no Standby: nothing was tried");
	if (as_json)
		put_json(drill, document, verdict, out);
	else
		put_text(drill, tried, verdict, out);
	if (drill->would)
		return CTL_DONE;
	err_set(err, "drill: not everything is as a takeover needs it");
	return CTL_REFUSED;
}

enum ctl_exit drill_run(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	struct drill drill = { options, json_array(), true, now_ms(), now_ms() };
	struct buf bytes = buf_make(CLIENT_MAX_BYTES);
	bool as_json = argc == 3 && strcmp(argv[2], "json") == 0, standby;
	json_t *document = NULL;
	enum ctl_exit code = CTL_DONE;

	if (argc != 1 &&
	    (argc != 3 || strcmp(argv[1], "-o") != 0 || (!as_json && strcmp(argv[2], "text") != 0)))
		code = command_misused(err, argv[0], "it takes -o text or -o json", "");
	if (code == CTL_DONE)
		code = client_read(options->socket, &bytes, err);
	if (code == CTL_DONE &&
	    !(document = json_loadb(bytes.data, bytes.len, JSON_REJECT_DUPLICATES, NULL))) {
		err_set(err, "what came back is no status document");
		code = CTL_NO_DAEMON;
	}
	standby = code == CTL_DONE && stands_by(document);
	if (code == CTL_DONE)
		code = try_guards(&drill, err);
	if (code == CTL_DONE && standby)
		code = try_standby(&drill, document, err);
	if (code == CTL_DONE) {
		drill.would = drill.would && standby;
		code = conclude(&drill, document, standby, as_json, out, err);
	}
	json_decref(document);
	json_decref(drill.steps);
	buf_free(&bytes);
	return code;
}
