/*
 * See the header. The counterpart of messages.c and actions.c for a replica; decides nothing. The
 * page comes first in what is carried out. Called by main.c and the role's loop.
 */
#include "elector/contend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "elector/elector.h"

#define MICRO   1000000LL
#define SHOW_NS (5 * BASE_NS_PER_S)

static void metric(struct elector *elector, enum metric_id id, const char *label, int64_t micro)
{
	role_metric(elector->process, id, label, NULL, micro);
}

/* --- The Lease in the machine's words, and back -------------------------------------------------
 */

static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return hash;
}

void contend_identity(const char *name, uint64_t instance, char identity[254])
{
	(void)snprintf(identity, 254, "%.236s_%016" PRIx64, name, instance);
}

/* The number behind this replica's name; 0: another name, or something else behind it. */
static uint64_t instance_of(const char *name, const char *holder)
{
	size_t n = strlen(name) < 236 ? strlen(name) : 236;

	if (strncmp(holder, name, n) != 0 || holder[n] != '_')
		return 0;
	return annotations_id(str_of(holder + n + 1));
}

void contend_judge(const char *name, const char *identity, const struct kube_lease *lease,
    struct replicas_record *out)
{
	*out = (struct replicas_record){ .exists = true,
		.holder = !lease->holder[0]                      ? REPLICAS_NOBODY
			  : strcmp(lease->holder, identity) == 0 ? REPLICAS_SELF
								 : REPLICAS_OTHER,
		.holder_hash = lease->holder[0] ? hash_of(lease->holder) : 0,
		.instance = instance_of(name, lease->holder),
		.term = lease->term,
		.transitions = lease->transitions,
		.acquire_us = lease->acquire_us,
		.renew_us = lease->renew_us,
		.duration_ms = lease->duration_ms,
		.prefers_other =
		    lease->preferred_holder[0] && strcmp(lease->preferred_holder, identity) != 0 };
}

static void judge(
    struct elector *elector, const struct kube_lease *lease, struct replicas_record *out)
{
	struct contender *contender = &elector->contender;

	(void)snprintf(contender->holder, sizeof(contender->holder), "%s", lease->holder);
	contend_judge(config_text_at(elector->config, elector->config->self_name),
	    contender->identity, lease, out);
}

static void feed(struct elector *elector, struct replicas_event *event);

static void on_answered(struct elector *elector, const struct lease_answer *answer)
{
	struct replicas_event event = { .input = REPLICAS_ON_ANSWER };

	event.answer.write = answer->write;
	event.answer.outcome = answer->outcome;
	event.answer.conflict = answer->conflict;
	event.answer.never_sent = answer->never_sent;
	/* One that cannot be parsed is there and says nothing: without a holder, as H15. */
	if (answer->outcome == OUTCOME_DONE && elector->lease.base)
		judge(elector, &elector->lease.last, &event.answer.record);
	feed(elector, &event);
}

static void on_watched(struct elector *elector, const struct kube_lease *lease)
{
	struct replicas_event event = { .input = REPLICAS_ON_WATCH };

	if (lease)
		judge(elector, lease, &event.watched);
	feed(elector, &event);
}

static void write_lease(struct elector *elector, const struct replicas_todo *order)
{
	const struct us_config *config = elector->config;
	struct contender *contender = &elector->contender;
	struct kube_lease lease = elector->lease.last;

	if (order->acquire) {
		contender->acquire_us = order->renew_us;
		/* As client-go: a Lease that is made counts no change of its holder. */
		contender->transitions = elector->lease.base ? lease.transitions + 1 : 0;
	}
	(void)snprintf(
	    lease.holder, sizeof(lease.holder), "%s", order->claim ? contender->identity : "");
	lease.acquire_us = order->claim ? contender->acquire_us : order->renew_us;
	lease.renew_us = order->renew_us;
	lease.transitions = contender->transitions;
	lease.duration_ms = order->claim ? config->lease_duration_ms : 1000; /* R8 */
	lease.term = lease.led_term = order->term;
	lease.phase = order->claim ? PHASE_LEADING : PHASE_RELEASED;
	lease.instance = contender->machine.options.instance;
	memcpy(lease.timing, elector->timing, sizeof(lease.timing));
	lease_put(elector, &lease);
}

/* --- Showing -----------------------------------------------------------------------------------
 */

static enum fence_role fence_role_of(const struct replicas *r)
{
	switch (r->state) {
	case REPLICAS_LEADING: return FENCE_LEADING;
	case REPLICAS_ENDING: return FENCE_DRAINING;
	case REPLICAS_STARTING: return FENCE_NONE;
	default: return FENCE_STANDBY;
	}
}

