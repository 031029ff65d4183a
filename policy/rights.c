/*
 * The table of least rights (see the header). The manifests of policy/rbac/ are the same in the API
 * server's words; audit on a real pair shows when the two part. No I/O. Called by kube/rights.c.
 */
#include "policy/rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/kinds.h"

#define BINDINGS   "rolebindings.rbac.authorization.k8s.io"
#define LEASES     "leases.coordination.k8s.io"
#define CHANGE     "get,list,watch,create,update,delete"
#define CRED(name) CREDENTIAL_BIT(CREDENTIAL_##name)

enum { PAIR = 1, REPLICAS = 2 }; /* modes that a row counts in */

/* What must be mirrored for a row to count. EACH: Secrets or ServiceAccounts, for which each side
 * binds itself in each mirrored namespace. */
enum mirrored { ALWAYS, ANY, ROLES, ROLE_BINDINGS, EACH };

/* "{hub}" is this hub's name, "{tokens}" the names of the workers' token Secrets, "{secret}" and
 * "{deployment}" those of a worker's operator; of the resources "{kinds}" are those that are
 * mirrored and read everywhere, "{statuses}" their status. What is left empty gives nothing. */
static const struct row {
	uint32_t credentials;
	unsigned modes;
	bool home; /* in the namespace of its business only */
	enum mirrored mirrored;
	const char *verbs, *resources, *names;
} rows[] = {
	{ CRED(ELECTOR), PAIR, true, ALWAYS, "create", LEASES, "*" },
	{ CRED(ELECTOR), PAIR, true, ALWAYS, "get,list,watch,update", LEASES,
	    "kubeslice-controller-ha,kubeslice-controller-ha-peer" },
	{ CRED(ELECTOR), PAIR, false, ALWAYS, "create", "hubroles.ha.kubeslice.io", "*" },
	{ CRED(ELECTOR), PAIR, false, ALWAYS, "get,list,watch,patch", "hubroles.ha.kubeslice.io",
	    "self" },
	{ CRED(ELECTOR), PAIR, false, ALWAYS, "patch", "hubroles/status.ha.kubeslice.io", "self" },
	{ CRED(ELECTOR), PAIR, false, ALWAYS, "get", "namespaces", "kube-system" },
	{ CRED(ELECTOR), PAIR, false, ALWAYS, "create,patch", "events,events.events.k8s.io", "*" },
	{ CRED(ELECTOR), REPLICAS, true, ALWAYS, "create", LEASES, "*" },
	{ CRED(ELECTOR), REPLICAS, true, ALWAYS, "get,list,watch,update", LEASES,
	    "understudy-replicas" },
	{ CRED(ELECTOR), REPLICAS, true, ALWAYS, "create", "events", "*" },

	{ CRED(PUBLISHER), PAIR, false, ALWAYS, "get,list,watch",
	    "clusters.controller.kubeslice.io", "*" },
	{ CRED(PUBLISHER), PAIR, false, ALWAYS, "patch", "clusters/status.controller.kubeslice.io",
	    "*" },
	{ CRED(PUBLISHER), PAIR, false, ALWAYS, "list,watch", "namespaces", "*" },
	{ CRED(PUBLISHER), PAIR, false, ALWAYS, "create,patch", LEASES, "understudy-probe" },
	{ CRED(PUBLISHER), PAIR, false, ALWAYS, "get", "secrets", "{tokens}" },
	{ CRED(PUBLISHER), PAIR, false, EACH, "create", BINDINGS, "*" },
	{ CRED(PUBLISHER), PAIR, false, EACH, "bind", "clusterroles.rbac.authorization.k8s.io",
	    "understudy-mirror-secrets-read" },

	{ CRED(SYNCER), PAIR, false, ALWAYS, CHANGE, "{kinds}", "*" },
	{ CRED(SYNCER), PAIR, false, ALWAYS, "get,update", "{statuses}", "*" },
	{ CRED(SYNCER), PAIR, false, ROLES, "escalate", "roles.rbac.authorization.k8s.io", "*" },
	{ CRED(SYNCER), PAIR, false, ROLE_BINDINGS, "bind", "roles.rbac.authorization.k8s.io",
	    "*" },
	{ CRED(SYNCER), PAIR, false, EACH, "bind", "clusterroles.rbac.authorization.k8s.io",
	    "understudy-mirror-secrets" },
	{ CRED(SYNCER), PAIR, false, EACH, "create", BINDINGS, "*" },
	{ CRED(SYNCER), PAIR, true, ANY, "create", "secrets", "*" },

	{ CRED(PEER_OBSERVER), PAIR, true, ALWAYS, "get,list,watch", LEASES,
	    "kubeslice-controller-ha" },
	{ CRED(PEER_OBSERVER), PAIR, false, ALWAYS, "get", "namespaces", "kube-system" },
	{ CRED(PEER_SYNCER), PAIR, false, ALWAYS, "get,list,watch", "{kinds}", "*" },

	{ CRED(WORKER), PAIR, false, ALWAYS, "get,list,watch,create,patch",
	    "clustercontrollers.ha.kubeslice.io", "*" },
	{ CRED(WORKER), PAIR, false, ALWAYS, "create", "hubprobes.ha.kubeslice.io", "*" },
	{ CRED(WORKER), PAIR, false, ALWAYS, "get,watch,patch", "hubprobes.ha.kubeslice.io",
	    "{hub}" },
	{ CRED(WORKER), PAIR, true, ALWAYS, "get,update", "secrets", "understudy-hub-{hub}" },

	{ CRED(FOLLOWER), PAIR, false, ALWAYS, "get,list,watch",
	    "clustercontrollers.ha.kubeslice.io,hubprobes.ha.kubeslice.io", "*" },
	{ CRED(FOLLOWER), PAIR, false, ALWAYS, "patch",
	    "clustercontrollers/status.ha.kubeslice.io,hubprobes/status.ha.kubeslice.io", "*" },
	{ CRED(FOLLOWER), PAIR, true, ALWAYS, "get", "secrets", "{delivered}" },
	{ CRED(FOLLOWER), PAIR, true, ALWAYS, "get,patch", "secrets", "{secret}" },
	{ CRED(FOLLOWER), PAIR, true, ALWAYS, "patch", "deployments.apps", "{deployment}" },

	{ CRED(HUB_A) | CRED(HUB_B), PAIR, true, ALWAYS, "get,watch", LEASES,
	    "kubeslice-controller-ha" },
};

