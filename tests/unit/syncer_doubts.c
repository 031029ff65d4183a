/*
 * Goal: what was known before a connection was lost destroys nothing: no copy goes on the word of a
 * source that may be another one by now (G6, C14), and no copy is overwritten that may be another
 * one than was known, in a version that has come again (I11). Method: items that are set by hand
 * (syncer_item.h), one loss, and the orders that follow.
 */
#include "tests/unit/syncer_item.h"

static struct engine_order order;

static enum engine_action next_at(int64_t at_ns)
{
	return engine_next(&engine, at_ns, &order) ? order.action : ENGINE_NONE;
}

/* The mirror may write to it: its text is at hand. */
static void source_says(struct hash body)
{
	item->source_body = body;
	item->source_version = 11;
	assert_true(
	    store_hold(&engine.store, item, str_of("{}"), (struct rewrite_copy){ 0 }, true));
	engine_settle(&engine, item, now_ns);
}

static struct rewrite_facts copy_at(uint64_t version, struct hash body)
{
	return (struct rewrite_facts){ .name = item_name(item),
		.namespace = NS,
		.uid = item->copy_uid,
		.version = version,
		.is_copy = true,
		.source_version = 10,
		.source_term = 2,
		.mark = A,
		.body = body };
}

static void G6_no_copy_goes_until_the_source_has_said_who_it_is(void **state)
{
	int64_t later_ns = now_ns + BASE_NS_PER_S;

	(void)state;
	engine.doubted = true;
	engine_source_gone(&engine, item->kind, NS, "red", 12, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_NONE);
	assert_int_equal(item->state, ITEM_PENDING);
	assert_true(engine_wake_ns(&engine) > now_ns && engine_wake_ns(&engine) < later_ns);
	assert_int_equal(next_at(later_ns), ENGINE_NONE);
	engine.doubted = false;
	assert_int_equal(next_at(later_ns + BASE_NS_PER_S), ENGINE_DELETE);
}

static void G6_finalizers_stay_on_what_would_go_without_them(void **state)
{
	(void)state;
	engine.doubted = true;
	item->copy_finalizers = 7;
	engine_source_gone(&engine, item->kind, NS, "red", 12, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_NONE);
	engine.doubted = false;
	assert_int_equal(next_at(now_ns + BASE_NS_PER_S), ENGINE_STRIP);
}

/* The source has the object: nothing goes without them. */
static void what_is_in_the_way_of_a_write_is_taken_off_in_doubt(void **state)
{
	(void)state;
	engine.doubted = true;
	item->copy_terminating = true;
	item->copy_finalizers = 7;
	engine_settle(&engine, item, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_STRIP);
}

/* H3: nobody can be asked any more, and what was heard may be the last word. */
static void H3_last_words_are_carried_out(void **state)
{
	(void)state;
	engine.doubted = engine.draining = true;
	engine_source_gone(&engine, item->kind, NS, "red", 12, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_DELETE);
}

static void G6_what_is_heard_meanwhile_is_written(void **state)
{
	(void)state;
	engine.doubted = true;
	source_says(B);
	assert_int_equal(next_at(now_ns), ENGINE_UPDATE);
}

static void C14_a_proof_needs_a_source_that_is_known(void **state)
{
	int64_t later_ns = now_ns + BASE_NS_PER_S;

	(void)state;
	source_is(item, SOURCE_ABSENT);
	engine_settle(&engine, item, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_PROVE);
	engine.doubted = true;
	engine_proved(&engine, &order, NULL, now_ns);
	assert_int_equal(item->proofs, 0);
	assert_int_equal(next_at(now_ns), ENGINE_NONE); /* not without a pause */
	engine.doubted = false;
	assert_int_equal(next_at(later_ns), ENGINE_PROVE);
	engine_proved(&engine, &order, NULL, later_ns);
	assert_int_equal(item->proofs, 1);
	assert_int_equal(next_at(later_ns), ENGINE_DELETE);
}

/* A stranger may be the one that answers it, also when the source is back until then. */
static void C14_a_proof_is_not_asked_for_in_doubt(void **state)
{
	(void)state;
	engine.doubted = true;
	source_is(item, SOURCE_ABSENT);
	engine_settle(&engine, item, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_NONE);
	engine.doubted = false;
	assert_int_equal(next_at(now_ns + BASE_NS_PER_S), ENGINE_PROVE);
}

