/*
 * Goal: who connects to admin.sock reaches the elector with the identity that the kernel knows, at
 * a bounded rate, and nobody does while there is no elector; the socket is root's alone unless a
 * group is configured (F1). Method: a planned supervisor, a control link instead of an elector.
 * Pitfall: P41.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "supervisor/admin.h"
#include "supervisor/process.h"

static struct supervisor supervisor;
static struct us_config config;
static char directory[64], path[96];
static int elector_end;
static struct err err;

static int open_supervisor(void **state)
{
	struct process *elector;

	(void)state;
	memset(&supervisor, 0, sizeof(supervisor));
	memset(&config, 0, sizeof(config));
	(void)snprintf(directory, sizeof(directory), "/dev/shm/understudy-test-XXXXXX");
	if (!mkdtemp(directory) || chmod(directory, 0755))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/admin.sock", directory);
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 1;
	config.run_directory = 1;
	(void)snprintf(config.pool + 1, sizeof(config.pool) - 1, "%s", directory);
	supervisor.config = &config;
	process_plan(&supervisor, &config);
	elector = process_of(&supervisor, (struct role_id){ ROLE_ELECTOR, 0 });
	elector->state = PROCESS_RUNNING;
	elector->pid = getpid();
	if (control_open(&elector->control, &elector_end) || events_open(&supervisor.events, &err))
		return -1;
	return geteuid() == 0 ? fence_page_open(&supervisor.fence, directory, &err) : 0;
}

static int close_supervisor(void **state)
{
	char fence[96];

	(void)state;
	control_close(&process_of(&supervisor, (struct role_id){ ROLE_ELECTOR, 0 })->control);
	close(elector_end);
	if (supervisor.admin.listener > 0)
		close(supervisor.admin.listener);
	close(supervisor.events.epoll);
	close(supervisor.events.alarm);
	if (geteuid() == 0)
		fence_page_close(&supervisor.fence);
	(void)snprintf(fence, sizeof(fence), "%s/fence", directory);
	(void)unlink(fence);
	(void)unlink(path);
	return rmdir(directory);
}

static int connect_only(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int dial(void)
{
	int fd = connect_only();

	(void)admin_due(&supervisor, base_clock_boot_ns());
	events_turn(&supervisor.events, base_clock_boot_ns() + BASE_NS_PER_S / 20);
	return fd;
}

/* What the elector got: the descriptor, or -1 when nothing came. */
static int take(struct us_ctl *ctl)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room;
	struct iovec vector = { ctl, sizeof(*ctl) };
	struct msghdr header = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = room.bytes,
		.msg_controllen = sizeof(room.bytes) };
	struct cmsghdr *first;
	int fd = -1;

	if (recvmsg(elector_end, &header, MSG_DONTWAIT) != sizeof(*ctl))
		return -1;
	first = CMSG_FIRSTHDR(&header);
	if (first)
		memcpy(&fd, CMSG_DATA(first), sizeof(fd));
	return fd;
}

