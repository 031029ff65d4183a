/*
 * Goal: a copy holds what it must and nothing that it must not (L67-L72, L84, L87, H11, H13, M9,
 * M14), and hostile objects are refused by name. Method: JSON in, facts and text out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kube/json.h"
#include "syncer/rewrite.h"

static json_t *parse(const char *text)
{
	json_t *value = kube_json_parse(str_of(text), NULL);

	assert_non_null(value);
	return value;
}

static struct rewrite_facts read_at(enum rewrite_side side, enum kind kind, const json_t *object)
{
	struct rewrite_facts facts;
	struct err err;

	if (rewrite_read(kind, side, object, &facts, &err) < 0)
		fail_msg("%s", err.text);
	return facts;
}

static struct rewrite_facts read_ok(enum kind kind, const json_t *object)
{
	return read_at(REWRITE_SOURCE, kind, object);
}

/* The request's body for this source object. */
static json_t *copy_of(enum kind kind, const char *text, struct rewrite_target target)
{
	json_t *object = parse(text), *body;
	struct rewrite_facts facts = read_ok(kind, object);
	struct buf copy = buf_make(65536), out = buf_make(65536);
	struct rewrite_copy cut;

	assert_int_equal(rewrite_copy(kind, object, &facts, 6, &copy, &cut), 0);
	rewrite_finish(&out, buf_str(&copy), cut, &target);
	body = parse(out.data);
	buf_free(&copy);
	buf_free(&out);
	json_decref(object);
	return body;
}

static const char slice[] =
    "{\"apiVersion\":\"controller.kubeslice.io/v1alpha1\",\"kind\":\"SliceConfig\",\"metadata\":{"
    "\"name\":\"red\",\"namespace\":\"kubeslice-cisco\",\"uid\":\"aaaa-1\",\"resourceVersion\":"
    "\"41\","
    "\"generateName\":\"re\",\"generation\":3,\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
    "\"finalizers\":[\"f\"],\"managedFields\":[{}],\"deletionGracePeriodSeconds\":0,"
    "\"labels\":{\"ha.kubeslice.io/synced-from\":\"active\",\"a\":\"b\"},"
    "\"annotations\":{\"ha.kubeslice.io/source-rv\":\"1\",\"c\":\"d\"},"
    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"x\"}]},"
    "\"spec\":{\"n\":9007199254740993},\"status\":{\"s\":1}}";

static void copy_leaves_out_what_belongs_to_the_source(void **state)
{
	json_t *body = copy_of(KIND_SLICE_CONFIG, slice, (struct rewrite_target){ 0 });
	json_t *metadata = json_object_get(body, "metadata");

	(void)state;
	assert_int_equal(json_object_size(metadata), 5); /* L67, M9; managedFields: B21 */
	assert_string_equal(kube_json_text(metadata, "name"), "red");
	assert_string_equal(kube_json_text(metadata, "namespace"), "kubeslice-cisco");
	assert_string_equal(kube_json_text(json_object_get(metadata, "labels"), "a"), "b");
	assert_string_equal(
	    kube_json_text(json_object_get(metadata, "labels"), REWRITE_LABEL), "active");
	assert_string_equal(
	    kube_json_text(json_object_get(metadata, "annotations"), "ha.kubeslice.io/source-rv"),
	    "41");
	assert_string_equal(
	    kube_json_text(json_object_get(metadata, "annotations"), "ha.kubeslice.io/source-term"),
	    "6");
	assert_string_equal(kube_json_text(json_object_get(metadata, "annotations"), "c"), "d");
	assert_null(json_object_get(body, "status")); /* L69: by a second write */
	assert_int_equal(
	    kube_json_integer(json_object_get(body, "spec"), "n", 0), 9007199254740993);
	json_decref(body);
}

static void status_goes_with_the_version_of_the_copy(void **state)
{
	json_t *body = copy_of(KIND_SLICE_CONFIG, slice,
	    (struct rewrite_target){ .version = 7, .uid = "bbbb-2", .with_status = true });

	(void)state;
	assert_int_equal(kube_json_integer(json_object_get(body, "status"), "s", 0), 1);
	assert_string_equal(
	    kube_json_text(json_object_get(body, "metadata"), "resourceVersion"), "7");
	assert_string_equal(kube_json_text(json_object_get(body, "metadata"), "uid"), "bbbb-2");
	json_decref(body);
}

