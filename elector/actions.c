/*
 * Carries the machine's decisions out and shows them: log, Events, history, metrics, status. Each
 * order goes to somebody who answers within a deadline; none is waited for. The page comes first.
 * The machine is entered from here only, one event at a time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "elector/elector.h"
#include "elector/trace.h"

#define MICRO 1000000LL

static void metric(struct elector *elector, enum metric_id id, const char *label, int64_t micro)
{
	role_metric(elector->process, id, label, NULL, micro);
}

static bool send(struct elector *elector, enum role peer, enum message_id id, const void *body)
{
	return role_send(elector->process, peer, 0, id, body);
}

static void send_shards(struct elector *elector, enum message_id id, const void *body)
{
	for (unsigned shard = 0; shard < elector->shards; shard++)
		(void)role_send(elector->process, ROLE_REPOINTER, shard, id, body);
}

/* --- Saying -------------------------------------------------------------------------------------
 */

static enum fence_role fence_role_of(const struct elector *elector)
{
	if (elector->machine.page_open)
		return FENCE_LEADING;
	if (elector->machine.state == STATE_DRAIN || elector->machine.state == STATE_RELEASE)
		return FENCE_DRAINING;
	return elector->machine.loaded ? FENCE_STANDBY : FENCE_NONE;
}

/* A condition that is over says nothing of now: the peer that could not be read is read again. */
static struct str reason_of(const struct elector *elector)
{
	bool over = elector->condition && !elector->machine.told[elector->condition];

	return str_of(over ? elector->lasting : elector->reason);
}

void elector_show_leadership(struct elector *elector)
{
	const struct machine *m = &elector->machine;
	const struct us_config *config = elector->config;
	char holds[128] = "", operation[64], nonce[20];
	struct msg_status_leadership status = { .state = str_of(machine_state_name(m->state)),
		.role = fence_role_of(elector),
		.term = m->term,
		.led_term = m->led_term,
		.since_us = elector->since_us,
		.renewed_ns = m->page_open ? (uint64_t)m->led_renewed_ns : 0,
		.valid_until_ns = m->page_open ? (uint64_t)m->valid_until_ns : 0,
		.armed = m->state == STATE_STANDBY && machine_armed(m),
		.complete = machine_complete(m),
		.reason = reason_of(elector) };

	(void)machine_holds(m, holds);
	admin_put_operation(elector, operation, sizeof(operation));
	(void)snprintf(nonce, sizeof(nonce), "%016" PRIx64, elector->admin.nonce);
	status.holds = str_of(holds);
	status.operation = str_of(operation);
	status.nonce = str_of(nonce);
	if (m->page_open || m->peer.claim) {
		status.leader = str_of(config_text_at(config,
		    m->page_open ? config->self_name : config->hubs[1 - config->self].name));
		status.leader_seen_ns =
		    (uint64_t)(m->page_open ? m->led_renewed_ns : m->peer.changed_ns);
	}
	(void)send(elector, ROLE_MONITOR, MSG_STATUS_LEADERSHIP, &status);
	metric(elector, METRIC_PAUSED, NULL, machine_is_paused(m) ? MICRO : 0);
	metric(elector, METRIC_LEADER_STATUS, NULL, m->page_open ? MICRO : 0);
	metric(elector, METRIC_TERM, NULL, (int64_t)m->term * MICRO);
	metric(elector, METRIC_ARMED, "standby",
	    m->page_open   ? INT64_MIN
	    : status.armed ? MICRO
			   : 0);
}

/* A peer's Lease may say that it lasts 136 years. */
static uint64_t least_ms(int64_t ms)
{
	return ms < UINT32_MAX ? (uint64_t)ms : UINT32_MAX;
}

