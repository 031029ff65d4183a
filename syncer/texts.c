/*
 * Reads a long list of the source once more, a page at a time, while its copies are being written:
 * of a list only as many texts are kept as H3 allows, and a page costs both sides less than a read
 * by name of each of the others. It proves nothing, and so delays no proof (C14): a text is kept
 * when it is of the very version that list or watch told, and is thrown away else. What it does not
 * bring is read by name. Called by writes.c after each pump, and by feeds.c when a list begins, is
 * whole or ends.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube/json.h"
#include "kube/resume.h"
#include "kube/url.h"
#include "syncer/syncer.h"

/* At most so many objects and bytes at once: an object has 1.5 MiB at most, as etcd keeps it. */
#define PAGE_BYTES ((size_t)2 * 1024 * 1024)
/* A page is worth it where it brings at least one text in so many objects. */
#define WORTH 8
/* Failures in a row; then what is left is read by name. */
#define PATIENCE 8
/* A longer one is no API server's: it holds a key of etcd. */
#define TOKEN_BYTES 4096

void texts_forget(struct feed *feed)
{
	struct texts *texts = &feed->syncer->texts;

	if (feed->unheld)
		texts->feeds--;
	feed->unheld = 0;
	if (texts->feed != feed)
		return;
	kube_client_cancel(feed->syncer->client, texts->request);
	free(texts->token);
	*texts = (struct texts){ .feeds = texts->feeds };
}

void texts_unheld(struct feed *feed)
{
	if (!feed->unheld++)
		feed->syncer->texts.feeds++;
}

void texts_listed(struct feed *feed)
{
	const struct store *store = &feed->syncer->engine.store;

	if (feed->unheld && (uint64_t)feed->unheld * WORTH < store->count_source[feed->kind])
		texts_forget(feed);
}

static void keep(struct feed *feed, const json_t *object)
{
	struct syncer *syncer = feed->syncer;
	struct rewrite_facts facts;
	struct item *item;

	if (rewrite_read(feed->kind, REWRITE_SOURCE, object, &facts, NULL) < 0)
		return;
	item = engine_lacks_text(&syncer->engine, feed->kind, &facts);
	if (item && source_hold(syncer, item, object, &facts, false) == 0)
		engine_has_text(&syncer->engine, item);
}

/* NULL: there is no other page. */
static void go_on_at(struct texts *texts, const json_t *answer)
{
	const char *token = kube_json_text(json_object_get(answer, "metadata"), "continue");

	free(texts->token);
	texts->token = *token && strlen(token) < TOKEN_BYTES ? strdup(token) : NULL;
}

static void take_page(struct feed *feed, const json_t *list)
{
	const json_t *items = json_object_get(list, "items");
	struct texts *texts = &feed->syncer->texts;

	/* Each goes to the front: the last of the page first, so that they are written in order. */
	for (size_t i = json_array_size(items); i-- > 0;)
		keep(feed, json_array_get(items, i));
	texts->failures = 0;
	texts->read += json_array_size(items);
	go_on_at(texts, list);
	/* A server that always has another page would be asked for ever. */
	if (!texts->token || !json_array_size(items) ||
	    texts->read > (uint64_t)feed->unheld * WORTH)
		texts_forget(feed);
}

static void take_failure(struct feed *feed, const struct kube_answer *answer)
{
	struct texts *texts = &feed->syncer->texts;
	json_t *status;

	texts->failures++;
	if (answer->class == KUBE_GONE) {
		/* With the token of the answer the rest comes as it is by now. */
		status = kube_json_parse(answer->body, NULL);
		go_on_at(texts, status);
		json_decref(status);
		if (!texts->token)
			texts->failures = PATIENCE;
	} else if (answer->too_long) {
		texts->page = resume_smaller_page(texts->page);
	} else {
		texts->not_before_ns =
		    answer->finished_ns +
		    resume_wait_ms(texts->failures, answer->retry_after_ms) * BASE_NS_PER_MS;
	}
	if (texts->failures >= PATIENCE)
		texts_forget(feed);
}

static void on_page(void *arg, const struct kube_answer *answer)
{
	struct feed *feed = arg;
	struct syncer *syncer = feed->syncer;
	json_t *list;

	syncer->texts.request = 0;
	if (syncer->left)
		return;
	if (answer->class != KUBE_OK) {
		take_failure(feed, answer);
	} else {
		/* Of what is no list nothing is kept, and it has no other page. */
		list = kube_json_parse(answer->body, NULL);
		take_page(feed, list);
		json_decref(list);
	}
	writes_pump(syncer);
}

/* Kinds are written in their order; the list that brings the texts is there, and is followed. */
static void choose(struct feed *feed, void *arg)
{
	struct texts *texts = arg;

	if (feed->unheld && feed->watch && *kube_watch_version(feed->watch) &&
	    (!texts->feed || feed->kind < texts->feed->kind))
		texts->feed = feed;
}

static void ask(struct syncer *syncer)
{
	struct texts *texts = &syncer->texts;
	struct buf path = buf_make(1024), query = buf_make(16384);
	struct kube_ask page = { .target = CREDENTIAL_PEER_SYNCER,
		.verb = KUBE_GET,
		.deadline_ms = SYNCER_REQUEST_MS,
		.most_bytes = PAGE_BYTES };

	feed_put_question(texts->feed, &path, &query);
	kube_url_query_number(&query, "limit", texts->page);
	if (texts->token)
		kube_url_query(&query, "continue", texts->token);
	page.path = path.data;
	page.query = query.data;
	texts->request = kube_client_ask(syncer->client, &page, on_page, texts->feed);
	buf_free(&path);
	buf_free(&query);
}

void texts_pump(struct syncer *syncer)
{
	const struct engine *engine = &syncer->engine;
	struct texts *texts = &syncer->texts;

	if (!texts->feeds || texts->request || engine->draining || !engine_is_open(engine) ||
	    engine->store.held_bytes > engine->store.held_most / 2 ||
	    texts->not_before_ns > base_clock_boot_ns())
		return;
	if (!texts->feed) {
		feeds_visit(syncer, SIDE_SOURCE, choose, texts);
		texts->page = TEXTS_PAGE;
	}
	if (texts->feed)
		ask(syncer);
}
