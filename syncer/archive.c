/*
 * Objects into archive Secrets (see the header). Called by local.c.
 */
#include "syncer/archive.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/base64.h"
#include "base/check.h"
#include "kube/json.h"

#define GZIP_WINDOW (15 + 16) /* zlib's way to ask for gzip */

/* The whole object, but for what can be used to log in, and for who owned which field. */
static json_t *without_tokens(enum kind kind, const json_t *object, bool shell)
{
	json_t *kept = json_copy((json_t *)object);
	json_t *metadata = json_copy(json_object_get(kept, "metadata")), *data;
	const struct kind_row *row = kind_row(kind);
	char version[96];

	(void)snprintf(
	    version, sizeof(version), "%s%s%s", row->group, *row->group ? "/" : "", row->version);
	json_object_set_new(kept, "apiVersion", json_string(version));
	json_object_set_new(kept, "kind", json_string(row->kind));
	json_object_set_new(kept, "metadata", metadata);
	json_object_del(metadata, "managedFields");
	if (shell && json_is_object(json_object_get(kept, "data"))) {
		data = json_copy(json_object_get(kept, "data"));
		json_object_del(data, "token");
		json_object_set_new(kept, "data", data);
	}
	return kept;
}

static int compress_into(struct buf *out, struct str text)
{
	z_stream stream = { 0 };
	unsigned char block[16384];
	int rc;

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
		Z_DEFAULT_STRATEGY) != Z_OK)
		return -1;
	stream.next_in = (unsigned char *)text.p;
	stream.avail_in = (unsigned)text.n;
	do {
		stream.next_out = block;
		stream.avail_out = sizeof(block);
		rc = deflate(&stream, Z_FINISH);
		buf_append(out, block, sizeof(block) - stream.avail_out);
	} while (rc == Z_OK);
	(void)deflateEnd(&stream);
	explicit_bzero(block, sizeof(block));
	return rc == Z_STREAM_END && !out->failed ? 0 : -1;
}

static void name_it(struct archive *archive, const struct rewrite_facts *facts)
{
	const struct kind_row *row = kind_row(archive->kind);
	struct buf key = buf_make(4096);
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	buf_printf(&key, "%s/%s/%s/%s/%s/%s/%" PRIu64, row->group, row->version, row->kind,
	    facts->namespace, facts->name, facts->uid, facts->version);
	CHECK(EVP_Digest(key.data, key.len, digest, &n, EVP_sha256(), NULL));
	n = (unsigned)snprintf(
	    archive->name, sizeof(archive->name), "archive-%" PRIu64 "-", archive->term);
	for (size_t i = 0; i < 8; i++)
		(void)snprintf(archive->name + n + 2 * i, 3, "%02x", digest[i]);
	buf_free(&key);
}

int archive_pack(struct archive *archive, enum kind kind, const json_t *object,
    const struct rewrite_facts *facts, const char *why, uint64_t term)
{
	json_t *kept = without_tokens(kind, object, facts->shell);
	struct buf text = buf_make_secret(REWRITE_MAX_BODY);
	int rc;

	*archive = (struct archive){ .kind = kind,
		.term = term,
		.why = why,
		.version = facts->version,
		.packed = buf_make_secret(REWRITE_MAX_BODY) };
	(void)snprintf(archive->object, sizeof(archive->object), "%s%s%s", facts->namespace,
	    *facts->namespace ? "/" : "", facts->name);
	(void)snprintf(archive->uid, sizeof(archive->uid), "%s", facts->uid);
	name_it(archive, facts);
	kube_json_put(&text, kept);
	rc = text.failed ? -1 : compress_into(&archive->packed, buf_str(&text));
	archive->parts =
	    (unsigned)((archive->packed.len + ARCHIVE_PART_BYTES - 1) / ARCHIVE_PART_BYTES);
	buf_free(&text);
	json_decref(kept);
	return rc;
}

void archive_free(struct archive *archive)
{
	buf_free(&archive->packed);
}

void archive_put(
    const struct archive *archive, unsigned part, const char *namespace, struct buf *out)
{
	const struct kind_row *row = kind_row(archive->kind);
	size_t at = (size_t)part * ARCHIVE_PART_BYTES;
	size_t n = archive->packed.len - at;

	CHECK(part < archive->parts);
	if (n > ARCHIVE_PART_BYTES)
		n = ARCHIVE_PART_BYTES;
	buf_printf(out,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"" ARCHIVE_TYPE "\","
	    "\"immutable\":true,\"metadata\":{\"name\":\"%s",
	    archive->name);
	if (part)
		buf_printf(out, "-%u", part);
	buf_printf(out,
	    "\",\"namespace\":\"%s\",\"labels\":{\"" REWRITE_PREFIX "archive\":\"%" PRIu64
	    "\"},\"annotations\":{",
	    namespace, archive->term);
	buf_printf(out,
	    "\"" REWRITE_PREFIX "archived-kind\":\"%s%s%s %s\",\"" REWRITE_PREFIX
	    "archived-object\":",
	    row->group, *row->group ? "/" : "", row->version, row->kind);
	buf_json_string(out, str_of(archive->object));
	buf_printf(out,
	    ",\"" REWRITE_PREFIX "archived-uid\":\"%s\",\"" REWRITE_PREFIX
	    "archived-rv\":\"%" PRIu64 "\",\"" REWRITE_PREFIX
	    "archived-because\":\"%s\",\"" REWRITE_PREFIX
	    "archived-part\":\"%u/%u\"}},\"data\":{\"object.json.gz\":\"",
	    archive->uid, archive->version, archive->why, part + 1, archive->parts);
	base64_put(out, (struct str){ archive->packed.data + at, n });
	buf_puts(out, "\"}}");
}
