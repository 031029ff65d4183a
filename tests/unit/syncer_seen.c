/*
 * Goal: what feeds report is believed as far as it proves anything (C14, H8, H10, L82, L91, L98),
 * and all of it converges whatever is lost on the way. Method: the world of syncer_world.h.
 */
#include "tests/unit/syncer_world.h"

static void namespace_that_is_not_mirrored_stays_out(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");

	(void)state;
	sync_copies(1);
	show(slice, false, 2);
	run();
	assert_string_equal(w.trace, ""); /* L82 */
	assert_int_equal(pending(), 0);
	show(&w.object[0], true, 2); /* L98 */
	run();
	assert_string_equal(w.trace, "create " NS "; fetch red; create red; ");
}

static void label_removed_is_not_a_deletion(void **state)
{
	(void)state;
	add(KIND_SLICE_CONFIG, "red");
	first_mirror();
	/* The watch by label says DELETED, the object lives (C14). */
	w.object[0].labelled = false;
	engine_source_gone(&w.engine, KIND_NAMESPACE, "", NS, ++w.version, w.now_ns);
	run_for(120 * BASE_NS_PER_S);
	assert_int_equal(w.deletes, 0);
	assert_int_equal(w.notes[ENGINE_LEFT_SCOPE], 1);
	change(&w.object[1], 5, 0); /* frozen with its namespace */
	run();
	assert_string_equal(w.trace, "");
	w.object[0].labelled = true;
	change(&w.object[0], 1, 0);
	run();
	assert_int_equal(w.updates, 1);
}

static void namespace_goes_after_two_looks(void **state)
{
	(void)state;
	first_mirror();
	vanish(&w.object[0]);
	run_for(29 * BASE_NS_PER_S);
	assert_int_equal(w.proves, 1);
	assert_int_equal(w.deletes, 0);
	run_for(2 * BASE_NS_PER_S);
	assert_int_equal(w.proves, 2);
	assert_int_equal(w.deletes, 1); /* C14 */
	assert_null(w.object[0].local);
}

static void emptied_source_deletes_nothing(void **state)
{
	uint64_t hash;
	char name[16];

	(void)state;
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		add(KIND_SLICE_CONFIG, name);
	}
	first_mirror();
	for (unsigned i = 1; i < w.count; i++)
		w.object[i].source = false;
	list_source(3);
	run_for(600 * BASE_NS_PER_S);
	assert_int_equal(w.deletes, 0); /* H8, G6 */
	assert_int_equal(w.engine.store.count[ITEM_HELD], 20);
	hash = engine_held_hash(&w.engine);
	assert_false(engine_release_held(&w.engine, hash + 1, w.now_ns));
	w.object[1].source = true; /* it was only late */
	show(&w.object[1], true, 0);
	assert_false(engine_release_held(&w.engine, hash, w.now_ns)); /* another list by now */
	assert_true(engine_release_held(&w.engine, engine_held_hash(&w.engine), w.now_ns));
	run();
	assert_int_equal(w.deletes, 19);
}

/* 20 copies whose sources are merely missing. */
static void lose_twenty(void)
{
	char name[16];

	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		add(KIND_SLICE_CONFIG, name);
	}
	first_mirror();
	for (unsigned i = 1; i < w.count; i++)
		w.object[i].source = false;
	list_source(3);
	run_for(60 * BASE_NS_PER_S);
	assert_int_equal(w.engine.store.count[ITEM_HELD], 20);
}

static bool says(const struct object *object, const char *mark)
{
	return json_object_get(
		   json_object_get(json_object_get(object->local, "metadata"), "annotations"),
		   mark) != NULL;
}

static void H8_a_discarded_deletion_is_not_asked_for_again(void **state)
{
	uint64_t hash;

	(void)state;
	lose_twenty();
	hash = engine_held_hash(&w.engine);
	assert_false(engine_discard_held(&w.engine, hash + 1, w.now_ns));
	assert_true(engine_discard_held(&w.engine, hash, w.now_ns));
	assert_false(engine_release_held(&w.engine, hash, w.now_ns)); /* it is over */
	run_for(60 * BASE_NS_PER_S);
	assert_int_equal(w.deletes, 0);
	assert_int_equal(w.engine.store.count[ITEM_HELD], 0);
	assert_int_equal(w.engine.store.count[ITEM_EXCLUDED], 20);
	for (unsigned i = 1; i < w.count; i++) {
		assert_true(says(&w.object[i], "ha.kubeslice.io/delete-discarded"));
		assert_false(says(&w.object[i], "ha.kubeslice.io/delete-held"));
	}
	restart(); /* each copy says it itself */
	run_for(60 * BASE_NS_PER_S);
	assert_int_equal(w.engine.store.count[ITEM_HELD], 0);
	assert_int_equal(w.engine.store.count[ITEM_EXCLUDED], 20);
	w.object[1].source = true;
	change(&w.object[1], 7, 0);
	run();
	assert_int_equal(w.engine.store.count[ITEM_EXCLUDED], 19);
	assert_false(says(&w.object[1], "ha.kubeslice.io/delete-discarded"));
	assert_int_equal(w.deletes, 0);
}

