/*
 * A fuzzer is one function that takes bytes of an attacker. libFuzzer drives it (`make fuzz`), and
 * replay.c, which gives it the corpus in the tree (`make check`). Named after what it feeds:
 * DIR_WHAT.c links DIR like a unit test does.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input is. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#endif
