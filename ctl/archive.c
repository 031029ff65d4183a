/*
 * The verbs of `archive` but restore.c's (see the header). Called by commands.c through its table.
 */
#include "ctl/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/answer.h"
#include "ctl/consent.h"
#include "ctl/json.h"
#include "ctl/operate.h"
#include "ctl/show.h"
#include "kube/json.h"

#define DEFAULT_AGE_MS  (30LL * 24 * 3600 * 1000) /* C12: kept for 30 d */
#define DELETED_AT_ONCE 40

/* --- Words ------------------------------------------------------------------------------------ */

bool archive_span(const char *text, long long *ms)
{
	char *end;
	long days = strtol(text, &end, 10);

	if (end != text && strcmp(end, "d") == 0 && days >= 0 && days <= 36500) {
		*ms = days * 24LL * 3600 * 1000;
		return true;
	}
	return operate_duration(text, ms);
}

static bool read_count(const char *text, long long *count)
{
	char *end;

	*count = strtoll(text, &end, 10);
	return end != text && *end == '\0' && *count >= 0 && *count < 1000000000;
}

/* One option that takes a value. False: it is none of these, or the value is not right. */
static bool take_value(struct archive_words *words, const char *option, const char *value)
{
	long long number;

	if (strcmp(option, "--kubeconfig") == 0)
		words->from.kubeconfig = value;
	else if (strcmp(option, "--context") == 0)
		words->from.context = value;
	else if (strcmp(option, "--to-kubeconfig") == 0)
		words->to.kubeconfig = value;
	else if (strcmp(option, "--to-context") == 0)
		words->to.context = value;
	else if (strcmp(option, "--namespace") == 0)
		words->namespace = value;
	else if (strcmp(option, "--yes") == 0)
		words->yes = value;
	else if (strcmp(option, "--since") == 0)
		return archive_span(value, &words->since_ms);
	else if (strcmp(option, "--older-than") == 0)
		return archive_span(value, &words->older_ms);
	else if (strcmp(option, "--keep") == 0)
		return read_count(value, &words->keep);
	else if (strcmp(option, "-o") == 0)
		return answer_format(value, &words->as_json);
	else if (strcmp(option, "--term") == 0 && read_count(value, &number))
		words->term = (unsigned long long)number;
	else
		return false;
	return true;
}

enum ctl_exit archive_parse(int argc, char **argv, const char *options, bool named,
    struct archive_words *words, struct err *err)
{
	*words = (struct archive_words){
		.namespace = DEFAULT_NAMESPACE, .since_ms = -1, .older_ms = -1, .keep = -1
	};
	for (int i = 2; i < argc; i++) {
		char word[40];
		const char *option = argv[i];

		(void)snprintf(word, sizeof(word), " %.30s ", option);
		if (option[0] != '-' && named && !words->name) {
			words->name = option;
			continue;
		}
		if (option[0] != '-' || !strstr(options, word))
			return command_misused(err, "archive", "unknown word ", option);
		if (strcmp(option, "--dry-run") == 0)
			words->dry_run = true;
		else if (strcmp(option, "--force") == 0)
			words->force = true;
		else if (strcmp(option, "--show-secrets") == 0)
			words->secrets = true;
		else if (i + 1 == argc || !argv[i + 1][0] || !take_value(words, option, argv[++i]))
			return command_misused(
			    err, "archive", "this needs another value: ", option);
	}
	if (named && (!words->name || !archived_is_name(words->name)))
		return command_misused(err, "archive",
		    "the name of an archived object is wanted, as archive list shows it", "");
	if (words->namespace[0] == '-' || (words->from.context && words->from.context[0] == '-'))
		return command_misused(err, "archive", "a name does not begin with -", "");
	return CTL_DONE;
}

static void put_json(struct buf *out, const json_t *value)
{
	struct buf text = buf_make_secret(16u << 20);
	json_t *plain;
	char *pretty = NULL;

	/* Numbers that jansson would change are written as they are, but on one line. */
	kube_json_put(&text, value);
	plain = json_loadb(text.data, text.len, 0, NULL);
	if (json_equal(plain, value))
		pretty = json_dumps(value, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	if (pretty)
		buf_puts(out, pretty);
	else
		buf_append(out, text.data, text.len);
	buf_puts(out, "\n");
	if (pretty)
		explicit_bzero(pretty, strlen(pretty));
	free(pretty);
	json_decref(plain);
	buf_free(&text);
}

/* --- List ------------------------------------------------------------------------------------- */

static bool is_wanted(
    const struct archive_words *words, const struct archived *item, long long now_s)
{
	if (words->term && item->term != words->term)
		return false;
	return words->since_ms < 0 || (now_s - item->created_s) * 1000 <= words->since_ms;
}

static void put_line(struct buf *out, const struct archived *item)
{
	char term[32];

	(void)snprintf(term, sizeof(term), "%llu", item->term);
	show_column(out, item->name, 36);
	show_column(out, item->created, 22);
	show_column(out, term, 6);
	show_column(out, item->because, 9);
	show_text(out, item->kind);
	buf_puts(out, " ");
	show_text(out, item->object);
	buf_puts(out, "\n");
}

static json_t *json_of(const struct archived *item)
{
	return json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:i}", "name", item->name, "archived",
	    item->created, "term", (json_int_t)item->term, "because", item->because, "apiVersion",
	    item->version, "kind", item->kind, "object", item->object, "parts", (int)item->parts);
}

