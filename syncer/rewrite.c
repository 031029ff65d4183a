/*
 * Objects into copies and hashes (see the header). Pure; called by source.c, copies.c and
 * writes.c. It never changes the object that it is given (L78): new containers share its values.
 */
#include "syncer/rewrite.h"

#include <ctype.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "kube/json.h"
#include "kube/lease.h"

#define ACCOUNT_NAME      "kubernetes.io/service-account.name"
#define HASH_SOURCE_BYTES (8u << 20)

bool hash_equal(const struct hash *a, const struct hash *b)
{
	return memcmp(a->byte, b->byte, sizeof(a->byte)) == 0;
}

bool hash_is_zero(const struct hash *hash)
{
	static const struct hash zero;

	return hash_equal(hash, &zero);
}

uint64_t rewrite_uid_hash(const char *uid)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	if (!*uid)
		return 0;
	for (; *uid; uid++)
		hash = (hash ^ (unsigned char)*uid) * 0x100000001b3ULL;
	return hash ? hash : 1;
}

static struct hash hash_json(const json_t *value)
{
	struct buf text = buf_make_secret(HASH_SOURCE_BYTES);
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	struct hash hash;

	kube_json_put_sorted(&text, value);
	CHECK(EVP_Digest(text.data ? text.data : "", text.len, digest, &n, EVP_sha256(), NULL));
	memcpy(hash.byte, digest, sizeof(hash.byte));
	buf_free(&text);
	return hash;
}

void hash_to_text(const struct hash *hash, char text[33])
{
	for (size_t i = 0; i < sizeof(hash->byte); i++)
		(void)snprintf(text + 2 * i, 3, "%02x", hash->byte[i]);
}

/* Of the first 32 characters; zero when they are no hash. */
static struct hash hash_from_text(const char *text)
{
	struct hash hash;

	for (size_t i = 0; i < sizeof(hash.byte); i++)
		if (!isxdigit((unsigned char)text[2 * i]) ||
		    !isxdigit((unsigned char)text[2 * i + 1]) ||
		    sscanf(text + 2 * i, "%2hhx", &hash.byte[i]) != 1)
			return (struct hash){ { 0 } };
	return hash;
}

static bool is_shell(enum kind kind, const json_t *object)
{
	return kind == KIND_SECRET && strcmp(kube_json_text(object, "type"), KIND_TOKEN_TYPE) == 0;
}

static bool member_stays_behind(enum kind kind, const char *key, bool shell)
{
	/* Items of a list carry neither apiVersion nor kind: both are put in by us. */
	if (strcmp(key, "metadata") == 0 || strcmp(key, "status") == 0 ||
	    strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0)
		return true;
	if (kind == KIND_NAMESPACE)
		return strcmp(key, "spec") == 0;
	return shell && (strcmp(key, "data") == 0 || strcmp(key, "stringData") == 0);
}

/* A copy's lists count as the source's as long as they hold what the source lists (B23). */
static void compare_lists(const json_t *account, json_t *body)
{
	json_t *lists = marks_annotation(json_object_get(account, "metadata"), MARK_LISTS);

	if (marks_lists_hold(account, lists))
		for (size_t i = 0; i < 2; i++) {
			json_t *list = json_object_get(lists, marks_list_names[i]);

			if (list)
				json_object_set(body, marks_list_names[i], list);
			else
				json_object_del(body, marks_list_names[i]);
		}
	json_decref(lists);
}

/* The copy without status, label and annotations of ours: what is hashed and what is sent. */
static json_t *take_body(enum kind kind, const json_t *object, enum marks_use use)
{
	static const char *const names[] = { "name", "namespace" };
	static const char *const places[] = { "labels", "annotations" };
	const json_t *metadata = json_object_get(object, "metadata");
	json_t *body = json_object(), *kept = json_object(), *value, *marks;
	bool shell = is_shell(kind, object);
	const char *key;

	json_object_set_new(body, "metadata", kept);
	for (unsigned i = 0; i < 2; i++) {
		value = json_object_get(metadata, names[i]);
		if (value)
			json_object_set(kept, names[i], value);
	}
	for (unsigned i = 0; i < 2; i++) {
		marks = marks_take(metadata, places[i], shell, use);
		if (marks)
			json_object_set_new(kept, places[i], marks);
	}
	/* json_object_foreach wants a writable object and does not write. */
	json_object_foreach((json_t *)object, key,
	    value) if (!member_stays_behind(kind, key, shell)) json_object_set(body, key, value);
	if (kind == KIND_SERVICE_ACCOUNT && use == MARKS_HASH_OF_COPY)
		compare_lists(object, body);
	marks = use == MARKS_COPY ? NULL : marks_parked(metadata, use);
	if (marks)
		json_object_set_new(kept, "parked", marks);
	return body;
}

