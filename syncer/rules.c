/*
 * Contents of Roles and targets of RoleBindings (see the header). Called by source.c.
 */
#include "syncer/rules.h"

#include <stdio.h>
#include <string.h>

#include "kube/json.h"

struct grant {
	const char *group, *resource, *verb;
};

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

static bool is_usual(const struct grant *grant)
{
	static const char *const own[] = { "controller.kubeslice.io", "worker.kubeslice.io", NULL };
	static const char *const reads[] = { "get", "list", "watch", NULL };
	static const char *const writes[] = { "create", "update", "patch", "delete", NULL };
	static const char *const usual[] = { "secrets", "configmaps", "events", NULL };
	static const char *const core[] = { "", "events.k8s.io", NULL };

	if (is_one_of(grant->group, own))
		return true;
	if (strcmp(grant->group, "*") == 0 || strchr(grant->resource, '*'))
		return false;
	if (is_one_of(grant->verb, reads))
		return true;
	return is_one_of(grant->verb, writes) && is_one_of(grant->group, core) &&
	       is_one_of(grant->resource, usual);
}

static bool matches(struct str pattern, const char *text)
{
	return str_equal(pattern, STR_LIT("*")) || str_equal(pattern, str_of(text));
}

/* One entry of the list: GROUP/RESOURCE:VERB[,VERB]; its form was checked by the loader. */
static bool entry_allows(const char *entry, const struct grant *grant)
{
	const char *slash = strchr(entry, '/'), *colon = strrchr(entry, ':'), *end;
	const char *group = *grant->group ? grant->group : "core";

	if (!slash || !colon || colon < slash ||
	    !matches((struct str){ entry, (size_t)(slash - entry) }, group) ||
	    !matches((struct str){ slash + 1, (size_t)(colon - slash - 1) }, grant->resource))
		return false;
	for (const char *verb = colon + 1; *verb; verb = *end ? end + 1 : end) {
		end = strchrnul(verb, ',');
		if (matches((struct str){ verb, (size_t)(end - verb) }, grant->verb))
			return true;
	}
	return false;
}

static bool is_allowed(const struct us_config *config, const struct grant *grant)
{
	for (uint32_t i = 0; i < config->rule_count; i++)
		if (entry_allows(config_text_at(config, config->rules[i]), grant))
			return true;
	return is_usual(grant);
}

static const char *text_at(const json_t *list, size_t i)
{
	const char *text = json_string_value(json_array_get(list, i));

	return text ? text : "*"; /* what we cannot read is the worst */
}

static bool rule_allowed(const struct us_config *config, const json_t *rule, char *why, size_t size)
{
	const json_t *groups = json_object_get(rule, "apiGroups");
	const json_t *resources = json_object_get(rule, "resources");
	const json_t *verbs = json_object_get(rule, "verbs");

	if (json_array_size(json_object_get(rule, "nonResourceURLs"))) {
		(void)snprintf(why, size, "its rules name URLs outside of resources");
		return false;
	}
	for (size_t g = 0; g < json_array_size(groups); g++)
		for (size_t r = 0; r < json_array_size(resources); r++)
			for (size_t v = 0; v < json_array_size(verbs); v++) {
				struct grant grant = { text_at(groups, g), text_at(resources, r),
					text_at(verbs, v) };

				if (is_allowed(config, &grant))
					continue;
				(void)snprintf(why, size,
				    "its rules give %.63s on %.63s/%.63s, which mirror.allow-rules "
				    "does not list",
				    grant.verb, *grant.group ? grant.group : "core",
				    grant.resource);
				return false;
			}
	return true;
}

static bool role_allowed(const struct us_config *config, const json_t *role, char *why, size_t size)
{
	const json_t *rules = json_object_get(role, "rules");

	for (size_t i = 0; i < json_array_size(rules); i++)
		if (!rule_allowed(config, json_array_get(rules, i), why, size))
			return false;
	return true;
}

/* Our own identities take no rights from mirrored objects (B25), whichever way they are named. */
static bool names_own_identity(const struct us_config *config, const json_t *binding)
{
	const char *home = config_text_at(config, config->namespace);
	const json_t *subjects = json_object_get(binding, "subjects");
	char user[128];
	int n = snprintf(user, sizeof(user), "system:serviceaccount:%s:understudy-", home);

	for (size_t i = 0; i < json_array_size(subjects); i++) {
		const json_t *subject = json_array_get(subjects, i);
		const char *name = kube_json_text(subject, "name");

		if (strncmp(name, user, (size_t)n) == 0)
			return true;
		if (strcmp(kube_json_text(subject, "namespace"), home) == 0 &&
		    strncmp(name, "understudy-", 11) == 0)
			return true;
	}
	return false;
}

static bool binding_allowed(
    const struct us_config *config, const json_t *binding, char *why, size_t size)
{
	const json_t *to = json_object_get(binding, "roleRef");
	const struct grant grant = { "clusterrole", kube_json_text(to, "name"), "bind" };

	if (names_own_identity(config, binding)) {
		(void)snprintf(why, size, "it gives rights to an identity of understudy");
		return false;
	}
	if (strcmp(kube_json_text(to, "kind"), "Role") == 0 || is_allowed(config, &grant))
		return true;
	(void)snprintf(why, size,
	    "it refers to %.32s %.128s, which mirror.allow-rules does not list",
	    kube_json_text(to, "kind"), kube_json_text(to, "name"));
	return false;
}

bool rules_allow(
    const struct us_config *config, enum kind kind, const json_t *object, char *why, size_t size)
{
	if (kind == KIND_ROLE)
		return role_allowed(config, object, why, size);
	if (kind == KIND_ROLE_BINDING)
		return binding_allowed(config, object, why, size);
	return true;
}