static void a_client_arrives_with_what_the_kernel_says_of_it(void **state)
{
	struct us_ctl ctl;
	struct stat st;
	int client, fd;
	char c = 0;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(admin_open(&supervisor, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600); /* no group configured: root alone */
	client = dial();
	fd = take(&ctl);
	assert_true(fd >= 0);
	assert_int_equal(ctl.type, CONTROL_ADMIN_CLIENT);
	assert_int_equal(ctl.a[0], 0);
	assert_int_equal(ctl.a[1], getegid());
	assert_int_equal(ctl.a[2], getpid());
	/* No copy stays with the supervisor: the elector's close ends the connection. */
	close(fd);
	assert_int_equal(read(client, &c, 1), 0);
	close(client);
}

static void without_an_elector_the_connection_waits(void **state)
{
	struct us_ctl ctl;
	struct process *elector = process_of(&supervisor, (struct role_id){ ROLE_ELECTOR, 0 });
	int client, fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(admin_open(&supervisor, &err), 0);
	elector->state = PROCESS_GREETED;
	client = dial();
	assert_int_equal(take(&ctl), -1);
	elector->state = PROCESS_RUNNING;
	(void)admin_due(&supervisor, base_clock_boot_ns());
	events_turn(&supervisor.events, base_clock_boot_ns() + BASE_NS_PER_S / 20);
	fd = take(&ctl);
	assert_true(fd >= 0);
	close(fd);
	close(client);
}

static void a_group_may_be_let_in(void **state)
{
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	config.admin_group = 64;
	(void)snprintf(config.pool + 64, 16, "daemon");
	assert_int_equal(admin_open(&supervisor, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(st.st_gid, 1);
}

static void a_follower_has_no_such_socket(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	config.mode = CONFIG_FOLLOWER;
	assert_int_equal(admin_open(&supervisor, &err), 0);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void F1_a_crowd_is_held_to_a_rate(void **state)
{
	struct admin admin = { .earned_ns = 0 };
	struct us_ctl ctl;
	int clients[40], fd, passed = 0;
	int64_t begun_ns, now_ns;

	(void)state;
	assert_int_equal(admin_tokens(&admin, BASE_NS_PER_S), 16);
	admin.spent = 16;
	assert_int_equal(admin_tokens(&admin, BASE_NS_PER_S + BASE_NS_PER_S / 20), 0);
	assert_int_equal(admin_tokens(&admin, BASE_NS_PER_S + BASE_NS_PER_S / 2), 5);
	assert_int_equal(admin_tokens(&admin, 3600 * BASE_NS_PER_S), 16);
	if (geteuid() != 0)
		skip();
	assert_int_equal(admin_open(&supervisor, &err), 0);
	begun_ns = base_clock_boot_ns();
	for (int i = 0; i < 40; i++)
		clients[i] = dial();
	now_ns = base_clock_boot_ns();
	for (int i = 0; i < 100; i++)
		if ((fd = take(&ctl)) >= 0) {
			passed++;
			close(fd);
		}
	/* 16 at once, ten a second then; the others wait, and somebody is due for them. */
	assert_in_range(passed, 16, 16 + 10 * ((now_ns - begun_ns) / BASE_NS_PER_S + 1));
	supervisor.admin.spent = 16;
	supervisor.admin.earned_ns = INT64_MAX / 2; /* however long the next line takes */
	events_turn(&supervisor.events, now_ns);
	assert_int_equal(take(&ctl), -1);
	supervisor.admin.earned_ns = now_ns;
	assert_in_range(admin_due(&supervisor, now_ns), now_ns + 1, now_ns + BASE_NS_PER_S);
	for (int i = 0; i < 40; i++)
		close(clients[i]);
}

/* Who cannot be accepted, because descriptors have run out, waits, and the loop does not turn in a
 * circle about it. */
static void without_descriptors_nothing_turns_in_a_circle(void **state)
{
	struct rlimit before, none;
	struct us_ctl ctl;
	int64_t from_ns;
	int client, fd, free_fd;
	unsigned turns = 0;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(admin_open(&supervisor, &err), 0);
	client = connect_only();
	free_fd = dup(0);
	assert_true(free_fd > 0);
	close(free_fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ (rlim_t)free_fd, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	from_ns = base_clock_boot_ns();
	(void)admin_due(&supervisor, from_ns);
	while (supervisor.admin.watch.fd >= 0 && turns++ < 1000)
		events_turn(&supervisor.events, base_clock_boot_ns());
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_in_range(turns, 1, 999);
	assert_true(admin_due(&supervisor, base_clock_boot_ns()) > from_ns);
	while (supervisor.admin.watch.fd < 0)
		(void)admin_due(&supervisor, base_clock_boot_ns());
	events_turn(&supervisor.events, base_clock_boot_ns());
	fd = take(&ctl);
	assert_true(fd >= 0);
	close(fd);
	close(client);
}

static void F1_users_of_no_namespace_of_ours_are_nobody(void **state)
{
	(void)state;
	assert_true(admin_knows(&(struct ucred){ .pid = 9, .uid = 0, .gid = 0 }));
	assert_true(admin_knows(&(struct ucred){ .pid = 9, .uid = 1000, .gid = 100 }));
	assert_false(admin_knows(&(struct ucred){ .pid = 9, .uid = 65534, .gid = 65534 }));
	assert_false(admin_knows(&(struct ucred){ .pid = 9, .uid = (uid_t)-1, .gid = 0 }));
	assert_false(admin_knows(&(struct ucred){ .pid = 0, .uid = 0, .gid = 0 }));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_supervisor, close_supervisor)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_client_arrives_with_what_the_kernel_says_of_it),
		TEST(without_an_elector_the_connection_waits),
		TEST(a_group_may_be_let_in),
		TEST(a_follower_has_no_such_socket),
		TEST(F1_a_crowd_is_held_to_a_rate),
		TEST(without_descriptors_nothing_turns_in_a_circle),
		TEST(F1_users_of_no_namespace_of_ours_are_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
