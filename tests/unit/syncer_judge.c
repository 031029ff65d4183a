/*
 * Goal: what may be replaced, archived, made anew or deleted, and in which order (C12, I11, H7, H8,
 * H11, measured situations 4, 5, 9). Method: the world of syncer_world.h.
 */
#include "tests/unit/syncer_world.h"

static void begin_rejoin(void)
{
	engine_rejoin(&w.engine, true, w.now_ns);
	first_lists();
}

/* The namespace and the object stand here as an own past left them. */
static struct object *add_past(enum kind kind, const char *name, int spec)
{
	struct object *object = add(kind, name);

	if (!w.object[0].local)
		w.object[0].local = source_json(&w.object[0]);
	object->local = source_json(object);
	json_object_set_new(object->local, "spec", json_pack("{si}", "n", spec));
	return object;
}

static bool is_copy(const struct object *object)
{
	return facts_at(REWRITE_OWN, object->kind, object->local).is_copy;
}

static void equal_is_adopted_different_is_archived_first(void **state)
{
	struct object *equal = add_past(KIND_SLICE_CONFIG, "equal", 1);
	struct object *other = add_past(KIND_SLICE_CONFIG, "other", 7);

	(void)state;
	begin_rejoin();
	run();
	assert_string_equal(w.trace, "update " NS "; archive other; update equal; update other; ");
	assert_true(is_copy(equal));
	assert_int_equal(kube_json_integer(json_object_get(other->local, "spec"), "n", 0), 1);
	assert_int_equal(w.archives, 1); /* I11 */
	assert_int_equal(pending(), 0);
	assert_true(engine_is_pristine(&w.engine));
}

/* An own past has a Secret of another type under a token's name: neither becomes the other (L85).
 * It is looked at again after a pause; without one, that fills the window for good. */
static void C12_what_cannot_be_adopted_is_looked_at_with_pauses(void **state)
{
	struct object *token = add_past(KIND_SECRET, "token", 1);
	struct engine_order order;
	unsigned looks = 0;

	(void)state;
	token->token = true; /* at the source */
	begin_rejoin();
	while (looks < 5 && engine_next(&w.engine, w.now_ns, &order)) {
		looks += order.action == ENGINE_INSPECT;
		carry(&order);
	}
	assert_int_equal(looks, 1);
	assert_true(engine_wake_ns(&w.engine) <= w.now_ns + 60 * BASE_NS_PER_S);
	assert_int_equal(item_of(token)->state, ITEM_BLOCKED);
}

/* After a planned switchover that is all that differs: nothing was lost, nothing is archived. */
static void C12_what_understudy_says_in_a_cluster_is_no_loss(void **state)
{
	struct object *ours = add_past(KIND_CLUSTER, "ours", 1);
	struct object *other = add_past(KIND_CLUSTER, "other", 1);

	(void)state;
	ours->status = other->status = 5;
	json_object_set_new(ours->local, "status",
	    json_pack("{s:i, s:{s:s}, s:[{s:s}, {s:s}]}", "s", 5, "activeController",
		"activeIdentity", "hub-b", "conditions", "type", "ControllerConnected", "type",
		"ControllerEndpointSynced"));
	json_object_set_new(other->local, "status",
	    json_pack("{s:i, s:[{s:s}]}", "s", 5, "conditions", "type", "Healthy"));
	begin_rejoin();
	run();
	assert_non_null(strstr(w.trace, "archive other; "));
	assert_null(strstr(w.trace, "archive ours; "));
	assert_true(is_copy(ours));
	assert_null(kube_json_at(ours->local, "status", "activeController", NULL));
	assert_int_equal(w.archives, 1); /* before its body, and not again before its status */
	assert_int_equal(pending(), 0);
}

/* The source has a status by now; that the copy has none is nothing to lose. */
static void a_copy_without_a_status_is_not_archived_for_it(void **state)
{
	struct object *slice = add_past(KIND_SLICE_CONFIG, "red", 1);

	(void)state;
	slice->status = 4;
	begin_rejoin();
	run();
	assert_string_equal(w.trace, "update " NS "; update red; status red; ");
	assert_int_equal(w.archives, 0);
	assert_int_equal(pending(), 0);
}

