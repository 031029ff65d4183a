/*
 * Identifiers and jitter from the kernel. The simulator brings its own seeded source: decisions
 * take their randomness as an argument.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* 64 random bits, never 0 (0 means "none" in every field that holds one). */
uint64_t base_random_u64(void);

#endif
