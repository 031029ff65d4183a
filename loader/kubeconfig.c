/*
 * Reads a kubeconfig (see the header). Error texts quote names of contexts, clusters and users and
 * no other value. No I/O. Called by main.c.
 */
#include "loader/kubeconfig.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "loader/yaml.h"

struct reading {
	struct material *material;
	const struct yaml_value *root;
	const char *file;
	struct err *err;
};

/* What is wrong with a key, and what to write instead. allowed: it may stand there. */
struct key_rule {
	const char *key;
	bool allowed;
	const char *what, *expected;
};

#define FILE_KEY(key, inline_key, own_key)                                                         \
	{                                                                                          \
		key, false, "names a file",                                                        \
		    inline_key ", or " own_key " in understudy's own configuration"                \
	}
#define OTHER_USER(key)                                                                            \
	{                                                                                          \
		key, false, "acts as somebody else", "credentials of the identity itself"          \
	}

static const struct key_rule user_rules[] = {
	{ "token", true, NULL, NULL },
	{ "client-certificate-data", true, NULL, NULL },
	{ "client-key-data", true, NULL, NULL },
	{ "extensions", true, NULL, NULL },
	FILE_KEY("tokenFile", "token", "token-file"),
	FILE_KEY("client-certificate", "client-certificate-data", "client-certificate-file"),
	FILE_KEY("client-key", "client-key-data", "client-key-file"),
	{ "exec", false, "names a program to run", "token, or client-certificate-data" },
	{ "auth-provider", false, "names a plug-in", "token, or client-certificate-data" },
	{ "username", false, "is a password login", "token, or client-certificate-data" },
	{ "password", false, "is a password login", "token, or client-certificate-data" },
	OTHER_USER("as"),
	OTHER_USER("as-uid"),
	OTHER_USER("as-groups"),
	OTHER_USER("as-user-extra"),
	{ NULL, false, "is an unknown key",
	    "token, or client-certificate-data and client-key-data" },
};

static const struct key_rule cluster_rules[] = {
	{ "server", true, NULL, NULL },
	{ "certificate-authority-data", true, NULL, NULL },
	{ "tls-server-name", true, NULL, NULL },
	{ "disable-compression", true, NULL, NULL },
	{ "extensions", true, NULL, NULL },
	{ "insecure-skip-tls-verify", false, "switches the check of the server off",
	    "certificate-authority-data" },
	{ "proxy-url", false, "names a proxy", "a direct connection" },
	FILE_KEY("certificate-authority", "certificate-authority-data", "ca-file"),
	{ NULL, false, "is an unknown key",
	    "server, certificate-authority-data and tls-server-name" },
};

static const struct key_rule root_rules[] = {
	{ "apiVersion", true, NULL, NULL },
	{ "kind", true, NULL, NULL },
	{ "clusters", true, NULL, NULL },
	{ "users", true, NULL, NULL },
	{ "contexts", true, NULL, NULL },
	{ "current-context", true, NULL, NULL },
	{ "preferences", true, NULL, NULL },
	{ "extensions", true, NULL, NULL },
	{ NULL, false, "is an unknown key",
	    "clusters, users, contexts, current-context, apiVersion and kind" },
};

static const struct key_rule context_rules[] = {
	{ "cluster", true, NULL, NULL },
	{ "user", true, NULL, NULL },
	{ "namespace", true, NULL, NULL },
	{ "extensions", true, NULL, NULL },
	{ NULL, false, "is an unknown key", "cluster, user and namespace" },
};

__attribute__((format(printf, 5, 6))) static bool complain(struct reading *r,
    const struct yaml_value *value, const char *key, const char *expected, const char *format, ...)
{
	char what[256], path[256];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	yaml_value_path(value, path, sizeof(path));
	err_set(r->err, "%s:%u: %s%s%s%s%s; expected %s", r->file, value->line, path,
	    path[0] && key ? "." : "", key ? key : "", path[0] || key ? ": " : "", what, expected);
	return false;
}

/* The text of a member that must be there. */
static const char *need_text(
    struct reading *r, const struct yaml_value *map, const char *key, const char *expected)
{
	const struct yaml_value *value = yaml_value_at(map, key);

	if (!value)
		complain(r, map, key, expected, "is missing");
	else if (value->kind != YAML_TEXT || value->text.n == 0)
		complain(r, value, NULL, expected, "is %s",
		    value->kind == YAML_TEXT ? "empty" : yaml_value_kind(value));
	else if (strlen(value->text.p) != value->text.n)
		complain(r, value, NULL, expected, "holds a NUL byte");
	else
		return value->text.p;
	return NULL;
}

/* The map `inner` of the one entry called `name` in the list `list`. */
static const struct yaml_value *find_named(
    struct reading *r, const char *list_key, const char *inner, const char *name)
{
	const struct yaml_value *list = yaml_value_at(r->root, list_key), *found = NULL, *map;

	if (!list || list->kind != YAML_LIST) {
		complain(r, list ? list : r->root, list ? NULL : list_key, "a list of {name, ...}",
		    "%s", list ? "is no list" : "is missing");
		return NULL;
	}
	for (const struct yaml_value *m = list->first; m; m = m->next) {
		const char *own = need_text(r, m, "name", "a name");

		if (!own)
			return NULL;
		if (strcmp(own, name) != 0)
			continue;
		if (found) {
			complain(r, m, "name", "each name once", "\"%.64s\" is there twice", name);
			return NULL;
		}
		found = m;
	}
	if (!found) {
		complain(r, list, NULL, "an entry of that name", "has no \"%.64s\"", name);
		return NULL;
	}
	for (const struct yaml_value *m = found->first; m; m = m->next)
		if (strcmp(m->key.p, "name") != 0 && strcmp(m->key.p, inner) != 0) {
			complain(r, m, NULL, "name and what it names", "is an unknown key");
			return NULL;
		}
	map = yaml_value_at(found, inner);
	if (!map || map->kind != YAML_MAP) {
		complain(r, map ? map : found, map ? NULL : inner, "a map", "%s",
		    map ? "is no map" : "is missing");
		return NULL;
	}
	return map;
}

