/*
 * Goal: who asks over canary.sock gets the audit with what canaries met in each role's row; one
 * that finds a row open, that is not in its row, that lies, hangs or dies early is told as such; no
 * canary has anything but its log and its link, and none outlives a stop. Method: the supervisor's
 * own code starts this very program in the rows of a Standby's roles; by its role it is an honest
 * canary or one that misbehaves. Needs root.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "policy/sandbox.h"
#include "policy/seccomp.h"
#include "supervisor/audit.h"
#include "supervisor/canary.h"
#include "supervisor/init.h"
#include "supervisor/process.h"
#include "supervisor/verify.h"

#define UID_BASE 62000

/* --- The canaries ----------------------------------------------------------------------------- */

static struct us_ctl ready = { .magic = CONTROL_MAGIC, .type = CONTROL_READY, .seq = 1 };

static void tell(void)
{
	(void)send(ROLE_FD_CONTROL, &ready, sizeof(ready), MSG_NOSIGNAL);
}

/* In its row, with answers that are right, and the call that kills is not made. */
_Noreturn static void survive(struct role_id id)
{
	unsigned count;
	const struct canary_probe *list = canary_probes(&count);
	struct us_ctl go;
	struct err err;

	if (sandbox_after_exec(id, &err) ||
	    (int)(ready.a[0] = (uint64_t)sandbox_lock(id, NULL, 0, 0, &err)) < 0)
		_exit(70);
	for (unsigned i = 0; i < count; i++)
		ready.blob[i] = (char)(list[i].refused & ROLE_BIT(id.role) ? list[i].with : 0);
	tell();
	(void)!read(ROLE_FD_CONTROL, &go, sizeof(go));
	_exit(0);
}

/* Nothing but 0 to 3, and no word of what the supervisor had in its environment. The follower has a
 * directory, in which its uid may make nothing. */
static bool has_nothing(enum role role, char **environment)
{
	for (int fd = ROLE_FD_CONFIG; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0 && (role != ROLE_FOLLOWER || fd != ROLE_FD_FILES))
			return false;
	if (role == ROLE_FOLLOWER &&
	    (openat(ROLE_FD_FILES, "x", O_CREAT | O_WRONLY, 0600) >= 0 || errno != EACCES))
		return false;
	return environment[0] && !environment[1];
}

_Noreturn static void canary(int argc, char **argv, char **environment)
{
	struct role_id id = { (uint8_t)role_by_name(argv[0]), 0 };

	switch (id.role) {
	case ROLE_OBSERVER: survive(id);
	case ROLE_ELECTOR: /* Not locked, and says so as if it were. */
		ready.a[0] = SANDBOX_ALL;
		tell();
		pause();
		_exit(0);
	case ROLE_PUBLISHER_DIALER: /* It leaves out Landlock, and does not hide it. */
		ready.a[0] = SANDBOX_ALL & ~SANDBOX_LANDLOCK_FS;
		tell();
		pause();
		_exit(0);
	case ROLE_SYNCER: pause(); _exit(0);
	case ROLE_PUBLISHER: _exit(70);
	case ROLE_REPOINTER:
		ready.magic = 1;
		tell();
		pause();
		_exit(0);
	default: break;
	}
	if (!has_nothing(id.role, environment))
		_exit(72);
	canary_main(id, argc, argv);
}

/* --- The supervisor ------------------------------------------------------------------------- */

static struct err err;
static struct supervisor supervisor;
static struct us_config config;
static char directory[64], path[96];
static unsigned canaries;

static void on_signal(void *arg, uint32_t events)
{
	(void)events;
	while (init_next_signal(supervisor.signals.fd) != 0)
		init_reap(process_on_ended, arg);
}

static int open_supervisor(void **state)
{
	int fd, self;

	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		return 0;
	memset(&supervisor, 0, sizeof(supervisor));
	memset(&config, 0, sizeof(config));
	canaries = 0;
	(void)snprintf(directory, sizeof(directory), "/dev/shm/understudy-test-XXXXXX");
	if (!mkdtemp(directory) || chmod(directory, 0755))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/canary.sock", directory);
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 1;
	config.worker_count = 1;
	config.uid_base = UID_BASE;
	config.run_directory = 1;
	(void)snprintf(config.pool + 1, sizeof(config.pool) - 1, "%s", directory);
	supervisor.config = &config;
	supervisor.options.config = "/nonexistent";
	supervisor.files = 1024;
	supervisor.available = sandbox_available();
	supervisor.own_filters = verify_own_filters();
	supervisor.listeners[0] = supervisor.listeners[1] = supervisor.admin.listener = -1;
	supervisor.audit.listener = supervisor.audit.watch.fd = supervisor.audit.client.fd = -1;
	supervisor.canary.watch.fd = supervisor.canary.client = -1;
	supervisor.canary.control.fd = supervisor.canary.control_watch.fd = -1;
	supervisor.canary.log_end = -1;
	self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		supervisor.programs[role] = self;
	process_plan(&supervisor, NULL);
	process_plan(&supervisor, &config);
	fd = init_open_signals(&err);
	if (self < 0 || fd < 0 || events_open(&supervisor.events, &err) ||
	    fence_page_open(&supervisor.fence, directory, &err))
		return -1;
	(void)events_add(&supervisor.events, &supervisor.signals, fd, on_signal, &supervisor);
	return canary_open(&supervisor, &err);
}

