/*
 * Posts Events to the own API server (see the header). Waits for nothing and decides nothing about
 * leadership. Called by actions.c and messages.c.
 */
#include "elector/events.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "elector/elector.h"
#include "elector/trace.h"
#include "kube/json.h"
#include "kube/lease.h"
#include "kube/url.h"

#define AGAIN_NS (600 * BASE_NS_PER_S)

struct event_about {
	const char *api_version; /* "" when not known */
	struct str kind, namespace, name, uid;
};

bool events_is_new(struct event_queue *queue, uint64_t key, int64_t now_ns)
{
	for (unsigned i = 0; i < EVENTS_RECENT; i++)
		if (queue->recent[i].at_ns && queue->recent[i].key == key &&
		    now_ns - queue->recent[i].at_ns < AGAIN_NS)
			return false;
	queue->recent[queue->next].key = key;
	queue->recent[queue->next].at_ns = now_ns;
	queue->next = (queue->next + 1) % EVENTS_RECENT;
	return true;
}

static void posted(void *arg, const struct kube_answer *answer)
{
	struct elector *elector = arg;

	elector->events.outstanding--;
	if (answer->class != KUBE_OK)
		log_warn(
		    "event not written: %s %s", kube_class_name(answer->class), answer->message);
}

/* How a promotion told of itself is one of its steps. */
static void promotion_posted(void *arg, const struct kube_answer *answer)
{
	elector_step_ended(arg, STEP_EVENT);
	posted(arg, answer);
}

static void put_member(struct buf *out, const char *key, struct str value)
{
	if (!value.n)
		return;
	buf_printf(out, ",\"%s\":", key);
	buf_json_string(out, value);
}

static void put_body(struct elector *elector, struct buf *body, const struct event_about *about,
    const char *reason, const char *action, bool warning, struct str note)
{
	struct str self = str_of(config_text_at(elector->config, elector->config->self_name));
	/* Core validation: an Event lives where its object does, else in `default`. */
	struct str namespace = about->namespace.n ? about->namespace : STR_LIT("default");
	char time[40];

	kube_time_put(time, base_clock_wall_us());
	buf_printf(body,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":"
	    "\"understudy.%016" PRIx64 "\"",
	    base_random_u64());
	put_member(body, "namespace", namespace);
	buf_puts(body, "},\"involvedObject\":{\"kind\":");
	buf_json_string(body, about->kind);
	put_member(body, "apiVersion", str_of(about->api_version));
	put_member(body, "namespace", about->namespace);
	put_member(body, "name", about->name);
	put_member(body, "uid", about->uid);
	buf_printf(body,
	    "},\"reason\":\"%s\",\"action\":\"%s\",\"type\":\"%s\",\"count\":1,"
	    "\"firstTimestamp\":\"%.19sZ\",\"lastTimestamp\":\"%.19sZ\",\"eventTime\":\"%s\","
	    "\"source\":{\"component\":\"understudy\"},\"reportingComponent\":\"understudy\"",
	    reason, action, warning ? "Warning" : "Normal", time, time, time);
	put_member(body, "reportingInstance", self);
	put_member(body, "message", note);
	buf_puts(body, "}");
}

static void post(struct elector *elector, const struct event_about *about, const char *reason,
    const char *action, bool warning, struct str note)
{
	bool promotion =
	    reason == trace_row(REASON_PROMOTED)->event || reason == trace_row(REASON_LEADS)->event;
	struct buf path = buf_make(1024), body = buf_make(8192);
	char namespace[64];
	struct kube_ask ask = { .target = CREDENTIAL_ELECTOR,
		.verb = KUBE_POST,
		.deadline_ms = config_request_deadline_ms(elector->config) };

	if (!str_copy(namespace, sizeof(namespace),
		about->namespace.n ? about->namespace : STR_LIT("default")) ||
	    elector->events.outstanding >= EVENTS_OUTSTANDING) {
		elector->events.dropped++;
		log_warn("event %s not written, %u in all", reason, elector->events.dropped);
		goto out;
	}
	kube_url_path(&path, "", "v1", "events", namespace, NULL, NULL);
	put_body(elector, &body, about, reason, action, warning, note);
	if (path.failed || body.failed)
		goto out;
	ask.path = path.data;
	ask.body = buf_str(&body);
	elector->events.outstanding++;
	kube_client_ask(elector->client, &ask, promotion ? promotion_posted : posted, elector);
out:
	buf_free(&path);
	buf_free(&body);
}

void events_own(
    struct elector *elector, const char *reason, const char *action, bool warning, const char *note)
{
	struct event_about about = { "coordination.k8s.io/v1", STR_LIT("Lease"),
		str_of(config_text_at(elector->config, elector->config->namespace)),
		str_of(elector->lease.name), str_of(elector->lease.last.uid) };

	post(elector, &about, reason, action, warning, str_of(note));
}

static uint64_t hash_text(uint64_t hash, struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		hash = (hash ^ (unsigned char)text.p[i]) * 0x100000001b3ULL;
	return (hash ^ 0xff) * 0x100000001b3ULL;
}

void events_asked(struct elector *elector, const struct msg_event_asked *m)
{
	static const struct {
		const char *reason, *action;
	} names[EVENT_REASON_LAST + 1] = {
		[EVENT_MIRROR_SYNC_FAILED] = { "HAMirrorSyncFailed", "HAMirrorSync" },
		[EVENT_LEFT_SCOPE] = { "LeftScope", "HAMirrorSync" },
		[EVENT_SOURCE_REGRESSED] = { "SourceRegressed", "HAMirrorSync" },
		[EVENT_PRUNED_FIELD] = { "PrunedField", "HAMirrorSync" },
		[EVENT_PUBLISH_PRUNED] = { "PublishPruned", "HAPublish" },
		[EVENT_WORKER_UNREACHABLE] = { "WorkerUnreachable", "HARepoint" },
		[EVENT_WORKER_SUPERSEDED] = { "WorkerSuperseded", "HARepoint" },
		[EVENT_PEER_UNREADABLE] = { "PeerUnreadable", "HAPeerWatch" },
		[EVENT_DELETES_HELD] = { "DeletesHeld", "HAMirrorSync" },
		[EVENT_REJOINED] = { "RejoinArchived", "HAMirrorSync" },
	};
	struct event_about about = { "", m->kind, m->namespace, m->object, m->uid };
	uint64_t key = hash_text(0xcbf29ce484222325ULL + m->reason, m->kind);

	key = hash_text(hash_text(key, m->namespace), m->object);
	if (!events_is_new(&elector->events, key, base_clock_boot_ns()))
		return;
	if (!m->kind.n || !m->object.n) { /* about the hub as a whole: its Lease stands for it */
		about = (struct event_about){ "coordination.k8s.io/v1", STR_LIT("Lease"),
			str_of(config_text_at(elector->config, elector->config->namespace)),
			str_of(elector->lease.name), str_of(elector->lease.last.uid) };
	}
	post(elector, &about, names[m->reason].reason, names[m->reason].action, true, m->note);
}
