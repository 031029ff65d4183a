/*
 * What must hold of each request and each write of the syncer (leadership-rules 4: I6, I8, I9,
 * I11; C12, C14, H9, H10, L66). It knows what the source ever said, and compares with that.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/base64.h"
#include "base/check.h"
#include "kube/json.h"
#include "tests/sim/mirror/mirror.h"

/* Two that are absent are the same, too. */
bool same(const json_t *a, const json_t *b)
{
	return a == b || json_equal(a, b);
}

/* --- Normal forms --------------------------------------------------------------------------- */

bool is_shell_secret(enum kind kind, const json_t *value)
{
	return kind == KIND_SECRET && strcmp(kube_json_text(value, "type"), KIND_TOKEN_TYPE) == 0;
}

static void without_marks(json_t *metadata, const char *which, bool shell)
{
	json_t *marks = json_object_get(metadata, which), *value;
	const char *key;
	void *next;

	json_object_foreach_safe(marks, next, key, value)
	{
		if (strncmp(key, MARK, strlen(MARK)) == 0 ||
		    (shell && strcmp(key, "kubernetes.io/service-account.uid") == 0))
			json_object_del(marks, key);
	}
	if (json_object_size(marks) == 0)
		json_object_del(metadata, which);
}

json_t *normal_body(enum kind kind, const json_t *value)
{
	static const char *const dropped[] = { "uid", "resourceVersion", "creationTimestamp",
		"deletionTimestamp", "managedFields", "finalizers", "ownerReferences" };
	json_t *body = json_deep_copy(value), *metadata = json_object_get(body, "metadata");
	bool shell = is_shell_secret(kind, value);

	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		json_object_del(metadata, dropped[i]);
	without_marks(metadata, "labels", shell);
	without_marks(metadata, "annotations", shell);
	json_object_del(body, "status");
	json_object_del(body, "apiVersion");
	json_object_del(body, "kind");
	if (kind == KIND_NAMESPACE)
		json_object_del(body, "spec");
	if (shell)
		json_object_del(body, "data");
	if (kind == KIND_SERVICE_ACCOUNT) {
		json_object_del(body, "secrets");
		json_object_del(body, "imagePullSecrets");
	}
	return body;
}

bool is_labelled(enum kind kind, const json_t *value)
{
	const struct kind_row *row = kind_row(kind);

	return !row->labelled ||
	       strcmp(label_of(value, row->labels[0].key), row->labels[0].value) == 0;
}

bool is_skipped(enum kind kind, const char *space, const char *name)
{
	return kind_end() > KIND_LISTED && kind + 1u == kind_end() &&
	       strcmp(space, "p-blue") == 0 && strcmp(name, "b") == 0;
}

/* --- What the source ever said -------------------------------------------------------------- */

static struct truth *add(enum kind kind, const char *space, const char *name)
{
	struct truth *truth;

	if (the->truth_count == the->truth_room) {
		the->truth_room = the->truth_room ? 2 * the->truth_room : 512;
		the->truths = realloc(the->truths, the->truth_room * sizeof(the->truths[0]));
		CHECK(the->truths);
	}
	truth = &the->truths[the->truth_count++];
	*truth =
	    (struct truth){ .kind = kind, .at = the->now, .version = the->server[SOURCE].version };
	(void)snprintf(truth->space, sizeof(truth->space), "%s", space);
	(void)snprintf(truth->name, sizeof(truth->name), "%s", name);
	(void)snprintf(truth->cluster, sizeof(truth->cluster), "%s", the->server[SOURCE].uid);
	return truth;
}

void truth_add(enum kind kind, const json_t *value)
{
	struct truth *truth = add(kind, meta(value, "namespace"), meta(value, "name"));

	truth->version = version_of(value);
	truth->body = normal_body(kind, value);
	truth->status = json_incref(json_object_get(value, "status"));
	truth->chosen = is_labelled(kind, value);
}

void truth_gone(enum kind kind, const char *space, const char *name, bool by_backup)
{
	add(kind, space, name)->by_backup = by_backup;
}

/* Another cluster at the source's address, with its certificates, is found out by the next look at
 * who it is (G6): what it said until then may have been believed. */
#define FOUND_OUT_NS S(20)

static bool is_believed(const struct truth *truth)
{
	return strcmp(truth->cluster, the->pinned) == 0 ||
	       (the->other_since && the->now - the->other_since < FOUND_OUT_NS);
}

