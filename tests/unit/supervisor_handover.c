/*
 * Goal: the hand-over directory belongs to the follower, its group is the workload's, nobody else
 * reads it; a path that was mistyped is not given away (F36). Method: directories under /dev/shm;
 * needs root.
 * Pitfalls: P86, P103.
 */
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/handover.h"
#include "supervisor/start.h"

static struct us_config config;
static char base[64], path[96];

static int open_base(void **state)
{
	(void)state;
	(void)snprintf(base, sizeof(base), "/dev/shm/handover-XXXXXX");
	if (!mkdtemp(base))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/hub", base);
	(void)snprintf(config.pool + 1, sizeof(config.pool) - 1, "%s", path);
	config.follower.directory = 1;
	config.uid_base = 54000;
	return 0;
}

static int remove_base(void **state)
{
	char file[128];

	(void)state;
	(void)snprintf(file, sizeof(file), "%s/precious", path);
	(void)unlink(file);
	(void)unlink(path);
	(void)rmdir(path);
	return rmdir(base);
}

static void opens(void)
{
	struct err err = { "" };
	struct stat st;
	int fd = handover_open(&config, &err);

	if (fd < 0)
		fail_msg("%s", err.text);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, 54007);
	assert_int_equal(st.st_gid, 54008);
	assert_int_equal(st.st_mode & 07777, 02750);
	close(fd);
}

static void refuses(const char *words)
{
	struct err err = { "" };

	assert_int_equal(handover_open(&config, &err), -1);
	if (!strstr(err.text, words) || !strstr(err.text, path))
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void it_is_made_and_taken_over(void **state)
{
	char file[128];

	(void)state;
	if (geteuid() != 0)
		skip();
	opens();
	(void)snprintf(file, sizeof(file), "%s/precious", path);
	fclose(fopen(file, "w"));
	opens(); /* The same follower again, with what it left. */
}

/* F26: in a unit or a container root has four capabilities, and is a stranger to the follower's
 * files. */
static void with_four_capabilities_a_prepared_one_is_taken(void **state)
{
	const uint64_t four =
	    1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_SETPCAP | 1ULL << CAP_KILL;
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(base, 0755), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	pid = fork();
	if (pid == 0) {
		struct err err = { "" };

		if (start_keep_capabilities(four, false) != NULL)
			_exit(1);
		_exit(handover_open(&config, &err) == -1 && strstr(err.text, "without CAP_CHOWN")
			  ? 0
			  : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(chown(path, 54007, 54008), 0);
	assert_int_equal(chmod(path, 02750), 0);
	pid = fork();
	if (pid == 0) {
		struct err err = { "" };
		int fd;

		if (start_keep_capabilities(four, false) != NULL)
			_exit(1);
		fd = handover_open(&config, &err);
		_exit(fd < 0 ? 2 : geteuid() != 0 ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void an_empty_one_of_root_is_taken(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(path, 0755), 0);
	opens();
}

static void nothing_else_is_given_away(void **state)
{
	char file[128];

	(void)state;
	if (geteuid() != 0)
		skip();
	(void)snprintf(file, sizeof(file), "%s/precious", path);
	assert_int_equal(mkdir(path, 0755), 0);
	fclose(fopen(file, "w"));
	refuses("owner 0 and mode 755 (expected an empty one of root");
	assert_int_equal(unlink(file), 0);
	assert_int_equal(chown(path, 54999, 54999), 0);
	refuses("owner 54999");
	assert_int_equal(chown(path, 54007, 54007), 0);
	assert_int_equal(chmod(path, 0777), 0);
	refuses("mode 777");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/dev/shm", path), 0);
	refuses("Not a directory");
	assert_int_equal(unlink(path), 0);
	fclose(fopen(path, "w"));
	refuses("Not a directory");
}

static void a_parent_that_is_not_there_is_named(void **state)
{
	(void)state;
	(void)snprintf(config.pool + 1, sizeof(config.pool) - 1, "%s/no/hub", base);
	(void)snprintf(path, sizeof(path), "%s/no/hub", base);
	refuses("No such file");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_base, remove_base)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_made_and_taken_over),
		TEST(with_four_capabilities_a_prepared_one_is_taken),
		TEST(an_empty_one_of_root_is_taken),
		TEST(nothing_else_is_given_away),
		TEST(a_parent_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
