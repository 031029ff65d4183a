/*
 * Goal: what a loader read replaces what is in use only when it is the same identity with another
 * content, or an operator has allowed another one, once (F7); a 401 has files read again, not too
 * often and for their holder alone (B10); expiry is told once. Method: slots of a supervisor with
 * real control pairs and no processes behind them.
 * Pitfall: P78.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "supervisor/credentials.h"
#include "supervisor/process.h"
#include "supervisor/rotation.h"
#include "tests/unit/config_pool.h"

#define NUMBER CREDENTIAL_ELECTOR

static struct supervisor supervisor;
static struct us_config config;
static struct process *elector, *loader;
static struct identity *identity;
static int elector_end, loader_end, pair[2];

/* A slot that looks like a verified process; killing it only counts. */
static int open_slot(struct process *process, int *end)
{
	process->pid = getpid();
	process->reaped = true;
	process->state = PROCESS_RUNNING;
	return control_open(&process->control, end);
}

static void run_loader(void)
{
	if (loader->pid)
		close(loader_end);
	control_close(&loader->control);
	loader->killed = false;
	assert_int_equal(open_slot(loader, &loader_end), 0);
	if (identity->role_end >= 0)
		close(identity->role_end);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	close(pair[0]);
	identity->role_end = pair[1];
	/* As start_loader does. */
	identity->may_move = identity->authorised != 0;
	identity->authorised = 0;
	identity->due = identity->refused = false;
	identity->loaded = identity->released = false;
}

static int open_supervisor(void **state)
{
	(void)state;
	memset(&supervisor, 0, sizeof(supervisor));
	memset(&config, 0, sizeof(config));
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 8;
	config.credentials[NUMBER].kubeconfig = config_put(&config, "/nowhere/elector.kubeconfig");
	supervisor.config = &config;
	if (events_open(&supervisor.events, NULL))
		return -1;
	process_plan(&supervisor, NULL);
	process_plan(&supervisor, &config);
	elector = process_of(&supervisor, (struct role_id){ ROLE_ELECTOR, 0 });
	loader = process_loader(&supervisor, NUMBER);
	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++)
		supervisor.identities[c].role_end = -1;
	identity = &supervisor.identities[NUMBER];
	loader_end = -1;
	return open_slot(elector, &elector_end);
}

static int close_supervisor(void **state)
{
	(void)state;
	control_close(&elector->control);
	control_close(&loader->control);
	credentials_drop_link(identity);
	close(elector_end);
	if (loader_end >= 0)
		close(loader_end);
	close(supervisor.events.epoll);
	close(supervisor.events.alarm);
	return 0;
}

static struct us_loaded loaded(const char *host, const char *subject, uint64_t fingerprint)
{
	struct us_loaded l = { .magic = CONTROL_MAGIC, .port = 6443, .fingerprint = fingerprint };

	assert_true(str_copy(l.host, sizeof(l.host), str_of(host)));
	assert_true(str_copy(l.subject, sizeof(l.subject), str_of(subject)));
	return l;
}

static void load(const char *host, const char *subject, uint64_t fingerprint)
{
	const struct us_loaded l = loaded(host, subject, fingerprint);

	run_loader();
	credentials_on_loaded(loader, &l);
}

/* The next control packet to the elector; 0: none. */
static uint16_t told(struct us_ctl *ctl)
{
	if (recv(elector_end, ctl, sizeof(*ctl), MSG_DONTWAIT) != sizeof(*ctl))
		return 0;
	return ctl->type;
}

static void a_rotation_is_the_next_generation(void **state)
{
	struct us_ctl ctl;

	(void)state;
	load("a", "me", 1);
	assert_int_equal(told(&ctl), CONTROL_CRED);
	assert_int_equal(ctl.a[0], NUMBER);
	assert_int_equal(ctl.a[1], 1);
	assert_true(identity->delivered && identity->released && !identity->loaded);
	credentials_on_loader_end(loader, true);
	assert_true(identity->delivered);
	/* The same content again is nothing new. */
	load("a", "me", 1);
	assert_int_equal(told(&ctl), 0);
	assert_false(loader->killed);
	assert_int_equal(loader->control.fd, -1);
	credentials_on_loader_end(loader, true);
	load("a", "me", 2);
	assert_int_equal(told(&ctl), CONTROL_CRED);
	assert_int_equal(ctl.a[1], 2);
}

