/*
 * Endpoints of API servers compared as servers, not as texts (H19, G15): a claim may write the same
 * server in another way, and must name one of the list to count at all (W3). Pure.
 */
#ifndef FOLLOWER_ENDPOINT_H
#define FOLLOWER_ENDPOINT_H

#include <stdbool.h>

#define ENDPOINT_BYTES 600

/* https://HOST:PORT[/PATH] with a lower-case host without a dot at its end, the port written out,
 * no
 * '/' at the end. False: no such endpoint (another scheme, user info, query, fragment, a bare IPv6
 * address, a port that is none). */
bool endpoint_normalise(const char *text, char out[ENDPOINT_BYTES]);
/* Both are endpoints, and the same one. */
bool endpoint_equal(const char *a, const char *b);

#endif