static void H8_a_list_is_of_these_objects_and_no_others_of_their_names(void **state)
{
	uint64_t hash;

	(void)state;
	lose_twenty();
	hash = engine_held_hash(&w.engine);
	json_object_set_new(
	    json_object_get(w.object[1].local, "metadata"), "uid", json_string("x"));
	stamp(w.object[1].local);
	show_copy(&w.object[1], 3);
	assert_int_equal(w.engine.store.count[ITEM_HELD], 20);
	assert_false(engine_release_held(&w.engine, hash, w.now_ns));
}

/* H10: the copies' own marks tell a restored source after a restart; what it lost is archived. */
static void H10_a_restored_source_is_followed_on_a_persons_word(void **state)
{
	struct object *edited = add(KIND_SLICE_CONFIG, "edited"), *lost, *same;
	uint64_t before;

	(void)state;
	same = add(KIND_SLICE_CONFIG, "same");
	before = edited->version;
	lost = add(KIND_SLICE_CONFIG, "lost");
	first_mirror();
	change(edited, 5, 0);
	change(same, 1, 0); /* another version of the same content */
	run();
	/* The restore: older content under an older version, one object less. */
	edited->spec = 1;
	edited->version = before;
	lost->source = false;
	same->status = 4; /* its copy has none to lose */
	w.trace[0] = '\0';
	restart();
	assert_true(w.engine.regressed);
	assert_false(engine_is_open(&w.engine));
	run_for(60 * BASE_NS_PER_S);
	assert_string_equal(w.trace, "");
	engine_accept_restore(&w.engine, w.now_ns);
	list_source(4);
	assert_false(w.engine.regressed);
	run_for(60 * BASE_NS_PER_S);
	assert_int_equal(w.archives, 2);
	assert_null(lost->local);
	assert_int_equal(pending(), 0);
	engine_restored(&w.engine);
	restart(); /* and nothing of it is left over */
	assert_false(w.engine.regressed);
	run();
	assert_string_equal(w.trace, "");
}

/* The same when the restore raised the versions (etcd's --bump-revision): the term tells. */
static void H10_a_source_of_an_earlier_term_went_back(void **state)
{
	struct object *edited = add(KIND_SLICE_CONFIG, "edited");
	struct object *same = add(KIND_SLICE_CONFIG, "same");
	struct object *lost = add(KIND_SLICE_CONFIG, "lost");

	(void)state;
	w.engine.term = 4;
	first_mirror();
	lost->source = false; /* one: no brake would hold it */
	edited->spec = 5;
	edited->version = ++w.version;
	same->version = ++w.version;
	w.trace[0] = '\0';
	restart(); /* its Lease says term 2 */
	run_for(60 * BASE_NS_PER_S);
	assert_true(w.engine.regressed);
	assert_int_equal(w.updates + w.deletes, 0);
	assert_non_null(lost->local);
	engine_accept_restore(&w.engine, w.now_ns);
	list_source(4);
	run_for(60 * BASE_NS_PER_S);
	assert_false(w.engine.regressed);
	assert_null(lost->local);
	assert_true(w.archives >= 2); /* what it had, and what was changed */
	assert_int_equal(pending(), 0);
	engine_restored(&w.engine);
	w.trace[0] = '\0';
	restart(); /* and nothing of it is left over */
	run_for(60 * BASE_NS_PER_S);
	assert_false(w.engine.regressed);
	assert_string_equal(w.trace, "");
}

/* A copy that stays as it is bears the mark of a version that a restored source may never reach:
 * what a person accepted is not asked again at each start. */
