/*
 * The supervisor's event loop: descriptors, and one boot-time alarm (time-outs of epoll stop in
 * suspend, sandbox-rules 8). A struct watch is embedded in its owner, who owns the descriptor as
 * well and removes the watch before closing it. Handlers may remove any watch, also their own.
 */
#ifndef SUPERVISOR_EVENTS_H
#define SUPERVISOR_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct watch {
	int fd; /* -1: not watched */
	void (*ready)(void *arg, uint32_t epoll_events);
	void *arg;
};

struct events {
	int epoll, alarm;
};

/* 0, or -1 with the reason. */
int events_open(struct events *events, struct err *err);
/* Sets fd, handler and argument and watches for input. */
int events_add(
    struct events *events, struct watch *watch, int fd, void (*ready)(void *, uint32_t), void *arg);
/* Whether to be called for room to write, too. */
void events_want_write(struct events *events, const struct watch *watch, bool wanted);
/* To be called for room to write and for nothing else: what comes in is not of interest. */
void events_only_write(struct events *events, const struct watch *watch);
/* Safe on a watch that is not watched; sets fd to -1 and does not close it. */
void events_remove(struct events *events, struct watch *watch);
/* Waits until something is ready or due_ns (boot time) has come, and serves every descriptor that
 * is ready before it returns: what waited for a process that was stopped is read before anything
 * is concluded from the time. */
void events_turn(struct events *events, int64_t due_ns);

#endif
