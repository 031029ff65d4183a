/*
 * See the header. A chain of requests, each started by the answer before it: pages of the source,
 * pages of the copies, the next kind or namespace; then the candidates by name. Called by
 * operate.c.
 */
#include "syncer/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/map.h"
#include "kube/json.h"
#include "kube/url.h"
#include "syncer/differ.h"
#include "syncer/operate.h"
#include "syncer/syncer.h"

#define PAGE           "500"
#define LIST_MS        30000
#define MAX_CANDIDATES 400
/* Between a change at the source and its copy lies a moment. */
#define LOOKS         4
#define LOOK_AGAIN_NS (500 * BASE_NS_PER_MS)
#define LIST_AGAIN_NS (500 * BASE_NS_PER_MS)
#define LIST_TRIES    4

/* An object of the present list. Its name is "namespace/name". */
struct entry {
	struct hash body, status;
	bool shell, terminating, met;
	char name[];
};

struct candidate {
	enum kind kind;
	char namespace[64], name[254];
};

struct diff {
	struct syncer *syncer;
	uint64_t operation, request;
	enum kind only, kind;
	enum side side;
	struct map entries;    /* of this kind and place */
	struct map namespaces; /* both hubs have them and mirror them: where EACH kinds are */
	struct map chosen;     /* of the source: what is in scope */
	struct entry **places; /* the namespaces, in any order */
	size_t place_count, place;
	char *token; /* of the next page */
	unsigned tries;
	struct candidate *candidates;
	unsigned candidate_count, left_out, candidate;
	unsigned look, again; /* the round, and how many candidates go into the next one */
	unsigned compared, differing;
	unsigned before[3]; /* candidates, left out and compared, when this list began */
	json_t *source;     /* of the candidate */
	bool source_read;
	struct loop_timer timer;
	void (*next)(struct diff *);
};

static void begin_list(struct diff *diff);
static void list_page(struct diff *diff);
static void look_at_source(struct diff *diff);

/* --- Life --------------------------------------------------------------------------------------
 */

static struct str name_of(const void *value)
{
	return str_of(((const struct entry *)value)->name);
}

static void clear(struct map *map)
{
	void *value;

	for (size_t at = 0; (value = map_next(map, &at));)
		free(value);
	map_free(map);
	*map = map_make(name_of);
}

void diff_stop(struct syncer *syncer)
{
	struct diff *diff = syncer->diff;

	if (!diff)
		return;
	syncer->diff = NULL;
	loop_timer_cancel(syncer->loop, &diff->timer);
	kube_client_cancel(syncer->client, diff->request);
	clear(&diff->entries);
	clear(&diff->namespaces);
	clear(&diff->chosen);
	free(diff->places);
	free(diff->token);
	free(diff->candidates);
	json_decref(diff->source);
	free(diff);
}

static void end(struct diff *diff, enum sync_outcome outcome, const char *text)
{
	struct syncer *syncer = diff->syncer;

	operate_done(syncer, diff->operation, outcome, text);
	diff_stop(syncer);
}

static void on_timer(void *arg, int64_t now_ns)
{
	struct diff *diff = arg;

	(void)now_ns;
	diff->next(diff);
}

static void later(struct diff *diff, void (*next)(struct diff *), int64_t ns)
{
	diff->next = next;
	loop_timer_set(diff->syncer->loop, &diff->timer, base_clock_boot_ns() + ns);
}

/* --- Lists -------------------------------------------------------------------------------------
 */

static const char *side_name(enum side side)
{
	return side == SIDE_SOURCE ? "on the source" : "on this hub";
}

static void add_candidate(struct diff *diff, const char *namespace, const char *name)
{
	struct candidate *candidate;

	if (diff->candidate_count == MAX_CANDIDATES) {
		diff->left_out++;
		return;
	}
	candidate = &diff->candidates[diff->candidate_count++];
	candidate->kind = diff->kind;
	(void)str_copy(candidate->namespace, sizeof(candidate->namespace), str_of(namespace));
	(void)str_copy(candidate->name, sizeof(candidate->name), str_of(name));
}