static void H10_a_copy_that_stays_as_it_is_does_not_freeze(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");
	uint64_t before = slice->version;

	(void)state;
	first_mirror();
	change(slice, 5, 0);
	run();
	w.object[0].labelled = false; /* its Namespace leaves, then the source is restored */
	engine_source_gone(&w.engine, KIND_NAMESPACE, "", NS, ++w.version, w.now_ns);
	run();
	assert_int_equal(w.notes[ENGINE_LEFT_SCOPE], 1);
	slice->version = before;
	w.object[0].source = false; /* no list by label shows it */
	engine_close(&w.engine);
	open_engine();
	first_lists();
	assert_false(w.engine.regressed);
	w.object[0].source = true;
	w.object[0].labelled = true; /* it is back: its copy follows again, and tells */
	w.object[0].version = ++w.version;
	restart();
	assert_true(w.engine.regressed);
}

static void H10_a_list_older_than_its_copies_is_no_list(void **state)
{
	(void)state;
	add(KIND_SLICE_CONFIG, "red");
	first_mirror();
	engine_source_at(&w.engine, KIND_SLICE_CONFIG, NULL, w.object[1].version, 3);
	assert_false(w.engine.regressed);
	/* Of a stranger it says nothing until that has proved to be the source (G6). */
	w.engine.verified = false;
	engine_source_at(&w.engine, KIND_SLICE_CONFIG, NULL, w.object[1].version - 1, 3);
	assert_false(w.engine.regressed);
	engine_source_verified(&w.engine);
	assert_true(w.engine.regressed);
}

/* What is read by name while a list is under way may be newer than the list. */
static void H10_a_fetch_during_a_list_is_no_way_back(void **state)
{
	struct object *red = add(KIND_SLICE_CONFIG, "red");
	struct object then;

	(void)state;
	first_mirror();
	then = *red;
	w.engine.pass = 3; /* list 3 begins */
	red->spec = 9;
	red->version = ++w.version;
	store_release(&w.engine.store, item_of(red));
	show(red, true, 2);
	store_release(&w.engine.store, item_of(red));
	run(); /* fetches, then writes */
	red->spec = then.spec;
	red->version = then.version;
	show(red, false, 3); /* the list shows what was at its beginning */
	assert_false(w.engine.regressed);
}

/* Between a list's end and the proof of who sent it its watch goes on: what that brings is newer
 * than the list, and may be written meanwhile. */
static void H10_a_change_after_a_list_is_no_way_back(void **state)
{
	struct object *red = add(KIND_SLICE_CONFIG, "red");
	uint64_t listed;

	(void)state;
	first_mirror();
	show(red, false, 3);
	listed = w.version;
	red->spec = 9;
	red->version = ++w.version;
	show(red, true, 3);
	run();
	assert_int_equal(w.updates, 1);
	engine_source_at(&w.engine, KIND_SLICE_CONFIG, NULL, listed, 3);
	assert_false(w.engine.regressed);
	/* The next list has to show it. */
	engine_source_at(&w.engine, KIND_SLICE_CONFIG, NULL, listed, 4);
	assert_true(w.engine.regressed);
}

static void few_absences_and_many_observed_deletions_pass(void **state)
{
	char name[16];

	(void)state;
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		add(KIND_SLICE_CONFIG, name);
	}
	first_mirror();
	w.object[3].source = w.object[4].source = false; /* L91 */
	list_source(3);
	run();
	assert_int_equal(w.deletes, 2);
	for (unsigned i = 1; i < w.count; i++)
		if (w.object[i].source)
			vanish(&w.object[i]);
	run();
	assert_int_equal(w.deletes, 20);
}

/* A list that is short of an object, as a cache in front of a server makes it: a look by name finds
 * the object, so its copy stays (C14, B19). */
static void absence_that_a_list_only_claims_is_none(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");

	(void)state;
	first_mirror();
	slice->source = false;
	list_source(3);
	slice->source = true;
	run_for(120 * BASE_NS_PER_S);
	assert_int_equal(w.proves, 1);
	assert_int_equal(w.deletes, 0);
	assert_int_equal(
	    w.notes[ENGINE_LEFT_SCOPE], 0); /* what bears no label cannot leave by it */
	change(slice, 5, 0);
	run();
	assert_int_equal(w.updates, 1);
	vanish(slice); /* a watch's word needs no second look */
	run();
	assert_int_equal(w.proves, 1);
	assert_int_equal(w.deletes, 1);
}

/* The same after a restart, when only the copies are known: neither what a list forgot nor what has
 * lost its label is gone. */