/* The first owner that is mirrored, too (H13); others are stripped. */
static void read_owner(enum kind kind, const json_t *metadata, struct rewrite_facts *out)
{
	json_t *owners = json_object_get(metadata, "ownerReferences"), *owner;
	size_t i;

	if (!kind_row(kind)->map_owners)
		return;
	json_array_foreach(owners, i, owner)
	{
		enum kind of = kind_by_name(
		    kube_json_text(owner, "apiVersion"), kube_json_text(owner, "kind"));

		if (of == KIND_COUNT || kind_row(of)->place == KIND_NOWHERE)
			continue;
		out->owner_kind = of;
		out->owner_name = kube_json_text(owner, "name");
		out->owner_controls = json_is_true(json_object_get(owner, "controller"));
		return;
	}
}

/* "BODY FROM STATUS FIELDS": three hashes, and what the server said of the fields. */
static bool read_pruned(const char *text, struct rewrite_pruned *out)
{
	if (strlen(text) < 98 || text[32] != ' ' || text[65] != ' ')
		return false;
	*out = (struct rewrite_pruned){ hash_from_text(text), hash_from_text(text + 33),
		hash_from_text(text + 66) };
	return true;
}

static void read_copy_marks(const json_t *metadata, struct rewrite_facts *out)
{
	json_t *annotations = json_object_get(metadata, "annotations");
	json_t *owners = json_object_get(metadata, "ownerReferences");

	out->is_copy =
	    kube_json_text(json_object_get(metadata, "labels"), REWRITE_LABEL)[0] != '\0';
	out->left_out = strcmp(kube_json_text(annotations, REWRITE_PREFIX "mirror"), "false") == 0;
	out->on_hold = json_object_get(annotations, REWRITE_PREFIX "hold") != NULL;
	out->says_held = json_object_get(annotations, REWRITE_PREFIX "delete-held") != NULL;
	out->says_kept = json_object_get(annotations, REWRITE_PREFIX "delete-discarded") != NULL;
	out->says_pruned =
	    read_pruned(kube_json_text(annotations, REWRITE_PREFIX "pruned"), &out->pruned);
	out->mark = hash_from_text(kube_json_text(annotations, REWRITE_PREFIX "content-hash"));
	str_to_u64(
	    str_of(kube_json_text(annotations, REWRITE_PREFIX "source-rv")), &out->source_version);
	str_to_u64(
	    str_of(kube_json_text(annotations, REWRITE_PREFIX "source-term")), &out->source_term);
	out->owner_uid = rewrite_uid_hash(kube_json_text(json_array_get(owners, 0), "uid"));
}

/* Those that the collector itself sets and clears are no controller's. */
static bool is_collectors(const char *finalizer)
{
	return strcmp(finalizer, "foregroundDeletion") == 0 || strcmp(finalizer, "orphan") == 0;
}

static uint64_t read_finalizers(const json_t *metadata)
{
	const json_t *list = json_object_get(metadata, "finalizers");
	uint64_t sum = 0;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (name && !is_collectors(name))
			sum += rewrite_uid_hash(name);
	}
	return sum;
}

/* On a hub that rejoins these are an old word of ours, and the hub that leads says its own: no loss
 * (C12). The follower's conditions, the publisher's claim. */
static uint64_t hash_rest(const json_t *status)
{
	json_t *rest = json_is_object(status) ? json_copy((json_t *)status) : json_object();
	const json_t *conditions = json_object_get(rest, "conditions"), *condition;
	json_t *others = json_array();
	struct hash hash;
	uint64_t number;
	size_t i;

	json_array_foreach(conditions, i, condition)
	{
		const char *type = kube_json_text(condition, "type");

		if (strcmp(type, "ControllerConnected") != 0 &&
		    strcmp(type, "ControllerEndpointSynced") != 0)
			json_array_append(others, (json_t *)condition);
	}
	json_object_del(rest, "activeController");
	json_object_del(rest, "conditions");
	if (json_array_size(others))
		json_object_set(rest, "conditions", others);
	hash = hash_json(rest);
	memcpy(&number, hash.byte, sizeof(number));
	json_decref(others);
	json_decref(rest);
	return number | 1;
}

