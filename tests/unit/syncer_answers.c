/*
 * Goal: what the engine makes of each answer to an order, and which orders it gives (C12, C14, H3,
 * H7, H8, H11, H13, I11). Method: items that are set by hand (syncer_item.h), one order and one
 * answer; whole stories are in syncer_engine.c and syncer_late.c.
 */
#include "tests/unit/syncer_item.h"

static struct engine_order order;

/* The next order is this one, for `of`. */
static void next_is(struct item *of, enum engine_action action)
{
	assert_true(engine_next(&engine, now_ns, &order));
	assert_ptr_equal(order.item, of);
	assert_int_equal(order.action, action);
}

static void hold(struct item *of)
{
	assert_true(store_hold(
	    &engine.store, of, str_of("{}"), (struct rewrite_copy){ .status_at = 1 }, true));
}

static void order_is(enum engine_action action)
{
	engine_settle(&engine, item, now_ns);
	next_is(item, action);
}

/* The copy as it is known, as an answer shows it. */
static struct rewrite_facts answer(uint64_t version)
{
	return (struct rewrite_facts){ .uid = item->copy_uid,
		.version = version,
		.body = item->source_body,
		.mark = item->source_body,
		.status = item->copy_status,
		.is_copy = true,
		.source_version = item->source_version,
		.source_term = 2 };
}

static void fails(enum kube_class class)
{
	struct engine_failure failure = { .class = class, .why = "because", .field = "" };

	engine_failed(&engine, &order, &failure, now_ns);
}

static void C12_only_deletions_of_a_rejoin_are_waited_for(void **state)
{
	(void)state;
	engine.rejoin = true;
	item->source_body = B;
	engine_settle(&engine, item, now_ns);
	assert_int_equal(item->state, ITEM_PENDING);
	assert_int_equal(engine.doomed[KIND_SLICE_CONFIG], 0); /* an update */
	source_is(item, SOURCE_ABSENT);
	item->proofs = 1;
	engine_settle(&engine, item, now_ns);
	assert_int_equal(engine.doomed[KIND_SLICE_CONFIG], 1);
	copy_is(item, COPY_NONE);
	engine_settle(&engine, item, now_ns);
	assert_int_equal(engine.doomed[KIND_SLICE_CONFIG], 0);
	assert_true(engine.redo);
	engine.rejoin = false;
	copy_is(item, COPY_PRESENT);
	engine_settle(&engine, item, now_ns);
	assert_int_equal(item->state, ITEM_PENDING);
	assert_int_equal(engine.doomed[KIND_SLICE_CONFIG], 0);
}

/* I11: what keeps a Namespace that is to go is looked at again when it may have ended. */
static bool is_redone(void)
{
	engine.redo = false;
	engine_settle(&engine, item, now_ns);
	return engine.redo;
}

static void I11_what_is_kept_or_gone_lets_its_namespace_go(void **state)
{
	(void)state;
	source_is(home, SOURCE_ABSENT);
	store_set_state(&engine.store, home, ITEM_BLOCKED);
	item->copy_body = B;
	assert_false(is_redone());
	item->archived_version = 100;
	assert_true(is_redone());
	item->archived_version = 99;
	item->copy_body = A; /* the edit was taken back */
	assert_true(is_redone());
	item->copy_body = B;
	copy_is(item, COPY_NONE);
	assert_true(is_redone());
	source_is(home, SOURCE_PRESENT);
	assert_false(is_redone());
	source_is(home, SOURCE_ABSENT);
	store_set_state(&engine.store, home, ITEM_PENDING);
	assert_false(is_redone());
}

static void what_is_in_order_has_no_history(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 3; how++) {
		anew();
		item->since_ns = 5;
		item->attempts = 3;
		item->refused = true;
		store_say(item, "because");
		if (how == 1)
			source_is(home, SOURCE_LEFT);
		else if (how == 2)
			item->on_hold = true;
		engine_settle(&engine, item, now_ns);
		assert_int_equal(item->since_ns, 0);
		assert_int_equal(item->attempts, 0);
		assert_false(item->refused);
		if (how == 2)
			assert_non_null(strstr(item->why, "hold"));
		else
			assert_null(item->why);
	}
	anew();
	item->source_body = B;
	engine_settle(&engine, item, now_ns);
	assert_true(item->since_ns == now_ns);
	engine_settle(&engine, item, now_ns + 1);
	assert_true(item->since_ns == now_ns); /* of its oldest change */
}

