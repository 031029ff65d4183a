/*
 * The reflector (see the header): what is asked next, what an event means, when to wait. It keeps
 * one resourceVersion and no object. Callers may stop or restart it from inside their callbacks:
 * each attempt has a number, and nothing of an older one is heard.
 */
#include "kube/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "kube/answer.h"
#include "kube/json.h"
#include "kube/lines.h"
#include "kube/resume.h"
#include "kube/url.h"

#define DEFAULT_PAGE 500
/* Of one page: an answer and its values are in memory at once. */
#define PAGE_BYTES  ((size_t)8 * 1024 * 1024)
#define EVENT_BYTES ((size_t)8 * 1024 * 1024)
/* A watch ends by itself after 4 to 6 minutes; bookmarks come about once a minute, so a longer
 * silence is a dead connection or a server without them: either way a rewatch is cheap. */
#define WATCH_LEAST_S  240
#define WATCH_SPREAD_S 120
#define IDLE_MS        90000
/* Shorter streams without an event count as failed attempts. */
#define SHORT_STREAM_NS  BASE_NS_PER_S
#define STEADY_STREAM_NS (10 * BASE_NS_PER_S)

enum watch_state { WATCH_WAITING, WATCH_ASKING, WATCH_LISTING, WATCH_INITIAL, WATCH_FOLLOWING };

struct kube_watch {
	struct kube_client *client;
	struct loop *loop;
	const struct kube_watch_ops *ops;
	void *arg;
	unsigned target;
	char *path, *selectors;
	uint32_t page, deadline_ms;
	bool initial_events; /* still believed to work */
	enum watch_state state;
	uint64_t attempt, request;
	unsigned depth; /* of our callers' callbacks on the stack */
	bool stopped;   /* freed when depth is 0 again */
	struct loop_timer timer;
	char version[ANSWER_VERSION_BYTES]; /* "": a list comes next */
	char listed[ANSWER_VERSION_BYTES];  /* of the list in progress */
	char *token;                        /* of its next page */
	bool unpaged;                       /* the token expired: the whole list in one answer */
	unsigned failures;
	bool told_when; /* the last failure came with a Retry-After */
	struct kube_renewal renewal;
	int64_t started_ns;
	/* Of the connection, 0: no loss. Has the server still got `version`? (H10) */
	int64_t lost_ns;
	unsigned events; /* of this stream */
	struct lines lines;
	bool failed; /* this stream brought an error, described by: */
	struct kube_answer error;
};

static void act(struct kube_watch *watch);

/* --- Callbacks ------------------------------------------------------------------------------ */

static void free_watch(struct kube_watch *watch)
{
	lines_free(&watch->lines);
	free(watch->token);
	free(watch->path);
	free(watch->selectors);
	free(watch);
}

/* After each call into the caller's code. False: this attempt is over. */
static bool still(const struct kube_watch *watch, uint64_t attempt)
{
	return !watch->stopped && watch->attempt == attempt;
}

/* Brackets everything that may call back. */
static void enter(struct kube_watch *watch)
{
	watch->depth++;
}

static void leave(struct kube_watch *watch)
{
	if (--watch->depth == 0 && watch->stopped)
		free_watch(watch);
}

/* --- What next ------------------------------------------------------------------------------ */

static void wait_ms(struct kube_watch *watch, int64_t ms)
{
	watch->state = WATCH_WAITING;
	loop_timer_set(watch->loop, &watch->timer, base_clock_boot_ns() + ms * BASE_NS_PER_MS);
}

static void forget_list(struct kube_watch *watch)
{
	free(watch->token);
	watch->token = NULL;
	watch->listed[0] = '\0';
}

/* An attempt failed: says so, waits, and tries what is right after this answer. It never gives up
 * (L79), and a kind that is missing is asked for again and again (M7). */