static bool is_of(const struct truth *truth, enum kind kind, const char *space, const char *name)
{
	return truth->kind == kind && strcmp(truth->name, name) == 0 &&
	       strcmp(truth->space, space) == 0 && is_believed(truth);
}

const struct truth *truth_last(enum kind kind, const char *space, const char *name)
{
	for (size_t i = the->truth_count; i-- > 0;)
		if (is_of(&the->truths[i], kind, space, name) && the->truths[i].body)
			return &the->truths[i];
	return NULL;
}

static uint64_t number_of(const json_t *value, const char *note)
{
	return strtoull(note_of(value, note), NULL, 10);
}

/* It was out of the mirror's scope after what its copy is of: what became of it since, nobody need
 * have told. */
static bool left_since(enum kind kind, const char *space, const char *name)
{
	const struct object *copy = server_find(&the->server[OWN], kind, space, name);
	uint64_t copied = copy ? number_of(copy->value, MARK "source-rv") : UINT64_MAX;
	const struct truth *last = truth_last(kind, space, name);

	if (copy && the->server[SOURCE].epoch)
		copied = 0; /* versions come again */
	for (size_t i = the->truth_count; i-- > 0;) {
		const struct truth *truth = &the->truths[i];

		if (is_of(truth, kind, space, name) && truth->body && !truth->chosen &&
		    (truth == last || truth->version > copied))
			return true;
	}
	return false;
}

bool truth_has_left(enum kind kind, const char *space, const char *name)
{
	const struct object *home_now =
	    server_find(&the->server[SOURCE], KIND_NAMESPACE, "", space);

	if (kind_row(kind)->labelled && left_since(kind, space, name))
		return true;
	if (kind_row(kind)->place != KIND_MIRRORED)
		return false;
	/* Or a backup of before it was chosen was restored. */
	return left_since(KIND_NAMESPACE, "", space) ||
	       (home_now && !namespace_is_mirrored(&the->server[SOURCE], space));
}

bool truth_was(enum kind kind, const char *space, const char *name, const json_t *body)
{
	for (size_t i = the->truth_count; i-- > 0;)
		if (is_of(&the->truths[i], kind, space, name) && the->truths[i].body &&
		    same(the->truths[i].body, body))
			return true;
	return false;
}

bool truth_status_was(enum kind kind, const char *space, const char *name, const json_t *status)
{
	if (!status)
		return true;
	for (size_t i = the->truth_count; i-- > 0;)
		if (is_of(&the->truths[i], kind, space, name) &&
		    same(the->truths[i].status, status))
			return true;
	return false;
}

/* The newest time at which it was gone, after the version that a copy was made of. */
static const struct truth *gone_since(
    enum kind kind, const char *space, const char *name, uint64_t version)
{
	for (size_t i = the->truth_count; i-- > 0;)
		if (is_of(&the->truths[i], kind, space, name) && !the->truths[i].body &&
		    (the->truths[i].by_backup || the->truths[i].version > version))
			return &the->truths[i];
	return NULL;
}

/* Or it was never there until then. */
static bool was_gone_before(const char *space, int64_t at)
{
	bool was_there = false;

	for (size_t i = the->truth_count; i-- > 0;) {
		if (!is_of(&the->truths[i], KIND_NAMESPACE, "", space) || the->truths[i].at > at)
			continue;
		if (!the->truths[i].body)
			return true;
		was_there = true;
	}
	return !was_there;
}

/* As the granted source has it now, whoever answers. */
static const json_t *source_value(enum kind kind, const char *space, const char *name)
{
	const struct object *object = server_find(&the->server[SOURCE], kind, space, name);
	char key[200];

	if (!the->pinned_objects)
		return object ? object->value : NULL;
	(void)snprintf(key, sizeof(key), "%d/%s/%s", (int)kind, space, name);
	return json_object_get(the->pinned_objects, key);
}

/* --- The archive ---------------------------------------------------------------------------- */