/* H13 */
static void H13_dependents_go_on_without_an_owner_that_is_refused(void **state)
{
	struct item *dependent = dependent_that_waits();

	(void)state;
	next_is(item, ENGINE_FETCH);
	fails(KUBE_REFUSED);
	assert_int_equal(item->state, ITEM_BLOCKED);
	assert_int_equal(dependent->queue, QUEUE_READY);
}

/* What was ready is judged once more before it is ordered. */
static void C12_what_became_ready_too_early_waits(void **state)
{
	(void)state;
	engine.rejoin = true;
	source_is(item, SOURCE_ABSENT);
	item->proofs = 1;
	engine_settle(&engine, item, now_ns);
	engine.doomed[kind_end()] = 1; /* of no kind */
	engine_settle(&engine, item, now_ns);
	assert_int_equal(item->queue, QUEUE_READY);
	engine.doomed[KIND_SECRET] = 1; /* one more was found */
	assert_false(engine_next(&engine, now_ns, &order));
	assert_int_equal(item->queue, QUEUE_NOT);
	assert_int_equal(item->state, ITEM_PENDING);
	anew();
	item->source_body = B;
	engine_settle(&engine, item, now_ns);
	item->retry_ns = now_ns + 1;
	assert_false(engine_next(&engine, now_ns, &order));
	assert_int_equal(item->queue, QUEUE_DELAYED);
	assert_true(engine_wake_ns(&engine) == now_ns + 1);
}

/* H3: what it would take a read for is lost. */
static void H3_a_drain_gives_no_order_to_read_or_to_note(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 4; how++) {
		anew();
		engine.draining = true;
		if (how == 0) { /* FETCH */
			item->source_body = B;
		} else if (how == 1) { /* PROVE */
			source_is(item, SOURCE_ABSENT);
		} else if (how == 2) { /* NOTE */
			source_is(item, SOURCE_ABSENT);
			item->proofs = 1;
			item->braked = true;
		} else { /* ARCHIVE */
			item->copy_body = B;
		}
		engine_settle(&engine, item, now_ns);
		assert_int_equal(item->queue, QUEUE_READY);
		assert_false(engine_next(&engine, now_ns, &order));
		assert_int_equal(engine.busy, 0);
	}
	anew();
	engine.draining = true;
	item->source_body = B;
	hold(item);
	order_is(ENGINE_UPDATE);
}

static void a_kind_that_fails_does_not_fill_the_window(void **state)
{
	struct item *other = add(KIND_SLICE_CONFIG, "blue");

	(void)state;
	item->source_body = other->source_body = B;
	engine.kind_streak[KIND_SLICE_CONFIG] = 2;
	engine_settle(&engine, item, now_ns);
	engine_settle(&engine, other, now_ns);
	next_is(item, ENGINE_FETCH);
	engine.kind_streak[KIND_SLICE_CONFIG] = 3;
	assert_false(engine_next(&engine, now_ns, &order));
	engine.kind_streak[KIND_SLICE_CONFIG] = 2;
	next_is(other, ENGINE_FETCH);
}

static void time_changes_nothing_while_closed_or_full(void **state)
{
	(void)state;
	engine.wake_ns = 7;
	assert_true(engine_wake_ns(&engine) == 7);
	engine.busy = 16;
	assert_true(engine_wake_ns(&engine) == INT64_MAX);
	engine.busy = 0;
	engine.granted = false;
	assert_true(engine_wake_ns(&engine) == INT64_MAX);
}

static void a_count_of_failures_does_not_wrap(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	item->source_body = B;
	item->attempts = UINT8_MAX;
	engine.kind_streak[KIND_SLICE_CONFIG] = UINT16_MAX;
	order_is(ENGINE_FETCH);
	fails(KUBE_SERVER_ERROR);
	assert_int_equal(item->attempts, UINT8_MAX);
	assert_int_equal(engine.kind_streak[KIND_SLICE_CONFIG], UINT16_MAX);
	item->retry_ns = 0;
	order_is(ENGINE_FETCH);
	facts = (struct rewrite_facts){ .uid = "s", .version = 9 };
	engine_fetched(&engine, &order, &facts, now_ns);
	assert_int_equal(item->attempts, UINT8_MAX);
	assert_true(item->retry_ns > now_ns);
	item->retry_ns = 0;
	order_is(ENGINE_FETCH);
	fails(KUBE_NOT_FOUND);
	assert_int_equal(item->attempts, UINT8_MAX);
}

