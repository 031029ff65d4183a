/*
 * Goal: the supervisor is left with the four capabilities that it needs and cannot get others back;
 * the configuration that roles map cannot be changed by anybody (F26, F29, decision 20). Method: a
 * child of this process (root only); a sealed memfd.
 * Pitfall: P67.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/configuration.h"
#include "supervisor/start.h"
#include "supervisor/verify.h"

#define KEPT (1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_SETPCAP | 1ULL << CAP_KILL)

static int in_child(int (*function)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(function());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool only_kept(void)
{
	struct verify_facts facts;

	return verify_read(getpid(), &facts, NULL) == 0 && facts.caps[0] == 0 &&
	       (facts.caps[1] & ~KEPT) == 0 && (facts.caps[2] & ~KEPT) == 0 &&
	       (facts.caps[3] & ~KEPT) == 0 && facts.caps[4] == 0 && facts.caps[2] != 0;
}

static int shed(void)
{
	if (start_keep_capabilities(KEPT, false) != NULL || !only_kept())
		return 1;
	/* Once more is fine; a wider set is not given. */
	if (start_keep_capabilities(KEPT | 1ULL << CAP_CHOWN, false) != NULL)
		return 2;
	return only_kept() ? 0 : 3;
}

static int without_setpcap(void)
{
	if (start_keep_capabilities(KEPT & ~(1ULL << CAP_SETPCAP), false) != NULL)
		return 1;
	/* The bounding set cannot be narrowed any more: said, unless that is waived (F27). */
	if (start_keep_capabilities(1ULL << CAP_KILL, false) == NULL)
		return 2;
	return start_keep_capabilities(1ULL << CAP_KILL, true) == NULL ? 0 : 3;
}

static void four_capabilities_are_left(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(in_child(shed), 0);
	assert_int_equal(in_child(without_setpcap), 0);
}

static void programs_lie_beside_our_own(void **state)
{
	struct err err;

	(void)state;
	/* This test lies in a directory without roles: refused, with path and role. */
	assert_int_equal(start_open_program(ROLE_ELECTOR, &err), -1);
	assert_non_null(strstr(err.text, "/elector: No such file or directory"));
}

static void the_configuration_is_sealed(void **state)
{
	static struct us_config config = { .magic = CONFIG_MAGIC, .uid_base = 20000 };
	const struct us_config *map;
	struct err err;
	int fd = configuration_seal(&config, &err);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 1 << 20), -1);
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	map = mmap(NULL, sizeof(*map), PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(map->uid_base, 20000);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_capabilities_are_left),
		cmocka_unit_test(programs_lie_beside_our_own),
		cmocka_unit_test(the_configuration_is_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
