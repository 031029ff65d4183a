/*
 * What the monitor of the worker shows (STATUS_FOLLOWER): whom it follows, what lies in the
 * hand-over, what each hub says. Only told; nobody's decision hangs on it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "follower/follower.h"

static const char *const statuses[] = { "Unknown", "True", "False" };

static void put_condition(char *text, size_t size, const struct condition *condition)
{
	(void)snprintf(text, size, "%s %.50s", statuses[condition->status],
	    condition->reason ? condition->reason : "NotKnown");
}

static void put_look(char *text, size_t size, const struct hub *hub)
{
	const struct rule_look *look = &hub->look;

	if (!hub->has_client)
		(void)snprintf(text, size, "no token for it yet");
	else if (look->reach == RULE_UNREACHABLE)
		(void)snprintf(text, size, "does not answer");
	else if (look->reach == RULE_UNREADABLE)
		(void)snprintf(text, size, "answers, and does not let this worker read (%s)",
		    kube_class_name(hub->cluster_class));
	else if (look->lease_term)
		(void)snprintf(text, size, "leads with term %" PRIu64 "%s", look->lease_term,
		    hub->superseded ? ", which is over" : "");
	else
		(void)snprintf(text, size, "answers, does not lead");
}

void show_follower(struct follower *follower)
{
	const struct rule *rule = &follower->rule;
	char connected[65], synced[65], looks[RULE_HUBS][129] = { "", "" };
	struct msg_status_follower status = { .follows = (uint64_t)(rule->current.hub + 1),
		.handed = (uint64_t)(follower->handed + 1),
		.pending = (uint64_t)(rule->pending.hub + 1),
		.seen = rule->count,
		.needed = rule->confirmations,
		.term = rule->current.term,
		.max_term = rule->max_term };

	log_term(rule->max_term);
	put_condition(connected, sizeof(connected), &follower->connected);
	put_condition(synced, sizeof(synced), &follower->synced);
	for (unsigned i = 0; i < follower->hub_count; i++)
		put_look(looks[i], sizeof(looks[i]), &follower->hubs[i]);
	status.connected = str_of(connected);
	status.synced = str_of(synced);
	status.look_a = str_of(looks[0]);
	status.look_b = str_of(looks[1]);
	status.operator= str_of(operator_state(follower));
	(void)role_send(follower->process, ROLE_MONITOR, 0, MSG_STATUS_FOLLOWER, &status);
}
