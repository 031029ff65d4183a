/*
 * Goal: a process is greeted, verified and only then linked; one that breaks the control protocol,
 * lies about itself or goes silent is killed, and comes back (F15, F38, sandbox-rules 4). Method:
 * supervisor_world.h. P7, P16, P17, P27, P102.
 */
#include "tests/unit/supervisor_world.h"

/* --- Greeting and check --------------------------------------------------------------------- */

static void an_honest_role_is_verified(void **state)
{
	(void)state;
	NEED_ROOT();
	start(dialer);
	assert_true(process_serves(dialer));
}

/* F15: its own word counts for nothing. */
static void a_role_that_did_not_lock_itself_is_killed(void **state)
{
	(void)state;
	NEED_ROOT();
	dialer->wanted = false;
	assert_true(process_start(dialer, NULL, 0));
	order(dialer, GO_UNLOCKED, 0, NULL, 0);
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
}

/* F38 */
static void a_role_of_another_build_is_killed(void **state)
{
	(void)state;
	NEED_ROOT();
	dialer->wanted = false;
	assert_true(process_start(dialer, NULL, 0));
	order(dialer, GO_OTHER_BUILD, 0, NULL, 0);
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
}

static void silence_is_death(void **state)
{
	(void)state;
	NEED_ROOT();
	start(dialer);
	dialer->wanted = false;
	dialer->beat_ns -= PROCESS_SILENCE_NS;
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
	/* Not greeted in time. */
	assert_true(process_start(dialer, NULL, 0));
	dialer->started_ns -= PROCESS_SILENCE_NS;
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
}

static void a_standstill_of_ours_is_nobodys_silence(void **state)
{
	(void)state;
	NEED_ROOT();
	start(dialer);
	dialer->beat_ns -= PROCESS_SILENCE_NS;
	process_forgive(&supervisor, base_clock_boot_ns());
	(void)process_due(&supervisor, base_clock_boot_ns());
	assert_true(process_serves(dialer));
}

/* F25: a process that should be dead and is not, because the kernel holds it, is the service
 * manager's matter: the watchdog is no longer fed. */
static void who_outlives_its_kill_stops_the_watchdog(void **state)
{
	int64_t now_ns;

	(void)state;
	NEED_ROOT();
	start(dialer);
	now_ns = dialer->beat_ns;
	assert_true(process_all_fresh(&supervisor, now_ns + PROCESS_SILENCE_NS));
	assert_true(process_all_fresh(&supervisor, now_ns + 2 * PROCESS_SILENCE_NS));
	assert_false(process_all_fresh(&supervisor, now_ns + 2 * PROCESS_SILENCE_NS + 1));
	process_stop(dialer, now_ns + 1);
	assert_true(process_all_fresh(&supervisor, now_ns + 1 + PROCESS_SILENCE_NS));
	assert_false(process_all_fresh(&supervisor, now_ns + 2 + PROCESS_SILENCE_NS));
	await_state(dialer, PROCESS_NONE);
	assert_true(process_all_fresh(&supervisor, INT64_MAX));
}

/* --- Hostile packets ------------------------------------------------------------------------ */

static void killed_by(enum order what, const void *bytes, size_t n)
{
	start(dialer);
	dialer->wanted = false;
	order(dialer, what, 0, bytes, n);
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
}

static void hostile_packets_cost_the_sender_its_life(void **state)
{
	static char many[4000];
	const unsigned types[] = { 0, CONTROL_HELLO, CONTROL_READY, CONTROL_START_SYNCER,
		CONTROL_STOP_SYNCER, CONTROL_RUN, CONTROL_LEADING, CONTROL_WORKLOAD_SEEN,
		CONTROL_LOADED, CONTROL_CRED_ACK, CONTROL_STOP, CONTROL_PREDECESSOR_DEAD, 999 };
	struct us_ctl ctl = packet(CONTROL_BEAT);

	(void)state;
	NEED_ROOT();
	killed_by(SEND, "short", 5);
	killed_by(SEND, "", 0);
	killed_by(SEND, many, sizeof(many));
	killed_by(SEND_WITH_FD, &ctl, sizeof(ctl));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		ctl = packet(types[i]);
		killed_by(SEND, &ctl, sizeof(ctl));
	}
	ctl = packet(CONTROL_ACCUSE); /* Somebody with whom it has no link; a role that is none. */
	ctl.a[0] = ROLE_ELECTOR;
	killed_by(SEND, &ctl, sizeof(ctl));
	ctl.a[0] = UINT64_MAX;
	killed_by(SEND, &ctl, sizeof(ctl));
	ctl = packet(CONTROL_LINK_CUT);
	ctl.a[0] = ROLE_MONITOR;
	killed_by(SEND, &ctl, sizeof(ctl));
	ctl.a[0] = ROLE_OBSERVER;
	ctl.a[1] = ROLE_MAX_SHARDS;
	killed_by(SEND, &ctl, sizeof(ctl));
}