void rights_free(struct rights *rights)
{
	for (size_t i = 0; i < rights->count; i++)
		free(rights->texts[i]);
	free(rights->texts);
	*rights = (struct rights){ 0 };
}

static void add_one(struct rights *rights, struct str verb, struct str resource, struct str name)
{
	char *text = NULL, **grown;

	if (rights->failed)
		return;
	if (rights->count == rights->room) {
		rights->room = rights->room ? 2 * rights->room : 64;
		grown = realloc(rights->texts, rights->room * sizeof(*grown));
		if (grown)
			rights->texts = grown;
		rights->failed = !grown;
	}
	if (rights->failed || rights->count == RIGHTS_MOST ||
	    asprintf(&text, "%.*s %.*s %.*s", STR_ARG(verb), STR_ARG(resource), STR_ARG(name)) < 0)
		rights->failed = true;
	else
		rights->texts[rights->count++] = text;
}

/* The next word of a list with commas. False at its end. */
static bool next_word(struct str *list, struct str *word)
{
	const char *comma = list->n ? memchr(list->p, ',', list->n) : NULL;

	*word = comma ? (struct str){ list->p, (size_t)(comma - list->p) } : *list;
	if (list->n == 0)
		return false;
	*list = comma ? (struct str){ comma + 1, list->n - word->n - 1 } : STR_LIT("");
	return true;
}

void rights_add(struct rights *rights, struct str verbs, struct str resources, struct str names)
{
	struct str verb, resource, name;

	if (names.n == 0)
		names = STR_LIT("*");
	while (next_word(&verbs, &verb))
		for (struct str r = resources; next_word(&r, &resource);)
			for (struct str n = names; next_word(&n, &name);)
				add_one(rights, verb, resource, name);
}

static bool is_on_worker(unsigned credential)
{
	return credential >= CREDENTIAL_WORKER || credential == CREDENTIAL_FOLLOWER;
}

const char *rights_namespace(
    const struct us_config *config, unsigned credential, enum rights_place place)
{
	if (credential == CREDENTIAL_HUB_A || credential == CREDENTIAL_HUB_B)
		return place == RIGHTS_AT_HOME ? config_text_at(config, config->namespace) : NULL;
	if (place == RIGHTS_EVERYWHERE)
		return "kube-system";
	if (credential == CREDENTIAL_FOLLOWER)
		return config_text_at(config, config->follower.worker_namespace);
	return is_on_worker(credential) ? "kubeslice-system"
					: config_text_at(config, config->namespace);
}

/* KubeSlice names a worker's Secret PREFIXworker-NAME; the prefix is a choice of its chart: "~" is
 * any name with this end. */
static void put_tokens(const struct us_config *config, struct buf *out)
{
	for (unsigned i = 0; i < config->worker_count; i++)
		buf_printf(out, "%s~worker-%s", i ? "," : "",
		    config_text_at(config, config->workers[i].name));
}

