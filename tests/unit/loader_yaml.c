/*
 * The tree over YAML and JSON: what it accepts, its lines and paths, and each hostile input with
 * its words (issue list: empty, not YAML, over 1 MiB, alias bomb, repeated key; D10, F7).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "loader/yaml.h"

static void expect_error(struct str text, const char *words)
{
	struct yaml_tree tree;
	struct err err;

	assert_int_equal(yaml_tree_parse(&tree, text, "f.yaml", &err), -1);
	assert_null(tree.root);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void expect_path(const struct yaml_value *value, const char *path, unsigned line)
{
	char text[128];

	assert_non_null(value);
	yaml_value_path(value, text, sizeof(text));
	assert_string_equal(text, path);
	assert_int_equal(value->line, line);
}

static void a_document_becomes_a_tree_with_lines(void **state)
{
	static const char text[] = "a: 1\r\nb:\r\n- {c: \"x\\ty\"}\r\n- d\r\ne:\r\n";
	const struct yaml_value *b;
	struct yaml_tree tree;
	struct err err;

	(void)state;
	assert_int_equal(yaml_tree_parse(&tree, str_of(text), "f", &err), 0);
	expect_path(tree.root, "", 1);
	expect_path(yaml_value_at(tree.root, "a"), "a", 1);
	b = yaml_value_at(tree.root, "b");
	assert_int_equal(b->kind, YAML_LIST);
	assert_int_equal(b->count, 2);
	expect_path(yaml_value_at(b->first, "c"), "b[0].c", 3);
	assert_string_equal(yaml_value_at(b->first, "c")->text.p, "x\ty");
	expect_path(b->last, "b[1]", 4);
	assert_true(yaml_value_at(tree.root, "e")->empty);
	assert_null(yaml_value_at(tree.root, "f"));
	assert_null(yaml_value_at(b, "c"));
	yaml_tree_free(&tree);
	yaml_tree_free(&tree);
}

static void json_is_read_as_it_is(void **state)
{
	struct yaml_tree tree;
	struct err err;

	(void)state;
	assert_int_equal(
	    yaml_tree_parse(&tree,
		str_of("{\n\t\"a\": [1, {\"b\": \"c\\/d\"}],\n\t\"e\": null\n}\n"), "f", &err),
	    0);
	assert_string_equal(yaml_value_at(yaml_value_at(tree.root, "a")->last, "b")->text.p, "c/d");
	yaml_tree_free(&tree);
}

static void what_is_no_document_is_refused(void **state)
{
	(void)state;
	expect_error(str_of(""), "f.yaml:1: is empty; expected a YAML document");
	expect_error(str_of("# only words\n"), "is empty");
	expect_error(str_of("a: [1\nb: 2\n"), "f.yaml:2: is not YAML:");
	expect_error(str_of("a:\n\tb: 1\n"), "f.yaml:2: is not YAML:");
	expect_error(str_of("a: 1\n- b\n"), "f.yaml:2: is not YAML:");
	expect_error(str_of("a: \x80\n"), "f.yaml:1: is not YAML:");
	expect_error(str_of("a: 1\nb: \x01\n"), "f.yaml:2: is not YAML:");
	expect_error(STR_LIT("a: 1\0b: 2\n"), "is not YAML:");
	expect_error(str_of("\xef\xbb\xbf"
			    "a: 1\n"),
	    "byte order mark");
	expect_error(STR_LIT("\xff\xfe"
			     "a\0:\0 \0"
			     "1\0\n\0"),
	    "is not YAML:");
	expect_error(str_of("a: 1\n---\nb: 2\n"), "f.yaml:2: has a second document");
	expect_error(str_of("a: 1\nb: 2\na: 3\n"), "f.yaml:3: a: is there twice");
	expect_error(str_of("? [a]\n: 1\n"), "has a key that is no text");
	expect_error(str_of("? {a: b}\n: 1\n"), "has a key that is no text");
	expect_error(str_of("\"a\\0b\": 1\n"), "has a key that is no text");
}

static void references_and_tags_are_refused(void **state)
{
	static const char bomb[] = "a: &a [x, x, x, x, x, x, x, x, x]\n"
				   "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
				   "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n";

	(void)state;
	expect_error(str_of(bomb), "f.yaml:1: has an anchor or alias");
	expect_error(str_of("a: *b\n"), "has an anchor or alias");
	expect_error(str_of("&a b: c\n"), "has an anchor or alias");
	expect_error(str_of("a: &x {}\n"), "has an anchor or alias");
	expect_error(str_of("a: !!str b\n"), "has a tag");
	expect_error(str_of("a: !secret [b]\n"), "has a tag");
	expect_error(str_of("!t a: b\n"), "has a tag");
	expect_error(str_of("%TAG ! tag:x,2000:\n---\na: b\n"), "%TAG");
}

static struct buf repeat(const char *piece, unsigned times)
{
	struct buf text = buf_make(4 * YAML_TREE_MAX_BYTES);

	for (unsigned i = 0; i < times; i++)
		buf_puts(&text, piece);
	return text;
}

static void size_depth_and_count_are_bounded(void **state)
{
	struct yaml_tree tree;
	struct buf text;
	struct err err;

	(void)state;
	text = repeat("# 16 bytes long\n", YAML_TREE_MAX_BYTES / 16);
	buf_puts(&text, "a");
	expect_error(buf_str(&text), "f.yaml: is larger than 1 MiB");
	buf_free(&text);
	text = repeat("[", 16);
	for (int i = 0; i < 16; i++)
		buf_puts(&text, "]");
	assert_int_equal(yaml_tree_parse(&tree, buf_str(&text), "f", &err), 0);
	yaml_tree_free(&tree);
	buf_free(&text);
	text = repeat("[", 100000);
	expect_error(buf_str(&text), "is nested more than 16 deep");
	buf_free(&text);
	text = repeat("- a\n", YAML_TREE_MAX_VALUES - 1);
	assert_int_equal(yaml_tree_parse(&tree, buf_str(&text), "f", &err), 0);
	assert_int_equal(tree.count, YAML_TREE_MAX_VALUES);
	yaml_tree_free(&tree);
	buf_puts(&text, "- a\n");
	expect_error(buf_str(&text), "f.yaml:20000: has more than 20,000 values");
	buf_free(&text);
}

/* A kubeconfig's parse error must not carry a piece of the key that stands there. */
static void errors_quote_no_value(void **state)
{
	struct yaml_tree tree;
	struct err err;

	(void)state;
	assert_int_equal(
	    yaml_tree_parse(&tree, str_of("token: \"geheim\nb: geheim: c\n"), "f", &err), -1);
	assert_null(strstr(err.text, "geheim"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_becomes_a_tree_with_lines),
		cmocka_unit_test(json_is_read_as_it_is),
		cmocka_unit_test(what_is_no_document_is_refused),
		cmocka_unit_test(references_and_tags_are_refused),
		cmocka_unit_test(size_depth_and_count_are_bounded),
		cmocka_unit_test(errors_quote_no_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