/* An empty list of another namespace says nothing. Who may not read the Lease is not refused. */
static enum ctl_exit check_place(const struct archive_words *words, struct err *err)
{
	struct buf holder = buf_make(256);
	enum kubectl_outcome outcome =
	    kubectl_lease_holder(&words->from, words->namespace, &holder, err);

	buf_free(&holder);
	return outcome == KUBECTL_NOT_FOUND ? CTL_REFUSED : CTL_DONE;
}

static enum ctl_exit run_list(int argc, char **argv, struct buf *out, struct err *err)
{
	struct archived_list list;
	struct archive_words words;
	json_t *all = json_array();
	long long now_s = (long long)time(NULL);
	enum ctl_exit code = archive_parse(argc, argv,
	    " --kubeconfig --context --namespace --since --term -o ", false, &words, err);
	size_t shown = 0;

	if (code != CTL_DONE) {
		json_decref(all);
		return code;
	}
	code = kubectl_exit(archived_read(&words.from, words.namespace, &list, err), false);
	if (code == CTL_DONE && list.count == 0)
		code = check_place(&words, err);
	for (size_t i = 0; i < list.count; i++) {
		if (!is_wanted(&words, &list.items[i], now_s))
			continue;
		if (words.as_json) {
			json_array_append_new(all, json_of(&list.items[i]));
			continue;
		}
		if (shown++ == 0)
			buf_puts(out,
			    "NAME                                ARCHIVED              TERM  "
			    "BECAUSE  OBJECT\n");
		put_line(out, &list.items[i]);
	}
	if (code == CTL_DONE && words.as_json)
		put_json(out, all);
	else if (code == CTL_DONE && shown == 0)
		buf_puts(out, "nothing is archived: nothing was lost\n");
	archived_free(&list);
	json_decref(all);
	return code;
}

/* --- Show ------------------------------------------------------------------------------------- */

static void redact_member(json_t *object, const char *name)
{
	json_t *data = json_object_get(object, name), *value;
	const char *key;
	void *next;

	json_object_foreach_safe(data, next, key, value)
	{
		char text[64];

		(void)snprintf(text, sizeof(text), "(%zu characters, --show-secrets shows them)",
		    json_string_length(value));
		json_object_set_new(data, key, json_string(text));
	}
}

void archive_redact(json_t *object)
{
	json_t *marks = json_object_get(json_object_get(object, "metadata"), "annotations");

	if (strcmp(member_text(object, "kind"), "Secret") != 0)
		return;
	redact_member(object, "data");
	redact_member(object, "stringData");
	json_object_del(marks, "kubectl.kubernetes.io/last-applied-configuration");
}

static enum ctl_exit run_show(int argc, char **argv, struct buf *out, struct err *err)
{
	enum kubectl_outcome outcome;
	struct archived record;
	struct archive_words words;
	enum ctl_exit code = archive_parse(argc, argv,
	    " --kubeconfig --context --namespace --show-secrets -o ", true, &words, err);
	json_t *object;

	if (code != CTL_DONE)
		return code;
	object = archived_load(&words.from, words.namespace, words.name, &record, &outcome, err);
	if (!object)
		return kubectl_exit(outcome, false);
	if (!words.secrets)
		archive_redact(object);
	put_json(out, object);
	json_decref(object);
	return CTL_DONE;
}

/* --- Prune ------------------------------------------------------------------------------------ */

/* The list has the newest first. */
static bool is_due(
    const struct archive_words *words, const struct archived *item, size_t at, long long now_s)
{
	long long age_ms = words->older_ms;

	if (words->keep >= 0 && at < (size_t)words->keep)
		return false;
	if (age_ms < 0)
		age_ms = words->keep >= 0 ? 0 : DEFAULT_AGE_MS;
	return (now_s - item->created_s) * 1000 >= age_ms;
}

