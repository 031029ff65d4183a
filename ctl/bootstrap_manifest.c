/*
 * The manifests of bootstrap (see bootstrap.h): the templates of policy/ filled by the words of the
 * command line and by the rows of the mirror. A template is YAML in Mustache's notation:
 * {{NAME}} is a value; the lines from {{#NAME}} to {{/NAME}} are there when it is not empty, once
 * for each member of a list; those from {{^NAME}} when it is empty. Pure. Called by
 * bootstrap.c, bootstrap_apply.c and bootstrap_answer.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "ctl/bootstrap.h"
#include "ctl/manifests.h"
#include "policy/kinds.h"

#define HUB_GROUP    "controller.kubeslice.io"
#define WORKER_GROUP "worker.kubeslice.io"
#define RBAC_GROUP   "rbac.authorization.k8s.io"

const char bootstrap_hub_role[] = "apiVersion: ha.kubeslice.io/v1alpha1\n"
				  "kind: HubRole\n"
				  "metadata: {name: self}\n"
				  "spec: {role: Standby, term: 0}\n";
static const char space[] = "apiVersion: v1\nkind: Namespace\nmetadata: {name: \"{{N}}\"}\n---\n";

/* --- Templates -------------------------------------------------------------------------------- */

#define MEMBER_VALUES 3

/* What {{NAME}} stands for: a text, or members that have values of their own. A list of them ends
 * with no name. */
struct value {
	const char *name, *text;
	const struct member *members;
	unsigned count;
};
struct member {
	struct value values[MEMBER_VALUES + 1];
};

static const struct value *find(const struct value *values, const char *name, size_t n)
{
	for (; values && values->name; values++)
		if (strlen(values->name) == n && strncmp(values->name, name, n) == 0)
			return values;
	return NULL;
}

static void fill_part(
    struct buf *out, struct str text, const struct value *inner, const struct value *outer);

/* The lines of a section, whose opening tag begins the text. Returns where they end. Tags have
 * lines of their own, and no section holds one of its own name. */
static size_t fill_section(struct buf *out, struct str text, const struct value *value,
    const struct value *inner, const struct value *outer)
{
	bool inverted = text.p[2] == '^';
	const char *body = memchr(text.p, '\n', text.n), *end;
	char close[64];
	struct str part;

	(void)snprintf(close, sizeof(close), "{{/%s}}\n", value->name);
	CHECK(body);
	body++;
	end = strstr(body, close);
	CHECK(end && end[-1] == '\n');
	part = (struct str){ body, (size_t)(end - body) };
	for (unsigned i = 0; i < value->count && !inverted; i++)
		fill_part(out, part, value->members[i].values, outer);
	if (!value->members && (value->text[0] != '\0') != inverted)
		fill_part(out, part, inner, outer);
	return (size_t)(end - text.p) + strlen(close);
}

static void fill_part(
    struct buf *out, struct str text, const struct value *inner, const struct value *outer)
{
	const char *open;

	while (text.n && (open = memmem(text.p, text.n, "{{", 2))) {
		bool section = open[2] == '#' || open[2] == '^';
		const char *name = open + 2 + section, *close = strstr(name, "}}");
		const struct value *value;
		size_t used = (size_t)(open - text.p);

		CHECK(close);
		buf_append(out, text.p, used);
		text = (struct str){ open, text.n - used };
		value = find(inner, name, (size_t)(close - name));
		if (!value)
			value = find(outer, name, (size_t)(close - name));
		CHECK(value); /* a placeholder that nobody knows */
		if (section) {
			used = fill_section(out, text, value, inner, outer);
		} else {
			buf_puts(out, value->text);
			used = (size_t)(close + 2 - open);
		}
		text = (struct str){ text.p + used, text.n - used };
	}
	buf_append(out, text.p, text.n);
}

/* Values come from words that were judged: DNS labels, resources, labels, and lists of them. */
static void fill(struct buf *out, const char *text, const struct value *values)
{
	fill_part(out, str_of(text), NULL, values);
}

