/*
 * Which kinds a person may list, which objects may be left out (see the header). No I/O. Called by
 * config_check.c and config_pair.c, by the loader, the supervisor's changes.c and the publisher.
 */
#include "policy/config_mirror.h"

#include <string.h>

#include "policy/kinds.h"

#define OWN_GROUP "ha.kubeslice.io"

static bool is_digit_or_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_digit_or_lower(c) || (c >= 'A' && c <= 'Z');
}

/* RFC 1123 labels joined by dots. */
static bool is_dns_name(const char *text, size_t n)
{
	if (n == 0 || n > 253 || !is_digit_or_lower(text[n - 1]))
		return false;
	for (size_t i = 0, start = 0; i < n; i++) {
		if (i == start && !is_digit_or_lower(text[i]))
			return false;
		if (text[i] == '.' && is_digit_or_lower(text[i - 1]))
			start = i + 1;
		else if (!is_digit_or_lower(text[i]) && text[i] != '-')
			return false;
	}
	return true;
}

/* RFC 1035: a label that begins with a letter, as resources and versions do. */
static bool is_word(const char *text)
{
	return text[0] >= 'a' && text[0] <= 'z' && strlen(text) <= 63 && !strchr(text, '.') &&
	       is_dns_name(text, strlen(text));
}

static bool is_kind_name(const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n > 63 || (text[0] >= '0' && text[0] <= '9'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_alnum(text[i]))
			return false;
	return true;
}

/* The part of a label that both sides of its '=' have: Kubernetes' own form, never empty. */
static bool is_label_part(const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n > 63 || !is_alnum(text[0]) || !is_alnum(text[n - 1]))
		return false;
	for (; *text; text++)
		if (!is_alnum(*text) && !strchr("-_.", *text))
			return false;
	return true;
}

static bool is_label_key(const char *text)
{
	const char *slash = strchr(text, '/');

	return slash ? is_dns_name(text, (size_t)(slash - text)) && is_label_part(slash + 1)
		     : is_label_part(text);
}

/* understudy's own group and those under it; n: of a label's prefix. */
static bool is_own_group(const char *group, size_t n)
{
	size_t own = strlen(OWN_GROUP);

	return n >= own && strncmp(group + n - own, OWN_GROUP, own) == 0 &&
	       (n == own || group[n - own - 1] == '.');
}

static bool set(struct config_fault *fault, const char *key, const char *text, const char *what,
    const char *expected)
{
	*fault = (struct config_fault){ key, text, what, expected };
	return true;
}

bool config_label_fault(
    const struct us_config *config, const struct config_label *label, struct config_fault *fault)
{
	const char *key = config_text_at(config, label->key);
	const char *value = config_text_at(config, label->value);

	if (!is_label_key(key))
		return set(fault, "", key, "is no label's key", "KEY=VALUE of a label");
	if (!is_label_part(value))
		return set(fault, "", value, "is no label's value", "KEY=VALUE of a label");
	/* Copies bear these by themselves, and lose those of the source. */
	if (strchr(key, '/') && is_own_group(key, strcspn(key, "/")))
		return set(fault, "", key, "is understudy's own label", "a label of yours");
	/* Nothing would cross, and the fence would hold what that Namespace's own controllers do.
	 */
	if (strcmp(key, "kubernetes.io/metadata.name") == 0 && !config_may_mirror(config, value))
		return set(fault, "", value, "is a Namespace that is never mirrored (B25)",
		    "another one than kube-*, default and the controller's own");
	/* Copies do not bear these (B1, B22): on the hub that leads next nothing would be chosen,
	 * and the first one, when it rejoins, would take what it has for deleted there. */
	if (kinds_is_tracking(key) || strcmp(key, KIND_POD_SECURITY) == 0 ||
	    strcmp(key, KIND_POD_SECURITY "-version") == 0)
		return set(fault, "", key, "is a label that copies do not bear (B1, B22)",
		    "one that no deployment tool tracks by, and not Pod Security's");
	return false;
}

/* --- Kinds -------------------------------------------------------------------------------------
 */

/* M10: what says something of one cluster only, rules over it, or would run twice. A group without
 * a resource stands for all of it, a resource without a group for those of all groups. */