/* The names of a row in this configuration. */
static void put_names(const struct us_config *config, const char *names, struct buf *out)
{
	const char *at = strstr(names, "{hub}");

	if (at)
		buf_printf(out, "%.*s%s", (int)(at - names), names,
		    config_text_at(config, config->self_name));
	else if (strcmp(names, "{tokens}") == 0)
		put_tokens(config, out);
	else if (strcmp(names, "{delivered}") == 0)
		for (unsigned i = 0; i < config->hub_count; i++)
			buf_printf(out, "%sunderstudy-hub-%s", i ? "," : "",
			    config_text_at(config, config->hubs[i].name));
	else if (strcmp(names, "{secret}") == 0)
		buf_puts(out, config_text_at(config, config->follower.operator_secret));
	else if (strcmp(names, "{deployment}") == 0)
		buf_puts(out, config_text_at(config, config->follower.operator_deployment));
	else
		buf_puts(out, names);
}

/* A kind with a right in each mirrored namespace (kind_row.each) is in no row: nobody has it
 * elsewhere. */
static void put_resources(
    const struct kind_row kinds[KIND_COUNT], const char *resources, struct buf *out)
{
	bool status = strcmp(resources, "{statuses}") == 0;

	if (!status && strcmp(resources, "{kinds}") != 0)
		buf_puts(out, resources);
	for (unsigned kind = 0; resources[0] == '{' && kind < KIND_COUNT; kind++)
		if (kinds[kind].on && !kinds[kind].each && (!status || kinds[kind].status))
			buf_printf(out, "%s%s%s%s%s", out->len ? "," : "", kinds[kind].plural,
			    status ? "/status" : "", kinds[kind].group[0] ? "." : "",
			    kinds[kind].group);
}

static bool is_mirrored(const struct kind_row kinds[KIND_COUNT], enum mirrored mirrored)
{
	switch (mirrored) {
	case ANY: return kinds[KIND_NAMESPACE].on;
	case ROLES: return kinds[KIND_ROLE].on;
	case ROLE_BINDINGS: return kinds[KIND_ROLE_BINDING].on;
	case EACH: return kinds_any_each(kinds);
	default: return true;
	}
}

bool rights_least(const struct us_config *config, unsigned credential, enum rights_place place,
    struct rights *least)
{
	unsigned mode = config->mode == CONFIG_REPLICAS ? REPLICAS : PAIR;
	struct kind_row kinds[KIND_COUNT];

	(void)kinds_of(config, kinds);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct buf names = buf_make(1 << 20), resources = buf_make(1 << 16);

		put_names(config, row->names, &names);
		put_resources(kinds, row->resources, &resources);
		if ((row->credentials & CREDENTIAL_BIT(credential)) && (row->modes & mode) &&
		    (!row->home || place == RIGHTS_AT_HOME) && names.len &&
		    is_mirrored(kinds, row->mirrored))
			rights_add(least, str_of(row->verbs), buf_str(&resources), buf_str(&names));
		least->failed = least->failed || names.failed || resources.failed;
		buf_free(&names);
		buf_free(&resources);
	}
	return credential != CREDENTIAL_HUB_A && credential != CREDENTIAL_HUB_B;
}

/* "~END" at the name of a least right is any name with that end. */
static bool is_same(const char *least, const char *held)
{
	const char *mark = strstr(least, " ~");
	size_t head = mark ? (size_t)(mark - least) + 1 : 0, end, n = strlen(held);

	if (!mark)
		return strcmp(least, held) == 0;
	end = strlen(mark + 2);
	return strncmp(least, held, head) == 0 && n >= head + end &&
	       strcmp(held + n - end, mark + 2) == 0 && !strchr(held + head, ' ');
}

static bool has(const struct rights *rights, const char *text, bool text_is_least)
{
	for (size_t i = 0; i < rights->count; i++)
		if (text_is_least ? is_same(text, rights->texts[i])
				  : is_same(rights->texts[i], text))
			return true;
	return false;
}

/* Those of `some` that the others have not. */
static bool put_rest(const char *words, const struct rights *some, const struct rights *others,
    bool some_are_least, size_t most_bytes, struct buf *out)
{
	size_t left_out = 0, count = 0;

	for (size_t i = 0; i < some->count; i++) {
		if (has(others, some->texts[i], some_are_least))
			continue;
		if (out->len + strlen(some->texts[i]) + strlen(words) + 40 > most_bytes) {
			left_out++;
			continue;
		}
		if (count++ == 0)
			buf_printf(out, "%s%s: ", out->len ? "; " : "", words);
		else
			buf_puts(out, ", ");
		buf_puts(out, some->texts[i]);
	}
	if (left_out)
		buf_printf(out, "%s%s: %zu more", out->len ? "; " : "", words, left_out);
	return count + left_out == 0;
}

bool rights_compare(const struct rights *held, const struct rights *least, bool only_missing,
    size_t most_bytes, struct buf *out)
{
	/* Half of the room each, so that much of one does not hide the other. */
	bool all = put_rest("missing", least, held, true, most_bytes / 2, out);
	bool none_more = only_missing || put_rest("too much", held, least, false, most_bytes, out);

	return all && none_more;
}
