/*
 * The table of kinds.def as data (see the header). No I/O, no state.
 */
#include "syncer/kinds.h"

#include <string.h>

#include "base/check.h"

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
		.each = KIND_##watched == KIND_EACH,                                               \
		.labelled = KIND_##chosen == KIND_LABELLED,                                        \
		.status = KIND_##stat == KIND_STATUS,                                              \
		.map_owners = KIND_##own == KIND_MAP },
static const struct kind_row rows[KIND_COUNT] = {
#include "policy/kinds.def"
};

const struct kind_row *kind_row(enum kind kind)
{
	CHECK((unsigned)kind < KIND_COUNT);
	return &rows[kind];
}

enum kind kind_by_name(const char *api_version, const char *name)
{
	const char *slash = strchr(api_version, '/');
	struct str group = { api_version, slash ? (size_t)(slash - api_version) : 0 };

	for (unsigned i = 0; i < KIND_COUNT; i++)
		if (strcmp(rows[i].kind, name) == 0 && str_equal(str_of(rows[i].group), group))
			return (enum kind)i;
	return KIND_COUNT;
}

bool kind_excludes(enum kind kind, const char *name)
{
	switch (kind) {
	case KIND_SERVICE_ACCOUNT: return strcmp(name, "default") == 0;
	case KIND_ROLE_BINDING:
		return strcmp(name, KIND_MIRROR_BINDING) == 0 ||
		       strcmp(name, KIND_READ_BINDING) == 0;
	case KIND_NAMESPACE: return strncmp(name, "kube-", 5) == 0 || strcmp(name, "default") == 0;
	default: return false;
	}
}

bool kind_excludes_secret(const char *type)
{
	return strcmp(type, "bootstrap.kubernetes.io/token") == 0 ||
	       strcmp(type, "ha.kubeslice.io/archived-object") == 0 ||
	       strncmp(type, "helm.sh/release", 15) == 0;
}
