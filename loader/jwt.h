/*
 * What a service account's token says of itself: who, and until when. Not verified, for only the
 * server can: it is for messages, for pinning the identity across rotations, and for refusing a
 * token that has expired by its own words (F7). Pure.
 */
#ifndef LOADER_JWT_H
#define LOADER_JWT_H

#include <stdint.h>

#include "base/str.h"

struct jwt_times {
	int64_t issued_us, expires_us; /* wall time; 0: it does not say */
};

/* subject "" and times 0 where the token is no JWT or does not say. */
void jwt_read(struct str token, char subject[256], struct jwt_times *times);

#endif
