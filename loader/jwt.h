/*
 * What a service account's token says of itself: who, and until when. Not verified, for only the
 * server can: it is for messages, for pinning the identity across rotations, and for refusing a
 * token that has expired by its own words (F7). Pure.
 */
#ifndef LOADER_JWT_H
#define LOADER_JWT_H

#include <stdint.h>

#include "base/str.h"

/* subject "" and *expires_us 0 where the token is no JWT or does not say. */
void jwt_read(struct str token, char subject[256], int64_t *expires_us);

#endif
