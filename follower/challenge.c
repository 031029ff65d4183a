/*
 * A hub asks: do you see that other hub renew its Lease? (C3) Each question is answered by a read
 * that begins after it, on a connection of its own, and within 2 s, because an answer that is late
 * is none. It must not answer from what is remembered, and whether a promotion is right is not its
 * business.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "follower/follower.h"
#include "kube/json.h"
#include "kube/url.h"

/* --- The answer ------------------------------------------------------------------------------- */

static void on_written(void *arg, const struct kube_answer *answer)
{
	struct challenge *challenge = arg;

	challenge->id = 0;
	if (answer->class != KUBE_OK)
		log_warn("the question of %s: the answer is not written: %s %s", challenge->asking,
		    kube_class_name(answer->class), answer->message);
}

/* lease NULL: it was not read. */
static void answer(
    struct challenge *challenge, const char *result, const struct kube_lease *lease, int64_t age_ms)
{
	struct follower *follower = challenge->follower;
	struct buf path = buf_make(1024), body = buf_make(4096);
	struct kube_ask ask = {
		.target = CREDENTIAL_FOLLOWER, .verb = KUBE_PATCH_MERGE, .deadline_ms = CHALLENGE_MS
	};

	kube_url_path(
	    &path, "ha.kubeslice.io", "v1alpha1", "hubprobes", NULL, challenge->asking, "status");
	buf_puts(&body, "{\"status\":{\"nonce\":");
	buf_json_string(&body, str_of(challenge->nonce));
	buf_printf(&body, ",\"result\":\"%s\",\"holder\":", result);
	buf_json_string(&body, str_of(lease ? lease->holder : ""));
	buf_printf(&body, ",\"term\":%" PRIu64 ",\"ageMs\":", lease ? lease->term : 0);
	if (age_ms >= 0)
		buf_printf(&body, "%" PRId64 "}}", age_ms);
	else
		buf_puts(&body, "null}}");
	log_info("%s asks about %s: %s, %" PRId64 " ms old", challenge->asking,
	    follower->hubs[challenge->target].name, result, age_ms);
	ask.path = path.data;
	ask.body = buf_str(&body);
	challenge->id = kube_client_ask(follower->client, &ask, on_written, challenge);
	buf_free(&path);
	buf_free(&body);
}

/* What the asking hub may make of a read that failed: silence is unreachable from here, and a fault
 * of ours says nothing about the hub (C4). */
static const char *result_of(enum kube_class class)
{
	switch (class) {
	case KUBE_NOT_FOUND: return "absent";
	case KUBE_SILENT:
	case KUBE_SERVER_ERROR:
	case KUBE_THROTTLED: return "unreachable";
	default: return "denied";
	}
}

static void on_read(void *arg, const struct kube_answer *read)
{
	struct challenge *challenge = arg;
	struct hub *hub = &challenge->follower->hubs[challenge->target];
	json_t *object = read->class == KUBE_OK ? kube_json_parse(read->body, NULL) : NULL;
	struct kube_lease lease;

	challenge->id = 0;
	if (!object || kube_lease_parse(object, &lease, NULL) != 0)
		answer(challenge, result_of(read->class), NULL, -1);
	else
		answer(challenge, "read", &lease,
		    attest_age_ms(
			&hub->attest, lease.renew_us, read->date_us, base_clock_boot_ns()));
	json_decref(object);
}

/* --- The question ----------------------------------------------------------------------------- */

static struct hub *hub_by_name(struct follower *follower, const char *name)
{
	for (unsigned i = 0; i < follower->hub_count; i++)
		if (strcmp(follower->hubs[i].name, name) == 0)
			return &follower->hubs[i];
	return NULL;
}

static void begin(struct challenge *challenge, const struct hub *target)
{
	struct follower *follower = challenge->follower;
	struct buf path = buf_make(1024);
	struct kube_ask ask = { .target = hub_target(target),
		.verb = KUBE_GET,
		.deadline_ms = CHALLENGE_MS,
		.fresh = true };

	kube_client_cancel(follower->client, challenge->id);
	challenge->target = target->index;
	hub_lease_path(target, &path, KUBE_LEASE_NAME);
	ask.path = path.data;
	challenge->id = kube_client_ask(follower->client, &ask, on_read, challenge);
	buf_free(&path);
}

/* An asking hub that is not in the list, and a question about one that is not, get no answer. */
static void on_object(void *arg, enum kube_watch_event event, const json_t *object)
{
	struct follower *follower = arg;
	const char *name = kube_json_text(kube_json_at(object, "metadata", NULL), "name");
	const json_t *spec = kube_json_at(object, "spec", NULL);
	const char *nonce = kube_json_text(spec, "nonce");
	const struct hub *asking = hub_by_name(follower, name);
	const struct hub *target = hub_by_name(follower, kube_json_text(spec, "target"));
	struct challenge *challenge;

	if (event == KUBE_WATCH_DELETED || !asking || !target || !nonce[0] ||
	    strcmp(nonce, kube_json_text(kube_json_at(object, "status", NULL), "nonce")) == 0)
		return;
	challenge = &follower->challenges[asking->index];
	if (strcmp(challenge->nonce, nonce) == 0 ||
	    !str_copy(challenge->nonce, sizeof(challenge->nonce), str_of(nonce)) ||
	    !str_copy(challenge->asking, sizeof(challenge->asking), str_of(name)))
		return;
	challenge->follower = follower;
	begin(challenge, target);
}

static void on_begin(void *arg)
{
	(void)arg;
}

static void on_synced(void *arg, const char *resource_version)
{
	(void)arg;
	(void)resource_version;
}

static void on_error(void *arg, const struct kube_answer *error)
{
	(void)arg;
	log_info(
	    "HubProbes cannot be watched: %s %s", kube_class_name(error->class), error->message);
}

static const struct kube_watch_ops ops = {
	.on_begin = on_begin,
	.on_object = on_object,
	.on_synced = on_synced,
	.on_error = on_error,
};

void challenge_start(struct follower *follower)
{
	struct kube_watch_options options = { .target = CREDENTIAL_FOLLOWER,
		.path = FOLLOWER_GROUP "hubprobes",
		.deadline_ms = OTHER_REQUEST_MS };

	if (follower->probes)
		kube_watch_restart(follower->probes);
	else
		follower->probes = kube_watch_start(
		    follower->client, role_loop(follower->process), &options, &ops, follower);
}
