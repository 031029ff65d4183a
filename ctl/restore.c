/*
 * `archive restore`: checks first, names each condition with its value and limit, and overwrites
 * only what it was told to by name, and only the version that was seen. Called by archive.c.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/answer.h"
#include "ctl/archive.h"
#include "ctl/archived.h"
#include "ctl/consent.h"
#include "ctl/json.h"
#include "ctl/show.h"
#include "kube/json.h"

/* Tracking marks of deployment tools, to their old places (B22, decision 4). */
static void give_back_parked(json_t *metadata)
{
	static const char *const places[] = { "labels", "annotations" };
	const char *text =
	    member_text(json_object_get(metadata, "annotations"), "ha.kubeslice.io/parked");
	json_t *parked = *text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

	for (size_t i = 0; i < 2; i++) {
		json_t *from = json_object_get(parked, places[i]);

		if (!json_is_object(from))
			continue;
		if (!json_is_object(json_object_get(metadata, places[i])))
			json_object_set_new(metadata, places[i], json_object());
		json_object_update(json_object_get(metadata, places[i]), from);
	}
	json_decref(parked);
}

static void drop_own_marks(json_t *marks)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(marks, next, key, value)
	{
		(void)value;
		if (strncmp(key, "ha.kubeslice.io/", 16) == 0 ||
		    strcmp(key, "kubernetes.io/service-account.uid") == 0)
			json_object_del(marks, key);
	}
}

void archive_make_restorable(json_t *object)
{
	/* Owners and finalizers were of the other cluster: a stale uid lets the collector delete
	 * the object at once, and no controller there is told of a finalizer (H13, L67). */
	static const char *const of_the_server[] = { "uid", "resourceVersion", "creationTimestamp",
		"generation", "managedFields", "selfLink", "deletionTimestamp",
		"deletionGracePeriodSeconds", "ownerReferences", "finalizers", "generateName" };
	json_t *metadata = json_object_get(object, "metadata");

	for (size_t i = 0; i < sizeof(of_the_server) / sizeof(of_the_server[0]); i++)
		json_object_del(metadata, of_the_server[i]);
	give_back_parked(metadata);
	drop_own_marks(json_object_get(metadata, "labels"));
	drop_own_marks(json_object_get(metadata, "annotations"));
	json_object_del(object, "status");
	if (strcmp(member_text(object, "kind"), "Namespace") == 0)
		json_object_del(object, "spec");
	if (strcmp(member_text(object, "type"), "kubernetes.io/service-account-token") == 0)
		json_object_del(object, "data"); /* this cluster's token controller fills it */
}

bool archive_differs(const json_t *restorable, const json_t *present)
{
	json_t *there = json_deep_copy(present);
	bool differs;

	archive_make_restorable(there);
	differs = !json_equal(restorable, there);
	json_decref(there);
	return differs;
}

struct restoring {
	const struct archive_words *words;
	struct archived record;
	json_t *object, *present; /* present NULL: there is none on the target */
	char resource[200], title[420];
	struct buf checks;
	json_t *checked; /* the same, for a program */
	bool ok;
};

static void check(
    struct restoring *restoring, bool ok, const char *name, const char *value, const char *limit)
{
	buf_puts(&restoring->checks, ok ? "  ok  " : "  NO  ");
	show_column(&restoring->checks, name, 34);
	show_column(&restoring->checks, value, 24);
	buf_puts(&restoring->checks, "must be: ");
	show_text(&restoring->checks, limit);
	buf_puts(&restoring->checks, "\n");
	json_array_append_new(restoring->checked, json_pack("{s:s, s:b, s:s, s:s}", "name", name,
						      "ok", ok, "value", value, "limit", limit));
	restoring->ok = restoring->ok && ok;
}

/* One object of the target; NULL with OK: there is none. */
static enum kubectl_outcome get(const struct kubectl *kubectl, const char *resource,
    const char *name, const char *namespace, json_t **object, struct err *err)
{
	const char *words[] = { "get", resource, name, "-o", "json", "--ignore-not-found", "-n",
		namespace, NULL };
	struct buf out = buf_make_secret(16u << 20);
	enum kubectl_outcome outcome;

	if (!*namespace)
		words[6] = NULL;
	outcome = kubectl_run(kubectl, words, (struct str){ 0 }, &out, err);
	*object = outcome == KUBECTL_OK && out.len ? kube_json_parse(buf_str(&out), NULL) : NULL;
	buf_free(&out);
	return outcome;
}

