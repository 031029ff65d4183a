/*
 * Kubernetes Events: the elector is their only writer (decision 5). Its own are about the own
 * Lease, one for each episode (G5); those that other roles ask for are about their object, at most
 * one for each object and reason in ten minutes. A failed post is logged and forgotten.
 */
#ifndef ELECTOR_EVENTS_H
#define ELECTOR_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/messages.h"

#define EVENTS_RECENT      64
#define EVENTS_OUTSTANDING 16

struct elector;

struct event_queue {
	unsigned outstanding, dropped;
	struct {
		uint64_t key;
		int64_t at_ns;
	} recent[EVENTS_RECENT];
	unsigned next;
};

/* About the own Lease. */
void events_own(struct elector *elector, const char *reason, const char *action, bool warning,
    const char *note);
/* On behalf of another role; bounds were checked by the link. */
void events_asked(struct elector *elector, const struct msg_event_asked *m);
/* Pure: is this one new in its ten minutes? Remembers it when it is. */
bool events_is_new(struct event_queue *queue, uint64_t key, int64_t now_ns);

#endif
