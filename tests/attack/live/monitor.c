/*
 * A hostile monitor that wants its hub to be promoted (see live.h). It parses what the network
 * sends, holds nothing and may say nothing: it says it anyway, to everybody and to the supervisor.
 * Orders: "promote SECONDS SEED".
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "tests/attack/live/live.h"

#define STEP_NS (1500 * BASE_NS_PER_MS)

static struct {
	struct role_process *process;
	struct orders orders;
	struct loop_timer timer;
	struct link *links[ROLE_COUNT];
} monitor;

/* One thing for each life: each costs it its life, or the link. */
static void say(void)
{
	static const enum message_id lies[] = { MSG_PEER_SEEN, MSG_WITNESS_SEEN, MSG_MIRROR_SEEN,
		MSG_WORKERS_READ, MSG_PERMIT, MSG_SYNC_ASKED, MSG_WORKER_SEEN, MSG_MIRROR_GRANT };
	static const enum control_type requests[] = { CONTROL_RUN, CONTROL_LEADING,
		CONTROL_STOP_SYNCER, CONTROL_START_SYNCER };
	/* Its seed is the same in each life; the clock is not. */
	uint64_t seed = monitor.orders.seed + (uint64_t)base_clock_boot_ns();

	if (live_random(&seed, 3) == 0) {
		log_info("hostile: asks the supervisor");
		role_tell(monitor.process,
		    requests[live_random(&seed, sizeof(requests) / sizeof(requests[0]))], 99,
		    UINT64_MAX / 4, NULL);
		return;
	}
	log_info("hostile: says what is not its to say");
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		if (monitor.links[role])
			(void)live_send(monitor.links[role],
			    lies[live_random(&seed, sizeof(lies) / sizeof(lies[0]))]);
}

static void step(void *arg, int64_t now_ns)
{
	(void)arg;
	if (monitor.links[ROLE_ELECTOR])
		say();
	loop_timer_set(role_loop(monitor.process), &monitor.timer, now_ns + STEP_NS);
}

static void on_link(void *ctx, struct link *link)
{
	(void)ctx;
	monitor.links[link->peer.role] = link;
}

static void on_link_end(void *ctx, struct role_id peer)
{
	(void)ctx;
	monitor.links[peer.role] = NULL;
}

static enum verdict on_message(
    void *ctx, const struct link *from, const struct message *message, int fd)
{
	(void)ctx;
	(void)from;
	(void)message;
	if (fd >= 0)
		close(fd);
	return VERDICT_FINE;
}

static void on_control(void *ctx, const struct us_ctl *ctl, struct str more, int fd)
{
	(void)ctx;
	(void)ctl;
	(void)more;
	if (fd >= 0) /* listeners */
		close(fd);
}

static const struct role_ops ops = { .on_message = on_message,
	.on_link = on_link,
	.on_link_end = on_link_end,
	.on_control = on_control };

int main(int argc, char **argv)
{
	if (!orders_read("monitor", &monitor.orders))
		return honest_main(argc, argv);
	monitor.process = role_begin(ROLE_MONITOR, argc, argv);
	monitor.timer = (struct loop_timer){ .fire = step };
	role_attach(monitor.process, &ops, NULL);
	role_lock(monitor.process, NULL, 0);
	loop_timer_set(role_loop(monitor.process), &monitor.timer, base_clock_boot_ns());
	return role_run(monitor.process);
}