/* A uid goes into preconditions and bodies: letters, digits and dashes, no more than 36. */
static bool uid_is_plain(const char *uid)
{
	size_t n = strspn(uid, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-");

	return n > 0 && n <= 36 && uid[n] == '\0';
}

int rewrite_read(enum kind kind, enum rewrite_side side, const json_t *object,
    struct rewrite_facts *out, struct err *err)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const json_t *status = json_object_get(object, "status");
	json_t *body;

	*out = (struct rewrite_facts){ .owner_kind = KIND_COUNT, .owner_name = "" };
	out->name = kube_json_text(metadata, "name");
	out->namespace = kube_json_text(metadata, "namespace");
	out->uid = kube_json_text(metadata, "uid");
	if (!*out->name || strlen(out->name) > 253 || strlen(out->namespace) > 63 ||
	    !uid_is_plain(out->uid) ||
	    !str_to_u64(str_of(kube_json_text(metadata, "resourceVersion")), &out->version))
		return err_set(
		    err, "%s without a usable name, uid or resourceVersion", kind_row(kind)->kind);
	/* Items of a list of a core kind do not say what they are. */
	if (*kube_json_text(object, "kind") &&
	    strcmp(kube_json_text(object, "kind"), kind_row(kind)->kind) != 0)
		return err_set(err, "%s is of kind %.63s where %s is served", out->name,
		    kube_json_text(object, "kind"), kind_row(kind)->kind);
	if ((kind_row(kind)->place == KIND_NOWHERE) != (*out->namespace == '\0'))
		return err_set(
		    err, "%s %s is in no place for its kind", kind_row(kind)->kind, out->name);
	out->terminating = json_object_get(metadata, "deletionTimestamp") != NULL;
	out->chosen = kind_chooses(kind, metadata);
	out->skipped = kind_skips(kind, out->namespace, out->name);
	out->shell = is_shell(kind, object);
	(void)kube_time_parse(kube_json_text(metadata, "creationTimestamp"), &out->created_us);
	out->finalizers = read_finalizers(metadata);
	read_copy_marks(metadata, out);
	read_owner(kind, metadata, out);
	if (out->shell) {
		out->owner_kind = KIND_SERVICE_ACCOUNT;
		out->owner_name =
		    kube_json_text(json_object_get(metadata, "annotations"), ACCOUNT_NAME);
	}
	body = take_body(
	    kind, object, side == REWRITE_OWN && out->is_copy ? MARKS_HASH_OF_COPY : MARKS_HASH);
	out->body = hash_json(body);
	json_decref(body);
	if (status && kind_row(kind)->status)
		out->status = hash_json(status);
	if (kind == KIND_CLUSTER)
		out->rest = hash_rest(status);
	return 0;
}

json_t *rewrite_compared(enum kind kind, enum rewrite_side side, const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	bool copy = side == REWRITE_OWN &&
		    kube_json_text(json_object_get(metadata, "labels"), REWRITE_LABEL)[0] != '\0';
	json_t *body = take_body(kind, object, copy ? MARKS_HASH_OF_COPY : MARKS_HASH);
	json_t *status = json_object_get(object, "status");

	if (status && kind_row(kind)->status)
		json_object_set(body, "status", status);
	return body;
}

void rewrite_mark(json_t *metadata, const struct rewrite_facts *facts, uint64_t term)
{
	json_t *labels = json_object_get(metadata, "labels");
	json_t *annotations = json_object_get(metadata, "annotations");
	char text[40];

	if (!labels)
		json_object_set_new(metadata, "labels", labels = json_object());
	if (!annotations)
		json_object_set_new(metadata, "annotations", annotations = json_object());
	json_object_set_new(labels, REWRITE_LABEL, json_string(REWRITE_ORIGIN));
	(void)snprintf(text, sizeof(text), "%" PRIu64, facts->version);
	json_object_set_new(annotations, REWRITE_PREFIX "source-rv", json_string(text));
	(void)snprintf(text, sizeof(text), "%" PRIu64, term);
	json_object_set_new(annotations, REWRITE_PREFIX "source-term", json_string(text));
	hash_to_text(&facts->body, text);
	json_object_set_new(annotations, REWRITE_PREFIX "content-hash", json_string(text));
}