static void fail(struct kube_watch *watch, const struct kube_answer *answer)
{
	enum watch_state state = watch->state;

	watch->failures++;
	watch->told_when = answer->retry_after_ms > 0;
	if (answer->class == KUBE_GONE && state == WATCH_LISTING && watch->token)
		watch->unpaged = true;
	if (answer->too_long && state == WATCH_LISTING) {
		watch->unpaged = false;
		watch->page = resume_smaller_page(watch->page);
	}
	forget_list(watch);
	if (!resume_keeps_version(answer))
		watch->version[0] = '\0';
	/* Also one that answers may go away until it is asked again. */
	if (!watch->lost_ns)
		watch->lost_ns = base_clock_boot_ns();
	if (state == WATCH_INITIAL && resume_lists_instead(answer->class)) {
		watch->initial_events = false;
		wait_ms(watch, 0);
		return;
	}
	wait_ms(watch, resume_wait_ms(watch->failures, answer->retry_after_ms));
	/* A version that has expired is no failure to report: the list that follows cures it. */
	if (answer->class != KUBE_GONE && watch->ops->on_error)
		watch->ops->on_error(watch->arg, answer);
}

static void fail_with(
    struct kube_watch *watch, enum kube_class class, enum peer_why why, const char *words)
{
	struct kube_answer answer = { 0 };

	answer_set(&answer, class, why, words);
	fail(watch, &answer);
}

/* --- Objects -------------------------------------------------------------------------------- */

/* The list is whole: everything that it did not name is absent. */
static bool synced(struct kube_watch *watch, const char *version)
{
	uint64_t attempt = watch->attempt;

	(void)str_copy(watch->version, sizeof(watch->version), str_of(version));
	watch->lost_ns = 0;
	watch->unpaged = false;
	forget_list(watch);
	if (watch->ops->on_synced)
		watch->ops->on_synced(watch->arg, watch->version);
	return still(watch, attempt);
}

/* --- List ----------------------------------------------------------------------------------- */

static bool begin(struct kube_watch *watch)
{
	uint64_t attempt = watch->attempt;

	if (watch->ops->on_begin)
		watch->ops->on_begin(watch->arg);
	return still(watch, attempt);
}

/* One page: its objects, then the next page or the end. NULL, or what is wrong with it. */
static const char *take_page(struct kube_watch *watch, const json_t *list)
{
	const json_t *items = json_object_get(list, "items"), *item;
	const char *version = answer_version(list), *kind = kube_json_text(list, "kind");
	const json_t *metadata = json_object_get(list, "metadata");
	const char *token = kube_json_text(metadata, "continue");
	uint64_t attempt = watch->attempt;
	size_t i;

	if (strlen(kind) < 4 || strcmp(kind + strlen(kind) - 4, "List") != 0 || !version ||
	    !(json_is_array(items) || json_is_null(items)))
		return "the answer is no list";
	/* Where nothing is selected the server says how many are still to come: whoever lost the
	 * token on the way must not make them absent. */
	if (!*token && kube_json_integer(metadata, "remainingItemCount", 0) > 0)
		return "the list ends before its last page";
	json_array_foreach(items, i,
	    item) if (!answer_is_named(item) ||
		      !answer_version(item)) return "the list holds something that is no object";
	if (!watch->listed[0])
		(void)str_copy(watch->listed, sizeof(watch->listed), str_of(version));
	json_array_foreach(items, i, item)
	{
		watch->ops->on_object(watch->arg, KUBE_WATCH_LISTED, item);
		if (!still(watch, attempt))
			return NULL;
	}
	free(watch->token);
	watch->token = *token ? strdup(token) : NULL;
	if (!watch->token && !synced(watch, watch->listed))
		return NULL;
	act(watch);
	return NULL;
}

/* A watch that starts at a version which the server has lost hears nothing until other changes have
 * got there. NULL, or what is wrong with the answer. */
static const char *take_reached(struct kube_watch *watch, const json_t *list)
{
	const char *reached = answer_version(list);

	if (!reached)
		return "the answer is no list";
	if (resume_was_away(watch->lost_ns, base_clock_boot_ns()) ||
	    resume_is_behind(reached, watch->version))
		watch->version[0] = '\0';
	watch->lost_ns = 0;
	act(watch);
	return NULL;
}

