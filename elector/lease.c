/*
 * Requests about one Lease (see the header). Decides nothing: which write, and what an outcome
 * means, is its owner's (H1). Called by claim.c, contend.c, actions.c and record.c.
 */
#include "elector/lease.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "elector/elector.h"
#include "kube/json.h"
#include "kube/url.h"

static const char *namespace_of(const struct elector *elector)
{
	return config_text_at(elector->config, elector->config->namespace);
}

static void lease_path(const struct elector *elector, bool collection, struct buf *path)
{
	*path = buf_make(1024);
	kube_url_path(path, "coordination.k8s.io", "v1", "leases", namespace_of(elector),
	    collection ? NULL : elector->lease.name, NULL);
}

static uint64_t ask(struct elector *elector, enum kube_verb verb, const char *query,
    struct str body, kube_done_fn *done)
{
	uint64_t id;
	struct buf path;
	struct kube_ask ask = { .target = CREDENTIAL_ELECTOR,
		.verb = verb,
		.query = query,
		.body = body,
		.deadline_ms = config_request_deadline_ms(elector->config) };

	lease_path(elector, verb == KUBE_POST, &path);
	ask.path = path.data;
	id = kube_client_ask(elector->client, &ask, done, elector);
	buf_free(&path);
	return id;
}

void lease_open(struct elector *elector, const char *name, const struct lease_ops *ops)
{
	elector->lease.name = name;
	elector->lease.ops = ops;
}

void lease_take(struct elector *elector, json_t *object)
{
	struct lease_keeper *keeper = &elector->lease;
	struct err err;

	json_decref(keeper->base);
	keeper->base = object;
	keeper->broken = false;
	memset(&keeper->last, 0, sizeof(keeper->last));
	if (!object || kube_lease_parse(object, &keeper->last, &err) == 0)
		return;
	log_error("own lease %s: %s; it is written anew", keeper->name, err.text);
	memset(&keeper->last, 0, sizeof(keeper->last));
	keeper->broken = true;
}

/* Takes the object of a good answer; false when the body is none (logged). */
static bool take_body(struct elector *elector, const struct kube_answer *answer)
{
	struct err err;
	json_t *object = kube_json_parse(answer->body, &err);

	if (object)
		lease_take(elector, object);
	else
		log_warn("own lease: answer: %s", err.text);
	return object != NULL;
}

static void read_done(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	struct lease_answer told = { .outcome = OUTCOME_UNSURE,
		.date_us = answer->date_us,
		.finished_ns = answer->finished_ns };

	if (answer->class == KUBE_OK && take_body(elector, answer)) {
		told.outcome = OUTCOME_DONE;
	} else if (answer->class == KUBE_NOT_FOUND) {
		told.outcome = OUTCOME_DONE;
		lease_take(elector, NULL);
	}
	if (log_episode(
		&elector->lease.unread, told.outcome == OUTCOME_DONE ? 0 : (int)answer->class))
		log_warn("own lease cannot be read: %s %s", kube_class_name(answer->class),
		    answer->message);
	elector->lease.ops->answered(elector, &told);
}

void lease_read(struct elector *elector)
{
	(void)ask(elector, KUBE_GET, NULL, (struct str){ 0 }, read_done);
}

