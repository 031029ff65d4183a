/*
 * Goal: of two reports the newer one counts, equal ones change nothing, and each thing that differs
 * counts by itself (C14, H8, H10, H11, L66). Method: items that are set by hand (syncer_item.h),
 * one report; whole stories are in syncer_seen.c.
 */
#include "tests/unit/syncer_item.h"

/* What the source says of the item, as it is known. */
static struct rewrite_facts source_facts(uint64_t version)
{
	return (struct rewrite_facts){ .name = item_name(item),
		.namespace = item_namespace(item),
		.uid = "s",
		.version = version,
		.body = item->source_body,
		.status = item->source_status,
		.owner_kind = KIND_COUNT,
		.owner_name = "" };
}

static void seen(const struct rewrite_facts *facts, bool live, uint32_t pass)
{
	(void)engine_source_seen(&engine, item->kind, facts, live, pass, now_ns);
}

/* --- The source ------------------------------------------------------------------------------- */

/* Its copy is nobody's witness here. */
static void foreign(void)
{
	anew();
	copy_is(item, COPY_FOREIGN);
	item->copy_source_version = 0;
	item->source_version = 20;
	item->source_pass = item->fetched_pass = 3;
}

static void H10_a_list_that_shows_an_older_version_went_back(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	foreign();
	facts = source_facts(19);
	seen(&facts, true, 4); /* an event may be late */
	assert_int_equal(item->source_version, 20);
	assert_false(engine.regressed);
	seen(&facts, false, 4);
	assert_true(engine.regressed);
	foreign();
	facts = source_facts(20);
	seen(&facts, false, 4);
	assert_false(engine.regressed);
	foreign();
	facts = source_facts(19);
	facts.uid = "t"; /* of another cluster, which does not yet show who it is (G6) */
	seen(&facts, false, 4);
	assert_false(engine.regressed);
	foreign();
	facts = source_facts(19);
	engine.verified = false;
	seen(&facts, false, 4);
	assert_false(engine.regressed);
}

/* What was read by name since the list began is newer than the list. */
static void H10_a_read_during_a_list_is_newer(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	for (unsigned restore = 0; restore < 2; restore++) {
		foreign();
		engine.restore = restore;
		item->fetched_pass = 4;
		facts = source_facts(19);
		facts.on_hold = true;
		seen(&facts, false, 4);
		assert_false(engine.regressed);
		assert_int_equal(item->source_version, 20);
		assert_int_equal(item->source_pass, 4);
		assert_false(item->on_hold);
		facts = source_facts(20); /* the same version: the list says more than the read */
		facts.owner_kind = KIND_SLICE_CONFIG;
		facts.owner_name = "blue";
		seen(&facts, false, 4);
		assert_non_null(item->owner);
		/* A watch saw it go since, and this is the one of before. */
		source_is(item, SOURCE_ABSENT);
		facts = source_facts(19);
		seen(&facts, false, 4);
		assert_false(engine.regressed);
	}
}

static void H10_a_copy_tells_that_a_list_is_old(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	/* Shown in an older version than the copy is of, which no life of this process saw. */
	item->source_version = 0;
	item->copy_source_version = 11;
	facts = source_facts(10);
	item->fetched_pass = 4;
	seen(&facts, false, 4); /* its copy was made of what was read since the list began */
	assert_false(engine.regressed);
	item->fetched_pass = 3;
	facts = source_facts(11);
	seen(&facts, false, 4);
	assert_false(engine.regressed);
	item->source_version = 0;
	facts = source_facts(10);
	seen(&facts, true, 4);
	assert_false(engine.regressed);
	item->copy_term = 1; /* written by another server's numbers */
	seen(&facts, false, 4);
	assert_false(engine.regressed);
	item->copy_term = 2;
	seen(&facts, false, 4);
	assert_true(engine.regressed);
	/* Not shown at all. */
	anew();
	item->copy_source_version = 11;
	item->source_pass = 3;
	item->fetched_pass = 4;
	engine_source_at(&engine, KIND_SLICE_CONFIG, NULL, 10, 4);
	assert_false(engine.regressed);
	item->fetched_pass = 3;
	engine_source_at(&engine, KIND_SLICE_CONFIG, NULL, 11, 4);
	assert_false(engine.regressed);
	engine_source_at(&engine, KIND_SLICE_CONFIG, NULL, UINT64_MAX, 4);
	assert_false(engine.regressed);
	engine_source_at(&engine, KIND_ROLE, NULL, 10, 4);
	assert_false(engine.regressed);
	engine_source_at(&engine, KIND_SLICE_CONFIG, home->space, 10, 4);
	assert_false(engine.regressed);
	item->copy_says_held = true; /* a person was asked about it, whatever the source was then */
	engine_source_at(&engine, KIND_SLICE_CONFIG, item->space, 10, 4);
	assert_false(engine.regressed);
	item->copy_says_held = false;
	engine_source_at(&engine, KIND_SLICE_CONFIG, item->space, 10, 4);
	assert_true(engine.regressed);
}

