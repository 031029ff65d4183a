/*
 * Looks at the peer: a GET of the Lease that is never served from a cache (resourceVersion unset),
 * and of kube-system where it is not certain that this is still the same cluster (C4). A look has
 * one deadline and always ends in one PEER_SEEN. It must not keep an answer for a later question:
 * a question is answered by requests that began after it (M18).
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "kube/json.h"
#include "kube/url.h"
#include "observer/observer.h"

#define PATH_MAX_BYTES 1024

/* --- The end of a look ----------------------------------------------------------------------- */

/* Once per episode, not once per look (G5). */
static void tell_blindness(struct observer *observer, const struct msg_peer_seen *seen)
{
	const struct us_config *config = role_config(observer->process);
	char note[256];
	struct msg_event_asked event = { .reason = EVENT_PEER_UNREADABLE,
		.kind = STR_LIT("Lease"),
		.namespace = str_of(config_text_at(config, config->namespace)),
		.object = STR_LIT(KUBE_LEASE_NAME) };

	if (seen->class != PEER_BLIND) {
		observer->blind = observer->blind && seen->class == PEER_SILENT;
		return;
	}
	if (observer->blind)
		return;
	(void)snprintf(note, sizeof(note), "the Lease of %s cannot be read: %s",
	    observer->names.peer, peer_why_name(seen->why));
	event.note = str_of(note);
	observer->blind = role_send(observer->process, ROLE_ELECTOR, 0, MSG_EVENT_ASKED, &event);
}

/* A watch that misses what looks find hangs on a dead connection: starts it anew. */
static void compare_with_watch(struct observer *observer, const char *version, bool from_watch)
{
	if (from_watch)
		observer->unwatched = 0;
	else if (version[0] && strcmp(version, observer->version) != 0)
		observer->unwatched++;
	(void)snprintf(observer->version, sizeof(observer->version), "%s", version);
	if (observer->unwatched < 3 || !observer->watch)
		return;
	log_warn("the watch of the peer's Lease misses changes: starting it anew");
	observer->unwatched = 0;
	kube_watch_restart(observer->watch);
}

void look_tell(struct observer *observer, const struct msg_peer_seen *seen, const char *version)
{
	struct msg_peer_seen out = *seen;
	bool failed = seen->class == PEER_SILENT || seen->class == PEER_BLIND;

	out.uid = str_of(failed ? "" : observer->uid);
	out.can_write = observer->can_write;
	if (seen->class != observer->last_class)
		log_info("peer Lease: %s -> %s (%s)", peer_class_name(observer->last_class),
		    peer_class_name(seen->class), peer_why_name(seen->why));
	observer->last_class = seen->class;
	if (failed)
		observer->verified = false;
	else
		compare_with_watch(observer, version, seen->started_ns == seen->finished_ns);
	tell_blindness(observer, seen);
	(void)role_send(observer->process, ROLE_ELECTOR, 0, MSG_PEER_SEEN, &out);
}

static void finish(struct look *look)
{
	struct observer *observer = look->observer;
	struct msg_peer_seen *seen = &look->seen;
	bool own = look == &observer->looks[0], was_failing = observer->failing;
	bool failed;

	if (look->lease_id || look->uid_id)
		return;
	/* A Lease of who knows which cluster says nothing: the worse of the two answers counts. */
	if (look->uid_class != KUBE_OK && seen->class != PEER_SILENT && seen->class != PEER_BLIND)
		peer_classify(look->uid_class == KUBE_NOT_FOUND ? KUBE_REFUSED : look->uid_class,
		    look->uid_why, seen);
	failed = seen->class == PEER_SILENT || seen->class == PEER_BLIND;
	seen->finished_ns = base_clock_boot_ns();
	if (seen->finished_ns <= seen->started_ns)
		seen->finished_ns = seen->started_ns + 1;
	role_metric(observer->process, METRIC_PEER_READS, failed ? "error" : "ok", NULL, 1000000);
	look->observer = NULL;
	look_tell(observer, seen, look->lease.resource_version);
	if (!own)
		return;
	observer->failing = failed;
	if (was_failing && !failed && observer->watch)
		kube_watch_restart(observer->watch);
	watch_set_timer(observer);
}

/* --- The two requests ------------------------------------------------------------------------- */

static void on_lease(void *arg, const struct kube_answer *answer)
{
	struct look *look = arg;
	json_t *object = NULL;
	struct err err = { "" };

	look->lease_id = 0;
	peer_classify(answer->class, answer->why, &look->seen);
	look->seen.date_us = answer->date_us;
	if (answer->class == KUBE_OK) {
		object = kube_json_parse(answer->body, &err);
		if (object && kube_lease_parse(object, &look->lease, &err) == 0) {
			peer_from_lease(&look->lease, &look->observer->names, &look->seen);
		} else {
			log_warn("peer Lease: %s", err.text);
			peer_classify(KUBE_BLIND, PEER_WHY_UNPARSABLE, &look->seen);
		}
		json_decref(object);
	} else if (look->seen.class == PEER_BLIND) {
		log_warn("peer Lease: %s: %s", kube_class_name(answer->class), answer->message);
	}
	finish(look);
}

