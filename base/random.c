/*
 * Randomness from getrandom(2) (see the header): no file, no state.
 */
#include "base/random.h"

#include <sys/random.h>

#include "base/check.h"

uint64_t base_random_u64(void)
{
	uint64_t value = 0;

	while (value == 0)
		CHECK(getrandom(&value, sizeof(value), 0) == sizeof(value));
	return value;
}
