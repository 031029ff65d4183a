/*
 * Goal: a start is refused, by name, for uids that are somebody else's and for protections that
 * are missing and not waived (F24, F27). Method: texts of the files concerned; a stranger that
 * runs under a uid of the range (root only).
 * Pitfalls: P88, P92, P95.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <grp.h>
#include <linux/capability.h>

#include <cmocka.h>

#include "policy/sandbox.h"
#include "supervisor/preconditions.h"

static struct err err;

static int check(
    int (*function)(FILE *, const char *, uint32_t, struct err *), const char *text, uint32_t first)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	int result;

	assert_non_null(file);
	err.text[0] = '\0';
	result = function(file, "/etc/passwd", first, &err);
	fclose(file);
	return result;
}

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
			     "_understudy-elector:x:20004:20004::/:/usr/sbin/nologin\n"
			     "broken line\n\n"
			     "alice:x:20100:20100:Alice:/home/alice:/bin/sh\n";

/* What the log says of a machine and a configuration; the start is not refused. */
static const char *warnings(unsigned available, unsigned waived)
{
	static char text[1024];
	int log = memfd_create("log", MFD_CLOEXEC), before = dup(STDERR_FILENO);
	ssize_t n;

	assert_true(log >= 0 && before >= 0);
	assert_int_equal(dup2(log, STDERR_FILENO), STDERR_FILENO);
	n = preconditions_check_protections(available, waived, &err);
	assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
	close(before);
	assert_int_equal(n, 0);
	n = pread(log, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(log);
	return text;
}

/* F27: each waiver is named, a needless one as such, by its own name and no other. */
static void needless_waivers_are_named(void **state)
{
	const char *text;

	(void)state;
	assert_string_equal(warnings(SANDBOX_ALL, 0), "");
	assert_string_equal(warnings(SANDBOX_REQUIRED, 0), "");
	for (unsigned bit = 1; bit <= SANDBOX_ALL; bit <<= 1) {
		char here[80], missing[80];

		(void)snprintf(here, sizeof(here), "allow-missing names %s, which this machine has",
		    sandbox_protection_name(bit));
		text = warnings(SANDBOX_ALL, bit);
		assert_non_null(strstr(text, here));
		assert_non_null(strstr(text, "level=warn"));
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);

		(void)snprintf(missing, sizeof(missing),
		    bit & SANDBOX_REQUIRED ? "without the protection %s, as allow-missing says"
					   : "allow-missing names %s, which may be missing anyway",
		    sandbox_protection_name(bit));
		text = warnings(SANDBOX_ALL & ~bit, bit);
		assert_non_null(strstr(text, missing));
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	}
}

/* F24 */
static void foreign_names_are_refused_and_named(void **state)
{
	(void)state;
	assert_int_equal(check(preconditions_check_names, passwd, 20000), 0);
	assert_int_equal(check(preconditions_check_names, passwd, 20100), -1);
	assert_non_null(strstr(err.text, "alice"));
	assert_non_null(strstr(err.text, "20100"));
	assert_int_equal(check(preconditions_check_names, passwd, 20037), -1);
	assert_int_equal(check(preconditions_check_names, passwd, 20036), 0);
	assert_int_equal(check(preconditions_check_names, passwd, 20101), 0);
}

static void ids_must_be_mapped(void **state)
{
	(void)state;
	assert_int_equal(check(preconditions_check_map, "0 0 4294967295\n", 20000), 0);
	assert_int_equal(check(preconditions_check_map, "0 100000 65536\n", 65472), 0);
	assert_int_equal(check(preconditions_check_map, "0 100000 65536\n", 65473), -1);
	assert_int_equal(check(preconditions_check_map, "0 100000 65536\n", 70000), -1);
	assert_int_equal(check(preconditions_check_map, "0 0 1\n20000 1 64\n", 20000), 0);
	assert_int_equal(check(preconditions_check_map, "nonsense", 20000), -1);
}

/* F27 */
static void a_missing_protection_is_refused_by_name(void **state)
{
	(void)state;
	assert_int_equal(preconditions_check_protections(SANDBOX_ALL, 0, &err), 0);
	assert_int_equal(
	    preconditions_check_protections(SANDBOX_ALL & ~SANDBOX_LANDLOCK_FS, 0, &err), -1);
	assert_non_null(strstr(err.text, "landlock-fs"));
	assert_int_equal(preconditions_check_protections(
			     SANDBOX_ALL & ~SANDBOX_LANDLOCK_FS, SANDBOX_MLOCK, &err),
	    -1);
	assert_int_equal(preconditions_check_protections(
			     SANDBOX_ALL & ~SANDBOX_LANDLOCK_FS, SANDBOX_LANDLOCK_FS, &err),
	    0);
	assert_int_equal(preconditions_check_protections(SANDBOX_REQUIRED, 0, &err), 0);
	assert_int_equal(preconditions_check_protections(SANDBOX_ALL, SANDBOX_REQUIRED, &err), 0);
}