static void copy_reads_back_as_equal(void **state)
{
	json_t *source = parse(slice);
	json_t *body = copy_of(KIND_SLICE_CONFIG, slice,
	    (struct rewrite_target){ .version = 7, .uid = "bbbb-2", .with_status = true });
	struct rewrite_facts of_source = read_ok(KIND_SLICE_CONFIG, source);
	struct rewrite_facts of_copy = read_at(REWRITE_OWN, KIND_SLICE_CONFIG, body);

	(void)state;
	assert_true(of_copy.is_copy);
	assert_true(hash_equal(&of_source.body, &of_copy.body)); /* H11 */
	assert_true(hash_equal(&of_source.status, &of_copy.status));
	assert_true(hash_equal(&of_copy.mark, &of_source.body));
	assert_int_equal(of_copy.source_version, 41);
	assert_int_equal(of_copy.source_term, 6);
	json_decref(source);
	json_decref(body);
}

static void terminating_source_sends_no_status(void **state)
{
	json_t *body = copy_of(KIND_SLICE_CONFIG,
	    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":"
	    "\"1\","
	    "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"status\":{\"s\":1}}",
	    (struct rewrite_target){ .version = 2, .uid = "v", .with_status = true });

	(void)state;
	assert_null(json_object_get(body, "status")); /* L71 */
	assert_null(
	    json_object_get(json_object_get(body, "metadata"), "deletionTimestamp")); /* L70 */
	json_decref(body);
}

static void namespace_has_neither_spec_nor_status(void **state)
{
	json_t *body = copy_of(KIND_NAMESPACE,
	    "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"},"
	    "\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}",
	    (struct rewrite_target){ .with_status = true });

	(void)state;
	assert_int_equal(json_object_size(body), 3); /* L72: metadata, apiVersion, kind */
	json_decref(body);
}

static const char token[] =
    "{\"metadata\":{\"name\":\"t\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\","
    "\"labels\":{\"kubernetes.io/legacy-token-last-used\":\"2026-01-01\"},"
    "\"annotations\":{\"kubernetes.io/service-account.name\":\"acc\","
    "\"kubernetes.io/service-account.uid\":\"old\"}},"
    "\"type\":\"kubernetes.io/service-account-token\",\"data\":{\"token\":\"c2VjcmV0\"}}";

static void token_crosses_as_a_shell(void **state)
{
	json_t *source = parse(token), *body;
	struct rewrite_facts facts = read_ok(KIND_SECRET, source);
	json_t *annotations;

	(void)state;
	assert_true(facts.shell);
	assert_int_equal(facts.owner_kind, KIND_SERVICE_ACCOUNT); /* H6 */
	assert_string_equal(facts.owner_name, "acc");
	body = copy_of(KIND_SECRET, token, (struct rewrite_target){ 0 });
	annotations = json_object_get(json_object_get(body, "metadata"), "annotations");
	assert_null(json_object_get(body, "data")); /* L84 */
	assert_null(json_object_get(annotations, "kubernetes.io/service-account.uid"));
	assert_string_equal(
	    kube_json_text(annotations, "kubernetes.io/service-account.name"), "acc");
	assert_string_equal(kube_json_text(body, "type"), KIND_TOKEN_TYPE);
	json_decref(body);
	json_decref(source);
}

static void opaque_secret_keeps_its_data(void **state)
{
	json_t *body = copy_of(KIND_SECRET,
	    "{\"metadata\":{\"name\":\"t\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":"
	    "\"1\"},"
	    "\"type\":\"Opaque\",\"data\":{\"k\":\"dg==\"}}",
	    (struct rewrite_target){ 0 });

	(void)state;
	assert_string_equal(kube_json_text(json_object_get(body, "data"), "k"), "dg=="); /* L89 */
	json_decref(body);
}

