/*
 * Goal: each condition of the rules for one item counts by itself, and what is equal is neither
 * older nor newer (C12, C14, H7, H8, H10, H11, H13, I11, L66, L82, L85). Method: items that are set
 * by hand (syncer_item.h), and the pure functions of judge.c; whole stories are in syncer_judge.c.
 */
#include "tests/unit/syncer_item.h"

static void decides(enum item_state state, enum engine_action action)
{
	struct decision decision = judge_item(&engine, item);

	assert_int_equal(decision.action, action);
	assert_int_equal(decision.state, state);
}

static void equal_is_idle(void **state)
{
	(void)state;
	decides(ITEM_IDLE, ENGINE_NONE);
	item->source_finalizers = 5; /* while it lives they are no concern of its copy's */
	decides(ITEM_IDLE, ENGINE_NONE);
	item->source_finalizers = 0;
	item->terminating = true; /* none: it is as good as gone */
	decides(ITEM_IDLE, ENGINE_NONE);
}

/* L82, L66, C12 */
static void L82_the_namespace_decides_what_is_in_scope(void **state)
{
	static const struct {
		enum source_state source;
		enum copy_state copy;
		uint8_t proofs;
		bool rejoin, chosen, in;
	} rows[] = {
		{ SOURCE_PRESENT, COPY_NONE, 0, false, true, true },
		{ SOURCE_PRESENT, COPY_PRESENT, 0, false, true, true },
		{ SOURCE_PRESENT, COPY_FOREIGN, 0, false, true, false },
		{ SOURCE_PRESENT, COPY_FOREIGN, 0, true, true, true },
		{ SOURCE_PRESENT, COPY_FOREIGN, 0, true, false, false },
		{ SOURCE_UNKNOWN, COPY_PRESENT, 0, false, true, false },
		{ SOURCE_ABSENT, COPY_PRESENT, 1, false, true, false },
		{ SOURCE_ABSENT, COPY_PRESENT, 1, true, true, true },
		{ SOURCE_ABSENT, COPY_PRESENT, 0, true, true, false },
		{ SOURCE_ABSENT, COPY_NONE, 1, true, true, false },
		{ SOURCE_LEFT, COPY_PRESENT, 1, true, true, false },
		{ SOURCE_UNKNOWN, COPY_PRESENT, 0, true, true, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		anew();
		engine.rejoin = rows[i].rejoin;
		source_is(home, rows[i].source);
		copy_is(home, rows[i].copy);
		home->proofs = rows[i].proofs;
		home->copy_chosen = rows[i].chosen;
		source_is(item, SOURCE_UNKNOWN);
		decides(rows[i].in ? ITEM_IDLE : ITEM_OUTSIDE, ENGINE_NONE);
		source_is(item, SOURCE_PRESENT);
		assert_int_equal(judge_is_followed(&engine, item), rows[i].in);
	}
	home->space->self = NULL;
	item->space->self = NULL;
	decides(ITEM_OUTSIDE, ENGINE_NONE);
}

/* Its Namespace is going and waits for its finalizers, and whether the write that took them off
 * arrived nobody knows: else both would wait for ever. */
static void I11_an_unsure_copy_that_keeps_its_namespace_is_looked_at(void **state)
{
	(void)state;
	source_is(home, SOURCE_ABSENT);
	home->copy_terminating = item->copy_terminating = true;
	item->copy_finalizers = 7;
	source_is(item, SOURCE_ABSENT);
	decides(ITEM_PENDING, ENGINE_STRIP);
	copy_is(item, COPY_UNSURE);
	decides(ITEM_PENDING, ENGINE_INSPECT);
	item->copy_finalizers = 0; /* nothing keeps it */
	decides(ITEM_OUTSIDE, ENGINE_NONE);
}

static void H10_a_copy_that_is_left_alone_is_no_witness(void **state)
{
	(void)state;
	assert_true(judge_is_followed(&engine, item));
	item->left_out = true;
	assert_false(judge_is_followed(&engine, item));
	item->left_out = false;
	item->on_hold = true;
	assert_false(judge_is_followed(&engine, item));
	item->on_hold = false;
	item->skipped = true;
	assert_false(judge_is_followed(&engine, item));
	item->skipped = false;
	item->forbidden = true;
	assert_false(judge_is_followed(&engine, item));
	item->forbidden = false;
	item->shell = true; /* of another type here: it would be made anew */
	assert_true(judge_is_followed(&engine, item));
	item->copy_shell = true;
	assert_false(judge_is_followed(&engine, item));
	item->shell = false;
	assert_true(judge_is_followed(&engine, item));
}

static void C12_pristine_is_what_was_written_or_made_of_just_that(void **state)
{
	(void)state;
	assert_true(judge_is_pristine(item));
	item->copy_body = B;
	assert_false(judge_is_pristine(item));
	store_made(item)->wrote_body = A;
	item->made->answer_body = B;
	assert_true(judge_is_pristine(item));
	item->copy_body = C; /* what the server made of it was edited */
	assert_false(judge_is_pristine(item));
	item->copy_body = B;
	item->copy_mark = C; /* the answer to something else */
	assert_false(judge_is_pristine(item));
	item->copy_shell = true;
	assert_true(judge_is_pristine(item));
	copy_is(item, COPY_FOREIGN);
	assert_false(judge_is_pristine(item));
}

/* H10: whatever is to be written, by itself. */
static void differ(unsigned how)
{
	anew();
	if (how == 0) {
		item->source_body = B;
	} else if (how == 1) {
		item->source_status = B;
	} else {
		item->copy_finalizers = 7;
	}
}

static void H10_nothing_older_is_written(void **state)
{
	struct decision decision;

	(void)state;
	for (unsigned how = 0; how < 3; how++) {
		differ(how);
		decides(ITEM_PENDING, ENGINE_FETCH);
		item->copy_source_version = 11;
		decision = judge_item(&engine, item);
		assert_int_equal(decision.state, ITEM_BLOCKED);
		assert_int_equal(decision.action, ENGINE_NONE);
		assert_true(decision.regressed);
		item->copy_term = 1; /* numbers of another server */
		decides(ITEM_PENDING, ENGINE_FETCH);
		item->copy_term = 2;
		engine.restore = true;
		assert_false(judge_item(&engine, item).regressed);
	}
	anew();
	item->copy_source_version = 11; /* nothing is to be written */
	decides(ITEM_IDLE, ENGINE_NONE);
	item->copy_term = 3;
	assert_true(judge_item(&engine, item).regressed);
	decides(ITEM_BLOCKED, ENGINE_NONE);
}

static void H10_a_restored_sources_mark_is_written_anew(void **state)
{
	(void)state;
	engine.restore = true;
	decides(ITEM_IDLE, ENGINE_NONE);
	item->copy_source_version = 11;
	decides(ITEM_PENDING, ENGINE_FETCH);
	item->copy_source_version = 10;
	item->copy_term = 3;
	decides(ITEM_PENDING, ENGINE_FETCH);
	engine.restore = false;
	item->copy_term = 2;
	decides(ITEM_IDLE, ENGINE_NONE);
}

static void H10_what_is_of_the_past(void **state)
{
	struct rewrite_facts facts = { .uid = "s", .version = 10 };

	(void)state;
	item->copy_source_version = 0;
	assert_false(judge_is_of_the_past(&engine, item, &facts));
	facts.version = 9;
	assert_true(judge_is_of_the_past(&engine, item, &facts));
	engine.restore = true; /* what was seen since a person accepted it */
	assert_true(judge_is_of_the_past(&engine, item, &facts));
	facts.uid = "t"; /* another object: its versions are of its own */
	assert_false(judge_is_of_the_past(&engine, item, &facts));
	engine.restore = false;
	assert_false(judge_is_of_the_past(&engine, item, &facts));
	item->copy_source_version = 9;
	assert_false(judge_is_of_the_past(&engine, item, &facts));
	item->copy_source_version = 10;
	assert_true(judge_is_of_the_past(&engine, item, &facts));
	engine.restore = true;
	assert_false(judge_is_of_the_past(&engine, item, &facts));
	engine.restore = false;
	item->copy_term = 1;
	assert_false(judge_is_of_the_past(&engine, item, &facts));
	item->copy_term = 2;
	copy_is(item, COPY_FOREIGN);
	assert_false(judge_is_of_the_past(&engine, item, &facts));
}

/* I11: whatever is to be written, what is only here is archived before. */
static void I11_what_is_only_here_is_archived_first(void **state)
{
	(void)state;
	item->copy_body = B; /* an edit */
	decides(ITEM_PENDING, ENGINE_ARCHIVE);
	item->archived_version = 99; /* of what it was before */
	decides(ITEM_PENDING, ENGINE_ARCHIVE);
	item->archived_version = 100;
	decides(ITEM_PENDING, ENGINE_FETCH);
	anew();
	item->copy_status = B; /* of an own past; else it may be the source's of before */
	decides(ITEM_PENDING, ENGINE_FETCH);
	engine.rejoin = true;
	decides(ITEM_PENDING, ENGINE_ARCHIVE);
	item->copy_rest = item->source_rest = 5; /* the rest is understudy's own */
	decides(ITEM_PENDING, ENGINE_FETCH);
	item->copy_rest = 6;
	decides(ITEM_PENDING, ENGINE_ARCHIVE);
	item->copy_rest = item->source_rest = 0;
	store_made(item)->wrote_status = C; /* as the server made it, of another one */
	item->made->answer_status = B;
	decides(ITEM_PENDING, ENGINE_FETCH);
	item->made->answer_status = A;
	item->terminating = true; /* it goes along: no status is written, finalizers are */
	item->source_finalizers = 4;
	decides(ITEM_PENDING, ENGINE_ARCHIVE);
	item->archived_version = 100;
	decides(ITEM_PENDING, ENGINE_FETCH);
	item->copy_finalizers = 4;
	decides(ITEM_PENDING, ENGINE_DELETE);
}

/* H13: one write with the owner is better than one without it and one more. */
static void H13_an_owner_is_awaited(void **state)
{
	struct item *owner = item;

	(void)state;
	item = add(KIND_VPN_KEY_ROTATION, "red");
	item->owner = owner;
	item->source_body = B;
	decides(ITEM_PENDING, ENGINE_FETCH);
	engine.copies_synced = ~(1u << KIND_SLICE_CONFIG);
	decides(ITEM_PENDING, ENGINE_NONE);
	engine.copies_synced = UINT32_MAX;
	copy_is(owner, COPY_UNSURE);
	decides(ITEM_PENDING, ENGINE_NONE);
	copy_is(owner, COPY_NONE);
	store_set_state(&engine.store, owner, ITEM_PENDING);
	decides(ITEM_PENDING, ENGINE_NONE);
	source_is(owner, SOURCE_ABSENT);
	decides(ITEM_PENDING, ENGINE_FETCH);
	source_is(owner, SOURCE_PRESENT);
	store_set_state(&engine.store, owner, ITEM_BLOCKED);
	decides(ITEM_PENDING, ENGINE_FETCH);
}

/* Measured situation 4: the copy goes as its source's object does. */
static void a_copy_that_goes_is_kept_equal(void **state)
{
	(void)state;
	item->terminating = item->copy_terminating = true;
	decides(ITEM_PENDING, ENGINE_NONE); /* it goes by itself */
	item->copy_finalizers = item->source_finalizers = 4;
	decides(ITEM_IDLE, ENGINE_NONE);
	item->source_finalizers = 5;
	decides(ITEM_PENDING, ENGINE_FETCH);
	item->source_finalizers = 4;
	item->source_body = B;
	decides(ITEM_PENDING, ENGINE_FETCH);
	item->terminating = false; /* it is in the way */
	decides(ITEM_PENDING, ENGINE_STRIP);
}

/* I11, H10: also of what is going, an edit is archived before it is overwritten or let go, and
 * nothing newer is. */
static void I11_what_is_edited_while_it_goes_is_archived_first(void **state)
{
	struct decision decision;

	(void)state;
	for (unsigned along = 0; along < 2; along++) {
		anew();
		item->copy_terminating = true;
		item->terminating = along;
		item->copy_finalizers = item->source_finalizers = 4;
		item->copy_body = B;
		decides(ITEM_PENDING, ENGINE_ARCHIVE);
		item->archived_version = 100;
		decides(ITEM_PENDING, along ? ENGINE_FETCH : ENGINE_STRIP);
		item->copy_source_version = 11;
		decision = judge_item(&engine, item);
		assert_true(decision.regressed);
		assert_int_equal(decision.action, ENGINE_NONE);
	}
	anew();
	item->recreate = true; /* to be deleted, and made anew of what is older */
	decides(ITEM_PENDING, ENGINE_DELETE);
	item->copy_source_version = 11;
	assert_true(judge_item(&engine, item).regressed);
}

/* What is going keeps its Namespace, which goes here, too: whatever the source says of both. */
static void a_namespace_that_goes_here_is_not_kept_by_finalizers(void **state)
{
	(void)state;
	for (unsigned source = SOURCE_UNKNOWN; source <= SOURCE_LEFT; source++)
		for (unsigned inside = SOURCE_UNKNOWN; inside <= SOURCE_LEFT; inside++) {
			anew();
			source_is(home, (enum source_state)source);
			source_is(item, (enum source_state)inside);
			home->braked = true;
			home->copy_terminating = item->copy_terminating = true;
			item->terminating = true;
			assert_int_equal(judge_item(&engine, item).action, ENGINE_NONE);
			item->copy_finalizers = item->source_finalizers = 4;
			decides(ITEM_PENDING, ENGINE_STRIP);
			item->copy_body = B;
			decides(ITEM_PENDING, ENGINE_ARCHIVE);
		}
	item->copy_body = A;
	item->copy_term = 3; /* never over a higher one (H9), unless a person said so */
	assert_int_not_equal(judge_item(&engine, item).action, ENGINE_STRIP);
	engine.restore = true;
	item->archived_version = 100;
	decides(ITEM_PENDING, ENGINE_STRIP);
	engine.restore = false;
	item->copy_term = 2;
	copy_is(home, COPY_UNSURE); /* is it ours? */
	assert_int_not_equal(judge_item(&engine, item).action, ENGINE_STRIP);
	copy_is(home, COPY_FOREIGN);
	assert_int_not_equal(judge_item(&engine, item).action, ENGINE_STRIP);
	engine.rejoin = true; /* an own past goes as a copy does */
	decides(ITEM_PENDING, ENGINE_STRIP);
	copy_is(item, COPY_FOREIGN);
	decides(ITEM_PENDING, ENGINE_STRIP);
	engine.rejoin = false;
	assert_int_not_equal(judge_item(&engine, item).action, ENGINE_STRIP);
	copy_is(home, COPY_PRESENT);
	copy_is(item, COPY_PRESENT);
	item->copy_terminating = false;
	assert_int_not_equal(judge_item(&engine, item).action, ENGINE_STRIP);
	item->copy_terminating = true;
	home->copy_terminating = false;
	assert_int_not_equal(judge_item(&engine, item).action, ENGINE_STRIP);
}

/* L85 */
static void L85_a_token_and_another_secret_never_become_each_other(void **state)
{
	(void)state;
	item = add(KIND_SECRET, "token");
	item->shell = item->copy_shell = true;
	item->copy_body = B;
	decides(ITEM_IDLE, ENGINE_NONE);
	item->shell = false;
	decides(ITEM_BLOCKED, ENGINE_NONE);
	item->shell = true;
	item->copy_shell = false;
	decides(ITEM_PENDING, ENGINE_ARCHIVE);
	item->copy_body = A;
	decides(ITEM_PENDING, ENGINE_DELETE); /* to be made anew */
}

/* I11, C12: a Namespace takes along what is in it. */
static void I11_a_namespace_goes_when_what_is_in_it_is_known_and_kept(void **state)
{
	struct item *inside = item;

	(void)state;
	item = home;
	source_is(home, SOURCE_ABSENT);
	source_is(inside, SOURCE_ABSENT);
	home->proofs = 2;
	decides(ITEM_PENDING, ENGINE_DELETE); /* what is in it is a copy */
	engine.copies_synced = ~(1u << KIND_SLICE_CONFIG);
	decides(ITEM_PENDING, ENGINE_NONE);
	engine.copies_synced = ~(1u << KIND_PROJECT); /* these are somewhere else */
	decides(ITEM_PENDING, ENGINE_DELETE);
	engine.copies_synced = UINT32_MAX;
	inside->space->copies_synced = ~(1u << KIND_SECRET);
	decides(ITEM_PENDING, ENGINE_NONE);
	inside->space->copies_synced = UINT32_MAX;
	inside->copy_body = B;
	decides(ITEM_BLOCKED, ENGINE_NONE);
	inside->archived_version = 100;
	decides(ITEM_PENDING, ENGINE_DELETE);
	inside->archived_version = 0;
	copy_is(inside, COPY_NONE);
	decides(ITEM_PENDING, ENGINE_DELETE);
}

/* H8: noted once; what cannot be written bears no note. */
static void H8_a_held_deletion_is_noted_once(void **state)
{
	(void)state;
	for (unsigned kept = 0; kept < 2; kept++) {
		enum item_state stays = kept ? ITEM_EXCLUDED : ITEM_HELD;

		anew();
		source_is(item, SOURCE_ABSENT);
		item->proofs = 1;
		item->braked = !kept;
		item->kept = kept;
		decides(stays, ENGINE_NOTE);
		item->copy_says_held = !kept;
		item->copy_says_kept = kept;
		decides(stays, ENGINE_NONE);
		item->copy_says_held = item->copy_says_kept = false;
		item->shell = true;
		decides(stays, ENGINE_NONE);
		item->shell = false;
		item->copy_shell = true;
		decides(stays, ENGINE_NONE);
	}
}

/* C14: the second look at a Namespace comes half a minute after the first, and never before it is
 * its turn. */
static void C14_when_absence_is_looked_at(void **state)
{
	(void)state;
	item = home;
	source_is(home, SOURCE_ABSENT);
	decides(ITEM_PENDING, ENGINE_PROVE);
	assert_true(judge_item(&engine, home).not_before_ns == 0);
	home->proofs = 1;
	home->proved_ns = 1000 * BASE_NS_PER_S;
	assert_true(judge_item(&engine, home).not_before_ns == 1030 * BASE_NS_PER_S);
	home->retry_ns = 1031 * BASE_NS_PER_S;
	assert_true(judge_item(&engine, home).not_before_ns == 1031 * BASE_NS_PER_S);
	home->proofs = 2;
	decides(ITEM_PENDING, ENGINE_DELETE);
}

/* L66 */
static void L66_nothing_is_deleted_where_the_namespace_is_not_known_to_be_ours(void **state)
{
	(void)state;
	source_is(item, SOURCE_ABSENT);
	decides(ITEM_PENDING, ENGINE_PROVE);
	copy_is(home, COPY_NONE);
	decides(ITEM_PENDING, ENGINE_NONE);
	copy_is(home, COPY_UNSURE);
	decides(ITEM_PENDING, ENGINE_NONE);
}

/* I11: what a Namespace takes along that is about to go, though out of scope. */
static void going_home(void)
{
	anew();
	source_is(home, SOURCE_ABSENT);
	home->proofs = 1;
	source_is(item, SOURCE_ABSENT);
	item->copy_body = B;
}

static void I11_what_goes_with_its_namespace_is_kept(void **state)
{
	(void)state;
	going_home();
	decides(ITEM_PENDING, ENGINE_ARCHIVE);
	home->braked = true;
	decides(ITEM_OUTSIDE, ENGINE_NONE);
	home->braked = false;
	home->proofs = 0;
	decides(ITEM_OUTSIDE, ENGINE_NONE);
	home->proofs = 1;
	source_is(home, SOURCE_LEFT);
	decides(ITEM_OUTSIDE, ENGINE_NONE);
	source_is(home, SOURCE_ABSENT);
	copy_is(home, COPY_FOREIGN);
	decides(ITEM_OUTSIDE, ENGINE_NONE);
	copy_is(home, COPY_PRESENT);
	copy_is(item, COPY_FOREIGN); /* it keeps the Namespace: does it still? */
	item->retry_ns = 7;
	decides(ITEM_OUTSIDE, ENGINE_INSPECT);
	assert_true(judge_item(&engine, item).not_before_ns == 7);
	engine.rejoin = true; /* a list says so */
	assert_int_not_equal(judge_item(&engine, item).action, ENGINE_INSPECT);
	engine.rejoin = false;
	copy_is(item, COPY_UNSURE);
	decides(ITEM_PENDING, ENGINE_INSPECT);
}

static void finalizers_do_not_keep_what_goes_with_its_namespace(void **state)
{
	(void)state;
	going_home();
	item->copy_body = A;
	item->copy_terminating = true;
	decides(ITEM_OUTSIDE, ENGINE_NONE);
	item->copy_finalizers = 4;
	decides(ITEM_PENDING, ENGINE_STRIP);
	item->copy_terminating = false; /* it is about to go, and so is the right to free it */
	decides(ITEM_PENDING, ENGINE_STRIP);
	source_is(item, SOURCE_UNKNOWN);
	decides(ITEM_OUTSIDE, ENGINE_NONE);
	source_is(item, SOURCE_ABSENT);
	copy_is(item, COPY_FOREIGN);
	assert_int_not_equal(judge_item(&engine, item).action, ENGINE_STRIP);
}

static void a_namespace_waits_until_what_is_in_it_is_freed(void **state)
{
	(void)state;
	going_home();
	home->proofs = 2;
	item->copy_body = A;
	item->copy_finalizers = 4;
	item->busy = true; /* that is under way */
	engine_settle(&engine, home, now_ns);
	assert_int_equal(home->state, ITEM_PENDING);
	assert_int_equal(home->queue, QUEUE_NOT);
	item->copy_finalizers = 0;
	item->busy = false;
	engine_settle(&engine, item, now_ns);
	assert_int_equal(home->queue, QUEUE_READY);
	assert_int_equal(judge_item(&engine, home).action, ENGINE_DELETE);
}

/* H7 */
static void H7_what_may_never_be_changed(void **state)
{
	static const struct {
		const char *field;
		enum kind kind;
		bool immutable;
	} rows[] = {
		{ "roleRef", KIND_ROLE_BINDING, true },
		{ "subjects", KIND_ROLE_BINDING, false },
		{ "type", KIND_ROLE_BINDING, false },
		{ "type", KIND_SECRET, true },
		{ "data", KIND_SECRET, true },
		{ "immutable", KIND_SECRET, true },
		{ "roleRef", KIND_SECRET, false },
		{ "", KIND_SECRET, false },
		{ "type", KIND_SLICE_CONFIG, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		item = add(rows[i].kind, "red");
		assert_int_equal(judge_is_immutable(item, rows[i].field), rows[i].immutable);
	}
	item = add(KIND_SECRET, "red");
	item->shell = true;
	assert_false(judge_is_immutable(item, "type"));
	item->shell = false;
	item->copy_shell = true;
	assert_false(judge_is_immutable(item, "type"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(equal_is_idle),
		STORY(L82_the_namespace_decides_what_is_in_scope),
		STORY(I11_an_unsure_copy_that_keeps_its_namespace_is_looked_at),
		STORY(H10_a_copy_that_is_left_alone_is_no_witness),
		STORY(C12_pristine_is_what_was_written_or_made_of_just_that),
		STORY(H10_nothing_older_is_written),
		STORY(H10_a_restored_sources_mark_is_written_anew),
		STORY(H10_what_is_of_the_past),
		STORY(I11_what_is_only_here_is_archived_first),
		STORY(H13_an_owner_is_awaited),
		STORY(a_copy_that_goes_is_kept_equal),
		STORY(I11_what_is_edited_while_it_goes_is_archived_first),
		STORY(a_namespace_that_goes_here_is_not_kept_by_finalizers),
		STORY(L85_a_token_and_another_secret_never_become_each_other),
		STORY(I11_a_namespace_goes_when_what_is_in_it_is_known_and_kept),
		STORY(H8_a_held_deletion_is_noted_once),
		STORY(C14_when_absence_is_looked_at),
		STORY(L66_nothing_is_deleted_where_the_namespace_is_not_known_to_be_ours),
		STORY(I11_what_goes_with_its_namespace_is_kept),
		STORY(finalizers_do_not_keep_what_goes_with_its_namespace),
		STORY(a_namespace_waits_until_what_is_in_it_is_freed),
		STORY(H7_what_may_never_be_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
