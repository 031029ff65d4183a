/*
 * Armed record, HubRole and history on the own API server (see the header). Decides nothing.
 * Called by actions.c. Values from the server are bounded and checked: a record that cannot be
 * read arms nothing (H2).
 */
#include "elector/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "elector/elector.h"
#include "kube/json.h"
#include "kube/lease.h"
#include "kube/url.h"

#define ANNOTATION "ha.kubeslice.io/"
#define HUB_GROUP  "ha.kubeslice.io"
/* A hundred years: older is as old. */
#define AGE_MOST_US 3155760000000000LL

static const char *const role_names[] = { [HUB_UNKNOWN] = "",
	[HUB_STANDBY] = "Standby",
	[HUB_LEADING] = "Leading",
	[HUB_REJOINING] = "Rejoining",
	[HUB_DRAINING] = "Draining" };

const char *record_role_name(enum hub_role role)
{
	return role_names[role];
}

static const char *namespace_of(const struct elector *elector)
{
	return config_text_at(elector->config, elector->config->namespace);
}

static void ask(struct elector *elector, enum kube_verb verb, const struct buf *path,
    struct str body, kube_done_fn *done)
{
	struct kube_ask ask = { .target = CREDENTIAL_ELECTOR,
		.verb = verb,
		.path = path->data,
		.body = body,
		.deadline_ms = config_request_deadline_ms(elector->config) };

	kube_client_ask(elector->client, &ask, done, elector);
}

static void record_path(const struct elector *elector, bool collection, struct buf *path)
{
	*path = buf_make(1024);
	kube_url_path(path, "coordination.k8s.io", "v1", "leases", namespace_of(elector),
	    collection ? NULL : KUBE_LEASE_PEER_NAME, NULL);
}

static void role_path(bool collection, const char *subresource, struct buf *path)
{
	*path = buf_make(256);
	kube_url_path(
	    path, HUB_GROUP, "v1alpha1", "hubroles", NULL, collection ? NULL : "self", subresource);
}

/* --- Armed record ------------------------------------------------------------------------------
 */

/* A number below a limit; 0: none, or another text. */
static uint64_t number_at(const json_t *annotations, const char *key, uint64_t most)
{
	uint64_t number = 0;

	return str_to_u64(str_of(kube_json_text(annotations, key)), &number) && number <= most
		   ? number
		   : 0;
}

void record_parse(
    const json_t *object, const char *pair_expected, int64_t wall_us, struct machine_record *out)
{
	const json_t *annotations = kube_json_at(object, "metadata", "annotations", NULL);
	const char *pair = kube_json_text(annotations, ANNOTATION "pair");
	json_t *mirror;
	int64_t seen_us = 0, term;

	*out = (struct machine_record){ 0 };
	if (!annotations ||
	    !str_copy(out->uid, sizeof(out->uid),
		str_of(kube_json_text(annotations, ANNOTATION "peer-uid"))) ||
	    !out->uid[0] ||
	    kube_time_parse(kube_json_text(annotations, ANNOTATION "seen-at"), &seen_us))
		return;
	out->exists = true;
	out->other_pair = pair[0] && pair_expected[0] && strcmp(pair, pair_expected) != 0;
	out->term = number_at(annotations, ANNOTATION "peer-term", KUBE_TERM_MAX);
	out->led_term = number_at(annotations, ANNOTATION "peer-led-term", KUBE_TERM_MAX);
	out->duration_ms =
	    (int64_t)number_at(annotations, ANNOTATION "peer-duration-ms", UINT32_MAX);
	out->renew_deadline_ms =
	    (int64_t)number_at(annotations, ANNOTATION "peer-renew-deadline-ms", UINT32_MAX);
	/* Of the future: another clock wrote it, or ours went back; it counts as now. */
	out->age_ns = 0;
	if (wall_us > seen_us)
		out->age_ns = wall_us - seen_us < AGE_MOST_US ? (wall_us - seen_us) * 1000
							      : AGE_MOST_US * 1000;
	mirror = kube_json_parse(str_of(kube_json_text(annotations, ANNOTATION "mirror")), NULL);
	if (!mirror)
		return;
	term = kube_json_integer(mirror, "sourceTerm", 0);
	out->mirror_term = term > 0 ? (uint64_t)term : 0;
	out->complete = json_is_true(json_object_get(mirror, "complete")) &&
			str_copy(out->mirror_uid, sizeof(out->mirror_uid),
			    str_of(kube_json_text(mirror, "sourceUID")));
	json_decref(mirror);
}

static void put_number(json_t *annotations, const char *key, uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	json_object_set_new(annotations, key, json_string(text));
}

