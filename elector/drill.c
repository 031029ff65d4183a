/*
 * See the header. Called by admin.c with requests, by messages.c with the answers of observer and
 * repointers, by the client with the API server's. It touches neither machine nor Lease.
 */
#include "elector/drill.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "elector/admin_inner.h"
#include "elector/elector.h"
#include "elector/trace.h"
#include "kube/json.h"

#define PATIENCE_NS  (8 * BASE_NS_PER_S)
#define AGAIN_NS     (300 * BASE_NS_PER_MS)
#define CLAIM_TRIES  5 /* the own Lease is written meanwhile, too */
#define WITNESS_PART 3 /* of the threshold: a younger silence is none yet */

static const char *const step_names[DRILL_STEPS] = { [DRILL_LOOK] = "last look at the peer's Lease",
	[DRILL_WITNESS] = "question to the workers",
	[DRILL_CLAIM] = "claim of the own Lease, dry run" };

static struct drill *drill_of(struct elector *elector)
{
	return &elector->admin.drill;
}

static void reset(struct drill *drill)
{
	drill->nonce = 0;
	drill->client = NULL;
	drill->claim = 0;
	drill->tries = 0;
	memset(drill->steps, 0, sizeof(drill->steps));
	memset(drill->answered, 0, sizeof(drill->answered));
}

/* --- The end -----------------------------------------------------------------------------------
 */

static void put_steps(const struct drill *drill, struct buf *out)
{
	buf_puts(out, ",\"steps\":[");
	for (unsigned i = 0; i < DRILL_STEPS; i++) {
		buf_puts(out, i ? ",{\"name\":" : "{\"name\":");
		buf_json_string(out, str_of(step_names[i]));
		buf_printf(out, ",\"ok\":%s,\"text\":", drill->steps[i].ok ? "true" : "false");
		buf_json_string(out, str_of(drill->steps[i].text));
		buf_printf(
		    out, ",\"ms\":%lld}", (long long)(drill->steps[i].took_ns / BASE_NS_PER_MS));
	}
	buf_puts(out, "]");
}

static void answer(struct elector *elector)
{
	struct drill *drill = drill_of(elector);
	struct buf out = buf_make(8192);
	bool ok = true;

	for (unsigned i = 0; i < DRILL_STEPS; i++)
		ok = ok && drill->steps[i].ok;
	buf_printf(
	    &out, "{\"outcome\":\"%s\"", admin_outcome_name(ok ? ADMIN_DONE : ADMIN_REFUSED));
	put_steps(drill, &out);
	buf_printf(&out, ",\"text\":\"%s\"}\n",
	    ok ? "nothing was changed" : "a step of a takeover fails; nothing was changed");
	log_info("drill: %s", ok ? "each step can be done" : "a step cannot be done");
	loop_timer_cancel(role_loop(elector->process), &drill->timer);
	if (drill->client)
		admin_finish(drill->client, buf_str(&out));
	buf_free(&out);
	reset(drill);
}

static void end_step(struct elector *elector, enum drill_step step, bool ok, const char *text)
{
	struct drill *drill = drill_of(elector);

	if (drill->steps[step].ended)
		return;
	drill->steps[step].ended = true;
	drill->steps[step].ok = ok;
	drill->steps[step].took_ns = base_clock_boot_ns() - drill->began_ns;
	(void)snprintf(drill->steps[step].text, sizeof(drill->steps[step].text), "%s", text);
}

static void settle(struct elector *elector)
{
	const struct drill *drill = drill_of(elector);
	bool all = drill->nonce != 0;

	for (unsigned i = 0; i < DRILL_STEPS; i++)
		all = all && drill->steps[i].ended;
	if (all)
		answer(elector);
}

/* --- The last look -----------------------------------------------------------------------------
 */

