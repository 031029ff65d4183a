/*
 * See the header. Decides nothing: which write, and what an outcome means, is the machine's (H1).
 * Called by actions.c, record.c and the Lease's keeper.
 */
#include "elector/claim.h"

#include <string.h>

#include "elector/annotations.h"
#include "elector/elector.h"

/* 9999-01-01: a time that leaves no room to grow (H17) was not written by us and says nothing. */
#define RENEW_MOST_US 253370764800000000LL

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

void claim_judge(const struct elector *elector, struct machine_lease *out)
{
	const struct lease_keeper *keeper = &elector->lease;

	*out = (struct machine_lease){ .exists = keeper->base != NULL };
	if (keeper->base && !keeper->broken)
		judge(elector, &keeper->last, out);
}

static void on_answered(struct elector *elector, const struct lease_answer *answer)
{
	struct machine_event event = { .input = MACHINE_LEASE_ANSWERED };

	event.answer.write = answer->write;
	event.answer.outcome = answer->outcome;
	event.answer.conflict = answer->conflict;
	event.answer.never_sent = answer->never_sent;
	event.answer.date_us = answer->date_us;
	event.answer.finished_ns = answer->finished_ns;
	if (answer->outcome == OUTCOME_DONE)
		claim_judge(elector, &event.answer.lease);
	elector_feed(elector, &event);
}

static void on_watched(struct elector *elector, const struct kube_lease *lease)
{
	struct machine_event event = { .input = MACHINE_LEASE_WATCHED };

	if (lease)
		judge(elector, lease, &event.watched);
	elector_feed(elector, &event);
}

void claim_open(struct elector *elector)
{
	static const struct lease_ops ops = { on_answered, on_watched };

	lease_open(elector, KUBE_LEASE_NAME, &ops);
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
	if (order->lease.claim)
		lease->rejoin[0] = '\0';
	else if (elector->rejoin[0])
		memcpy(lease->rejoin, elector->rejoin, sizeof(elector->rejoin));
	lease->paused_until[0] = '\0';
	if (order->lease.paused_us)
		kube_time_put(lease->paused_until, order->lease.paused_us);
	annotations_put_block(lease->block, sizeof(lease->block), &order->lease.block);
	memcpy(lease->timing, elector->timing, sizeof(lease->timing));
	if (elector->pair[0])
		memcpy(lease->pair, elector->pair, sizeof(lease->pair));
}

void claim_write(struct elector *elector, const struct machine_todo *order)
{
	const struct us_config *config = elector->config;
	struct kube_lease lease = elector->lease.last;

	lease.holder[0] = '\0';
	if (order->lease.claim)
		(void)str_copy(lease.holder, sizeof(lease.holder),
		    str_of(config_text_at(config, config->self_name)));
	lease.term = order->lease.term;
	lease.led_term = order->lease.led_term;
	lease.phase = order->lease.phase;
	lease.renew_us = order->lease.renew_us;
	if (order->lease.claim)
		elector->rejoin[0] = '\0'; /* of an own past, and that is over */
	if (order->lease.acquire) {
		lease.acquire_us = order->lease.renew_us;
		lease.transitions++;
	}
	lease.instance = elector->machine.options.instance;
	lease.duration_ms = config->lease_duration_ms;
	put_texts(elector, order, &lease);
	lease_put(elector, &lease);
}