static struct entry *new_entry(struct map *map, const char *namespace, const char *name)
{
	size_t n = strlen(namespace) + strlen(name) + 2;
	struct entry *entry = calloc(1, sizeof(*entry) + n);

	if (!entry)
		return NULL;
	(void)snprintf(entry->name, n, "%s/%s", namespace, name);
	if (map_get(map, str_of(entry->name)) || !map_add(map, entry)) {
		free(entry);
		return NULL;
	}
	return entry;
}

static struct entry *find(const struct map *map, const char *namespace, const char *name)
{
	char key[64 + 254 + 2];

	(void)snprintf(key, sizeof(key), "%s/%s", namespace, name);
	return map_get(map, str_of(key));
}

/* As source.c, judge.c and rules.c say it of a live object. */
static void take_source(struct diff *diff, const json_t *object, const struct rewrite_facts *facts)
{
	struct entry *entry;

	if (!facts->chosen || source_excludes(diff->syncer, diff->kind, object, facts))
		return;
	if (diff->kind == KIND_NAMESPACE)
		(void)new_entry(&diff->chosen, "", facts->name);
	else if (kind_row(diff->kind)->place == KIND_MIRRORED &&
		 !find(&diff->chosen, "", facts->namespace))
		return;
	entry = new_entry(&diff->entries, facts->namespace, facts->name);
	if (!entry)
		return;
	entry->body = facts->body;
	entry->status = facts->status;
	entry->shell = facts->shell;
	entry->terminating = facts->terminating;
	/* By a mark on it (B19), or by mirror.skip (M8). */
	entry->met = facts->left_out || facts->on_hold || facts->skipped;
}

static void take_copy(struct diff *diff, const struct rewrite_facts *facts)
{
	struct entry *entry = find(&diff->entries, facts->namespace, facts->name);
	bool status;

	if (kind_excludes(diff->kind, facts->name))
		return;
	if (diff->kind == KIND_NAMESPACE && entry)
		(void)new_entry(&diff->namespaces, "", facts->name);
	if (!entry) {
		if (!facts->says_kept)
			add_candidate(diff, facts->namespace, facts->name);
		return;
	}
	if (entry->met)
		return;
	entry->met = true;
	diff->compared++;
	status = kind_row(diff->kind)->status && !entry->terminating;
	if (entry->shell == facts->shell &&
	    (entry->shell || (hash_equal(&entry->body, &facts->body) &&
				 (!status || hash_equal(&entry->status, &facts->status)))))
		return;
	add_candidate(diff, facts->namespace, facts->name);
}

static void take_item(struct diff *diff, const json_t *object)
{
	struct rewrite_facts facts;
	struct err err;
	enum rewrite_side side = diff->side == SIDE_SOURCE ? REWRITE_SOURCE : REWRITE_OWN;

	if (rewrite_read(diff->kind, side, object, &facts, &err) < 0) {
		diff->differing++;
		operate_row(diff->syncer, diff->operation, side_name(diff->side), err.text);
	} else if (diff->side == SIDE_SOURCE) {
		take_source(diff, object, &facts);
	} else {
		take_copy(diff, &facts);
	}
}

/* What only the source has. */
static void take_unmet(struct diff *diff)
{
	struct entry *entry;
	char namespace[64];

	for (size_t at = 0; (entry = map_next(&diff->entries, &at));) {
		const char *slash = strchr(entry->name, '/');

		if (entry->met)
			continue;
		diff->compared++;
		(void)str_copy(namespace, sizeof(namespace),
		    (struct str){ entry->name, (size_t)(slash - entry->name) });
		add_candidate(diff, namespace, slash + 1);
	}
	clear(&diff->entries);
}

