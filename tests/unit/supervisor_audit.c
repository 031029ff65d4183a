/*
 * Goal: who asks over audit.sock gets all rows, about files and strangers as they are, and costs
 * nobody time. Method: the socket of a planned supervisor; nothing of it runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "supervisor/audit.h"
#include "supervisor/process.h"

static struct err err;
static struct supervisor supervisor;
static struct us_config config;
static char directory[64], path[96];

static int open_supervisor(void **state)
{
	(void)state;
	memset(&supervisor, 0, sizeof(supervisor));
	memset(&config, 0, sizeof(config));
	(void)snprintf(directory, sizeof(directory), "/dev/shm/understudy-test-XXXXXX");
	if (geteuid() != 0)
		return 0;
	if (!mkdtemp(directory) || chmod(directory, 0755))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/audit.sock", directory);
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 1;
	config.uid_base = 61000;
	config.run_directory = 1;
	(void)snprintf(config.pool + 1, sizeof(config.pool) - 1, "%s", directory);
	(void)snprintf(config.pool + 200, sizeof(config.pool) - 200, "%s/token", directory);
	config.credentials[CREDENTIAL_ELECTOR].token_file = 200;
	close(open(config.pool + 200, O_CREAT | O_WRONLY, 0400));
	supervisor.config = &config;
	supervisor.options.config = "/nonexistent";
	supervisor.listeners[0] = supervisor.listeners[1] = supervisor.admin.listener = -1;
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		supervisor.programs[role] = -1;
	process_plan(&supervisor, NULL);
	process_plan(&supervisor, &config);
	if (events_open(&supervisor.events, &err) ||
	    fence_page_open(&supervisor.fence, directory, &err))
		return -1;
	return audit_open(&supervisor, &err);
}

static int close_supervisor(void **state)
{
	char fence[96];

	(void)state;
	if (geteuid() != 0)
		return 0;
	close(supervisor.audit.listener);
	close(supervisor.events.epoll);
	close(supervisor.events.alarm);
	buf_free(&supervisor.audit.rows);
	fence_page_close(&supervisor.fence);
	(void)snprintf(fence, sizeof(fence), "%s/fence", directory);
	(void)unlink(fence);
	(void)unlink(path);
	(void)unlink(config.pool + 200);
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
	int64_t due_ns = audit_due(&supervisor, base_clock_boot_ns());
	int64_t most_ns = base_clock_boot_ns() + BASE_NS_PER_S / 20;

	events_turn(&supervisor.events, due_ns < most_ns ? due_ns : most_ns);
}

/* All that comes until the end of the file, while the supervisor's loop turns. */
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

/* Verdict of the first row of that kind about that, in the whole list. */
static int find(struct buf *out, enum audit_kind kind, const char *what, struct audit_row *row)
{
	struct str rest = buf_str(out);
	int got;

	assert_true(audit_take_head(&rest));
	while ((got = audit_take(&rest, row)) > 0)
		if (row->kind == kind && strstr(row->what, what))
			return 1;
	assert_int_equal(got, 0);
	return 0;
}

static void a_connection_is_answered_with_all_rows(void **state)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);
	struct audit_row row;
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	read_all(dial(), &out);
	assert_true(find(&out, AUDIT_FILE, "audit.sock", &row));
	assert_int_equal(row.verdict, AUDIT_OK);
	assert_string_equal(row.effective, "uid 0, gid 0, mode 0600");
	assert_true(find(&out, AUDIT_CREDENTIAL, "/token", &row));
	assert_int_equal(row.verdict, AUDIT_OK);
	/* Nothing was started: no process is called in order. */
	assert_true(find(&out, AUDIT_PROCESS, "state", &row));
	assert_int_equal(row.verdict, AUDIT_UNVERIFIED);
	buf_free(&out);

	assert_int_equal(chmod(config.pool + 200, 0404), 0);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(chmod(directory, 0777), 0);
	out = buf_make(AUDIT_MAX_BYTES);
	read_all(dial(), &out);
	assert_true(find(&out, AUDIT_FILE, "audit.sock", &row));
	assert_int_equal(row.verdict, AUDIT_FINDING);
	assert_true(find(&out, AUDIT_FILE, directory, &row));
	assert_int_equal(row.verdict, AUDIT_FINDING);
	assert_true(find(&out, AUDIT_CREDENTIAL, "/token", &row));
	assert_int_equal(row.verdict, AUDIT_FINDING);
	buf_free(&out);
}

