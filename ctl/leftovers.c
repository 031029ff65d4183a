/*
 * The verbs for what a promotion leaves over (see the header). Each object is written by a request
 * of its own that holds for the version that was shown; one that was changed meanwhile stays and is
 * named. Called by mirror.c.
 */
#include "ctl/leftovers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/answer.h"
#include "ctl/consent.h"
#include "ctl/json.h"
#include "ctl/kubectl.h"
#include "ctl/show.h"
#include "kube/json.h"

#define MAX_BODY ((size_t)1 << 20)
#define SHOWN    200

/* FNV-1a: it tells lists apart, it keeps nobody out. */
void leftovers_id(const struct leftovers *list, char id[17])
{
	uint64_t hash = 14695981039346656037ULL;

	for (size_t i = 0; i < list->count; i++) {
		const struct leftover *item = &list->items[i];
		const char *const texts[] = { item->of.kind, item->namespace, item->name,
			item->uid };

		for (size_t t = 0; t < 4; t++)
			for (const char *p = texts[t];; p++) {
				hash = (hash ^ (unsigned char)*p) * 1099511628211ULL;
				if (!*p)
					break;
			}
	}
	(void)snprintf(id, 17, "%016llx", (unsigned long long)hash);
}

/* --- Requests --------------------------------------------------------------------------------- */

static void put(struct buf *body, json_t *value)
{
	kube_json_put(body, value);
	json_decref(value);
}

void leftovers_put_delete(const struct leftover *item, struct buf *body)
{
	put(body, json_pack("{s:s, s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind",
		      "DeleteOptions", "propagationPolicy", "Background", "preconditions", "uid",
		      item->uid, "resourceVersion", item->resource_version));
}

void leftovers_put_discard(const struct leftover *item, struct buf *body)
{
	put(body,
	    json_pack("{s:{s:s, s:s, s:{s:n}}}", "metadata", "uid", item->uid, "resourceVersion",
		item->resource_version, "annotations", MARK("delete-held")));
}

void leftovers_put_unpark(const struct leftover *item, struct buf *body)
{
	static const char *const places[] = { "labels", "annotations" };
	const char *text =
	    member_text(json_object_get(item->metadata, "annotations"), MARK("parked"));
	json_t *parked = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	json_t *metadata = json_pack("{s:s, s:s, s:{s:n}}", "uid", item->uid, "resourceVersion",
	    item->resource_version, "annotations", MARK("parked"));
	json_t *patch = json_pack("{s:o}", "metadata", metadata);

	for (size_t i = 0; i < 2; i++) {
		const json_t *there = json_object_get(item->metadata, places[i]);
		json_t *from = json_object_get(parked, places[i]), *value;
		const char *key;

		json_object_foreach(from, key, value)
		{
			if (!json_is_string(value) || json_object_get(there, key))
				continue;
			if (!json_object_get(metadata, places[i]))
				json_object_set_new(metadata, places[i], json_object());
			json_object_set(json_object_get(metadata, places[i]), key, value);
		}
	}
	json_decref(parked);
	put(body, patch);
}

/* --- Verbs ------------------------------------------------------------------------------------ */

struct verb {
	const char *name, *row, *done, *none, *consent;
	bool held, deletes;
	void (*put)(const struct leftover *, struct buf *);
};

static const struct verb verbs[] = {
	{ "confirm-deletes", "is deleted", "are deleted", "none is held",
	    "The objects listed above are deleted: the hub that led before had not got them any\n"
	    "more. A Namespace goes with all that is in it.",
	    true, true, leftovers_put_delete },
	{ "discard", "stays", "stay for good", "none is held",
	    "The objects listed above stay, and lose the mark that says that their deletion is "
	    "held.",
	    true, false, leftovers_put_discard },
	{ "unpark", "gets its marks back", "have their tools' marks again", "nothing is parked",
	    "The objects listed above are given back the marks by which Argo CD, Flux and Helm "
	    "know\n"
	    "what they made, and what they may prune.",
	    false, false, leftovers_put_unpark },
};

static const struct verb *verb_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

bool leftovers_are_meant(int argc, char **argv)
{
	const struct verb *verb = argc > 1 ? verb_by_name(argv[1]) : NULL;

	if (!verb)
		return false;
	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], "--kubeconfig") == 0 || strcmp(argv[i], "--context") == 0)
			return true;
	return !verb->held;
}

struct words {
	struct kubectl hub;
	const char *namespace, *list, *yes, *format;
	bool dry_run, as_json;
};

