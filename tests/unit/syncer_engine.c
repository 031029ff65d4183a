/*
 * Goal: what the engine orders, in which order, and how it takes refusals (H3, H6, H9, H11, H13,
 * L65, L66, L85, L96, G11, G20). Method: the world of syncer_world.h.
 */
#include "tests/unit/syncer_world.h"

static void kinds_are_written_in_order(void **state)
{
	struct object *secret, *account, *slice, *rotation;

	(void)state;
	secret = add(KIND_SECRET, "acc");
	secret->token = true;
	rotation = add(KIND_VPN_KEY_ROTATION, "red");
	rotation->owned = true;
	slice = add(KIND_SLICE_CONFIG, "red");
	slice->status = 4;
	account = add(KIND_SERVICE_ACCOUNT, "acc");
	first_mirror();
	/* H6: the account before its token; H13: the owner before its dependent. */
	assert_string_equal(
	    w.trace, "create " NS "; create acc; create red; status red; create red; create acc; ");
	assert_int_equal(pending(), 0);
	assert_string_equal(
	    kube_json_text(
		json_array_get(json_object_get(
				   json_object_get(rotation->local, "metadata"), "ownerReferences"),
		    0),
		"uid"),
	    kube_json_text(json_object_get(slice->local, "metadata"), "uid"));
	assert_int_equal(kube_json_integer(json_object_get(slice->local, "status"), "s", 0), 4);
	assert_non_null(account->local);
	/* L85: this hub fills the shell; the source's changes never reach it. */
	json_object_set_new(secret->local, "data", json_pack("{ss}", "token", "local"));
	stamp(secret->local);
	show_copy(secret, 1);
	change(secret, 2, 0);
	run();
	assert_string_equal(w.trace, "");
}

static void restart_with_everything_equal_writes_nothing(void **state)
{
	(void)state;
	add(KIND_SLICE_CONFIG, "red")->status = 1;
	add(KIND_VPN_KEY_ROTATION, "red")->owned = true;
	add(KIND_SERVICE_ACCOUNT, "acc");
	add(KIND_SECRET, "acc")->token = true;
	first_mirror();
	w.object[1].version = ++w.version; /* H11: resourceVersion alone is no change */
	restart();
	run();
	assert_string_equal(w.trace, "");
	assert_int_equal(pending(), 0);
	assert_true(engine_is_pristine(&w.engine));
}

static void update_status_and_deletion_follow(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");

	(void)state;
	slice->status = 1;
	first_mirror();
	change(slice, 7, 1);
	run();
	assert_string_equal(w.trace, "update red; ");
	change(slice, 7, 9);
	run();
	assert_string_equal(w.trace, "status red; ");
	change(slice, 7, 0); /* G11: no status clears it */
	run();
	assert_string_equal(w.trace, "status red; ");
	assert_null(json_object_get(slice->local, "status"));
	vanish(slice);
	run();
	assert_string_equal(w.trace, "delete red; ");
	assert_null(slice->local);
	run();
	assert_null(item_of(slice)); /* nothing is kept of it */
}

static void local_edit_and_local_deletion_are_repaired(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");

	(void)state;
	first_mirror();
	json_object_set_new(json_object_get(slice->local, "spec"), "n", json_integer(99));
	stamp(slice->local);
	show_copy(slice, 1);
	assert_false(engine_is_pristine(&w.engine));
	run();
	assert_string_equal(w.trace, "archive red; fetch red; update red; "); /* I11 */
	assert_int_equal(w.agains, 0);
	json_decref(slice->local);
	slice->local = NULL;
	engine_copy_gone(&w.engine, slice->kind, NS, "red", ++w.version, w.now_ns);
	run();
	assert_string_equal(w.trace, "fetch red; create red; "); /* L96; no text is kept */
	assert_int_equal(w.agains, 1);                           /* 3.11: resurrected */
}

static void foreign_object_is_never_touched(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");

	(void)state;
	slice->local = source_json(slice);
	first_mirror();
	assert_string_equal(w.trace, "create " NS "; create red; inspect red; ");
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 1); /* L66: listed */
	assert_int_equal(w.notes[ENGINE_TROUBLE], 1);
	change(slice, 3, 0);
	vanish(slice);
	run_for(300 * BASE_NS_PER_S);
	assert_int_equal(w.updates + w.deletes, 0);
	assert_non_null(slice->local);
	assert_null(item_of(slice)); /* nor remembered */
}

static void owner_made_anew_takes_its_dependents_along(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");
	struct object *rotation = add(KIND_VPN_KEY_ROTATION, "red");

	(void)state;
	rotation->owned = true;
	first_mirror();
	json_decref(slice->local);
	slice->local = NULL;
	engine_copy_gone(&w.engine, slice->kind, NS, "red", ++w.version, w.now_ns);
	run();
	assert_string_equal(w.trace, "fetch red; create red; fetch red; update red; "); /* H13 */
	assert_int_equal(pending(), 0);
}

