/*
 * Goal: tracking marks are parked and compared (B22), lists of an account are merged (B23), field
 * owners are nobody (B21), and marks of people are seen. Method: JSON in, JSON and facts out.
 */
#include "syncer/marks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "kube/json.h"
#include "syncer/amend.h"

static json_t *parse(const char *text)
{
	json_t *value = kube_json_parse(str_of(text), NULL);

	assert_non_null(value);
	return value;
}

static struct rewrite_facts facts_of(enum kind kind, enum rewrite_side side, const json_t *value)
{
	struct rewrite_facts facts;
	struct err err;

	if (rewrite_read(kind, side, value, &facts, &err) < 0)
		fail_msg("%s", err.text);
	return facts;
}

static json_t *copy_of(enum kind kind, const json_t *source)
{
	struct rewrite_facts facts = facts_of(kind, REWRITE_SOURCE, source);
	struct rewrite_target target = { .version = 7, .uid = "u-2", .owner_kind = KIND_COUNT };
	struct buf text = buf_make(65536), body = buf_make(65536);
	struct rewrite_copy cut;
	json_t *copy;

	assert_int_equal(rewrite_copy(kind, source, &facts, 4, &text, &cut), 0);
	rewrite_finish(&body, buf_str(&text), cut, &target);
	copy = parse(body.data);
	buf_free(&text);
	buf_free(&body);
	return copy;
}

#define HEAD                                                                                       \
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u-1\",\"resourceVersion\":"   \
	"\"3\""

/* Whoever feeds the mirror lets no Pod here do more (B1). */
static void a_namespace_lets_its_pods_do_no_more(void **state)
{
	static const struct {
		const char *enforce;
		bool parked;
	} rows[] = { { "\"privileged\"", true }, { "\"baseline\"", true }, { "\"\"", true },
		{ "7", true }, { "\"restricted\"", false } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[400];
		json_t *source, *copy, *labels;

		(void)snprintf(text, sizeof(text),
		    "{\"metadata\":{\"name\":\"a\",\"uid\":\"u-1\",\"resourceVersion\":\"3\","
		    "\"labels\":{\"" KIND_OWNER_LABEL "\":\"" KIND_OWNER_VALUE "\","
		    "\"pod-security.kubernetes.io/enforce\":%s,"
		    "\"pod-security.kubernetes.io/enforce-version\":\"v1.20\","
		    "\"pod-security.kubernetes.io/warn\":\"baseline\"}}}",
		    rows[i].enforce);
		source = parse(text);
		copy = copy_of(KIND_NAMESPACE, source);
		labels = kube_json_at(copy, "metadata", "labels", NULL);
		assert_int_equal(
		    json_object_get(labels, "pod-security.kubernetes.io/enforce") == NULL,
		    rows[i].parked);
		assert_null(json_object_get(labels, "pod-security.kubernetes.io/enforce-version"));
		assert_string_equal(
		    kube_json_text(labels, "pod-security.kubernetes.io/warn"), "baseline");
		assert_non_null(
		    strstr(kube_json_text(
			       kube_json_at(copy, "metadata", "annotations", NULL), MARK_PARKED),
			"enforce-version"));
		json_decref(source);
		json_decref(copy);
	}
}

static void tracking_marks_are_parked(void **state)
{
	json_t *source = parse(HEAD
	    ",\"labels\":{\"app.kubernetes.io/instance\":\"shop\",\"l\":\"1\"},\"annotations\":{"
	    "\"argocd.argoproj.io/tracking-id\":\"shop:x\"}},\"spec\":{}}");
	json_t *copy = copy_of(KIND_CLUSTER, source), *parked;
	json_t *metadata = json_object_get(copy, "metadata");
	struct rewrite_facts of_source = facts_of(KIND_CLUSTER, REWRITE_SOURCE, source);
	struct rewrite_facts of_copy = facts_of(KIND_CLUSTER, REWRITE_OWN, copy);

	(void)state;
	assert_null(
	    json_object_get(json_object_get(metadata, "labels"), "app.kubernetes.io/instance"));
	parked = marks_annotation(metadata, MARK_PARKED);
	assert_string_equal(
	    kube_json_text(json_object_get(parked, "labels"), "app.kubernetes.io/instance"),
	    "shop");
	assert_true(hash_equal(&of_source.body, &of_copy.body)); /* equal, so never written again */
	assert_true(hash_equal(&of_source.body, &of_copy.mark));
	/* Given back or changed here, it is a difference. */
	json_object_set_new(
	    json_object_get(metadata, "labels"), "app.kubernetes.io/instance", json_string("shop"));
	of_copy = facts_of(KIND_CLUSTER, REWRITE_OWN, copy);
	assert_false(hash_equal(&of_source.body, &of_copy.body));
	/* A copy that leads by now is a source: what is parked on it goes on. */
	json_object_del(json_object_get(metadata, "labels"), "app.kubernetes.io/instance");
	of_copy = facts_of(KIND_CLUSTER, REWRITE_SOURCE, copy);
	assert_true(hash_equal(&of_source.body, &of_copy.body));
	json_decref(parked);
	json_decref(source);
	json_decref(copy);
}

