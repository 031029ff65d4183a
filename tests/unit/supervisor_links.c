/*
 * Goal: links have generations, and accusations kill downwards (F4, F20). Method:
 * supervisor_world.h.
 */
#include "tests/unit/supervisor_world.h"

/* F20 */
static void links_have_generations(void **state)
{
	struct wire *wire;

	(void)state;
	NEED_ROOT();
	wire = wire_between(observer, dialer->id);
	start(dialer);
	link_up();
	assert_false(wire->up);
	start(observer);
	link_up();
	assert_true(wire->up);
	assert_int_equal(wire->generation, 1);
	order(dialer, LEAVE, 0, NULL, 0);
	await_state(dialer, PROCESS_WAITING);
	await_state(dialer, PROCESS_STARTED);
	order(dialer, GO, 0, NULL, 0);
	await_state(dialer, PROCESS_RUNNING);
	link_up();
	assert_true(wire->up);
	assert_int_equal(wire->generation, 2);
}

static struct wire *linked(void)
{
	start(dialer);
	start(observer);
	link_up();
	return wire_between(observer, dialer->id);
}

/* decision 22 */
static void a_cut_link_waits(void **state)
{
	struct us_ctl cut = packet(CONTROL_LINK_CUT);
	struct wire *wire;
	int64_t before_ns;

	(void)state;
	NEED_ROOT();
	wire = linked();
	cut.a[0] = ROLE_OBSERVER;
	cut.a[2] = wire->generation;
	before_ns = base_clock_boot_ns();
	order(dialer, SEND, 0, &cut, sizeof(cut));
	while (wire->up)
		turn();
	assert_in_range(wire->again_ns, before_ns + CHILDREN_LINK_FIRST_NS,
	    base_clock_boot_ns() + CHILDREN_LINK_FIRST_NS);
	assert_int_equal(wire_due(&supervisor, before_ns), wire->again_ns);
	(void)wire_due(&supervisor, wire->again_ns);
	assert_true(wire->up);
	assert_int_equal(wire->generation, 2);
}

/* F4: and it does not help the accused to end the link before it is accused. */
static void an_accusation_from_above_kills(void **state)
{
	struct us_ctl accuse = packet(CONTROL_ACCUSE), cut = packet(CONTROL_LINK_CUT);
	struct wire *wire;

	(void)state;
	NEED_ROOT();
	wire = linked();
	cut.a[0] = ROLE_OBSERVER;
	accuse.a[0] = ROLE_OBSERVER_DIALER;
	accuse.a[2] = cut.a[2] = 1;
	order(dialer, SEND, 0, &cut, sizeof(cut));
	while (wire->up)
		turn();
	order(observer, SEND, 0, &accuse, sizeof(accuse));
	await_state(dialer, PROCESS_WAITING);
	assert_true(dialer->killed && process_serves(observer));
	assert_int_equal(supervisor.accusations[ROLE_OBSERVER_DIALER][1], 1);
}

/* L114: the count is not lost with the monitor that heard it. */
static void a_monitor_that_comes_later_hears_of_accusations(void **state)
{
	struct process *monitor = process_of(&supervisor, (struct role_id){ ROLE_MONITOR, 0 });
	char directory[] = "/dev/shm/understudy-test-XXXXXX", fence[64];
	struct err err;

	(void)state;
	NEED_ROOT();
	assert_non_null(mkdtemp(directory));
	assert_int_equal(fence_page_open(&supervisor.fence, directory, &err), 0);
	supervisor.accusations[ROLE_SYNCER][1] = 7;
	monitor->wanted = false;
	assert_true(process_start(monitor, NULL, 0));
	order(monitor, GO, 0, NULL, 0);
	await_state(monitor, PROCESS_NONE);
	assert_true(WIFEXITED(monitor->status));
	assert_int_equal(WEXITSTATUS(monitor->status), 40 + 20 + 7);
	fence_page_close(&supervisor.fence);
	(void)snprintf(fence, sizeof(fence), "%s/fence", directory);
	(void)unlink(fence);
	assert_int_equal(rmdir(directory), 0);
}

/* F20: who was slow to notice the end of a link must not have the next process killed for it. */
static void a_report_of_a_former_link_does_not_touch_the_present_one(void **state)
{
	struct us_ctl report = packet(CONTROL_ACCUSE), beat = packet(CONTROL_BEAT);
	struct wire *wire;
	int64_t before_ns;

	(void)state;
	NEED_ROOT();
	wire = linked();
	order(dialer, LEAVE, 0, NULL, 0);
	await_state(dialer, PROCESS_WAITING);
	await_state(dialer, PROCESS_STARTED);
	order(dialer, GO, 0, NULL, 0);
	await_state(dialer, PROCESS_RUNNING);
	link_up();
	assert_int_equal(wire->generation, 2);
	report.a[0] = ROLE_OBSERVER_DIALER;
	report.a[2] = 1;
	order(observer, SEND, 0, &report, sizeof(report));
	report.type = CONTROL_LINK_CUT;
	report.seq++;
	order(observer, SEND, 0, &report, sizeof(report));
	beat.seq = report.seq + 1;
	before_ns = observer->beat_ns;
	order(observer, SEND, 0, &beat, sizeof(beat));
	while (observer->beat_ns == before_ns)
		turn();
	assert_true(wire->up);
	assert_true(process_serves(dialer));
	assert_true(process_serves(observer));
}

/* F4 */
static void accusations_from_below_wear_out_the_accuser(void **state)
{
	struct us_ctl accuse = packet(CONTROL_ACCUSE);
	struct wire *wire;

	(void)state;
	NEED_ROOT();
	wire = wire_between(observer, dialer->id);
	start(dialer);
	start(observer);
	dialer->wanted = false;
	accuse.a[0] = ROLE_OBSERVER;
	for (int i = 0; i < 3; i++) {
		wire->again_ns = 0;
		link_up();
		assert_true(wire->up);
		accuse.a[2] = wire->generation;
		order(dialer, SEND, 0, &accuse, sizeof(accuse));
		accuse.seq++;
		while (wire->up)
			turn();
	}
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
	assert_true(process_serves(observer));
	assert_int_equal(supervisor.accusations[ROLE_OBSERVER][0], 3);
	assert_int_equal(supervisor.accusations[ROLE_OBSERVER][1], 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(links_have_generations),
		TEST(a_cut_link_waits),
		TEST(an_accusation_from_above_kills),
		TEST(a_monitor_that_comes_later_hears_of_accusations),
		TEST(a_report_of_a_former_link_does_not_touch_the_present_one),
		TEST(accusations_from_below_wear_out_the_accuser),
	};

	RUN(tests);
}