static const struct {
	const char *group, *resource, *why;
} refused[] = {
	{ "", "namespaces", "is never listed: Namespaces cross by mirror.namespaces (M10)" },
	/* By what they are called: to choose by a Namespace's labels it looks at their own. */
	{ NULL, "namespaces", "is never mirrored: the API server takes it for a Namespace (M10)" },
	{ "", "nodes", "is never mirrored: it is of one cluster (M10)" },
	{ "", "pods", "is never mirrored: it would run on both hubs (M10)" },
	{ "", "endpoints", "is never mirrored: it is of one cluster's network (M10)" },
	{ "", "events", "is never mirrored: it tells of one cluster (M10)" },
	{ "events.k8s.io", "events", "is never mirrored: it tells of one cluster (M10)" },
	{ "discovery.k8s.io", "endpointslices",
	    "is never mirrored: it is of one cluster's network (M10)" },
	{ "coordination.k8s.io", NULL, "is never mirrored: it says who leads (M10)" },
	{ "rbac.authorization.k8s.io", "clusterroles",
	    "is never mirrored: it holds in the whole cluster (M10)" },
	{ "rbac.authorization.k8s.io", "clusterrolebindings",
	    "is never mirrored: it holds in the whole cluster (M10)" },
	{ "admissionregistration.k8s.io", NULL,
	    "is never mirrored: it rules over what a cluster takes (M10)" },
	{ "apiextensions.k8s.io", NULL, "is never mirrored: it makes a cluster's kinds (M10)" },
	{ "apiregistration.k8s.io", NULL, "is never mirrored: it makes a cluster's kinds (M10)" },
	{ "authentication.k8s.io", NULL, "is never mirrored: it is a question (M10)" },
	{ "authorization.k8s.io", NULL, "is never mirrored: it is a question (M10)" },
	{ "certificates.k8s.io", NULL, "is never mirrored: it is signed for one cluster (M10)" },
};

static bool never(const char *group, const char *resource, struct config_fault *fault)
{
	static const char others[] = "a kind that two clusters can have alike";

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if ((!refused[i].group || strcmp(refused[i].group, group) == 0) &&
		    (!refused[i].resource || strcmp(refused[i].resource, resource) == 0))
			return set(fault, refused[i].resource ? "resource" : "group",
			    refused[i].resource ? resource : group, refused[i].why, others);
	if (is_own_group(group, strlen(group)))
		return set(fault, "group", group, "is never mirrored: it is understudy's own (M10)",
		    others);
	return false;
}

bool config_never_mirrored(const char *group, const char *resource)
{
	return never(group, resource, &(struct config_fault){ 0 });
}

static bool words_fault(const char *group, const char *version, const char *resource,
    const char *kind, struct config_fault *fault)
{
	if (group[0] && !is_dns_name(group, strlen(group)))
		return set(fault, "group", group, "is no API group",
		    "a DNS name, or \"\" for the core group");
	if (!is_word(version))
		return set(fault, "version", version, "is no version", "one like v1 or v1beta1");
	if (!is_word(resource))
		return set(fault, "resource", resource, "is no resource",
		    "a plural in lower case like configmaps, without a subresource");
	if (!is_kind_name(kind))
		return set(fault, "kind", kind, "is no kind", "a name like ConfigMap");
	return never(group, resource, fault);
}

/* Of a row of the set: it brings its rules along. */
static bool set_fault(
    const struct us_config *config, const struct config_kind *listed, struct config_fault *fault)
{
	const char *resource = config_text_at(config, listed->resource);
	enum kind kind =
	    kinds_by_resource(kinds_default, config_text_at(config, listed->group), resource);
	const struct kind_row *row;

	if (kind == KIND_COUNT)
		return false;
	row = &kinds_default[kind];
	if (config->mirror_set == CONFIG_MIRROR_KUBESLICE)
		return set(fault, "resource", resource, "is in the set already",
		    "a kind that mirror.set does not have");
	if (strcmp(config_text_at(config, listed->version), row->version) != 0)
		return set(fault, "version", config_text_at(config, listed->version),
		    "is not the version that is mirrored", row->version);
	if (strcmp(config_text_at(config, listed->kind), row->kind) != 0)
		return set(fault, "kind", config_text_at(config, listed->kind),
		    "is not the kind of that resource", row->kind);
	if (listed->status && !row->status)
		return set(
		    fault, "status", "true", "is wrong: it has no status to mirror", "false");
	return false;
}

static bool same(const struct us_config *config, config_text a, config_text b)
{
	return strcmp(config_text_at(config, a), config_text_at(config, b)) == 0;
}

