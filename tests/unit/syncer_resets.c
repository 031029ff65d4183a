/*
 * Goal: what a report or an answer ends is over: brakes, proofs, pauses, refusals and versions of
 * before do not live on (C12, C14, H7, H8, H10, H11). Method: items that are set by hand
 * (syncer_item.h), everything about them of before, then one event.
 */
#include "tests/unit/syncer_item.h"

/* The item is to be written, and has failed before. */
static void with_a_past(void)
{
	anew();
	item->source_body = B;
	item->attempts = 3;
	item->retry_ns = now_ns + 5;
	item->refused = item->recreate = true;
	item->proofs = 1;
	item->braked = item->observed = item->kept = true;
	item->archived_version = 90;
}

static struct rewrite_facts facts_of_item(void)
{
	return (struct rewrite_facts){ .name = item_name(item),
		.namespace = item_namespace(item),
		.uid = "s",
		.version = 11,
		.body = item->source_body,
		.owner_kind = KIND_COUNT,
		.owner_name = "" };
}

static struct rewrite_facts copy_facts(uint64_t version)
{
	struct rewrite_facts facts = facts_of_item();

	facts.uid = item->copy_uid;
	facts.version = version;
	facts.is_copy = true;
	facts.body = C;
	return facts;
}

static void what_is_seen_is_taken(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	with_a_past();
	facts = facts_of_item();
	facts.created_us = 77;
	facts.owner_kind = KIND_CLUSTER;
	facts.owner_name = "blue";
	facts.owner_controls = true;
	facts.refusal = "it grants too much";
	(void)engine_source_seen(&engine, item->kind, &facts, true, 1, now_ns);
	assert_int_equal(item->proofs, 0);
	assert_false(item->braked || item->observed || item->kept);
	assert_int_equal(item->created_us, 77);
	assert_string_equal(item_name(item->owner), "blue");
	assert_true(item->owner_controls && item->owner->has_dependents);
	assert_true(item->forbidden); /* B1 */
	assert_int_equal(item->state, ITEM_BLOCKED);
	assert_string_equal(item->why, "it grants too much");
	facts.refusal = NULL;
	facts.owner_name = "";
	facts.owner_controls = false;
	(void)engine_source_seen(&engine, item->kind, &facts, true, 1, now_ns);
	assert_null(item->owner);
	assert_false(item->owner_controls || item->forbidden);
}

/* C14: a deletion is another change, with proofs and pauses of its own. */
static void C14_a_deletion_begins_anew(void **state)
{
	(void)state;
	with_a_past();
	item->kept = false;
	copy_is(home, COPY_UNSURE); /* so that it waits */
	engine_source_gone(&engine, item->kind, NS, "red", 12, now_ns);
	assert_int_equal(item->source_version, 12);
	assert_int_equal(item->proofs, 0);
	assert_int_equal(item->attempts, 0);
	assert_int_equal(item->retry_ns, 0);
	assert_false(item->refused || item->braked);
	assert_true(item->observed);
	with_a_past();
	copy_is(home, COPY_UNSURE);
	engine_source_listed(&engine, item->kind, NULL, 4, now_ns);
	assert_int_equal(item->source, SOURCE_ABSENT);
	assert_int_equal(item->proofs, 0);
	assert_false(item->observed);
}

/* H10: numbers of before a restore mean something else after it. */
static void H10_an_accepted_restore_begins_anew(void **state)
{
	(void)state;
	with_a_past();
	engine.regressed = engine.suspect = true;
	engine_accept_restore(&engine, now_ns);
	assert_false(engine.regressed || engine.suspect);
	assert_true(engine.restore);
	assert_int_equal(item->source_version, 0);
	assert_int_equal(item->archived_version, 0);
	assert_int_equal(item->attempts, 0);
	assert_int_equal(item->queue, QUEUE_READY);
	engine_restored(&engine);
	assert_false(engine.restore);
}

/* G6: what a stranger said in the source's place is forgotten. */
static void G6_another_source_begins_anew(void **state)
{
	(void)state;
	with_a_past();
	engine.regressed = engine.suspect = true;
	engine_source_replaced(&engine, now_ns);
	assert_false(engine.regressed || engine.suspect);
	assert_int_equal(item->source, SOURCE_UNKNOWN);
	assert_int_equal(item->source_version, 0);
	assert_int_equal(item->source_uid, 0);
	assert_int_equal(item->proofs, 0);
	assert_false(item->braked);
	engine.verified = false;
	engine_source_verified(&engine);
	assert_true(engine.verified);
	assert_false(engine.regressed);
	engine.suspect = true;
	engine_source_verified(&engine);
	assert_true(engine.regressed);
}