static void show_peer(struct elector *elector, bool always)
{
	const struct machine *m = &elector->machine;
	struct msg_status_peer status;

	memset(&status, 0, sizeof(status)); /* the gaps between its fields, too */
	status.class = m->last_class;
	status.why = m->last_why;
	status.holder = m->peer.holder;
	status.phase = m->peer.phase;
	status.term = m->peer.term;
	status.led_term = m->peer.led_term;
	status.changed_ns = (uint64_t)(m->peer.changed_ns > 0 ? m->peer.changed_ns : 0);
	status.threshold_ms = least_ms(machine_threshold_ns(m) / BASE_NS_PER_MS);
	status.lease_ms = least_ms(m->peer.duration_ms);
	status.since_us = elector->peer_since_us;
	status.standby = m->peer.standby.known;
	status.armed = m->peer.standby.armed;
	status.complete = m->peer.standby.complete;
	status.lag_ms = m->peer.standby.lag_ms > 0 ? least_ms(m->peer.standby.lag_ms) : 0;
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): nothing in it is undefined */
	if (!always && memcmp(&status, &elector->peer_status, sizeof(status)) == 0)
		return;
	memcpy(&elector->peer_status, &status, sizeof(status));
	metric(elector, METRIC_PEER_LEASE_DURATION, NULL,
	    m->peer.duration_ms ? m->peer.duration_ms * 1000 : INT64_MIN);
	(void)send(elector, ROLE_MONITOR, MSG_STATUS_PEER, &status);
}

void elector_step_ended(struct elector *elector, enum step step)
{
	int64_t took_ns = step_end(&elector->steps, step, base_clock_boot_ns());

	if (took_ns >= 0)
		metric(elector, METRIC_STEP_DURATION, step_name(step), took_ns / 1000);
}

/* Where one step ends the next begins; kick and Event begin with the page. */
static void count_steps(struct elector *elector, const struct machine_said *said, int64_t now_ns)
{
	struct steps *steps = &elector->steps;

	if (said->from == STATE_STOPPING && said->to != STATE_STOPPING)
		elector_step_ended(elector, STEP_STOP_MIRROR);
	if (said->from == STATE_ACQ && said->to == STATE_CONFIRM)
		elector_step_ended(elector, STEP_ACQUIRE_LEASE);
	if (said->from == STATE_CONFIRM && said->to == STATE_OPENING)
		elector_step_ended(elector, STEP_CONFIRM);
	if (said->from == STATE_OPENING && said->to == STATE_ACTIVE)
		elector_step_ended(elector, STEP_OPEN);
	switch (said->to) {
	case STATE_STOPPING: step_begin(steps, STEP_STOP_MIRROR, now_ns); break;
	case STATE_ACQ: step_begin(steps, STEP_ACQUIRE_LEASE, now_ns); break;
	case STATE_CONFIRM: step_begin(steps, STEP_CONFIRM, now_ns); break;
	case STATE_OPENING:
		step_begin(steps, STEP_OPEN, now_ns);
		step_begin(steps, STEP_PUBLISH, now_ns);
		break;
	case STATE_ACTIVE:
		if (said->from == STATE_ACTIVE)
			break;
		if (elector->machine.options.workload)
			step_begin(steps, STEP_KICK, now_ns);
		step_begin(steps, STEP_EVENT, now_ns);
		break;
	default: steps_forget(steps);
	}
}

static void count(struct elector *elector, const struct machine_said *said, int64_t now_ns)
{
	const struct trace_row *row = trace_row(said->reason);
	const char *outcome = said->reason == REASON_PROMOTED ? "promoted" : "aborted";

	count_steps(elector, said, now_ns);
	if (said->to == STATE_SUSPECT || said->reason == REASON_OWN_IS_NEWEST) {
		elector->promotion_began_ns = now_ns;
		elector->suspected_age_ns = said->numbers.age_ms * BASE_NS_PER_MS;
	}
	if (row->abort)
		metric(elector, METRIC_ABORTED, row->name, MICRO);
	if (said->reason == REASON_PROMOTED) {
		metric(elector, METRIC_FAILOVERS, NULL, MICRO);
		metric(elector, METRIC_LAST_PROMOTION, "active", base_clock_wall_us());
		if (said->numbers.kind == KIND_SUSPECT)
			metric(elector, METRIC_DETECTION, NULL, elector->suspected_age_ns / 1000);
	}
	if ((row->abort || said->reason == REASON_PROMOTED) && elector->promotion_began_ns) {
		metric(elector, METRIC_PROMOTION_DURATION, outcome,
		    (now_ns - elector->promotion_began_ns) / 1000);
		elector->promotion_began_ns = 0;
	}
}

