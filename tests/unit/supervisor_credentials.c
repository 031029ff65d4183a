/*
 * Goal: only files that root alone can have written are opened, nothing blocks on them; what a
 * loader says of an identity is bounded, and an identity that became another one is refused (F7,
 * P75, P76). Method: hostile files; made-up structs.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include <cmocka.h>

#include "supervisor/credentials.h"

static char directory[64];
static struct err err;

static int make_directory(void **state)
{
	(void)state;
	(void)snprintf(directory, sizeof(directory), "/tmp/understudy-test-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static const char *path_of(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static int remove_directory(void **state)
{
	static const char *const names[] = { "file", "fifo", "link", "big" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlink(path_of(names[i]));
	return rmdir(directory);
}

static void make_file(const char *name, mode_t mode, off_t bytes)
{
	int fd = open(path_of(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void refused(const char *path, const char *why)
{
	err.text[0] = '\0';
	assert_int_equal(credentials_open_file(path, &err), -1);
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, why));
}

static void opens_a_file_of_root(void **state)
{
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	make_file("file", 0400, 10);
	fd = credentials_open_file(path_of("file"), &err);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	/* Mounted Secrets are links. */
	assert_int_equal(symlink("file", path_of("link")), 0);
	fd = credentials_open_file(path_of("link"), &err);
	assert_true(fd >= 0);
	close(fd);
}

static void refuses_other_kinds_of_files(void **state)
{
	(void)state;
	refused(path_of("absent"), "No such file");
	refused(directory, "no regular file");
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	refused(path_of("fifo"), "no regular file");
	refused("/dev/zero", "no regular file");
	make_file("file", 0600, 0);
	refused(path_of("file"), "empty");
	make_file("big", 0600, CREDENTIALS_FILE_BYTES + 1);
	refused(path_of("big"), "at most 1048576");
}