/* B19: what is read by name may be marked by now. */
static void B19_a_mark_that_is_read_by_name_counts(void **state)
{
	struct rewrite_facts facts = { .uid = "s", .version = 11, .body = B };

	(void)state;
	for (unsigned how = 0; how < 2; how++) {
		anew();
		item->source_body = C;
		order_is(ENGINE_FETCH);
		hold(item);
		facts.left_out = how == 0;
		facts.on_hold = how == 1;
		engine_fetched(&engine, &order, &facts, now_ns);
		assert_int_equal(item->state, ITEM_EXCLUDED);
		assert_null(item->held);
		assert_false(engine_next(&engine, now_ns, &order));
	}
}

/* C14, I11 */
static void I11_a_namespace_that_is_proved_gone_has_its_items_looked_at(void **state)
{
	(void)state;
	source_is(item, SOURCE_ABSENT);
	item->copy_body = B;
	source_is(home, SOURCE_ABSENT);
	engine_settle(&engine, item, now_ns);
	assert_int_equal(item->queue, QUEUE_NOT);
	engine_settle(&engine, home, now_ns);
	next_is(home, ENGINE_PROVE);
	engine_proved(&engine, &order, NULL, now_ns);
	assert_int_equal(home->proofs, 1);
	next_is(item, ENGINE_ARCHIVE);
}

static void C14_what_a_look_at_the_source_shows(void **state)
{
	static const struct {
		enum kind kind;
		bool chosen;
		enum source_state becomes;
	} rows[] = {
		{ KIND_ROLE, false, SOURCE_LEFT },
		{ KIND_ROLE, true, SOURCE_UNKNOWN },
		{ KIND_SLICE_CONFIG, false, SOURCE_UNKNOWN },
		{ KIND_SLICE_CONFIG, true, SOURCE_UNKNOWN },
	};
	struct rewrite_facts facts = { .uid = "s", .version = 11 };

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		anew();
		item = add(rows[i].kind, "green");
		source_is(item, SOURCE_ABSENT);
		order_is(ENGINE_PROVE);
		facts.chosen = rows[i].chosen;
		engine_proved(&engine, &order, &facts, now_ns);
		assert_int_equal(item->source, rows[i].becomes);
		assert_int_equal(notes[ENGINE_LEFT_SCOPE], rows[i].becomes == SOURCE_LEFT);
	}
}

/* An answer that a watch has overtaken is not believed; one of a server that was restored is. */
static void H10_which_look_at_the_copy_is_believed(void **state)
{
	static const struct {
		uint64_t known, shown; /* 100 was ordered */
		enum copy_state copy;
		bool believed;
	} rows[] = {
		{ 100, 99, COPY_UNSURE, true },
		{ 101, 100, COPY_UNSURE, true },
		{ 100, 99, COPY_PRESENT, true },
		{ 101, 100, COPY_PRESENT, false },
		{ 101, 102, COPY_PRESENT, true },
		{ 101, 100, COPY_NONE, false },
	};
	struct rewrite_facts facts;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		anew();
		copy_is(item, COPY_UNSURE);
		order_is(ENGINE_INSPECT);
		copy_is(item, rows[i].copy);
		item->copy_version = rows[i].known;
		facts = answer(rows[i].shown);
		engine_inspected(&engine, &order, &facts, now_ns);
		assert_int_equal(
		    item->copy_version, rows[i].believed ? rows[i].shown : rows[i].known);
	}
}

/* H7: one that is in the way is looked at now and then, one that is adopted at once. */
static void C12_an_object_that_is_adopted_is_not_waited_for(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	for (unsigned rejoin = 0; rejoin < 2; rejoin++) {
		anew();
		engine.rejoin = rejoin;
		copy_is(item, COPY_UNSURE);
		order_is(ENGINE_INSPECT);
		facts = answer(101);
		facts.is_copy = false;
		facts.chosen = true;
		engine_inspected(&engine, &order, &facts, now_ns);
		assert_int_equal(item->copy, COPY_FOREIGN);
		assert_int_equal(item->queue, rejoin ? QUEUE_READY : QUEUE_DELAYED);
	}
}

