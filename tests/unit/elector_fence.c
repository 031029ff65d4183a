/*
 * Goal: what the elector writes into the page, the reader of fence/fence.h believes, and never half
 * of it (C10). Method: writer and reader on one mapping; a writer that never rests against a
 * reader in another thread; a writer killed inside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <pthread.h>

#include "elector/fence.h"

#define HOUR 3600000000000LL

/* TORN_READS asks for more than a quick check: `make soak` reads 10^8 times. */
static unsigned long torn_reads(void)
{
	const char *wanted = getenv("TORN_READS");

	return wanted ? strtoul(wanted, NULL, 10) : 300000;
}

static int page_fd(void)
{
	int fd = memfd_create("fence", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, FENCE_BYTES), 0);
	return fd;
}

static struct fence reader_of(const struct fence_page *page)
{
	return (struct fence){ page->words, fence_boot_id(), fence_time_ns() };
}

static void test_C10_written_page_opens_and_closes(void **state)
{
	struct fence_page page;
	struct fence fence;
	struct fence_view view;
	struct err err;
	int fd = page_fd();

	(void)state;
	assert_int_equal(fence_page_map(&page, fd, 0xabcdef, &err), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* the descriptor is closed */
	fence = reader_of(&page);
	fence_page_write(&page, FENCE_LEADING, 6, HOUR + 10, HOUR);
	assert_true(fence_read(&fence, &view));
	assert_true(view.here);
	assert_int_equal(view.term, 6);
	assert_int_equal(view.instance, 0xabcdef);
	assert_int_equal(fence_view_left_ns(&view, HOUR), 10);
	assert_int_equal(fence_view_left_ns(&view, HOUR + 10), 0); /* closes by itself (I1) */
	fence_page_write(&page, FENCE_STANDBY, 6, 0, HOUR + 5);
	assert_true(fence_read(&fence, &view));
	assert_int_equal(fence_view_left_ns(&view, HOUR + 5), 0);
	fence_page_unmap(&page);
}

static void test_page_that_is_too_short_is_refused(void **state)
{
	struct fence_page page;
	struct err err;
	int fd = memfd_create("fence", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, FENCE_BYTES - 1), 0);
	assert_int_equal(fence_page_map(&page, fd, 1, &err), -1);
	assert_non_null(strstr(err.text, "4096"));
	assert_int_equal(fence_page_map(&page, -1, 1, &err), -1);
}

static void test_C10_writer_killed_inside_is_followed_by_a_whole_page(void **state)
{
	struct fence_page page;
	struct fence fence;
	struct fence_view view;
	struct err err;

	(void)state;
	assert_int_equal(fence_page_map(&page, page_fd(), 1, &err), 0);
	fence = reader_of(&page);
	fence_page_write(&page, FENCE_LEADING, 6, HOUR + 10, HOUR);
	page.words[FENCE_WORD_SEQUENCE] |= 1; /* as a killed writer leaves it */
	page.words[FENCE_WORD_TERM] = 8;
	assert_false(fence_read(&fence, &view));
	fence_page_write(&page, FENCE_LEADING, 10, HOUR + 10, HOUR);
	assert_true(fence_read(&fence, &view));
	assert_int_equal(view.term, 10);
	assert_int_equal(page.words[FENCE_WORD_SEQUENCE] % 2, 0);
	fence_page_unmap(&page);
}

struct stress {
	struct fence_page page;
	int stop;
};

/* Each page is one number in all its words. */
static void *write_for_ever(void *arg)
{
	struct stress *stress = arg;

	for (int64_t n = 1; !__atomic_load_n(&stress->stop, __ATOMIC_RELAXED); n++) {
		stress->page.instance = (uint64_t)n;
		fence_page_write(&stress->page, FENCE_LEADING, (uint64_t)n, n, n);
	}
	return NULL;
}

static void test_C10_no_reader_sees_half_a_page(void **state)
{
	struct stress stress = { .stop = 0 };
	struct fence fence;
	struct fence_view view;
	struct err err;
	pthread_t writer;
	unsigned long read = 0, reads = torn_reads();

	(void)state;
	assert_int_equal(fence_page_map(&stress.page, page_fd(), 1, &err), 0);
	fence_page_write(&stress.page, FENCE_LEADING, 1, 1, 1);
	fence = reader_of(&stress.page);
	assert_int_equal(pthread_create(&writer, NULL, write_for_ever, &stress), 0);
	for (unsigned long i = 0; i < reads; i++) {
		if (!fence_read(&fence, &view))
			continue;
		read++;
		if (view.term != view.instance || (int64_t)view.term != view.valid_until_ns ||
		    (int64_t)view.term != view.written_at_ns)
			fail_msg("read %lu: term %" PRIu64 ", instance %" PRIu64 ", until %" PRId64
				 ", written %" PRId64,
			    i, view.term, view.instance, view.valid_until_ns, view.written_at_ns);
	}
	__atomic_store_n(&stress.stop, 1, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	print_message("%lu of %lu reads found a whole page, none half a one\n", read, reads);
	assert_true(read > reads / 100);
	fence_page_unmap(&stress.page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_C10_written_page_opens_and_closes),
		cmocka_unit_test(test_page_that_is_too_short_is_refused),
		cmocka_unit_test(test_C10_writer_killed_inside_is_followed_by_a_whole_page),
		cmocka_unit_test(test_C10_no_reader_sees_half_a_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
