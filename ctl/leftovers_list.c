/*
 * What a hub that leads has left over (see the header): all kinds that its API server has are asked
 * for copies, because those of a mirror that nobody lists any more, and those that are served under
 * another version, bear its marks as well. The rights of the syncer say which kinds there should
 * be. Called by leftovers.c.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/answer.h"
#include "ctl/json.h"
#include "ctl/kubectl.h"
#include "ctl/leftovers.h"
#include "policy/config_mirror.h"

#define MAX_LIST    ((size_t)64 << 20)
#define MAX_KINDS   ((size_t)1 << 20)
#define KINDS_A_RUN 64 /* their names fit onto a command line */
#define LINE        "{.apiVersion}{\" \"}{.kind}{\" \"}{.metadata}{\"\\n\"}"

/* --- Kinds ------------------------------------------------------------------------------------ */

/* A name that goes into a path or onto a command line as it is. */
static bool is_name(const char *text)
{
	return text[0] && text[0] != '-' && text[0] != '.' && strlen(text) <= 253 &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:") ==
		   strlen(text);
}

/* PLURAL [SHORT] APIVERSION NAMESPACED KIND; the line is cut into its words. */
static bool read_kind(char *line, struct leftover_kind *kind, bool *wide)
{
	char *words[6], *rest = line, *slash;
	size_t n = 0;

	while (n < 6 && (words[n] = strtok_r(n ? NULL : line, " ", &rest)))
		n++;
	if (n < 4 || n > 5)
		return false;
	slash = strchr(words[n - 3], '/');
	if (slash)
		*slash = '\0';
	*kind = (struct leftover_kind){ slash ? words[n - 3] : "", slash ? slash + 1 : words[n - 3],
		words[0], words[n - 1] };
	*wide = strcmp(words[n - 2], "false") == 0;
	return (*wide || strcmp(words[n - 2], "true") == 0) && is_name(kind->plural) &&
	       is_name(kind->version) && is_name(kind->kind) && (!slash || is_name(kind->group));
}