/* Its number may be somebody else's as soon as it is reaped; what it left behind is read then. */
static void the_dead_are_not_signalled(void **state)
{
	siginfo_t info;
	pid_t pid;

	(void)state;
	NEED_ROOT();
	start(dialer);
	dialer->wanted = false;
	pid = dialer->pid;
	order(dialer, SEND, 0, "short", 5);
	order(dialer, LEAVE, 0, NULL, 0);
	/* It lies and ends before we look: a zombie whose last packet waits. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	init_reap(process_on_ended, &supervisor);
	assert_true(dialer->killed);
	assert_int_equal(dialer->state, PROCESS_NONE);
	assert_int_equal(strays, 0);
}

static void permitted_packets_do_not(void **state)
{
	struct us_ctl beat = packet(CONTROL_BEAT), exiting = packet(CONTROL_EXITING);
	int64_t before_ns;

	(void)state;
	NEED_ROOT();
	start(dialer);
	before_ns = dialer->beat_ns;
	order(dialer, SEND, 0, &beat, sizeof(beat));
	while (dialer->beat_ns == before_ns)
		turn();
	exiting.seq = 4;
	(void)strcpy(exiting.blob, "a reason\x1b[2J");
	order(dialer, SEND, 0, &exiting, sizeof(exiting));
	order(dialer, LEAVE, 0, NULL, 0);
	await_state(dialer, PROCESS_WAITING);
	assert_false(dialer->killed);
}

/* --- Restart -------------------------------------------------------------------------------- */

static void comes_back_after_its_delay(void **state)
{
	int64_t before_ns, due_ns;

	(void)state;
	NEED_ROOT();
	start(dialer);
	before_ns = base_clock_boot_ns();
	order(dialer, LEAVE, 3, NULL, 0);
	await_state(dialer, PROCESS_WAITING);
	due_ns = dialer->again_ns;
	assert_in_range(due_ns, before_ns + CHILDREN_FIRST_DELAY_NS,
	    base_clock_boot_ns() + CHILDREN_FIRST_DELAY_NS);
	await_state(dialer, PROCESS_STARTED);
	before_ns = base_clock_boot_ns();
	assert_true(before_ns >= due_ns);
	order(dialer, LEAVE, 3, NULL, 0);
	await_state(dialer, PROCESS_WAITING);
	assert_in_range(dialer->again_ns, before_ns + 2 * CHILDREN_FIRST_DELAY_NS,
	    base_clock_boot_ns() + 2 * CHILDREN_FIRST_DELAY_NS);
}

static void one_that_was_told_to_leave_stays_away(void **state)
{
	(void)state;
	NEED_ROOT();
	start(dialer);
	process_stop(dialer, base_clock_boot_ns() + 50 * BASE_NS_PER_MS);
	await_state(dialer, PROCESS_NONE); /* It ignores STOP: killed at the deadline. */
	assert_true(dialer->killed);
	assert_false(dialer->wanted);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(an_honest_role_is_verified),
		TEST(a_role_that_did_not_lock_itself_is_killed),
		TEST(a_role_of_another_build_is_killed),
		TEST(silence_is_death),
		TEST(a_standstill_of_ours_is_nobodys_silence),
		TEST(who_outlives_its_kill_stops_the_watchdog),
		TEST(hostile_packets_cost_the_sender_its_life),
		TEST(the_dead_are_not_signalled),
		TEST(permitted_packets_do_not),
		TEST(comes_back_after_its_delay),
		TEST(one_that_was_told_to_leave_stays_away),
	};

	RUN(tests);
}
