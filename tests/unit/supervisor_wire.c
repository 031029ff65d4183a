/*
 * Goal: a wire for each linked pair of the table and for no other; listeners with the mode and
 * group of the configuration, stale sockets replaced and removed ones bound anew, a used port
 * refused by name; groups without NSS. Method: a planned supervisor without processes; sockets on
 * loopback and tmpfs.
 * Pitfalls: P40, P84.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
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
#include "supervisor/admin.h"
#include "supervisor/audit.h"
#include "supervisor/canary.h"
#include "supervisor/process.h"
#include "supervisor/wire.h"
#include "tests/unit/config_pool.h"

static struct supervisor supervisor;
static struct us_config config;
static char directory[64];
static struct err err;

static config_text put(const char *text)
{
	return config_put(&config, text);
}

static int open_supervisor(void **state)
{
	(void)state;
	memset(&supervisor, 0, sizeof(supervisor));
	memset(&config, 0, sizeof(config));
	(void)snprintf(directory, sizeof(directory), "/dev/shm/understudy-test-XXXXXX");
	if (!mkdtemp(directory) || chmod(directory, 0755))
		return -1;
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 1;
	config.worker_count = 3;
	config.listen_address = put("127.0.0.1");
	config.run_directory = put(directory);
	supervisor.config = &config;
	supervisor.listeners[0] = supervisor.listeners[1] = -1;
	return geteuid() == 0 ? fence_page_open(&supervisor.fence, directory, &err) : 0;
}

static int close_supervisor(void **state)
{
	char path[96];

	(void)state;
	for (int i = 0; i < 2; i++)
		if (supervisor.listeners[i] >= 0)
			close(supervisor.listeners[i]);
	if (geteuid() == 0)
		fence_page_close(&supervisor.fence);
	free(supervisor.wires);
	(void)snprintf(path, sizeof(path), "%s/fence", directory);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/status.sock", directory);
	(void)unlink(path);
	return rmdir(directory);
}

static void wires_are_those_of_the_table(void **state)
{
	unsigned repointer_ends = 0;

	(void)state;
	process_plan(&supervisor, &config);
	wire_plan(&supervisor);
	assert_true(supervisor.wire_count > 0);
	for (unsigned i = 0; i < supervisor.wire_count; i++) {
		const struct process *a = supervisor.wires[i].ends[0],
				     *b = supervisor.wires[i].ends[1];

		assert_true(role_row(a->id.role)->links & ROLE_BIT(b->id.role));
		assert_ptr_equal(
		    wire_between(supervisor.wires[i].ends[0], b->id), &supervisor.wires[i]);
		repointer_ends += a->id.role == ROLE_REPOINTER;
		repointer_ends += b->id.role == ROLE_REPOINTER;
	}
	/* Three shards, each with elector, publisher, monitor and the one dialer. */
	assert_int_equal(repointer_ends, 3 * 4);
	assert_null(wire_between(process_of(&supervisor, (struct role_id){ ROLE_SYNCER, 0 }),
	    (struct role_id){ ROLE_REPOINTER, 0 }));
}

static void nothing_is_linked_before_it_is_verified(void **state)
{
	(void)state;
	process_plan(&supervisor, &config);
	wire_plan(&supervisor);
	assert_int_equal(wire_due(&supervisor, 1), INT64_MAX);
	for (unsigned i = 0; i < supervisor.wire_count; i++)
		assert_false(supervisor.wires[i].up);
}

