/*
 * sd_notify without its library (F25): READY=1, STATUS=, WATCHDOG=1, RELOADING=1, STOPPING=1 as
 * datagrams to $NOTIFY_SOCKET, path or abstract. Without that variable nothing is sent and nothing
 * fails.
 */
#ifndef SUPERVISOR_NOTIFY_H
#define SUPERVISOR_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify {
	int fd;              /* -1: nobody wants to know */
	int64_t watchdog_ns; /* half of WATCHDOG_USEC; 0: none */
	int64_t watchdog_at_ns;
	char role[160]; /* what STATUS= begins with */
};

/* Reads the environment (before it is cleared) and connects: the sandbox comes later. */
void notify_open(struct notify *notify);
void notify_send(struct notify *notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* STATUS= with what this hub is now, which stays in front of what follows. */
void notify_role(struct notify *notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The end of a reload, with what came of it: READY=1 ends what RELOADING=1 began. */
void notify_reloaded(struct notify *notify, const char *text);
/* Feeds the watchdog when it is time and everybody has given signs of life (fresh). Returns when
 * the next one is due, INT64_MAX without a watchdog. */
int64_t notify_watchdog(struct notify *notify, bool fresh, int64_t now_ns);

#endif