/* H13: its first write failed; the dependent, written now, would have to be written once more. */
static void dependent_waits_for_an_owner_that_is_tried_again(void **state)
{
	struct engine_order order;

	(void)state;
	add(KIND_SLICE_CONFIG, "red");
	add(KIND_VPN_KEY_ROTATION, "red")->owned = true;
	first_lists();
	assert_true(engine_next(&w.engine, w.now_ns, &order));
	carry(&order); /* the namespace */
	assert_true(engine_next(&w.engine, w.now_ns, &order));
	assert_int_equal(order.item->kind, KIND_SLICE_CONFIG);
	fail_order(&order, KUBE_THROTTLED);
	run();
	assert_string_equal(w.trace, "");
	run_for(60 * BASE_NS_PER_S);
	assert_int_equal(w.creates, 3);
	assert_int_equal(w.updates, 0);
	assert_int_equal(pending(), 0);
}

static void grant_and_term_are_respected(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");
	struct engine_order order;

	(void)state;
	first_lists();
	w.engine.granted = false;
	assert_false(engine_next(&w.engine, w.now_ns, &order)); /* H9 */
	w.engine.granted = true;
	run();
	change(slice, 2, 0);
	w.engine.term = 1; /* the copy is of term 2 */
	engine_rejudge(&w.engine, w.now_ns);
	run();
	assert_string_equal(w.trace, "");
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 2);
	assert_true(w.engine.regressed); /* H10: terms do not fall */
	w.engine.term = 3;
	engine_accept_restore(&w.engine, w.now_ns);
	list_source(3);
	run();
	assert_int_equal(w.updates, 1);
	assert_false(w.engine.regressed);
}

static void pruned_field_is_told_once_and_not_written_again(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");

	(void)state;
	w.prunes = true;
	first_mirror();
	show_copy(slice, 1);
	run_for(600 * BASE_NS_PER_S);
	assert_int_equal(w.creates, 2);
	assert_int_equal(w.updates, 0);              /* H11 */
	assert_int_equal(w.notes[ENGINE_PRUNED], 1); /* G20 */
	change(slice, 2, 0);
	run();
	assert_int_equal(w.updates, 1);
	assert_int_equal(w.notes[ENGINE_PRUNED], 1);
}

static void refusal_is_listed_and_tried_when_something_changes(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red"),
		      *other = add(KIND_SLICE_CONFIG, "blue");
	struct engine_order order;

	(void)state;
	first_lists();
	while (engine_next(&w.engine, w.now_ns, &order))
		if (object_of(order.item) == slice)
			fail_order(&order, KUBE_INVALID);
		else
			carry(&order);
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 1);
	assert_int_equal(pending(), 0);
	assert_non_null(other->local); /* one object's trouble is its own */
	assert_false(engine_next(&w.engine, w.now_ns + 10 * BASE_NS_PER_S, &order));
	change(slice, 2, 0);
	run();
	assert_string_equal(w.trace, "create red; ");
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 0);
}

/* H7: an API server that was just started refuses all writes until it has found its policies'
 * parameter. However long that takes, the mirror goes on within seconds afterwards. */
static void policies_that_are_not_ready_are_waited_for_and_not_more(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");
	struct engine_order order;
	int64_t end_ns;

	(void)state;
	first_lists();
	end_ns = w.now_ns + 40 * BASE_NS_PER_S;
	while (w.now_ns < end_ns) {
		while (engine_next(&w.engine, w.now_ns, &order)) {
			struct engine_failure failure = { .class = KUBE_FORBIDDEN,
				.why =
				    "ValidatingAdmissionPolicy 'understudy-role' denied request: "
				    "failed to configure policy: failed to find resource "
				    "referenced by paramKind",
				.field = "" };

			engine_failed(&w.engine, &order, &failure, w.now_ns);
		}
		w.now_ns += BASE_NS_PER_S / 10;
	}
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 0); /* nothing is wrong with it */
	assert_int_equal(w.notes[ENGINE_TROUBLE], 1);
	run_for(3 * BASE_NS_PER_S);
	assert_non_null(slice->local);
	assert_int_equal(pending(), 0);
}

/* What an old token or CA kept from being written is written as soon as there is another one; what
 * the server itself refused or put off waits its time. */
static void a_new_identity_ends_the_wait_of_what_it_kept_back(void **state)
{
	static const enum kube_class classes[] = { KUBE_UNAUTHORIZED, KUBE_BLIND, KUBE_THROTTLED };
	struct object *slice;
	struct engine_order order;
	int64_t end_ns;

	(void)state;
	slice = add(KIND_SLICE_CONFIG, "red");
	first_lists();
	for (unsigned i = 0; i < 3; i++) {
		end_ns = w.now_ns + 300 * BASE_NS_PER_S;
		for (; w.now_ns < end_ns; w.now_ns += BASE_NS_PER_S / 10)
			while (engine_next(&w.engine, w.now_ns, &order))
				fail_order(&order, classes[i]);
		while (engine_next(&w.engine, w.now_ns, &order))
			fail_order(&order, classes[i]);
		assert_false(engine_next(&w.engine, w.now_ns + BASE_NS_PER_S / 100, &order));
		engine_renewed(&w.engine, w.now_ns);
		if (classes[i] == KUBE_THROTTLED) {
			assert_false(engine_next(&w.engine, w.now_ns, &order));
			continue;
		}
		assert_true(engine_next(&w.engine, w.now_ns, &order));
		fail_order(&order, classes[i]);
		while (engine_next(&w.engine, w.now_ns, &order))
			fail_order(&order, classes[i]);
		/* And from there as if nothing had failed before. */
		w.now_ns += BASE_NS_PER_S;
		assert_true(engine_next(&w.engine, w.now_ns, &order));
		fail_order(&order, classes[i]);
	}
	run_for(80 * BASE_NS_PER_S);
	assert_non_null(slice->local);
	assert_int_equal(pending(), 0);
}