static void special_ids_are_refused(void **state)
{
	(void)state;
	assert_int_equal(preconditions_check_uids(0, 0, &err), -1);
	assert_int_equal(preconditions_check_uids(65500, 0, &err), -1);
	assert_int_equal(preconditions_check_uids(UINT32_MAX - 3, 0, &err), -1);
}

/* F24 */
static void a_stranger_under_our_uid_is_named(void **state)
{
	enum { FIRST = 51200 };
	char number[16];
	int pair[2];
	char byte;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(preconditions_check_uids(FIRST, 0, &err), 0);
	assert_int_equal(pipe(pair), 0);
	pid = fork();
	if (pid == 0) {
		if (setresuid(FIRST + 9, FIRST + 9, FIRST + 9) != 0 || write(pair[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(pair[0], &byte, 1), 1);
	assert_int_equal(preconditions_check_uids(FIRST, 0, &err), -1);
	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	assert_non_null(strstr(err.text, number));
	assert_non_null(strstr(err.text, "51209"));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(preconditions_check_uids(FIRST, 0, &err), 0);
	close(pair[0]);
	close(pair[1]);
}

/* What the check of root says in a child without these capabilities, with a group or without:
 * NULL when nothing. */
static const char *root_without(uint32_t capabilities, bool group)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];
	static char text[sizeof(err.text)];
	const gid_t groups[] = { 5 };
	int pair[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pair), 0);
	pid = fork();
	if (pid == 0) {
		if (setgroups(group ? 1 : 0, groups) != 0 ||
		    syscall(SYS_capget, &header, data) != 0)
			_exit(1);
		data[0].effective &= ~capabilities;
		if (syscall(SYS_capset, &header, data) != 0)
			_exit(2);
		if (preconditions_check_root(&err) == 0)
			(void)snprintf(err.text, sizeof(err.text), "nothing");
		_exit(write(pair[1], err.text, strlen(err.text) + 1) > 0 ? 0 : 3);
	}
	assert_true(pid > 0);
	close(pair[1]);
	n = read(pair[0], text, sizeof(text));
	close(pair[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(n > 0);
	return strcmp(text, "nothing") == 0 ? NULL : text;
}

/* Root in name only: a container that keeps no CAP_KILL could not end a role that hangs, if that
 * has another uid. Groups that nobody can give up end the start, before a loader does (F27). */
static void root_in_name_only_is_refused(void **state)
{
	const uint32_t kill_it = 1U << CAP_KILL, uids = 1U << CAP_SETUID | 1U << CAP_SETGID;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_null(root_without(0, false));
	assert_null(root_without(0, true));
	assert_non_null(strstr(root_without(kill_it, false), "CAP_KILL"));
	assert_null(root_without(kill_it | uids, false));
	assert_null(root_without(uids, false));
	assert_non_null(strstr(root_without(uids, true), "supplementary groups"));
}

/* F26: what one uid for all cannot do is named, and nothing else is refused for it. */
static void one_uid_for_all_has_its_bounds(void **state)
{
	static struct us_config config;
	const unsigned here = SANDBOX_ALL & ~(unsigned)SANDBOX_UID_SEPARATION;

	(void)state;
	config.mode = CONFIG_STANDBY;
	assert_int_equal(preconditions_check_one_uid(here, &config, &err), 0);
	assert_int_equal(
	    preconditions_check_one_uid(here & ~(unsigned)SANDBOX_LANDLOCK_FS, &config, &err), -1);
	assert_non_null(strstr(err.text, "landlock-fs is missing, too"));
	config.argument_count = 1;
	assert_int_equal(preconditions_check_one_uid(here, &config, &err), -1);
	assert_non_null(strstr(err.text, "`workload:` needs it"));
	assert_int_equal(preconditions_check_one_uid(SANDBOX_UID_SEPARATION, &config, &err), 0);
	config.argument_count = 0;
	config.mode = CONFIG_FOLLOWER;
	assert_int_equal(preconditions_check_one_uid(here, &config, &err), -1);
	assert_non_null(strstr(err.text, "`mode: follower` needs it"));
	assert_int_equal(preconditions_check_one_uid(SANDBOX_UID_SEPARATION, &config, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_names_are_refused_and_named),
		cmocka_unit_test(ids_must_be_mapped),
		cmocka_unit_test(a_missing_protection_is_refused_by_name),
		cmocka_unit_test(needless_waivers_are_named),
		cmocka_unit_test(special_ids_are_refused),
		cmocka_unit_test(a_stranger_under_our_uid_is_named),
		cmocka_unit_test(root_in_name_only_is_refused),
		cmocka_unit_test(one_uid_for_all_has_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