/* Once we have shed what goes past modes, EACCES would hide what to change: the owner. */
static void a_foreign_owner_is_named_behind_its_mode(void **state)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	make_file("file", 0400, 10);
	assert_int_equal(chown(path_of("file"), 1000, 0), 0);
	pid = fork();
	if (pid == 0) {
		if (syscall(SYS_capset, &header, none) != 0)
			_exit(1);
		(void)credentials_open_file(path_of("file"), &err);
		_exit(strstr(err.text, "has owner 1000 and mode 400, expected root's") ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void refuses_files_that_others_may_write(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	make_file("file", 0620, 10);
	refused(path_of("file"), "mode 620");
	make_file("file", 0602, 10);
	refused(path_of("file"), "mode 602");
	make_file("file", 0600, 10);
	assert_int_equal(chown(path_of("file"), 1234, 0), 0);
	refused(path_of("file"), "owner 1234");
}

static struct us_loaded loaded(void)
{
	return (struct us_loaded){ .magic = CONTROL_MAGIC,
		.port = 6443,
		.host = "hub-a.example.com",
		.subject = "system:serviceaccount:n:understudy-elector" };
}

static void bounds_of_what_a_loader_says(void **state)
{
	struct us_loaded l = loaded();

	(void)state;
	assert_int_equal(credentials_check_loaded(&l, &err), 0);
	l.subject[0] = '\0';
	assert_int_equal(credentials_check_loaded(&l, &err), 0);
	l.magic = 0;
	assert_int_equal(credentials_check_loaded(&l, &err), -1);
	l = loaded();
	l.port = 0;
	assert_int_equal(credentials_check_loaded(&l, &err), -1);
	l.port = 65536;
	assert_int_equal(credentials_check_loaded(&l, &err), -1);
	l = loaded();
	memset(l.host, 'a', sizeof(l.host));
	assert_int_equal(credentials_check_loaded(&l, &err), -1);
	l = loaded();
	l.host[0] = '\0';
	assert_int_equal(credentials_check_loaded(&l, &err), -1);
	l = loaded();
	l.host[3] = '\n';
	assert_int_equal(credentials_check_loaded(&l, &err), -1);
	l = loaded();
	memset(l.subject, 'a', sizeof(l.subject));
	assert_int_equal(credentials_check_loaded(&l, &err), -1);
	l = loaded();
	l.subject[1] = '\x1b';
	assert_int_equal(credentials_check_loaded(&l, &err), -1);
}

/* F7: a file that was exchanged does not move the endpoint or the identity. */
static void a_rotation_keeps_host_port_and_subject(void **state)
{
	const struct us_loaded pinned = loaded();
	struct us_loaded now = loaded();

	(void)state;
	now.fingerprint = 99;
	assert_int_equal(credentials_check_pin(&pinned, &now, &err), 0);
	now.port = 443;
	assert_int_equal(credentials_check_pin(&pinned, &now, &err), -1);
	now = loaded();
	(void)strcpy(now.host, "evil.example.com");
	assert_int_equal(credentials_check_pin(&pinned, &now, &err), -1);
	assert_non_null(strstr(err.text, "evil.example.com"));
	now = loaded();
	(void)strcpy(now.subject, "system:serviceaccount:n:understudy-syncer");
	assert_int_equal(credentials_check_pin(&pinned, &now, &err), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

/* A first load that nobody needed yet is no failed one: the role that starts next gets it at once,
 * while after a loader that ended by itself there is a wait. */
static void a_dismissed_loader_costs_no_wait(void **state)
{
	struct supervisor *supervisor = calloc(1, sizeof(*supervisor));
	struct us_config *config = calloc(1, sizeof(*config));
	struct process loader = { .supervisor = supervisor, .credential = CREDENTIAL_SYNCER };
	struct identity *identity;

	(void)state;
	assert_true(supervisor && config);
	config->credentials[CREDENTIAL_SYNCER].kubeconfig = 1;
	supervisor->config = config;
	identity = &supervisor->identities[CREDENTIAL_SYNCER];
	identity->role_end = -1;
	identity->loaded = identity->dismissed = true;
	credentials_on_loader_end(&loader, true);
	assert_int_equal(identity->again_ns, 0);
	assert_false(identity->loaded);
	identity->dismissed = false;
	credentials_on_loader_end(&loader, true);
	assert_true(identity->again_ns > 0);
	free(config);
	free(supervisor);
}

static void a_secret_is_not_read_by_a_group_of_ours(void **state)
{
	(void)state;
	assert_int_equal(credentials_check_readers("/t", 0, 0400, 20000, &err), 0);
	assert_int_equal(credentials_check_readers("/t", 0, 0440, 20000, &err), 0);
	assert_int_equal(credentials_check_readers("/t", 19999, 0440, 20000, &err), 0);
	assert_int_equal(credentials_check_readers("/t", 20064, 0440, 20000, &err), 0);
	assert_int_equal(credentials_check_readers("/t", 20005, 0400, 20000, &err), 0);
	assert_int_equal(credentials_check_readers("/t", 20000, 0440, 20000, &err), -1);
	assert_int_equal(credentials_check_readers("/t", 20063, 0440, 20000, &err), -1);
	assert_non_null(strstr(err.text, "/t: gid 20063"));
	/* Warned of, and named by the audit: a mounted Secret may have that mode. */
	assert_int_equal(credentials_check_readers("/t", 0, 0444, 20000, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_not_read_by_a_group_of_ours),
		TEST(opens_a_file_of_root),
		TEST(refuses_other_kinds_of_files),
		TEST(refuses_files_that_others_may_write),
		TEST(a_foreign_owner_is_named_behind_its_mode),
		cmocka_unit_test(bounds_of_what_a_loader_says),
		cmocka_unit_test(a_rotation_keeps_host_port_and_subject),
		cmocka_unit_test(a_dismissed_loader_costs_no_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