static int close_supervisor(void **state)
{
	char fence[96];

	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		return 0;
	close(supervisor.canary.listener);
	close(supervisor.signals.fd);
	close(supervisor.events.epoll);
	close(supervisor.events.alarm);
	close(supervisor.programs[0]);
	fence_page_close(&supervisor.fence);
	(void)snprintf(fence, sizeof(fence), "%s/fence", directory);
	(void)unlink(fence);
	(void)unlink(path);
	return rmdir(directory);
}

static int dial(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void turn(void)
{
	int64_t now_ns = base_clock_boot_ns(), audit_ns, due_ns;
	pid_t before = supervisor.canary.pid;

	/* The one that hangs: its time is over. */
	if (before && supervisor.canary.role == ROLE_SYNCER)
		supervisor.canary.one_until_ns = now_ns;
	audit_ns = audit_due(&supervisor, now_ns);
	due_ns = canary_due(&supervisor, now_ns);
	canaries += supervisor.canary.pid != 0 && supervisor.canary.pid != before;
	due_ns = audit_ns < due_ns ? audit_ns : due_ns;
	now_ns += BASE_NS_PER_S / 20;
	events_turn(&supervisor.events, due_ns < now_ns ? due_ns : now_ns);
}

static void read_all(int fd, struct buf *out)
{
	char block[4096];
	ssize_t n;

	while ((n = recv(fd, block, sizeof(block), 0)) != 0) {
		if (n > 0)
			buf_append(out, block, (size_t)n);
		else if (errno == EAGAIN)
			turn();
		else
			fail_msg("%s", strerror(errno));
	}
	close(fd);
}

/* --- Cases ------------------------------------------------------------------------------------ */

/* How many rows of kind probe about the subject have the verdict; text of the last one. */
static unsigned count_rows(
    const struct buf *out, const char *subject, enum audit_verdict verdict, struct audit_row *last)
{
	struct str rest = buf_str(out);
	struct audit_row row;
	unsigned count = 0;
	int got;

	assert_true(audit_take_head(&rest));
	while ((got = audit_take(&rest, &row)) > 0) {
		if (row.kind != AUDIT_PROBE || row.verdict != verdict ||
		    strcmp(row.subject, subject) != 0)
			continue;
		*last = row;
		count++;
	}
	assert_int_equal(got, 0);
	return count;
}

static unsigned expected_of(enum role role, enum canary_expected expected)
{
	unsigned count, found = 0;
	const struct canary_probe *list = canary_probes(&count);

	for (unsigned i = 0; i < count; i++)
		found += canary_expects(&list[i], role, sandbox_available()) == expected;
	return found;
}

static unsigned all_of(enum role role)
{
	return expected_of(role, CANARY_WORKS) + expected_of(role, CANARY_REFUSED) +
	       expected_of(role, CANARY_KILLED);
}

static void each_row_is_told_as_its_canaries_met_it(void **state)
{
	static const enum role honest[] = { ROLE_LOADER, ROLE_MONITOR, ROLE_OBSERVER_DIALER,
		ROLE_REPOINTER_DIALER };
	struct buf out = buf_make(AUDIT_MAX_BYTES);
	struct audit_row row;
	struct stat st;

	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		skip();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	read_all(dial(), &out);
	for (unsigned i = 0; i < sizeof(honest) / sizeof(honest[0]); i++)
		assert_int_equal(
		    count_rows(&out, role_name(honest[i]), AUDIT_OK, &row), 1 + all_of(honest[i]));

	/* What should have killed was survived; nothing else is wrong with it. */
	assert_int_equal(count_rows(&out, "observer", AUDIT_FINDING, &row),
	    expected_of(ROLE_OBSERVER, CANARY_KILLED));
	assert_string_equal(row.declared, "killed by SIGSYS");
	assert_string_equal(row.probed, "works");
	assert_int_equal(count_rows(&out, "observer", AUDIT_OK, &row),
	    1 + all_of(ROLE_OBSERVER) - expected_of(ROLE_OBSERVER, CANARY_KILLED));

	/* Not in its row, whatever it says: a finding, and none of its answers counts. */
	assert_int_equal(count_rows(&out, "elector", AUDIT_FINDING, &row), 1);
	assert_non_null(strstr(row.text, "it is not what its row says"));
	assert_int_equal(count_rows(&out, "elector", AUDIT_OK, &row), 0);
	assert_int_equal(count_rows(&out, "publisher-dialer", AUDIT_FINDING, &row), 1);
	assert_string_equal(row.text, "not in force: landlock-fs");
	assert_int_equal(count_rows(&out, "repointer", AUDIT_FINDING, &row), 1);
	assert_non_null(strstr(row.text, "magic 0x1"));

	/* Who hangs or ends early proves nothing. */
	assert_int_equal(count_rows(&out, "syncer", AUDIT_OK, &row), 0);
	assert_int_equal(count_rows(&out, "syncer", AUDIT_FINDING, &row), 0);
	assert_true(count_rows(&out, "syncer", AUDIT_UNVERIFIED, &row) > 10);
	assert_int_equal(count_rows(&out, "publisher", AUDIT_FINDING, &row), 0);
	assert_true(count_rows(&out, "publisher", AUDIT_UNVERIFIED, &row) > 10);

	/* The supervisor for itself; this one, of a test, has no filter of its own. */
	assert_int_equal(count_rows(&out, "supervisor", AUDIT_FINDING, &row) +
			     count_rows(&out, "supervisor", AUDIT_OK, &row),
	    all_of(ROLE_SUPERVISOR));
	assert_true(canaries > 4 * expected_of(ROLE_LOADER, CANARY_KILLED));
	assert_int_equal(supervisor.canary.pid, 0);
	buf_free(&out);
}

/* Its row allows files beneath one directory, and a canary must not get the real one. */
static void on_a_worker_the_followers_row_is_tried_as_well(void **state)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);
	struct audit_row row;

	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		skip();
	config.mode = CONFIG_FOLLOWER;
	read_all(dial(), &out);
	assert_int_equal(count_rows(&out, "follower", AUDIT_OK, &row), 1 + all_of(ROLE_FOLLOWER));
	assert_int_equal(
	    count_rows(&out, "follower-dialer", AUDIT_OK, &row), 1 + all_of(ROLE_FOLLOWER_DIALER));
	assert_int_equal(count_rows(&out, "observer", AUDIT_OK, &row), 0);
	buf_free(&out);
}

