/*
 * What a reflector keeps after a failed attempt, and when it tries again (L79, M3, H10). Pure but
 * for the jitter. Called by watch.c.
 */
#ifndef KUBE_RESUME_H
#define KUBE_RESUME_H

#include "kube/client.h"

/* Milliseconds until the next attempt: 0.5 s doubled to 30 s, the upper half of it by chance
 * (herds), and never before Retry-After (milliseconds, 0: none). failures: in a row, this one
 * included. */
int64_t resume_wait_ms(unsigned failures, int64_t retry_after_ms);

/* Whether the version that was reached is worth another try; an expired one, and one that the
 * server has never reached, are not. */
bool resume_keeps_version(const struct kube_answer *answer);

/* Objects to ask for after a page of so many was too long: the server counts them, whatever their
 * size. At least one. */
uint32_t resume_smaller_page(uint32_t page);

/* Whoever was away for longer than it takes to connect again may have been restored from a backup,
 * and have got as far as it was by other changes (H10). lost_ns: of the loss, boot time; 0: none.
 */
bool resume_was_away(int64_t lost_ns, int64_t now_ns);

/* The server does not do sendInitialEvents (too old, or its etcd is): a list does it all. */
bool resume_lists_instead(enum kube_class class);

/* The server has not reached the wanted version: it was restored. Versions that are no numbers say
 * nothing. */
bool resume_is_behind(const char *reached, const char *wanted);

#endif