/* The namespaces are known after the first kind. */
static void fix_places(struct diff *diff)
{
	struct entry *entry;

	diff->places = calloc(diff->namespaces.count + 1, sizeof(struct entry *));
	CHECK(diff->places);
	for (size_t at = 0; (entry = map_next(&diff->namespaces, &at));)
		diff->places[diff->place_count++] = entry;
}

/* From one kind and place to the next that is wanted. */
static void next_list(struct diff *diff)
{
	bool each;

	if (diff->kind == KIND_NAMESPACE)
		fix_places(diff);
	each = kind_row(diff->kind)->each && diff->kind != KIND_NAMESPACE;
	if (each && diff->place + 1 < diff->place_count) {
		diff->place++;
	} else {
		diff->place = 0;
		do
			diff->kind = (enum kind)(diff->kind + 1);
		while (diff->kind < kind_end() &&
		       (!kind_row(diff->kind)->on ||
			   (diff->only != KIND_COUNT && diff->kind != diff->only) ||
			   (kind_row(diff->kind)->each && diff->place_count == 0)));
	}
	diff->tries = 0;
	diff->before[0] = diff->candidate_count;
	diff->before[1] = diff->left_out;
	diff->before[2] = diff->compared;
	if (diff->kind < kind_end())
		begin_list(diff);
	else
		look_at_source(diff);
}

/* Also after a failure, from its first page on: a token may have expired. */
static void begin_list(struct diff *diff)
{
	free(diff->token);
	diff->token = NULL;
	clear(&diff->entries);
	diff->candidate_count = diff->before[0];
	diff->left_out = diff->before[1];
	diff->compared = diff->before[2];
	diff->side = SIDE_SOURCE;
	list_page(diff);
}

static void end_of_list(struct diff *diff)
{
	if (diff->side == SIDE_SOURCE) {
		diff->side = SIDE_COPIES;
		list_page(diff);
		return;
	}
	take_unmet(diff);
	next_list(diff);
}

static void list_failed(struct diff *diff, const struct kube_answer *answer)
{
	char name[120], text[360];

	if (diff->tries++ < LIST_TRIES) {
		later(diff, begin_list, LIST_AGAIN_NS);
		return;
	}
	(void)snprintf(
	    name, sizeof(name), "%s %s", kind_row(diff->kind)->kind, side_name(diff->side));
	(void)snprintf(
	    text, sizeof(text), "%s: %.300s", kube_class_name(answer->class), answer->message);
	operate_check(diff->syncer, diff->operation, name, text, "can be listed", false);
	end(diff, SYNC_OUTCOME_REFUSED, "not compared: a kind cannot be listed");
}

static void on_page(void *arg, const struct kube_answer *answer)
{
	struct diff *diff = arg;
	json_t *list, *items, *item;
	const char *token;
	size_t i;

	diff->request = 0;
	if (diff->syncer->left)
		return;
	list = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	items = json_object_get(list, "items");
	if (!json_is_array(items)) {
		json_decref(list);
		list_failed(diff, answer);
		return;
	}
	json_array_foreach(items, i, item)
	{
		take_item(diff, item);
	}
	token = kube_json_text(json_object_get(list, "metadata"), "continue");
	free(diff->token);
	diff->token = *token ? strdup(token) : NULL;
	json_decref(list);
	if (diff->token)
		list_page(diff);
	else
		end_of_list(diff);
}