static void write_done(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	struct lease_answer told = { .write = true,
		.outcome = OUTCOME_UNSURE,
		.never_sent = !answer->sent,
		.date_us = answer->date_us,
		.finished_ns = answer->finished_ns };

	switch (answer->class) {
	case KUBE_OK:
		if (take_body(elector, answer))
			told.outcome = OUTCOME_DONE;
		break;
	case KUBE_CONFLICT:
	case KUBE_EXISTS:
	case KUBE_NOT_FOUND: told.conflict = true; break;
	case KUBE_NO_RESOURCE:
	case KUBE_UNAUTHORIZED:
	case KUBE_FORBIDDEN:
	case KUBE_GONE:
	case KUBE_TOO_LARGE:
	case KUBE_INVALID:
	case KUBE_REFUSED: told.outcome = OUTCOME_REFUSED; break;
	case KUBE_THROTTLED: told.never_sent = true; break;
	case KUBE_SERVER_ERROR:
	case KUBE_SILENT:
	case KUBE_BLIND: break;
	}
	if (log_episode(
		&elector->lease.unwritten, told.outcome == OUTCOME_DONE ? 0 : (int)answer->class))
		log_warn("own lease not written: %s %s", kube_class_name(answer->class),
		    answer->message);
	if (told.outcome != OUTCOME_DONE)
		role_metric(elector->process, METRIC_RENEW_ERRORS, NULL, NULL, 1000000);
	elector->lease.ops->answered(elector, &told);
}

static uint64_t put(
    struct elector *elector, const struct kube_lease *lease, const char *query, kube_done_fn *done)
{
	struct lease_keeper *keeper = &elector->lease;
	struct buf body = buf_make(1 << 20);
	json_t *object = kube_lease_write(keeper->base, lease, namespace_of(elector), keeper->name);
	uint64_t id;

	kube_json_put(&body, object);
	json_decref(object);
	id = ask(elector, keeper->base ? KUBE_PUT : KUBE_POST, query, buf_str(&body), done);
	buf_free(&body);
	return id;
}

void lease_put(struct elector *elector, const struct kube_lease *lease)
{
	(void)put(elector, lease, NULL, write_done);
}

uint64_t lease_try(struct elector *elector, const struct kube_lease *lease, kube_done_fn *done)
{
	return put(elector, lease, "dryRun=All", done);
}

/* --- Watch: deletions and other writers are seen between two renewals --------------------------
 */

static void on_object(void *arg, enum kube_watch_event kind, const json_t *object)
{
	struct elector *elector = arg;
	struct kube_lease lease;
	struct err err;

	if (strcmp(kube_json_text(json_object_get(object, "metadata"), "name"),
		elector->lease.name) != 0)
		return;
	if (kind == KUBE_WATCH_DELETED) {
		/* A PUT against the old version fails from now on; the next write is a POST. */
		json_decref(elector->lease.base);
		elector->lease.base = NULL;
		elector->lease.ops->watched(elector, NULL);
		return;
	}
	if (kube_lease_parse(object, &lease, &err)) {
		log_warn("own lease in the watch: %s", err.text);
		return;
	}
	elector->lease.ops->watched(elector, &lease);
}

static void on_nothing(void *arg)
{
	(void)arg;
}

static void on_synced(void *arg, const char *resource_version)
{
	(void)arg;
	(void)resource_version;
}

static void on_error(void *arg, const struct kube_answer *answer)
{
	(void)arg;
	log_debug("watch of the own lease: %s %s", kube_class_name(answer->class), answer->message);
}

void lease_watch(struct elector *elector)
{
	static const struct kube_watch_ops ops = { .on_begin = on_nothing,
		.on_object = on_object,
		.on_synced = on_synced,
		.on_alive = on_nothing,
		.on_error = on_error };
	struct kube_watch_options options = { .target = CREDENTIAL_ELECTOR,
		.deadline_ms = config_request_deadline_ms(elector->config) };
	struct buf path, query = buf_make(256);

	if (elector->lease.watch)
		return;
	lease_path(elector, true, &path);
	buf_printf(&query, "fieldSelector=metadata.name%%3D%s", elector->lease.name);
	options.path = path.data;
	options.query = query.data;
	elector->lease.watch =
	    kube_watch_start(elector->client, role_loop(elector->process), &options, &ops, elector);
	buf_free(&query);
	buf_free(&path);
}

void lease_close(struct elector *elector)
{
	if (elector->lease.watch)
		kube_watch_stop(elector->lease.watch);
	json_decref(elector->lease.base);
}
