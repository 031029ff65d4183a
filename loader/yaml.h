/*
 * A YAML or JSON file as a small tree of texts, lists and maps, each with its line. Bounded: 1 MiB,
 * a depth of 16, 20,000 values, one document. Anchors, aliases and tags are refused: they let a
 * short file stand for an endless one (F7). Repeated keys are refused, too.
 * The tree owns its values and wipes their texts when freed, for a kubeconfig holds secrets; error
 * texts name places and never quote a value.
 */
#ifndef LOADER_YAML_H
#define LOADER_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define YAML_TREE_MAX_BYTES  (1024UL * 1024)
#define YAML_TREE_MAX_DEPTH  16
#define YAML_TREE_MAX_VALUES 20000

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_value {
	enum yaml_kind kind;
	uint32_t line;   /* from 1 */
	uint32_t index;  /* place within its list or map */
	struct str key;  /* of a map's member, else empty */
	struct str text; /* of YAML_TEXT; terminated */
	bool empty;      /* nothing was written: "key:" */
	const char *by;  /* not of the file: what put it there; NULL */
	uint32_t count;  /* members */
	struct yaml_value *first, *last, *next, *parent;
	struct yaml_value *chain; /* all values of the tree, for freeing */
};

struct yaml_tree {
	struct yaml_value *root;
	struct yaml_value *all;
	uint32_t count;
};

/* `file` is for messages only. 0, or -1 with "FILE:LINE: what; expected ..." and an empty tree. */
int yaml_tree_parse(struct yaml_tree *tree, struct str text, const char *file, struct err *err);
/* Wipes and frees; fine on a zeroed tree and twice. */
void yaml_tree_free(struct yaml_tree *tree);
/* Puts a text, or a map, at a key of a map of the tree, in place of what is there; a map that is
 * there stays unless `anew`. NULL: it is no map, or there is no memory. */
struct yaml_value *yaml_tree_put_text(
    struct yaml_tree *tree, struct yaml_value *map, const char *key, const char *text);
struct yaml_value *yaml_tree_put_map(
    struct yaml_tree *tree, struct yaml_value *map, const char *key, bool anew);
/* The member of a map; NULL when absent, or `map` is NULL or no map. */
const struct yaml_value *yaml_value_at(const struct yaml_value *map, const char *key);
/* "hubs[1].endpoint", cut to size. The root is "". */
void yaml_value_path(const struct yaml_value *value, char *out, size_t size);
/* "a text", "a list", "a map", "empty". */
const char *yaml_value_kind(const struct yaml_value *value);

#endif