static void listeners_have_mode_and_group(void **state)
{
	struct sockaddr_in address = { 0 };
	socklen_t bytes = sizeof(address);
	char path[96];
	struct stat st;
	int stale;

	(void)state;
	if (geteuid() != 0)
		skip();
	(void)snprintf(path, sizeof(path), "%s/status.sock", directory);
	config.status_group = put("daemon");
	assert_int_equal(wire_open_listeners(&supervisor, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_gid, 1);
	assert_int_equal(getegid(), 0);
	assert_int_equal(
	    getsockname(supervisor.listeners[0], (struct sockaddr *)&address, &bytes), 0);
	assert_int_equal(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
	/* A dead supervisor's socket is replaced. */
	stale = supervisor.listeners[1];
	close(supervisor.listeners[0]);
	assert_int_equal(wire_open_listeners(&supervisor, &err), 0);
	close(stale);
}

/* As a client does. 0, or the errno of connect. */
static int connects(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	error = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? errno : 0;
	close(fd);
	return error;
}

static void a_socket_that_is_removed_is_bound_anew(void **state)
{
	static const char *const names[] = { "status.sock", "admin.sock", "audit.sock",
		"canary.sock" };
	int64_t now_ns = 10 * BASE_NS_PER_S;
	char path[96];
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(wire_open_listeners(&supervisor, &err), 0);
	assert_int_equal(admin_open(&supervisor, &err), 0);
	assert_int_equal(audit_open(&supervisor, &err), 0);
	assert_int_equal(canary_open(&supervisor, &err), 0);
	for (unsigned i = 0; i < 4; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		assert_int_equal(connects(path), 0);
		/* Removed: there again by the next look, which is a second later. */
		assert_int_equal(wire_mend_sockets(&supervisor, now_ns), now_ns + BASE_NS_PER_S);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(
		    wire_mend_sockets(&supervisor, now_ns + 1), now_ns + BASE_NS_PER_S);
		assert_int_equal(connects(path), ENOENT);
		(void)wire_mend_sockets(&supervisor, now_ns += BASE_NS_PER_S);
		assert_int_equal(connects(path), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, i == 0 ? 0660 : 0600);
		/* Something that is no socket lies there: tried until it is gone, never removed. */
		assert_int_equal(unlink(path), 0);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		for (int again = 0; again < 3; again++) {
			(void)wire_mend_sockets(&supervisor, now_ns += BASE_NS_PER_S);
			assert_int_equal(stat(path, &st), 0);
			assert_true(S_ISREG(st.st_mode));
		}
		assert_int_equal(unlink(path), 0);
		(void)wire_mend_sockets(&supervisor, now_ns += BASE_NS_PER_S);
		assert_int_equal(connects(path), 0);
		/* What nobody touched stays as it is. */
		assert_int_equal(stat(path, &st), 0);
		(void)wire_mend_sockets(&supervisor, now_ns += BASE_NS_PER_S);
		assert_int_equal(supervisor.sockets[i].inode, st.st_ino);
	}
	for (unsigned i = 1; i < 4; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		assert_int_equal(unlink(path), 0);
	}
	close(supervisor.admin.listener);
	close(supervisor.audit.listener);
	close(supervisor.canary.listener);
}

static void a_used_port_is_refused_by_name(void **state)
{
	struct sockaddr_in address = { 0 };
	socklen_t bytes = sizeof(address);
	char number[16];

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(wire_open_listeners(&supervisor, &err), 0);
	assert_int_equal(
	    getsockname(supervisor.listeners[0], (struct sockaddr *)&address, &bytes), 0);
	config.listen_port = ntohs(address.sin_port);
	(void)snprintf(number, sizeof(number), ":%u:", config.listen_port);
	bytes = (socklen_t)supervisor.listeners[0];
	assert_int_equal(wire_open_listeners(&supervisor, &err), -1);
	close((int)bytes);
	assert_non_null(strstr(err.text, "listen.http 127.0.0.1"));
	assert_non_null(strstr(err.text, number));
	assert_non_null(strstr(err.text, strerror(EADDRINUSE)));
}

static void what_cannot_be_bound_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	config.listen_address = put("localhost");
	assert_int_equal(wire_open_listeners(&supervisor, &err), -1);
	config.listen_address = put("127.0.0.1");
	config.status_group = put("no-such-group");
	assert_int_equal(wire_open_listeners(&supervisor, &err), -1);
	assert_non_null(strstr(err.text, "no-such-group"));
}

static void groups_come_from_the_file(void **state)
{
	char path[] = "/tmp/understudy-test-XXXXXX";
	int fd = mkstemp(path);
	gid_t gid = 1;

	(void)state;
	assert_true(fd >= 0);
	assert_true(dprintf(fd, "root:x:0:\nbroken\nunderstudy:x:977:alice\n") > 0);
	close(fd);
	assert_int_equal(wire_group("", path, &gid), 0);
	assert_int_equal(gid, 0);
	assert_int_equal(wire_group("understudy", path, &gid), 0);
	assert_int_equal(gid, 977);
	assert_int_equal(wire_group("under", path, &gid), -1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(wire_group("understudy", path, &gid), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_supervisor, close_supervisor)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wires_are_those_of_the_table),
		TEST(nothing_is_linked_before_it_is_verified),
		TEST(listeners_have_mode_and_group),
		TEST(a_socket_that_is_removed_is_bound_anew),
		TEST(a_used_port_is_refused_by_name),
		TEST(what_cannot_be_bound_is_refused),
		TEST(groups_come_from_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