static void an_audit_that_is_not_deep_starts_none(void **state)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);
	struct str rest;
	struct audit_row row;

	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		skip();
	audit_collect(&supervisor, AUDIT_PLAIN, &out);
	rest = buf_str(&out);
	assert_true(audit_take_head(&rest));
	while (audit_take(&rest, &row) > 0)
		assert_int_not_equal(row.kind, AUDIT_PROBE);
	assert_int_equal(canaries, 0);
	buf_free(&out);
}

/* The next one waits in the kernel's queue, also when the first has gone. */
static void one_run_at_a_time_with_a_pause_behind_it(void **state)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);
	struct audit_row row;
	int64_t begun_ns = base_clock_boot_ns();
	int first, second;

	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		skip();
	first = dial();
	while (!supervisor.canary.pid)
		turn();
	second = dial();
	for (int i = 0; i < 20; i++)
		turn();
	assert_true(supervisor.canary.client >= 0);
	close(first);
	read_all(second, &out);
	assert_int_equal(count_rows(&out, "loader", AUDIT_OK, &row), 1 + all_of(ROLE_LOADER));
	assert_true(supervisor.canary.again_ns >= begun_ns + CANARY_PAUSE_NS);
	supervisor.canary.again_ns = base_clock_boot_ns() + 1000 * BASE_NS_PER_S;
	second = dial();
	turn();
	assert_int_equal(supervisor.canary.client, -1);
	close(second);
	buf_free(&out);
}

/* An audit at that moment takes it for nobody else. */
static void a_stop_ends_the_canary_and_hangs_up(void **state)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);
	struct audit_row row;
	struct str rest;
	char c;
	int fd;

	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		skip();
	fd = dial();
	while (!supervisor.canary.pid || supervisor.canary.role == ROLE_RUNNER)
		turn();
	audit_collect(&supervisor, AUDIT_PLAIN, &out);
	rest = buf_str(&out);
	assert_true(audit_take_head(&rest));
	while (audit_take(&rest, &row) > 0)
		if (strncmp(row.subject, "uid range", 9) == 0)
			assert_int_equal(row.verdict, AUDIT_OK);
	canary_stop(&supervisor);
	while (supervisor.canary.pid)
		events_turn(&supervisor.events, base_clock_boot_ns() + BASE_NS_PER_S / 20);
	assert_int_equal(recv(fd, &c, 1, 0), 0);
	close(fd);
	buf_free(&out);
}

int main(int argc, char **argv, char **environment)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    each_row_is_told_as_its_canaries_met_it, open_supervisor, close_supervisor),
		cmocka_unit_test_setup_teardown(on_a_worker_the_followers_row_is_tried_as_well,
		    open_supervisor, close_supervisor),
		cmocka_unit_test_setup_teardown(
		    an_audit_that_is_not_deep_starts_none, open_supervisor, close_supervisor),
		cmocka_unit_test_setup_teardown(
		    one_run_at_a_time_with_a_pause_behind_it, open_supervisor, close_supervisor),
		cmocka_unit_test_setup_teardown(
		    a_stop_ends_the_canary_and_hangs_up, open_supervisor, close_supervisor),
	};

	if (canary_is_asked(argc, argv))
		canary(argc, argv, environment);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
