/*
 * Rows of the mirror from the table and the configuration (see the header). No I/O, no state. What
 * a list may hold is config_mirror.c's.
 */
#include "policy/kinds.h"

#include <string.h>

enum { KIND_WIDE, KIND_EACH };
enum { KIND_ALL, KIND_LABELLED };
enum { KIND_PLAIN, KIND_STATUS };
enum { KIND_STRIP, KIND_MAP };

#define KIND(ID, name, group_name, version_name, plural_name, where, watched, chosen, stat, own)   \
	[KIND_##ID] = { .kind = (name),                                                            \
		.group = (group_name),                                                             \
		.version = (version_name),                                                         \
		.plural = (plural_name),                                                           \
		.place = KIND_##where,                                                             \
		.on = true,                                                                        \
		.each = KIND_##watched == KIND_EACH,                                               \
		.labelled = KIND_##chosen == KIND_LABELLED,                                        \
		.status = KIND_##stat == KIND_STATUS,                                              \
		.map_owners = KIND_##own == KIND_MAP,                                              \
		.label_count = KIND_##chosen == KIND_LABELLED,                                     \
		.labels = { { KIND_OWNER_LABEL, KIND_OWNER_VALUE } } },
const struct kind_row kinds_default[KIND_COUNT] = {
#include "policy/kinds.def"
};

bool kinds_any(const struct us_config *config)
{
	return config->mirror_set == CONFIG_MIRROR_KUBESLICE || config->kind_count > 0;
}

bool kinds_any_each(const struct kind_row rows[KIND_COUNT])
{
	for (unsigned kind = 0; kind < KIND_COUNT; kind++)
		if (rows[kind].on && rows[kind].each)
			return true;
	return false;
}

bool kinds_owner_chooses(const struct us_config *config)
{
	const struct config_label *label = &config->mirror_label;

	return strcmp(config_text_at(config, label->key), KIND_OWNER_LABEL) == 0 &&
	       strcmp(config_text_at(config, label->value), KIND_OWNER_VALUE) == 0;
}

enum kind kinds_by_resource(
    const struct kind_row rows[KIND_COUNT], const char *group, const char *resource)
{
	for (unsigned kind = 0; kind < KIND_COUNT; kind++)
		if (rows[kind].kind && strcmp(rows[kind].plural, resource) == 0 &&
		    strcmp(rows[kind].group, group) == 0)
			return (enum kind)kind;
	return KIND_COUNT;
}

static void put_labels(
    const struct us_config *config, const struct config_kind *listed, struct kind_row *row)
{
	row->label_count = listed->term_count;
	row->labelled = row->label_count > 0;
	for (unsigned i = 0; i < listed->term_count; i++)
		row->labels[i] = (struct kind_label){ config_text_at(config, listed->terms[i].key),
			config_text_at(config, listed->terms[i].value) };
}

static void put_listed(const struct us_config *config, const struct config_kind *listed,
    struct kind_row rows[KIND_COUNT], unsigned *end)
{
	const char *group = config_text_at(config, listed->group);
	const char *resource = config_text_at(config, listed->resource);
	enum kind kind = kinds_by_resource(rows, group, resource);

	if (kind == KIND_COUNT) {
		kind = (enum kind)(*end)++;
		rows[kind] = (struct kind_row){ .kind = config_text_at(config, listed->kind),
			.group = group,
			.version = config_text_at(config, listed->version),
			.plural = resource,
			.place = KIND_MIRRORED,
			.status = listed->status,
			.map_owners = true };
	}
	rows[kind].on = true;
	put_labels(config, listed, &rows[kind]);
}

unsigned kinds_of(const struct us_config *config, struct kind_row rows[KIND_COUNT])
{
	unsigned end = KIND_LISTED;

	memcpy(rows, kinds_default, sizeof(kinds_default));
	for (unsigned kind = 0; kind < KIND_LISTED; kind++)
		rows[kind].on = config->mirror_set == CONFIG_MIRROR_KUBESLICE;
	rows[KIND_NAMESPACE].on = kinds_any(config);
	rows[KIND_NAMESPACE].labels[0] =
	    (struct kind_label){ config_text_at(config, config->mirror_label.key),
		    config_text_at(config, config->mirror_label.value) };
	for (unsigned i = 0; i < config->kind_count; i++)
		put_listed(config, &config->kinds[i], rows, &end);
	for (unsigned i = 0; i < config->skip_count; i++) {
		const struct config_skip *skip = &config->skips[i];
		enum kind kind = kinds_by_resource(rows, config_text_at(config, skip->group),
		    config_text_at(config, skip->resource));

		if (!skip->name && kind != KIND_COUNT) {
			rows[kind].skipped = rows[kind].on;
			rows[kind].on = false;
		}
	}
	return end;
}

bool kinds_is_tracking(const char *key)
{
	static const char *const names[] = { "argocd.argoproj.io/tracking-id",
		"argocd.argoproj.io/instance", "app.kubernetes.io/instance",
		"meta.helm.sh/release-name", "meta.helm.sh/release-namespace" };
	static const char *const prefixes[] = { "kustomize.toolkit.fluxcd.io/",
		"helm.toolkit.fluxcd.io/", "objectset.rio.cattle.io/" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(key, names[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}