static void show(struct elector *elector)
{
	const struct contender *contender = &elector->contender;
	const struct replicas *r = &contender->machine;
	bool leading = r->state == REPLICAS_LEADING;
	int64_t renewed_ns = r->valid_until_ns - r->options.renew_deadline_ns;
	struct msg_status_leadership status = { .state = str_of(replicas_state_name(r->state)),
		.role = fence_role_of(r),
		.term = leading ? r->term : r->record.term,
		.led_term = r->term,
		.since_us = elector->since_us,
		.renewed_ns = leading ? (uint64_t)renewed_ns : 0,
		.valid_until_ns = leading ? (uint64_t)r->valid_until_ns : 0,
		.reason = str_of(
		    replicas_still(r, contender->said) ? elector->reason : elector->lasting) };

	if (leading) {
		status.leader = str_of(contender->identity);
		status.leader_seen_ns = (uint64_t)renewed_ns;
	} else if (replicas_holder_is_live(r)) {
		status.leader = str_of(contender->holder);
		status.leader_seen_ns = (uint64_t)r->observed_ns;
	}
	(void)role_send(elector->process, ROLE_MONITOR, 0, MSG_STATUS_LEADERSHIP, &status);
	metric(elector, METRIC_LEADER_STATUS, NULL, leading ? MICRO : 0);
	metric(elector, METRIC_TERM, NULL, (int64_t)status.term * MICRO);
}

static void on_show(void *arg, int64_t now_ns)
{
	struct elector *elector = arg;

	show(elector);
	loop_timer_set(role_loop(elector->process), &elector->contender.show, now_ns + SHOW_NS);
}

static void say(struct elector *elector, const struct replicas_said *said)
{
	const struct replicas_words *words = replicas_words(said->reason);
	struct msg_status_history entry = { .time_us = base_clock_wall_us(),
		.from = str_of(replicas_state_name(said->from)),
		.to = str_of(replicas_state_name(said->to)),
		.term = said->term,
		.reason = str_of(words->name) };

	replicas_text(elector->reason, sizeof(elector->reason), said, elector->contender.holder);
	entry.text = str_of(elector->reason);
	elector->contender.said = said->reason;
	if (!replicas_is_condition(said->reason))
		memcpy(elector->lasting, elector->reason, sizeof(elector->lasting));
	log_write(words->warning ? LOG_WARN : LOG_INFO, "%s > %s: %s", entry.from.p, entry.to.p,
	    elector->reason);
	if (said->from != said->to)
		elector->since_us = entry.time_us;
	if (said->reason == REPLICAS_TAKEN)
		metric(elector, METRIC_FAILOVERS, NULL, MICRO);
	if (words->event)
		events_own(
		    elector, words->event, "LeaderElection", words->warning, elector->reason);
	record_history(elector, &entry);
	(void)role_send(elector->process, ROLE_MONITOR, 0, MSG_STATUS_HISTORY, &entry);
}

/* --- Doing --------------------------------------------------------------------------------------
 */

static void put_page(struct elector *elector, const struct replicas_todo *order)
{
	enum fence_role role = order->open ? FENCE_LEADING : FENCE_STANDBY;
	bool was_open = elector->page_is_open;

	fence_page_write(
	    &elector->page, role, order->term, order->valid_until_ns, base_clock_boot_ns());
	elector->page_is_open = order->open;
	metric(elector, METRIC_LAST_RENEW, "active",
	    order->open ? base_clock_wall_us() : INT64_MIN); /* L114 */
	if (was_open != order->open)
		role_tell(elector->process, CONTROL_LEADING, role, order->term, NULL);
}

static void carry_out(struct elector *elector, const struct replicas_todo *order)
{
	struct role_process *process = elector->process;

	switch (order->verb) {
	case REPLICAS_PAGE: put_page(elector, order); break;
	case REPLICAS_READ: lease_read(elector); break;
	case REPLICAS_WRITE: write_lease(elector, order); break;
	case REPLICAS_RUN:
		role_tell(process, CONTROL_RUN, order->term, (uint64_t)order->valid_until_ns, NULL);
		break;
	case REPLICAS_STOP_RUN: role_tell(process, CONTROL_STOP_RUN, 0, 0, NULL); break;
	case REPLICAS_EXIT:
		role_tell(process, CONTROL_EXITING, 0, 0, elector->reason);
		role_leave(process, order->code);
		break;
	}
}

static void feed(struct elector *elector, struct replicas_event *event)
{
	struct replicas *machine = &elector->contender.machine;
	struct replicas_out out;

	CHECK(!elector->stepping);
	elector->stepping = true;
	event->wall_us = base_clock_wall_us();
	event->random = base_random_u64();
	replicas_step(machine, event, base_clock_boot_ns(), &out);
	log_term(machine->state == REPLICAS_LEADING ? machine->term : machine->record.term);
	/* What is said first, for EXIT takes the reason along. */
	for (unsigned i = 0; i < out.todo_count; i++)
		if (out.todo[i].verb == REPLICAS_PAGE)
			carry_out(elector, &out.todo[i]);
	for (unsigned i = 0; i < out.said_count; i++)
		say(elector, &out.said[i]);
	for (unsigned i = 0; i < out.todo_count; i++)
		if (out.todo[i].verb != REPLICAS_PAGE)
			carry_out(elector, &out.todo[i]);
	if (out.said_count || event->input == REPLICAS_ON_ANSWER ||
	    event->input == REPLICAS_ON_WATCH)
		show(elector);
	if (out.wake_at_ns == INT64_MAX)
		loop_timer_cancel(role_loop(elector->process), &elector->wake);
	else
		loop_timer_set(role_loop(elector->process), &elector->wake, out.wake_at_ns);
	elector->stepping = false;
}

