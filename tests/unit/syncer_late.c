/*
 * Goal: what came meanwhile counts: an answer that a watch has overtaken, an edit while the archive
 * is written, a kind that is not listed yet, an object that no life saw (I11, C14, H7; found by the
 * simulated mirror). Method: the world of syncer_world.h; orders are taken by hand.
 */
#include "tests/unit/syncer_world.h"

static void take(struct engine_order *order, enum engine_action action)
{
	assert_true(engine_next(&w.engine, w.now_ns, order));
	assert_int_equal(order->action, action);
}

static struct object *slice_with_copy(void)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");

	first_mirror();
	assert_non_null(slice->local);
	return slice;
}

static void edit(struct object *object, int n)
{
	json_object_set_new(json_object_get(object->local, "spec"), "n", json_integer(n));
	stamp(object->local);
	show_copy(object, 1);
}

/* The hub has done it, and its answer, which is returned, is on its way. */
static struct rewrite_facts write_under_way(struct object *slice, struct engine_order *order)
{
	change(slice, 7, 0);
	take(order, ENGINE_UPDATE);
	json_object_set_new(json_object_get(slice->local, "spec"), "n", json_integer(7));
	stamp(slice->local);
	return facts_at(REWRITE_OWN, slice->kind, slice->local);
}

static void answer_after_the_end_makes_no_ghost(void **state)
{
	struct object *slice = slice_with_copy();
	struct engine_order order;
	struct rewrite_facts facts = write_under_way(slice, &order);

	(void)state;
	engine_copy_gone(&w.engine, slice->kind, NS, "red", ++w.version, w.now_ns);
	(void)engine_wrote(&w.engine, &order, &facts, "", w.now_ns);
	assert_int_equal(item_of(slice)->copy, COPY_NONE);
	json_decref(slice->local);
	slice->local = NULL;
	run();
	assert_non_null(slice->local);
	assert_int_equal(pending(), 0);
}

/* It may be of before that list: the object that it shows is looked at. */
static void answer_after_a_list_that_did_not_show_it_makes_no_ghost(void **state)
{
	struct object *slice = slice_with_copy();
	struct engine_order order;
	struct rewrite_facts facts = write_under_way(slice, &order);

	(void)state;
	engine_copies_listed(&w.engine, slice->kind, NULL, 9, w.now_ns);
	(void)engine_wrote(&w.engine, &order, &facts, "", w.now_ns);
	json_decref(slice->local);
	slice->local = NULL;
	take(&order, ENGINE_INSPECT);
	carry(&order);
	run();
	assert_non_null(slice->local);
	assert_int_equal(pending(), 0);
}

static void look_that_is_older_than_the_watch_is_not_believed(void **state)
{
	struct object *slice = slice_with_copy();
	struct engine_order order;
	struct rewrite_facts facts;
	json_t *before;

	(void)state;
	change(slice, 7, 0);
	take(&order, ENGINE_UPDATE);
	fail_order(&order, KUBE_SILENT); /* it may have been done */
	w.now_ns += 2 * BASE_NS_PER_S;
	take(&order, ENGINE_INSPECT);
	before = json_deep_copy(slice->local);
	facts = facts_at(REWRITE_OWN, slice->kind, before);
	edit(slice, 99); /* the watch is quicker than the answer */
	engine_inspected(&w.engine, &order, &facts, w.now_ns);
	assert_int_equal(item_of(slice)->copy_version,
	    strtoull(kube_json_text(json_object_get(slice->local, "metadata"), "resourceVersion"),
		NULL, 10));
	json_decref(before);
}

/* The answer of the order; takes it over. */
static void fetched(const struct engine_order *order, json_t *answer)
{
	struct rewrite_facts facts = facts_of((enum kind)order->item->kind, answer);

	hold(order->item, answer, &facts);
	engine_fetched(&w.engine, order, &facts, w.now_ns);
	json_decref(answer);
}

/* The same; what the watch has told since then is 8. */
static void fetched_late(struct object *slice, const struct engine_order *order, json_t *answer)
{
	fetched(order, answer);
	run_for(60 * BASE_NS_PER_S);
	assert_int_equal(kube_json_integer(json_object_get(slice->local, "spec"), "n", 0), 8);
	assert_int_equal(pending(), 0);
}

/* H10: also of a restored source that is followed: the watch goes on from its list and says each
 * change once. */
static void read_that_is_older_than_the_watch_is_not_written(void **state)
{
	struct object *slice = slice_with_copy();
	struct engine_order order;
	json_t *before;

	(void)state;
	engine_accept_restore(&w.engine, w.now_ns);
	list_source(3);
	change(slice, 7, 0);
	store_release(&w.engine.store, item_of(slice));
	take(&order, ENGINE_ARCHIVE); /* the restore may have lost what it was made of */
	engine_archived(&w.engine, &order, w.now_ns);
	take(&order, ENGINE_FETCH);
	before = source_json(slice);
	change(slice, 8, 0);
	fetched_late(slice, &order, before);
}