/* It is still to be created when a mark on it keeps it out: what waited for it goes on without. */
static void H13_dependents_go_on_without_an_owner_that_is_marked(void **state)
{
	struct item *dependent = dependent_that_waits();
	struct rewrite_facts facts = source_facts(11);

	(void)state;
	facts.left_out = true;
	seen(&facts, true, 1);
	assert_int_equal(item->state, ITEM_EXCLUDED);
	assert_int_equal(dependent->queue, QUEUE_READY);
}

/* What was refused is tried at once when the source has something else. */
static void a_change_ends_the_wait(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	for (unsigned what = 0; what < 6; what++) {
		anew();
		item->source_body = B; /* still to be written */
		item->attempts = 3;
		item->retry_ns = now_ns + 5;
		item->refused = item->recreate = true;
		facts = source_facts(11);
		if (what == 1)
			source_is(item, SOURCE_ABSENT);
		else if (what == 2)
			facts.body = C;
		else if (what == 3)
			facts.status = C;
		else if (what == 4)
			facts.finalizers = 4;
		else if (what == 5)
			facts.terminating = true;
		seen(&facts, true, 1);
		assert_int_equal(item->attempts, what ? 0 : 3);
		assert_int_equal(item->refused, !what);
		assert_int_equal(item->recreate, !what);
		assert_int_equal(item->queue, what ? QUEUE_READY : QUEUE_DELAYED);
	}
}

static void C14_which_deletion_is_believed(void **state)
{
	(void)state;
	engine_source_gone(&engine, KIND_SLICE_CONFIG, NS, "blue", 10, now_ns); /* never seen */
	engine_source_gone(&engine, KIND_SLICE_CONFIG, NS, "red", 9, now_ns);
	assert_int_equal(item->source, SOURCE_PRESENT);
	/* A read by name may have shown the version in which it lost its label. */
	engine_source_gone(&engine, KIND_SLICE_CONFIG, NS, "red", 10, now_ns);
	assert_int_equal(item->source, SOURCE_ABSENT);
	assert_int_equal(engine.brakes[KIND_SLICE_CONFIG].passed, 1); /* H8 */
	item = add(KIND_SLICE_CONFIG, "blue");
	copy_is(item, COPY_NONE);
	engine_source_gone(&engine, KIND_SLICE_CONFIG, NS, "blue", 11, now_ns);
	assert_int_equal(item->source, SOURCE_ABSENT);
	assert_int_equal(engine.brakes[KIND_SLICE_CONFIG].passed, 1);
}

static void a_list_of_one_namespace_is_of_that_one(void **state)
{
	struct item *secret = add(KIND_SECRET, "red");
	struct item *other = store_add(&engine.store, KIND_SECRET, "blue", "red");

	(void)state;
	source_is(other, SOURCE_PRESENT);
	engine_source_listed(&engine, KIND_SECRET, secret->space, 4, now_ns);
	assert_int_equal(secret->source, SOURCE_ABSENT);
	assert_int_equal(other->source, SOURCE_PRESENT);
	assert_int_equal(item->source, SOURCE_PRESENT); /* of another kind */
}