static void list_page(struct diff *diff)
{
	const struct kind_row *row = kind_row(diff->kind);
	struct buf path = buf_make(1024), query = buf_make(8192);
	struct kube_ask ask = { .verb = KUBE_GET, .deadline_ms = LIST_MS };
	const char *where = NULL;

	if (row->place == KIND_CONTROLLER)
		where = diff->syncer->engine.controller_namespace;
	else if (row->each)
		where = diff->places[diff->place]->name + 1; /* behind the slash */
	kube_url_path(&path, row->group, row->version, row->plural, where, NULL, NULL);
	kube_url_query(&query, "limit", PAGE);
	if (diff->side == SIDE_COPIES)
		kube_url_query(&query, "labelSelector", REWRITE_LABEL "=" REWRITE_ORIGIN);
	else
		kind_put_selector(diff->kind, &query);
	if (diff->token)
		kube_url_query(&query, "continue", diff->token);
	ask.target = diff->side == SIDE_SOURCE ? CREDENTIAL_PEER_SYNCER : CREDENTIAL_SYNCER;
	ask.path = path.data;
	ask.query = query.data;
	diff->request = kube_client_ask(diff->syncer->client, &ask, on_page, diff);
	buf_free(&path);
	buf_free(&query);
}

/* --- Candidates --------------------------------------------------------------------------------
 */

/* What the mirror itself says of the object, for whoever wonders. */
static void add_word_of_mirror(
    struct diff *diff, const struct candidate *candidate, struct buf *text)
{
	static const char *const words[] = { [ITEM_PENDING] = "to be written",
		[ITEM_BLOCKED] = "blocked",
		[ITEM_HELD] = "its deletion is held",
		[ITEM_EXCLUDED] = "left out" };
	const struct item *item = store_find(
	    &diff->syncer->engine.store, candidate->kind, candidate->namespace, candidate->name);
	const char *word =
	    item && item->state < sizeof(words) / sizeof(words[0]) ? words[item->state] : NULL;

	if (item && item->pruned && !word)
		word = "this hub's server drops fields";
	if (!word)
		return;
	buf_printf(text, " (%s", word);
	if (item->why)
		buf_printf(text, ": %.300s", item->why);
	buf_puts(text, ")");
}

static void report(struct diff *diff, struct buf *text)
{
	const struct candidate *candidate = &diff->candidates[diff->candidate];
	char object[400];

	add_word_of_mirror(diff, candidate, text);
	(void)snprintf(object, sizeof(object), "%s %s%s%s", kind_row(candidate->kind)->kind,
	    candidate->namespace, *candidate->namespace ? "/" : "", candidate->name);
	diff->differing++;
	operate_row(diff->syncer, diff->operation, object, text->data ? text->data : "");
}

static void next_candidate(struct diff *diff)
{
	diff->candidate++;
	look_at_source(diff);
}

/* True when they are equal by now. */
static bool compare(struct diff *diff, const json_t *copy, struct buf *text)
{
	enum kind kind = diff->candidates[diff->candidate].kind;
	struct rewrite_facts source = { 0 }, here = { 0 };
	bool has_source = diff->source &&
			  rewrite_read(kind, REWRITE_SOURCE, diff->source, &source, NULL) == 0 &&
			  (source.chosen || !kind_row(kind)->labelled);
	bool has_copy = copy && rewrite_read(kind, REWRITE_OWN, copy, &here, NULL) == 0;
	json_t *a, *b;
	unsigned count;

	if (has_source && (source.left_out || source.on_hold || source.skipped))
		return true;
	if (!has_source && (!has_copy || !here.is_copy || here.says_kept))
		return true;
	if (!has_source || !has_copy) {
		buf_puts(text, has_source ? "only on the source" : "only on this hub");
		return false;
	}
	if (!here.is_copy) {
		buf_puts(text, "an object of that name is here that is no copy");
		return false;
	}
	if (source.shell && here.shell)
		return true;
	a = rewrite_compared(kind, REWRITE_SOURCE, diff->source);
	b = rewrite_compared(kind, REWRITE_OWN, copy);
	if (source.terminating) {
		json_object_del(a, "status");
		json_object_del(b, "status");
	}
	count = differ_describe(a, b, text);
	json_decref(a);
	json_decref(b);
	return count == 0;
}