static void another_identity_is_refused_and_the_old_one_stays(void **state)
{
	struct us_ctl ctl;

	(void)state;
	load("a", "me", 1);
	assert_int_equal(told(&ctl), CONTROL_CRED);
	credentials_on_loader_end(loader, true);
	load("evil", "me", 2);
	assert_true(loader->killed && identity->refused);
	assert_int_equal(told(&ctl), 0);
	credentials_on_loader_end(loader, false);
	/* Read again when its files change, not for ever. */
	assert_true(identity->delivered && !identity->due);
	load("a", "somebody", 3);
	assert_true(loader->killed);
	credentials_on_loader_end(loader, false);
	assert_int_equal(told(&ctl), 0);
	assert_string_equal(identity->pinned.subject, "me");
}

static void an_operator_allows_another_one_once(void **state)
{
	struct us_ctl ctl;

	(void)state;
	load("a", "me", 1);
	(void)told(&ctl);
	credentials_on_loader_end(loader, true);
	loader->pid = 0;
	rotation_authorise(&supervisor, NUMBER, 1000);
	assert_true(identity->due && identity->authorised);
	assert_int_equal(identity->again_ns, 1000);
	load("b", "me", 2);
	assert_false(loader->killed);
	assert_int_equal(told(&ctl), CONTROL_CRED);
	assert_string_equal(identity->pinned.host, "b");
	credentials_on_loader_end(loader, true);
	load("a", "me", 3);
	assert_true(loader->killed);
}

/* The word of an operator is for what is read after it. */
static void a_load_that_runs_already_is_begun_again(void **state)
{
	struct us_ctl ctl;

	(void)state;
	load("a", "me", 1);
	(void)told(&ctl);
	credentials_on_loader_end(loader, true);
	run_loader();
	rotation_authorise(&supervisor, NUMBER, 1000);
	assert_int_equal(loader->control.fd, -1);
	credentials_on_loader_end(loader, true);
	assert_true(identity->due && identity->authorised);
}

static void who_has_nothing_is_tried_again(void **state)
{
	struct us_ctl ctl;
	int64_t before_ns = base_clock_boot_ns();

	(void)state;
	run_loader();
	loader->status = PROCESS_LOADER_REFUSES << 8;
	credentials_on_loader_end(loader, false);
	assert_false(identity->delivered);
	assert_true(identity->again_ns >= before_ns + BASE_NS_PER_S);
	/* One that was released and died may not have said it. */
	load("a", "me", 1);
	assert_int_equal(told(&ctl), CONTROL_CRED);
	credentials_on_loader_end(loader, false);
	assert_false(identity->delivered);
}

static void a_loader_that_crashed_is_no_fault_of_the_file(void **state)
{
	struct us_ctl ctl;

	(void)state;
	load("a", "me", 1);
	(void)told(&ctl);
	credentials_on_loader_end(loader, true);
	run_loader();
	loader->status = 9; /* SIGKILL */
	credentials_on_loader_end(loader, false);
	assert_true(identity->delivered && identity->due);
	run_loader();
	loader->status = PROCESS_LOADER_REFUSES << 8;
	credentials_on_loader_end(loader, false);
	assert_true(identity->delivered && !identity->due);
}

static void a_401_reads_the_files_again(void **state)
{
	struct us_ctl refused = { .type = CONTROL_CRED_REFUSED, .a = { NUMBER } }, ctl;

	(void)state;
	rotation_on_refused(elector, &refused);
	assert_false(identity->due); /* it has none */
	load("a", "me", 1);
	(void)told(&ctl);
	credentials_on_loader_end(loader, true);
	rotation_on_refused(elector, &refused);
	assert_true(identity->due);
	identity->due = false;
	rotation_on_refused(elector, &refused); /* at once again */
	assert_false(identity->due);
	assert_false(elector->killed);
	refused.a[0] = CREDENTIAL_SYNCER;
	rotation_on_refused(elector, &refused);
	assert_true(elector->killed);
}

/* What the holder does not take is no state that it is in for ever: the same files are read and
 * handed over again, ever less often, until it takes them. */