/* A JSON value as the text of an annotation. */
static void put_annotation(json_t *metadata, const char *key, json_t *value)
{
	struct buf text = buf_make(1u << 20);

	if (!value)
		return;
	kube_json_put_sorted(&text, value);
	json_object_set_new(json_object_get(metadata, "annotations"), key,
	    json_stringn(text.data ? text.data : "", text.len));
	buf_free(&text);
	json_decref(value);
}

/* Of an object that is being deleted, for its copy to wait in the same state. */
static void put_finalizers(const json_t *object, json_t *metadata)
{
	json_t *from = json_object_get(json_object_get(object, "metadata"), "finalizers"), *value;
	json_t *list = json_array();
	size_t i;

	json_array_foreach(
	    from, i, value) if (json_is_string(value) && !is_collectors(json_string_value(value)))
	    json_array_append(list, value);
	json_object_set_new(metadata, "finalizers", list);
}

int rewrite_copy(enum kind kind, const json_t *object, const struct rewrite_facts *facts,
    uint64_t term, struct buf *out, struct rewrite_copy *copy)
{
	const struct kind_row *row = kind_row(kind);
	json_t *body = take_body(kind, object, MARKS_COPY);
	json_t *metadata = json_object_get(body, "metadata");
	const json_t *status = json_object_get(object, "status");
	char version[96];

	(void)snprintf(
	    version, sizeof(version), "%s%s%s", row->group, *row->group ? "/" : "", row->version);
	rewrite_mark(metadata, facts, term);
	put_annotation(
	    metadata, MARK_PARKED, marks_parked(json_object_get(object, "metadata"), MARKS_COPY));
	if (kind == KIND_SERVICE_ACCOUNT)
		put_annotation(metadata, MARK_LISTS, marks_lists(object));
	if (facts->terminating && facts->finalizers && kind != KIND_NAMESPACE)
		put_finalizers(object, metadata);
	json_object_set_new(body, "apiVersion", json_string(version));
	json_object_set_new(body, "kind", json_string(row->kind));
	kube_json_put(out, body);
	json_decref(body);
	if (out->failed || out->len == 0)
		return -1;
	copy->status_at = out->len - 1;
	out->data[--out->len] = '\0';
	/* A terminating object's status is not copied (L71). */
	if (status && row->status && !facts->terminating) {
		buf_puts(out, ",\"status\":");
		kube_json_put(out, status);
	}
	buf_puts(out, "}");
	return out->failed ? -1 : 0;
}

void rewrite_finish(
    struct buf *out, struct str text, struct rewrite_copy copy, const struct rewrite_target *target)
{
	static const char head[] = "{\"metadata\":{";
	const size_t skip = sizeof(head) - 1;

	CHECK(text.n > skip && memcmp(text.p, head, skip) == 0 && copy.status_at < text.n);
	buf_append(out, text.p, skip);
	/* One empty entry forgets who owns which field, and so do we (B21). */
	buf_puts(out, "\"managedFields\":[{}],");
	if (target->version)
		buf_printf(out, "\"resourceVersion\":\"%" PRIu64 "\",\"uid\":\"%s\",",
		    target->version, target->uid);
	if (target->owner_uid) {
		const struct kind_row *owner = kind_row(target->owner_kind);

		/* blockOwnerDeletion is dropped (H13). */
		buf_printf(out, "\"ownerReferences\":[{\"apiVersion\":\"%s%s%s\",\"kind\":\"%s\",",
		    owner->group, *owner->group ? "/" : "", owner->version, owner->kind);
		buf_puts(out, "\"name\":");
		buf_json_string(out, str_of(target->owner_name));
		buf_printf(out, ",\"uid\":\"%s\"%s}],", target->owner_uid,
		    target->owner_controls ? ",\"controller\":true" : "");
	}
	if (target->with_status) {
		buf_append(out, text.p + skip, text.n - skip);
		return;
	}
	buf_append(out, text.p + skip, copy.status_at - skip);
	buf_puts(out, "}");
}
