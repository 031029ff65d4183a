/*
 * Goal: a watch that is lost puts in doubt what it told, and nothing else: of the source until it
 * has said once more who it is (G6), of this hub until the watch is there again (I11).
 * Method: feeds, watches, the look at who the source is, and the engine as they are, over a played
 * client.
 */
#include "tests/unit/syncer_played.h"

#define UID      "11111111-2222-3333-4444-555555555555"
#define IDENTITY "{\"metadata\":{\"uid\":\"" UID "\"}}"

static struct feed *source, *copies;

static int setup_feeds(void **state)
{
	(void)setup(state);
	source = &syncer->feeds[SIDE_SOURCE][KIND_SLICE_CONFIG];
	copies = &syncer->feeds[SIDE_COPIES][KIND_SLICE_CONFIG];
	(void)str_copy(syncer->source_uid, sizeof(syncer->source_uid), str_of(UID));
	syncer->has_grant = true;
	return 0;
}

/* The stream of the feed that was begun last. */
static struct ask *stream(void)
{
	for (unsigned i = asked; i-- > 0;)
		if (asks[i].open && asks[i].chunk)
			return &asks[i];
	return NULL;
}

static void start(struct feed *feed)
{
	feed_start(feed);
	fire_all();
	assert_non_null(stream());
}

/* A list of nothing, and the watch after it. */
static void list(void)
{
	static const char end[] =
	    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"99\","
	    "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n";

	assert_true(stream()->chunk(stream()->arg, str_of(end)));
}

static void again_after(struct feed *feed, int64_t seconds)
{
	now_ns += seconds * BASE_NS_PER_S;
	fire_all();
	assert_non_null(feed->watch);
}

static struct ask *identity(void)
{
	for (unsigned i = asked; i-- > 0;)
		if (asks[i].open && strstr(asks[i].path, "/kube-system"))
			return &asks[i];
	return NULL;
}

static void say_who(void)
{
	if (!identity()) {
		now_ns += BASE_NS_PER_S;
		fire_all();
	}
	assert_non_null(identity());
	answer(identity(), KUBE_OK, IDENTITY);
}

/* The next try of the watch fails, too, after it was asked who the source is. */
static void try_again(enum kube_class class)
{
	unsigned i;

	now_ns += BASE_NS_PER_S;
	fire_all();
	assert_non_null(identity());
	for (i = asked; i-- > 0;)
		if (asks[i].open && strstr(asks[i].path, "/sliceconfigs"))
			break;
	assert_in_range(i, 0, asked);
	answer(&asks[i], class, "");
}

/* Listed, watched, and known to be the one that was granted. */
static void follow(struct feed *feed)
{
	start(feed);
	list();
	if (feed->side == SIDE_SOURCE)
		say_who();
	assert_false(syncer->engine.doubted);
}

static void G6_a_lost_watch_of_the_source_is_a_doubt_until_it_says_who_it_is(void **state)
{
	(void)state;
	follow(source);
	answer(stream(), KUBE_SILENT, "");
	assert_true(syncer->engine.doubted);
	say_who();
	assert_false(syncer->engine.doubted);
}

/* What was asked before may have been answered by who was there before. */
static void G6_a_look_from_before_the_loss_ends_no_doubt(void **state)
{
	(void)state;
	follow(source);
	source_verify(syncer);
	answer(stream(), KUBE_SILENT, "");
	say_who();
	assert_true(syncer->engine.doubted);
	assert_null(identity());
	say_who(); /* asked for within a second */
	assert_false(syncer->engine.doubted);
}

static void G6_another_one_ends_no_doubt(void **state)
{
	(void)state;
	follow(source);
	answer(stream(), KUBE_SILENT, "");
	now_ns += BASE_NS_PER_S;
	fire_all();
	answer(identity(), KUBE_OK, "{\"metadata\":{\"uid\":\"another\"}}");
	assert_true(syncer->engine.doubted);
}

/* A right that is missing in many Namespaces is said many times a second: a server that answers is
 * there, and that feed has told nothing since. Else nothing would ever be deleted. */