/* --- The copies ------------------------------------------------------------------------------- */

/* What this hub says of the item's copy, as it is known. */
static struct rewrite_facts copy_facts(uint64_t version)
{
	return (struct rewrite_facts){ .name = item_name(item),
		.namespace = item_namespace(item),
		.uid = item->copy_uid,
		.version = version,
		.body = item->copy_body,
		.status = item->copy_status,
		.mark = item->copy_mark,
		.is_copy = true,
		.chosen = true,
		.source_version = 10,
		.source_term = 2,
		.owner_kind = KIND_COUNT,
		.owner_name = "" };
}

static bool copy_seen(const struct rewrite_facts *facts, bool listed)
{
	return engine_copy_seen(&engine, item->kind, facts, listed, 4, now_ns);
}

/* H10: an older version of the same object is stale, unless it is not known what is there. */
static void H10_which_report_of_a_copy_is_believed(void **state)
{
	static const struct {
		uint64_t version; /* 100 is known */
		enum copy_state copy;
		bool other, edited, believed;
	} rows[] = {
		{ 101, COPY_PRESENT, false, true, true },
		{ 100, COPY_PRESENT, false, true, true }, /* a restore may give a number twice */
		{ 99, COPY_PRESENT, false, true, false },
		{ 99, COPY_PRESENT, false, false, false },
		{ 99, COPY_PRESENT, true, true, true },
		{ 101, COPY_FOREIGN, false, true, true },
		{ 99, COPY_FOREIGN, false, true, false },
		{ 99, COPY_UNSURE, false, true, true },
		{ 99, COPY_NONE, false, true, true },
	};
	struct rewrite_facts facts;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		anew();
		engine.rejoin = true;
		copy_is(item, rows[i].copy);
		facts = copy_facts(rows[i].version);
		if (rows[i].other)
			facts.uid = "other";
		if (rows[i].edited)
			facts.body = B;
		(void)copy_seen(&facts, false);
		assert_int_equal(item->copy_version, rows[i].believed ? rows[i].version : 100);
		assert_int_equal(hash_equal(&item->copy_body, &B), rows[i].believed);
	}
}

/* In the version that is known, each thing that differs counts. */
static void H10_a_version_that_was_given_twice_is_seen(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	for (unsigned what = 0; what < 6; what++) {
		anew();
		source_is(item, SOURCE_UNKNOWN);
		facts = copy_facts(100);
		if (what == 1)
			facts.body = B;
		else if (what == 2)
			facts.status = B;
		else if (what == 3)
			facts.terminating = true;
		else if (what == 4)
			facts.finalizers = 4;
		else if (what == 5)
			facts.mark = C;
		assert_int_equal(copy_seen(&facts, false), what != 0);
		assert_int_equal(hash_equal(&item->copy_body, &B), what == 1);
		assert_int_equal(hash_equal(&item->copy_status, &B), what == 2);
		assert_int_equal(item->copy_terminating, what == 3);
		assert_int_equal(item->copy_finalizers, what == 4 ? 4 : 0);
		assert_int_equal(hash_equal(&item->copy_mark, &C), what == 5);
	}
	facts = copy_facts(101);
	assert_true(copy_seen(&facts, false));
	source_is(item, SOURCE_PRESENT);
	facts = copy_facts(102);
	assert_false(copy_seen(&facts, false)); /* the source has said something of it */
}

/* Who depends on a copy is judged again when that comes, goes, or is another one. */
static void what_moves_a_copy_moves_what_depends_on_it(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	for (unsigned what = 0; what < 6; what++) {
		anew();
		item = home;
		engine.rejoin = true;
		if (what == 1)
			copy_is(home, COPY_FOREIGN);
		facts = copy_facts(101);
		if (what == 2)
			facts.is_copy = false;
		else if (what == 3)
			facts.uid = "other";
		else if (what == 4)
			facts.terminating = true;
		else if (what == 5)
			facts.body = B;
		(void)copy_seen(&facts, false);
		assert_int_equal(notes[ENGINE_SPACE_CHANGED], what >= 1 && what <= 4);
	}
}

