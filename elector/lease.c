/*
 * Requests about the own Lease (see the header). Decides nothing: which write, and what an outcome
 * means, is the machine's (H1). Called by actions.c and record.c.
 */
#include "elector/lease.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "elector/annotations.h"
#include "elector/elector.h"
#include "kube/json.h"
#include "kube/url.h"

/* 9999-01-01: a time that leaves no room to grow (H17) was not written by us and says nothing. */
#define RENEW_MOST_US 253370764800000000LL

static void lease_path(const struct elector *elector, bool collection, struct buf *path)
{
	*path = buf_make(1024);
	kube_url_path(path, "coordination.k8s.io", "v1", "leases",
	    config_text_at(elector->config, elector->config->namespace),
	    collection ? NULL : KUBE_LEASE_NAME, NULL);
}

static void ask(struct elector *elector, enum kube_verb verb, struct str body, kube_done_fn *done)
{
	struct buf path;
	struct kube_ask ask = { .target = CREDENTIAL_ELECTOR,
		.verb = verb,
		.body = body,
		.deadline_ms = config_request_deadline_ms(elector->config) };

	lease_path(elector, verb == KUBE_POST, &path);
	ask.path = path.data;
	kube_client_ask(elector->client, &ask, done, elector);
	buf_free(&path);
}

static void judge(
    const struct elector *elector, const struct kube_lease *lease, struct machine_lease *out)
{
	const char *self = config_text_at(elector->config, elector->config->self_name);
	bool to_me;

	*out = (struct machine_lease){ .exists = true,
		.holder = !lease->holder[0]                  ? HOLDER_NONE
			  : strcmp(lease->holder, self) == 0 ? HOLDER_SELF
							     : HOLDER_OTHER,
		.phase = lease->phase,
		.term = lease->term,
		.led_term = lease->led_term,
		.instance = lease->instance,
		.renew_us = lease->renew_us < RENEW_MOST_US ? lease->renew_us : 0 };
	annotations_read_handover(str_of(lease->handover), self, &out->handover, &to_me);
	annotations_read_ack(str_of(lease->handover_ack), &out->ack_id, &out->ack, NULL);
	if (lease->paused_until[0] && kube_time_parse(lease->paused_until, &out->paused_us) != 0)
		out->paused_us = 0;
	annotations_read_block(str_of(lease->block), &out->block);
}

bool lease_take(struct elector *elector, json_t *object, struct machine_lease *out)
{
	struct err err;

	*out = (struct machine_lease){ 0 };
	json_decref(elector->lease.base);
	elector->lease.base = object;
	memset(&elector->lease.last, 0, sizeof(elector->lease.last));
	if (!object)
		return true;
	if (kube_lease_parse(object, &elector->lease.last, &err)) {
		log_error("own lease %s: %s; it is written anew", KUBE_LEASE_NAME, err.text);
		memset(&elector->lease.last, 0, sizeof(elector->lease.last));
		out->exists = true;
		return false;
	}
	judge(elector, &elector->lease.last, out);
	return true;
}

/* The object of a good answer; NULL when the body is none (logged). */
static json_t *object_of(const struct kube_answer *answer)
{
	struct err err;
	json_t *object = kube_json_parse(answer->body, &err);

	if (!object)
		log_warn("own lease: answer: %s", err.text);
	return object;
}

static void read_done(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	struct machine_event event = { .input = MACHINE_LEASE_ANSWERED };
	json_t *object = NULL;

	event.answer.outcome = OUTCOME_UNSURE;
	event.answer.date_us = answer->date_us;
	event.answer.finished_ns = answer->finished_ns;
	if (answer->class == KUBE_OK && (object = object_of(answer))) {
		event.answer.outcome = OUTCOME_DONE;
		(void)lease_take(elector, object, &event.answer.lease);
	} else if (answer->class == KUBE_NOT_FOUND) {
		event.answer.outcome = OUTCOME_DONE;
		(void)lease_take(elector, NULL, &event.answer.lease);
	}
	if (log_episode(&elector->lease.unread,
		event.answer.outcome == OUTCOME_DONE ? 0 : (int)answer->class))
		log_warn("own lease cannot be read: %s %s", kube_class_name(answer->class),
		    answer->message);
	elector_feed(elector, &event);
}

void lease_read(struct elector *elector)
{
	ask(elector, KUBE_GET, (struct str){ 0 }, read_done);
}

