/*
 * Carries a decision out. Order: jitter, proof of the target, the term on the disk, the swap, the
 * command (H19). Each step that fails leaves the worker where it is (W19), and the next look
 * decides anew. Nothing here touches a tunnel or a gateway: traffic goes on (W26).
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "follower/follower.h"

/* How far hundreds of workers spread their move. */
#define JITTER_NS (2 * BASE_NS_PER_S)

static void forget(struct follower *follower)
{
	loop_timer_cancel(role_loop(follower->process), &follower->move_timer);
	kube_client_cancel(follower->client, follower->proof_id);
	follower->proof_id = 0;
	follower->wanted = (struct rule_choice){ .hub = RULE_NOWHERE };
}

/* False: not on the disk, so it must not be followed. */
static bool keep_term(struct follower *follower, uint64_t term)
{
	struct err err;

	if (term <= follower->kept_term)
		return true;
	if (handover_keep_term(ROLE_FD_FILES, term, &err)) {
		log_error("%s", err.text);
		return false;
	}
	follower->kept_term = term;
	return true;
}

void follow_hand_over(struct follower *follower)
{
	const struct us_config *config = follower->config;
	struct hub *hub = follower_current(follower);
	struct handover_content content;
	struct err err;

	if (!hub || !hub->has_client ||
	    (follower->handed == (int)hub->index &&
		follower->handed_term == follower->rule.current.term &&
		follower->handed_token == hub->generation))
		return;
	/* The floor first, whatever led here: also when it could not be written before (H19). */
	if (!keep_term(follower, follower->rule.max_term))
		return;
	content = (struct handover_content){ .endpoint = str_of(hub->endpoint),
		.token = buf_str(&hub->token),
		.ca = str_of(hub->ca),
		.namespace = str_of(config_text_at(config, config->follower.project_namespace)),
		.term = follower->rule.current.term };
	if (handover_swap(ROLE_FD_FILES, &follower->handover_generation, &content, &err)) {
		log_error("%s", err.text);
		return;
	}
	if (follower->handed != (int)hub->index)
		log_info("handed over: %s, term %" PRIu64, hub->name, content.term);
	follower->handed = (int)hub->index;
	follower->handed_term = content.term;
	follower->handed_token = hub->generation;
	if (config->argument_count > 0)
		role_tell(follower->process, CONTROL_RUN, hub->index + 1, 0, NULL);
	operator_step(follower);
	controller_changed(follower);
}

/* --- The move --------------------------------------------------------------------------------- */

static void move(struct follower *follower, const struct rule_choice *choice)
{
	struct hub *left = follower_current(follower), *hub = &follower->hubs[choice->hub];
	bool other = left && left != hub;

	if (!keep_term(follower, choice->term))
		return;
	rule_followed(&follower->rule, choice);
	if (other) {
		log_info("following %s now, term %" PRIu64 "; %s is left", hub->name, choice->term,
		    left->name);
		report_left(left);
		follower->reconnected = true;
		follower->told_connected = false;
		role_metric(follower->process, METRIC_HUB_SWITCHES, NULL, NULL, 1000000);
	} else {
		log_info("following %s, term %" PRIu64, hub->name, choice->term);
	}
	role_metric(follower->process, METRIC_RECONNECTS,
	    hub->index == 0 ? "primary" : "resolved-switch", NULL, 1000000);
	follow_hand_over(follower);
	poll_now(follower);
}

static void on_proof(void *arg, const struct kube_answer *answer)
{
	struct hub *hub = arg;
	struct follower *follower = hub->follower;
	struct rule_choice choice = follower->wanted;

	follower->proof_id = 0;
	forget(follower);
	if (choice.hub != (int)hub->index)
		return;
	if (answer->class == KUBE_OK) {
		move(follower, &choice);
		return;
	}
	log_warn("%s claims to lead and does not serve this worker (%s %s): it stays where it is",
	    hub->name, kube_class_name(answer->class), answer->message);
	role_metric(follower->process, METRIC_RECONNECTS, "unresolved", NULL, 1000000);
	rule_fall_back(&follower->rule);
	follow_hand_over(follower);
}

/* A new connection: the one that lives may lead to what is being left (B11). */
void follow_timer(void *arg, int64_t now_ns)
{
	struct follower *follower = arg;
	struct hub *hub = &follower->hubs[follower->wanted.hub];
	struct buf path = buf_make(1024);

	(void)now_ns;
	hub_cluster_path(hub, &path, NULL);
	follower->proof_id = hub_ask(hub, KUBE_GET, path.data, STR_LIT(""),
	    follower->config->follower.timeout_ms, true, on_proof);
	buf_free(&path);
}

int64_t follow_delay_ns(uint64_t random)
{
	return (int64_t)(random % (uint64_t)JITTER_NS);
}

static void begin(struct follower *follower, const struct rule_choice *choice)
{
	int64_t delay_ns = 0;

	if (follower->wanted.hub == choice->hub) {
		follower->wanted.term = choice->term;
		return;
	}
	forget(follower);
	follower->wanted = *choice;
	if (follower->rule.established)
		delay_ns = follow_delay_ns(base_random_u64());
	log_info("moving to %s in %" PRId64 " ms", follower->hubs[choice->hub].name,
	    (int64_t)(delay_ns / BASE_NS_PER_MS));
	loop_timer_set(
	    role_loop(follower->process), &follower->move_timer, base_clock_boot_ns() + delay_ns);
}

void follow_decided(struct follower *follower, const struct rule_decision *decision)
{
	const struct rule_choice *choice = &decision->choice;

	switch (decision->verdict) {
	case RULE_KEEP:
		/* The status quo is confirmed: a move that was under way is off. */
		if (choice->hub != RULE_NOWHERE)
			forget(follower);
		(void)keep_term(follower, follower->rule.max_term);
		break;
	case RULE_CONFIRM:
		if (follower->rule.count == 1)
			log_info("%s claims to lead: to be confirmed, %u of %u",
			    follower->hubs[choice->hub].name, follower->rule.count,
			    follower->rule.confirmations);
		break;
	case RULE_SWITCH: begin(follower, choice); break;
	}
	follow_hand_over(follower);
}
