/*
 * Goal: texts of a long list that found no room come a page at a time while others are written, and
 * only such as list or watch told (H3); whatever else a server answers ends in reads by name.
 * Method: a feed, its watch, the engine and the writes as they are, over a played client: the test
 * answers what was asked, in any order.
 */
#include "tests/unit/syncer_played.h"

#define LISTED 16
/* The text of its copy. */
#define TEXT 1000

static struct feed *feed;

static struct ask *page(void)
{
	return open_ask(KUBE_GET, "limit=");
}

static void put_object(struct buf *out, unsigned number, const char *uid, unsigned version)
{
	buf_printf(out,
	    "{\"metadata\":{\"name\":\"s%02u\",\"namespace\":\"" NS "\",\"uid\":\"%s%u\","
	    "\"resourceVersion\":\"%u\"},\"spec\":{\"n\":%u,\"text\":\"%0*u\"}}",
	    number, uid, number, version, 10 + number, TEXT - 351, number);
}

static void put_list(struct buf *out, unsigned from, unsigned to, const char *token)
{
	buf_printf(out,
	    "{\"kind\":\"SliceConfigList\",\"metadata\":{\"resourceVersion\":\"99\","
	    "\"continue\":\"%s\"},\"items\":[",
	    token);
	for (unsigned i = from; i < to; i++) {
		if (i > from)
			buf_puts(out, ",");
		put_object(out, i, "u", 10 + i);
	}
	buf_puts(out, "]}");
}

/* Objects of the list as they were told, as a page. */
static void bring(unsigned from, unsigned to, const char *token)
{
	struct buf body = buf_make(1 << 20);

	put_list(&body, from, to, token);
	answer(page(), KUBE_OK, body.data);
	buf_free(&body);
}

static struct item *item_at(unsigned number)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "s%02u", number);
	return store_find(&syncer->engine.store, KIND_SLICE_CONFIG, NS, name);
}

static unsigned held(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < LISTED; i++)
		count += item_at(i)->held != NULL;
	return count;
}

/* The own hub takes what is written. Returns its number. */
static unsigned write_one(void)
{
	struct ask *ask = open_ask(KUBE_POST, "");
	unsigned number;
	json_t *object, *metadata;
	char *body, version[16];

	assert_non_null(ask);
	object = json_loads(ask->body, 0, NULL);
	metadata = json_object_get(object, "metadata");
	number = (unsigned)strtoul(kube_json_text(metadata, "name") + 1, NULL, 10);
	(void)snprintf(version, sizeof(version), "%u", 500 + number);
	json_object_set_new(metadata, "uid", json_string("c"));
	json_object_set_new(metadata, "resourceVersion", json_string(version));
	body = json_dumps(object, 0);
	answer(ask, KUBE_OK, body);
	free(body);
	json_decref(object);
	return number;
}

/* A list of LISTED objects, of which so many texts find room; the hub writes one at a time. */
static void list_with_room_for(unsigned texts)
{
	struct buf event = buf_make(1 << 20);
	struct ask *stream;

	syncer->engine.store.held_most = (size_t)texts * TEXT;
	feed_start(feed);
	fire_all();
	stream = open_ask(KUBE_GET, "sendInitialEvents");
	assert_non_null(stream);
	for (unsigned i = 0; i < LISTED; i++) {
		buf_puts(&event, "{\"type\":\"ADDED\",\"object\":");
		put_object(&event, i, "u", 10 + i);
		buf_puts(&event, "}\n");
	}
	buf_puts(&event,
	    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"99\","
	    "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n");
	assert_true(stream->chunk(stream->arg, buf_str(&event)));
	buf_free(&event);
}

/* Of 16 objects s00 to s03 are written, s04 to s07 are at hand, s04 is being written. */
static void to_the_first_page(void)
{
	list_with_room_for(8);
	while (!page())
		(void)write_one();
	assert_int_equal(held(), 4);
}

static int setup_feed(void **state)
{
	(void)setup(state);
	feed = &syncer->feeds[SIDE_SOURCE][KIND_SLICE_CONFIG];
	return 0;
}

#define STORY_OF_FEED(f) cmocka_unit_test_setup_teardown(f, setup_feed, teardown)

/* --- Stories --------------------------------------------------------------------------------- */

static void a_page_is_asked_for_when_half_of_the_room_is_free(void **state)
{
	(void)state;
	list_with_room_for(8);
	assert_int_equal(held(), 8);
	assert_int_equal(feed->unheld, LISTED - 8);
	for (unsigned written = 0; written < 4; written++) {
		assert_null(page());
		assert_int_equal(write_one(), written);
	}
	assert_non_null(page());
	assert_int_equal(page()->target, CREDENTIAL_PEER_SYNCER);
	assert_string_equal(page()->path, "/apis/controller.kubeslice.io/v1alpha1/sliceconfigs");
	assert_non_null(strstr(page()->query, "limit=200"));
	assert_null(strstr(page()->query, "continue="));
}