static void put_mirror(const struct machine *m, json_t *annotations)
{
	json_t *mirror = json_pack("{s:s, s:I, s:b, s:i, s:i, s:i}", "sourceUID", m->complete_uid,
	    "sourceTerm", (json_int_t)m->complete_term, "complete", machine_complete(m), "pending",
	    (int)m->pending, "failed", (int)m->failed_kinds, "heldDeletes", (int)m->held_deletes);
	struct buf text = buf_make(4096);

	kube_json_put(&text, mirror);
	json_object_set_new(annotations, ANNOTATION "mirror", json_string(text.data));
	buf_free(&text);
	json_decref(mirror);
}

static json_t *record_object(const struct elector *elector)
{
	const struct us_config *config = elector->config;
	const struct machine *m = &elector->machine;
	int64_t now_ns = base_clock_boot_ns(), wall_us = base_clock_wall_us();
	json_t *object =
	    elector->record.base
		? json_deep_copy(elector->record.base)
		: json_pack("{s:s, s:s, s:{s:s, s:s}, s:{}}", "apiVersion",
		      "coordination.k8s.io/v1", "kind", "Lease", "metadata", "name",
		      KUBE_LEASE_PEER_NAME, "namespace", namespace_of(elector), "spec");
	json_t *metadata = json_object_get(object, "metadata");
	json_t *annotations = json_object_get(metadata, "annotations");
	char time[40];

	if (!annotations) {
		annotations = json_object();
		json_object_set_new(metadata, "annotations", annotations);
	}
	json_object_set_new(annotations, ANNOTATION "peer-identity",
	    json_string(config_text_at(config, config->hubs[1 - config->self].name)));
	json_object_set_new(annotations, ANNOTATION "peer-uid", json_string(m->peer.uid));
	json_object_set_new(annotations, ANNOTATION "pair", json_string(elector->pair));
	put_number(annotations, ANNOTATION "peer-term", m->peer.term);
	put_number(annotations, ANNOTATION "peer-led-term", m->peer.led_term);
	put_number(annotations, ANNOTATION "peer-duration-ms", (uint64_t)m->peer.duration_ms);
	put_number(
	    annotations, ANNOTATION "peer-renew-deadline-ms", (uint64_t)m->peer.renew_deadline_ms);
	if (m->peer.renew_us) { /* else what is written there is still the last one seen */
		kube_time_put(time, m->peer.renew_us);
		json_object_set_new(annotations, ANNOTATION "peer-renew-time", json_string(time));
	}
	if (m->peer.uid[0]) {
		kube_time_put(time, wall_us - (now_ns - m->peer.seen_ns) / 1000);
		json_object_set_new(annotations, ANNOTATION "seen-at", json_string(time));
	}
	put_mirror(m, annotations);
	return object;
}

static void record_answer(struct elector *elector, bool ok)
{
	struct machine_event event = { .input = MACHINE_RECORD_WRITTEN, .ok = ok };

	elector_feed(elector, &event);
}

static void take_record(struct elector *elector, json_t *object)
{
	json_decref(elector->record.base);
	elector->record.base = object;
	elector->record.base_stale = false;
}

static void put_done(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;

	if (object) {
		take_record(elector, object);
	} else {
		/* Whatever it was, the version that we know may be the past. */
		elector->record.base_stale = true;
	}
	if (log_episode(&elector->record.unwritten, object ? 0 : (int)answer->class + 1))
		log_warn("armed record not written: %s %s", kube_class_name(answer->class),
		    answer->message);
	record_answer(elector, answer->class == KUBE_OK);
}

static void put_record(struct elector *elector)
{
	struct buf path, body = buf_make(1 << 20);
	json_t *object = record_object(elector);

	record_path(elector, !elector->record.base, &path);
	kube_json_put(&body, object);
	json_decref(object);
	ask(elector, elector->record.base ? KUBE_PUT : KUBE_POST, &path, buf_str(&body), put_done);
	buf_free(&body);
	buf_free(&path);
}

static void reread_done(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;

	if (!object && answer->class != KUBE_NOT_FOUND) {
		if (log_episode(&elector->record.unwritten, (int)answer->class + 1))
			log_warn("armed record cannot be read: %s %s",
			    kube_class_name(answer->class), answer->message);
		record_answer(elector, false);
		return;
	}
	take_record(elector, object);
	put_record(elector);
}

void record_write(struct elector *elector)
{
	struct buf path;

	if (!elector->record.base_stale) {
		put_record(elector);
		return;
	}
	record_path(elector, false, &path);
	ask(elector, KUBE_GET, &path, (struct str){ 0 }, reread_done);
	buf_free(&path);
}

/* --- HubRole -----------------------------------------------------------------------------------
 */