static enum ctl_exit parse(int argc, char **argv, struct words *words, struct err *err)
{
	*words = (struct words){ .namespace = DEFAULT_NAMESPACE };
	for (int i = 2; i < argc; i++) {
		struct {
			const char *option, **value;
		} options[] = { { "--kubeconfig", &words->hub.kubeconfig },
			{ "--context", &words->hub.context }, { "--namespace", &words->namespace },
			{ "--list", &words->list }, { "--yes", &words->yes },
			{ "-o", &words->format } };
		enum { OPTION_COUNT = sizeof(options) / sizeof(options[0]) };
		size_t at = 0;

		if (strcmp(argv[i], "--dry-run") == 0) {
			words->dry_run = true;
			continue;
		}
		while (at < OPTION_COUNT && strcmp(argv[i], options[at].option) != 0)
			at++;
		if (at == OPTION_COUNT)
			return command_misused(err, "sync", "unknown word ", argv[i]);
		if (i + 1 == argc || !argv[i + 1][0] || argv[i + 1][0] == '-')
			return command_misused(err, "sync", "this needs a value: ", argv[i]);
		*options[at].value = argv[++i];
	}
	if (words->format && !answer_format(words->format, &words->as_json))
		return command_misused(err, "sync", "-o takes json or text", "");
	if (!words->hub.kubeconfig && !words->hub.context)
		return command_misused(
		    err, "sync", "name the hub that leads by --kubeconfig or --context", "");
	return CTL_DONE;
}

/* Who leads, by the hub's own objects; err says why it is not this one. hub: its name. */
static enum ctl_exit check_leads(const struct words *words, struct buf *hub, struct err *err)
{
	const char *const role[] = { "get", "hubroles.ha.kubeslice.io", "self", "-o",
		"jsonpath={.spec.role}", NULL };
	struct buf said = buf_make(256);
	enum kubectl_outcome outcome =
	    kubectl_run(&words->hub, role, (struct str){ 0 }, &said, err);
	bool leads = str_equal(buf_str(&said), STR_LIT("Leading"));

	if (outcome == KUBECTL_OK && leads)
		outcome = kubectl_lease_holder(&words->hub, words->namespace, hub, err);
	if (outcome == KUBECTL_OK && (!leads || hub->len == 0)) {
		err_set(err,
		    "refused: this hub does not lead (HubRole %.40s); on a Standby the mirror "
		    "does it: leave --kubeconfig and --context out",
		    said.len ? said.data : "none");
		outcome = KUBECTL_REFUSED;
	}
	buf_free(&said);
	return outcome == KUBECTL_OK ? CTL_DONE : CTL_REFUSED;
}

static enum kubectl_outcome write_one(const struct words *words, const struct verb *verb,
    const struct leftover *item, struct err *err)
{
	struct buf body = buf_make(MAX_BODY), said = buf_make(MAX_BODY), what = buf_make(1024);
	const char *argv[10] = { NULL };
	enum kubectl_outcome outcome;
	size_t n = 0;

	if (verb->deletes) {
		buf_printf(&what, "/%s%s/%s", item->of.group[0] ? "apis/" : "api", item->of.group,
		    item->of.version);
		if (item->namespace[0])
			buf_printf(&what, "/namespaces/%s", item->namespace);
		buf_printf(&what, "/%s/%s", item->of.plural, item->name);
		argv[n++] = "delete";
		argv[n++] = "--raw";
		argv[n++] = what.data;
		argv[n++] = "-f";
		argv[n++] = "-";
	} else {
		buf_printf(&what, "%s.%s.%s", item->of.plural, item->of.version, item->of.group);
		argv[n++] = "patch";
		argv[n++] = what.data;
		argv[n++] = item->name;
		argv[n++] = "--type=merge";
		argv[n++] = "--patch-file=/dev/stdin";
		if (item->namespace[0]) {
			argv[n++] = "-n";
			argv[n++] = item->namespace;
		}
	}
	verb->put(item, &body);
	outcome = kubectl_run(&words->hub, argv, buf_str(&body), &said, err);
	buf_free(&body);
	buf_free(&said);
	buf_free(&what);
	return outcome;
}

static void put_name(struct buf *out, const struct leftover *item)
{
	buf_printf(out, "%s ", item->of.kind);
	if (item->namespace[0]) {
		show_text(out, item->namespace);
		buf_puts(out, "/");
	}
	show_text(out, item->name);
}

static void put_item(struct buf *out, const struct leftover *item, const char *what)
{
	put_name(out, item);
	buf_printf(out, ": %s\n", what);
}

static bool consented(
    const struct words *words, const struct verb *verb, const char *hub, struct buf *out)
{
	if (words->yes)
		return strcmp(words->yes, hub) == 0;
	if (!isatty(STDIN_FILENO))
		return false;
	(void)fwrite(out->data, 1, out->len, stderr);
	buf_clear(out);
	(void)fprintf(stderr, "%s\nType the name of this hub, %s, to go on: ", verb->consent, hub);
	return consent_typed(hub);
}

/* Of each object its name and what becomes, or became, of it. */
static json_t *rows_of(const struct leftovers *list, const char *what)
{
	json_t *told = json_array();

	for (size_t i = 0; i < list->count; i++) {
		struct buf object = buf_make(1024);

		put_name(&object, &list->items[i]);
		json_array_append_new(
		    told, json_pack("{s:s, s:s}", "object", object.data, "text", what));
		buf_free(&object);
	}
	return told;
}

