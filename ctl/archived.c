/*
 * Archive Secrets into records and objects (see the header). Called by archive.c.
 */
#include "ctl/archived.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "base/base64.h"
#include "base/str.h"
#include "ctl/json.h"
#include "kube/json.h"

#define GZIP_WINDOW   (15 + 16)
#define MAX_OBJECT    ((size_t)4 << 20)
#define MAX_LIST      ((size_t)64 << 20)
#define MAX_PARTS     8
#define OF_TYPE       "type=ha.kubeslice.io/archived-object"
#define METADATA_LINE "jsonpath={range .items[*]}{.metadata}{\"\\n\"}{end}"

bool archived_is_name(const char *name)
{
	size_t digits;

	if (strncmp(name, "archive-", 8) != 0)
		return false;
	digits = strspn(name + 8, "0123456789");
	return digits > 0 && digits <= 16 && name[8 + digits] == '-' &&
	       strspn(name + 9 + digits, "0123456789abcdef") == 16 && name[9 + digits + 16] == '\0';
}

static void copy(char *dst, size_t size, const char *src)
{
	(void)snprintf(dst, size, "%s", src);
}

/* "group/version Kind", "1/2": the first part's metadata, or nothing. */
static bool read_record(const json_t *metadata, struct archived *out)
{
	const json_t *marks = json_object_get(metadata, "annotations");
	const char *kind = member_text(marks, MARK("archived-kind"));
	const char *part = member_text(marks, MARK("archived-part"));
	const char *space = strchr(kind, ' ');
	struct tm tm = { 0 };
	unsigned number = 0, count = 0;

	*out = (struct archived){ 0 };
	if (!archived_is_name(member_text(metadata, "name")) || !space ||
	    sscanf(part, "%3u/%3u", &number, &count) != 2 || number != 1 || count == 0 ||
	    count > MAX_PARTS)
		return false;
	copy(out->name, sizeof(out->name), member_text(metadata, "name"));
	copy(out->created, sizeof(out->created), member_text(metadata, "creationTimestamp"));
	if (strptime(out->created, "%Y-%m-%dT%H:%M:%SZ", &tm))
		out->created_s = (long long)timegm(&tm);
	out->term = strtoull(out->name + 8, NULL, 10);
	copy(out->because, sizeof(out->because), member_text(marks, MARK("archived-because")));
	(void)snprintf(out->version, sizeof(out->version), "%.*s", (int)(space - kind), kind);
	copy(out->kind, sizeof(out->kind), space + 1);
	copy(out->object, sizeof(out->object), member_text(marks, MARK("archived-object")));
	out->parts = count;
	return true;
}

static int newest_first(const void *a, const void *b)
{
	const struct archived *x = a, *y = b;

	if (x->created_s != y->created_s)
		return x->created_s < y->created_s ? 1 : -1;
	return strcmp(x->object, y->object);
}

void archived_parse(const char *lines, struct archived_list *list)
{
	size_t capacity = 0;

	*list = (struct archived_list){ 0 };
	while (*lines) {
		size_t n = strcspn(lines, "\n");
		json_t *metadata = json_loadb(lines, n, 0, NULL);
		struct archived record, *grown;

		lines += n + (lines[n] == '\n');
		if (read_record(metadata, &record)) {
			if (list->count == capacity) {
				capacity = capacity ? capacity * 2 : 64;
				grown = realloc(list->items, capacity * sizeof(record));
				if (!grown) {
					json_decref(metadata);
					break;
				}
				list->items = grown;
			}
			list->items[list->count++] = record;
		}
		json_decref(metadata);
	}
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), newest_first);
}

void archived_free(struct archived_list *list)
{
	free(list->items);
	*list = (struct archived_list){ 0 };
}