static void role_answer(struct elector *elector, const struct kube_answer *answer)
{
	struct machine_event event = { .input = MACHINE_ROLE_WRITTEN,
		.ok = answer->class == KUBE_OK };

	if (log_episode(&elector->record.role_unwritten, event.ok ? 0 : (int)answer->class))
		log_warn("HubRole self not written: %s %s", kube_class_name(answer->class),
		    answer->message);
	elector_feed(elector, &event);
}

static void role_made(void *arg, const struct kube_answer *answer)
{
	role_answer(arg, answer);
}

static void role_body(enum hub_role role, uint64_t term, bool whole, struct buf *body)
{
	*body = buf_make(512);
	buf_puts(body, "{");
	if (whole)
		buf_puts(body, "\"apiVersion\":\"" HUB_GROUP "/v1alpha1\",\"kind\":\"HubRole\","
			       "\"metadata\":{\"name\":\"self\"},");
	buf_printf(
	    body, "\"spec\":{\"role\":\"%s\",\"term\":%" PRIu64 "}}", role_names[role], term);
}

static void role_patched(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	struct buf path, body;

	if (answer->class != KUBE_NOT_FOUND) {
		role_answer(elector, answer);
		return;
	}
	role_body(elector->machine.role_asked, elector->machine.role_asked_term, true, &body);
	role_path(true, NULL, &path);
	ask(elector, KUBE_POST, &path, buf_str(&body), role_made);
	buf_free(&path);
	buf_free(&body);
}

void record_write_role(struct elector *elector, enum hub_role role, uint64_t term)
{
	struct buf path, body;

	role_body(role, term, false, &body);
	role_path(false, NULL, &path);
	ask(elector, KUBE_PATCH_MERGE, &path, buf_str(&body), role_patched);
	buf_free(&path);
	buf_free(&body);
}

/* --- History ------------------------------------------------------------------------------------
 */

static void history_write(struct elector *elector);

static void history_done(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;

	elector->record.history_busy = false;
	if (answer->class != KUBE_OK) {
		/* The next transition brings it along; the monitor has it meanwhile. */
		log_warn(
		    "history not written: %s %s", kube_class_name(answer->class), answer->message);
		elector->record.history_dirty = true;
	} else if (elector->record.history_dirty) {
		history_write(elector);
	}
}

static void history_write(struct elector *elector)
{
	struct buf path, body = buf_make(1 << 20);

	elector->record.history_dirty = false;
	elector->record.history_busy = true;
	buf_puts(&body, "{\"status\":{\"history\":");
	kube_json_put(&body, elector->record.history);
	buf_puts(&body, "}}");
	role_path(false, "status", &path);
	ask(elector, KUBE_PATCH_MERGE, &path, buf_str(&body), history_done);
	buf_free(&path);
	buf_free(&body);
}

void record_history(struct elector *elector, const struct msg_status_history *entry)
{
	struct record_keeper *record = &elector->record;
	char time[40];

	kube_time_put(time, entry->time_us);
	if (!record->history)
		record->history = json_array();
	json_array_append_new(record->history,
	    json_pack("{s:s, s:s%, s:s%, s:I, s:s%, s:s%}", "time", time, "from", entry->from.p,
		entry->from.n, "to", entry->to.p, entry->to.n, "term", (json_int_t)entry->term,
		"reason", entry->reason.p, entry->reason.n, "text", entry->text.p, entry->text.n));
	while (json_array_size(record->history) > RECORD_HISTORY)
		json_array_remove(record->history, 0);
	record->history_dirty = true;
	if (!record->history_busy && elector->machine.loaded)
		history_write(elector);
}

void record_keep_history(struct elector *elector, const json_t *object)
{
	struct record_keeper *record = &elector->record;

	if (json_array_size(record->history) && !record->history_busy &&
	    !json_array_size(kube_json_at(object, "status", "history", NULL)))
		history_write(elector);
}

void record_show_history(struct elector *elector)
{
	json_t *entry;
	size_t i;

	json_array_foreach(elector->record.history, i, entry)
	{
		struct msg_status_history shown = { .from = str_of(kube_json_text(entry, "from")),
			.to = str_of(kube_json_text(entry, "to")),
			.reason = str_of(kube_json_text(entry, "reason")),
			.text = str_of(kube_json_text(entry, "text")) };
		int64_t term = kube_json_integer(entry, "term", 0);

		shown.term = term > 0 && (uint64_t)term <= KUBE_TERM_MAX ? (uint64_t)term : 0;
		(void)kube_time_parse(kube_json_text(entry, "time"), &shown.time_us);
		if (shown.from.n <= 32 && shown.to.n <= 32 && shown.reason.n <= 64 &&
		    shown.text.n <= 512)
			(void)role_send(
			    elector->process, ROLE_MONITOR, 0, MSG_STATUS_HISTORY, &shown);
	}
}

/* --- Load ---------------------------------------------------------------------------------------
 */

