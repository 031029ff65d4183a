/*
 * A hostile dialer of the observer, which wants its hub to be promoted while the peer lives (see
 * live.h): it is the honest one, keeps a copy of each connection that it hands over, and after a
 * while ends all of them and answers every dial with a refusal. Orders: "refuse SECONDS".
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "tests/attack/live/live.h"

#define MOST_KEPT 16

bool __real_role_send_fd(struct role_process *process, enum role peer, unsigned shard,
    enum message_id id, const void *body, int fd);
bool __wrap_role_send_fd(struct role_process *process, enum role peer, unsigned shard,
    enum message_id id, const void *body, int fd);

int __real_close(int fd);
int __wrap_close(int fd);

static struct orders orders;
static bool hostile, refuses;
static int kept[MOST_KEPT];
static unsigned kept_count;
static struct loop_timer timer;

static void turn(void *arg, int64_t now_ns)
{
	(void)arg;
	(void)now_ns;
	refuses = true;
	for (unsigned i = 0; i < kept_count; i++)
		(void)shutdown(kept[i], SHUT_RDWR);
	log_info("hostile: ends %u connections and refuses every dial", kept_count);
}

/* The honest code closes what it handed over (F8); the filter has no dup. */
int __wrap_close(int fd)
{
	for (unsigned i = 0; i < kept_count; i++)
		if (kept[i] == fd)
			return 0;
	return __real_close(fd);
}

bool __wrap_role_send_fd(struct role_process *process, enum role peer, unsigned shard,
    enum message_id id, const void *body, int fd)
{
	struct msg_dialed answer;

	if (!hostile || id != MSG_DIALED)
		return __real_role_send_fd(process, peer, shard, id, body, fd);
	if (!timer.fire) {
		timer.fire = turn;
		loop_timer_set(role_loop(process), &timer,
		    base_clock_boot_ns() + (int64_t)orders.number * BASE_NS_PER_S);
	}
	answer = *(const struct msg_dialed *)body;
	if (!refuses) {
		if (fd >= 0 && kept_count < MOST_KEPT)
			kept[kept_count++] = fd;
		return __real_role_send_fd(process, peer, shard, id, body, fd);
	}
	answer.outcome = DIAL_REFUSED;
	return __real_role_send_fd(process, peer, shard, id, &answer, -1);
}

int main(int argc, char **argv)
{
	hostile = argc > 0 && strcmp(argv[0], "observer-dialer") == 0 &&
		  orders_read("observer-dialer", &orders);
	return honest_main(argc, argv);
}