static void I11_what_replaced_an_archived_version_is_archived(void **state)
{
	static const struct {
		uint64_t archived, ordered, known, becomes; /* 101 is the answer's */
	} rows[] = {
		{ 100, 100, 100, 101 }, { 100, 100, 101, 101 }, /* the watch was quicker */
		{ 99, 100, 100, 99 }, { 0, 0, 0, 0 },           /* nothing was there */
		{ 100, 100, 102, 100 },                         /* it changed once more */
	};
	struct rewrite_facts facts;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		anew();
		item->source_body = B;
		item->copy_version = rows[i].ordered;
		item->archived_version = rows[i].archived;
		hold(item);
		order_is(ENGINE_UPDATE);
		item->copy_version = rows[i].known;
		facts = answer(101);
		assert_int_equal(
		    engine_wrote(&engine, &order, &facts, "", now_ns), rows[i].known <= 101);
		assert_int_equal(item->archived_version, rows[i].becomes);
	}
}

/* C12: what waits for its Namespace goes on when that was adopted. */
static void C12_an_adopted_namespace_has_its_items_looked_at(void **state)
{
	struct item *inside = item;
	struct rewrite_facts facts;

	(void)state;
	engine.rejoin = true;
	(void)str_copy(home->copy_uid, sizeof(home->copy_uid), str_of("n"));
	copy_is(home, COPY_FOREIGN);
	inside->source_body = B;
	engine_settle(&engine, inside, now_ns);
	assert_int_equal(inside->queue, QUEUE_NOT);
	item = home;
	hold(home);
	order_is(ENGINE_UPDATE);
	facts = answer(101);
	engine.redo = false;
	assert_true(engine_wrote(&engine, &order, &facts, "", now_ns));
	assert_int_equal(inside->queue, QUEUE_READY);
}

static void what_was_made_is_new_until_it_is_equal(void **state)
{
	struct rewrite_facts facts;

	(void)state;
	for (unsigned create = 0; create < 2; create++) {
		anew();
		item->source_body = B;
		item->source_status = C;
		if (create)
			copy_is(item, COPY_NONE);
		hold(item);
		order_is(create ? ENGINE_CREATE : ENGINE_UPDATE);
		item->recreate = true;
		facts = answer(101);
		assert_false(engine_wrote(&engine, &order, &facts, "", now_ns));
		assert_int_equal(item->created, create);
		assert_int_equal(item->recreate, !create); /* H7: made anew, that is over */
		item->recreate = false;
		engine_settle(&engine, item, now_ns);
		next_is(item, item->held ? ENGINE_STATUS : ENGINE_FETCH);
		item->copy_status = C;
		facts = answer(102);
		order.action = ENGINE_STATUS;
		assert_true(engine_wrote(&engine, &order, &facts, "", now_ns));
		assert_false(item->created);
	}
}

static void what_goes_slowly_is_waited_for(void **state)
{
	(void)state;
	source_is(item, SOURCE_ABSENT);
	item->proofs = 1;
	order_is(ENGINE_DELETE);
	engine_deleted(&engine, &order, now_ns);
	assert_int_equal(item->copy, COPY_NONE);
	anew();
	source_is(item, SOURCE_ABSENT);
	item->proofs = 1;
	order_is(ENGINE_DELETE);
	item->copy_finalizers = 4; /* since it was ordered */
	engine_deleted(&engine, &order, now_ns);
	assert_int_equal(item->copy, COPY_PRESENT);
	assert_true(item->copy_terminating);
	anew();
	item = home;
	source_is(home, SOURCE_ABSENT);
	home->proofs = 2;
	order_is(ENGINE_DELETE);
	engine_deleted(&engine, &order, now_ns);
	assert_int_equal(home->copy, COPY_PRESENT);
	assert_true(home->copy_terminating);
}