static void a_refusal_that_is_repeated_is_no_new_doubt(void **state)
{
	(void)state;
	follow(source);
	answer(stream(), KUBE_FORBIDDEN, "");
	assert_true(syncer->engine.doubted);
	try_again(KUBE_FORBIDDEN);
	answer(identity(), KUBE_OK, IDENTITY);
	assert_false(syncer->engine.doubted);
}

static void G6_silence_that_is_repeated_is_a_new_doubt(void **state)
{
	(void)state;
	follow(source);
	answer(stream(), KUBE_SILENT, "");
	try_again(KUBE_SILENT);
	answer(identity(), KUBE_OK, IDENTITY);
	assert_true(syncer->engine.doubted);
}

/* Also the API server's is no word of it: a proxy in front of it may have said so. */
static void G6_an_error_that_is_repeated_is_a_new_doubt(void **state)
{
	(void)state;
	follow(source);
	answer(stream(), KUBE_SERVER_ERROR, "");
	try_again(KUBE_SERVER_ERROR);
	answer(identity(), KUBE_OK, IDENTITY);
	assert_true(syncer->engine.doubted);
}

/* It has told something since. */
static void G6_a_refusal_after_a_list_is_a_new_doubt(void **state)
{
	(void)state;
	follow(source);
	answer(stream(), KUBE_FORBIDDEN, "");
	kube_watch_restart(source->watch);
	now_ns += BASE_NS_PER_S;
	fire_all();
	list();
	assert_non_null(identity());
	answer(stream(), KUBE_FORBIDDEN, "");
	answer(identity(), KUBE_OK, IDENTITY);
	assert_true(syncer->engine.doubted);
}

static void a_kind_that_is_missing_at_the_source_is_one_doubt(void **state)
{
	(void)state;
	follow(source);
	answer(stream(), KUBE_NO_RESOURCE, "");
	assert_true(syncer->engine.doubted);
	assert_true(source->doubted);
}

static bool in_doubt(void)
{
	bool of_kind = syncer->engine.copies_doubted & 1u << KIND_SLICE_CONFIG;

	assert_int_equal(copies->doubted, of_kind);
	return of_kind;
}

static void I11_a_lost_watch_of_copies_is_a_doubt_until_they_are_listed(void **state)
{
	(void)state;
	follow(copies);
	assert_false(in_doubt());
	answer(stream(), KUBE_SILENT, "");
	assert_true(in_doubt());
	assert_false(syncer->engine.doubted); /* of the source nothing is lost */
	kube_watch_restart(copies->watch);
	again_after(copies, 60);
	assert_true(in_doubt());
	list();
	assert_false(in_doubt());
}

static void a_kind_that_is_gone_here_is_no_doubt(void **state)
{
	(void)state;
	follow(copies);
	answer(stream(), KUBE_NO_RESOURCE, "");
	assert_false(in_doubt());
}

static void a_lost_watch_of_the_source_is_no_doubt_of_copies(void **state)
{
	(void)state;
	follow(source);
	answer(stream(), KUBE_SILENT, "");
	assert_false(in_doubt());
}

#define STORY_OF_FEEDS(f) cmocka_unit_test_setup_teardown(f, setup_feeds, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_OF_FEEDS(G6_a_lost_watch_of_the_source_is_a_doubt_until_it_says_who_it_is),
		STORY_OF_FEEDS(G6_a_look_from_before_the_loss_ends_no_doubt),
		STORY_OF_FEEDS(G6_another_one_ends_no_doubt),
		STORY_OF_FEEDS(a_refusal_that_is_repeated_is_no_new_doubt),
		STORY_OF_FEEDS(G6_silence_that_is_repeated_is_a_new_doubt),
		STORY_OF_FEEDS(G6_an_error_that_is_repeated_is_a_new_doubt),
		STORY_OF_FEEDS(G6_a_refusal_after_a_list_is_a_new_doubt),
		STORY_OF_FEEDS(a_kind_that_is_missing_at_the_source_is_one_doubt),
		STORY_OF_FEEDS(I11_a_lost_watch_of_copies_is_a_doubt_until_they_are_listed),
		STORY_OF_FEEDS(a_kind_that_is_gone_here_is_no_doubt),
		STORY_OF_FEEDS(a_lost_watch_of_the_source_is_no_doubt_of_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