static void say(struct elector *elector, const struct machine_said *said, int64_t now_ns)
{
	const struct trace_row *row = trace_row(said->reason);
	struct msg_status_history entry = { .time_us = base_clock_wall_us(),
		.from = str_of(machine_state_name(said->from)),
		.to = str_of(machine_state_name(said->to)),
		.term = said->numbers.term,
		.reason = str_of(row->name) };

	trace_text(elector->reason, sizeof(elector->reason), said);
	elector->condition = said->condition ? said->reason : REASON_NONE;
	if (!said->condition)
		memcpy(elector->lasting, elector->reason, sizeof(elector->lasting));
	entry.text = str_of(elector->reason);
	count(elector, said, now_ns);
	if (!said->first) { /* an episode that goes on: neither Event nor history (G5) */
		log_debug("%s > %s: %s", entry.from.p, entry.to.p, elector->reason);
		return;
	}
	log_write(row->warning ? LOG_WARN : LOG_INFO, "%s > %s: %s", entry.from.p, entry.to.p,
	    elector->reason);
	if (said->from != said->to)
		elector->since_us = entry.time_us;
	if (said->from == STATE_INIT && said->to == STATE_STANDBY)
		role_tell(elector->process, CONTROL_LEADING, FENCE_STANDBY, entry.term, NULL);
	if (row->event)
		events_own(elector, row->event, row->action, row->warning, elector->reason);
	if (elector->machine.loaded)
		record_history(elector, &entry);
	(void)send(elector, ROLE_MONITOR, MSG_STATUS_HISTORY, &entry);
}

/* --- Doing --------------------------------------------------------------------------------------
 */

static void put_page(struct elector *elector, const struct machine_todo *order)
{
	enum fence_role role = order->permit.open ? FENCE_LEADING : fence_role_of(elector);
	bool was_open = elector->page_is_open;

	fence_page_write(&elector->page, role, order->permit.term, order->permit.valid_until_ns,
	    base_clock_boot_ns());
	elector->page_is_open = order->permit.open;
	/* L114: a hub that does not lead has no last renewal to show. */
	metric(elector, METRIC_LAST_RENEW, "active",
	    order->permit.open ? base_clock_wall_us() : INT64_MIN);
	if (was_open != order->permit.open)
		role_tell(elector->process, CONTROL_LEADING, role, order->permit.term, NULL);
}

static void grant(struct elector *elector, const struct machine_todo *order)
{
	struct msg_mirror_grant grant = { .source_uid = str_of(order->grant.uid),
		.term = order->grant.term,
		.led_term = order->grant.led_term,
		.rejoin = order->grant.rejoin };

	/* Without a link now it is sent when the syncer has one (elector_tell_again). */
	(void)send(elector, ROLE_SYNCER, MSG_MIRROR_GRANT, &grant);
}

static void permit(struct elector *elector, uint64_t term, int64_t valid_until_ns)
{
	struct msg_permit permit = { term, (uint64_t)valid_until_ns };

	(void)send(elector, ROLE_PUBLISHER, MSG_PERMIT, &permit);
	send_shards(elector, MSG_PERMIT, &permit);
}

static void ask_barrier(struct elector *elector, uint64_t id)
{
	char text[20];

	(void)snprintf(text, sizeof(text), "%016" PRIx64, id);
	(void)snprintf(elector->ack_why, sizeof(elector->ack_why),
	    "the mirror did not answer in time or its process ended");
	(void)send(
	    elector, ROLE_SYNCER, MSG_BARRIER_ASKED, &(struct msg_barrier_asked){ str_of(text) });
}