static void absence_after_a_restart_is_looked_at_too(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red"), *role = add(KIND_ROLE, "reader"),
		      *gone = add(KIND_SLICE_CONFIG, "gone");

	(void)state;
	first_mirror();
	engine_close(&w.engine);
	open_engine();
	sync_copies(3);
	slice->source = role->source = gone->source = false;
	list_source(4);
	slice->source = role->source = true;
	role->labelled = false;
	run_for(120 * BASE_NS_PER_S);
	assert_int_equal(w.proves, 3);
	assert_int_equal(w.deletes, 1);
	assert_null(gone->local);
	assert_int_equal(w.notes[ENGINE_LEFT_SCOPE], 1);
}

static void source_that_went_back_freezes_the_mirror(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");

	(void)state;
	first_mirror();
	change(slice, 5, 0);
	run();
	slice->version -= 3;
	slice->spec = 1;
	list_source(3);
	run();
	assert_string_equal(w.trace, ""); /* H10 */
	assert_int_equal(w.notes[ENGINE_REGRESSED], 1);
	assert_int_equal(kube_json_integer(json_object_get(slice->local, "spec"), "n", 0), 5);
}

static void stale_event_changes_nothing(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");

	(void)state;
	first_mirror();
	change(slice, 5, 0);
	run();
	slice->version -= 1;
	slice->spec = 1;
	show(slice, true, 0);
	engine_source_gone(&w.engine, slice->kind, NS, "red", slice->version, w.now_ns);
	run();
	assert_string_equal(w.trace, "");
}

static bool is_equal(const struct object *object)
{
	json_t *value;
	bool equal;

	if (!object->source || !object->local)
		return object->source == (object->local != NULL);
	value = source_json(object);
	equal = json_equal(json_object_get(value, "spec"), json_object_get(object->local, "spec"));
	if (object->status)
		equal = equal && json_equal(json_object_get(value, "status"),
				     json_object_get(object->local, "status"));
	else
		equal = equal && !json_object_get(object->local, "status");
	json_decref(value);
	return equal;
}

static void random_step(struct object *object)
{
	bool has_status = kind_row(object->kind)->status && chance(50);

	if (object->source && chance(30)) {
		vanish(object);
		return;
	}
	if (!object->source)
		object->uid = ++w.uids;
	object->source = true;
	change(object, 1 + (int)(w.random >> 8) % 5, has_status ? 1 + (int)(w.random >> 9) % 3 : 0);
}

/* Lost requests, lost replies, lost watch events of the copies, restarts: in the end all is equal
 * and nothing is extra. */
static void converges_whatever_is_lost(void **state)
{
	char name[16];

	(void)state;
	for (int i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		add(i < 8 ? KIND_SLICE_CONFIG : KIND_ROLE, name);
	}
	first_lists();
	for (uint32_t step = 0; step < 4000; step++) {
		struct object *object = &w.object[1 + (w.random >> 8) % (w.count - 1)];

		w.fault_percent = 25;
		random_step(object);
		if (chance(70))
			run();
		if (chance(50))
			show_copy(object, 1);
		if (chance(1))
			restart();
		w.now_ns += BASE_NS_PER_S;
		if (step % 200)
			continue;
		w.fault_percent = 0;
		list_source(1000 + step);
		run_for(300 * BASE_NS_PER_S);
		if (w.engine.store.count[ITEM_HELD]) {
			assert_true(
			    engine_release_held(&w.engine, engine_held_hash(&w.engine), w.now_ns));
			run_for(300 * BASE_NS_PER_S);
		}
		assert_int_equal(pending(), 0);
		for (unsigned i = 1; i < w.count; i++)
			assert_true(is_equal(&w.object[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(namespace_that_is_not_mirrored_stays_out),
		STORY(label_removed_is_not_a_deletion),
		STORY(absence_that_a_list_only_claims_is_none),
		STORY(absence_after_a_restart_is_looked_at_too),
		STORY(namespace_goes_after_two_looks),
		STORY(emptied_source_deletes_nothing),
		STORY(few_absences_and_many_observed_deletions_pass),
		STORY(source_that_went_back_freezes_the_mirror),
		STORY(stale_event_changes_nothing),
		STORY(H8_a_discarded_deletion_is_not_asked_for_again),
		STORY(H8_a_list_is_of_these_objects_and_no_others_of_their_names),
		STORY(H10_a_restored_source_is_followed_on_a_persons_word),
		STORY(H10_a_source_of_an_earlier_term_went_back),
		STORY(H10_a_copy_that_stays_as_it_is_does_not_freeze),
		STORY(H10_a_list_older_than_its_copies_is_no_list),
		STORY(H10_a_fetch_during_a_list_is_no_way_back),
		STORY(H10_a_change_after_a_list_is_no_way_back),
		STORY(converges_whatever_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