bool drill_look_seen(struct elector *elector, const struct msg_peer_seen *seen)
{
	const struct us_config *config = elector->config;
	const char *peer = config_text_at(config, config->hubs[1 - config->self].name);
	char text[200];
	bool known;

	if (!seen->nonce || seen->nonce != drill_of(elector)->nonce)
		return false;
	known = seen->class == PEER_OK && str_equal(seen->uid, str_of(elector->machine.peer.uid));
	if (known)
		(void)snprintf(text, sizeof(text),
		    "read over a new connection: %.80s %s, term %" PRIu64, peer,
		    seen->holder == HOLDER_PEER ? "leads" : "does not lead", seen->term);
	else
		(void)snprintf(text, sizeof(text), "not read over a new connection: %s",
		    seen->class == PEER_OK          ? "it is another cluster"
		    : seen->class == PEER_NOT_FOUND ? "there is none"
						    : trace_why((enum peer_why)seen->why));
	end_step(elector, DRILL_LOOK, known, text);
	settle(elector);
	return true;
}

/* --- The workers -------------------------------------------------------------------------------
 */

static bool asks_workers(const struct elector *elector)
{
	return elector->machine.options.witness && elector->config->worker_count > 0;
}

static void count_workers(struct elector *elector, bool late)
{
	const struct drill *drill = drill_of(elector);
	unsigned count[WITNESS_CUT + 1] = { 0 }, workers = elector->config->worker_count;
	char text[200];

	for (unsigned i = 0; i < workers && i < CREDENTIAL_MAX_WORKERS; i++)
		count[drill->answered[i]]++;
	if (count[WITNESS_CLASS_NONE] && !late)
		return;
	(void)snprintf(text, sizeof(text),
	    "of %u: %u see the peer renew, %u do not, %u have nobody who answers, %u not reached",
	    workers, count[WITNESS_FRESH], count[WITNESS_STALE], count[WITNESS_MUTE],
	    count[WITNESS_CUT] + count[WITNESS_CLASS_NONE]);
	/* The peer lives: who looks must see it (C3). Without a follower nobody looks. */
	end_step(elector, DRILL_WITNESS,
	    !count[WITNESS_STALE] && !count[WITNESS_CUT] && !count[WITNESS_CLASS_NONE], text);
}

bool drill_witness_seen(struct elector *elector, const struct msg_witness_seen *seen)
{
	struct drill *drill = drill_of(elector);

	if (seen->nonce != drill->nonce || seen->worker >= CREDENTIAL_MAX_WORKERS)
		return false;
	drill->answered[seen->worker] = (uint8_t)machine_witness_class(
	    (enum witness_answer)seen->answer, (enum lease_holder)seen->holder);
	count_workers(elector, false);
	settle(elector);
	return true;
}

/* --- The claim ---------------------------------------------------------------------------------
 */

static void try_claim(struct elector *elector);

/* What the server would have kept: the claim as it was sent, or somebody changed it on its way. */
static bool is_the_claim(const struct elector *elector, struct str body)
{
	const char *self = config_text_at(elector->config, elector->config->self_name);
	json_t *object = kube_json_parse(body, NULL);
	struct kube_lease lease;
	struct err err;
	bool is = object && kube_lease_parse(object, &lease, &err) == 0 &&
		  strcmp(lease.holder, self) == 0 && lease.phase == PHASE_ACQUIRING &&
		  lease.term == elector->admin.drill.term;

	json_decref(object);
	return is;
}

static void on_claimed(void *arg, const struct kube_answer *reply)
{
	struct elector *elector = arg;
	struct drill *drill = drill_of(elector);
	char text[256];

	drill->claim = 0;
	if (reply->class == KUBE_CONFLICT && drill->tries < CLAIM_TRIES) {
		loop_timer_set(
		    role_loop(elector->process), &drill->timer, base_clock_boot_ns() + AGAIN_NS);
		return;
	}
	if (reply->class != KUBE_OK)
		(void)snprintf(text, sizeof(text), "not taken: %s %.180s",
		    kube_class_name(reply->class), reply->message);
	else if (!is_the_claim(elector, reply->body))
		(void)snprintf(text, sizeof(text), "the API server makes something else of it");
	else
		(void)snprintf(text, sizeof(text), "term %" PRIu64 " would be taken", drill->term);
	end_step(elector, DRILL_CLAIM,
	    reply->class == KUBE_OK && is_the_claim(elector, reply->body), text);
	settle(elector);
}

