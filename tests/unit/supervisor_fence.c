/*
 * Goal: the page is on tmpfs, root's, made once, kept, locked against a second supervisor, and a
 * dead elector's validity ends (C10, C15, F19, decision 16). Method: real files on tmpfs and on a
 * disk; the reader that controllers use. Needs root, as understudyd does.
 * Pitfall: P103.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fence/fence.h"
#include "supervisor/fence.h"

static char directory[64], path[80];
static struct err err;

static int make_directory(void **state)
{
	(void)state;
	(void)snprintf(directory, sizeof(directory), "/dev/shm/understudy-test-XXXXXX");
	err.text[0] = '\0';
	if (!mkdtemp(directory) || chmod(directory, 0755))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/fence", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(directory);
}

static void lead(uint64_t *words, uint64_t instance)
{
	int64_t now_ns = base_clock_boot_ns();

	words[FENCE_WORD_HEAD] = fence_head(FENCE_LEADING);
	words[FENCE_WORD_TERM] = 7;
	words[FENCE_WORD_WRITTEN_AT] = (uint64_t)now_ns;
	words[FENCE_WORD_VALID_UNTIL] = (uint64_t)(now_ns + 60 * BASE_NS_PER_S);
	words[FENCE_WORD_BOOT] = fence_boot_id();
	words[FENCE_WORD_TIME_NS] = fence_time_ns();
	words[FENCE_WORD_INSTANCE] = instance;
}

static void a_dead_electors_validity_ends(void **state)
{
	struct fence_page page;
	struct fence reader = { 0 };

	(void)state;
	assert_int_equal(fence_page_open(&page, directory, &err), 0);
	assert_int_equal(fence_open(&reader, path), 0);
	lead(page.words, 0xabc);
	assert_true(fence_is_leader(&reader));
	assert_int_equal(fence_page_instance(&page), 0xabc);
	fence_page_end_validity(&page);
	assert_false(fence_is_leader(&reader));
	fence_close(&reader);
	fence_page_close(&page);
}

/* C10: readers that have it mapped see a later supervisor's word. */
static void the_file_is_kept(void **state)
{
	struct fence_page page;
	struct stat before, after;
	struct fence reader = { 0 };

	(void)state;
	assert_int_equal(fence_page_open(&page, directory, &err), 0);
	lead(page.words, 1);
	assert_int_equal(fence_open(&reader, path), 0);
	assert_int_equal(stat(path, &before), 0);
	fence_page_close(&page);
	assert_int_equal(fence_page_open(&page, directory, &err), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(after.st_size, FENCE_BYTES);
	assert_int_equal(after.st_mode & 0777, 0644);
	assert_true(fence_is_leader(&reader));
	fence_page_end_validity(&page);
	assert_false(fence_is_leader(&reader));
	fence_close(&reader);
	fence_page_close(&page);
}

static void a_second_supervisor_is_refused_by_name(void **state)
{
	struct fence_page first, second;
	int inherited;

	(void)state;
	assert_int_equal(fence_page_open(&first, directory, &err), 0);
	inherited = fence_page_descriptor(&first, true);
	assert_true(inherited >= 0);
	assert_int_equal(fence_page_open(&second, directory, &err), -1);
	assert_non_null(strstr(err.text, directory));
	assert_non_null(strstr(err.text, "another understudyd"));
	fence_page_close(&first);
	/* A role that outlives its supervisor does not hold the lock. */
	assert_int_equal(fence_page_open(&second, directory, &err), 0);
	fence_page_close(&second);
	close(inherited);
}

/* C15: an instance is proven dead on this boot only. */
static void an_instance_of_another_boot_is_nobody(void **state)
{
	struct fence_page page;

	(void)state;
	assert_int_equal(fence_page_open(&page, directory, &err), 0);
	assert_int_equal(fence_page_instance(&page), 0);
	lead(page.words, 5);
	page.words[FENCE_WORD_BOOT] ^= 1;
	assert_int_equal(fence_page_instance(&page), 0);
	fence_page_close(&page);
}

static void descriptors_have_the_access_of_the_row(void **state)
{
	struct fence_page page;
	int fd;

	(void)state;
	assert_int_equal(fence_page_open(&page, directory, &err), 0);
	fd = fence_page_descriptor(&page, false);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), -1);
	close(fd);
	fd = fence_page_descriptor(&page, true);
	assert_int_equal(pwrite(fd, "x", 1, 100), 1);
	close(fd);
	fence_page_close(&page);
}