static void what_the_holder_refuses_is_offered_again(void **state)
{
	struct us_ctl answer = { .type = CONTROL_CRED_NACK, .a = { NUMBER, 1 }, .blob = "no room" },
		      ctl;
	int64_t before_ns, least_ns = BASE_NS_PER_S;

	(void)state;
	for (uint64_t generation = 1; generation < 12; generation++) {
		load("a", "me", 7);
		assert_int_equal(told(&ctl), CONTROL_CRED);
		assert_int_equal(ctl.a[1], generation);
		answer.a[1] = generation;
		before_ns = base_clock_boot_ns();
		credentials_on_answer(elector, &answer);
		credentials_on_loader_end(loader, true);
		assert_true(identity->due);
		assert_true(identity->again_ns >= before_ns + least_ns);
		least_ns = least_ns < 60 * BASE_NS_PER_S ? least_ns * 2 : least_ns;
	}
	load("a", "me", 7);
	assert_int_equal(told(&ctl), CONTROL_CRED);
	answer.a[1] = 11; /* of one before: says nothing about this one */
	credentials_on_answer(elector, &answer);
	assert_false(identity->due);
	answer = (struct us_ctl){ .type = CONTROL_CRED_ACK, .a = { NUMBER, 12 } };
	credentials_on_answer(elector, &answer);
	credentials_on_loader_end(loader, true);
	assert_false(identity->due);
	assert_int_equal(identity->nacks, 0);
	load("a", "me", 7); /* taken: nothing new */
	assert_int_equal(told(&ctl), 0);
	assert_false(elector->killed);
}

static void numbers_out_of_range_kill(void **state)
{
	struct us_ctl refused = { .type = CONTROL_CRED_REFUSED, .a = { CREDENTIAL_LIMIT } };

	(void)state;
	rotation_on_refused(elector, &refused);
	assert_true(elector->killed);
	elector->killed = false;
	refused.a[0] = UINT64_MAX;
	rotation_on_refused(elector, &refused);
	assert_true(elector->killed);
	/* A worker's number in a shard that does not exist. */
	elector->killed = false;
	refused.a[0] = CREDENTIAL_LIMIT - 1;
	rotation_on_refused(elector, &refused);
	assert_true(elector->killed);
}

static void a_number_that_is_forgotten_pins_nothing(void **state)
{
	struct us_ctl ctl;

	(void)state;
	load("a", "me", 1);
	(void)told(&ctl);
	credentials_on_loader_end(loader, true);
	loader->pid = 0;
	rotation_forget(&supervisor, NUMBER, 0);
	assert_false(identity->pinned_once || identity->delivered);
	assert_int_equal(identity->generation, 1);
	load("elsewhere", "somebody", 5);
	assert_false(loader->killed);
	assert_int_equal(told(&ctl), CONTROL_CRED);
	assert_int_equal(ctl.a[1], 2);
}

/* Told by flag: the text goes to the log. */
static void expiry_is_warned_of_once(void **state)
{
	struct us_ctl ctl;
	int64_t now_us = base_clock_wall_us(), hour = 3600 * 1000000LL;

	(void)state;
	load("a", "me", 1);
	(void)told(&ctl);
	identity->pinned.issued_us = now_us - hour;
	identity->pinned.expires_us = now_us + hour;
	supervisor.looked_ns = 0;
	(void)rotation_due(&supervisor, base_clock_boot_ns());
	assert_false(identity->warned); /* half of its life is left */
	identity->pinned.issued_us = now_us - 20 * hour;
	supervisor.looked_ns = 0;
	(void)rotation_due(&supervisor, base_clock_boot_ns());
	assert_true(identity->warned);
	/* One that does not say when it began is warned of a day before. */
	identity->warned = false;
	identity->pinned.issued_us = 0;
	identity->pinned.expires_us = now_us + 23 * hour;
	supervisor.looked_ns = 0;
	(void)rotation_due(&supervisor, base_clock_boot_ns());
	assert_true(identity->warned);
	identity->warned = false;
	identity->pinned.expires_us = 0;
	supervisor.looked_ns = 0;
	(void)rotation_due(&supervisor, base_clock_boot_ns());
	assert_false(identity->warned);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_supervisor, close_supervisor)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_rotation_is_the_next_generation),
		TEST(another_identity_is_refused_and_the_old_one_stays),
		TEST(an_operator_allows_another_one_once),
		TEST(a_load_that_runs_already_is_begun_again),
		TEST(who_has_nothing_is_tried_again),
		TEST(a_loader_that_crashed_is_no_fault_of_the_file),
		TEST(a_401_reads_the_files_again),
		TEST(what_the_holder_refuses_is_offered_again),
		TEST(numbers_out_of_range_kill),
		TEST(a_number_that_is_forgotten_pins_nothing),
		TEST(expiry_is_warned_of_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
