/*
 * Goal: an archived object can be had again whole, without the bytes of a token, in parts that an
 * API server takes (C12). Method: pack, read the Secrets back, inflate, compare.
 */
#include "syncer/archive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <zlib.h>

#include "base/base64.h"
#include "kube/json.h"

static struct rewrite_facts facts_of(enum kind kind, const json_t *object)
{
	struct rewrite_facts facts;
	struct err err;

	if (rewrite_read(kind, REWRITE_OWN, object, &facts, &err) < 0)
		fail_msg("%s", err.text);
	return facts;
}

/* All parts' Secrets, joined and inflated. */
static json_t *unpack(const struct archive *archive)
{
	static char text[4u << 20];
	struct buf packed = buf_make(8u << 20);
	z_stream stream = { 0 };
	json_t *value;

	for (unsigned part = 0; part < archive->parts; part++) {
		struct buf body = buf_make(4u << 20);
		json_t *secret;
		const char *data;

		archive_put(archive, part, "ctl", &body);
		secret = kube_json_parse(buf_str(&body), NULL);
		assert_non_null(secret);
		assert_string_equal(kube_json_text(secret, "type"), ARCHIVE_TYPE);
		data = kube_json_text(json_object_get(secret, "data"), "object.json.gz");
		assert_true(strlen(data) <= 1228800); /* 900 KiB */
		assert_true(base64_get(&packed, str_of(data), BASE64_PADDED));
		json_decref(secret);
		buf_free(&body);
	}
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	stream.next_in = (unsigned char *)packed.data;
	stream.avail_in = (unsigned)packed.len;
	stream.next_out = (unsigned char *)text;
	stream.avail_out = sizeof(text);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	value = kube_json_parse((struct str){ text, stream.total_out }, NULL);
	(void)inflateEnd(&stream);
	buf_free(&packed);
	return value;
}

static const char token[] =
    "{\"metadata\":{\"name\":\"t\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"5\","
    "\"managedFields\":[{}],\"labels\":{\"a\":\"b\"}},\"type\":\"" KIND_TOKEN_TYPE
    "\",\"data\":{\"token\":\"c2VjcmV0\",\"clusterName\":\"dzE=\"},\"n\":1e3}";

static void token_is_left_out(void **state)
{
	json_t *object = kube_json_parse(STR_LIT(token), NULL), *back;
	struct rewrite_facts facts = facts_of(KIND_SECRET, object);
	struct archive archive;
	struct buf text = buf_make(4096);

	(void)state;
	assert_int_equal(archive_pack(&archive, KIND_SECRET, object, &facts, "extra", 6), 0);
	assert_int_equal(strncmp(archive.name, "archive-6-", 10), 0);
	assert_int_equal(strlen(archive.name), 26);
	back = unpack(&archive);
	assert_null(json_object_get(json_object_get(back, "data"), "token"));
	assert_string_equal(kube_json_text(json_object_get(back, "data"), "clusterName"), "dzE=");
	assert_string_equal(kube_json_text(back, "kind"), "Secret");
	assert_null(json_object_get(json_object_get(back, "metadata"), "managedFields"));
	kube_json_put(&text, back);
	assert_non_null(strstr(text.data, "\"n\":1e3")); /* as it was written */
	/* What was given is not changed. */
	assert_non_null(json_object_get(json_object_get(object, "data"), "token"));
	buf_free(&text);
	archive_free(&archive);
	json_decref(object);
	json_decref(back);
}

static void another_version_has_another_name(void **state)
{
	json_t *object = kube_json_parse(STR_LIT(token), NULL);
	struct rewrite_facts facts = facts_of(KIND_SECRET, object);
	struct archive a, b, c;

	(void)state;
	assert_int_equal(archive_pack(&a, KIND_SECRET, object, &facts, "extra", 6), 0);
	assert_int_equal(archive_pack(&b, KIND_SECRET, object, &facts, "extra", 6), 0);
	facts.version++;
	assert_int_equal(archive_pack(&c, KIND_SECRET, object, &facts, "extra", 6), 0);
	assert_string_equal(a.name, b.name);
	assert_string_not_equal(a.name, c.name);
	archive_free(&a);
	archive_free(&b);
	archive_free(&c);
	json_decref(object);
}

/* 1.4 MiB that do not compress well. */
static void large_object_comes_in_parts(void **state)
{
	static char noise[1400001];
	uint64_t random = 7;
	json_t *object, *back;
	struct rewrite_facts facts;
	struct archive archive;

	(void)state;
	for (size_t i = 0; i < sizeof(noise) - 1; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		noise[i] = (char)('!' + (random >> 33) % 90);
	}
	object = json_pack("{s{ssssssss}ss}", "metadata", "name", "big", "namespace", "n", "uid",
	    "u", "resourceVersion", "1", "data", noise);
	facts = facts_of(KIND_CLUSTER, object);
	assert_int_equal(archive_pack(&archive, KIND_CLUSTER, object, &facts, "changed", 3), 0);
	assert_true(archive.parts >= 2);
	back = unpack(&archive);
	assert_string_equal(kube_json_text(back, "data"), noise);
	archive_free(&archive);
	json_decref(object);
	json_decref(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(token_is_left_out),
		cmocka_unit_test(another_version_has_another_name),
		cmocka_unit_test(large_object_comes_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