/* Names of all parts, as many as one kubectl takes. */
static enum kubectl_outcome delete_some(const struct archive_words *words,
    const struct archived *const *items, size_t count, struct err *err)
{
	char names[DELETED_AT_ONCE + 8][112];
	const char *argv[DELETED_AT_ONCE + 16] = { "delete", "secret", "-n", words->namespace,
		"--ignore-not-found" };
	struct buf said = buf_make(1 << 20);
	size_t n = 5, at = 0;
	enum kubectl_outcome outcome;

	for (size_t i = 0; i < count; i++)
		for (unsigned part = 0; part < items[i]->parts; part++, at++) {
			archived_part_name(items[i], part, names[at]);
			argv[n++] = names[at];
		}
	outcome = kubectl_run(&words->from, argv, (struct str){ 0 }, &said, err);
	buf_free(&said);
	return outcome;
}

static bool prune_consented(const struct archive_words *words, size_t count)
{
	if (words->yes)
		return strcmp(words->yes, "prune") == 0;
	if (!isatty(STDIN_FILENO))
		return false;
	(void)fprintf(
	    stderr, "%zu archived objects are deleted for good. Type prune to go on: ", count);
	return consent_typed("prune");
}

static enum kubectl_outcome delete_all(const struct archive_words *words,
    const struct archived *const *due, size_t count, struct err *err)
{
	enum kubectl_outcome outcome = KUBECTL_OK;

	for (size_t from = 0; from < count && outcome == KUBECTL_OK;) {
		size_t n = 0, parts = 0;

		while (from + n < count && parts + due[from + n]->parts <= DELETED_AT_ONCE)
			parts += due[from + n++]->parts;
		outcome = delete_some(words, due + from, n, err);
		from += n;
	}
	return outcome;
}

/* For a program: what was, or would be, deleted; of a list that could not be read it is nothing. */
static void put_pruned(const struct archive_words *words, enum ctl_exit code,
    const struct archived *const *due, size_t count, size_t all, const char *text, struct buf *out)
{
	json_t *objects = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(objects, json_of(due[i]));
	(void)answer_put(out, code, text,
	    json_pack("{s:b, s:o, s:I}", "dryRun", words->dry_run, "objects", objects, "stay",
		(json_int_t)(all - count)));
}

static enum ctl_exit prune(const struct archive_words *words, const struct archived_list *list,
    struct buf *out, struct err *err)
{
	const struct archived **due = calloc(list->count + 1, sizeof(struct archived *));
	long long now_s = (long long)time(NULL);
	enum ctl_exit code = CTL_DONE;
	char done[120];
	size_t count = 0;

	for (size_t i = 0; due && i < list->count; i++)
		if (is_due(words, &list->items[i], i, now_s)) {
			due[count++] = &list->items[i];
			if (!words->as_json)
				put_line(out, &list->items[i]);
		}
	if (count && !words->dry_run && !prune_consented(words, count)) {
		err_set(err, "prune: refused: not confirmed; in a script: --yes prune");
		code = CTL_REFUSED;
	} else if (!words->dry_run) {
		code = kubectl_exit(delete_all(words, due, count, err), true);
	}
	(void)snprintf(done, sizeof(done), "%zu archived objects %s, %zu stay", count,
	    words->dry_run ? "would be deleted" : "are deleted", list->count - count);
	if (words->as_json)
		put_pruned(
		    words, code, due, count, list->count, code == CTL_DONE ? done : err->text, out);
	else if (code == CTL_DONE)
		buf_printf(out, "prune: done: %s\n", done);
	free(due);
	return code;
}

static enum ctl_exit run_prune(int argc, char **argv, struct buf *out, struct err *err)
{
	struct archived_list list;
	struct archive_words words;
	enum ctl_exit code = archive_parse(argc, argv,
	    " --kubeconfig --context --namespace --older-than --keep --dry-run --yes -o ", false,
	    &words, err);

	if (code != CTL_DONE)
		return code;
	code = kubectl_exit(archived_read(&words.from, words.namespace, &list, err), false);
	if (code == CTL_DONE)
		code = prune(&words, &list, out, err);
	else if (words.as_json)
		put_pruned(&words, code, NULL, 0, 0, err->text, out);
	archived_free(&list);
	return code;
}

enum ctl_exit archive_command(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	static const struct {
		const char *name;
		enum ctl_exit (*run)(int, char **, struct buf *, struct err *);
	} verbs[] = { { "list", run_list }, { "show", run_show }, { "restore", archive_restore },
		{ "prune", run_prune } };

	(void)options;
	for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc, argv, out, err);
	return argc > 1 ? command_misused(err, "archive", "archive knows no verb ", argv[1])
			: command_misused(err, "archive", "a verb is missing", "");
}