/* The watch was quicker, and said nothing else. */
static void read_that_is_as_new_as_the_watch_is_written(void **state)
{
	struct object *slice = slice_with_copy();
	struct engine_order order;

	(void)state;
	change(slice, 7, 0);
	store_release(&w.engine.store, item_of(slice));
	take(&order, ENGINE_FETCH);
	change(slice, 8, 0);
	fetched(&order, source_json(slice));
	take(&order, ENGINE_UPDATE);
}

static void read_of_the_object_before_it_was_made_anew_is_not_written(void **state)
{
	struct object *slice = slice_with_copy();
	struct engine_order order;
	json_t *before;

	(void)state;
	change(slice, 7, 0);
	store_release(&w.engine.store, item_of(slice));
	take(&order, ENGINE_FETCH);
	before = source_json(slice);
	vanish(slice);
	slice->source = true;
	slice->uid = ++w.uids;
	change(slice, 8, 0);
	fetched_late(slice, &order, before);
}

static void archive_holds_the_version_that_was_judged(void **state)
{
	struct object *slice = slice_with_copy();
	struct engine_order order;

	(void)state;
	edit(slice, 98);
	take(&order, ENGINE_ARCHIVE);
	edit(slice, 99); /* while the archive is written */
	engine_archived(&w.engine, &order, w.now_ns);
	run();
	assert_string_equal(w.trace, "archive red; fetch red; update red; "); /* I11: again */
}

static void object_that_no_life_saw_may_have_left(void **state)
{
	struct object *role = add(KIND_ROLE, "red");
	struct engine_order order;
	struct rewrite_facts facts;
	json_t *value;

	(void)state;
	first_mirror();
	role->source = false; /* it lost its label, and no list shows it any more */
	engine_close(&w.engine);
	open_engine();
	first_lists();
	take(&order, ENGINE_PROVE);
	role->labelled = false;
	value = source_json(role);
	facts = facts_of(role->kind, value);
	engine_proved(&w.engine, &order, &facts, w.now_ns);
	json_decref(value);
	run_for(60 * BASE_NS_PER_S);
	assert_non_null(role->local); /* C14 */
	assert_int_equal(w.notes[ENGINE_LEFT_SCOPE], 1);
}

/* It goes, comes back and goes again while the first look is on its way: what that saw is no more.
 */
static void proof_that_is_older_than_the_watch_proves_nothing(void **state)
{
	struct object *role = add(KIND_ROLE, "red");

	(void)state;
	for (unsigned found = 0; found < 2; found++) {
		struct engine_order order;
		struct rewrite_facts facts;
		json_t *value;

		role->source = true;
		role->uid = ++w.uids;
		role->version = ++w.version;
		sync_copies(1 + 2 * found);
		list_source(2 + 2 * found);
		run();
		assert_non_null(role->local);
		vanish(role);
		take(&order, ENGINE_PROVE);
		role->uid = ++w.uids;
		change(role, 1, 0);
		value = source_json(role);
		facts = facts_of(role->kind, value);
		vanish(role);
		engine_proved(&w.engine, &order, found ? &facts : NULL, w.now_ns);
		json_decref(value);
		assert_int_equal(item_of(role)->source, SOURCE_ABSENT);
		run();
		assert_string_equal(w.trace, "prove red; delete red; ");
	}
}

static void read_of_before_it_came_back_forgets_nothing(void **state)
{
	struct object *slice = slice_with_copy();
	struct engine_order order;

	(void)state;
	change(slice, 7, 0);
	store_release(&w.engine.store, item_of(slice));
	take(&order, ENGINE_FETCH);
	vanish(slice);
	slice->source = true;
	slice->uid = ++w.uids;
	change(slice, 8, 0);
	fail_order(&order, KUBE_NOT_FOUND);
	assert_int_equal(item_of(slice)->source, SOURCE_PRESENT);
	run();
	assert_int_equal(kube_json_integer(json_object_get(slice->local, "spec"), "n", 0), 8);
	assert_int_equal(pending(), 0);
}

static void refused_object_is_not_read_in_a_loop(void **state)
{
	struct object *slice = slice_with_copy();

	(void)state;
	w.immutable = KIND_SLICE_CONFIG;
	w.field = "spec.n";
	change(slice, 7, 0);
	run_for(600 * BASE_NS_PER_S);
	assert_in_range(w.fetches, 5, 20); /* about once a minute */
	assert_in_range(w.updates, 5, 20);
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(answer_after_the_end_makes_no_ghost),
		STORY(answer_after_a_list_that_did_not_show_it_makes_no_ghost),
		STORY(look_that_is_older_than_the_watch_is_not_believed),
		STORY(read_that_is_older_than_the_watch_is_not_written),
		STORY(read_that_is_as_new_as_the_watch_is_written),
		STORY(read_of_the_object_before_it_was_made_anew_is_not_written),
		STORY(archive_holds_the_version_that_was_judged),
		STORY(object_that_no_life_saw_may_have_left),
		STORY(proof_that_is_older_than_the_watch_proves_nothing),
		STORY(read_of_before_it_came_back_forgets_nothing),
		STORY(refused_object_is_not_read_in_a_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