static void I11_a_copy_whose_watch_was_lost_is_looked_at_first(void **state)
{
	struct rewrite_facts edited = copy_at(item->copy_version, C);

	(void)state;
	source_says(B);
	engine_copies_doubted(&engine, item->kind, NULL, true, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_INSPECT);
	/* In the very version that was known, and another content: this hub was restored. */
	engine_inspected(&engine, &order, &edited, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_ARCHIVE);
	engine_archived(&engine, &order, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_UPDATE);
}

/* This hub may be restored at any time until then. */
static void I11_it_is_looked_at_each_time_until_the_watch_is_back(void **state)
{
	struct rewrite_facts same = copy_at(item->copy_version, A), written = copy_at(101, B);

	(void)state;
	engine_copies_doubted(&engine, item->kind, NULL, true, now_ns);
	source_says(B);
	assert_int_equal(next_at(now_ns), ENGINE_INSPECT);
	engine_inspected(&engine, &order, &same, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_UPDATE);
	written.mark = B;
	written.source_version = 11;
	assert_true(engine_wrote(&engine, &order, &written, "", now_ns));
	source_says(C);
	assert_int_equal(next_at(now_ns), ENGINE_INSPECT);
	engine_inspected(&engine, &order, &written, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_UPDATE);
	engine_copies_doubted(&engine, item->kind, NULL, false, now_ns);
	written.mark = written.body = C;
	written.version = 102;
	assert_true(engine_wrote(&engine, &order, &written, "", now_ns));
	source_says(B);
	assert_int_equal(next_at(now_ns), ENGINE_UPDATE);
}

/* Also the version that was archived. */
static void I11_an_edit_in_the_version_that_was_archived_is_archived(void **state)
{
	struct rewrite_facts edited = copy_at(item->copy_version, C);

	(void)state;
	item->archived_version = item->copy_version;
	source_says(B);
	engine_copies_doubted(&engine, item->kind, NULL, true, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_INSPECT);
	engine_inspected(&engine, &order, &edited, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_ARCHIVE);
}

static void I11_one_that_is_as_it_was_known_is_written(void **state)
{
	struct rewrite_facts same = copy_at(item->copy_version, A);

	(void)state;
	source_says(B);
	engine_copies_doubted(&engine, item->kind, NULL, true, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_INSPECT);
	engine_inspected(&engine, &order, &same, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_UPDATE);
}

static void I11_one_that_is_to_go_is_looked_at_first(void **state)
{
	(void)state;
	engine_copies_doubted(&engine, item->kind, NULL, true, now_ns);
	engine_source_gone(&engine, item->kind, NS, "red", 12, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_INSPECT);
	engine_inspected(&engine, &order, NULL, now_ns); /* it is gone already */
	assert_int_equal(next_at(now_ns), ENGINE_NONE);
}

static void I11_whatever_overwrites_it_comes_after_a_look(void **state)
{
	struct item *secret = add(KIND_SECRET, "token"), *cluster = add(KIND_CLUSTER, "c");

	(void)state;
	engine_copies_doubted(&engine, KIND_SECRET, secret->space, true, now_ns);
	engine_copies_doubted(&engine, KIND_CLUSTER, NULL, true, now_ns);
	engine_copies_doubted(&engine, item->kind, NULL, true, now_ns);
	secret->copy_finalizers = 7; /* to be taken off */
	source_is(secret, SOURCE_ABSENT);
	secret->observed = true;
	secret->proofs = 1;
	engine_settle(&engine, secret, now_ns);
	cluster->source_status = B;
	assert_true(
	    store_hold(&engine.store, cluster, str_of("{}"), (struct rewrite_copy){ 0 }, true));
	engine_settle(&engine, cluster, now_ns);
	source_is(item, SOURCE_ABSENT);
	item->observed = item->braked = true; /* to be noted on it */
	engine_settle(&engine, item, now_ns);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(next_at(now_ns), ENGINE_INSPECT);
		order.item->copy_doubted = false;
		engine_failed(&engine, &order,
		    &(struct engine_failure){ .class = KUBE_CONFLICT, .why = "", .field = "" },
		    now_ns);
		assert_int_equal(
		    judge_item(&engine, order.item).action, order.item == secret    ? ENGINE_STRIP
							    : order.item == cluster ? ENGINE_STATUS
										    : ENGINE_NOTE);
		assert_int_equal(next_at(now_ns), order.item == secret    ? ENGINE_STRIP
						  : order.item == cluster ? ENGINE_STATUS
									  : ENGINE_NOTE);
	}
}