static void try_claim(struct elector *elector)
{
	struct drill *drill = drill_of(elector);
	const struct us_config *config = elector->config;
	struct kube_lease lease = elector->lease.last;

	drill->term = machine_next_term(&elector->machine);
	drill->tries++;
	if (!elector->lease.base || !drill->term) {
		end_step(elector, DRILL_CLAIM, false,
		    drill->term ? "the own Lease was not read yet" : "no term is left");
		return;
	}
	(void)str_copy(
	    lease.holder, sizeof(lease.holder), str_of(config_text_at(config, config->self_name)));
	lease.term = drill->term;
	lease.phase = PHASE_ACQUIRING;
	lease.acquire_us = lease.renew_us = base_clock_wall_us();
	lease.transitions++;
	lease.duration_ms = config->lease_duration_ms;
	drill->claim = lease_try(elector, &lease, on_claimed);
}

/* --- The drill ---------------------------------------------------------------------------------
 */

/* Either the claim's next try, or patience is over. */
static void on_timer(void *arg, int64_t now_ns)
{
	struct elector *elector = arg;
	struct drill *drill = drill_of(elector);

	if (now_ns - drill->began_ns < PATIENCE_NS && !drill->claim &&
	    !drill->steps[DRILL_CLAIM].ended) {
		loop_timer_set(
		    role_loop(elector->process), &drill->timer, drill->began_ns + PATIENCE_NS);
		try_claim(elector);
		settle(elector);
		return;
	}
	if (drill->claim)
		kube_client_cancel(elector->client, drill->claim);
	end_step(elector, DRILL_LOOK, false, "the observer has not answered");
	count_workers(elector, true);
	end_step(elector, DRILL_CLAIM, false, "the API server has not answered");
	settle(elector);
}

/* A drill must not stand in the way of the real thing. */
static bool can_go(struct request *request)
{
	struct elector *elector = request->elector;
	const struct machine *m = &elector->machine;
	int64_t silent_ns = m->reads ? m->now_ns - m->watch_ns : 0;

	if (m->state != STATE_STANDBY || m->last_class != PEER_OK ||
	    silent_ns * WITNESS_PART > machine_threshold_ns(m))
		admin_refuse(request,
		    "a drill takes a Standby whose peer leads and is seen: nothing "
		    "was tried; promote --check asks the guards");
	else if (drill_of(elector)->nonce || !request->client)
		admin_refuse(request, "another drill is under way; one is done at a time");
	else if (!admin_within_rate(drill_of(elector)->taken_ns, &drill_of(elector)->taken_count,
		     DRILL_PER_MINUTE, base_clock_boot_ns()))
		admin_refuse(request, "30 drills a minute are made: try again later");
	else
		return true;
	return false;
}

void drill_command(struct request *request)
{
	struct elector *elector = request->elector;
	struct drill *drill = drill_of(elector);
	struct msg_peer_read_asked look = { .fresh = true };
	struct msg_witness_asked question = { .target_slot = 1 - elector->machine.options.slot };

	if (!can_go(request))
		return;
	reset(drill);
	drill->client = request->client;
	drill->began_ns = base_clock_boot_ns();
	drill->nonce = look.nonce = question.nonce = base_random_u64() | 1;
	drill->timer.fire = on_timer;
	drill->timer.arg = elector;
	loop_timer_set(role_loop(elector->process), &drill->timer, drill->began_ns + PATIENCE_NS);
	request->later = true;
	request->outcome = ADMIN_RUNNING;
	admin_wait(request->client, 2 * PATIENCE_NS);
	if (!role_send(elector->process, ROLE_OBSERVER, 0, MSG_PEER_READ_ASKED, &look))
		end_step(elector, DRILL_LOOK, false, "the observer is not connected");
	if (!asks_workers(elector))
		end_step(elector, DRILL_WITNESS, true, "nobody to ask");
	for (unsigned i = 0; asks_workers(elector) && i < elector->shards; i++)
		(void)role_send(elector->process, ROLE_REPOINTER, i, MSG_WITNESS_ASKED, &question);
	try_claim(elector);
	settle(elector);
}

void drill_client_gone(struct elector *elector, const struct admin_client *client)
{
	if (drill_of(elector)->client == client)
		drill_of(elector)->client = NULL;
}

void drill_close(struct elector *elector)
{
	struct drill *drill = drill_of(elector);

	if (!drill->nonce)
		return;
	loop_timer_cancel(role_loop(elector->process), &drill->timer);
	if (drill->claim)
		kube_client_cancel(elector->client, drill->claim);
	reset(drill);
}