static void on_page(void *arg, const struct kube_answer *answer)
{
	struct kube_watch *watch = arg;
	const char *fault = "the list is no JSON";
	json_t *list;

	watch->request = 0;
	enter(watch);
	if (answer->class != KUBE_OK) {
		fail(watch, answer);
	} else {
		list = kube_json_parse(answer->body, NULL);
		if (list)
			fault = watch->state == WATCH_ASKING ? take_reached(watch, list)
							     : take_page(watch, list);
		json_decref(list);
		if (fault)
			fail_with(watch, KUBE_BLIND, PEER_WHY_UNPARSABLE, fault);
	}
	leave(watch);
}

/* --- Stream --------------------------------------------------------------------------------- */

/* Ends the stream; fail() is called with this at its end. */
static bool break_off(struct kube_watch *watch, enum kube_class class, const char *words)
{
	watch->failed = true;
	answer_set(&watch->error, class, PEER_WHY_UNPARSABLE, words);
	return false;
}

/* An ERROR event carries a Status: the same meanings as an answer with that status. */
static bool take_error(struct kube_watch *watch, const json_t *status)
{
	struct answer_head head = { .json = true };
	struct buf text = buf_make(65536);

	kube_json_put(&text, status);
	watch->failed = true;
	watch->error =
	    (struct kube_answer){ .status = (int)kube_json_integer(status, "code", 500) };
	if (watch->error.status < 400 || watch->error.status > 599)
		watch->error.status = 500;
	answer_finish(&watch->error, &head, watch->path, buf_str(&text));
	buf_free(&text);
	return false;
}

static bool take_bookmark(struct kube_watch *watch, const json_t *object, const char *version)
{
	const json_t *annotations = kube_json_at(object, "metadata", "annotations", NULL);
	bool end = strcmp(kube_json_text(annotations, "k8s.io/initial-events-end"), "true") == 0;

	if (watch->state == WATCH_FOLLOWING) {
		(void)str_copy(watch->version, sizeof(watch->version), str_of(version));
		return true;
	}
	if (!end)
		return true;
	watch->state = WATCH_FOLLOWING;
	loop_timer_cancel(watch->loop, &watch->timer);
	return synced(watch, version);
}

static bool take_change(struct kube_watch *watch, enum kube_watch_event event, const json_t *object,
    const char *version)
{
	uint64_t attempt = watch->attempt;
	bool initial = watch->state == WATCH_INITIAL;

	if (!answer_is_named(object))
		return break_off(watch, KUBE_BLIND, "an event without an object");
	if (initial && event != KUBE_WATCH_DELETED)
		event = KUBE_WATCH_LISTED;
	watch->ops->on_object(watch->arg, event, object);
	if (!still(watch, attempt))
		return false;
	/* Initial events come in no order of versions: only their end says one. */
	if (!initial)
		(void)str_copy(watch->version, sizeof(watch->version), str_of(version));
	return true;
}

static bool take_event(struct kube_watch *watch, const json_t *event)
{
	static const struct {
		const char *type;
		enum kube_watch_event event;
	} rows[] = { { "ADDED", KUBE_WATCH_ADDED }, { "MODIFIED", KUBE_WATCH_MODIFIED },
		{ "DELETED", KUBE_WATCH_DELETED } };
	const char *type = kube_json_text(event, "type"), *version;
	const json_t *object = json_object_get(event, "object");

	if (strcmp(type, "ERROR") == 0)
		return take_error(watch, object);
	version = answer_version(object);
	if (!version)
		return break_off(watch, KUBE_BLIND, "an event without a resourceVersion");
	watch->events++;
	watch->failures = 0;
	if (strcmp(type, "BOOKMARK") == 0)
		return take_bookmark(watch, object, version);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(type, rows[i].type) == 0)
			return take_change(watch, rows[i].event, object, version);
	return break_off(watch, KUBE_BLIND, "an event of an unknown type");
}

static bool on_line(void *arg, struct str line)
{
	struct kube_watch *watch = arg;
	json_t *event = kube_json_parse(line, NULL);
	bool more;

	if (!event)
		return break_off(watch, KUBE_BLIND, "an event is no JSON");
	more = take_event(watch, event);
	json_decref(event);
	return more;
}