/* What is on its way out goes, and what comes after it is made anew: nobody here does any more what
 * its finalizers wait for, and the rejoin would wait for ever (C12). */
static void what_is_going_is_let_go(void **state)
{
	struct object *slice = add_past(KIND_SLICE_CONFIG, "red", 1);
	json_t *metadata = json_object_get(slice->local, "metadata");

	(void)state;
	json_object_set_new(metadata, "deletionTimestamp", json_string("now"));
	begin_rejoin();
	run();
	assert_string_equal(w.trace, "update " NS "; "); /* it goes by itself */
	json_object_set_new(metadata, "finalizers", json_pack("[s]", "f"));
	json_object_set_new(json_object_get(slice->local, "spec"), "n", json_integer(5));
	stamp(slice->local);
	show_copy(slice, 1);
	run();
	assert_string_equal(w.trace, "archive red; strip red; create red; ");
	assert_true(is_copy(slice));
	assert_null(
	    json_object_get(json_object_get(slice->local, "metadata"), "deletionTimestamp"));
	assert_int_equal(pending(), 0);
}

static void what_goes_with_its_source_is_archived_first(void **state)
{
	struct object *slice = add_past(KIND_SLICE_CONFIG, "red", 1);

	(void)state;
	json_object_set_new(
	    slice->local, "status", json_pack("{si}", "s", 5)); /* of this hub alone */
	slice->terminating = true;
	begin_rejoin();
	run();
	assert_non_null(strstr(w.trace, "archive red; update red; delete red; ")); /* I11 */
	assert_int_equal(pending(), 0);
}

static void copies_that_were_edited_are_archived_too(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red"),
		      *same = add(KIND_SLICE_CONFIG, "same");

	(void)state;
	first_mirror();
	/* This hub led: users edited a copy (C12 S2). Then the other one led again. */
	json_object_set_new(json_object_get(slice->local, "spec"), "n", json_integer(99));
	stamp(slice->local);
	same->version = ++w.version;
	begin_rejoin();
	run();
	assert_string_equal(w.trace, "archive red; update red; ");
}

static void extras_go_in_reverse_order(void **state)
{
	struct object *slice = add_past(KIND_SLICE_CONFIG, "red", 1);
	struct object *rotation = add_past(KIND_VPN_KEY_ROTATION, "red", 1);

	(void)state;
	slice->source = rotation->source = false;
	json_object_set_new(json_object_get(slice->local, "metadata"), "finalizers",
	    json_pack("[s]", "held-by-nobody")); /* C12 S3 */
	begin_rejoin();
	run();
	assert_string_equal(w.trace,
	    "update " NS "; prove red; archive red; strip red; prove red; archive red; strip red; "
	    "delete red; delete red; ");
	assert_null(slice->local);
	assert_null(rotation->local);
	assert_int_equal(pending(), 0);
}

static void namespace_of_the_past_waits_for_a_person(void **state)
{
	struct object *slice = add_past(KIND_SLICE_CONFIG, "red", 1);

	(void)state;
	w.object[0].source = slice->source = false;
	begin_rejoin();
	run();
	assert_string_equal(w.trace, "prove " NS "; archive " NS "; strip " NS "; note " NS
				     "; archive red; strip red; delete red; ");
	assert_null(slice->local);
	assert_non_null(w.object[0].local); /* H8: any Namespace */
	assert_int_equal(w.engine.store.count[ITEM_HELD], 1);
	assert_int_equal(pending(), 0);
	assert_true(engine_release_held(&w.engine, engine_held_hash(&w.engine), w.now_ns));
	run_for(31 * BASE_NS_PER_S);
	assert_null(w.object[0].local);
}

static void namespace_stays_while_something_foreign_is_in_it(void **state)
{
	struct object *role = add_past(KIND_ROLE, "mine", 1);
	struct rewrite_facts facts;

	(void)state;
	w.object[0].source = role->source = false;
	begin_rejoin();
	run();
	json_decref(role->local);
	role->local = source_json(role);
	stamp(role->local);
	facts = facts_at(REWRITE_OWN, role->kind, role->local);
	facts.chosen = false; /* nobody may adopt it */
	engine_copy_seen(&w.engine, role->kind, &facts, false, 1, w.now_ns);
	assert_true(engine_release_held(&w.engine, engine_held_hash(&w.engine), w.now_ns));
	run_for(90 * BASE_NS_PER_S);
	assert_non_null(w.object[0].local); /* I11 */
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 1);
}