static bool twice(const struct us_config *config, unsigned i, struct config_fault *fault)
{
	const struct config_kind *listed = &config->kinds[i];

	for (unsigned j = 0; j < i; j++) {
		if (!same(config, listed->group, config->kinds[j].group))
			continue;
		if (same(config, listed->resource, config->kinds[j].resource))
			return set(fault, "resource", config_text_at(config, listed->resource),
			    "is there twice", "each resource once");
		/* Owner references name the kind. */
		if (same(config, listed->kind, config->kinds[j].kind))
			return set(fault, "kind", config_text_at(config, listed->kind),
			    "is there twice", "each kind once");
	}
	return false;
}

static bool terms_fault(
    const struct us_config *config, const struct config_kind *listed, struct config_fault *fault)
{
	for (unsigned i = 0; i < listed->term_count; i++) {
		const struct config_label *term = &listed->terms[i];

		if (config_label_fault(config, term, fault)) {
			fault->key = "label-selector";
			return true;
		}
		for (unsigned j = 0; j < i; j++)
			if (same(config, term->key, listed->terms[j].key))
				return set(fault, "label-selector",
				    config_text_at(config, term->key), "is there twice",
				    "each key once");
	}
	return false;
}

bool config_kind_fault(const struct us_config *config, unsigned i, struct config_fault *fault)
{
	const struct config_kind *listed = &config->kinds[i];

	return words_fault(config_text_at(config, listed->group),
		   config_text_at(config, listed->version),
		   config_text_at(config, listed->resource), config_text_at(config, listed->kind),
		   fault) ||
	       set_fault(config, listed, fault) || twice(config, i, fault) ||
	       terms_fault(config, listed, fault);
}

/* --- What is left out --------------------------------------------------------------------------
 */

/* A name as it stands in a path: RBAC's may have colons. */
static bool is_object_name(const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n > 253 || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return false;
	for (; *text; text++)
		if ((unsigned char)*text <= 0x20 || *text == 0x7f || strchr("/%", *text))
			return false;
	return true;
}

static bool is_same_skip(const struct us_config *a, const struct config_skip *x,
    const struct us_config *b, const struct config_skip *y)
{
	return strcmp(config_text_at(a, x->resource), config_text_at(b, y->resource)) == 0 &&
	       strcmp(config_text_at(a, x->group), config_text_at(b, y->group)) == 0 &&
	       strcmp(config_text_at(a, x->namespace), config_text_at(b, y->namespace)) == 0 &&
	       strcmp(config_text_at(a, x->name), config_text_at(b, y->name)) == 0;
}

bool config_skip_fault(const struct us_config *config, unsigned i, struct config_fault *fault)
{
	static const char form[] = "RESOURCE[.GROUP] or RESOURCE[.GROUP]/NAMESPACE/NAME";
	const struct config_skip *skip = &config->skips[i];
	const char *resource = config_text_at(config, skip->resource);
	const char *group = config_text_at(config, skip->group);
	const char *namespace = config_text_at(config, skip->namespace);
	const char *name = config_text_at(config, skip->name);
	enum kind in_set = kinds_by_resource(kinds_default, group, resource);
	bool listed = false;

	if (!is_word(resource) || (group[0] && !is_dns_name(group, strlen(group))))
		return set(
		    fault, "", is_word(resource) ? group : resource, "is no such kind", form);
	if ((skip->namespace != 0) != (skip->name != 0))
		return set(fault, "", resource, "has a namespace or a name alone", form);
	if (skip->name && (strlen(namespace) > 63 || strchr(namespace, '.') ||
			      !is_dns_name(namespace, strlen(namespace))))
		return set(fault, "", namespace, "is no namespace", form);
	if (skip->name && !is_object_name(name))
		return set(fault, "", name, "is no name of an object", form);
	if (in_set == KIND_NAMESPACE)
		return set(fault, "", resource, "cannot be left out", "no label on that Namespace");
	for (unsigned k = 0; k < config->kind_count; k++)
		listed = listed || (same(config, skip->resource, config->kinds[k].resource) &&
				       same(config, skip->group, config->kinds[k].group));
	if (!listed && (in_set == KIND_COUNT || config->mirror_set != CONFIG_MIRROR_KUBESLICE))
		return set(fault, "", resource, "is not mirrored",
		    "the resource of a kind of mirror.set or mirror.kinds, with its group");
	if (listed && !skip->name)
		return set(fault, "", resource, "is listed in mirror.kinds",
		    "a kind of the set: one of mirror.kinds is left out by not listing it");
	for (unsigned j = 0; j < i; j++)
		if (is_same_skip(config, skip, config, &config->skips[j]))
			return set(fault, "", resource, "is there twice", "each once");
	return false;
}