static void on_uid(void *arg, const struct kube_answer *answer)
{
	struct look *look = arg;
	struct observer *observer = look->observer;
	json_t *object = NULL;
	const char *uid;

	look->uid_id = 0;
	look->uid_class = answer->class;
	look->uid_why = answer->why;
	if (answer->class == KUBE_OK) {
		object = kube_json_parse(answer->body, NULL);
		uid = kube_json_text(kube_json_at(object, "metadata", NULL), "uid");
		if (uid[0] && str_copy(observer->uid, sizeof(observer->uid), str_of(uid))) {
			observer->verified = true;
		} else {
			look->uid_class = KUBE_BLIND;
			look->uid_why = PEER_WHY_UNPARSABLE;
		}
		json_decref(object);
	}
	finish(look);
}

static uint64_t get(struct look *look, const char *path, bool fresh, kube_done_fn *done)
{
	struct observer *observer = look->observer;
	struct kube_ask ask = { .target = CREDENTIAL_PEER_OBSERVER,
		.verb = KUBE_GET,
		.path = path,
		.deadline_ms = config_request_deadline_ms(role_config(observer->process)),
		.fresh = fresh };

	return kube_client_ask(observer->client, &ask, done, look);
}

static struct look *free_look(struct observer *observer, uint64_t nonce)
{
	struct look *oldest = &observer->looks[1];

	if (nonce == 0)
		return &observer->looks[0];
	for (unsigned i = 1; i < OBSERVER_LOOKS; i++) {
		if (!observer->looks[i].observer)
			return &observer->looks[i];
		if (observer->looks[i].seen.started_ns < oldest->seen.started_ns)
			oldest = &observer->looks[i];
	}
	return oldest;
}

void look_start(struct observer *observer, uint64_t nonce, bool fresh)
{
	const struct us_config *config = role_config(observer->process);
	struct look *look = free_look(observer, nonce);
	struct buf path = buf_make(PATH_MAX_BYTES);

	if (look->observer) { /* an own look runs, or the elector asks again: the older one ends */
		if (nonce == 0)
			return;
		kube_client_cancel(observer->client, look->lease_id);
		kube_client_cancel(observer->client, look->uid_id);
	}
	*look = (struct look){ .observer = observer,
		.nonce = nonce,
		.uid_class = KUBE_OK,
		.seen = { .nonce = nonce, .started_ns = (uint64_t)base_clock_boot_ns() } };
	if (nonce == 0)
		observer->pace.started_ns = (int64_t)look->seen.started_ns;
	kube_url_path(&path, "coordination.k8s.io", "v1", "leases",
	    config_text_at(config, config->namespace), KUBE_LEASE_NAME, NULL);
	look->lease_id = get(look, path.data, fresh, on_lease);
	/* A new connection may lead to another cluster behind the same address. */
	if (fresh || !observer->verified) {
		buf_clear(&path);
		kube_url_path(&path, "", "v1", "namespaces", NULL, "kube-system", NULL);
		look->uid_id = get(look, path.data, fresh, on_uid);
	}
	buf_free(&path);
}

/* --- H14 -------------------------------------------------------------------------------------- */

static void on_rights(void *arg, const struct kube_answer *answer)
{
	struct observer *observer = arg;
	json_t *object;

	if (answer->class != KUBE_OK)
		return;
	object = kube_json_parse(answer->body, NULL);
	observer->can_write = json_is_true(kube_json_at(object, "status", "allowed", NULL));
	if (observer->can_write)
		log_warn("the credential peer-observer may write the peer's Lease: it needs to "
			 "read only");
	json_decref(object);
}

void look_at_rights(struct observer *observer)
{
	const struct us_config *config = role_config(observer->process);
	struct buf body = buf_make(2048);
	struct kube_ask ask = { .target = CREDENTIAL_PEER_OBSERVER,
		.verb = KUBE_POST,
		.path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		.deadline_ms = 5000 };

	buf_puts(&body, "{\"apiVersion\":\"authorization.k8s.io/v1\","
			"\"kind\":\"SelfSubjectAccessReview\",\"spec\":{\"resourceAttributes\":{"
			"\"group\":\"coordination.k8s.io\",\"resource\":\"leases\","
			"\"verb\":\"update\",\"name\":\"" KUBE_LEASE_NAME "\",\"namespace\":");
	buf_json_string(&body, str_of(config_text_at(config, config->namespace)));
	buf_puts(&body, "}}}");
	ask.body = buf_str(&body);
	(void)kube_client_ask(observer->client, &ask, on_rights, observer);
	buf_free(&body);
}
