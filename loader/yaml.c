/*
 * The tree over libyaml's events (see the header). Events, not its document loader: the bounds are
 * held while the input is read, so no input can make it grow first. No I/O. Called by config.c and
 * kubeconfig.c.
 */
#include "loader/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct parse {
	yaml_parser_t parser;
	struct yaml_tree *tree;
	struct str text;
	const char *file;
	struct err *err;
};

static unsigned line_at(struct str text, size_t offset)
{
	unsigned line = 1;

	for (size_t i = 0; i < offset && i < text.n; i++)
		line += text.p[i] == '\n';
	return line;
}

static bool fail_at(struct parse *p, unsigned line, const char *what)
{
	err_set(p->err, "%s:%u: %s", p->file, line, what);
	return false;
}

/* libyaml's words are literals: they never quote the input. */
static bool next_event(struct parse *p, yaml_event_t *event)
{
	const yaml_parser_t *parser = &p->parser;
	unsigned line;

	if (yaml_parser_parse(&p->parser, event))
		return true;
	line = parser->error == YAML_READER_ERROR ? line_at(p->text, parser->problem_offset)
						  : (unsigned)parser->problem_mark.line + 1;
	err_set(p->err, "%s:%u: is not YAML: %s; expected one YAML or JSON document in UTF-8",
	    p->file, line, parser->problem ? parser->problem : "no memory");
	return false;
}

static struct yaml_value *add_value(struct parse *p, unsigned line, struct yaml_value *parent)
{
	struct yaml_value *value = NULL;

	if (p->tree->count >= YAML_TREE_MAX_VALUES)
		fail_at(p, line, "has more than 20,000 values; expected fewer");
	else if (!(value = calloc(1, sizeof(*value))))
		fail_at(p, line, "no memory");
	if (!value)
		return NULL;
	value->line = line;
	value->parent = parent;
	value->chain = p->tree->all;
	p->tree->all = value;
	p->tree->count++;
	if (!parent)
		return value;
	value->index = parent->count++;
	if (parent->last)
		parent->last->next = value;
	else
		parent->first = value;
	parent->last = value;
	return value;
}

/* F7: what makes one place of the file stand for another is refused as such. */
static bool refuse_references(struct parse *p, const yaml_event_t *event)
{
	const void *anchor = NULL, *tag = NULL;

	if (event->type == YAML_SCALAR_EVENT) {
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
	}
	if (event->type == YAML_ALIAS_EVENT || anchor || tag)
		return fail_at(p, (unsigned)event->start_mark.line + 1,
		    tag ? "has a tag (!); expected plain values"
			: "has an anchor or alias (& or *); expected each value written out");
	return true;
}

/* Takes the bytes out of the event, so that there is one copy to wipe. */
static struct str take_text(yaml_event_t *event)
{
	struct str text = { (const char *)event->data.scalar.value, event->data.scalar.length };

	event->data.scalar.value = NULL;
	return text;
}

/* A map's member begins with its key. */
static bool parse_key(struct parse *p, yaml_event_t *event, struct yaml_value *member)
{
	if (event->type == YAML_SCALAR_EVENT)
		member->key = take_text(event);
	if (member->key.n == 0 || strlen(member->key.p) != member->key.n)
		return fail_at(
		    p, member->line, "has a key that is no text; expected \"key: value\"");
	if (yaml_value_at(member->parent, member->key.p) == member)
		return true;
	err_set(p->err, "%s:%u: %.64s: is there twice; expected each key once", p->file,
	    member->line, member->key.p);
	return false;
}

static bool parse_value(
    struct parse *p, yaml_event_t *event, struct yaml_value *value, unsigned depth);

/* `event` starts a member of `value`. */
static bool parse_member(
    struct parse *p, yaml_event_t *event, struct yaml_value *value, unsigned depth)
{
	struct yaml_value *member;

	if (!refuse_references(p, event))
		return false;
	member = add_value(p, (unsigned)event->start_mark.line + 1, value);
	if (!member)
		return false;
	if (value->kind == YAML_MAP) {
		if (!parse_key(p, event, member))
			return false;
		yaml_event_delete(event);
		if (!next_event(p, event) || !refuse_references(p, event))
			return false;
	}
	return parse_value(p, event, member, depth + 1);
}

/* `event` starts `value`; all members up to its end are read. */
static bool parse_value(
    struct parse *p, yaml_event_t *event, struct yaml_value *value, unsigned depth)
{
	bool ended = false, ok = true;

	if (event->type == YAML_SCALAR_EVENT) {
		value->kind = YAML_TEXT;
		value->empty = event->data.scalar.plain_implicit &&
			       event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
			       event->data.scalar.length == 0;
		value->text = take_text(event);
		return true;
	}
	value->kind = event->type == YAML_SEQUENCE_START_EVENT ? YAML_LIST : YAML_MAP;
	if (depth > YAML_TREE_MAX_DEPTH)
		return fail_at(p, value->line, "is nested more than 16 deep; expected less");
	while (ok && !ended) {
		yaml_event_t member;

		if (!next_event(p, &member))
			return false;
		ended =
		    member.type == YAML_SEQUENCE_END_EVENT || member.type == YAML_MAPPING_END_EVENT;
		if (!ended)
			ok = parse_member(p, &member, value, depth);
		yaml_event_delete(&member);
	}
	return ok;
}

