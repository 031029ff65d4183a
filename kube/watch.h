/*
 * List, then watch, for ever: the one reflector of this tree. With sendInitialEvents where the
 * server has it, else paged lists; bookmarks; 410 in all its forms starts a new list; back-off
 * with jitter between attempts, ended by a new identity, Retry-After honoured (L79, M3,
 * leases-and-mirrors). A server that was
 * restored from a backup accepts a watch from a version that it has lost, and says nothing: after a
 * lost connection it is asked how far it is, and after an outage all is listed anew (H10).
 * Objects are handed out one by one and not kept.
 */
#ifndef KUBE_WATCH_H
#define KUBE_WATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "kube/client.h"

struct kube_watch;

enum kube_watch_event {
	KUBE_WATCH_LISTED,
	KUBE_WATCH_ADDED,
	KUBE_WATCH_MODIFIED,
	KUBE_WATCH_DELETED
};

struct kube_watch_ops {
	/* A new list begins: everything not LISTED again before on_synced is absent at that
	 * version. */
	void (*on_begin)(void *arg);
	void (*on_object)(void *arg, enum kube_watch_event event, const json_t *object);
	/* The list is complete and consistent at this resourceVersion. */
	void (*on_synced)(void *arg, const char *resource_version);
	/* Any sign of life of the running watch, that it runs among them. May be NULL. */
	void (*on_alive)(void *arg);
	/* An attempt failed; the watch goes on by itself. The list in progress, if any, is void. */
	void (*on_error)(void *arg, const struct kube_answer *answer);
};

struct kube_watch_options {
	unsigned target;
	const char *path;     /* the collection; copied */
	const char *query;    /* selectors, escaped, without '?'; copied; may be NULL */
	uint32_t page;        /* items of one page of a list, 0: 500 */
	uint32_t deadline_ms; /* of one list page */
	bool initial_events;  /* try sendInitialEvents first */
};

struct kube_watch *kube_watch_start(struct kube_client *client, struct loop *loop,
    const struct kube_watch_options *options, const struct kube_watch_ops *ops, void *arg);
/* Lists again at once (keeps nothing). */
void kube_watch_restart(struct kube_watch *watch);
void kube_watch_stop(struct kube_watch *watch);
/* The version that was reached; "": a list is still to come. Valid until the next event. */
const char *kube_watch_version(const struct kube_watch *watch);

#endif