/* It may go onto a hub that leads, and whose data replaced it or came after that. */
static enum kubectl_outcome check_target(struct restoring *restoring, struct err *err)
{
	json_t *role = NULL;
	enum kubectl_outcome outcome =
	    get(&restoring->words->to, "hubroles.ha.kubeslice.io", "self", "", &role, err);
	long long term = member_number(json_object_get(role, "spec"), "term");
	const char *word = member_text(json_object_get(role, "spec"), "role");
	char value[32], limit[64];

	if (outcome == KUBECTL_OK) {
		check(restoring, strcmp(word, "Leading") == 0, "role of the target hub",
		    *word ? word : "no HubRole", "Leading: its peer mirrors what it gets");
		(void)snprintf(value, sizeof(value), "%lld", term);
		(void)snprintf(limit, sizeof(limit), "%llu or higher", restoring->record.term);
		check(
		    restoring, term >= (long long)restoring->record.term, "its term", value, limit);
	}
	json_decref(role);
	return outcome;
}

static enum kubectl_outcome check_place(struct restoring *restoring, struct err *err)
{
	const json_t *metadata = json_object_get(restoring->object, "metadata");
	const char *namespace = member_text(metadata, "namespace");
	json_t *home = NULL;
	enum kubectl_outcome outcome = KUBECTL_OK;

	if (*namespace) {
		outcome = get(&restoring->words->to, "namespace", namespace, "", &home, err);
		if (outcome == KUBECTL_OK)
			check(restoring, home != NULL, "its namespace there",
			    home ? namespace : "missing", "there: restore or create it first");
		json_decref(home);
	}
	if (outcome == KUBECTL_OK)
		outcome = get(&restoring->words->to, restoring->resource,
		    member_text(metadata, "name"), namespace, &restoring->present, err);
	if (outcome == KUBECTL_OK && restoring->present) {
		const json_t *there = json_object_get(restoring->present, "metadata");
		char value[80];

		(void)snprintf(value, sizeof(value), "there, version %.20s of %.24s",
		    member_text(there, "resourceVersion"), member_text(there, "creationTimestamp"));
		check(restoring, restoring->words->force, "an object of that name", value,
		    "absent; --force replaces it");
	}
	return outcome;
}

static void aim(struct restoring *restoring)
{
	const struct archived *record = &restoring->record;
	const char *slash = strchr(record->version, '/');

	if (slash)
		(void)snprintf(restoring->resource, sizeof(restoring->resource), "%s.%s.%.*s",
		    record->kind, slash + 1, (int)(slash - record->version), record->version);
	else
		(void)snprintf(
		    restoring->resource, sizeof(restoring->resource), "%s", record->kind);
	(void)snprintf(
	    restoring->title, sizeof(restoring->title), "%s %s", record->kind, record->object);
}

/* What goes over kubectl's standard input. With a version it replaces exactly what was seen. */
static enum kubectl_outcome write_object(struct restoring *restoring, struct err *err)
{
	const char *words[] = { restoring->present ? "replace" : "create", "-f", "-",
		restoring->words->dry_run ? "--dry-run=server" : NULL, NULL };
	const json_t *there = json_object_get(restoring->present, "metadata");
	json_t *metadata = json_object_get(restoring->object, "metadata");
	struct buf body = buf_make_secret(16u << 20), said = buf_make(4096);
	enum kubectl_outcome outcome;

	if (restoring->present) {
		json_object_set(
		    metadata, "resourceVersion", json_object_get(there, "resourceVersion"));
		json_object_set(metadata, "uid", json_object_get(there, "uid"));
	}
	kube_json_put(&body, restoring->object);
	outcome = kubectl_run(&restoring->words->to, words, buf_str(&body), &said, err);
	buf_free(&body);
	buf_free(&said);
	return outcome;
}

