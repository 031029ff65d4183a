/*
 * Readers of what stands in `mirror` (see rows.h). What may stand there is judged by
 * policy/config_mirror.c, here with its line. No I/O. Called by config.c.
 */
#include <string.h>

#include "loader/rows.h"
#include "policy/config_mirror.h"

#define TEXT_BYTES 512

/* B1: what mirrored Roles may grant beyond what KubeSlice needs. */
bool read_rules(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct us_config *config = base;

	if (!row_is_list(r, row, value))
		return false;
	for (const struct yaml_value *m = value->first; m; m = m->next) {
		if (!row_is_text(r, row, m))
			return false;
		if (!config_is_rule(m->text.p))
			return row_is_wrong(r, row, m, "is no such rule");
		if (!row_keep_text(r, m, m->text.p, &config->rules[m->index]))
			return false;
	}
	config->rule_count = value->count;
	return true;
}

/* The next part of the text up to that character, or to its end. */
static struct str take_part(struct str *rest, char end)
{
	const char *at = rest->n ? memchr(rest->p, end, rest->n) : NULL;
	struct str part = { rest->p, at ? (size_t)(at - rest->p) : rest->n };

	*rest = at ? (struct str){ at + 1, rest->n - part.n - 1 } : (struct str){ "", 0 };
	return part;
}

/* KEY=VALUE; what they may be is judged by whoever knows all of it. */
static bool read_term(struct reader *r, const struct key_row *row, const struct yaml_value *value,
    struct str term, struct config_label *out)
{
	char key[TEXT_BYTES], text[TEXT_BYTES];
	struct str rest = term, name = take_part(&rest, '=');

	if (name.n == 0 || rest.n == 0 || !str_copy(key, sizeof(key), name) ||
	    !str_copy(text, sizeof(text), rest))
		return row_is_wrong(r, row, value, "is no such label");
	return row_keep_text(r, value, key, &out->key) &&
	       row_keep_text(r, value, text, &out->value);
}

static bool complain(
    struct reader *r, const struct yaml_value *value, const struct config_fault *fault)
{
	return config_complain(
	    r, value, NULL, fault->expected, "\"%.80s\" %s", fault->text, fault->what);
}

bool read_equality(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct config_label *label = row_field(row, base);
	struct config_fault fault;

	if (!row_is_text(r, row, value) || !read_term(r, row, value, value->text, label))
		return false;
	return config_label_fault(r->config, label, &fault) ? complain(r, value, &fault) : true;
}

bool read_word(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	return row_is_text(r, row, value) &&
	       row_keep_text(r, value, value->text.p, row_field(row, base));
}

bool read_selector(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct config_kind *kind = base;
	struct str rest = value->text;

	if (!row_is_text(r, row, value))
		return false;
	for (bool more = true; more;) {
		struct str term;

		/* Behind a last comma one is missing. */
		more = rest.n && memchr(rest.p, ',', rest.n);
		term = take_part(&rest, ',');
		if (kind->term_count == CONFIG_MAX_TERMS)
			return row_is_wrong(r, row, value, "has too many terms");
		if (!read_term(r, row, value, term, &kind->terms[kind->term_count]))
			return false;
		kind->term_count++;
	}
	return true;
}

/* M10. */
bool read_kinds(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct us_config *config = base;
	struct config_fault fault;

	if (!row_is_list(r, row, value))
		return false;
	for (const struct yaml_value *m = value->first; m; m = m->next) {
		struct place place = { SECTION_KIND, &config->kinds[m->index] };
		const struct yaml_value *member;

		if (!row_read_map(r, m, &place, 1))
			return false;
		config->kind_count = m->index + 1;
		if (!config_kind_fault(config, m->index, &fault))
			continue;
		member = yaml_value_at(m, fault.key);
		return complain(r, member ? member : m, &fault);
	}
	return true;
}

/* RESOURCE[.GROUP][/NAMESPACE/NAME] */
static bool read_skip(struct reader *r, const struct key_row *row, const struct yaml_value *value,
    struct config_skip *out)
{
	struct str rest = value->text, kind = take_part(&rest, '/'), group = kind;
	struct str resource = take_part(&group, '.'), namespace = take_part(&rest, '/');
	const struct {
		struct str text;
		config_text *out;
	} parts[] = { { resource, &out->resource }, { group, &out->group },
		{ namespace, &out->namespace }, { rest, &out->name } };
	bool object = memchr(value->text.p, '/', value->text.n) != NULL;
	bool dot = memchr(kind.p, '.', kind.n) != NULL;
	char text[TEXT_BYTES];

	if (value->text.n == 0 || (object && (namespace.n == 0 || rest.n == 0)) ||
	    (dot && group.n == 0))
		return row_is_wrong(r, row, value, "is no such entry");
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!str_copy(text, sizeof(text), parts[i].text))
			return row_is_wrong(r, row, value, "is too long");
		else if (!row_keep_text(r, value, text, parts[i].out))
			return false;
	return true;
}

/* M8. */
bool read_skips(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct us_config *config = base;
	struct config_fault fault;

	if (!row_is_list(r, row, value))
		return false;
	for (const struct yaml_value *m = value->first; m; m = m->next) {
		if (!row_is_text(r, row, m) || !read_skip(r, row, m, &config->skips[m->index]))
			return false;
		config->skip_count = m->index + 1;
		if (config_skip_fault(config, m->index, &fault))
			return complain(r, m, &fault);
	}
	return true;
}