static void on_wake(void *arg, int64_t now_ns)
{
	struct replicas_event event = { .input = REPLICAS_ON_TIME };

	(void)now_ns;
	feed(arg, &event);
}

/* --- Life ---------------------------------------------------------------------------------------
 */

static void on_credential(void *ctx, const struct msg_credential *m)
{
	struct elector *elector = ctx;
	struct replicas_event event = { .input = REPLICAS_ON_START };

	if (!kube_client_take(elector->client, m) || elector->lease.watch)
		return; /* a rotation: requests use it from now on */
	lease_watch(elector);
	feed(elector, &event);
}

static void on_link(void *ctx, struct link *link)
{
	struct elector *elector = ctx;

	if (link->peer.role != ROLE_MONITOR)
		return;
	kube_client_show(elector->client, CREDENTIAL_ELECTOR);
	record_show_history(elector);
	show(elector);
}

static void on_link_end(void *ctx, struct role_id peer)
{
	struct elector *elector = ctx;

	if (peer.role == ROLE_ELECTOR_DIALER)
		kube_client_dialer_lost(elector->client);
}

static void on_control(void *ctx, const struct us_ctl *ctl, struct str more, int fd)
{
	struct elector *elector = ctx;
	struct replicas_event event = { 0 };

	(void)more;
	if (ctl->type == CONTROL_ADMIN_CLIENT && fd >= 0) {
		admin_take_client(elector, fd, ctl);
		return;
	}
	CHECK(fd < 0 || close(fd) == 0);
	switch (ctl->type) {
	case CONTROL_WORKLOAD_SEEN:
		event.input = REPLICAS_ON_WORKLOAD;
		event.workload.running = ctl->a[0] == 1;
		event.workload.empty = ctl->a[1] == 1;
		break;
	case CONTROL_PREDECESSOR_DEAD:
		event.input = REPLICAS_ON_DEATH;
		event.instance = ctl->a[0];
		break;
	default: return;
	}
	feed(elector, &event);
}

/* What a running role may be told to change is nothing that a replica has. */
static void on_config(void *ctx, const struct us_config *before)
{
	struct elector *elector = ctx;

	(void)before;
	elector->config = role_config(elector->process);
}

/* R9: here a stop gives the Lease back, for another replica is there to take it (H21). */
static void on_stop(void *ctx, int64_t deadline_ns)
{
	struct replicas_event event = { .input = REPLICAS_ON_STOP, .deadline_ns = deadline_ns };

	feed(ctx, &event);
}

const struct role_ops contend_ops = {
	.on_message = elector_on_message,
	.on_link = on_link,
	.on_link_end = on_link_end,
	.on_credential = on_credential,
	.on_control = on_control,
	.on_config = on_config,
	.on_stop = on_stop,
};

void contend_open(struct elector *elector, uint64_t instance)
{
	static const struct lease_ops ops = { on_answered, on_watched };
	const struct us_config *config = elector->config;
	struct replicas_options options = { .instance = instance,
		.workload = config->argument_count > 0,
		.duration_ns = config->lease_duration_ms * BASE_NS_PER_MS,
		.renew_deadline_ns = config->renew_deadline_ms * BASE_NS_PER_MS,
		.retry_ns = config->retry_period_ms * BASE_NS_PER_MS,
		.request_ns = config_request_deadline_ms(config) * BASE_NS_PER_MS,
		.stop_grace_ns = config->stop_grace_ms * BASE_NS_PER_MS };
	struct contender *contender = &elector->contender;

	replicas_init(&contender->machine, &options);
	contend_identity(config_text_at(config, config->self_name), instance, contender->identity);
	lease_open(elector, KUBE_LEASE_REPLICAS_NAME, &ops);
	role_attach(elector->process, &contend_ops, elector);
	(void)snprintf(
	    elector->reason, sizeof(elector->reason), "starting: the identity is not here yet");
	memcpy(elector->lasting, elector->reason, sizeof(elector->lasting));
	elector->wake = (struct loop_timer){ .fire = on_wake, .arg = elector };
	contender->show = (struct loop_timer){ .fire = on_show, .arg = elector };
	loop_timer_set(role_loop(elector->process), &contender->show, base_clock_boot_ns());
}

void contend_close(struct elector *elector)
{
	loop_timer_cancel(role_loop(elector->process), &elector->contender.show);
}
