/*
 * Goal: the matrix of who may say what to root, in which state, cell by cell against a second
 * writing of it (sandbox-rules 4); the syncer starts and ends at the elector's word, and the
 * elector hears whether it ended cleanly (F8, F20). Method: pure calls over every type, role and
 * state; slots of a supervisor with no processes behind them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/build.h"
#include "base/clock.h"
#include "policy/sandbox.h"
#include "supervisor/process.h"
#include "supervisor/requests.h"
#include "supervisor/wire.h"

static bool is_verified(enum process_state state)
{
	return state == PROCESS_RUNNING || state == PROCESS_LEAVING;
}

static bool expected(unsigned type, enum role role, enum process_state state)
{
	bool elector = role == ROLE_ELECTOR, kube = (ROLE_BIT(role) & ROLE_KUBE) != 0;

	if (role == ROLE_SUPERVISOR || state == PROCESS_NONE || state == PROCESS_WAITING)
		return false;
	switch (type) {
	case CONTROL_HELLO: return state == PROCESS_STARTED;
	case CONTROL_READY: return state == PROCESS_GREETED;
	case CONTROL_EXITING: return true;
	case CONTROL_LOADED: return role == ROLE_LOADER && state == PROCESS_RUNNING;
	case CONTROL_BEAT: return is_verified(state);
	case CONTROL_LINK_CUT:
	case CONTROL_ACCUSE:
		return is_verified(state) && role != ROLE_LOADER && role != ROLE_RUNNER;
	case CONTROL_CRED_ACK:
	case CONTROL_CRED_REFUSED:
	case CONTROL_CRED_NACK: return is_verified(state) && kube;
	case CONTROL_START_SYNCER:
	case CONTROL_STOP_SYNCER:
	case CONTROL_STOP_RUN:
	case CONTROL_LEADING: return is_verified(state) && elector;
	case CONTROL_RUN: return is_verified(state) && (elector || role == ROLE_FOLLOWER);
	case CONTROL_WORKLOAD_SEEN: return is_verified(state) && role == ROLE_RUNNER;
	default: return false; /* What only the supervisor says, and what nobody does. */
	}
}

static void every_cell_of_the_matrix(void **state)
{
	unsigned allowed = 0;

	(void)state;
	for (unsigned type = 0; type <= UINT16_MAX; type++)
		for (unsigned role = 0; role < ROLE_COUNT; role++)
			for (unsigned s = PROCESS_NONE; s <= PROCESS_LEAVING; s++) {
				bool may = requests_permitted((uint16_t)type, role, s);

				assert_int_equal(may, expected(type, role, s));
				allowed += may;
			}
	assert_true(allowed > 0);
}

/* --- The syncer ------------------------------------------------------------------------------ */

static struct supervisor supervisor;
static struct us_config config;
static struct process *elector, *syncer;
static int elector_end, syncer_end;

/* A verified elector; the syncer is there but does not run. */
static int open_supervisor(void **state)
{
	(void)state;
	memset(&supervisor, 0, sizeof(supervisor));
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 8;
	supervisor.config = &config;
	process_plan(&supervisor, &config);
	elector = process_of(&supervisor, (struct role_id){ ROLE_ELECTOR, 0 });
	syncer = process_of(&supervisor, (struct role_id){ ROLE_SYNCER, 0 });
	elector->pid = getpid();
	elector->state = PROCESS_RUNNING;
	syncer_end = -1;
	return control_open(&elector->control, &elector_end);
}

static int close_supervisor(void **state)
{
	(void)state;
	control_close(&elector->control);
	control_close(&syncer->control);
	close(elector_end);
	if (syncer_end >= 0)
		close(syncer_end);
	return 0;
}

static void run_syncer(void)
{
	syncer->pid = getpid();
	syncer->state = PROCESS_RUNNING;
	assert_int_equal(control_open(&syncer->control, &syncer_end), 0);
}

static void ask(enum control_type type, uint64_t a0)
{
	struct us_ctl ctl = { .type = (uint16_t)type, .a = { a0 } };

	requests_take(elector, &ctl);
}

static void hears(int end, unsigned type, uint64_t a0)
{
	struct us_ctl ctl = { 0 };

	assert_int_equal(recv(end, &ctl, sizeof(ctl), MSG_DONTWAIT), sizeof(ctl));
	assert_int_equal(ctl.type, type);
	assert_int_equal(ctl.a[0], a0);
}