/* The same of the answer to a write. */
static void what_a_write_moves_moves_what_depends_on_it(void **state)
{
	static const struct {
		const char *uid;
		uint64_t version; /* 100 is known, 101 the answer's */
		enum copy_state meanwhile;
		unsigned moves;
	} rows[] = {
		{ "new", 100, COPY_NONE, 1 },
		{ "new", 101, COPY_PRESENT, 0 }, /* its watch was quicker, and moved all */
		{ "old", 100, COPY_PRESENT, 1 },
		{ "old", 102, COPY_PRESENT, 0 }, /* and knows more */
		{ "new", 100, COPY_FOREIGN, 1 },
	};
	struct rewrite_copy copy = { .status_at = 1 };
	struct engine_order order;
	struct rewrite_facts facts;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		anew();
		item = home;
		copy_is(home, COPY_NONE);
		assert_true(store_hold(&engine.store, home, str_of("{}"), copy, true));
		engine_settle(&engine, home, now_ns);
		assert_true(engine_next(&engine, now_ns, &order));
		assert_int_equal(order.action, ENGINE_CREATE);
		copy_is(home, rows[i].meanwhile);
		home->copy_version = rows[i].version;
		(void)str_copy(home->copy_uid, sizeof(home->copy_uid), str_of(rows[i].uid));
		facts = copy_facts(101);
		facts.uid = "new";
		(void)engine_wrote(&engine, &order, &facts, "", now_ns);
		assert_int_equal(notes[ENGINE_SPACE_CHANGED], rows[i].moves);
	}
}

/* L66: one that lost our label is somebody else's; who it is matters in a rejoin only. */
static void L66_what_is_no_copy_is_not_looked_at(void **state)
{
	struct rewrite_facts facts = { 0 };

	(void)state;
	facts = copy_facts(101);
	facts.is_copy = false;
	(void)copy_seen(&facts, false);
	assert_int_equal(item->copy, COPY_PRESENT); /* its watch by label says that it went */
	engine.rejoin = true;
	(void)copy_seen(&facts, false);
	assert_int_equal(item->copy, COPY_FOREIGN);
	assert_int_equal(item->copy_source_version, 0);
}

static void what_the_server_made_of_a_copy_is_noted(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	for (unsigned what = 0; what < 4; what++) {
		anew();
		facts = copy_facts(101);
		facts.says_pruned = true;
		facts.pruned.body = what == 1 ? C : A;
		if (what >= 2) {
			facts.pruned.from = B;
			facts.pruned.status = C;
			facts.status = what == 2 ? C : B;
		}
		(void)copy_seen(&facts, false);
		assert_int_equal(item->noted, what == 0 || what == 2);
		assert_true(hash_equal(&item_made(item)->answer_body, &facts.pruned.body));
		assert_int_equal(hash_equal(&item_made(item)->wrote_status, &B), what >= 2);
	}
}

static void which_end_of_a_copy_is_believed(void **state)
{
	(void)state;
	engine_copy_gone(&engine, KIND_SLICE_CONFIG, NS, "blue", 100, now_ns); /* never seen */
	engine_copy_gone(&engine, KIND_NAMESPACE, "", NS, 99, now_ns);
	assert_int_equal(home->copy, COPY_PRESENT);
	engine_copy_gone(&engine, KIND_NAMESPACE, "", NS, 100, now_ns);
	assert_int_equal(home->copy, COPY_NONE);
	assert_int_equal(notes[ENGINE_SPACE_CHANGED], 1);
	engine_copy_gone(&engine, KIND_NAMESPACE, "", NS, 101, now_ns);
	assert_int_equal(notes[ENGINE_SPACE_CHANGED], 1); /* it was gone */
}

