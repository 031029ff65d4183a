/*
 * Goal: the texts of copies that wait to be written take bounded memory, however many objects there
 * are and however their writes end (H3), and used memory tells nothing. Method: more objects with a
 * text than fit, none of which is in memory at first; each order is carried out here, a window full
 * at a time.
 */
#include <stdlib.h>

#include "tests/unit/syncer_item.h"

enum { MANY = 300, WINDOW = 16 };
#define SIZE ((size_t)100 * 1024)

static struct item *items[MANY];

/* All of them were changed at the source. */
static void changed(void)
{
	char name[16];

	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "s%u", i);
		items[i] = add(KIND_SLICE_CONFIG, name);
		items[i]->source_body = B;
		items[i]->source_version = 11;
		(void)str_copy(items[i]->copy_uid, sizeof(items[i]->copy_uid), str_of("c"));
		engine_settle(&engine, items[i], now_ns);
	}
}

static void read_it(const struct engine_order *order, int64_t at_ns)
{
	static char text[SIZE];
	struct rewrite_facts facts = { .uid = "s", .version = 11, .body = B };

	memset(text, 'x', sizeof(text));
	assert_true(store_hold(&engine.store, order->item, (struct str){ text, sizeof(text) },
	    (struct rewrite_copy){ 0 }, true));
	engine_fetched(&engine, order, &facts, at_ns);
}

static void write_it(const struct engine_order *order, enum kube_class class, int64_t at_ns)
{
	struct engine_failure failure = { .class = class, .why = "because", .field = "" };
	struct rewrite_facts facts = { .uid = order->item->copy_uid,
		.version = order->version + 1,
		.is_copy = true,
		.body = B,
		.mark = B,
		.source_version = 11 };

	assert_non_null(order->item->held);
	if (class == KUBE_OK)
		(void)engine_wrote(&engine, order, &facts, "", at_ns);
	else
		engine_failed(&engine, order, &failure, at_ns);
}

static void carry_out(
    const struct engine_order *order, enum kube_class class, int64_t at_ns, unsigned *writes)
{
	struct rewrite_facts as_it_was = { .uid = order->item->copy_uid,
		.version = order->item->copy_version,
		.is_copy = true,
		.body = A,
		.mark = A };

	if (order->action == ENGINE_FETCH) {
		read_it(order, at_ns);
	} else if (order->action == ENGINE_INSPECT) {
		engine_inspected(&engine, order, &as_it_was, at_ns);
	} else {
		write_it(order, class, at_ns);
		++*writes;
	}
}

/* Carries out what is due, second by second; returns how much was in memory at most. */
static size_t most_held(enum kube_class class, unsigned seconds, unsigned *writes)
{
	struct engine_order orders[WINDOW];
	size_t most = 0;
	unsigned n;

	*writes = 0;
	for (unsigned s = 0; s < seconds; s++) {
		int64_t at_ns = now_ns + (int64_t)s * BASE_NS_PER_S;

		do {
			for (n = 0; n < WINDOW && engine_next(&engine, at_ns, &orders[n]); n++)
				;
			for (unsigned i = 0; i < n; i++) {
				carry_out(&orders[i], class, at_ns, writes);
				if (engine.store.held_bytes > most)
					most = engine.store.held_bytes;
			}
		} while (n > 0);
	}
	return most;
}

static void H3_a_text_is_written_before_others_are_read(void **state)
{
	unsigned writes;

	(void)state;
	changed();
	assert_true(most_held(KUBE_OK, 1, &writes) <= SIZE * 2 * WINDOW);
	assert_int_equal(writes, MANY);
	assert_int_equal(engine.store.held_bytes, 0);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(items[i]->state, ITEM_IDLE);
}

/* What fits stays: it may be all that is left of a source that dies. */
static void H3_what_cannot_be_written_fills_no_memory(void **state)
{
	unsigned writes;

	(void)state;
	changed();
	assert_true(
	    most_held(KUBE_SERVER_ERROR, 300, &writes) <= STORE_MAX_HELD + SIZE * 2 * WINDOW);
	assert_true(writes > MANY);
	assert_true(engine.store.held_bytes > STORE_MAX_HELD - SIZE);
	/* Nothing is read any more: what is there is kept. */
	engine.draining = true;
	engine_rejudge(&engine, now_ns + 300 * BASE_NS_PER_S);
	assert_true(engine.store.held_bytes > STORE_MAX_HELD - SIZE);
	engine.draining = false;
	(void)most_held(KUBE_OK, 400, &writes);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(items[i]->state, ITEM_IDLE);
}

static void H3_what_just_fits_stays(void **state)
{
	struct str text = { calloc(1, STORE_MAX_HELD), STORE_MAX_HELD };

	(void)state;
	assert_non_null(text.p);
	assert_true(store_hold(&engine.store, item, text, (struct rewrite_copy){ 0 }, false));
	free((char *)text.p);
	item->source_body = B;
	item->retry_ns = now_ns + BASE_NS_PER_S;
	engine_settle(&engine, item, now_ns);
	assert_int_equal(item->queue, QUEUE_DELAYED);
	assert_non_null(item->held);
}

static void an_item_in_used_memory_is_new(void **state)
{
	struct item *old = add(KIND_SLICE_CONFIG, "old"), *new;

	(void)state;
	store_say(old, "because");
	old->braked = true;
	store_drop(&engine.store, old);
	new = store_add(&engine.store, KIND_SLICE_CONFIG, NS, "new");
	assert_string_equal(item_name(new), "new");
	assert_int_equal(new->source, SOURCE_UNKNOWN);
	assert_int_equal(new->copy, COPY_NONE);
	assert_int_equal(new->source_version, 0);
	assert_int_equal(new->copy_uid[0], '\0');
	assert_null(new->why);
	assert_false(new->braked);
	assert_null(new->next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(H3_a_text_is_written_before_others_are_read),
		STORY(H3_what_cannot_be_written_fills_no_memory),
		STORY(H3_what_just_fits_stays),
		STORY(an_item_in_used_memory_is_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