static void on_copy(void *arg, const struct kube_answer *answer)
{
	struct diff *diff = arg;
	struct buf text = buf_make(1000);
	json_t *copy = NULL;
	bool known;

	diff->request = 0;
	if (diff->syncer->left)
		return;
	if (answer->class == KUBE_OK)
		copy = kube_json_parse(answer->body, NULL);
	known = diff->source_read && (copy || answer->class == KUBE_NOT_FOUND);
	if (known && compare(diff, copy, &text)) {
		/* the mirror was only on its way */
	} else if (diff->look + 1 < LOOKS) {
		diff->candidates[diff->again++] = diff->candidates[diff->candidate];
	} else {
		if (!known) {
			buf_clear(&text);
			buf_printf(&text, "cannot be read: %s %.200s",
			    kube_class_name(answer->class), answer->message);
		}
		report(diff, &text);
	}
	json_decref(copy);
	buf_free(&text);
	next_candidate(diff);
}

static void ask_for(struct diff *diff, enum side side, kube_done_fn *done)
{
	const struct candidate *candidate = &diff->candidates[diff->candidate];
	const struct kind_row *row = kind_row(candidate->kind);
	struct buf path = buf_make(2048);
	struct kube_ask ask = { .verb = KUBE_GET, .deadline_ms = SYNCER_REQUEST_MS };

	kube_url_path(&path, row->group, row->version, row->plural,
	    row->place == KIND_NOWHERE ? NULL : candidate->namespace, candidate->name, NULL);
	ask.target = side == SIDE_SOURCE ? CREDENTIAL_PEER_SYNCER : CREDENTIAL_SYNCER;
	ask.path = path.data;
	diff->request = kube_client_ask(diff->syncer->client, &ask, done, diff);
	buf_free(&path);
}

static void on_source(void *arg, const struct kube_answer *answer)
{
	struct diff *diff = arg;

	diff->request = 0;
	if (diff->syncer->left)
		return;
	json_decref(diff->source);
	diff->source = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	diff->source_read = diff->source || answer->class == KUBE_NOT_FOUND;
	ask_for(diff, SIDE_COPIES, on_copy);
}

static void finish(struct diff *diff)
{
	char text[200];

	if (diff->differing + diff->left_out == 0)
		(void)snprintf(
		    text, sizeof(text), "%u objects compared: all are equal", diff->compared);
	else if (diff->left_out)
		(void)snprintf(text, sizeof(text),
		    "%u objects compared: %u differ, and up to %u more that were not looked at",
		    diff->compared, diff->differing, diff->left_out);
	else
		(void)snprintf(text, sizeof(text), "%u objects compared: %u differ", diff->compared,
		    diff->differing);
	end(diff, SYNC_OUTCOME_DONE, text);
}

/* In rounds, so that one pause serves all that differ. */
static void look_at_source(struct diff *diff)
{
	if (diff->candidate < diff->candidate_count) {
		ask_for(diff, SIDE_SOURCE, on_source);
	} else if (diff->again) {
		diff->candidate_count = diff->again;
		diff->candidate = diff->again = 0;
		diff->look++;
		later(diff, look_at_source, LOOK_AGAIN_NS);
	} else {
		finish(diff);
	}
}

void diff_begin(struct syncer *syncer, uint64_t operation, enum kind only)
{
	struct diff *diff = calloc(1, sizeof(*diff));

	diff_stop(syncer);
	CHECK(diff);
	*diff = (struct diff){ .syncer = syncer,
		.operation = operation,
		.only = only,
		.kind = KIND_NAMESPACE,
		.entries = map_make(name_of),
		.namespaces = map_make(name_of),
		.chosen = map_make(name_of),
		.candidates = calloc(MAX_CANDIDATES, sizeof(struct candidate)) };
	CHECK(diff->candidates);
	diff->timer = (struct loop_timer){ .fire = on_timer, .arg = diff };
	syncer->diff = diff;
	begin_list(diff);
}
