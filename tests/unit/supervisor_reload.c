/*
 * Goal: a reload that cannot begin changes nothing, says so to the monitor and to the service
 * manager, which is told of its begin and its end (Type=notify-reload); slots that a configuration
 * wants or does not want any more are planned and ended, and those that stay are not touched.
 * Method: slots of a supervisor with no processes behind them; a socket in the place of systemd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "supervisor/process.h"
#include "supervisor/reload.h"
#include "supervisor/wire.h"

static struct supervisor supervisor;
static struct us_config config;
static struct process *monitor;
static int monitor_end, notified[2];

static int open_supervisor(void **state)
{
	(void)state;
	memset(&supervisor, 0, sizeof(supervisor));
	memset(&config, 0, sizeof(config));
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 2;
	config.worker_count = 3;
	supervisor.config = &config;
	supervisor.options.config = "/nonexistent/understudy.yaml";
	if (events_open(&supervisor.events, NULL) ||
	    socketpair(AF_UNIX, SOCK_DGRAM, 0, notified) != 0)
		return -1;
	supervisor.notify.fd = notified[0];
	process_plan(&supervisor, NULL);
	process_plan(&supervisor, &config);
	monitor = process_of(&supervisor, (struct role_id){ ROLE_MONITOR, 0 });
	monitor->pid = getpid();
	monitor->state = PROCESS_RUNNING;
	return control_open(&monitor->control, &monitor_end);
}

static int close_supervisor(void **state)
{
	(void)state;
	control_close(&monitor->control);
	close(monitor_end);
	close(notified[0]);
	close(notified[1]);
	close(supervisor.events.epoll);
	close(supervisor.events.alarm);
	free(supervisor.wires);
	return 0;
}

static const char *notification(void)
{
	static char text[1024];
	ssize_t n = recv(notified[1], text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void a_file_that_is_not_there_changes_nothing(void **state)
{
	struct us_ctl ctl;
	char packet[sizeof(ctl) + CONTROL_MAX_MORE];
	const char *text;

	(void)state;
	reload_due(&supervisor, 0);
	assert_int_equal(supervisor.reload.count, 0);
	assert_string_equal(notification(), "");
	supervisor.ready = true;
	supervisor.reload.asked = true;
	reload_due(&supervisor, 0);
	assert_int_equal(supervisor.reload.count, 1);
	assert_false(supervisor.reload.done || supervisor.reload.asked);
	assert_ptr_equal(supervisor.config, &config);
	text = notification();
	assert_memory_equal(text, "RELOADING=1\nMONOTONIC_USEC=", 27);
	assert_true(atoll(text + 27) > 0);
	assert_memory_equal(notification(), "READY=1\nSTATUS=not reloaded, nothing is changed", 47);
	assert_true(recv(monitor_end, packet, sizeof(packet), MSG_DONTWAIT) > (ssize_t)sizeof(ctl));
	memcpy(&ctl, packet, sizeof(ctl));
	assert_int_equal(ctl.type, CONTROL_RELOADED);
	assert_int_equal(ctl.a[0], 1);
	assert_int_equal(ctl.a[1], 0);
	assert_string_equal(packet + sizeof(ctl), supervisor.reload.text);
	/* Not before it is ready: that word is tell_ready's. */
	supervisor.ready = false;
	supervisor.reload.asked = true;
	reload_due(&supervisor, 0);
	assert_memory_equal(notification(), "RELOADING=1", 11);
	assert_string_equal(notification(), "");
}

static struct process *shard(unsigned number)
{
	return process_of(&supervisor, (struct role_id){ ROLE_REPOINTER, (uint8_t)number });
}

static struct process *dialer(void)
{
	return process_of(&supervisor, (struct role_id){ ROLE_REPOINTER_DIALER, 0 });
}

static void slots_come_and_go(void **state)
{
	struct us_config next = config;
	unsigned wires;

	(void)state;
	wire_plan(&supervisor);
	wires = supervisor.wire_count;
	assert_true(shard(1)->wanted && !shard(2)->supervisor);
	monitor->beat_ns = 77;
	next.worker_count = 5;
	process_plan_again(&supervisor, &next, 1000);
	wire_plan(&supervisor);
	assert_true(shard(2)->wanted);
	assert_int_equal(shard(2)->state, PROCESS_WAITING);
	assert_int_equal(shard(2)->again_ns, 1000);
	/* One more shard: elector, publisher, monitor and dialer. */
	assert_int_equal(supervisor.wire_count, wires + 4);
	assert_int_equal(monitor->beat_ns, 77);
	assert_int_equal(monitor->state, PROCESS_RUNNING);
	next.worker_count = 0;
	process_plan_again(&supervisor, &next, 2000);
	for (unsigned i = 0; i < 3; i++)
		assert_true(!shard(i)->wanted && shard(i)->state == PROCESS_NONE);
	assert_false(dialer()->wanted);
	next.worker_count = 1;
	process_plan_again(&supervisor, &next, 3000);
	wire_plan(&supervisor);
	assert_true(shard(0)->wanted && dialer()->wanted && !shard(1)->wanted);
	assert_int_equal(shard(0)->state, PROCESS_WAITING);
	assert_int_equal(supervisor.wire_count, wires + 4);
}

/* Told to leave, it is not one that failed: no wait, and it stays wanted. */
static void anew_is_told_once(void **state)
{
	struct us_ctl ctl;

	(void)state;
	process_start_anew(monitor, 5000);
	assert_int_equal(monitor->state, PROCESS_LEAVING);
	assert_true(monitor->wanted && monitor->anew);
	process_start_anew(monitor, 9000);
	assert_int_equal(monitor->kill_ns, 5000 + PROCESS_LINGER_NS);
	assert_int_equal(recv(monitor_end, &ctl, sizeof(ctl), MSG_DONTWAIT), sizeof(ctl));
	assert_int_equal(ctl.type, CONTROL_STOP);
	assert_true(recv(monitor_end, &ctl, sizeof(ctl), MSG_DONTWAIT) < 0);
	process_start_anew(shard(0), 5000); /* does not run */
	assert_int_equal(shard(0)->state, PROCESS_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_supervisor, close_supervisor)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_that_is_not_there_changes_nothing),
		TEST(slots_come_and_go),
		TEST(anew_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