static void what_404_says(void **state)
{
	(void)state;
	item->source_body = B;
	order_is(ENGINE_FETCH);
	fails(KUBE_NOT_FOUND);
	/* The watch will tell, but not if a stranger said so (G6): it is read again, later and
	 * later. */
	assert_int_equal(item->source, SOURCE_PRESENT);
	assert_int_equal(item->queue, QUEUE_DELAYED);
	assert_int_equal(item->attempts, 1);
	assert_null(item->why); /* no fault of it */
	assert_int_equal(item->copy, COPY_PRESENT);
	anew();
	item->source_body = B;
	order_is(ENGINE_FETCH);
	source_is(item, SOURCE_ABSENT); /* it has told */
	fails(KUBE_NOT_FOUND);
	assert_int_equal(item->source, SOURCE_ABSENT);
	assert_int_equal(item->copy, COPY_PRESENT);
	anew();
	item->source_body = B;
	hold(item);
	order_is(ENGINE_UPDATE);
	fails(KUBE_NOT_FOUND);
	assert_int_equal(item->source, SOURCE_PRESENT);
	assert_int_equal(item->copy, COPY_NONE);
	assert_int_equal(item->attempts, 0);
	anew();
	copy_is(item, COPY_NONE);
	hold(item);
	order_is(ENGINE_CREATE);
	fails(KUBE_NOT_FOUND); /* its Namespace is not there yet */
	assert_int_equal(item->attempts, 1);
	assert_int_equal(item->queue, QUEUE_DELAYED);
}

/* H7: rights that were just given take a moment. */
static void H7_a_right_that_is_lacking_is_tried_seven_times(void **state)
{
	(void)state;
	item->source_body = B;
	hold(item);
	item->attempts = 5;
	order_is(ENGINE_UPDATE);
	fails(KUBE_FORBIDDEN);
	assert_int_equal(item->state, ITEM_PENDING);
	item->retry_ns = 0;
	order_is(ENGINE_UPDATE);
	fails(KUBE_FORBIDDEN);
	assert_int_equal(item->state, ITEM_BLOCKED);
}

/* M8: it may have been done. */
static void M8_after_silence_a_write_is_looked_at(void **state)
{
	(void)state;
	item->source_body = B;
	order_is(ENGINE_FETCH);
	fails(KUBE_SILENT);
	assert_int_equal(item->copy, COPY_PRESENT);
	hold(item);
	item->retry_ns = 0;
	order_is(ENGINE_UPDATE);
	fails(KUBE_SILENT);
	assert_int_equal(item->copy, COPY_UNSURE);
	anew();
	item->source_body = B;
	hold(item);
	engine.draining = true; /* H3: there is no time to look */
	order_is(ENGINE_UPDATE);
	fails(KUBE_SILENT);
	assert_int_equal(item->copy, COPY_PRESENT);
}

static void H7_what_a_server_says_before_it_knows_its_policies(void **state)
{
	(void)state;
	assert_true(engine_policy_unready("policy 'p': failed to configure policy: no params"));
	assert_true(engine_policy_unready("policy 'p': failed to configure binding: no params"));
	assert_true(engine_policy_unready("not yet ready to handle request"));
	assert_false(engine_policy_unready("policy 'p' denied request: failed to configure"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(H7_what_a_server_says_before_it_knows_its_policies),
		STORY(C12_only_deletions_of_a_rejoin_are_waited_for),
		STORY(I11_what_is_kept_or_gone_lets_its_namespace_go),
		STORY(what_is_in_order_has_no_history),
		STORY(H13_dependents_go_on_without_an_owner_that_is_refused),
		STORY(C12_what_became_ready_too_early_waits),
		STORY(H3_a_drain_gives_no_order_to_read_or_to_note),
		STORY(a_kind_that_fails_does_not_fill_the_window),
		STORY(time_changes_nothing_while_closed_or_full),
		STORY(a_count_of_failures_does_not_wrap),
		STORY(B19_a_mark_that_is_read_by_name_counts),
		STORY(I11_a_namespace_that_is_proved_gone_has_its_items_looked_at),
		STORY(C14_what_a_look_at_the_source_shows),
		STORY(H10_which_look_at_the_copy_is_believed),
		STORY(C12_an_object_that_is_adopted_is_not_waited_for),
		STORY(I11_what_replaced_an_archived_version_is_archived),
		STORY(C12_an_adopted_namespace_has_its_items_looked_at),
		STORY(what_was_made_is_new_until_it_is_equal),
		STORY(what_goes_slowly_is_waited_for),
		STORY(what_404_says),
		STORY(H7_a_right_that_is_lacking_is_tried_seven_times),
		STORY(M8_after_silence_a_write_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