/* F7: every key of the map is allowed, or refused by its name. */
static bool check_keys(
    struct reading *r, const struct yaml_value *map, const struct key_rule *rules)
{
	for (const struct yaml_value *m = map->first; m; m = m->next) {
		const struct key_rule *rule = rules;

		while (rule->key && strcmp(rule->key, m->key.p) != 0)
			rule++;
		if (rule->allowed)
			continue;
		/* "off" is what we do anyway; written out, it is no reason to refuse the file. */
		if (rule->key && strcmp(rule->key, "insecure-skip-tls-verify") == 0 &&
		    m->kind == YAML_TEXT && strcmp(m->text.p, "false") == 0)
			continue;
		return complain(r, m, NULL, rule->expected, "%s", rule->what);
	}
	return true;
}

/* A text or base64 member into its part; one that is absent leaves the part empty. */
static bool take(struct reading *r, const struct yaml_value *map, const char *key, bool encoded,
    struct material_part *part)
{
	const struct yaml_value *value = yaml_value_at(map, key);
	struct buf decoded = buf_make_secret(YAML_TREE_MAX_BYTES);
	char path[128], where[384];
	bool ok = true;

	if (!value)
		return true;
	if (!need_text(r, map, key, encoded ? "base64 of PEM" : "a bearer token"))
		return false;
	yaml_value_path(value, path, sizeof(path));
	(void)snprintf(where, sizeof(where), "%.240s:%u: %s", r->file, value->line, path);
	if (encoded && !base64_get(&decoded, value->text, BASE64_SPACED))
		ok = complain(r, value, NULL, "base64 of PEM", "is no base64");
	else
		ok = material_take(
			 part, encoded ? buf_str(&decoded) : value->text, where, r->err) == 0;
	buf_free(&decoded);
	return ok;
}

static bool read_cluster(struct reading *r, const struct yaml_value *cluster)
{
	static const char expected[] = "https://HOST[:PORT] without user info or query";
	struct material *material = r->material;
	const char *text, *fault;

	if (!check_keys(r, cluster, cluster_rules) ||
	    !(text = need_text(r, cluster, "server", expected)))
		return false;
	fault = value_server(text, &material->server);
	if (fault)
		return complain(r, yaml_value_at(cluster, "server"), NULL, expected, "%s", fault);
	if (yaml_value_at(cluster, "tls-server-name")) {
		text = need_text(r, cluster, "tls-server-name", "a DNS name");
		if (!text)
			return false;
		if (value_subdomain(text) ||
		    !str_copy(material->tls_name, sizeof(material->tls_name), str_of(text)))
			return complain(r, yaml_value_at(cluster, "tls-server-name"), NULL,
			    "a DNS name", "is no DNS name");
	}
	/* Never the system's roots: whoever holds one of those could be this server. */
	return need_text(r, cluster, "certificate-authority-data", "base64 of the server's CA") &&
	       take(r, cluster, "certificate-authority-data", true, &material->ca);
}

static bool read_user(struct reading *r, const struct yaml_value *user)
{
	bool token = yaml_value_at(user, "token") != NULL;
	bool certificate = yaml_value_at(user, "client-certificate-data") != NULL;
	bool key = yaml_value_at(user, "client-key-data") != NULL;
	static const char expected[] = "token, or client-certificate-data and client-key-data";

	if (!check_keys(r, user, user_rules))
		return false;
	if (certificate != key)
		return complain(r, user, NULL, expected,
		    "has one of client-certificate-data and client-key-data");
	if (token == certificate)
		return complain(r, user, NULL, expected, "has %s",
		    token ? "a token and a client certificate"
			  : "neither a token nor a client certificate");
	return take(r, user, "token", false, &r->material->token) &&
	       take(r, user, "client-certificate-data", true, &r->material->certificate) &&
	       take(r, user, "client-key-data", true, &r->material->key);
}

static bool read_root(struct reading *r)
{
	const struct yaml_value *context, *cluster, *user;
	const char *name;

	if (r->root->kind != YAML_MAP)
		return complain(
		    r, r->root, NULL, "a kubeconfig", "is %s", yaml_value_kind(r->root));
	if (!check_keys(r, r->root, root_rules))
		return false;
	name = need_text(r, r->root, "current-context", "the name of a context");
	context = name ? find_named(r, "contexts", "context", name) : NULL;
	if (!context || !check_keys(r, context, context_rules))
		return false;
	name = need_text(r, context, "cluster", "the name of a cluster");
	cluster = name ? find_named(r, "clusters", "cluster", name) : NULL;
	if (!cluster || !read_cluster(r, cluster))
		return false;
	name = need_text(r, context, "user", "the name of a user");
	user = name ? find_named(r, "users", "user", name) : NULL;
	return user && read_user(r, user);
}

int kubeconfig_read(struct material *material, struct str text, const char *file, struct err *err)
{
	struct reading r = { .material = material, .file = file, .err = err };
	struct yaml_tree tree;
	bool ok;

	if (yaml_tree_parse(&tree, text, file, err))
		return -1;
	r.root = tree.root;
	ok = read_root(&r);
	yaml_tree_free(&tree);
	return ok ? 0 : -1;
}
