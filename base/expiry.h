/*
 * When the end of a credential is worth a word. One rule, for the supervisor's log and for a
 * worker's condition.
 */
#ifndef BASE_EXPIRY_H
#define BASE_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

/* Early enough to act, and late enough to be true of tokens that live an hour and are renewed in
 * the last fifth of it: in the last tenth of its life, at most a day before its end (C4). Wall
 * times in microseconds; issued_us 0: it does not say, a day; expires_us 0: it never ends. */
bool expiry_is_soon(int64_t issued_us, int64_t expires_us, int64_t now_us);

#endif