bool leftovers_take_kinds(struct leftovers *list, struct str table)
{
	char *rest = NULL, *line;
	size_t capacity = 1;

	list->kind_count = 0;
	list->names = strndup(table.n ? table.p : "", table.n);
	for (size_t i = 0; i < table.n; i++)
		capacity += table.p[i] == '\n';
	list->kinds = calloc(capacity, sizeof(*list->kinds));
	if (!list->names || !list->kinds)
		return false;
	for (line = strtok_r(list->names, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct leftover_kind *kind = &list->kinds[list->kind_count];
		bool wide;

		if (!read_kind(line, kind, &wide))
			return false;
		/* Of what the mirror never has, a mark is somebody else's word (M10). */
		if (wide ? !kind->group[0] && strcmp(kind->plural, "namespaces") == 0
			 : !config_never_mirrored(kind->group, kind->plural))
			list->kind_count++;
	}
	return true;
}

static void put_unseen(
    struct leftovers *list, const char *plural, const char *group, const char *why)
{
	char name[400];

	(void)snprintf(name, sizeof(name), "%.130s%s%.253s", plural, *group ? "." : "", group);
	if (!list->unseen)
		list->unseen = json_array();
	json_array_append_new(
	    list->unseen, json_pack("{s:s, s:o}", "kind", name, "text", answer_text(why)));
}

static bool is_served(const struct leftovers *list, const char *plural, const char *group)
{
	for (size_t i = 0; i < list->kind_count; i++)
		if (strcmp(list->kinds[i].plural, plural) == 0 &&
		    strcmp(list->kinds[i].group, group) == 0)
			return true;
	return false;
}

static void expect(struct leftovers *list, const char *group, const json_t *resources)
{
	const json_t *resource;
	size_t i;

	json_array_foreach(resources, i, resource)
	{
		const char *plural = json_string_value(resource);

		if (group && plural && !strchr(plural, '/') && !is_served(list, plural, group))
			put_unseen(list, plural, group,
			    "the mirror has it, but this hub does not serve it");
	}
}

void leftovers_expect(struct leftovers *list, const json_t *role)
{
	const json_t *rule, *group;
	size_t i, g;

	json_array_foreach(json_object_get(role, "rules"), i, rule)
	{
		const json_t *verbs = json_object_get(rule, "verbs");

		if (!texts_have(verbs, "create") || !texts_have(verbs, "delete"))
			continue;
		json_array_foreach(json_object_get(rule, "apiGroups"), g, group)
		{
			expect(list, json_string_value(group), json_object_get(rule, "resources"));
		}
	}
}

/* --- Objects ---------------------------------------------------------------------------------- */

static const struct leftover_kind *kind_of(
    const struct leftovers *list, struct str version, struct str kind)
{
	for (size_t i = 0; i < list->kind_count; i++) {
		const struct leftover_kind *one = &list->kinds[i];
		char text[520];

		(void)snprintf(text, sizeof(text), "%s%s%s", one->group, one->group[0] ? "/" : "",
		    one->version);
		if (str_equal(version, str_of(text)) && str_equal(kind, str_of(one->kind)))
			return one;
	}
	return NULL;
}

/* The next word of a line; empty: there is none. */
static struct str take_word(struct str *line)
{
	const char *space = line->n ? memchr(line->p, ' ', line->n) : NULL;
	struct str word = { line->p, space ? (size_t)(space - line->p) : 0 };

	if (space)
		*line = (struct str){ space + 1, line->n - word.n - 1 };
	return word;
}

static bool read_item(
    const struct leftovers *list, struct str line, bool held, struct leftover *out)
{
	struct str version = take_word(&line), kind = take_word(&line);
	const struct leftover_kind *of = kind_of(list, version, kind);
	json_t *metadata = of ? json_loadb(line.p, line.n, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const json_t *marks = json_object_get(metadata, "annotations");
	const char *label = member_text(json_object_get(metadata, "labels"), MARK("synced-from"));

	*out = (struct leftover){ .metadata = metadata };
	if (!metadata)
		return false;
	out->of = *of;
	out->namespace = member_text(metadata, "namespace");
	out->name = member_text(metadata, "name");
	out->uid = member_text(metadata, "uid");
	out->resource_version = member_text(metadata, "resourceVersion");
	out->held = json_object_get(marks, MARK("delete-held")) != NULL;
	if (strcmp(label, "active") == 0 && is_name(out->name) && out->uid[0] &&
	    out->resource_version[0] && (!out->namespace[0] || is_name(out->namespace)) &&
	    (held ? out->held : member_text(marks, MARK("parked"))[0] != '\0'))
		return true;
	json_decref(metadata);
	return false;
}

static int namespaces_last(const void *a, const void *b)
{
	const struct leftover *x = a, *y = b;
	int order = !x->namespace[0] - !y->namespace[0];

	if (!order)
		order = strcmp(x->of.kind, y->of.kind);
	if (!order)
		order = strcmp(x->namespace, y->namespace);
	return order ? order : strcmp(x->name, y->name);
}

bool leftovers_parse(struct leftovers *list, const char *lines, bool held)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");
		struct leftover item, *grown;

		if (read_item(list, (struct str){ lines, n }, held, &item)) {
			if (list->count == list->capacity) {
				list->capacity = list->capacity ? list->capacity * 2 : 64;
				grown = realloc(list->items, list->capacity * sizeof(item));
				if (!grown) {
					json_decref(item.metadata);
					return false;
				}
				list->items = grown;
			}
			list->items[list->count++] = item;
		}
		lines += n + (lines[n] == '\n');
	}
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), namespaces_last);
	return true;
}

void leftovers_free(struct leftovers *list)
{
	for (size_t i = 0; i < list->count; i++)
		json_decref(list->items[i].metadata);
	free(list->items);
	free(list->kinds);
	free(list->names);
	json_decref(list->unseen);
	*list = (struct leftovers){ 0 };
}

/* --- The hub ---------------------------------------------------------------------------------- */