static void what_a_page_brings_is_written_before_others_are_read(void **state)
{
	(void)state;
	to_the_first_page();
	bring(0, 11, "next");
	assert_int_equal(held(), 7);
	assert_non_null(item_at(8)->held);
	assert_non_null(item_at(10)->held);
	assert_null(page()); /* more than half of the room is in use */
	assert_int_equal(write_one(), 4);
	for (unsigned number = 8; number < 11; number++)
		assert_int_equal(write_one(), number);
	assert_non_null(strstr(page()->query, "continue=next"));
	bring(11, LISTED, "");
	assert_int_equal(write_one(), 5); /* was under way */
	for (unsigned number = 11; number < LISTED; number++)
		assert_int_equal(write_one(), number);
	for (unsigned number = 6; number < 8; number++)
		assert_int_equal(write_one(), number);
	assert_null(page()); /* that was the last one */
	assert_int_equal(feed->unheld, 0);
	assert_int_equal(syncer->texts.feeds, 0);
	for (unsigned i = 0; i < asked; i++) /* and nothing was read by name */
		assert_null(strstr(asks[i].path, "/sliceconfigs/"));
}

/* A page is of no time that anybody knows, and perhaps of another cluster (G6). */
static void only_the_very_version_that_was_told_is_kept(void **state)
{
	struct buf body = buf_make(1 << 20);

	(void)state;
	to_the_first_page();
	buf_puts(&body, "{\"metadata\":{\"continue\":\"\"},\"items\":[");
	put_object(&body, 8, "u", 99); /* newer */
	buf_puts(&body, ",");
	put_object(&body, 9, "other", 19); /* another object of the same name */
	buf_puts(&body, ",{\"metadata\":{\"name\":\"s10\",\"namespace\":\"" NS "\",\"uid\":\"u10\","
			"\"resourceVersion\":\"20\"},\"spec\":{\"n\":666}},"); /* another content */
	buf_puts(&body, "{\"metadata\":{\"name\":\"s12\",\"namespace\":\"" NS "\",\"uid\":\"u12\","
			"\"resourceVersion\":\"22\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","
			"\"finalizers\":[\"x/y\"]},");
	buf_printf(
	    &body, "\"spec\":{\"n\":%u,\"text\":\"%0*u\"}},", 22, TEXT - 351, 12); /* it goes */
	put_object(&body, 77, "u", 87);                                            /* never told */
	buf_puts(&body, ",{\"metadata\":7},null,");
	put_object(&body, 11, "u", 21);
	buf_puts(&body, "]}");
	answer(page(), KUBE_OK, body.data);
	buf_free(&body);
	for (unsigned number = 8; number < LISTED; number++)
		assert_int_equal(item_at(number)->held != NULL, number == 11);
	assert_null(item_at(77));
}

static void fail_page(enum kube_class class, bool too_long, const char *body)
{
	struct ask *ask = page();
	struct kube_answer failure = { .class = class,
		.too_long = too_long,
		.body = { body, strlen(body) },
		.finished_ns = now_ns };

	assert_non_null(ask);
	ask->open = false;
	ask->done(ask->arg, &failure);
}

#define EXPIRED(token) "{\"kind\":\"Status\",\"metadata\":{\"continue\":\"" token "\"}}"

static void an_expired_token_is_followed_by_the_one_that_the_server_gives(void **state)
{
	(void)state;
	to_the_first_page();
	bring(0, 1, "old");
	fail_page(KUBE_GONE, false, EXPIRED("new"));
	assert_non_null(strstr(page()->query, "continue=new"));
	fail_page(KUBE_GONE, false, EXPIRED(""));
	assert_null(page());
	assert_int_equal(syncer->texts.feeds, 0);
}

static void a_page_that_is_too_long_is_asked_for_in_smaller_ones(void **state)
{
	static const char *const limits[] = { "limit=200", "limit=50", "limit=12", "limit=3",
		"limit=1", "limit=1" };

	(void)state;
	to_the_first_page();
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		assert_non_null(strstr(page()->query, limits[i]));
		fail_page(KUBE_BLIND, true, "");
	}
	bring(8, 9, "next");
	assert_non_null(item_at(8)->held);
}

/* For ever is nothing tried here: what is left is read by name. */
static void failures_are_waited_for_and_end(void **state)
{
	unsigned failures = 0;

	(void)state;
	to_the_first_page();
	while (page()) {
		fail_page(failures % 2 ? KUBE_THROTTLED : KUBE_SILENT, false, "");
		failures++;
		assert_null(page());
		now_ns += 31 * BASE_NS_PER_S;
		texts_pump(syncer);
	}
	assert_int_equal(failures, 8);
	assert_int_equal(syncer->texts.feeds, 0);
	while (held())
		(void)write_one();
	assert_non_null(open_ask(KUBE_GET, ""));
	assert_string_equal(open_ask(KUBE_GET, "")->path,
	    "/apis/controller.kubeslice.io/v1alpha1/namespaces/" NS "/sliceconfigs/s08");
}

