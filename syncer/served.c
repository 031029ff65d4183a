/*
 * What a person lists in mirror.kinds may be called otherwise by a server, have no namespaces, or
 * no status of its own. That would show late, at each object, or never; so each server is asked
 * once before the kind is watched there (discovery, which every identity may read). A kind that the
 * server does not know is left to the watch, which parks it (M7). Called by feeds.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "kube/json.h"
#include "kube/url.h"
#include "syncer/syncer.h"

#define AGAIN_NS (2 * BASE_NS_PER_S)

static const json_t *find(const json_t *resources, const char *name)
{
	const json_t *resource;
	size_t i;

	json_array_foreach((json_t *)resources, i, resource)
	{
		if (strcmp(kube_json_text(resource, "name"), name) == 0)
			return resource;
	}
	return NULL;
}

/* False: it is not what it is said to be; why says so. */
static bool fits(const struct kind_row *row, const json_t *list, char *why, size_t size)
{
	const json_t *resources = json_object_get(list, "resources");
	const json_t *resource = find(resources, row->plural);
	const char *kind = kube_json_text(resource, "kind");
	char status[80];

	if (!resource)
		return true; /* its watch will say that it is missing */
	(void)snprintf(status, sizeof(status), "%s/status", row->plural);
	if (strcmp(kind, row->kind) != 0)
		(void)snprintf(why, size, "%s is of kind %.63s there, mirror.kinds says %s",
		    row->plural, kind, row->kind);
	else if (!json_is_true(json_object_get(resource, "namespaced")))
		(void)snprintf(why, size,
		    "%s is of the whole cluster there, and only what is in namespaces is mirrored",
		    row->plural);
	else if (row->status && !find(resources, status))
		(void)snprintf(why, size,
		    "%s has no status subresource there, mirror.kinds says status: true",
		    row->plural);
	else
		return true;
	return false;
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct feed *feed = arg;
	json_t *list = NULL;
	char why[256];

	feed->request = 0;
	if (feed->syncer->left)
		return;
	if (answer->class == KUBE_OK)
		list = kube_json_parse(answer->body, NULL);
	if (!list && answer->class != KUBE_NOT_FOUND && answer->class != KUBE_NO_RESOURCE) {
		(void)snprintf(feed->fault, sizeof(feed->fault), "%s: %.200s",
		    kube_class_name(answer->class), answer->message);
		loop_timer_set(feed->syncer->loop, &feed->timer, base_clock_boot_ns() + AGAIN_NS);
	} else if (list && !fits(kind_row(feed->kind), list, why, sizeof(why))) {
		feed_park(feed, why);
	} else {
		feed->fits = true;
		feed->misfit = false;
		feed_start(feed);
	}
	json_decref(list);
}

bool served_ask(struct feed *feed)
{
	const struct kind_row *row = kind_row(feed->kind);
	struct buf path = buf_make(1024);
	struct kube_ask ask = { .verb = KUBE_GET, .deadline_ms = SYNCER_REQUEST_MS };

	if (feed->kind < KIND_LISTED || feed->fits)
		return false;
	if (feed->request || feed->timer.slot)
		return true;
	buf_puts(&path, *row->group ? "/apis/" : "/api/");
	if (*row->group) {
		kube_url_escape(&path, row->group);
		buf_puts(&path, "/");
	}
	kube_url_escape(&path, row->version);
	ask.target = feed->side == SIDE_SOURCE ? CREDENTIAL_PEER_SYNCER : CREDENTIAL_SYNCER;
	ask.path = path.data;
	feed->request = kube_client_ask(feed->syncer->client, &ask, on_answer, feed);
	buf_free(&path);
	return true;
}