/* Of groups whose server does not answer kubectl says so and lists the others. */
static bool ask_kinds(const struct kubectl *hub, struct leftovers *list, struct err *err)
{
	static const char *const words[] = { "api-resources", "--no-headers",
		"--verbs=list,watch,delete", NULL };
	struct buf table = buf_make(MAX_KINDS);
	enum kubectl_outcome outcome = kubectl_run(hub, words, (struct str){ 0 }, &table, err);
	bool fine = table.len > 0;

	if (fine && (table.failed || !leftovers_take_kinds(list, buf_str(&table)))) {
		err_set(err, "kubectl api-resources: its list of kinds cannot be read");
		fine = false;
	} else if (fine && outcome != KUBECTL_OK) {
		put_unseen(list, "some kinds", "", err->text);
	} else if (!fine && outcome == KUBECTL_OK) {
		err_set(err, "kubectl api-resources: this hub has no kinds");
	}
	buf_free(&table);
	return fine;
}

static void ask_rights(const struct kubectl *hub, struct leftovers *list, struct err *err)
{
	static const char *const words[] = { "get", "clusterroles.rbac.authorization.k8s.io",
		"understudy-syncer", "-o", "json", NULL };
	struct buf text = buf_make(MAX_KINDS);
	enum kubectl_outcome outcome = kubectl_run(hub, words, (struct str){ 0 }, &text, err);
	json_t *role =
	    outcome == KUBECTL_OK && text.len ? json_loadb(text.data, text.len, 0, NULL) : NULL;

	if (json_is_array(json_object_get(role, "rules")))
		leftovers_expect(list, role);
	else
		put_unseen(list, "kinds that are not served", "",
		    outcome == KUBECTL_OK ? "ClusterRole understudy-syncer cannot be read"
					  : err->text);
	json_decref(role);
	buf_free(&text);
}

/* Of these kinds; where one is refused it is found by halves, and named. */
static bool ask_copies(const struct kubectl *hub, struct leftovers *list, size_t from, size_t count,
    bool held, struct err *err)
{
	struct buf names = buf_make(1 << 16), out = buf_make_secret(MAX_LIST);
	const struct leftover_kind *kinds = list->kinds + from;
	enum kubectl_outcome outcome;
	bool fine = true;

	for (size_t i = 0; i < count; i++)
		buf_printf(&names, "%s%s.%s.%s", i ? "," : "", kinds[i].plural, kinds[i].version,
		    kinds[i].group);
	outcome = kubectl_run(hub,
	    (const char *const[]){ "get", names.data, "-A", "-l", MARK("synced-from") "=active",
		"-o", "jsonpath={range .items[*]}" LINE "{end}", NULL },
	    (struct str){ 0 }, &out, err);
	if (outcome == KUBECTL_OK && out.failed) {
		err_set(err, "the list of copies is larger than 64 MiB");
		outcome = KUBECTL_REFUSED;
	} else if (outcome == KUBECTL_FAILED && strstr(err->text, "Error from server")) {
		outcome = KUBECTL_REFUSED;
	}
	if (outcome == KUBECTL_OK) {
		fine = leftovers_parse(list, out.data ? out.data : "", held);
		if (!fine)
			err_set(err, "out of memory");
	}
	buf_free(&names);
	buf_free(&out);
	if (outcome == KUBECTL_OK || outcome == KUBECTL_FAILED)
		return fine && outcome == KUBECTL_OK;
	if (count > 1)
		return ask_copies(hub, list, from, count / 2, held, err) &&
		       ask_copies(hub, list, from + count / 2, count - count / 2, held, err);
	put_unseen(list, kinds->plural, kinds->group, err->text);
	return true;
}

enum ctl_exit leftovers_read(
    const struct kubectl *hub, bool held, struct leftovers *list, struct err *err)
{
	bool fine = ask_kinds(hub, list, err);

	if (fine)
		ask_rights(hub, list, err);
	for (size_t i = 0; fine && i < list->kind_count; i += KINDS_A_RUN) {
		size_t left = list->kind_count - i;

		fine = ask_copies(hub, list, i, left < KINDS_A_RUN ? left : KINDS_A_RUN, held, err);
	}
	return fine ? CTL_DONE : CTL_REFUSED;
}