static json_t *unpack(const char *text)
{
	static unsigned char plain[1 << 22];
	struct buf packed = buf_make(1 << 20);
	z_stream stream = { 0 };
	json_t *value = NULL;

	if (base64_get(&packed, str_of(text), BASE64_PADDED) &&
	    inflateInit2(&stream, 15 + 16) == Z_OK) {
		stream.next_in = (unsigned char *)packed.data;
		stream.avail_in = (unsigned)packed.len;
		stream.next_out = plain;
		stream.avail_out = sizeof(plain);
		if (inflate(&stream, Z_FINISH) == Z_STREAM_END)
			value =
			    kube_json_parse((struct str){ (char *)plain, stream.total_out }, NULL);
		(void)inflateEnd(&stream);
	}
	buf_free(&packed);
	return value;
}

static void take_archive(const json_t *secret)
{
	const char *uid = note_of(secret, MARK "archived-uid");
	const char *version = note_of(secret, MARK "archived-rv");
	json_t *value = unpack(kube_json_text(json_object_get(secret, "data"), "object.json.gz"));
	char key[100];

	the->archives++;
	if (!value) {
		broken("an archive can be read (C12)", "%s", meta(secret, "name"));
		return;
	}
	if (strcmp(meta(value, "uid"), uid) != 0 ||
	    strcmp(meta(value, "resourceVersion"), version) != 0)
		broken("an archive says what it holds (C12)", "%s", meta(secret, "name"));
	(void)snprintf(key, sizeof(key), "%s/%s", uid, version);
	json_object_set_new(the->archive, key, value);
}

/* The mirror wrote it once, from whatever cluster was its source then: a person who takes an edit
 * back makes a copy of the copy again. */
static bool is_of_any_source(const struct object *object, const json_t *body)
{
	for (size_t i = the->truth_count; i-- > 0;) {
		const struct truth *truth = &the->truths[i];

		if (truth->kind == object->kind && strcmp(truth->name, object->name) == 0 &&
		    strcmp(truth->space, object->space) == 0 && truth->body &&
		    same(truth->body, body))
			return true;
	}
	return false;
}

/* I11: may this object be destroyed? */
static bool is_kept(const struct object *object)
{
	json_t *body, *status = json_object_get(object->value, "status");
	const json_t *archived;
	char key[100];
	bool kept;

	/* Of kinds that are not mirrored nobody asks what goes with a Namespace. */
	if (is_shell_secret(object->kind, object->value) || !kind_row(object->kind)->on ||
	    strcmp(object->name, KIND_MIRROR_BINDING) == 0)
		return true;
	(void)snprintf(key, sizeof(key), "%s/%s", meta(object->value, "uid"),
	    meta(object->value, "resourceVersion"));
	archived = json_object_get(the->archive, key);
	body = normal_body(object->kind, object->value);
	if (archived && !the->server[OWN].epoch) { /* after a restore numbers mean other things */
		json_t *held = normal_body(object->kind, archived);

		if (!same(held, body))
			broken("the archive holds what was there (C12)", "%s/%s", object->space,
			    object->name);
		json_decref(held);
	}
	kept = archived || same(body, object->mirrored) || is_of_any_source(object, body);
	/* Outside a rejoin a status cannot be told from one that the mirror wrote (docs/mirror.md).
	 */
	if (kept && !archived && the->rejoin && kind_row(object->kind)->status)
		kept = same(status, object->mirrored_status) ||
		       truth_status_was(object->kind, object->space, object->name, status);
	json_decref(body);
	return kept;
}

static void destroys(const struct object *object, const char *how)
{
	if (is_kept(object))
		return;
	if (the->trace) {
		char *is = json_dumps(object->value, 0), *written = json_dumps(object->mirrored, 0);

		chaos_say("lost: %s", is);
		chaos_say("the mirror last wrote: %s", written ? written : "nothing");
		free(is);
		free(written);
	}
	broken("I11: what is kept nowhere else is archived before it goes", "%s %s/%s: %s (%s)",
	    kind_row(object->kind)->kind, object->space, object->name, how,
	    process_explain(object->kind, object->space, object->name));
}

/* --- Requests ------------------------------------------------------------------------------- */

void invariants_life(void)
{
	json_decref(the->listed);
	the->listed = json_object();
}

/* No number of writes: a restore raised the versions. */
#define JUMP 500000000