static void rejoin_goes_on_after_a_crash_at_any_step(void **state)
{
	(void)state;
	for (unsigned steps = 0; steps < 20; steps++) {
		struct engine_order order;
		struct object *extra, *changed;

		teardown(NULL);
		setup(NULL);
		extra = add_past(KIND_SLICE_CONFIG, "extra", 1);
		changed = add_past(KIND_SLICE_CONFIG, "changed", 9);
		extra->source = false;
		begin_rejoin();
		for (unsigned i = 0; i < steps && engine_next(&w.engine, w.now_ns, &order); i++)
			carry(&order);
		engine_close(&w.engine);
		open_engine();
		begin_rejoin();
		run_for(60 * BASE_NS_PER_S);
		assert_null(extra->local);
		assert_true(is_copy(changed));
		assert_int_equal(
		    kube_json_integer(json_object_get(changed->local, "spec"), "n", 0), 1);
		assert_true(w.archives >= 2); /* I11 */
		assert_int_equal(pending(), 0);
	}
}

static void token_of_this_hub_is_kept(void **state)
{
	struct object *account = add_past(KIND_SERVICE_ACCOUNT, "acc", 1);
	struct object *secret = add_past(KIND_SECRET, "acc", 1);

	(void)state;
	(void)account;
	secret->token = true;
	json_decref(secret->local);
	secret->local = source_json(secret);
	json_object_set_new(secret->local, "data", json_pack("{ss}", "token", "local"));
	begin_rejoin();
	run();
	assert_true(is_copy(secret));
	assert_string_equal(
	    kube_json_text(json_object_get(secret->local, "data"), "token"), "local"); /* L85 */
	assert_int_equal(pending(), 0);
}

static void immutable_field_is_made_anew(void **state)
{
	struct object *binding = add(KIND_ROLE_BINDING, "b"), *slice = add(KIND_SLICE_CONFIG, "s");

	(void)state;
	first_mirror();
	w.immutable = KIND_ROLE_BINDING;
	w.field = "roleRef";
	change(binding, 2, 0);
	run();
	assert_string_equal(w.trace, "update b; delete b; create b; "); /* H7, G10 */
	assert_int_equal(w.agains, 0);
	w.field = "subjects";
	change(binding, 3, 0);
	run();
	assert_string_equal(w.trace, "update b; ");
	w.immutable = KIND_SLICE_CONFIG;
	w.field = "spec";
	change(slice, 3, 0);
	run();
	assert_string_equal(w.trace, "update s; "); /* no other kind, no other field */
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 2);
}

static void deletion_that_waits_is_mirrored_as_one(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");
	const json_t *metadata;

	(void)state;
	first_mirror();
	slice->terminating = true;
	change(slice, 1, 0);
	run();
	assert_string_equal(w.trace, "update red; delete red; ");
	metadata = json_object_get(slice->local, "metadata");
	assert_non_null(json_object_get(metadata, "deletionTimestamp")); /* situation 4 */
	assert_int_equal(pending(), 0);
	vanish(slice);
	run();
	assert_string_equal(w.trace, "strip red; ");
	assert_null(slice->local);
	assert_int_equal(pending(), 0);
}

static void same_name_made_anew_while_the_copy_still_goes(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");

	(void)state;
	first_mirror();
	slice->terminating = true;
	change(slice, 1, 0);
	run();
	vanish(slice);
	*slice = (struct object){ .kind = slice->kind,
		.name = "red",
		.source = true,
		.labelled = true,
		.uid = ++w.uids,
		.spec = 5,
		.local = slice->local };
	change(slice, 5, 0);
	run();
	assert_string_equal(w.trace, "strip red; create red; ");
	assert_null(
	    json_object_get(json_object_get(slice->local, "metadata"), "deletionTimestamp"));
}