/* Whatever a server's no was, once it says yes the next try goes through (H7, M8). */
static void what_was_refused_for_long_is_written_when_it_may(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");
	struct engine_order order;
	unsigned asked = 0;
	int64_t end_ns;

	(void)state;
	first_lists();
	end_ns = w.now_ns + 40 * BASE_NS_PER_S;
	for (; w.now_ns < end_ns; w.now_ns += BASE_NS_PER_S / 10)
		while (engine_next(&w.engine, w.now_ns, &order) && asked++ < 1000)
			if (order.action == ENGINE_FETCH)
				carry(&order);
			else
				fail_order(&order, KUBE_FORBIDDEN);
	assert_in_range(asked, 8, 24); /* never a hot loop (H7) */
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 1);
	run_for(80 * BASE_NS_PER_S);
	assert_non_null(slice->local);
	assert_int_equal(pending(), 0);
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 0);
}

static void window_is_kept_and_live_changes_go_first(void **state)
{
	struct engine_order orders[16], order;
	struct object *late;
	char name[16];

	(void)state;
	for (int i = 0; i < 30; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		add(KIND_SLICE_CONFIG, name);
	}
	late = add(KIND_WORKER_SERVICE_IMPORT, "late");
	sync_copies(1);
	show(&w.object[0], false, 2);
	run();
	list_source(2);
	change(late, 2, 0);
	for (unsigned i = 0; i < 16; i++)
		assert_true(engine_next(&w.engine, w.now_ns, &orders[i]));
	assert_false(engine_next(&w.engine, w.now_ns, &order));
	assert_ptr_equal(object_of(orders[0].item), late);
	for (unsigned i = 0; i < 16; i++)
		carry(&orders[i]);
	run();
	assert_int_equal(pending(), 0);
}

static void drain_writes_what_is_here_and_reads_nothing(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red"),
		      *lost = add(KIND_SLICE_CONFIG, "lost");
	struct object *role = add(KIND_ROLE, "role");

	(void)state;
	first_mirror();
	change(slice, 2, 0);
	change(lost, 2, 0);
	store_release(&w.engine.store, item_of(lost));
	vanish(role);
	w.engine.draining = true;
	engine_rejudge(&w.engine, w.now_ns);
	run();
	assert_string_equal(w.trace, "update red; "); /* H3 */
	assert_int_equal(pending(), 2);
}

/* H7: a refused object is looked at again once a minute, by one fetch and one write, and a person
 * who says so does not wait for that (L97). */
static void refused_object_is_tried_once_a_minute(void **state)
{
	struct object *binding = add(KIND_ROLE_BINDING, "red");

	(void)state;
	first_mirror();
	w.immutable = KIND_ROLE_BINDING;
	w.field = "subjects";
	change(binding, 2, 0);
	run();
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 1);
	w.fetches = w.updates = 0;
	run_for(4LL * 60 * BASE_NS_PER_S);
	assert_in_range(w.fetches, 3, 5);
	assert_int_equal(w.updates, w.fetches);
	assert_null(item_of(binding)->held);
	w.immutable = KIND_NAMESPACE;
	engine_retry(&w.engine, w.now_ns);
	run();
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 0);
	assert_int_equal(pending(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(kinds_are_written_in_order),
		STORY(restart_with_everything_equal_writes_nothing),
		STORY(update_status_and_deletion_follow),
		STORY(local_edit_and_local_deletion_are_repaired),
		STORY(foreign_object_is_never_touched),
		STORY(owner_made_anew_takes_its_dependents_along),
		STORY(dependent_waits_for_an_owner_that_is_tried_again),
		STORY(grant_and_term_are_respected),
		STORY(pruned_field_is_told_once_and_not_written_again),
		STORY(refusal_is_listed_and_tried_when_something_changes),
		STORY(a_new_identity_ends_the_wait_of_what_it_kept_back),
		STORY(what_was_refused_for_long_is_written_when_it_may),
		STORY(policies_that_are_not_ready_are_waited_for_and_not_more),
		STORY(window_is_kept_and_live_changes_go_first),
		STORY(drain_writes_what_is_here_and_reads_nothing),
		STORY(refused_object_is_tried_once_a_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