void invariants_on_identity(const char *cluster, int64_t asked_ns)
{
	bool stranger = strcmp(cluster, the->pinned) != 0;

	/* What was listed since the granted one last said who it is may be of the stranger. */
	if (stranger && !the->exposed) {
		the->frozen = the->frozen && the->frozen_proven;
		invariants_life();
	}
	/* Whoever was asked before it had gone back may have been another one since. */
	the->frozen_proven =
	    the->frozen && (the->frozen_proven || (!stranger && asked_ns >= the->frozen_since));
	/* It left before anybody asked. */
	the->ever_believed = the->ever_believed || (the->misled && !stranger);
	the->exposed = stranger;
	the->misled = the->misled && !stranger;
}

void invariants_on_list(const struct filter *filter, const char *cluster, uint64_t version)
{
	char key[100];
	json_int_t before;

	if (strcmp(cluster, the->pinned) != 0) {
		the->misled = !the->exposed;
		return;
	}
	/* Whose list it is nobody can know before the source has said who it is. */
	if (the->exposed)
		return;
	(void)snprintf(key, sizeof(key), "%d/%s", (int)filter->kind, filter->space);
	before = json_integer_value(json_object_get(the->listed, key));
	json_object_set_new(the->listed, key, json_integer((json_int_t)version));
	if ((json_int_t)version < before || (before && (json_int_t)version > before + JUMP)) {
		chaos_say("from here on the mirror knows that the source went back");
		if (!the->frozen)
			the->frozen_since = the->now;
		the->frozen = true;
	}
}

void invariants_on_request(const struct request *request)
{
	if (the->leaving || !the->alive)
		broken("I6: nothing is asked after the last words", "%s", request->path);
	if (request->verb == KUBE_GET)
		return;
	if (request->target == CREDENTIAL_PEER_SYNCER)
		broken("the source is only read", "%s", request->path);
	if (!the->told_granted)
		broken("I8: no write without a grant", "%s", request->path);
	if (the->frozen)
		broken(
		    "H10: a source that went back in time freezes the mirror", "%s", request->path);
	if (the->role == AS_LEADING)
		broken("I6: no syncer where the hub leads", "%s", request->path);
	if (!strstr(request->query, "timeout=5s"))
		broken("H3: a write says when it is too late", "%s", request->path);
}

/* --- Writes --------------------------------------------------------------------------------- */

/* It was not there a while ago, or the source was restored: a proof may be of that time. */
static bool is_new(enum kind kind, const char *space, const char *name)
{
	int64_t since = the->now;

	if (the->server[SOURCE].epoch && the->now - the->restored_at < S(45))
		return true;
	for (size_t i = the->truth_count; i-- > 0;) {
		if (!is_of(&the->truths[i], kind, space, name))
			continue;
		if (!the->truths[i].body)
			break;
		since = the->truths[i].at;
	}
	return the->now - since < S(45);
}

/* I9: proof. */
static void check_delete(const struct place *place, const struct object *object)
{
	const json_t *source = source_value(place->kind, place->space, place->name);
	uint64_t version = number_of(object->value, MARK "source-rv");
	bool same_term = number_of(object->value, MARK "source-term") == the->led_term;
	const struct truth *gone =
	    gone_since(place->kind, place->space, place->name, same_term ? version : 0);

	if (!source) {
		/* Whoever rejoins has archived it (C12), which is asked elsewhere. */
		if (gone && gone->by_backup && !the->confirmed && !the->accepted && !the->rejoin &&
		    ++the->backup_deletes[place->kind] > 10)
			broken("H8: what a backup lacks is not deleted in masses", "%s %s",
			    kind_row(place->kind)->kind, place->name);
		if (place->kind == KIND_NAMESPACE && gone &&
		    !was_gone_before(place->name, the->now - S(30)))
			broken("C14: a Namespace is looked at twice", "%s", place->name);
		return;
	}
	if (gone || *meta(source, "deletionTimestamp") ||
	    is_new(place->kind, place->space, place->name))
		return;
	/* Made anew, because a field cannot be changed (H7). */
	if (strcmp(kube_json_text(object->value, "type"), kube_json_text(source, "type")) == 0 &&
	    same(json_object_get(object->value, "roleRef"), json_object_get(source, "roleRef")) &&
	    !json_is_true(json_object_get(object->value, "immutable")))
		broken("I9: a copy goes only when its source is gone", "%s %s/%s",
		    kind_row(place->kind)->kind, place->space, place->name);
}

/* A Namespace takes everything in it along; of what the mirror cannot see only a rejoin looks. No
 * request can say "if nothing in it has changed": what is newer than any broken watch may be is let
 * pass. */