static void marks_keep_an_object_out_or_its_copy_as_it_is(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");
	struct rewrite_facts facts;
	json_t *value;

	(void)state;
	first_mirror();
	slice->version = ++w.version;
	slice->spec = 2;
	value = source_json(slice);
	json_object_set_new(json_object_get(value, "metadata"), "annotations",
	    json_pack("{ss}", REWRITE_PREFIX "hold", ""));
	facts = facts_of(slice->kind, value);
	assert_null(engine_source_seen(&w.engine, slice->kind, &facts, true, 0, w.now_ns));
	json_decref(value);
	run();
	assert_string_equal(w.trace, "");
	assert_int_equal(w.engine.store.count[ITEM_EXCLUDED], 1);
	assert_int_equal(pending(), 0);
	change(slice, 2, 0);
	run();
	assert_string_equal(w.trace, "update red; ");
	assert_int_equal(w.engine.store.count[ITEM_EXCLUDED], 0);
}

static void pruning_is_noted_so_that_a_restart_writes_nothing(void **state)
{
	(void)state;
	add(KIND_SLICE_CONFIG, "red");
	w.prunes = true;
	first_mirror();
	assert_string_equal(w.trace, "create " NS "; create red; note red; ");
	restart();
	run();
	assert_string_equal(w.trace, ""); /* H11 */
	assert_true(engine_is_pristine(&w.engine));
}

/* H11: a status that stands as it was written is no part of what the server pruned. */
static void a_status_that_was_taken_is_not_noted(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");
	struct rewrite_pruned pruned;

	(void)state;
	slice->status = 4;
	first_mirror();
	pruned = judge_pruned(item_of(slice));
	assert_false(hash_is_zero(&pruned.body));
	assert_true(hash_is_zero(&pruned.from) && hash_is_zero(&pruned.status));
}

/* A hundred thousand of them must not cost what only a few need. */
static void of_what_is_taken_as_it_is_sent_nothing_is_kept(void **state)
{
	struct object *plain = add(KIND_SLICE_CONFIG, "plain"), *grows;

	(void)state;
	grows = add(KIND_SLICE_CONFIG, "grows");
	first_mirror();
	assert_null(item_of(plain)->made);
	assert_null(item_of(grows)->made);
	grows->status = 7;
	grows->version = ++w.version;
	show(grows, true, 2);
	run();
	assert_null(item_of(plain)->made);
	assert_true(
	    hash_equal(&item_made(item_of(grows))->answer_status, &item_of(grows)->copy_status));
	assert_true(
	    hash_equal(&item_made(item_of(grows))->answer_body, &item_of(grows)->copy_body));
	assert_true(engine_is_pristine(&w.engine));
}

/* Between the decision to note and the note itself, the source and people go on (H11). */
static void what_was_never_written_is_not_noted(void **state)
{
	struct object *slice = add(KIND_SLICE_CONFIG, "red");
	struct rewrite_pruned pruned;
	struct rewrite_facts facts;
	struct hash made;

	(void)state;
	w.prunes = true;
	first_mirror();
	made = item_made(item_of(slice))->answer_body;
	slice->status = 7;
	slice->version = ++w.version;
	show(slice, true, 2);
	json_object_set_new(json_object_get(slice->local, "spec"), "m", json_integer(99));
	stamp(slice->local);
	facts = facts_at(REWRITE_OWN, slice->kind, slice->local);
	(void)engine_copy_seen(&w.engine, slice->kind, &facts, false, 1, w.now_ns);
	pruned = judge_pruned(item_of(slice));
	assert_true(hash_equal(&pruned.body, &made));
	assert_true(hash_is_zero(&pruned.from));
	run();
	assert_int_equal(w.statuses, 1);
	assert_null(json_object_get(json_object_get(slice->local, "spec"), "m"));
	assert_int_equal(pending(), 0);
}