/* Stream start, document start, value, document end, stream end: nothing else. */
static bool parse_stream(struct parse *p)
{
	yaml_event_t event;
	bool ok = true, done = false;

	while (ok && !done) {
		unsigned line;

		if (!next_event(p, &event))
			return false;
		line = (unsigned)event.start_mark.line + 1;
		if (event.type == YAML_STREAM_END_EVENT) {
			done = true;
			if (!p->tree->root)
				ok = fail_at(p, line, "is empty; expected a YAML document");
		} else if (event.type == YAML_DOCUMENT_START_EVENT) {
			if (p->tree->root)
				ok = fail_at(p, line, "has a second document; expected one");
			else if (event.data.document_start.tag_directives.start !=
				 event.data.document_start.tag_directives.end)
				ok = fail_at(p, line, "has a %TAG line; expected plain values");
		} else if (event.type != YAML_STREAM_START_EVENT &&
			   event.type != YAML_DOCUMENT_END_EVENT) {
			p->tree->root = add_value(p, line, NULL);
			ok = p->tree->root && refuse_references(p, &event) &&
			     parse_value(p, &event, p->tree->root, 1);
		}
		yaml_event_delete(&event);
	}
	return ok;
}

int yaml_tree_parse(struct yaml_tree *tree, struct str text, const char *file, struct err *err)
{
	struct parse p = { .tree = tree, .text = text, .file = file, .err = err };
	bool ok;

	*tree = (struct yaml_tree){ 0 };
	if (text.n > YAML_TREE_MAX_BYTES)
		return err_set(err, "%s: is larger than 1 MiB; expected less", file);
	if (text.n == 0)
		return err_set(err, "%s:1: is empty; expected a YAML document", file);
	if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
		return err_set(
		    err, "%s:1: starts with a byte order mark; expected UTF-8 without one", file);
	if (!yaml_parser_initialize(&p.parser))
		return err_set(err, "%s: no memory", file);
	yaml_parser_set_encoding(&p.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&p.parser, (const unsigned char *)text.p, text.n);
	ok = parse_stream(&p);
	yaml_parser_delete(&p.parser);
	if (!ok)
		yaml_tree_free(tree);
	return ok ? 0 : -1;
}

static void free_text(struct str text)
{
	void *bytes = (void *)text.p;

	if (!bytes)
		return;
	explicit_bzero(bytes, text.n);
	free(bytes);
}

void yaml_tree_free(struct yaml_tree *tree)
{
	struct yaml_value *value = tree->all;

	while (value) {
		struct yaml_value *next = value->chain;

		free_text(value->key);
		free_text(value->text);
		free(value);
		value = next;
	}
	*tree = (struct yaml_tree){ 0 };
}

/* The member as an empty value of a kind; new, or in place of the one that is there. */
static struct yaml_value *put(
    struct yaml_tree *tree, struct yaml_value *map, const char *key, enum yaml_kind kind)
{
	struct yaml_value *value;

	if (map->kind != YAML_MAP)
		return NULL;
	for (value = map->first; value && !str_equal(value->key, str_of(key));)
		value = value->next;
	if (!value) {
		struct parse p = { .tree = tree, .file = "" };

		value = add_value(&p, map->line, map);
		if (value && (value->key.p = strdup(key)))
			value->key.n = strlen(key);
	}
	if (!value || !value->key.p)
		return NULL;
	free_text(value->text);
	value->text = (struct str){ NULL, 0 };
	value->kind = kind;
	value->empty = false;
	value->first = value->last = NULL;
	value->count = 0;
	return value;
}

struct yaml_value *yaml_tree_put_text(
    struct yaml_tree *tree, struct yaml_value *map, const char *key, const char *text)
{
	struct yaml_value *value = put(tree, map, key, YAML_TEXT);

	if (!value || !(value->text.p = strdup(text)))
		return NULL;
	value->text.n = strlen(text);
	return value;
}

struct yaml_value *yaml_tree_put_map(
    struct yaml_tree *tree, struct yaml_value *map, const char *key, bool anew)
{
	struct yaml_value *value;

	for (value = map->kind == YAML_MAP ? map->first : NULL; value; value = value->next)
		if (!anew && str_equal(value->key, str_of(key)))
			return value;
	return put(tree, map, key, YAML_MAP);
}

const struct yaml_value *yaml_value_at(const struct yaml_value *map, const char *key)
{
	const struct yaml_value *member = map && map->kind == YAML_MAP ? map->first : NULL;

	while (member && !str_equal(member->key, str_of(key)))
		member = member->next;
	return member;
}

void yaml_value_path(const struct yaml_value *value, char *out, size_t size)
{
	size_t n;

	out[0] = '\0';
	if (!value->parent)
		return;
	yaml_value_path(value->parent, out, size);
	n = strlen(out);
	if (value->parent->kind == YAML_LIST)
		(void)snprintf(out + n, size - n, "[%u]", value->index);
	else
		(void)snprintf(out + n, size - n, "%s%.64s", n ? "." : "", value->key.p);
}

const char *yaml_value_kind(const struct yaml_value *value)
{
	static const char *const names[] = { "a text", "a list", "a map" };

	return value->empty ? "empty" : names[value->kind];
}
