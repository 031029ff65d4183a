/*
 * sd_notify without its library: READY=1, STATUS=, WATCHDOG=1, STOPPING=1 as datagrams to
 * $NOTIFY_SOCKET, path or abstract. Without that variable nothing is sent and nothing fails.
 */
#ifndef SUPERVISOR_NOTIFY_H
#define SUPERVISOR_NOTIFY_H

#include <stdint.h>

struct notify {
	int fd;              /* -1: nobody wants to know */
	int64_t watchdog_ns; /* half of WATCHDOG_USEC; 0: none */
	int64_t watchdog_at_ns;
};

/* Reads the environment (before it is cleared) and connects: the sandbox comes later. */
void notify_open(struct notify *notify);
void notify_send(struct notify *notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Feeds the watchdog when it is time: it watches our loop, which watches everybody else's beats and
 * kills who has none. Returns when the next one is due, INT64_MAX without a watchdog. */
int64_t notify_watchdog(struct notify *notify, int64_t now_ns);

#endif
