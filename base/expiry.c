/*
 * When a credential ends soon (see the header). No clock.
 */
#include "base/expiry.h"

#define DAY_US (24LL * 3600 * 1000000)

bool expiry_is_soon(int64_t issued_us, int64_t expires_us, int64_t now_us)
{
	int64_t early_us = DAY_US;

	if (expires_us == 0)
		return false;
	if (issued_us > 0 && (expires_us - issued_us) / 10 < early_us)
		early_us = (expires_us - issued_us) / 10;
	return now_us >= expires_us - early_us;
}
