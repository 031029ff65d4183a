/*
 * The challenge to a worker's follower (C3): write HubProbe/<self> with a nonce, read its status
 * until the nonce stands there or the time is over. Whether the answer vetoes a promotion is the
 * elector's business. Without a follower, or without the kind, nobody answers: that is told, too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "kube/json.h"
#include "kube/url.h"
#include "repointer/repointer.h"

#define LIMIT_MS 2000
#define POLL_MS  100

static void end(struct member *member, struct msg_witness_seen *seen)
{
	struct repointer *repointer = member->repointer;

	loop_timer_cancel(role_loop(repointer->process), &member->challenge.timer);
	kube_client_cancel(repointer->client, member->challenge.id);
	seen->nonce = member->challenge.nonce;
	seen->worker = member->index;
	member->challenge.id = 0;
	member->challenge.nonce = 0;
	(void)role_send(repointer->process, ROLE_ELECTOR, 0, MSG_WITNESS_SEEN, seen);
}

static void end_without(struct member *member, enum witness_answer answer)
{
	struct msg_witness_seen seen = { .answer = answer };

	end(member, &seen);
}

static enum lease_holder holder_of(const struct member *member, const char *holder)
{
	const struct us_config *config = role_config(member->repointer->process);

	if (holder[0] == '\0')
		return HOLDER_NONE;
	if (strcmp(holder, member->repointer->self) == 0)
		return HOLDER_SELF;
	for (unsigned i = 0; i < config->hub_count; i++)
		if (strcmp(holder, config_text_at(config, config->hubs[i].name)) == 0)
			return HOLDER_PEER;
	return HOLDER_OTHER;
}

/* False: the follower has not answered this nonce yet. */
static bool read_status(struct member *member, const json_t *object)
{
	static const struct {
		const char *result;
		enum witness_answer answer;
	} results[] = { { "read", WITNESS_READ }, { "unreachable", WITNESS_CUT_OFF },
		{ "denied", WITNESS_DENIED }, { "absent", WITNESS_ABSENT } };
	const json_t *status = kube_json_at(object, "status", NULL);
	const char *result = kube_json_text(status, "result");
	struct msg_witness_seen seen = { .answer = WITNESS_NO_ANSWER };
	int64_t term = kube_json_integer(status, "term", 0);
	int64_t age_ms = kube_json_integer(status, "ageMs", -1);

	if (strcmp(kube_json_text(status, "nonce"), member->challenge.text) != 0)
		return false;
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (strcmp(result, results[i].result) == 0)
			seen.answer = results[i].answer;
	/* A Lease without an age attests no renewal. */
	if (seen.answer == WITNESS_READ && (age_ms < 0 || term < 0))
		seen.answer = WITNESS_NO_ANSWER;
	seen.holder = holder_of(member, kube_json_text(status, "holder"));
	seen.term = term > 0 ? (uint64_t)term : 0;
	seen.age_ms = age_ms < 0 ? 0 : age_ms > UINT32_MAX ? UINT32_MAX : (uint64_t)age_ms;
	end(member, &seen);
	return true;
}

static uint32_t left_ms(const struct member *member)
{
	int64_t left = (member->challenge.limit_ns - base_clock_boot_ns()) / BASE_NS_PER_MS;

	return left > 0 ? (uint32_t)left : 0;
}

static void poll_later(struct member *member)
{
	int64_t at_ns = base_clock_boot_ns() + POLL_MS * BASE_NS_PER_MS;

	loop_timer_set(role_loop(member->repointer->process), &member->challenge.timer,
	    at_ns < member->challenge.limit_ns ? at_ns : member->challenge.limit_ns);
}

static void on_polled(void *arg, const struct kube_answer *answer)
{
	struct member *member = arg;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	bool done = object && read_status(member, object);

	json_decref(object);
	if (done)
		return;
	member->challenge.id = 0;
	poll_later(member);
}

static void probe_path(const struct member *member, struct buf *path)
{
	kube_url_path(
	    path, "ha.kubeslice.io", "v1alpha1", "hubprobes", NULL, member->repointer->self, NULL);
}

static void on_timer(void *arg, int64_t now_ns)
{
	struct member *member = arg;
	struct buf path = buf_make(1024);

	(void)now_ns;
	if (left_ms(member) == 0) {
		end_without(member, WITNESS_NO_ANSWER);
		return;
	}
	probe_path(member, &path);
	member->challenge.id =
	    member_ask(member, KUBE_GET, path.data, NULL, STR_LIT(""), left_ms(member), on_polled);
	buf_free(&path);
}

static void on_written(void *arg, const struct kube_answer *answer)
{
	struct member *member = arg;

	member->challenge.id = 0;
	switch (answer->class) {
	case KUBE_OK: poll_later(member); return;
	case KUBE_SILENT:
	case KUBE_BLIND:
	case KUBE_SERVER_ERROR: end_without(member, WITNESS_NO_API); return;
	default: end_without(member, WITNESS_NO_ANSWER); return;
	}
}

void witness_start(struct member *member, uint64_t nonce, uint64_t target_slot)
{
	struct repointer *repointer = member->repointer;
	const struct us_config *config = role_config(repointer->process);
	struct challenge *challenge = &member->challenge;
	struct buf body = buf_make(4096), path = buf_make(1024);

	if (challenge->nonce) /* the elector asks anew: it no longer waits for the last one */
		kube_client_cancel(repointer->client, challenge->id);
	challenge->nonce = nonce;
	challenge->target_slot = target_slot;
	challenge->limit_ns = base_clock_boot_ns() + LIMIT_MS * BASE_NS_PER_MS;
	challenge->timer.fire = on_timer;
	challenge->timer.arg = member;
	(void)snprintf(challenge->text, sizeof(challenge->text), "%016" PRIx64, nonce);
	loop_timer_cancel(role_loop(repointer->process), &challenge->timer);
	probe_path(member, &path);
	buf_puts(&body, "{\"apiVersion\":\"ha.kubeslice.io/v1alpha1\",\"kind\":\"HubProbe\","
			"\"metadata\":{\"name\":");
	buf_json_string(&body, str_of(repointer->self));
	buf_printf(&body, "},\"spec\":{\"nonce\":\"%s\",\"target\":", challenge->text);
	buf_json_string(&body, str_of(config_text_at(config, config->hubs[target_slot].name)));
	buf_puts(&body, "}}");
	challenge->id = member_ask(member, KUBE_PATCH_APPLY, path.data,
	    "fieldManager=" REPOINTER_MANAGER "&force=true", buf_str(&body), LIMIT_MS - POLL_MS,
	    on_written);
	buf_free(&body);
	buf_free(&path);
}
