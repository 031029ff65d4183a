/*
 * Names to addresses, without blocking and without opening a file after the lock: literals at
 * once, then the lines of /etc/hosts as read before the lock, then DNS by c-ares whose channel was
 * made before the lock (F23). The last answer of each name is kept: a name service that fails does
 * not make a known peer unreadable (C4).
 * Addresses are 16 bytes in network order, IPv4 as ::ffff:a.b.c.d. The resolver owns its memory.
 */
#ifndef DIALER_RESOLVE_H
#define DIALER_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "ipc/loop.h"

#define RESOLVE_MAX 8

struct resolve_answer {
	unsigned count; /* 0: the name has no known address */
	uint8_t addresses[RESOLVE_MAX][16];
};

struct resolver;

/* Called once per resolve_start, possibly from inside it. */
typedef void resolve_done_fn(void *arg, const struct resolve_answer *answer);

/* Before the lock: reads /etc/resolv.conf (by c-ares) and /etc/hosts. Aborts without memory. */
struct resolver *resolver_new(struct loop *loop);
void resolver_free(struct resolver *resolver);
/* Before the lock: a name that will be asked for; its lines of /etc/hosts are taken up. */
void resolver_know(struct resolver *resolver, const char *host);

void resolve_start(struct resolver *resolver, const char *host, resolve_done_fn *done, void *arg);
/* What is known of the name without asking again; NULL when nothing is. Valid until the next call.
 */
const struct resolve_answer *resolve_kept(const struct resolver *resolver, const char *host);
/* No call of done for this arg any more. */
void resolve_cancel(struct resolver *resolver, const void *arg);
/* A connection to this address of the name succeeded: it is tried first from now on. */
void resolve_worked(struct resolver *resolver, const char *host, const uint8_t address[16]);

/* A literal IPv4 or IPv6 address (brackets allowed). False: it is none. Pure. */
bool resolve_literal(const char *host, uint8_t address[16]);
/* Adds an address, unless it is there or the answer is full. Pure. */
void resolve_add(struct resolve_answer *answer, const uint8_t address[16]);
/* The addresses that the text of /etc/hosts has for a name (without case). Pure. */
void resolve_hosts(struct str text, const char *host, struct resolve_answer *answer);

#endif