static void I11_of_a_namespace_too_each_write_comes_after_a_look(void **state)
{
	struct item *secret = add(KIND_SECRET, "token");

	(void)state;
	engine_copies_doubted(&engine, KIND_SECRET, secret->space, true, now_ns);
	secret->copy_doubted = false;
	engine_settle(&engine, secret, now_ns);
	assert_true(secret->copy_doubted);
	engine_copies_doubted(&engine, KIND_SECRET, secret->space, false, now_ns);
	engine_copies_doubted(&engine, KIND_CLUSTER, NULL, true, now_ns);
	engine_settle(&engine, secret, now_ns);
	assert_false(secret->copy_doubted);
}

static void the_watch_says_what_is_there(void **state)
{
	struct rewrite_facts same = copy_at(item->copy_version, A);

	(void)state;
	source_says(B);
	engine_copies_doubted(&engine, item->kind, NULL, true, now_ns);
	(void)engine_copy_seen(&engine, item->kind, &same, true, 1, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_UPDATE);
}

static void a_watch_that_is_back_ends_the_doubt(void **state)
{
	(void)state;
	source_says(B);
	engine_copies_doubted(&engine, item->kind, NULL, true, now_ns);
	engine_copies_doubted(&engine, item->kind, NULL, false, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_UPDATE);
}

static void a_watch_tells_of_its_kind_and_namespace_only(void **state)
{
	(void)state;
	source_says(B);
	engine_copies_doubted(&engine, KIND_CLUSTER, NULL, true, now_ns);
	engine_copies_doubted(
	    &engine, item->kind, store_space(&engine.store, "elsewhere"), true, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_UPDATE);
}

/* It takes everything in it along, and what a restored hub has in it nobody knows yet. */
static void I11_a_namespace_waits_until_all_in_it_is_known(void **state)
{
	(void)state;
	copy_is(item, COPY_NONE);
	source_is(home, SOURCE_ABSENT);
	home->proofs = 2;
	engine_copies_doubted(&engine, KIND_CLUSTER, NULL, true, now_ns);
	engine_copies_doubted(&engine, KIND_SECRET, item->space, true, now_ns);
	engine_settle(&engine, home, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_NONE);
	engine_copies_doubted(&engine, KIND_CLUSTER, NULL, false, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_NONE);
	engine_copies_doubted(&engine, KIND_SECRET, item->space, false, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_DELETE);
	assert_ptr_equal(order.item, home);
}

static void a_namespace_goes_when_the_last_watch_is_back(void **state)
{
	(void)state;
	copy_is(item, COPY_NONE);
	source_is(home, SOURCE_ABSENT);
	home->proofs = 2;
	engine_copies_doubted(&engine, KIND_CLUSTER, NULL, true, now_ns);
	engine_settle(&engine, home, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_NONE);
	engine_copies_doubted(&engine, KIND_CLUSTER, NULL, false, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_DELETE);
}

static void H3_last_words_are_written(void **state)
{
	(void)state;
	source_says(B);
	engine_copies_doubted(&engine, item->kind, NULL, true, now_ns);
	engine.draining = true;
	assert_int_equal(next_at(now_ns), ENGINE_UPDATE);
}

static void what_is_not_there_is_made(void **state)
{
	(void)state;
	copy_is(item, COPY_NONE);
	source_says(B);
	engine_copies_doubted(&engine, item->kind, NULL, true, now_ns);
	assert_int_equal(next_at(now_ns), ENGINE_CREATE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(G6_no_copy_goes_until_the_source_has_said_who_it_is),
		STORY(G6_finalizers_stay_on_what_would_go_without_them),
		STORY(what_is_in_the_way_of_a_write_is_taken_off_in_doubt),
		STORY(H3_last_words_are_carried_out),
		STORY(G6_what_is_heard_meanwhile_is_written),
		STORY(C14_a_proof_needs_a_source_that_is_known),
		STORY(C14_a_proof_is_not_asked_for_in_doubt),
		STORY(I11_a_copy_whose_watch_was_lost_is_looked_at_first),
		STORY(I11_it_is_looked_at_each_time_until_the_watch_is_back),
		STORY(I11_an_edit_in_the_version_that_was_archived_is_archived),
		STORY(I11_one_that_is_as_it_was_known_is_written),
		STORY(I11_one_that_is_to_go_is_looked_at_first),
		STORY(I11_whatever_overwrites_it_comes_after_a_look),
		STORY(I11_of_a_namespace_too_each_write_comes_after_a_look),
		STORY(a_namespace_goes_when_the_last_watch_is_back),
		STORY(the_watch_says_what_is_there),
		STORY(a_watch_that_is_back_ends_the_doubt),
		STORY(a_watch_tells_of_its_kind_and_namespace_only),
		STORY(I11_a_namespace_waits_until_all_in_it_is_known),
		STORY(H3_last_words_are_written),
		STORY(what_is_not_there_is_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