static void write_done(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;
	struct machine_event event = { .input = MACHINE_LEASE_ANSWERED };
	json_t *object;

	event.answer.write = true;
	event.answer.outcome = OUTCOME_UNSURE;
	event.answer.never_sent = !answer->sent;
	event.answer.date_us = answer->date_us;
	event.answer.finished_ns = answer->finished_ns;
	switch (answer->class) {
	case KUBE_OK:
		object = object_of(answer);
		if (object) {
			event.answer.outcome = OUTCOME_DONE;
			(void)lease_take(elector, object, &event.answer.lease);
		}
		break;
	case KUBE_CONFLICT:
	case KUBE_EXISTS:
	case KUBE_NOT_FOUND: event.answer.conflict = true; break;
	case KUBE_NO_RESOURCE:
	case KUBE_UNAUTHORIZED:
	case KUBE_FORBIDDEN:
	case KUBE_GONE:
	case KUBE_TOO_LARGE:
	case KUBE_INVALID:
	case KUBE_REFUSED: event.answer.outcome = OUTCOME_REFUSED; break;
	case KUBE_THROTTLED: event.answer.never_sent = true; break;
	case KUBE_SERVER_ERROR:
	case KUBE_SILENT:
	case KUBE_BLIND: break;
	}
	if (log_episode(&elector->lease.unwritten,
		event.answer.outcome == OUTCOME_DONE ? 0 : (int)answer->class))
		log_warn("own lease not written: %s %s", kube_class_name(answer->class),
		    answer->message);
	if (event.answer.outcome != OUTCOME_DONE)
		role_metric(elector->process, METRIC_RENEW_ERRORS, NULL, NULL, 1000000);
	elector_feed(elector, &event);
}

/* What the machine has to say beside the claim (section 0). */
static void put_texts(
    const struct elector *elector, const struct machine_todo *order, struct kube_lease *lease)
{
	const struct us_config *config = elector->config;

	annotations_put_handover(lease->handover, sizeof(lease->handover), order->lease.handover,
	    config_text_at(config, config->hubs[1 - config->self].name));
	annotations_put_ack(lease->handover_ack, sizeof(lease->handover_ack), order->lease.ack_id,
	    order->lease.ack, elector->ack_why);
	annotations_put_standby(lease->standby, sizeof(lease->standby), &order->lease.standby);
	lease->paused_until[0] = '\0';
	if (order->lease.paused_us)
		kube_time_put(lease->paused_until, order->lease.paused_us);
	annotations_put_block(lease->block, sizeof(lease->block), &order->lease.block);
	memcpy(lease->timing, elector->timing, sizeof(lease->timing));
	if (elector->pair[0])
		memcpy(lease->pair, elector->pair, sizeof(lease->pair));
}

void lease_write(struct elector *elector, const struct machine_todo *order)
{
	const struct us_config *config = elector->config;
	struct kube_lease lease = elector->lease.last;
	struct buf body = buf_make(1 << 20);
	json_t *object;

	lease.holder[0] = '\0';
	if (order->lease.claim)
		(void)str_copy(lease.holder, sizeof(lease.holder),
		    str_of(config_text_at(config, config->self_name)));
	lease.term = order->lease.term;
	lease.led_term = order->lease.led_term;
	lease.phase = order->lease.phase;
	lease.renew_us = order->lease.renew_us;
	if (order->lease.acquire) {
		lease.acquire_us = order->lease.renew_us;
		lease.transitions++;
	}
	lease.instance = elector->machine.options.instance;
	lease.duration_ms = config->lease_duration_ms;
	put_texts(elector, order, &lease);
	object = kube_lease_write(elector->lease.base, &lease,
	    config_text_at(config, config->namespace), KUBE_LEASE_NAME);
	kube_json_put(&body, object);
	json_decref(object);
	ask(elector, elector->lease.base ? KUBE_PUT : KUBE_POST, buf_str(&body), write_done);
	buf_free(&body);
}

/* --- Watch: deletions and other writers are seen between two renewals --------------------------
 */

static void on_object(void *arg, enum kube_watch_event kind, const json_t *object)
{
	struct elector *elector = arg;
	struct machine_event event = { .input = MACHINE_LEASE_WATCHED };
	struct kube_lease lease;
	struct err err;

	if (strcmp(kube_json_text(json_object_get(object, "metadata"), "name"), KUBE_LEASE_NAME) !=
	    0)
		return;
	if (kind != KUBE_WATCH_DELETED) {
		if (kube_lease_parse(object, &lease, &err)) {
			log_warn("own lease in the watch: %s", err.text);
			return;
		}
		judge(elector, &lease, &event.watched);
	} else {
		/* A PUT against the old version fails from now on; the next write is a POST. */
		json_decref(elector->lease.base);
		elector->lease.base = NULL;
	}
	elector_feed(elector, &event);
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
		.query = "fieldSelector=metadata.name%3D" KUBE_LEASE_NAME,
		.deadline_ms = config_request_deadline_ms(elector->config) };
	struct buf path;

	if (elector->lease.watch)
		return;
	lease_path(elector, true, &path);
	options.path = path.data;
	elector->lease.watch =
	    kube_watch_start(elector->client, role_loop(elector->process), &options, &ops, elector);
	buf_free(&path);
}

void lease_close(struct elector *elector)
{
	if (elector->lease.watch)
		kube_watch_stop(elector->lease.watch);
	json_decref(elector->lease.base);
}
