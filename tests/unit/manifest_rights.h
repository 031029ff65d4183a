/*
 * Rights that a manifest of RBAC gives, read with libyaml: each rule becomes rights like those that
 * an API server tells, so that they can be held against the table of least rights.
 */
#ifndef TESTS_UNIT_MANIFEST_RIGHTS_H
#define TESTS_UNIT_MANIFEST_RIGHTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "policy/rights.h"

static inline yaml_node_t *manifest_member(
    yaml_document_t *document, yaml_node_t *map, const char *key)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = map->data.mapping.pairs.start;
	     pair < map->data.mapping.pairs.top; pair++) {
		yaml_node_t *name = yaml_document_get_node(document, pair->key);

		if (strcmp((char *)name->data.scalar.value, key) == 0)
			return yaml_document_get_node(document, pair->value);
	}
	return NULL;
}

static inline const char *manifest_text(
    yaml_document_t *document, yaml_node_t *map, const char *key)
{
	yaml_node_t *node = manifest_member(document, map, key);

	return node && node->type == YAML_SCALAR_NODE ? (char *)node->data.scalar.value : "";
}

/* A list with commas; each item with an end of its own. */
static inline void manifest_join(
    yaml_document_t *document, yaml_node_t *list, const char *end, struct buf *out)
{
	if (!list)
		return;
	for (yaml_node_item_t *item = list->data.sequence.items.start;
	     item < list->data.sequence.items.top; item++) {
		yaml_node_t *node = yaml_document_get_node(document, *item);

		buf_printf(
		    out, "%s%s%s", out->len ? "," : "", (char *)node->data.scalar.value, end);
	}
}

static inline void manifest_add_rule(
    yaml_document_t *document, yaml_node_t *rule, struct rights *rights)
{
	yaml_node_t *groups = manifest_member(document, rule, "apiGroups");
	struct buf verbs = buf_make(4096), names = buf_make(4096);

	manifest_join(document, manifest_member(document, rule, "verbs"), "", &verbs);
	manifest_join(document, manifest_member(document, rule, "resourceNames"), "", &names);
	for (yaml_node_item_t *item = groups->data.sequence.items.start;
	     item < groups->data.sequence.items.top; item++) {
		const char *group =
		    (char *)yaml_document_get_node(document, *item)->data.scalar.value;
		struct buf resources = buf_make(4096);
		char end[128] = "";

		if (*group)
			(void)snprintf(end, sizeof(end), ".%s", group);
		manifest_join(
		    document, manifest_member(document, rule, "resources"), end, &resources);
		rights_add(rights, buf_str(&verbs), buf_str(&resources), buf_str(&names));
		buf_free(&resources);
	}
	buf_free(&verbs);
	buf_free(&names);
}

/* Rights of all (Cluster)Roles of that name; those of a Role only `home`. */
static inline void manifest_rights(
    const char *text, const char *role, bool home, struct rights *rights)
{
	yaml_parser_t parser;
	yaml_document_t document;
	yaml_node_t *root;

	assert_true(yaml_parser_initialize(&parser));
	yaml_parser_set_input_string(&parser, (unsigned char *)text, strlen(text));
	for (;;) {
		assert_true(yaml_parser_load(&parser, &document));
		root = yaml_document_get_root_node(&document);
		if (!root)
			break;
		if (strcmp(manifest_text(
			       &document, manifest_member(&document, root, "metadata"), "name"),
			role) == 0 &&
		    (strcmp(manifest_text(&document, root, "kind"), "ClusterRole") == 0 ||
			(home && strcmp(manifest_text(&document, root, "kind"), "Role") == 0))) {
			yaml_node_t *rules = manifest_member(&document, root, "rules");

			for (yaml_node_item_t *item = rules->data.sequence.items.start;
			     item < rules->data.sequence.items.top; item++)
				manifest_add_rule(
				    &document, yaml_document_get_node(&document, *item), rights);
		}
		yaml_document_delete(&document);
	}
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
}

#endif