static void lists_are_merged(void **state)
{
	json_t *source = parse(HEAD "},\"secrets\":[{\"name\":\"s1\"}]}");
	json_t *copy = copy_of(KIND_SERVICE_ACCOUNT, source), *body;
	struct rewrite_facts of_source = facts_of(KIND_SERVICE_ACCOUNT, REWRITE_SOURCE, source);
	struct rewrite_facts of_copy;
	struct buf text = buf_make(65536), wanted = buf_make(65536);

	(void)state;
	/* This hub's own controller lists one more: no difference (B23). */
	json_array_append_new(json_object_get(copy, "secrets"), json_pack("{ss}", "name", "own"));
	of_copy = facts_of(KIND_SERVICE_ACCOUNT, REWRITE_OWN, copy);
	assert_true(hash_equal(&of_source.body, &of_copy.body));
	/* The source lists another one now: s1 goes, own stays. */
	kube_json_put(&wanted, copy);
	buf_clear(&wanted);
	buf_puts(&wanted, HEAD "},\"secrets\":[{\"name\":\"s2\"}]}");
	assert_true(amend_account(buf_str(&wanted), copy, &text));
	body = parse(text.data);
	assert_int_equal(json_array_size(json_object_get(body, "secrets")), 2);
	assert_string_equal(
	    kube_json_text(json_array_get(json_object_get(body, "secrets"), 0), "name"), "s2");
	assert_string_equal(
	    kube_json_text(json_array_get(json_object_get(body, "secrets"), 1), "name"), "own");
	/* Without what the source lists it is another one. */
	json_array_clear(json_object_get(copy, "secrets"));
	of_copy = facts_of(KIND_SERVICE_ACCOUNT, REWRITE_OWN, copy);
	assert_false(hash_equal(&of_source.body, &of_copy.body));
	assert_false(amend_account(STR_LIT("no JSON"), copy, &text));
	buf_free(&text);
	buf_free(&wanted);
	json_decref(body);
	json_decref(source);
	json_decref(copy);
}

static void hostile_annotations_are_nothing(void **state)
{
	static const char *const texts[] = { "[]", "{", "7", "{\\\"secrets\\\":7}",
		"{\\\"labels\\\":[]}" };
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_t *value, *copy;

		(void)snprintf(text, sizeof(text),
		    HEAD ",\"labels\":{\"" MARK_LABEL
			 "\":\"active\"},\"annotations\":{\"" MARK_LISTS "\":\"%s\",\"" MARK_PARKED
			 "\":\"%s\",\"" MARK_PREFIX "pruned\":\"zz\",\"" MARK_PREFIX
			 "content-hash\":\"short\"}}}",
		    texts[i], texts[i]);
		value = parse(text);
		assert_true(facts_of(KIND_SERVICE_ACCOUNT, REWRITE_OWN, value).is_copy);
		assert_false(facts_of(KIND_SERVICE_ACCOUNT, REWRITE_OWN, value).says_pruned);
		copy = copy_of(KIND_SERVICE_ACCOUNT, value);
		json_decref(copy);
		json_decref(value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tracking_marks_are_parked),
		cmocka_unit_test(a_namespace_lets_its_pods_do_no_more),
		cmocka_unit_test(lists_are_merged),
		cmocka_unit_test(hostile_annotations_are_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