static void carry_out_message(struct elector *elector, const struct machine_todo *order)
{
	unsigned slot = elector->machine.options.slot;

	switch (order->verb) {
	case TODO_PEER_READ:
		(void)send(elector, ROLE_OBSERVER, MSG_PEER_READ_ASKED,
		    &(struct msg_peer_read_asked){ .nonce = order->nonce, .fresh = true });
		break;
	case TODO_WORKERS_READ:
		send_shards(elector, MSG_WORKERS_READ_ASKED,
		    &(struct msg_workers_read_asked){ order->nonce });
		break;
	case TODO_WITNESS:
		send_shards(elector, MSG_WITNESS_ASKED,
		    &(struct msg_witness_asked){ order->nonce, 1 - slot });
		break;
	case TODO_DRAIN:
		(void)send(elector, ROLE_SYNCER, MSG_DRAIN_ASKED,
		    &(struct msg_drain_asked){ (uint64_t)order->deadline_ns });
		break;
	case TODO_GRANT: grant(elector, order); break;
	case TODO_PAUSE:
		(void)send(elector, ROLE_SYNCER, MSG_MIRROR_PAUSE,
		    &(struct msg_mirror_pause){ STR_LIT("the peer has no claim to mirror") });
		break;
	case TODO_BARRIER: ask_barrier(elector, order->nonce); break;
	case TODO_PERMIT: permit(elector, order->permit.term, order->permit.valid_until_ns); break;
	case TODO_PROBE:
		(void)send(elector, ROLE_PUBLISHER, MSG_PROBE_ASKED,
		    &(struct msg_probe_asked){ order->nonce });
		break;
	default: break;
	}
}

static void carry_out(struct elector *elector, const struct machine_todo *order)
{
	struct role_process *process = elector->process;

	switch (order->verb) {
	case TODO_PAGE: put_page(elector, order); break;
	case TODO_LOAD: record_load(elector); break;
	case TODO_LEASE_READ: lease_read(elector); break;
	case TODO_LEASE_WRITE: claim_write(elector, order); break;
	case TODO_ROLE: record_write_role(elector, order->role.role, order->role.term); break;
	case TODO_RECORD: record_write(elector); break;
	case TODO_SYNCER_STOP:
		role_tell(process, CONTROL_STOP_SYNCER, (uint64_t)order->deadline_ns, 0, NULL);
		break;
	case TODO_SYNCER_START: role_tell(process, CONTROL_START_SYNCER, 0, 0, NULL); break;
	case TODO_RUN:
		role_tell(process, CONTROL_RUN, order->permit.term,
		    (uint64_t)order->permit.valid_until_ns, NULL);
		break;
	case TODO_STOP_RUN: role_tell(process, CONTROL_STOP_RUN, 0, 0, NULL); break;
	case TODO_EXIT:
		role_tell(process, CONTROL_EXITING, 0, 0,
		    trace_row(order->code == 78 ? REASON_PEER_CLASH : REASON_FOREIGN_INSTANCE)
			->name);
		role_leave(process, order->code);
		break;
	default: carry_out_message(elector, order); break;
	}
}

/* --- The step -----------------------------------------------------------------------------------
 */

/* What the probe says of the admission policies, for the audit (C1). */
static void show_enforced(struct elector *elector)
{
	static const char *const found[] = { [PROBE_ACCEPTED] = "a governed write was accepted",
		[PROBE_FENCED] = "a governed write was refused: UNDERSTUDY_FENCE",
		[PROBE_NO_OBJECT] = "no mirrored Namespace to try it on",
		[PROBE_FAILED] = "the probe could not be made" };
	const struct machine *m = &elector->machine;
	bool leads = m->role == HUB_LEADING;
	struct msg_status_rights message = { .row = CREDENTIAL_ELECTOR * RIGHTS_CHECKS +
						    RIGHTS_CHECK_FENCE,
		.verdict = RIGHTS_UNKNOWN,
		.declared = leads ? STR_LIT("HubRole is Leading: governed writes are accepted")
				  : STR_LIT("HubRole is not Leading: governed writes are refused"),
		.found = str_of(found[m->probe_verdict]),
		.seen_ns = (uint64_t)m->now_ns };

	if (m->probe_verdict <= PROBE_FENCED)
		message.verdict = m->probe_verdict == (leads ? PROBE_ACCEPTED : PROBE_FENCED)
				      ? RIGHTS_AS_WANTED
				      : RIGHTS_DIFFER;
	(void)send(elector, ROLE_MONITOR, MSG_STATUS_RIGHTS, &message);
	/* With nothing to try it on there is no answer, and nobody is woken for one. */
	metric(elector, METRIC_FENCE_OK, NULL,
	    m->probe_verdict == PROBE_NO_OBJECT   ? INT64_MIN
	    : message.verdict == RIGHTS_AS_WANTED ? MICRO
						  : 0);
}