/* Metadata only: what the objects hold stays in kubectl. */
enum kubectl_outcome archived_read(const struct kubectl *kubectl, const char *namespace,
    struct archived_list *list, struct err *err)
{
	const char *const words[] = { "get", "secrets", "-n", namespace, "--field-selector",
		OF_TYPE, "-o", METADATA_LINE, NULL };
	struct buf out = buf_make(MAX_LIST);
	enum kubectl_outcome outcome = kubectl_run(kubectl, words, (struct str){ 0 }, &out, err);

	*list = (struct archived_list){ 0 };
	if (outcome == KUBECTL_OK && out.failed) {
		err_set(err, "the list of the archive is larger than 64 MiB");
		outcome = KUBECTL_FAILED;
	} else if (outcome == KUBECTL_OK) {
		archived_parse(out.data ? out.data : "", list);
	}
	buf_free(&out);
	return outcome;
}

void archived_part_name(const struct archived *record, unsigned part, char out[112])
{
	if (part)
		(void)snprintf(out, 112, "%s-%u", record->name, part);
	else
		(void)snprintf(out, 112, "%s", record->name);
}

bool archived_unpack(struct str packed, struct buf *out)
{
	z_stream stream = { 0 };
	unsigned char block[16384];
	size_t before = out->len;
	int rc;

	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return false;
	stream.next_in = (unsigned char *)packed.p;
	stream.avail_in = (unsigned)packed.n;
	do {
		stream.next_out = block;
		stream.avail_out = sizeof(block);
		rc = inflate(&stream, Z_NO_FLUSH);
		buf_append(out, block, sizeof(block) - stream.avail_out);
	} while (rc == Z_OK && out->len - before <= MAX_OBJECT && !out->failed);
	(void)inflateEnd(&stream);
	explicit_bzero(block, sizeof(block));
	return rc == Z_STREAM_END && !out->failed;
}

/* One Secret of it: its bytes appended. */
static enum kubectl_outcome read_part(const struct kubectl *kubectl, const char *namespace,
    const char *name, struct archived *record, struct buf *packed, struct err *err)
{
	const char *const words[] = { "get", "secret", name, "-n", namespace, "-o", "json", NULL };
	struct buf out = buf_make_secret(MAX_OBJECT * 2);
	enum kubectl_outcome outcome = kubectl_run(kubectl, words, (struct str){ 0 }, &out, err);
	json_t *secret = NULL;

	if (outcome == KUBECTL_OK) {
		secret = json_loadb(out.data ? out.data : "", out.len, 0, NULL);
		if (strcmp(member_text(secret, "type"), ARCHIVED_TYPE) != 0 ||
		    (record && !read_record(json_object_get(secret, "metadata"), record)) ||
		    !base64_get(packed,
			str_of(member_text(json_object_get(secret, "data"), "object.json.gz")),
			BASE64_PADDED)) {
			err_set(err, "%s is no archived object", name);
			outcome = KUBECTL_REFUSED;
		}
	}
	json_decref(secret);
	buf_free(&out);
	return outcome;
}

json_t *archived_load(const struct kubectl *kubectl, const char *namespace, const char *name,
    struct archived *record, enum kubectl_outcome *outcome, struct err *err)
{
	struct buf packed = buf_make_secret(MAX_OBJECT * 2), text = buf_make_secret(MAX_OBJECT * 2);
	json_t *object = NULL;

	*outcome = read_part(kubectl, namespace, name, record, &packed, err);
	for (unsigned part = 1; *outcome == KUBECTL_OK && part < record->parts; part++) {
		char more[112];

		archived_part_name(record, part, more);
		*outcome = read_part(kubectl, namespace, more, NULL, &packed, err);
	}
	if (*outcome == KUBECTL_OK) {
		if (archived_unpack(buf_str(&packed), &text))
			object = kube_json_parse(buf_str(&text), NULL); /* numbers as they were */
		if (!json_is_object(object) ||
		    !json_is_object(json_object_get(object, "metadata"))) {
			json_decref(object);
			object = NULL;
			err_set(err, "%s cannot be unpacked: it is damaged", name);
			*outcome = KUBECTL_REFUSED;
		}
	}
	buf_free(&packed);
	buf_free(&text);
	return object;
}