static void load_part(
    struct elector *elector, const struct kube_answer *answer, bool ok, const char *what)
{
	struct record_keeper *record = &elector->record;

	if (!ok)
		record->failed = true;
	if (!ok && log_episode(&record->unloaded, (int)answer->class + 1))
		log_warn("%s cannot be read: %s %s", what, kube_class_name(answer->class),
		    answer->message);
	if (--record->waiting)
		return;
	record->loaded.loaded.ok = !record->failed;
	if (!record->failed)
		(void)log_episode(&record->unloaded, 0);
	/* The pair needs both uids; the record knows the peer's. */
	if (!record->failed) {
		record_parse(record->base, "", base_clock_wall_us(), &record->loaded.loaded.record);
		elector_pair(elector->config, elector->own_uid, record->loaded.loaded.record.uid,
		    elector->pair);
		record_parse(record->base, elector->pair, base_clock_wall_us(),
		    &record->loaded.loaded.record);
	}
	/* What earlier processes went through comes before what this one will. */
	if (!record->failed && !elector->machine.loaded)
		record_show_history(elector);
	elector_feed(elector, &record->loaded);
}

static void loaded_uid(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	bool ok = object &&
		  str_copy(elector->own_uid, sizeof(elector->own_uid),
		      str_of(kube_json_text(json_object_get(object, "metadata"), "uid"))) &&
		  elector->own_uid[0];

	json_decref(object);
	load_part(elector, answer, ok, "namespace kube-system");
}

static void loaded_lease(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	bool ok = object || answer->class == KUBE_NOT_FOUND;

	if (ok) {
		lease_take(elector, object);
		claim_judge(elector, &elector->record.loaded.loaded.lease);
		elector->record.loaded.loaded.date_us = answer->date_us;
	}
	load_part(elector, answer, ok, "own lease");
}

static void loaded_record(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	bool ok = object || answer->class == KUBE_NOT_FOUND;

	if (ok)
		take_record(elector, object);
	load_part(elector, answer, ok, "armed record");
}

void record_parse_role(const json_t *object, enum hub_role *role, uint64_t *term)
{
	const char *name = kube_json_text(json_object_get(object, "spec"), "role");
	int64_t number = kube_json_integer(json_object_get(object, "spec"), "term", 0);

	for (unsigned i = HUB_STANDBY; i < sizeof(role_names) / sizeof(role_names[0]); i++)
		if (strcmp(name, role_names[i]) == 0)
			*role = i;
	if (number > 0 && (uint64_t)number <= KUBE_TERM_MAX)
		*term = (uint64_t)number;
}

static void take_role(struct elector *elector, const json_t *object)
{
	struct machine_event *loaded = &elector->record.loaded;
	json_t *history = kube_json_at(object, "status", "history", NULL);

	record_parse_role(object, &loaded->loaded.role, &loaded->loaded.role_term);
	if (!elector->record.history && json_is_array(history) &&
	    json_array_size(history) <= RECORD_HISTORY)
		elector->record.history = json_deep_copy(history);
}

/* Without the kind there is no admission fence, but there is still a Lease: said, not waited for.
 */
static void loaded_role(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	bool ok = object || answer->class == KUBE_NOT_FOUND || answer->class == KUBE_NO_RESOURCE;

	if (object)
		take_role(elector, object);
	if (answer->class == KUBE_NO_RESOURCE)
		log_error("the kind HubRole is not installed: no admission fence on this hub");
	json_decref(object);
	load_part(elector, answer, ok, "HubRole self");
}

void record_load(struct elector *elector)
{
	struct buf path = buf_make(1024);

	elector->record.loaded = (struct machine_event){ .input = MACHINE_LOADED };
	elector->record.failed = false;
	elector->record.waiting = 4;
	kube_url_path(&path, "", "v1", "namespaces", NULL, "kube-system", NULL);
	ask(elector, KUBE_GET, &path, (struct str){ 0 }, loaded_uid);
	buf_clear(&path);
	kube_url_path(&path, "coordination.k8s.io", "v1", "leases", namespace_of(elector),
	    KUBE_LEASE_NAME, NULL);
	ask(elector, KUBE_GET, &path, (struct str){ 0 }, loaded_lease);
	buf_free(&path);
	record_path(elector, false, &path);
	ask(elector, KUBE_GET, &path, (struct str){ 0 }, loaded_record);
	buf_free(&path);
	role_path(false, NULL, &path);
	ask(elector, KUBE_GET, &path, (struct str){ 0 }, loaded_role);
	buf_free(&path);
}

void record_close(struct elector *elector)
{
	if (elector->record.role_watch)
		kube_watch_stop(elector->record.role_watch);
	json_decref(elector->record.base);
	json_decref(elector->record.history);
}