static void hears_nothing(int end)
{
	struct us_ctl ctl = { 0 };

	assert_int_equal(recv(end, &ctl, sizeof(ctl), MSG_DONTWAIT), -1);
}

static void hears_accusation(int end, enum role accused, uint64_t killed, uint64_t count)
{
	struct us_ctl ctl = { 0 };

	assert_int_equal(recv(end, &ctl, sizeof(ctl), MSG_DONTWAIT), sizeof(ctl));
	assert_int_equal(ctl.type, CONTROL_ACCUSED);
	assert_int_equal(ctl.a[0], accused);
	assert_int_equal(ctl.a[1], killed);
	assert_int_equal(ctl.a[2], count);
}

static void the_syncer_runs_on_request_only(void **state)
{
	(void)state;
	assert_false(syncer->wanted);
	assert_int_equal(syncer->state, PROCESS_NONE);
	ask(CONTROL_START_SYNCER, 0);
	assert_true(syncer->wanted);
	assert_int_equal(syncer->state, PROCESS_WAITING);
	ask(CONTROL_START_SYNCER, 0); /* A thousand times is once. */
	assert_int_equal(syncer->state, PROCESS_WAITING);
	ask(CONTROL_STOP_SYNCER, 0);
	assert_false(syncer->wanted);
	assert_int_equal(syncer->state, PROCESS_NONE);
	hears(elector_end, CONTROL_SYNCER_GONE, 1);
}

static void its_end_is_told_when_it_is_one(void **state)
{
	int64_t now_ns = base_clock_boot_ns();
	uint64_t deadline_ns = (uint64_t)(now_ns + 2 * BASE_NS_PER_S);

	(void)state;
	run_syncer();
	ask(CONTROL_STOP_SYNCER, deadline_ns);
	hears(syncer_end, CONTROL_STOP, deadline_ns);
	assert_int_equal(syncer->kill_ns, deadline_ns);
	hears_nothing(elector_end);
	syncer->pid = 0;
	requests_on_syncer_end(&supervisor, false, now_ns);
	hears(elector_end, CONTROL_SYNCER_GONE, 0);
	requests_on_syncer_end(&supervisor, true, now_ns); /* Not asked: not told. */
	hears_nothing(elector_end);
}

/* F8: one that was killed a moment ago may still have a request under way. */
static void a_recent_crash_is_not_called_clean(void **state)
{
	int64_t now_ns = base_clock_boot_ns();

	(void)state;
	requests_on_syncer_end(&supervisor, false, now_ns);
	ask(CONTROL_STOP_SYNCER, 0);
	hears(elector_end, CONTROL_SYNCER_GONE, 0);
	requests_on_syncer_end(&supervisor, false, now_ns - 60 * BASE_NS_PER_S);
	ask(CONTROL_STOP_SYNCER, 0);
	hears(elector_end, CONTROL_SYNCER_GONE, 1);
	requests_on_syncer_end(&supervisor, true, now_ns);
	ask(CONTROL_STOP_SYNCER, 0);
	hears(elector_end, CONTROL_SYNCER_GONE, 1);
}

static void absurd_deadlines_are_bounded(void **state)
{
	int64_t now_ns = base_clock_boot_ns();

	(void)state;
	run_syncer();
	ask(CONTROL_STOP_SYNCER, UINT64_MAX);
	assert_in_range(syncer->kill_ns, now_ns, base_clock_boot_ns());
	ask(CONTROL_STOP_SYNCER, INT64_MAX);
	assert_in_range(syncer->kill_ns, now_ns + 30 * BASE_NS_PER_S,
	    base_clock_boot_ns() + 30 * BASE_NS_PER_S);
	ask(CONTROL_STOP_SYNCER, 0);
	assert_in_range(syncer->kill_ns, now_ns, base_clock_boot_ns());
}

static void nothing_starts_while_we_stop(void **state)
{
	(void)state;
	supervisor.stop_asked = true;
	ask(CONTROL_START_SYNCER, 0);
	assert_false(syncer->wanted);
	assert_int_equal(syncer->state, PROCESS_NONE);
}

/* Killed, it would count as crashed, and its elector would wait for writes that it cannot have
 * under way (F8). */