static void expect_progress(struct kube_watch *watch)
{
	if (watch->state == WATCH_INITIAL)
		loop_timer_set(watch->loop, &watch->timer,
		    base_clock_boot_ns() + (int64_t)watch->deadline_ms * BASE_NS_PER_MS);
}

static bool on_chunk(void *arg, struct str bytes)
{
	struct kube_watch *watch = arg;
	uint64_t attempt = watch->attempt;
	bool more;

	if (bytes.n == 0) {
		/* The server answers. When it does not end that at once, the watch lives again. */
		if (watch->state == WATCH_FOLLOWING)
			loop_timer_set(
			    watch->loop, &watch->timer, base_clock_boot_ns() + SHORT_STREAM_NS);
		return true;
	}
	enter(watch);
	more = lines_feed(&watch->lines, bytes, on_line, watch);
	if (!more && still(watch, attempt) && !watch->failed)
		more = break_off(watch, KUBE_BLIND, "an event is longer than 8 MiB");
	if (more) {
		expect_progress(watch);
		if (watch->ops->on_alive)
			watch->ops->on_alive(watch->arg);
	}
	more = more && still(watch, attempt);
	leave(watch);
	return more;
}

static void on_stream_end(void *arg, const struct kube_answer *answer)
{
	struct kube_watch *watch = arg;
	int64_t lived_ns = base_clock_boot_ns() - watch->started_ns;

	watch->request = 0;
	enter(watch);
	lines_clear(&watch->lines);
	loop_timer_cancel(watch->loop, &watch->timer);
	if (lived_ns >= STEADY_STREAM_NS)
		watch->failures = 0;
	if (watch->failed) {
		struct kube_answer error = watch->error;

		fail(watch, &error);
	} else if (answer->class == KUBE_SILENT && watch->state == WATCH_FOLLOWING &&
		   lived_ns >= IDLE_MS * BASE_NS_PER_MS) {
		/* An API server that has seen no event of a kind since its start sends no
		 * bookmarks of it. If the server is away, the next attempt says so. */
		watch->lost_ns = base_clock_boot_ns();
		act(watch);
	} else if (answer->class != KUBE_OK) {
		fail(watch, answer);
	} else if (watch->state == WATCH_INITIAL ||
		   (watch->events == 0 && lived_ns < SHORT_STREAM_NS)) {
		fail_with(watch, KUBE_SERVER_ERROR, PEER_WHY_SERVER_ERROR,
		    "the server ended the watch at once");
	} else {
		act(watch);
	}
	leave(watch);
}

/* --- Attempts ------------------------------------------------------------------------------- */

/* A consistent list: the first page names no resourceVersion (never 0: M3), the token's carry it.
 */
static void start_list(struct kube_watch *watch, struct buf *query)
{
	struct kube_ask ask = { .target = watch->target,
		.verb = KUBE_GET,
		.path = watch->path,
		.deadline_ms = watch->deadline_ms };

	if (!watch->unpaged) {
		kube_url_query_number(
		    query, "limit", watch->state == WATCH_ASKING ? 1 : watch->page);
		ask.most_bytes = PAGE_BYTES;
	}
	if (watch->token)
		kube_url_query(query, "continue", watch->token);
	ask.query = query->data;
	watch->request = kube_client_ask(watch->client, &ask, on_page, watch);
}

static void start_stream(struct kube_watch *watch, struct buf *query)
{
	struct kube_ask ask = { .target = watch->target,
		.verb = KUBE_GET,
		.path = watch->path,
		.deadline_ms = watch->deadline_ms };

	kube_url_query(query, "watch", "true");
	kube_url_query(query, "allowWatchBookmarks", "true");
	kube_url_query_number(
	    query, "timeoutSeconds", WATCH_LEAST_S + base_random_u64() % WATCH_SPREAD_S);
	if (watch->state == WATCH_INITIAL) {
		kube_url_query(query, "sendInitialEvents", "true");
		kube_url_query(query, "resourceVersionMatch", "NotOlderThan");
	} else {
		kube_url_query(query, "resourceVersion", watch->version);
	}
	watch->events = 0;
	watch->failed = false;
	watch->started_ns = base_clock_boot_ns();
	ask.query = query->data;
	watch->request =
	    kube_client_stream(watch->client, &ask, IDLE_MS, on_chunk, on_stream_end, watch);
	expect_progress(watch);
}