static void tokens_that_expire_for_ever_end_too(void **state)
{
	unsigned failures = 0;

	(void)state;
	to_the_first_page();
	for (; page(); failures++)
		fail_page(KUBE_GONE, false, EXPIRED("again"));
	assert_int_equal(failures, 8);
}

static void what_is_no_list_ends_it(void **state)
{
	(void)state;
	to_the_first_page();
	answer(page(), KUBE_OK, "<html>");
	assert_null(page());
	assert_int_equal(syncer->texts.feeds, 0);
}

static void a_list_that_begins_anew_ends_it(void **state)
{
	struct ask *ask;

	(void)state;
	to_the_first_page();
	ask = page();
	kube_watch_restart(feed->watch);
	fire_all();
	assert_false(ask->open);
	assert_int_equal(syncer->texts.feeds, 0);
	assert_null(syncer->texts.feed);
}

static void another_list_that_begins_is_no_matter(void **state)
{
	(void)state;
	to_the_first_page();
	texts_forget(&syncer->feeds[SIDE_SOURCE][KIND_CLUSTER]);
	assert_non_null(page());
	assert_int_equal(syncer->texts.feeds, 1);
}

static void failures_before_a_page_are_over(void **state)
{
	(void)state;
	to_the_first_page();
	for (unsigned pages = 0; pages < 3; pages++) {
		for (unsigned failures = 0; failures < 7; failures++) {
			fail_page(KUBE_SILENT, false, "");
			now_ns += 31 * BASE_NS_PER_S;
			texts_pump(syncer);
		}
		bring(0, 1, "next");
	}
	assert_non_null(page());
}

/* The list had so many objects, and is read once. */
static void pages_without_end_end(void **state)
{
	unsigned pages = 0;

	(void)state;
	to_the_first_page();
	for (; page() && pages < 1000; pages++)
		bring(0, 4, "again");
	assert_in_range(pages, LISTED / 4, LISTED * 2);
	assert_int_equal(syncer->texts.feeds, 0);
}

static void a_page_of_nothing_is_the_last_one(void **state)
{
	(void)state;
	to_the_first_page();
	bring(0, 0, "again");
	assert_null(page());
	assert_int_equal(syncer->texts.feeds, 0);
}

/* Cut, it would be another one, or the first page again. */
static void a_token_that_no_request_takes_is_the_last_one(void **state)
{
	static char token[40000];

	(void)state;
	memset(token, 'x', sizeof(token) - 1);
	to_the_first_page();
	bring(0, 1, token);
	assert_null(page());
	assert_int_equal(syncer->texts.feeds, 0);
}

/* A page holds mostly what needs no text: reads by name are cheaper. */
static void few_texts_are_read_by_name(void **state)
{
	(void)state;
	list_with_room_for(LISTED - 1);
	assert_int_equal(held(), LISTED - 1);
	assert_int_equal(syncer->texts.feeds, 0);
	for (unsigned i = 0; i < LISTED - 1; i++)
		(void)write_one();
	assert_null(page());
}

/* Paused, or draining: nothing is read (H9, H3). */
static void a_mirror_that_may_not_write_reads_nothing(void **state)
{
	(void)state;
	list_with_room_for(8);
	syncer->engine.granted = false;
	while (open_ask(KUBE_POST, ""))
		(void)write_one();
	syncer->engine.store.held_most *= 8;
	texts_pump(syncer);
	assert_null(page());
	syncer->engine.granted = syncer->engine.draining = true;
	texts_pump(syncer);
	assert_null(page());
	syncer->engine.draining = false;
	texts_pump(syncer);
	assert_non_null(page());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_OF_FEED(a_page_is_asked_for_when_half_of_the_room_is_free),
		STORY_OF_FEED(what_a_page_brings_is_written_before_others_are_read),
		STORY_OF_FEED(only_the_very_version_that_was_told_is_kept),
		STORY_OF_FEED(an_expired_token_is_followed_by_the_one_that_the_server_gives),
		STORY_OF_FEED(a_page_that_is_too_long_is_asked_for_in_smaller_ones),
		STORY_OF_FEED(failures_are_waited_for_and_end),
		STORY_OF_FEED(tokens_that_expire_for_ever_end_too),
		STORY_OF_FEED(what_is_no_list_ends_it),
		STORY_OF_FEED(a_list_that_begins_anew_ends_it),
		STORY_OF_FEED(another_list_that_begins_is_no_matter),
		STORY_OF_FEED(failures_before_a_page_are_over),
		STORY_OF_FEED(pages_without_end_end),
		STORY_OF_FEED(a_page_of_nothing_is_the_last_one),
		STORY_OF_FEED(a_token_that_no_request_takes_is_the_last_one),
		STORY_OF_FEED(few_texts_are_read_by_name),
		STORY_OF_FEED(a_mirror_that_may_not_write_reads_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