/* --- The mirror as values --------------------------------------------------------------------- */

/* What the templates of a hub say of the mirror. */
struct mirror {
	struct kind_row rows[KIND_COUNT];
	bool any, whole; /* whole: all of KubeSlice's own kinds */
	struct buf controller, controller_status, worker, worker_status, core, rbac, each;
	struct buf mirrored, labels, note, allowed;
	struct member others[KIND_COUNT], guarded[KIND_COUNT], skipped[KIND_COUNT];
	unsigned other_count, guarded_count, skipped_count;
	char subresources[KIND_COUNT][80];
};

static bool is_of(const struct kind_row *row, const char *group)
{
	return row->on && strcmp(row->group, group) == 0;
}

static bool is_of_kubeslice(const struct kind_row *row)
{
	return row->kind &&
	       (strcmp(row->group, HUB_GROUP) == 0 || strcmp(row->group, WORKER_GROUP) == 0);
}

static void put_item(struct buf *out, const char *quote, const char *item, const char *end)
{
	buf_printf(out, "%s%s%s%s%s", out->len ? ", " : "", quote, item, end, quote);
}

/* Rows of the table in one group; those of mirror.kinds stand for themselves. */
static void put_group(
    const struct mirror *m, const char *group, const char *quote, const char *end, struct buf *out)
{
	for (unsigned k = 0; k < KIND_LISTED; k++)
		if (is_of(&m->rows[k], group) && (!*end || m->rows[k].status))
			put_item(out, quote, m->rows[k].plural, end);
}