/* What a list of copies does not show, or shows in an older version. */
static void H10_what_a_list_of_copies_says(void **state)
{
	static const struct {
		enum copy_state copy;
		bool rejoin, busy;
		uint64_t shown; /* 100 is known; 0: not shown */
		enum copy_state becomes;
	} rows[] = {
		{ COPY_PRESENT, false, false, 0, COPY_NONE },
		{ COPY_PRESENT, false, true, 0, COPY_UNSURE }, /* the answer may be older */
		{ COPY_PRESENT, false, false, 100, COPY_PRESENT },
		{ COPY_PRESENT, false, false, 101, COPY_PRESENT },
		{ COPY_PRESENT, false, false, 99, COPY_UNSURE },
		{ COPY_PRESENT, false, true, 100, COPY_PRESENT },
		{ COPY_FOREIGN, false, false, 0, COPY_FOREIGN }, /* the list is by label */
		{ COPY_FOREIGN, false, false, 99, COPY_UNSURE },
		{ COPY_FOREIGN, true, false, 0, COPY_NONE },
		{ COPY_FOREIGN, true, true, 0, COPY_UNSURE },
		{ COPY_UNSURE, false, false, 0, COPY_UNSURE },
		{ COPY_UNSURE, true, false, 0, COPY_UNSURE },
		{ COPY_NONE, false, false, 0, COPY_NONE },
		{ COPY_NONE, true, true, 0, COPY_NONE },
	};
	struct rewrite_facts facts;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		anew();
		engine.rejoin = rows[i].rejoin;
		copy_is(item, rows[i].copy);
		item->busy = rows[i].busy;
		facts = copy_facts(rows[i].shown);
		if (rows[i].shown)
			(void)copy_seen(&facts, true);
		engine_copies_listed(&engine, KIND_SLICE_CONFIG, NULL, 4, now_ns);
		assert_int_equal(item->copy, rows[i].becomes);
		item->busy = false;
	}
	anew();
	facts = copy_facts(99);
	(void)copy_seen(&facts, false); /* an event of before */
	engine_copies_listed(&engine, KIND_SLICE_CONFIG, NULL, 4, now_ns);
	assert_int_equal(item->copy, COPY_PRESENT);
}

/* --- What is told ----------------------------------------------------------------------------- */

static void the_oldest_change_that_is_not_written(void **state)
{
	struct item *blocked = add(KIND_SLICE_CONFIG, "blue"), *other = add(KIND_ROLE, "red");

	(void)state;
	item->since_ns = now_ns - 9;
	assert_true(engine_oldest_ns(&engine, now_ns) == 0);
	item->since_ns = now_ns - 5;
	other->since_ns = now_ns - 3;
	blocked->since_ns = now_ns - 7;
	store_set_state(&engine.store, item, ITEM_PENDING);
	store_set_state(&engine.store, other, ITEM_PENDING);
	store_set_state(&engine.store, blocked, ITEM_BLOCKED);
	assert_true(engine_oldest_ns(&engine, now_ns) == 5);
	item->since_ns = 0;
	assert_true(engine_oldest_ns(&engine, now_ns) == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(H10_a_list_that_shows_an_older_version_went_back),
		STORY(H10_a_read_during_a_list_is_newer),
		STORY(H10_a_copy_tells_that_a_list_is_old),
		STORY(a_change_ends_the_wait),
		STORY(C14_which_deletion_is_believed),
		STORY(a_list_of_one_namespace_is_of_that_one),
		STORY(H10_which_report_of_a_copy_is_believed),
		STORY(H10_a_version_that_was_given_twice_is_seen),
		STORY(what_moves_a_copy_moves_what_depends_on_it),
		STORY(what_a_write_moves_moves_what_depends_on_it),
		STORY(L66_what_is_no_copy_is_not_looked_at),
		STORY(what_the_server_made_of_a_copy_is_noted),
		STORY(which_end_of_a_copy_is_believed),
		STORY(H10_what_a_list_of_copies_says),
		STORY(H13_dependents_go_on_without_an_owner_that_is_marked),
		STORY(the_oldest_change_that_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