static void the_same_account_for_two_roles_is_a_finding(void **state)
{
	struct us_loaded *pins[] = { &supervisor.identities[CREDENTIAL_ELECTOR].pinned,
		&supervisor.identities[CREDENTIAL_PUBLISHER].pinned };

	(void)state;
	if (geteuid() != 0)
		skip();
	config.credentials[CREDENTIAL_PUBLISHER].token_file = 300;
	(void)snprintf(config.pool + 300, sizeof(config.pool) - 300, "/another");
	for (unsigned i = 0; i < 2; i++) {
		*pins[i] = (struct us_loaded){ .host = "h", .subject = "sa", .port = 6443 };
		supervisor.identities[i].pinned_once = true;
	}
	for (unsigned round = 0; round < 3; round++) {
		struct buf out = buf_make(AUDIT_MAX_BYTES);
		struct audit_row row;

		/* First the same, then by one file, then another server. */
		if (round == 1)
			config.credentials[CREDENTIAL_PUBLISHER].token_file = 200;
		if (round == 2)
			pins[1]->port = 6444;
		read_all(dial(), &out);
		assert_true(find(&out, AUDIT_CREDENTIAL, "holder", &row));
		assert_int_equal(row.verdict, round == 0   ? AUDIT_FINDING
					      : round == 1 ? AUDIT_WAIVED
							   : AUDIT_UNVERIFIED);
		buf_free(&out);
	}
}

/* One that listens on another port than the configuration says. */
static void a_listener_elsewhere_is_a_finding(void **state)
{
	struct sockaddr_in bound = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t bytes = sizeof(bound);
	struct audit_row row;

	(void)state;
	if (geteuid() != 0)
		skip();
	(void)snprintf(config.pool + 300, sizeof(config.pool) - 300, "127.0.0.1");
	config.listen_address = 300;
	supervisor.listeners[CONTROL_LISTENER_HTTP] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(supervisor.listeners[CONTROL_LISTENER_HTTP],
			     (struct sockaddr *)&bound, sizeof(bound)),
	    0);
	assert_int_equal(getsockname(supervisor.listeners[CONTROL_LISTENER_HTTP],
			     (struct sockaddr *)&bound, &bytes),
	    0);
	for (unsigned wrong = 0; wrong < 2; wrong++) {
		struct buf out = buf_make(AUDIT_MAX_BYTES);

		config.listen_port = ntohs(bound.sin_port) + wrong;
		read_all(dial(), &out);
		assert_true(find(&out, AUDIT_ENDPOINT, "listen.http", &row));
		assert_int_equal(row.verdict, wrong ? AUDIT_FINDING : AUDIT_OK);
		buf_free(&out);
	}
	close(supervisor.listeners[CONTROL_LISTENER_HTTP]);
}

static void a_stranger_under_a_roles_uid_is_a_finding(void **state)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);
	struct audit_row row;
	char what[32];
	int ready[2];
	pid_t pid;
	char c;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (setresuid(61004, 61004, 61004) == 0 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	(void)snprintf(what, sizeof(what), "pid %d", (int)pid);
	read_all(dial(), &out);
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(find(&out, AUDIT_PROCESS, what, &row));
	assert_int_equal(row.verdict, AUDIT_FINDING);
	assert_non_null(strstr(row.effective, "uid 61004"));
	buf_free(&out);

	out = buf_make(AUDIT_MAX_BYTES);
	read_all(dial(), &out);
	assert_true(find(&out, AUDIT_PROCESS, "uids 61000 to 61063", &row));
	assert_int_equal(row.verdict, AUDIT_OK);
	close(ready[0]);
	close(ready[1]);
	buf_free(&out);
}

/* It talks instead of listening. */
static void who_does_not_read_is_hung_up_on_and_makes_others_wait_a_moment(void **state)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);
	struct audit_row row;
	int mute, turns = 0;
	int64_t begun_ns;

	(void)state;
	if (geteuid() != 0)
		skip();
	/* More rows than the kernel takes for one who does not read. */
	config.worker_count = CONFIG_MAX_WORKERS;
	config.shard_size = 8;
	memset(config.pool + 1000, 'k', 250); /* a long path */
	for (unsigned i = 0; i < CONFIG_MAX_WORKERS; i++)
		config.workers[i].credential.ca_file = 1000;
	process_plan(&supervisor, &config);
	mute = dial();
	for (int i = 0; i < 1000 && supervisor.audit.client.fd < 0; i++)
		turn();
	assert_true(supervisor.audit.client.fd >= 0);
	(void)send(mute, "what", 4, MSG_NOSIGNAL);
	begun_ns = base_clock_boot_ns();
	while (supervisor.audit.client.fd >= 0 && turns < 1000) {
		turn();
		turns++;
	}
	assert_int_equal(supervisor.audit.client.fd, -1);
	/* Two seconds, in which the loop slept: what the client sends wakes nobody. */
	assert_true(base_clock_boot_ns() - begun_ns > BASE_NS_PER_S);
	assert_true(turns < 200);
	read_all(dial(), &out);
	assert_true(find(&out, AUDIT_FILE, "fence", &row));
	close(mute);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_connection_is_answered_with_all_rows, open_supervisor, close_supervisor),
		cmocka_unit_test_setup_teardown(
		    the_same_account_for_two_roles_is_a_finding, open_supervisor, close_supervisor),
		cmocka_unit_test_setup_teardown(
		    a_listener_elsewhere_is_a_finding, open_supervisor, close_supervisor),
		cmocka_unit_test_setup_teardown(
		    a_stranger_under_a_roles_uid_is_a_finding, open_supervisor, close_supervisor),
		cmocka_unit_test_setup_teardown(
		    who_does_not_read_is_hung_up_on_and_makes_others_wait_a_moment, open_supervisor,
		    close_supervisor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