/* --- What Roles may grant ----------------------------------------------------------------------
 */

static bool is_of(const char *text, size_t n, const char *others)
{
	for (size_t i = 0; i < n; i++)
		if (!is_alnum(text[i]) && !strchr(others, text[i]))
			return false;
	return n > 0;
}

bool config_is_rule(const char *text)
{
	const char *slash = strchr(text, '/'), *colon = strrchr(text, ':'), *verb, *end;
	unsigned verbs = 0;

	if (!slash || !colon || colon < slash || strlen(text) > CONFIG_MAX_RULE_BYTES ||
	    !is_of(text, (size_t)(slash - text), "-.*") ||
	    !is_of(slash + 1, (size_t)(colon - slash - 1), "-._*/:"))
		return false;
	for (verb = colon + 1;; verb = end + 1) {
		end = strchrnul(verb, ',');
		if (!is_of(verb, (size_t)(end - verb), "-*") || ++verbs > CONFIG_MAX_RULE_VERBS)
			return false;
		if (!*end)
			return true;
	}
}

/* --- Two configurations ------------------------------------------------------------------------
 */

void config_put_label(
    const struct us_config *config, const struct config_label *label, struct buf *out)
{
	buf_printf(
	    out, "%s=%s", config_text_at(config, label->key), config_text_at(config, label->value));
}

void config_put_kind(
    const struct us_config *config, const struct config_kind *kind, struct buf *out)
{
	const char *group = config_text_at(config, kind->group);

	buf_printf(out, "%s%s%s/%s %s", config_text_at(config, kind->resource), *group ? "." : "",
	    group, config_text_at(config, kind->version), config_text_at(config, kind->kind));
	for (unsigned i = 0; i < kind->term_count; i++) {
		buf_puts(out, i ? "," : " ");
		config_put_label(config, &kind->terms[i], out);
	}
	if (kind->status)
		buf_puts(out, " status");
}

void config_put_skip(
    const struct us_config *config, const struct config_skip *skip, struct buf *out)
{
	const char *group = config_text_at(config, skip->group);

	buf_printf(out, "%s%s%s", config_text_at(config, skip->resource), *group ? "." : "", group);
	if (skip->name)
		buf_printf(out, "/%s/%s", config_text_at(config, skip->namespace),
		    config_text_at(config, skip->name));
}

static bool is_same_label(const struct us_config *a, const struct config_label *x,
    const struct us_config *b, const struct config_label *y)
{
	return strcmp(config_text_at(a, x->key), config_text_at(b, y->key)) == 0 &&
	       strcmp(config_text_at(a, x->value), config_text_at(b, y->value)) == 0;
}

bool config_same_label(const struct us_config *a, const struct us_config *b)
{
	return is_same_label(a, &a->mirror_label, b, &b->mirror_label);
}

static bool is_same_kind(const struct us_config *a, const struct config_kind *x,
    const struct us_config *b, const struct config_kind *y)
{
	if (strcmp(config_text_at(a, x->group), config_text_at(b, y->group)) != 0 ||
	    strcmp(config_text_at(a, x->version), config_text_at(b, y->version)) != 0 ||
	    strcmp(config_text_at(a, x->resource), config_text_at(b, y->resource)) != 0 ||
	    strcmp(config_text_at(a, x->kind), config_text_at(b, y->kind)) != 0 ||
	    x->status != y->status || x->term_count != y->term_count)
		return false;
	for (unsigned i = 0; i < x->term_count; i++)
		if (!is_same_label(a, &x->terms[i], b, &y->terms[i]))
			return false;
	return true;
}

bool config_same_kinds(const struct us_config *a, const struct us_config *b)
{
	for (unsigned i = 0; i < a->kind_count && i < b->kind_count; i++)
		if (!is_same_kind(a, &a->kinds[i], b, &b->kinds[i]))
			return false;
	return a->kind_count == b->kind_count;
}

bool config_same_skips(const struct us_config *a, const struct us_config *b)
{
	for (unsigned i = 0; i < a->skip_count && i < b->skip_count; i++)
		if (!is_same_skip(a, &a->skips[i], b, &b->skips[i]))
			return false;
	return a->skip_count == b->skip_count;
}