static void a_person_may_end_pauses_and_holds(void **state)
{
	uint64_t hash;

	(void)state;
	with_a_past();
	engine_retry(&engine, now_ns);
	assert_int_equal(item->attempts, 0);
	assert_int_equal(item->queue, QUEUE_READY);
	for (unsigned keep = 0; keep < 2; keep++) {
		with_a_past();
		item->kept = false;
		item->refused = false;
		source_is(item, SOURCE_ABSENT);
		engine_settle(&engine, item, now_ns);
		assert_int_equal(item->state, ITEM_HELD);
		hash = engine_held_hash(&engine);
		assert_true(keep ? engine_discard_held(&engine, hash, now_ns)
				 : engine_release_held(&engine, hash, now_ns));
		assert_int_equal(item->kept, keep);
		assert_false(item->braked);
		assert_int_equal(item->queue, QUEUE_READY);
	}
}

static void C12_a_rejoin_knows_nothing_of_what_is_here(void **state)
{
	(void)state;
	engine_rejoin(&engine, true, now_ns);
	assert_true(engine.rejoin);
	assert_int_equal(engine.copies_synced, 0);
	assert_int_equal(item->space->copies_synced, 0);
	engine.copies_synced = item->space->copies_synced = UINT32_MAX;
	engine_rejoin(&engine, false, now_ns); /* that it is over takes nothing away */
	assert_false(engine.rejoin);
	assert_int_equal(engine.copies_synced, UINT32_MAX);
	assert_int_equal(item->space->copies_synced, UINT32_MAX);
}

static void a_copy_that_is_another_one_bears_no_notes_of_before(void **state)
{
	struct rewrite_facts facts = copy_facts(101);

	(void)state;
	item->noted = true;
	(void)engine_copy_seen(&engine, item->kind, &facts, false, 4, now_ns);
	assert_false(item->noted);
	item->copy_terminating = true;
	engine_copy_gone(&engine, item->kind, NS, "red", 102, now_ns);
	assert_false(item->copy_terminating);
	assert_string_equal(item->copy_uid, "");
	/* What one list said of it does not count in the next one. */
	anew();
	facts = copy_facts(99);
	(void)engine_copy_seen(&engine, item->kind, &facts, true, 4, now_ns);
	assert_true(item->copy_behind);
	engine_copies_listed(&engine, item->kind, NULL, 4, now_ns);
	assert_int_equal(item->copy, COPY_UNSURE);
	assert_false(item->copy_behind);
}

/* --- Answers ---------------------------------------------------------------------------------- */

static struct engine_order order;

static void order_is(enum engine_action action)
{
	item->retry_ns = 0;
	engine_settle(&engine, item, now_ns);
	assert_true(engine_next(&engine, now_ns, &order));
	assert_ptr_equal(order.item, item);
	assert_int_equal(order.action, action);
	item->retry_ns = now_ns + 5;
}

static void H7_what_went_well_is_tried_anew(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	with_a_past();
	item->refused = item->recreate = false;
	order_is(ENGINE_FETCH);
	facts = facts_of_item();
	engine_fetched(&engine, &order, &facts, now_ns);
	assert_int_equal(item->attempts, 3); /* a look is no try */
	assert_int_equal(item->queue, QUEUE_READY);
	with_a_past();
	item->recreate = false;
	item->source_status = B; /* still to be written after its body */
	assert_true(
	    store_hold(&engine.store, item, str_of("{}"), (struct rewrite_copy){ 0 }, true));
	order_is(ENGINE_UPDATE);
	engine.kind_streak[item->kind] = 2;
	facts = facts_of_item();
	facts.uid = item->copy_uid;
	facts.is_copy = true;
	facts.mark = facts.body = B;
	facts.version = 101;
	(void)engine_wrote(&engine, &order, &facts, "", now_ns);
	assert_int_equal(item->state, ITEM_PENDING);
	assert_false(item->refused);
	assert_int_equal(item->attempts, 0);
	assert_int_equal(item->queue, QUEUE_READY);
	assert_int_equal(engine.kind_streak[item->kind], 0);
	with_a_past();
	item->refused = false;
	order_is(ENGINE_DELETE); /* to be made anew */
	engine_deleted(&engine, &order, now_ns);
	assert_false(item->recreate);
	assert_int_equal(item->copy, COPY_NONE);
	assert_int_equal(item->queue, QUEUE_READY);
}

