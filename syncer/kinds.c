/*
 * Rows and names of the mirror (see the header). No I/O. What a configuration lists is turned into
 * rows by policy/kinds.c, so that rights and manifests are made of the same.
 */
#include "syncer/kinds.h"

#include <string.h>

#include "base/check.h"
#include "kube/json.h"
#include "kube/url.h"

static struct kind_row filled[KIND_COUNT];
static const struct kind_row *rows = kinds_default;
static const char *meant[KIND_COUNT]; /* versions in whose place another one was used */
static unsigned end = KIND_LISTED;
static const struct us_config *skips_of; /* NULL: no object is skipped */
static uint32_t skips[KIND_COUNT];       /* bits of mirror.skip that name objects of it */

void kinds_fill(const struct us_config *config)
{
	rows = kinds_default;
	end = KIND_LISTED;
	skips_of = NULL;
	memset(skips, 0, sizeof(skips));
	memset(meant, 0, sizeof(meant));
	if (!config)
		return;
	end = kinds_of(config, filled);
	rows = filled;
	skips_of = config;
	for (unsigned i = 0; i < config->skip_count; i++) {
		const struct config_skip *skip = &config->skips[i];
		enum kind kind = kinds_by_resource(rows, config_text_at(config, skip->group),
		    config_text_at(config, skip->resource));

		if (skip->name && kind != KIND_COUNT)
			skips[kind] |= 1u << i;
	}
}

unsigned kind_end(void)
{
	return end;
}

const struct kind_row *kind_row(enum kind kind)
{
	CHECK((unsigned)kind < end);
	return &rows[kind];
}

void kind_use_version(enum kind kind, const char *version)
{
	static char used[KIND_COUNT][64];

	CHECK((unsigned)kind < end);
	if (rows != filled)
		memcpy(filled, rows, sizeof(filled));
	rows = filled;
	if (!meant[kind])
		meant[kind] = filled[kind].version;
	CHECK(str_copy(used[kind], sizeof(used[kind]), str_of(version)));
	filled[kind].version = used[kind];
}

const char *kind_other_version(enum kind kind)
{
	return meant[kind] && strcmp(meant[kind], kind_row(kind)->version) != 0 ? meant[kind]
										: NULL;
}

enum kind kind_by_name(const char *api_version, const char *name)
{
	const char *slash = strchr(api_version, '/');
	struct str group = { api_version, slash ? (size_t)(slash - api_version) : 0 };

	for (unsigned i = 0; i < end; i++)
		if (rows[i].on && strcmp(rows[i].kind, name) == 0 &&
		    str_equal(str_of(rows[i].group), group))
			return (enum kind)i;
	return KIND_COUNT;
}

bool kind_is_named(enum kind kind, const char *name)
{
	const struct kind_row *row = kind_row(kind);
	const char *const words[] = { row->kind, row->plural };

	for (unsigned i = 0; i < 2 && row->on; i++) {
		size_t n = strlen(words[i]);

		if (strncasecmp(words[i], name, n) == 0 &&
		    (!name[n] || (name[n] == '.' && strcasecmp(name + n + 1, row->group) == 0)))
			return true;
	}
	return false;
}

bool kind_chooses(enum kind kind, const json_t *metadata)
{
	const struct kind_row *row = kind_row(kind);
	const json_t *labels = row->label_count ? json_object_get(metadata, "labels") : NULL;

	for (unsigned i = 0; i < row->label_count; i++)
		if (strcmp(kube_json_text(labels, row->labels[i].key), row->labels[i].value) != 0)
			return false;
	return true;
}

void kind_put_selector(enum kind kind, struct buf *query)
{
	const struct kind_row *row = kind_row(kind);
	struct buf selector = buf_make(4096);

	for (unsigned i = 0; i < row->label_count; i++)
		buf_printf(
		    &selector, "%s%s=%s", i ? "," : "", row->labels[i].key, row->labels[i].value);
	if (selector.data)
		kube_url_query(query, "labelSelector", selector.data);
	buf_free(&selector);
}

bool kind_skips(enum kind kind, const char *namespace, const char *name)
{
	for (uint32_t bits = skips[kind]; bits; bits &= bits - 1) {
		const struct config_skip *skip = &skips_of->skips[__builtin_ctz(bits)];

		if (strcmp(config_text_at(skips_of, skip->name), name) == 0 &&
		    strcmp(config_text_at(skips_of, skip->namespace), namespace) == 0)
			return true;
	}
	return false;
}

static bool is_configmap(enum kind kind)
{
	const struct kind_row *row = kind_row(kind);

	return row->group[0] == '\0' && strcmp(row->plural, "configmaps") == 0;
}

bool kind_excludes(enum kind kind, const char *name)
{
	switch (kind) {
	case KIND_SERVICE_ACCOUNT: return strcmp(name, "default") == 0;
	case KIND_ROLE_BINDING:
		return strcmp(name, KIND_MIRROR_BINDING) == 0 ||
		       strcmp(name, KIND_READ_BINDING) == 0;
	case KIND_NAMESPACE: return strncmp(name, "kube-", 5) == 0 || strcmp(name, "default") == 0;
	default:
		/* Each cluster puts its own certificates into each namespace. */
		return is_configmap(kind) && (strcmp(name, "kube-root-ca.crt") == 0 ||
						 strcmp(name, "openshift-service-ca.crt") == 0);
	}
}

bool kind_excludes_secret(const char *type)
{
	return strcmp(type, "bootstrap.kubernetes.io/token") == 0 ||
	       strcmp(type, "ha.kubeslice.io/archived-object") == 0 ||
	       strncmp(type, "helm.sh/release", 15) == 0;
}

bool kind_may_be_immutable(enum kind kind)
{
	return kind == KIND_SECRET || is_configmap(kind);
}