static void show_event(struct elector *elector, const struct machine_event *event, bool changed)
{
	if (event->input == MACHINE_PEER_SEEN)
		show_peer(elector, false);
	if (event->input == MACHINE_PROBE_SEEN)
		show_enforced(elector);
	if (changed || event->input == MACHINE_PEER_SEEN || event->input == MACHINE_MIRROR_SEEN)
		elector_show_leadership(elector);
}

/* Each line from here on is about this term, and about what a person asked for. */
static void tell_log(struct elector *elector)
{
	char operation[64];
	const char *id;

	admin_put_operation(elector, operation, sizeof(operation));
	id = strchr(operation, ' ');
	log_term(elector->machine.term);
	log_operation(id ? id + 1 : "");
}

void elector_feed(struct elector *elector, struct machine_event *event)
{
	struct machine_out out;
	bool renewed;

	CHECK(!elector->stepping);
	if (elector->stopping)
		return;
	elector->stepping = true;
	event->wall_us = base_clock_wall_us();
	event->random = base_random_u64();
	machine_step(&elector->machine, event, base_clock_boot_ns(), &out);
	tell_log(elector);
	renewed = out.todo_count && out.todo[0].verb == TODO_PAGE;
	for (unsigned i = 0; i < out.todo_count; i++)
		carry_out(elector, &out.todo[i]);
	for (unsigned i = 0; i < out.said_count; i++)
		say(elector, &out.said[i], elector->machine.now_ns);
	admin_follow(elector, &out);
	show_event(elector, event, out.said_count > 0 || renewed);
	if (out.wake_at_ns == INT64_MAX)
		loop_timer_cancel(role_loop(elector->process), &elector->wake);
	else
		loop_timer_set(role_loop(elector->process), &elector->wake, out.wake_at_ns);
	elector->stepping = false;
}

void elector_wake(void *arg, int64_t now_ns)
{
	struct machine_event event = { .input = MACHINE_TIME };

	(void)now_ns;
	elector_feed(arg, &event);
}

void elector_close_page(struct elector *elector)
{
	elector->stopping = true;
	loop_timer_cancel(role_loop(elector->process), &elector->wake);
	fence_page_write(
	    &elector->page, FENCE_STANDBY, elector->machine.term, 0, base_clock_boot_ns());
	permit(elector, elector->machine.term, 0);
}

void elector_show_all(struct elector *elector)
{
	record_show_history(elector);
	show_peer(elector, true);
	elector_show_leadership(elector);
	if (elector->machine.probe_known)
		show_enforced(elector);
}

void elector_tell_again(struct elector *elector, struct role_id peer)
{
	const struct machine *m = &elector->machine;
	bool valid = m->leading_applied && m->valid_until_ns && m->state != STATE_DRAIN;
	struct msg_permit permit = { m->term, valid ? (uint64_t)m->valid_until_ns : 0 };
	struct machine_todo order = { .verb = TODO_GRANT };

	if (peer.role == ROLE_PUBLISHER || peer.role == ROLE_REPOINTER)
		(void)role_send(elector->process, peer.role, peer.shard, MSG_PERMIT, &permit);
	if (peer.role == ROLE_PUBLISHER && m->probe_nonce && !m->probe_known)
		(void)send(elector, ROLE_PUBLISHER, MSG_PROBE_ASKED,
		    &(struct msg_probe_asked){ m->probe_nonce });
	if (peer.role != ROLE_SYNCER || !m->granted)
		return;
	memcpy(order.grant.uid, m->peer.uid, sizeof(order.grant.uid));
	order.grant.term = m->granted_term;
	order.grant.led_term = m->granted_led;
	order.grant.rejoin = m->grant_rejoin;
	grant(elector, &order);
}