static void check_inside(const char *space)
{
	for (unsigned i = 0; i < the->server[OWN].count; i++) {
		const struct object *object = the->server[OWN].objects[i];

		if (strcmp(object->space, space) == 0 && the->now - object->changed > S(45) &&
		    (the->rejoin || *label_of(object->value, COPY)))
			destroys(object, "it is in a Namespace that is deleted");
	}
}

static void check_content(
    const struct place *place, const struct object *before, const json_t *body, json_t *now)
{
	const char *name = *place->name ? place->name : meta(body, "name");
	json_t *was = before ? normal_body(place->kind, before->value) : NULL;

	if (!same(was, now) && !truth_was(place->kind, place->space, name, now))
		broken("a copy says what the source once said", "%s %s/%s",
		    kind_row(place->kind)->kind, place->space, name);
	if (was && !same(was, now))
		destroys(before, "it is overwritten");
	else if (was && *meta(before->value, "deletionTimestamp") &&
		 place->kind != KIND_NAMESPACE &&
		 !json_array_size(kube_json_at(body, "metadata", "finalizers", NULL)))
		destroys(before, "its last finalizer goes, and so does it");
	json_decref(was);
}

static void check_versions(const struct object *before, const json_t *body)
{
	uint64_t term_was = number_of(before->value, MARK "source-term");
	uint64_t term = number_of(body, MARK "source-term");
	uint64_t was = number_of(before->value, MARK "source-rv");
	uint64_t version = number_of(body, MARK "source-rv");

	if (!*label_of(before->value, COPY))
		return;
	if (term < term_was)
		broken("I8: the source's term on a copy never falls", "%s/%s", before->space,
		    before->name);
	if (term == term_was && version && version < was && !the->accepted)
		broken("H10: nothing newer is overwritten by what is older", "%s/%s: %llu by %llu",
		    before->space, before->name, (unsigned long long)was,
		    (unsigned long long)version);
}

/* M8: nothing is made of it, and a copy that is there stays as it is; finalizers may be taken off.
 */
static void check_left_alone(
    const struct place *place, const struct object *before, const json_t *now)
{
	json_t *was = before ? normal_body(place->kind, before->value) : NULL;

	if (!was || !same(was, now))
		broken("M8: what mirror.skip names stays as it is", "%s/%s", place->space,
		    place->name);
	json_decref(was);
}

void invariants_on_write(
    enum kube_verb verb, const struct place *place, const struct object *before, const json_t *body)
{
	json_t *now;

	the->writes++;
	/* What had left the scope before it went is found to be gone by a new life only. */
	if (!truth_has_left(place->kind, place->space, place->name) &&
	    !*note_of(body, MARK "delete-held")) /* each life asks anew (H8) */
		the->last_write = the->now;
	if (strncmp(place->name, "kube-", 5) == 0 || strcmp(place->name, HUB_NS) == 0 ||
	    strncmp(place->space, "kube-", 5) == 0)
		broken("B1: the mirror stays out of there", "%s/%s", place->space, place->name);
	if (verb == KUBE_POST && strcmp(kube_json_text(body, "type"), ARCHIVED) == 0) {
		take_archive(body);
		return;
	}
	if (verb == KUBE_POST && strcmp(meta(body, "name"), KIND_MIRROR_BINDING) == 0)
		return;
	if (verb == KUBE_DELETE) {
		check_delete(place, before);
		destroys(before, "it is deleted");
		if (place->kind == KIND_NAMESPACE)
			check_inside(place->name);
		return;
	}
	if (place->status) {
		if (!truth_status_was(
			place->kind, place->space, place->name, json_object_get(body, "status")))
			broken("a copy's status says what the source once said", "%s/%s",
			    place->space, place->name);
		if (the->rejoin && !is_kept(before))
			destroys(before, "its status is overwritten");
		return;
	}
	if (verb == KUBE_POST && !is_labelled(place->kind, body))
		broken("L82: only what bears the label of its kind is copied", "%s %s/%s",
		    kind_row(place->kind)->kind, place->space, place->name);
	now = normal_body(place->kind, body);
	if (is_skipped(place->kind, place->space, place->name))
		check_left_alone(place, before, now);
	check_content(place, before, body, now);
	if (before)
		check_versions(before, body);
	json_decref(now);
}
