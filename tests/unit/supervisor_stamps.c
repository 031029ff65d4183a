/*
 * Goal: a file that was replaced, written to, emptied, removed or swapped by a link is noticed, one
 * that is only read is not; a change counts once it stands still (B10, M11). Method: real files;
 * the decision by numbers.
 * Pitfall: P76.
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
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/stamps.h"

static char directory[] = "/tmp/understudy-test-XXXXXX";
static char path[128], other[128], link_path[128];

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/token", directory);
	(void)snprintf(other, sizeof(other), "%s/other", directory);
	(void)snprintf(link_path, sizeof(link_path), "%s/link", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)unlink(other);
	(void)unlink(link_path);
	return rmdir(directory);
}

static void put(const char *where, const char *text)
{
	int fd = open(where, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void each_kind_of_change_shows(void **state)
{
	uint64_t stamp, before;
	char byte;
	int fd;

	(void)state;
	before = stamps_of_file(path);
	assert_true(before != 0);
	put(path, "one");
	stamp = stamps_of_file(path);
	assert_true(stamp != before);
	assert_int_equal(stamps_of_file(path), stamp);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, &byte, 1), 1);
	close(fd);
	assert_int_equal(stamps_of_file(path), stamp);
	/* The same size, at another time. */
	(void)usleep(20000);
	put(path, "two");
	assert_true(stamps_of_file(path) != stamp);
	stamp = stamps_of_file(path);
	/* Another file with the same content. */
	put(other, "two");
	assert_int_equal(rename(other, path), 0);
	assert_true(stamps_of_file(path) != stamp);
	stamp = stamps_of_file(path);
	assert_int_equal(chmod(path, 0622), 0);
	assert_true(stamps_of_file(path) != stamp);
	stamp = stamps_of_file(path);
	assert_int_equal(truncate(path, 0), 0);
	assert_true(stamps_of_file(path) != stamp);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(stamps_of_file(path), before);
}

static void a_link_that_points_elsewhere_is_a_change(void **state)
{
	uint64_t stamp;

	(void)state;
	put(path, "one");
	put(other, "one");
	assert_int_equal(symlink("token", link_path), 0);
	stamp = stamps_of_file(link_path);
	assert_int_equal(stamp, stamps_of_file(path));
	assert_int_equal(unlink(link_path), 0);
	assert_int_equal(symlink("other", link_path), 0);
	assert_true(stamps_of_file(link_path) != stamp);
}

static void all_files_of_a_credential_count(void **state)
{
	static struct us_config config;
	struct config_credential source = { .ca_file = 1, .token_file = 200 };
	uint64_t stamp;

	(void)state;
	(void)snprintf(config.pool + 1, 150, "%s", path);
	(void)snprintf(config.pool + 200, 150, "%s", other);
	put(path, "ca");
	put(other, "token");
	stamp = stamps_of(&config, &source);
	assert_int_equal(unlink(path), 0);
	assert_true(stamps_of(&config, &source) != stamp);
	put(path, "ca");
	stamp = stamps_of(&config, &source);
	assert_int_equal(unlink(other), 0);
	assert_true(stamps_of(&config, &source) != stamp);
}

static void a_change_counts_once_it_stands_still(void **state)
{
	struct stamps_look look = { .used = 1 };

	(void)state;
	assert_false(stamps_changed(&look, 1));
	assert_false(stamps_changed(&look, 1));
	assert_false(stamps_changed(&look, 2)); /* half of it */
	assert_false(stamps_changed(&look, 3)); /* more of it */
	assert_true(stamps_changed(&look, 3));
	assert_true(stamps_changed(&look, 3)); /* until it is read */
	look.used = 3;
	assert_false(stamps_changed(&look, 3));
	assert_false(stamps_changed(&look, 1));
	assert_false(stamps_changed(&look, 3)); /* back to what is in use */
	assert_false(stamps_changed(&look, 3));
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kind_of_change_shows),
		TEST(a_link_that_points_elsewhere_is_a_change),
		TEST(all_files_of_a_credential_count),
		TEST(a_change_counts_once_it_stands_still),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