/* What others change by themselves does not count as a change. */
static void hash_ignores_what_the_server_stamps(void **state)
{
	json_t *a = parse(token), *b = parse(token);
	json_t *labels = json_object_get(json_object_get(b, "metadata"), "labels");
	struct rewrite_facts before = read_ok(KIND_SECRET, a), after;

	(void)state;
	json_object_set_new(
	    labels, "kubernetes.io/legacy-token-last-used", json_string("2026-02-02"));
	json_object_set_new(json_object_get(b, "metadata"), "resourceVersion", json_string("9"));
	after = read_ok(KIND_SECRET, b);
	assert_true(hash_equal(&before.body, &after.body)); /* M14, H11 */
	json_object_set_new(labels, "other", json_string("x"));
	after = read_ok(KIND_SECRET, b);
	assert_false(hash_equal(&before.body, &after.body));
	json_decref(a);
	json_decref(b);
}

static void owner_gets_the_local_uid(void **state)
{
	static const char rotation[] =
	    "{\"metadata\":{\"name\":\"red\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":"
	    "\"1\","
	    "\"ownerReferences\":[{\"apiVersion\":\"controller.kubeslice.io/v1alpha1\","
	    "\"kind\":\"SliceConfig\",\"name\":\"red\",\"uid\":\"foreign\",\"controller\":true,"
	    "\"blockOwnerDeletion\":true}]},\"spec\":{}}";
	json_t *source = parse(rotation), *body, *owner;
	struct rewrite_facts facts = read_ok(KIND_VPN_KEY_ROTATION, source);

	(void)state;
	assert_int_equal(facts.owner_kind, KIND_SLICE_CONFIG);
	body = copy_of(KIND_VPN_KEY_ROTATION, rotation,
	    (struct rewrite_target){ .owner_kind = KIND_SLICE_CONFIG,
		.owner_name = "red",
		.owner_uid = "local",
		.owner_controls = facts.owner_controls });
	owner = json_array_get(
	    json_object_get(json_object_get(body, "metadata"), "ownerReferences"), 0);
	assert_string_equal(kube_json_text(owner, "uid"), "local"); /* H13 */
	assert_null(json_object_get(owner, "blockOwnerDeletion"));
	assert_true(json_is_true(json_object_get(owner, "controller")));
	json_decref(body);
	body = copy_of(KIND_VPN_KEY_ROTATION, rotation, (struct rewrite_target){ 0 });
	assert_null(
	    json_object_get(json_object_get(body, "metadata"), "ownerReferences")); /* L68 */
	json_decref(body);
	json_decref(source);
}

static void hostile_objects_are_refused(void **state)
{
	static const char *const bad[] = { "{}", "{\"metadata\":5}", "[]",
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\"}}",
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"resourceVersion\":\"1\"}}",
		"{\"metadata\":{\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}",
		"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}",
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\\\",\\\"x\","
		"\"resourceVersion\":\"1\"}}",
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\","
		"\"resourceVersion\":\"x\"}}",
		/* The kind was renamed under us. */
		"{\"kind\":\"SliceSetting\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\","
		"\"uid\":\"u\",\"resourceVersion\":\"1\"}}" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *object = parse(bad[i]);
		struct rewrite_facts facts;
		struct err err;

		assert_int_equal(
		    rewrite_read(KIND_SLICE_CONFIG, REWRITE_SOURCE, object, &facts, &err), -1);
		assert_non_null(strstr(err.text, "SliceConfig"));
		json_decref(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_leaves_out_what_belongs_to_the_source),
		cmocka_unit_test(status_goes_with_the_version_of_the_copy),
		cmocka_unit_test(copy_reads_back_as_equal),
		cmocka_unit_test(terminating_source_sends_no_status),
		cmocka_unit_test(namespace_has_neither_spec_nor_status),
		cmocka_unit_test(token_crosses_as_a_shell),
		cmocka_unit_test(opaque_secret_keeps_its_data),
		cmocka_unit_test(hash_ignores_what_the_server_stamps),
		cmocka_unit_test(owner_gets_the_local_uid),
		cmocka_unit_test(hostile_objects_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
