/*
 * Goal: the brake counts each deletion that may destroy something, however it was heard of, and
 * what it holds stays (H8, C12, C14). Method: items that are set by hand (syncer_item.h), one
 * report; the brake's numbers are in syncer_brake.c.
 */
#include "tests/unit/syncer_item.h"

/* What would be destroyed is counted, and nothing else. */
static void H8_what_the_brake_counts(void **state)
{
	static const struct {
		enum kind kind;
		enum copy_state copy;
		bool braked;
	} rows[] = {
		{ KIND_SLICE_CONFIG, COPY_PRESENT, true },
		{ KIND_SLICE_CONFIG, COPY_UNSURE, true },
		{ KIND_SLICE_CONFIG, COPY_FOREIGN, false },
		{ KIND_SLICE_CONFIG, COPY_NONE, false },
		{ KIND_NAMESPACE, COPY_PRESENT, true },
		{ KIND_NAMESPACE, COPY_FOREIGN, true },
		{ KIND_NAMESPACE, COPY_NONE, false },
	};
	static const char *const names[] = { "a", "b", "c" };

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		anew();
		copy_is(home, COPY_NONE);
		copy_is(item, COPY_NONE);
		for (unsigned n = 0; n < 3; n++)
			copy_is(add(rows[i].kind, names[n]), rows[i].copy);
		engine_source_listed(&engine, rows[i].kind, NULL, 4, now_ns);
		for (unsigned n = 0; n < 3; n++) {
			item = store_find(&engine.store, rows[i].kind,
			    rows[i].kind == KIND_NAMESPACE ? "" : NS, names[n]);
			assert_int_equal(item->source, SOURCE_ABSENT);
			assert_int_equal(item->braked, rows[i].braked);
		}
	}
}

/* Of deletions that were seen happen, too: also those of which it is not known what is here. */
static void H8_what_of_a_seen_deletion_the_brake_counts(void **state)
{
	static const struct {
		enum copy_state copy;
		bool busy, listed, counts;
	} rows[] = {
		{ COPY_PRESENT, false, true, true },
		{ COPY_UNSURE, false, true, true },
		{ COPY_FOREIGN, false, true, false },
		{ COPY_NONE, false, true, false },
		{ COPY_NONE, true, true, true }, /* it may be made just now */
		{ COPY_NONE, false, false, true },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		anew();
		copy_is(item, rows[i].copy);
		item->busy = rows[i].busy;
		item->has_dependents = true;
		engine.copies_synced = rows[i].listed ? UINT32_MAX : 0;
		engine_source_gone(&engine, KIND_SLICE_CONFIG, NS, "red", 11, now_ns);
		assert_int_equal(engine.brakes[KIND_SLICE_CONFIG].passed, rows[i].counts);
		assert_false(item->braked);
		item->busy = false;
	}
}

/* More than may go in a minute, while this hub's server does not say what became of the writes. */
static void H8_many_deletions_of_unsure_copies_are_held(void **state)
{
	enum { MANY = 1500 };
	char name[16];
	unsigned held = 0;

	(void)state;
	copy_is(item, COPY_NONE);
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "s%u", i);
		copy_is(add(KIND_SLICE_CONFIG, name), COPY_UNSURE);
	}
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "s%u", i);
		engine_source_gone(&engine, KIND_SLICE_CONFIG, NS, name, 11, now_ns);
		item = store_find(&engine.store, KIND_SLICE_CONFIG, NS, name);
		copy_is(item, COPY_PRESENT); /* that is what a look shows */
		engine_settle(&engine, item, now_ns);
		held += item->state == ITEM_HELD;
	}
	assert_int_equal(held, MANY - 1000);
}

/* A Namespace that a list lacks takes its Secrets along; when it comes back without them, that is
 * no deletion which anybody saw. */
static void H8_what_was_in_a_missing_namespace_is_missing(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		bool missing = i > 0, rejoin = i > 1;
		struct item *secret;

		anew();
		engine.rejoin = rejoin;
		secret = add(KIND_SECRET, "red");
		if (missing)
			engine_source_listed(&engine, KIND_NAMESPACE, NULL, 4, now_ns);
		else
			engine_source_gone(&engine, KIND_NAMESPACE, "", NS, 11, now_ns);
		assert_int_equal(home->braked, missing);
		engine_source_space_gone(&engine, secret->space, now_ns);
		assert_int_equal(secret->source, SOURCE_ABSENT);
		assert_int_equal(secret->braked, missing && !rejoin); /* its objects go (C12) */
		source_is(home, SOURCE_PRESENT);
		secret->proofs = 1;
		engine_settle(&engine, secret, now_ns);
		assert_int_equal(secret->state, secret->braked ? ITEM_HELD : ITEM_PENDING);
	}
	(void)state;
}

/* H8: what is in the archive can be had again, but not what a Namespace takes along. */
static void H8_the_archive_takes_the_brake_off(void **state)
{
	static const struct {
		bool rejoin, restore, namespace, braked;
	} rows[] = {
		{ true, false, false, false },
		{ false, true, false, false },
		{ false, false, false, true },
		{ true, false, true, true },
		{ false, true, true, true },
	};
	struct engine_order order;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		anew();
		if (rows[i].namespace)
			item = home;
		item->copy_body = B;
		engine_settle(&engine, item, now_ns);
		assert_true(engine_next(&engine, now_ns, &order));
		assert_int_equal(order.action, ENGINE_ARCHIVE);
		item->braked = true;
		engine.rejoin = rows[i].rejoin;
		engine.restore = rows[i].restore;
		engine_archived(&engine, &order, now_ns);
		assert_int_equal(item->braked, rows[i].braked);
		assert_int_equal(item->archived_version, 100);
	}
}

/* In a rejoin what was kept because it left the mirror goes with its Namespace all the same. */
static void I11_what_left_the_mirror_is_archived_before_its_namespace_goes(void **state)
{
	(void)state;
	engine.rejoin = true;
	source_is(item, SOURCE_LEFT);
	item->copy_body = C;
	assert_int_equal(judge_item(&engine, item).action, ENGINE_NONE);
	source_is(home, SOURCE_ABSENT);
	home->proofs = 1;
	assert_int_equal(judge_item(&engine, item).action, ENGINE_ARCHIVE);
	item->archived_version = item->copy_version;
	assert_int_equal(judge_item(&engine, item).action, ENGINE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(H8_what_the_brake_counts),
		STORY(H8_what_of_a_seen_deletion_the_brake_counts),
		STORY(H8_many_deletions_of_unsure_copies_are_held),
		STORY(H8_what_was_in_a_missing_namespace_is_missing),
		STORY(H8_the_archive_takes_the_brake_off),
		STORY(I11_what_left_the_mirror_is_archived_before_its_namespace_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