static void bad_directories_are_refused(void **state)
{
	char disk[] = "/tmp/understudy-test-XXXXXX", fresh[sizeof(disk) + 8];
	struct fence_page page;
	struct stat st;

	(void)state;
	assert_int_equal(chmod(directory, 0777), 0);
	assert_int_equal(fence_page_open(&page, directory, &err), -1);
	assert_non_null(strstr(err.text, "mode 777"));
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(fence_page_open(&page, "/dev/null", &err), -1);
	assert_int_equal(fence_page_open(&page, "/dev/shm/no/such", &err), -1);
	assert_non_null(mkdtemp(disk));
	(void)snprintf(fresh, sizeof(fresh), "%s/run", disk);
	if (fence_page_open(&page, fresh, &err) == 0) {
		fence_page_close(&page); /* This machine's /tmp is a tmpfs. */
		(void)rmdir(fresh);
	} else {
		assert_non_null(strstr(err.text, "tmpfs"));
		/* What is refused is left as it was. */
		assert_int_equal(stat(fresh, &st), -1);
	}
	(void)rmdir(disk);
}

static void a_page_that_is_not_ours_is_refused(void **state)
{
	struct fence_page page;

	(void)state;
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(fence_page_open(&page, directory, &err), -1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(fence_page_open(&page, directory, &err), -1);
	assert_int_equal(unlink(path), 0);
}

/* C10, F19: what readers open is what the elector writes, or we say what happened; and a page that
 * was cut short kills nobody here. */
static void a_page_that_is_tampered_with_is_noticed(void **state)
{
	struct fence_page page;
	int fd;

	(void)state;
	assert_int_equal(fence_page_open(&page, directory, &err), 0);
	lead(page.words, 9);
	assert_null(fence_page_fault(&page));
	assert_int_equal(chmod(path, 0666), 0);
	assert_string_equal(fence_page_fault(&page), "is not root's with mode 0644 any more");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(truncate(path, 0), 0);
	assert_string_equal(fence_page_fault(&page), "was truncated");
	fence_page_end_validity(&page);
	assert_int_equal(fence_page_instance(&page), 0);
	assert_int_equal(unlink(path), 0);
	assert_string_equal(fence_page_fault(&page), "was removed");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
	assert_string_equal(fence_page_fault(&page), "was replaced");
	fence_page_close(&page);
}

/* A tmpfs with no room for the page: an error at the start, not a SIGBUS at the first store. */
static void a_full_file_system_is_refused(void **state)
{
	struct fence_page page;
	char fill[96];
	int fd;

	(void)state;
	if (mount("none", directory, "tmpfs", 0, "size=16k,mode=755") != 0)
		skip(); /* no CAP_SYS_ADMIN */
	(void)snprintf(fill, sizeof(fill), "%s/fill", directory);
	fd = open(fill, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fallocate(fd, 0, 0, 16384), 0);
	assert_int_equal(fence_page_open(&page, directory, &err), -1);
	assert_int_equal(ftruncate(fd, 0), 0);
	close(fd);
	assert_non_null(strstr(err.text, "No space left"));
	assert_int_equal(fence_page_open(&page, directory, &err), 0);
	fence_page_close(&page);
	assert_int_equal(umount(directory), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_dead_electors_validity_ends),
		TEST(the_file_is_kept),
		TEST(a_second_supervisor_is_refused_by_name),
		TEST(an_instance_of_another_boot_is_nobody),
		TEST(descriptors_have_the_access_of_the_row),
		TEST(bad_directories_are_refused),
		TEST(a_page_that_is_not_ours_is_refused),
		TEST(a_page_that_is_tampered_with_is_noticed),
		TEST(a_full_file_system_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
