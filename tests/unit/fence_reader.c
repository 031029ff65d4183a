/*
 * Goal: the C reader of the fence page says yes for exactly the pages that fence/vectors.txt says
 * yes for, as the Go reader does, and nothing that can happen to the file makes it say yes or
 * crash (C10, F19). Method: each case on the pure rule with a set clock, then through a real page
 * on tmpfs; then faults on the file itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fence/fence.h"

#define DIRECTORY "/dev/shm/understudy-fence-test-XXXXXX"

struct vector {
	char name[64];
	char field[FENCE_WORDS][32];
	bool yes;
};

static char directory[64], path[96];

static unsigned read_vectors(struct vector *all, unsigned most)
{
	FILE *file = fopen("fence/vectors.txt", "r");
	char line[512], answer[8];
	unsigned n = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct vector *v = &all[n];

		if (line[0] == '#' || line[0] == '\n')
			continue;
		assert_true(n < most);
		assert_int_equal(sscanf(line, "%63s %31s %31s %31s %31s %31s %31s %31s %31s %7s",
				     v->name, v->field[0], v->field[1], v->field[2], v->field[3],
				     v->field[4], v->field[5], v->field[6], v->field[7], answer),
		    10);
		v->yes = strcmp(answer, "yes") == 0;
		assert_true(v->yes || strcmp(answer, "no") == 0);
		n++;
	}
	fclose(file);
	assert_true(n >= 30);
	return n;
}

static uint64_t value_of(const char *field, uint64_t now, uint64_t boot, uint64_t time_ns)
{
	static const char *const bases[] = { "now", "boot", "ns" };
	uint64_t values[] = { now, boot, time_ns };

	for (unsigned i = 0; i < 3; i++) {
		size_t n = strlen(bases[i]);

		if (strncmp(field, bases[i], n) == 0)
			return values[i] + (uint64_t)strtoll(field + n, NULL, 10);
	}
	return strtoull(field, NULL, 0);
}

static void fill(uint64_t words[FENCE_WORDS], const struct vector *v, uint64_t now, uint64_t boot,
    uint64_t time_ns)
{
	for (unsigned i = 0; i < FENCE_WORDS; i++)
		words[i] = value_of(v->field[i], now, boot, time_ns);
}

static void test_C10_the_rule_on_the_shared_vectors(void **state)
{
	static struct vector all[128];
	unsigned n = read_vectors(all, 128);
	const int64_t now = 3600000000000LL;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		uint64_t words[FENCE_WORDS];
		struct fence fence = { .words = words, .boot = 0x1122334455667788, .time_ns = 42 };
		struct fence_view view;
		bool yes;

		fill(words, &all[i], (uint64_t)now, fence.boot, fence.time_ns);
		yes = fence_read(&fence, &view) && fence_view_left_ns(&view, now) > 0;
		if (yes != all[i].yes)
			print_message("%s\n", all[i].name);
		assert_int_equal(yes, all[i].yes);
	}
}

/* Writes the bytes to a new file on tmpfs. */
static void put_file(const void *bytes, size_t n)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

static uint64_t boot_now(void)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &ts), 0);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static void test_C10_the_same_through_a_page_on_tmpfs(void **state)
{
	static struct vector all[128];
	unsigned n = read_vectors(all, 128);

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		uint64_t page[FENCE_BYTES / sizeof(uint64_t)] = { 0 };
		struct fence fence = { 0 };
		bool yes;

		if (strncmp(all[i].name, "exact-", 6) == 0)
			continue; /* hold only for a clock that stands still */
		fill(page, &all[i], boot_now(), fence_boot_id(), fence_time_ns());
		put_file(page, sizeof(page));
		yes = fence_open(&fence, path) == 0 && fence_is_leader(&fence);
		if (yes != all[i].yes)
			print_message("%s\n", all[i].name);
		assert_int_equal(yes, all[i].yes);
		fence_close(&fence);
		assert_false(fence_is_leader(&fence)); /* closed: no */
	}
}

static void test_F19_a_file_that_cannot_be_the_page_is_refused(void **state)
{
	char page[FENCE_BYTES] = { 0 }, link[128];
	struct fence fence = { 0 };

	(void)state;
	put_file(page, FENCE_BYTES - 1);
	assert_int_equal(fence_open(&fence, path), -1);
	assert_int_equal(errno, EINVAL);
	put_file(page, FENCE_BYTES);
	assert_int_equal(fence_open(&fence, path), 0);
	fence_close(&fence);
	(void)snprintf(link, sizeof(link), "%s/link", directory);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(fence_open(&fence, link), -1);
	assert_int_equal(errno, ELOOP);
	unlink(link);
	/* No regular file, though one on a tmpfs: not waited for, not mapped. */
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_int_equal(fence_open(&fence, link), -1);
	assert_int_equal(errno, EINVAL);
	unlink(link);
	assert_int_equal(fence_open(&fence, directory), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(fence_map(&fence, -1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(fence_open(&fence, "/dev/shm/understudy-no-such-page"), -1);
	assert_int_equal(errno, ENOENT);
	/* Not on tmpfs: it would outlive a reboot. */
	assert_int_equal(fence_open(&fence, "/proc/self/status"), -1);
	assert_int_equal(errno, ENODEV);
	assert_false(fence_is_leader(&fence));
}

static void test_a_page_that_never_settles_is_no_leader(void **state)
{
	uint64_t now = boot_now();
	uint64_t words[FENCE_WORDS] = { fence_head(FENCE_LEADING), 7, 2, now + 5000000000ULL,
		now - 1, 1, 1, 1 };
	struct fence fence = { .words = words, .boot = 1, .time_ns = 1 };
	struct fence_view view;

	(void)state;
	assert_false(fence_read(&fence, &view)); /* C10: the writer was killed inside */
	assert_int_equal(fence_left_ns(&fence), 0);
	words[FENCE_WORD_SEQUENCE] = 8;
	assert_true(fence_left_ns(&fence) > 0);
}

static int make_directory(void **state)
{
	(void)state;
	(void)snprintf(directory, sizeof(directory), "%s", DIRECTORY);
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/fence", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_C10_the_rule_on_the_shared_vectors),
		cmocka_unit_test(test_C10_the_same_through_a_page_on_tmpfs),
		cmocka_unit_test(test_F19_a_file_that_cannot_be_the_page_is_refused),
		cmocka_unit_test(test_a_page_that_never_settles_is_no_leader),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