/* The next attempt, chosen by what is known. */
static void act(struct kube_watch *watch)
{
	struct buf query = buf_make(16384);

	if (watch->selectors)
		buf_puts(&query, watch->selectors);
	if (resume_was_away(watch->lost_ns, base_clock_boot_ns()))
		watch->version[0] = '\0';
	if (watch->version[0] && watch->lost_ns) {
		watch->state = WATCH_ASKING;
		start_list(watch, &query);
	} else if (watch->version[0]) {
		watch->state = WATCH_FOLLOWING;
		start_stream(watch, &query);
	} else if (watch->token) {
		watch->state = WATCH_LISTING;
		start_list(watch, &query);
	} else if (begin(watch)) {
		watch->state = watch->initial_events ? WATCH_INITIAL : WATCH_LISTING;
		if (watch->initial_events)
			start_stream(watch, &query);
		else
			start_list(watch, &query);
	}
	buf_free(&query);
}

static void give_up_request(struct kube_watch *watch)
{
	kube_client_cancel(watch->client, watch->request);
	watch->request = 0;
	watch->attempt++;
	lines_clear(&watch->lines);
}

static void on_timer(void *arg, int64_t now_ns)
{
	struct kube_watch *watch = arg;

	(void)now_ns;
	enter(watch);
	if (watch->state == WATCH_INITIAL) {
		/* Some servers and proxies never send the end of the initial events: list
		 * instead, from now on. */
		give_up_request(watch);
		watch->initial_events = false;
		fail_with(watch, KUBE_SILENT, PEER_WHY_TIMEOUT, "the initial events have no end");
	} else if (watch->state == WATCH_WAITING) {
		act(watch);
	} else if (watch->state == WATCH_FOLLOWING && watch->ops->on_alive) {
		watch->ops->on_alive(watch->arg);
	}
	leave(watch);
}

/* What failed with the old identity is tried with the new one now. */
static void on_renewed(void *arg)
{
	struct kube_watch *watch = arg;

	watch->failures = 0;
	if (watch->state == WATCH_WAITING && !watch->told_when)
		wait_ms(watch, 0);
}

/* --- Interface ------------------------------------------------------------------------------ */

struct kube_watch *kube_watch_start(struct kube_client *client, struct loop *loop,
    const struct kube_watch_options *options, const struct kube_watch_ops *ops, void *arg)
{
	struct kube_watch *watch = calloc(1, sizeof(*watch));

	CHECK(watch && options->path && options->deadline_ms > 0 && ops->on_object);
	*watch = (struct kube_watch){ .client = client,
		.loop = loop,
		.ops = ops,
		.arg = arg,
		.target = options->target,
		.page = options->page ? options->page : DEFAULT_PAGE,
		.deadline_ms = options->deadline_ms,
		.initial_events = options->initial_events,
		.lines = lines_make(EVENT_BYTES) };
	watch->path = strdup(options->path);
	watch->selectors = options->query ? strdup(options->query) : NULL;
	CHECK(watch->path && (watch->selectors || !options->query));
	watch->timer = (struct loop_timer){ .fire = on_timer, .arg = watch };
	watch->renewal =
	    (struct kube_renewal){ .target = options->target, .renewed = on_renewed, .arg = watch };
	kube_client_on_renewal(client, &watch->renewal);
	wait_ms(watch, 0);
	return watch;
}

void kube_watch_restart(struct kube_watch *watch)
{
	give_up_request(watch);
	forget_list(watch);
	watch->version[0] = '\0';
	watch->failures = 0;
	wait_ms(watch, 0);
}

void kube_watch_stop(struct kube_watch *watch)
{
	if (!watch)
		return;
	give_up_request(watch);
	loop_timer_cancel(watch->loop, &watch->timer);
	kube_client_off_renewal(watch->client, &watch->renewal);
	watch->stopped = true;
	if (watch->depth == 0)
		free_watch(watch);
}

const char *kube_watch_version(const struct kube_watch *watch)
{
	return watch->version;
}