/* G20: told once, and kept for the note on the copy. */
static void G20_what_a_server_dropped_is_told_once(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	for (unsigned time = 1; time <= 2; time++) {
		item->source_body = time == 1 ? B : C;
		assert_true(store_hold(
		    &engine.store, item, str_of("{}"), (struct rewrite_copy){ 0 }, true));
		order_is(ENGINE_UPDATE);
		facts = facts_of_item();
		facts.uid = item->copy_uid;
		facts.is_copy = true;
		facts.mark = item->source_body;
		facts.body = A;
		facts.version = 100 + time;
		(void)engine_wrote(
		    &engine, &order, &facts, time == 1 ? "unknown field" : "another field", now_ns);
		assert_string_equal(item->dropped, time == 1 ? "unknown field" : "another field");
		assert_int_equal(notes[ENGINE_PRUNED], 1);
	}
}

/* Doubled, and not in step with others. */
static void pauses_differ(void **state)
{
	struct engine_failure failure = {
		.class = KUBE_SERVER_ERROR, .why = "because", .field = ""
	};
	int64_t waits_ns[3];
	int64_t least_ns = BASE_NS_PER_S, most_ns = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		item->attempts = 0;
		item->source_body = B;
		order_is(ENGINE_FETCH);
		engine_failed(&engine, &order, &failure, now_ns);
		waits_ns[i] = item->retry_ns - now_ns;
		least_ns = waits_ns[i] < least_ns ? waits_ns[i] : least_ns;
		most_ns = waits_ns[i] > most_ns ? waits_ns[i] : most_ns;
	}
	assert_in_range(least_ns, 400 * BASE_NS_PER_MS, 600 * BASE_NS_PER_MS);
	assert_in_range(most_ns, least_ns + 1, 600 * BASE_NS_PER_MS);
	assert_int_equal(notes[ENGINE_TROUBLE], 3); /* each the first of its row */
}

/* C14: when it is its turn is known of one that waits for its second look. */
static void what_waits_is_woken_at_its_time(void **state)
{
	(void)state;
	item = home;
	source_is(home, SOURCE_ABSENT);
	home->proofs = 1;
	home->proved_ns = now_ns;
	engine_settle(&engine, home, now_ns);
	assert_true(home->retry_ns == now_ns + 30 * BASE_NS_PER_S);
	assert_true(engine_wake_ns(&engine) == home->retry_ns);
	engine.redo = true;
	assert_false(engine_next(&engine, home->retry_ns - 1, &order));
	assert_false(engine.redo);
	assert_true(engine_next(&engine, home->retry_ns, &order));
	assert_int_equal(order.action, ENGINE_PROVE);
}

/* C14: by it one that was made anew is told from the one that was copied. */
static void the_source_is_known_by_its_uid(void **state)
{
	struct rewrite_facts facts = { .namespace = NS,
		.name = "red",
		.uid = "another",
		.owner_name = "",
		.version = 12,
		.body = A,
		.chosen = true };

	(void)state;
	(void)engine_source_seen(&engine, KIND_SLICE_CONFIG, &facts, true, 0, now_ns);
	assert_true(item->source_uid == rewrite_uid_hash("another"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(what_is_seen_is_taken),
		STORY(C14_a_deletion_begins_anew),
		STORY(H10_an_accepted_restore_begins_anew),
		STORY(G6_another_source_begins_anew),
		STORY(a_person_may_end_pauses_and_holds),
		STORY(C12_a_rejoin_knows_nothing_of_what_is_here),
		STORY(a_copy_that_is_another_one_bears_no_notes_of_before),
		STORY(H7_what_went_well_is_tried_anew),
		STORY(G20_what_a_server_dropped_is_told_once),
		STORY(pauses_differ),
		STORY(what_waits_is_woken_at_its_time),
		STORY(the_source_is_known_by_its_uid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