/* Replacing what is newer takes its name, typed or given. */
static bool consented(const struct restoring *restoring)
{
	if (restoring->words->yes)
		return strcmp(restoring->words->yes, restoring->title) == 0;
	if (!isatty(STDIN_FILENO))
		return false;
	(void)fprintf(stderr,
	    "What is on the hub that leads is replaced by what was archived, and is kept nowhere "
	    "else.\nType its name, %s, to go on: ",
	    restoring->title);
	return consent_typed(restoring->title);
}

static enum ctl_exit restore(struct restoring *restoring, struct buf *out, struct err *err)
{
	const char *title = restoring->title;
	enum kubectl_outcome outcome = check_target(restoring, err);

	if (outcome == KUBECTL_OK)
		outcome = check_place(restoring, err);
	if (outcome != KUBECTL_OK)
		return kubectl_exit(outcome, false);
	if (restoring->present && !archive_differs(restoring->object, restoring->present)) {
		buf_printf(out, "restore: done: %s is there and equal\n", title);
		return CTL_DONE;
	}
	if (!restoring->words->as_json)
		buf_append(out, restoring->checks.data, restoring->checks.len);
	if (!restoring->ok) {
		err_set(err, "restore: refused: nothing was changed");
		return CTL_REFUSED;
	}
	if (restoring->present && !restoring->words->dry_run && !consented(restoring)) {
		err_set(err, "restore: refused: not confirmed; in a script: --yes '%s'", title);
		return CTL_REFUSED;
	}
	outcome = write_object(restoring, err);
	if (outcome == KUBECTL_OK)
		buf_printf(out, "restore: done: %s %s%s\n", title,
		    restoring->present ? "is replaced" : "is created",
		    restoring->words->dry_run ? ", as a dry run: nothing was written" : "");
	else if (outcome == KUBECTL_CONFLICT || outcome == KUBECTL_EXISTS)
		err_set(
		    err, "restore: refused: %s was changed or made meanwhile: look again", title);
	else if (outcome == KUBECTL_FAILED)
		err->text[sizeof(err->text) - 1] = '\0'; /* kubectl's words; not known yet */
	return kubectl_exit(outcome, !restoring->words->dry_run);
}

/* For a program the last line is the answer's text. */
static enum ctl_exit restore_for_program(
    struct restoring *restoring, struct buf *out, struct err *err)
{
	struct buf said = buf_make(4096);
	enum ctl_exit code = restore(restoring, &said, err);

	(void)answer_put_last(out, code, &said, err,
	    json_pack("{s:s, s:s, s:s, s:b, s:O}", "name", restoring->words->name, "kind",
		restoring->record.kind, "object", restoring->record.object, "dryRun",
		restoring->words->dry_run, "checks", restoring->checked));
	buf_free(&said);
	return code;
}

enum ctl_exit archive_restore(int argc, char **argv, struct buf *out, struct err *err)
{
	struct archive_words words;
	struct restoring restoring = { .words = &words, .checks = buf_make(16384), .ok = true };
	enum kubectl_outcome outcome;
	enum ctl_exit code = archive_parse(argc, argv,
	    " --kubeconfig --context --namespace --to-kubeconfig --to-context --dry-run --force "
	    "--yes -o ",
	    true, &words, err);

	if (code != CTL_DONE)
		return code;
	if (!words.to.kubeconfig && !words.to.context)
		return command_misused(err, "archive",
		    "restore writes to the hub that leads: name it by --to-kubeconfig or "
		    "--to-context",
		    "");
	restoring.object = archived_load(
	    &words.from, words.namespace, words.name, &restoring.record, &outcome, err);
	if (!restoring.object) {
		code = kubectl_exit(outcome, false);
		if (words.as_json)
			(void)answer_put(
			    out, code, err->text, json_pack("{s:s}", "name", words.name));
		return code;
	}
	restoring.checked = json_array();
	aim(&restoring);
	archive_make_restorable(restoring.object);
	code = words.as_json ? restore_for_program(&restoring, out, err)
			     : restore(&restoring, out, err);
	json_decref(restoring.object);
	json_decref(restoring.present);
	json_decref(restoring.checked);
	buf_free(&restoring.checks);
	return code;
}