static void a_stop_during_the_start_is_no_breach(void **state)
{
	struct us_ctl hello = { .type = CONTROL_HELLO, .a = { build_id[0], build_id[1] } };
	struct us_ctl ready = { .type = CONTROL_READY, .a = { SANDBOX_ALL } };
	struct us_ctl loaded = { .type = CONTROL_LOADED };
	int status;

	(void)state;
	run_syncer();
	syncer->state = PROCESS_STARTED;
	syncer->pid = fork();
	if (syncer->pid == 0)
		for (;;)
			pause();
	ask(CONTROL_STOP_SYNCER, (uint64_t)base_clock_boot_ns() + 1000000000);
	requests_take(syncer, &hello);
	requests_take(syncer, &ready);
	assert_int_equal(syncer->state, PROCESS_LEAVING);
	assert_false(syncer->killed);
	assert_int_equal(waitpid(syncer->pid, &status, WNOHANG), 0);
	requests_take(syncer, &loaded); /* Anything else is still a breach. */
	assert_true(syncer->killed);
	assert_int_equal(waitpid(syncer->pid, &status, 0), syncer->pid);
	syncer->pid = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_supervisor, close_supervisor)

/* Another command than that of a hub in the list is none of its business. */
static void a_follower_names_a_hub_of_the_list(void **state)
{
	struct us_ctl ctl = { .type = CONTROL_RUN, .a = { 2 } };
	struct process *follower = process_of(&supervisor, (struct role_id){ ROLE_FOLLOWER, 0 });
	int status;

	(void)state;
	config.mode = CONFIG_FOLLOWER;
	process_plan(&supervisor, &config);
	follower->state = PROCESS_RUNNING;
	follower->pid = fork();
	if (follower->pid == 0)
		for (;;)
			pause();
	requests_take(follower, &ctl);
	assert_true(supervisor.run_wanted);
	assert_int_equal(supervisor.run_term, 2);
	assert_false(follower->killed);
	ctl.a[0] = 3;
	requests_take(follower, &ctl);
	assert_true(follower->killed);
	assert_int_equal(supervisor.run_term, 2);
	assert_int_equal(waitpid(follower->pid, &status, 0), follower->pid);
	assert_true(WIFSIGNALED(status));
}

/* F4. */
static void accusations_are_counted_and_told_to_the_monitor(void **state)
{
	struct process *monitor = process_of(&supervisor, (struct role_id){ ROLE_MONITOR, 0 });
	struct us_ctl ctl = { .type = CONTROL_ACCUSE, .a = { ROLE_ELECTOR, 0, 1 } };
	struct wire *wire;
	int status, monitor_end;

	(void)state;
	wire_plan(&supervisor);
	wire = wire_between(elector, syncer->id);
	wire->up = true;
	wire->generation = 1;
	monitor->pid = getpid();
	monitor->state = PROCESS_RUNNING;
	assert_int_equal(control_open(&monitor->control, &monitor_end), 0);
	syncer->state = PROCESS_RUNNING;
	syncer->pid = fork();
	if (syncer->pid == 0)
		for (;;)
			pause();
	/* Upwards: the link is lost, and nobody dies. */
	requests_take(syncer, &ctl);
	assert_false(elector->killed || syncer->killed || wire->up);
	hears_accusation(monitor_end, ROLE_ELECTOR, 0, 1);
	hears_nothing(monitor_end);
	/* Of a link of another generation: no accusation. */
	ctl.a[0] = ROLE_SYNCER;
	ctl.a[2] = 7;
	requests_take(elector, &ctl);
	hears_nothing(monitor_end);
	ctl.a[2] = 1;
	requests_take(elector, &ctl);
	assert_true(syncer->killed);
	hears_accusation(monitor_end, ROLE_SYNCER, 1, 1);
	assert_int_equal(waitpid(syncer->pid, &status, 0), syncer->pid);
	syncer->pid = 0;
	/* L114: the next monitor hears of all that were. */
	requests_tell_accusations(&supervisor);
	hears_accusation(monitor_end, ROLE_ELECTOR, 0, 1);
	hears_accusation(monitor_end, ROLE_SYNCER, 1, 1);
	hears_nothing(monitor_end);
	control_close(&monitor->control);
	close(monitor_end);
	free(supervisor.wires);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell_of_the_matrix),
		TEST(the_syncer_runs_on_request_only),
		TEST(its_end_is_told_when_it_is_one),
		TEST(a_recent_crash_is_not_called_clean),
		TEST(absurd_deadlines_are_bounded),
		TEST(nothing_starts_while_we_stop),
		TEST(a_stop_during_the_start_is_no_breach),
		TEST(accusations_are_counted_and_told_to_the_monitor),
		TEST(a_follower_names_a_hub_of_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
