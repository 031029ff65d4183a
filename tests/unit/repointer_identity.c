/*
 * Goal: an identity that is in use lets what failed with the one before be tried at once; one that
 * the shard refused does not (H12, B10). Method: the handlers of a shard with one worker; its role
 * process and API client are played by the test. Requests are counted, timers are read, none fires.
 */
#include "repointer/repointer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tests/sim/no_dialer.h"
#include "tests/sim/no_metric.h"

/* --- The role process and its API client, played by the test -------------------------------- */

static struct us_config config;
static struct loop *loop;
static struct repointer shard;
static struct member worker;
static unsigned asked, watches;
static kube_done_fn *answer;
static bool good; /* what the client thinks of the next identity */

struct loop *role_loop(struct role_process *process)
{
	(void)process;
	return loop;
}

const struct us_config *role_config(const struct role_process *process)
{
	(void)process;
	return &config;
}

bool role_send(
    struct role_process *process, enum role peer, unsigned of, enum message_id id, const void *body)
{
	(void)process, (void)peer, (void)of, (void)id, (void)body;
	return true;
}

bool kube_client_take(struct kube_client *client, const struct msg_credential *m)
{
	(void)client, (void)m;
	return good;
}

uint64_t kube_client_ask(
    struct kube_client *client, const struct kube_ask *ask, kube_done_fn *done, void *arg)
{
	(void)client;
	assert_int_equal(ask->target, CREDENTIAL_WORKER);
	assert_ptr_equal(arg, &worker);
	answer = done;
	return ++asked;
}

void kube_client_cancel(struct kube_client *client, uint64_t id)
{
	(void)client, (void)id;
}

struct kube_watch *kube_watch_start(struct kube_client *client, struct loop *on,
    const struct kube_watch_options *options, const struct kube_watch_ops *ops, void *arg)
{
	(void)client, (void)on, (void)options, (void)ops;
	watches++;
	return arg;
}

/* --- Stories -------------------------------------------------------------------------------- */

static void offer(bool is_good)
{
	struct msg_credential m = { .target = CREDENTIAL_WORKER };

	good = is_good;
	repointer_ops.on_credential(&shard, &m);
}

/* A token whose delivery the worker refused. */
static void fail_a_delivery(void)
{
	struct msg_hub_token m = { .endpoint = STR_LIT("https://hub"),
		.namespace = STR_LIT("n"),
		.ca = STR_LIT("ca"),
		.token = STR_LIT("t") };
	struct kube_answer refusal = { .class = KUBE_FORBIDDEN };

	deliver_begin(&worker, &m);
	assert_int_equal(asked, 1);
	answer(&worker, &refusal);
	assert_int_equal(worker.delivery.failures, 1);
}

static int setup(void **state)
{
	(void)state;
	config = (struct us_config){ .hub_count = 2, .worker_count = 1 };
	loop = loop_new();
	worker = (struct member){ .repointer = &shard };
	shard = (struct repointer){
		.self = "hub-a", .endpoint = "https://hub", .count = 1, .members = &worker
	};
	deliver_forget(&worker);
	asked = watches = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	deliver_forget(&worker);
	loop_free(loop);
	return 0;
}

static void an_identity_in_use_is_tried_at_once(void **state)
{
	(void)state;
	fail_a_delivery();
	assert_true(worker.delivery.timer.at_ns > base_clock_boot_ns());
	offer(true);
	assert_true(
	    worker.delivery.timer.slot && worker.delivery.timer.at_ns <= base_clock_boot_ns());
	assert_int_equal(worker.delivery.failures, 0);
	assert_int_equal(watches, 1);
	assert_true(worker.rehearsal.timer.slot && worker.doors.timer.slot);
	offer(true); /* a rotation: the watch comes again by itself */
	assert_int_equal(watches, 1);
}

static void a_refused_identity_brings_no_request_forward(void **state)
{
	int64_t at_ns;

	(void)state;
	fail_a_delivery();
	at_ns = worker.delivery.timer.at_ns;
	offer(false);
	assert_true(worker.delivery.timer.slot && worker.delivery.timer.at_ns == at_ns);
	assert_int_equal(worker.delivery.failures, 1);
	assert_int_equal(watches, 0);
	assert_false(worker.rehearsal.timer.slot || worker.doors.timer.slot);
	assert_int_equal(asked, 1);
}

#define STORY(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* What the worker says of each door; returns when they are tried again, seconds from now. */
static int64_t try_doors(const enum kube_class classes[DOORS])
{
	struct kube_answer said = { .message = "UNDERSTUDY_IDENTITY UNDERSTUDY_TERM" };

	worker.view = (struct worker_view){ .known = true, .exists = true, .term = 4 };
	doors_soon(&worker);
	loop_timer_cancel(loop, &worker.doors.timer);
	worker.doors.timer.fire(&worker, 0);
	for (unsigned door = 0; door < DOORS; door++) {
		assert_int_equal(worker.doors.door, door);
		said.class = classes[door];
		answer(&worker, &said);
	}
	return (worker.doors.timer.at_ns - base_clock_boot_ns()) / BASE_NS_PER_S;
}

/* C11: a policy that is just being put in force is no finding for five minutes. */
static void a_door_that_is_open_is_tried_again_soon(void **state)
{
	static const enum kube_class shut[DOORS] = { KUBE_FORBIDDEN, KUBE_FORBIDDEN, KUBE_FORBIDDEN,
		KUBE_INVALID };
	static const enum kube_class open[DOORS] = { KUBE_FORBIDDEN, KUBE_FORBIDDEN, KUBE_OK,
		KUBE_INVALID };

	(void)state;
	assert_true(try_doors(open) < 10);
	assert_int_equal(worker.doors.told[2].verdict, RIGHTS_DIFFER);
	assert_true(try_doors(shut) > 200);
	assert_int_equal(worker.doors.told[2].verdict, RIGHTS_AS_WANTED);
	loop_timer_cancel(loop, &worker.doors.timer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(an_identity_in_use_is_tried_at_once),
		STORY(a_refused_identity_brings_no_request_forward),
		STORY(a_door_that_is_open_is_tried_again_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
