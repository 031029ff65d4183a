/*
 * Values of flags.def's flags become values of the tree (see the header). No I/O. Called by
 * config.c and main.c.
 */
#include "loader/flags.h"

#include <ctype.h>
#include <string.h>

static const struct flag_row {
	const char *name, *key, *note;
} rows[] = {
#define FLAG(name, key, note) { name, key, note },
#include "loader/flags.def"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

#define MAX_VALUE 1024

/* The value behind "NAME=" when the flag is of that name. */
static const char *value_of(const char *flag, const char *name)
{
	size_t n = strlen(name);

	return strncmp(flag, name, n) == 0 && flag[n] == '=' ? flag + n + 1 : NULL;
}

const char *flags_note(const char *flag)
{
	for (size_t i = 0; i < ROWS; i++)
		if (value_of(flag, rows[i].name))
			return rows[i].note[0] ? rows[i].note : NULL;
	return NULL;
}

static bool fail(struct reader *r, const struct flag_row *row, const char *what)
{
	err_set(r->err, "%s: %s", row->name, what);
	return false;
}

/* The hub that `self` names by now. */
static struct yaml_value *own_hub(const struct yaml_tree *tree)
{
	const struct yaml_value *hubs = yaml_value_at(tree->root, "hubs");
	const struct yaml_value *self = yaml_value_at(tree->root, "self"), *name;

	for (struct yaml_value *hub = hubs && hubs->kind == YAML_LIST ? hubs->first : NULL;
	     hub && self; hub = hub->next) {
		name = yaml_value_at(hub, "name");
		if (name && name->kind == YAML_TEXT && self->kind == YAML_TEXT &&
		    str_equal(name->text, self->text))
			return hub;
	}
	return NULL;
}

/* The map that holds the key's last word, which *last becomes. */
static struct yaml_value *place_of(
    struct yaml_tree *tree, const struct flag_row *row, const char **last)
{
	struct yaml_value *map = tree->root;
	char word[64];
	const char *dot;

	*last = row->key;
	if (strncmp(row->key, "hubs.self.", 10) == 0) {
		*last = row->key + 10;
		return own_hub(tree);
	}
	while (map && (dot = strchr(*last, '.'))) {
		bool whole = strchr(dot + 1, '.') == NULL && map != tree->root;

		if (!str_copy(word, sizeof(word), (struct str){ *last, (size_t)(dot - *last) }))
			return NULL;
		/* An identity is replaced as a whole: parts of the old one are not of the new. */
		map = yaml_tree_put_map(tree, map, word, whole);
		*last = dot + 1;
	}
	return map;
}

static bool put(
    struct reader *r, struct yaml_tree *tree, const struct flag_row *row, const char *given)
{
	char value[MAX_VALUE];
	struct str text = str_of(given);
	struct yaml_value *map, *put;
	const char *last;

	while (text.n && isspace((unsigned char)text.p[0]))
		text = (struct str){ text.p + 1, text.n - 1 };
	while (text.n && isspace((unsigned char)text.p[text.n - 1]))
		text.n--;
	if (text.n == 0 || str_equal(text, STR_LIT("0")) || str_equal(text, STR_LIT("0s")))
		return true;
	if (!str_copy(value, sizeof(value), text))
		return fail(r, row, "is longer than 1023 bytes; expected less");
	for (char *c = value; strcmp(row->key, "mode") == 0 && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	map = place_of(tree, row, &last);
	if (!map || map->kind != YAML_MAP)
		return fail(r, row,
		    "has no place in the file; expected a configuration with `hubs`, one of them "
		    "named as `self`");
	put = yaml_tree_put_text(tree, map, last, value);
	if (!put)
		return fail(r, row, "no memory");
	put->by = row->name;
	return true;
}

bool flags_apply(struct reader *r, struct yaml_tree *tree, const char *const *flags, unsigned count)
{
	if (!tree->root || tree->root->kind != YAML_MAP)
		return true;
	for (unsigned i = 0; i < count; i++) {
		bool known = false;

		for (size_t k = 0; k < ROWS && !known; k++)
			known = value_of(flags[i], rows[k].name) != NULL;
		if (!known) {
			err_set(r->err,
			    "%.*s: is no flag of understudyd; expected --config, -n, -v or one of "
			    "upstream's --ha-* flags",
			    (int)strcspn(flags[i], "="), flags[i]);
			return false;
		}
	}
	for (size_t k = 0; k < ROWS; k++)
		for (unsigned i = 0; i < count; i++) {
			const char *value = value_of(flags[i], rows[k].name);

			if (value && rows[k].key[0] && !put(r, tree, &rows[k], value))
				return false;
		}
	return true;
}