static void held_deletion_is_noted_on_the_copy(void **state)
{
	char name[16];

	(void)state;
	for (int i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		add(KIND_SLICE_CONFIG, name);
	}
	first_mirror();
	for (unsigned i = 1; i < w.count; i++)
		w.object[i].source = false;
	list_source(3);
	run();
	assert_int_equal(w.engine.store.count[ITEM_HELD], 4);
	for (unsigned i = 1; i < w.count; i++) {
		assert_true(facts_at(REWRITE_OWN, KIND_SLICE_CONFIG, w.object[i].local).says_held);
		w.object[i].source = true;
		w.object[i].version = ++w.version;
	}
	list_source(4); /* it comes back */
	run();
	assert_int_equal(w.updates, 4);
	assert_false(facts_at(REWRITE_OWN, KIND_SLICE_CONFIG, w.object[1].local).says_held);
	assert_int_equal(w.deletes, 0);
}

/* One that is being deleted follows the restored source, too: its mark is made anew. */
static void H10_a_copy_that_goes_is_marked_anew(void **state)
{
	struct object *red = add(KIND_SLICE_CONFIG, "red");

	(void)state;
	first_mirror();
	red->terminating = true;
	change(red, 1, 0);
	run();
	json_object_set_new(json_object_get(red->local, "metadata"), "deletionTimestamp",
	    json_string("2026-01-01T00:00:00Z"));
	json_object_set_new(
	    json_object_get(red->local, "metadata"), "finalizers", json_pack("[s]", "f"));
	stamp(red->local);
	show_copy(red, 2);
	run();
	red->version = 1;
	engine_source_regressed(&w.engine);
	engine_accept_restore(&w.engine, w.now_ns);
	w.trace[0] = '\0';
	list_source(3);
	run();
	assert_non_null(strstr(w.trace, "update red; "));
	assert_int_equal(item_of(red)->copy_source_version, 1);
}

/* No list shows again what left the mirror, so its mark is made anew as well. */
static void H10_a_copy_that_left_is_marked_anew(void **state)
{
	struct object *role = add(KIND_ROLE, "red");

	(void)state;
	first_mirror();
	role->labelled = role->source = false; /* no list shows it */
	list_source(3);
	role->source = true; /* but a look by name */
	run_for(60 * BASE_NS_PER_S);
	assert_int_equal(item_of(role)->source, SOURCE_LEFT);
	assert_true(item_of(role)->copy_source_version > 0);
	engine_source_regressed(&w.engine);
	engine_accept_restore(&w.engine, w.now_ns);
	w.trace[0] = '\0';
	role->source = false;
	list_source(4);
	role->source = true;
	run_for(60 * BASE_NS_PER_S);
	assert_non_null(role->local);
	assert_int_equal(item_of(role)->source, SOURCE_LEFT);
	assert_int_equal(item_of(role)->copy_source_version, 0);
	engine_restored(&w.engine);
	engine_source_at(&w.engine, KIND_ROLE, NULL, 1, 5);
	assert_false(w.engine.regressed);
	w.trace[0] = '\0';
	run_for(60 * BASE_NS_PER_S);
	assert_string_equal(w.trace, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(equal_is_adopted_different_is_archived_first),
		STORY(C12_what_cannot_be_adopted_is_looked_at_with_pauses),
		STORY(C12_what_understudy_says_in_a_cluster_is_no_loss),
		STORY(a_copy_without_a_status_is_not_archived_for_it),
		STORY(what_is_going_is_let_go),
		STORY(a_status_that_was_taken_is_not_noted),
		STORY(what_goes_with_its_source_is_archived_first),
		STORY(copies_that_were_edited_are_archived_too),
		STORY(extras_go_in_reverse_order),
		STORY(namespace_of_the_past_waits_for_a_person),
		STORY(namespace_stays_while_something_foreign_is_in_it),
		STORY(rejoin_goes_on_after_a_crash_at_any_step),
		STORY(token_of_this_hub_is_kept),
		STORY(immutable_field_is_made_anew),
		STORY(deletion_that_waits_is_mirrored_as_one),
		STORY(same_name_made_anew_while_the_copy_still_goes),
		STORY(marks_keep_an_object_out_or_its_copy_as_it_is),
		STORY(pruning_is_noted_so_that_a_restart_writes_nothing),
		STORY(of_what_is_taken_as_it_is_sent_nothing_is_kept),
		STORY(what_was_never_written_is_not_noted),
		STORY(held_deletion_is_noted_on_the_copy),
		STORY(H10_a_copy_that_goes_is_marked_anew),
		STORY(H10_a_copy_that_left_is_marked_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