/* A clause of the policy's expression, in the form that the API server will judge. */
static void put_clause(struct buf *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put_clause(struct buf *out, const char *format, ...)
{
	char clause[1024];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(clause, sizeof(clause), format, arguments);
	va_end(arguments);
	buf_printf(out, "%s%s", out->len ? "\n      || " : "", clause);
}

static void put_group_clause(const struct mirror *m, const char *group, struct buf *out)
{
	struct buf names = buf_make(4096);

	put_group(m, group, "'", "", &names);
	if (names.len)
		put_clause(out,
		    "request.resource.group == '%s' && request.resource.resource in [%s]", group,
		    names.data);
	buf_free(&names);
}

/* Into namespaces whose RoleBindings it does not mirror. */
static bool binds_itself(const struct mirror *m)
{
	return m->each.len && !m->rows[KIND_ROLE_BINDING].on;
}

/* What the syncer may touch, and no more: kinds by their names, and of Secrets and RoleBindings
 * that are not mirrored the archive and its own binding. */
static void put_mirrored(const struct mirror *m, struct buf *out)
{
	if (m->whole)
		put_clause(out, "request.resource.group in ['" HUB_GROUP "', '" WORKER_GROUP "']");
	else
		for (unsigned i = 0; i < 2; i++)
			put_group_clause(m, i ? WORKER_GROUP : HUB_GROUP, out);
	put_group_clause(m, "", out);
	put_group_clause(m, RBAC_GROUP, out);
	for (unsigned k = KIND_LISTED; k < KIND_COUNT; k++)
		if (m->rows[k].on)
			put_clause(out,
			    "request.resource.group == '%s' && request.resource.resource == '%s'%s",
			    m->rows[k].group, m->rows[k].plural,
			    m->rows[k].status ? "" : " && request.?subResource.orValue('') == ''");
	if (m->any && !m->rows[KIND_SECRET].on)
		put_clause(out,
		    "request.resource.group == '' && request.resource.resource == 'secrets' && "
		    "request.operation == 'CREATE'\n"
		    "      && object.?type.orValue('') == 'ha.kubeslice.io/archived-object'");
	if (binds_itself(m))
		put_clause(out,
		    "request.resource.group == '" RBAC_GROUP
		    "' && request.resource.resource == 'rolebindings' && request.operation == "
		    "'CREATE'\n"
		    "      && object.metadata.name == 'understudy-mirror-secrets' && "
		    "object.roleRef.kind == 'ClusterRole'");
	if (!out->len)
		buf_puts(out, "false");
}

/* The default stands as plain words; others are quoted, for a value may read as a number. */
static void put_labels(const struct us_config *config, struct buf *out)
{
	const char *quote = kinds_owner_chooses(config) ? "" : "\"";

	buf_printf(out, "{%s%s%s: %s%s%s}", quote, config_text_at(config, config->mirror_label.key),
	    quote, quote, config_text_at(config, config->mirror_label.value), quote);
}

/* What the syncer lets Roles grant (B1), for the policy that asks whether it did: one text for each
 * verb. Nothing in a rule ends a text (config_is_rule). */
static void put_allowed(const struct us_config *config, struct buf *out)
{
	for (unsigned i = 0; i < config->rule_count; i++) {
		const char *rule = config_text_at(config, config->rules[i]), *end;
		const char *verb = strrchr(rule, ':') + 1;
		int what = (int)(verb - rule);

		for (;; verb = end + 1) {
			end = strchrnul(verb, ',');
			buf_printf(out, "%s'%.*s%.*s'", out->len ? ", " : "", what, rule,
			    (int)(end - verb), verb);
			if (!*end)
				break;
		}
	}
	CHECK(!out->failed);
}

void bootstrap_mirror_put(const struct us_config *config, struct buf *out)
{
	bool set = config->mirror_set == CONFIG_MIRROR_KUBESLICE;
	struct kind_row rows[KIND_COUNT];

	(void)kinds_of(config, rows);
	buf_printf(out, "set %s, namespaces %s=%s", set ? "kubeslice" : "none",
	    config_text_at(config, config->mirror_label.key),
	    config_text_at(config, config->mirror_label.value));
	for (unsigned k = 0; k < KIND_COUNT; k++)
		if (rows[k].on && (!set || k >= KIND_LISTED) && k != KIND_NAMESPACE)
			buf_printf(out, ", %s%s%s", rows[k].plural, *rows[k].group ? "." : "",
			    rows[k].group);
	for (unsigned k = 0; k < KIND_LISTED; k++)
		if (rows[k].skipped)
			buf_printf(out, ", without %s%s%s", rows[k].plural,
			    *rows[k].group ? "." : "", rows[k].group);
	for (unsigned i = 0; i < config->rule_count; i++)
		buf_printf(out, ", allows %s", config_text_at(config, config->rules[i]));
}

/* What is mirrored, unless it is the default: what a later run without --mirror finds. */
static void put_note(const struct us_config *config, const struct mirror *m, struct buf *out)
{
	bool set = config->mirror_set == CONFIG_MIRROR_KUBESLICE;
	unsigned off = 0;

	for (unsigned k = 0; k < KIND_LISTED; k++)
		off += !m->rows[k].on;
	if (set && kinds_owner_chooses(config) && !off && !m->other_count && !config->rule_count)
		return;
	buf_puts(out, ", annotations: {" BOOTSTRAP_MIRROR_NOTE ": \"");
	bootstrap_mirror_put(config, out);
	buf_puts(out, "\"}");
}

static void take_member(struct mirror *m, unsigned k, struct member *list, unsigned *count)
{
	const struct kind_row *row = &m->rows[k];

	if (row->status)
		(void)snprintf(m->subresources[k], sizeof(m->subresources[k]), ", \"%.63s/status\"",
		    row->plural);
	list[(*count)++] = (struct member){ { { .name = "GROUP", .text = row->group },
	    { .name = "RESOURCE", .text = row->plural },
	    { .name = "STATUS", .text = m->subresources[k] } } };
}

/* Of KubeSlice's groups the fence guards every kind but those that mirror.skip gives to each hub;
 * else what is listed. Clusters always: their status is the publisher's to write, which a hub that
 * does not lead has to refuse, whatever is mirrored (C1). */
static void take_members(struct mirror *m, bool set)
{
	for (unsigned k = 0; k < KIND_COUNT; k++) {
		const struct kind_row *row = &m->rows[k];
		bool listed = k >= KIND_LISTED, ours = row->kind && is_of_kubeslice(row);

		if (row->on && listed)
			take_member(m, k, m->others, &m->other_count);
		if ((row->on && (listed || (!set && ours))) || (!set && k == KIND_CLUSTER))
			take_member(m, k, m->guarded, &m->guarded_count);
		if (row->skipped && ours && k != KIND_CLUSTER)
			take_member(m, k, m->skipped, &m->skipped_count);
	}
}

static void take_mirror(const struct us_config *config, struct mirror *m)
{
	struct buf *texts[] = { &m->controller, &m->controller_status, &m->worker,
		&m->worker_status, &m->core, &m->rbac, &m->each, &m->mirrored, &m->labels, &m->note,
		&m->allowed };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		*texts[i] = buf_make(1 << 17); /* a rule's text once for each of its verbs */
	(void)kinds_of(config, m->rows);
	m->any = kinds_any(config);
	m->whole = m->any;
	for (unsigned k = 0; k < KIND_LISTED; k++)
		m->whole = m->whole && (m->rows[k].on || !is_of_kubeslice(&m->rows[k]));
	put_group(m, HUB_GROUP, "", "", &m->controller);
	put_group(m, HUB_GROUP, "", "/status", &m->controller_status);
	put_group(m, WORKER_GROUP, "", "", &m->worker);
	put_group(m, WORKER_GROUP, "", "/status", &m->worker_status);
	put_group(m, RBAC_GROUP, "", "", &m->rbac);
	put_group(m, "", "", "", &m->core);
	for (unsigned k = KIND_LISTED; k-- > 0;)
		if (m->rows[k].on && m->rows[k].each)
			put_item(&m->each, "", m->rows[k].plural, "");
	take_members(m, config->mirror_set == CONFIG_MIRROR_KUBESLICE);
	put_mirrored(m, &m->mirrored);
	put_labels(config, &m->labels);
	put_note(config, m, &m->note);
	put_allowed(config, &m->allowed);
}

static void free_mirror(struct mirror *m)
{
	struct buf *texts[] = { &m->controller, &m->controller_status, &m->worker,
		&m->worker_status, &m->core, &m->rbac, &m->each, &m->mirrored, &m->labels, &m->note,
		&m->allowed };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		buf_free(texts[i]);
}

static const char *text_of(const struct buf *text)
{
	return text->data ? text->data : "";
}

/* A hub's template: names, and all that is said of the mirror. */
static void fill_hub(
    const struct bootstrap *b, const char *text, const char *tokens, struct buf *out)
{
	static struct mirror mirror;
	struct mirror *m = &mirror;
	char role_verbs[20];

	*m = (struct mirror){ 0 };
	take_mirror(b->config, m);
	(void)snprintf(role_verbs, sizeof(role_verbs), "%s%s%s",
	    m->rows[KIND_ROLE].on ? "escalate" : "",
	    m->rows[KIND_ROLE].on && m->rows[KIND_ROLE_BINDING].on ? ", " : "",
	    m->rows[KIND_ROLE_BINDING].on ? "bind" : "");
	fill(out, text,
	    (const struct value[]){ { .name = "N", .text = b->namespace },
		{ .name = "TOKENS", .text = tokens },
		{ .name = "KEY", .text = config_text_at(b->config, b->config->mirror_label.key) },
		{ .name = "VALUE",
		    .text = config_text_at(b->config, b->config->mirror_label.value) },
		{ .name = "LABELS", .text = text_of(&m->labels) },
		{ .name = "MIRROR", .text = m->any ? "any" : "" },
		{ .name = "KUBESLICE",
		    .text = b->config->mirror_set == CONFIG_MIRROR_KUBESLICE ? "set" : "" },
		{ .name = "CONTROLLER", .text = text_of(&m->controller) },
		{ .name = "CONTROLLER_STATUS", .text = text_of(&m->controller_status) },
		{ .name = "WORKER", .text = text_of(&m->worker) },
		{ .name = "WORKER_STATUS", .text = text_of(&m->worker_status) },
		{ .name = "CORE", .text = m->core.len ? m->core.data : "namespaces" },
		{ .name = "RBAC", .text = text_of(&m->rbac) },
		{ .name = "ROLE_VERBS", .text = role_verbs },
		{ .name = "OWN_BINDING", .text = binds_itself(m) ? "create" : "" },
		{ .name = "EACH", .text = text_of(&m->each) },
		{ .name = "CONFIGMAPS",
		    .text = kinds_by_resource(m->rows, "", "configmaps") != KIND_COUNT ? "listed"
										       : "" },
		{ .name = "OTHER", .members = m->others, .count = m->other_count },
		{ .name = "GUARDED", .members = m->guarded, .count = m->guarded_count },
		{ .name = "SKIPPING", .text = m->skipped_count ? "some" : "" },
		{ .name = "SKIPPED", .members = m->skipped, .count = m->skipped_count },
		{ .name = "MIRRORED", .text = text_of(&m->mirrored) },
		{ .name = "ALLOWED", .text = text_of(&m->allowed) },
		{ .name = "NOTE", .text = text_of(&m->note) }, { .name = NULL } });
	free_mirror(m);
}

void bootstrap_fill(const struct bootstrap *b, const char *text, struct buf *out)
{
	fill_hub(b, text, "", out);
}

/* --- Manifests -------------------------------------------------------------------------------- */

static void hub_rights(const struct bootstrap *b, struct buf *out)
{
	struct buf tokens = buf_make(1 << 16);

	for (unsigned i = 0; i < b->worker_count; i++)
		buf_printf(
		    &tokens, "%s\"" BOOTSTRAP_ACCOUNT "%s\"", i ? ", " : "", b->workers[i].name);
	/* An empty list of names would be every Secret: without a worker the rule is left out. */
	fill_hub(b, manifest_rbac_hub, text_of(&tokens), out);
	for (unsigned i = 0; i < b->worker_count; i++) {
		char account[112];
		const struct value of_worker[] = { { .name = "N", .text = b->namespace },
			{ .name = "PROJECT", .text = b->workers[i].project },
			{ .name = "WORKER", .text = b->workers[i].name },
			{ .name = "ACCOUNT", .text = account }, { .name = NULL } };

		(void)snprintf(
		    account, sizeof(account), BOOTSTRAP_ACCOUNT "%s", b->workers[i].name);
		buf_puts(out, "---\n");
		fill(out, manifest_rbac_hub_worker, of_worker);
	}
	buf_free(&tokens);
}

void bootstrap_manifest(const struct bootstrap *b, const struct bootstrap_cluster *cluster,
    enum bootstrap_part part, struct buf *out)
{
	const struct value values[] = {
		{ .name = "N", .text = cluster->is_hub ? b->namespace : BOOTSTRAP_WORKER_SPACE },
		{ .name = NULL }
	};

	if (part == PART_FIRST) {
		fill(out, space, values);
		fill(out, cluster->is_hub ? manifest_crds_hub : manifest_crds_worker, values);
	} else if (part == PART_ROLE && cluster->is_hub) {
		buf_puts(out, bootstrap_hub_role);
	} else if (part == PART_ADMISSION && cluster->is_hub) {
		bootstrap_fill(b, manifest_admission_hub, out);
	} else if (part == PART_ADMISSION) {
		fill(out, manifest_admission_worker, values);
	} else if (part == PART_RIGHTS && cluster->is_hub) {
		hub_rights(b, out);
	} else if (part == PART_RIGHTS) {
		for (unsigned i = 0; i < b->hub_count; i++) {
			const struct value hub[] = { { .name = "HUB", .text = b->hubs[i].name },
				{ .name = NULL } };

			buf_puts(out, i ? "---\n" : "");
			fill(out, manifest_rbac_worker, hub);
		}
	}
}