/* Each for itself: what was changed, or was not answered, is named, and the rest goes on. */
static enum ctl_exit write_all(const struct words *words, const struct verb *verb,
    const struct leftovers *list, json_t *told, struct buf *out, struct err *err)
{
	enum ctl_exit code = CTL_DONE, now;
	size_t done = 0;

	for (size_t i = 0; i < list->count; i++) {
		const char *what;
		enum kubectl_outcome outcome = write_one(words, verb, &list->items[i], err);

		/* Somebody else has done it. */
		if (outcome == KUBECTL_OK || (outcome == KUBECTL_NOT_FOUND && verb->deletes)) {
			done++;
			continue;
		}
		what = outcome == KUBECTL_CONFLICT ? "was changed meanwhile, and is left as it is"
						   : err->text;
		put_item(out, &list->items[i], what);
		json_object_set_new(json_array_get(told, i), "text", answer_text(what));
		now = kubectl_exit(outcome, true);
		code = now > code ? now : code;
	}
	if (code == CTL_DONE)
		buf_printf(out, "%s: done: %zu %s\n", verb->name, done, verb->done);
	else
		err_set(err, "%s: %zu %s, %zu not: look again", verb->name, done, verb->done,
		    list->count - done);
	return code;
}

/* What was not looked at may hold more. */
static void put_unseen(struct buf *out, const struct leftovers *list)
{
	json_t *kind;
	size_t i;

	json_array_foreach(list->unseen, i, kind)
	{
		buf_puts(out, "not looked at: ");
		show_text(out, member_text(kind, "kind"));
		buf_puts(out, ": ");
		show_text(out, member_text(kind, "text"));
		buf_puts(out, "\n");
	}
}

static enum ctl_exit run(const struct words *words, const struct verb *verb, const char *hub,
    const struct leftovers *list, json_t *told, struct buf *out, struct err *err)
{
	char id[17];

	leftovers_id(list, id);
	for (size_t i = 0; i < list->count && i < SHOWN; i++)
		put_item(out, &list->items[i], verb->row);
	if (list->count > SHOWN)
		buf_printf(out, "and %zu more\n", list->count - SHOWN);
	put_unseen(out, list);
	if (list->count == 0) {
		err_set(err, "%s: refused: %s on %s%s", verb->name, verb->none, hub,
		    list->unseen ? ", as far as it was looked at" : "");
		return CTL_REFUSED;
	}
	buf_printf(out, "%zu in all, list %s\n", list->count, id);
	if (words->dry_run) {
		buf_printf(out, "%s: as a dry run: nothing was written\n", verb->name);
		return CTL_DONE;
	}
	if (words->list && strcmp(words->list, id) != 0) {
		err_set(err, "%s: refused: it is another list than %.40s: look again", verb->name,
		    words->list);
		return CTL_REFUSED;
	}
	if (!consented(words, verb, hub, out)) {
		err_set(err, "%s: refused: not confirmed; in a script: --yes %s", verb->name, hub);
		return CTL_REFUSED;
	}
	return write_all(words, verb, list, told, out, err);
}

/* What is done is not all while a kind was not looked at. */
static enum ctl_exit judge_unseen(
    const struct leftovers *list, const struct verb *verb, enum ctl_exit code, struct err *err)
{
	if (code != CTL_DONE || !list->unseen)
		return code;
	err_set(err, "%s: %zu not looked at, which may hold more: look again", verb->name,
	    json_array_size(list->unseen));
	return CTL_REFUSED;
}

enum ctl_exit leftovers_command(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	const struct verb *verb = verb_by_name(argv[1]);
	struct buf hub = buf_make(512), said = buf_make(1 << 20);
	struct leftovers list = { 0 };
	struct words words;
	json_t *told = NULL;
	char id[17];
	enum ctl_exit code = parse(argc, argv, &words, err);

	(void)options;
	if (code == CTL_DONE)
		code = check_leads(&words, &hub, err);
	if (code == CTL_DONE)
		code = leftovers_read(&words.hub, verb->held, &list, err);
	if (code == CTL_DONE) {
		told = rows_of(&list, verb->row);
		code = run(&words, verb, hub.data, &list, told, words.as_json ? &said : out, err);
		code = judge_unseen(&list, verb, code, err);
	}
	leftovers_id(&list, id);
	if (words.as_json)
		(void)answer_put_last(out, code, &said, err,
		    json_pack("{s:s?, s:b, s:s?, s:O?, s:O?}", "hub", hub.data, "dryRun",
			words.dry_run, "list", told ? id : NULL, "rows", told, "unseen",
			list.unseen));
	json_decref(told);
	leftovers_free(&list);
	buf_free(&hub);
	buf_free(&said);
	return code;
}
