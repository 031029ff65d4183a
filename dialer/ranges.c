/*
 * Address ranges (see the header). No I/O, no allocation. The connector calls it for every address
 * that a resolver, /etc/hosts or a literal gave, right before it connects.
 */
#include "dialer/ranges.h"

#include <stddef.h>
#include <string.h>

#define V4(a, b, c, d, prefix)                                                                     \
	{                                                                                          \
		{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d }, 96 + (prefix)            \
	}

/* Nobody's API server: this host, link-local (metadata services), multicast, reserved. */
static const struct config_range denied[] = {
	V4(0, 0, 0, 0, 8),
	V4(127, 0, 0, 0, 8),
	V4(169, 254, 0, 0, 16),
	V4(224, 0, 0, 0, 3),
	{ { 0 }, 128 },
	{ { [15] = 1 }, 128 },
	{ { 0xfe, 0x80 }, 10 },
	{ { 0xff }, 8 },
};

/* IPv6 forms that a gateway turns into an IPv4 address, and where the four bytes stand. */
static const struct {
	struct config_range range;
	uint8_t at[4];
} carriers[] = {
	{ { { 0x00, 0x64, 0xff, 0x9b }, 96 }, { 12, 13, 14, 15 } },          /* NAT64, RFC 6052 */
	{ { { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48 }, { 6, 7, 9, 10 } }, /* NAT64, RFC 8215 */
	{ { { 0x20, 0x02 }, 16 }, { 2, 3, 4, 5 } },                          /* 6to4 */
	{ { { 0 }, 96 }, { 12, 13, 14, 15 } },                               /* v4-compatible */
};

static bool in_range(const struct config_range *range, const uint8_t address[16])
{
	unsigned bytes = range->prefix / 8, bits = range->prefix % 8;

	if (range->prefix > 128 || memcmp(range->address, address, bytes) != 0)
		return false;
	return bits == 0 || ((range->address[bytes] ^ address[bytes]) >> (8 - bits)) == 0;
}

static bool in_any(const struct config_range *ranges, size_t count, const uint8_t address[16])
{
	for (size_t i = 0; i < count; i++)
		if (in_range(&ranges[i], address))
			return true;
	return false;
}

static bool is_denied(const uint8_t address[16])
{
	return in_any(denied, sizeof(denied) / sizeof(denied[0]), address);
}

/* The address that a carrier form ends at; false when it carries none. */
static bool carried(const uint8_t address[16], uint8_t inner[16])
{
	for (size_t i = 0; i < sizeof(carriers) / sizeof(carriers[0]); i++) {
		if (!in_range(&carriers[i].range, address))
			continue;
		memset(inner, 0, 10);
		inner[10] = inner[11] = 0xff;
		for (unsigned byte = 0; byte < 4; byte++)
			inner[12 + byte] = address[carriers[i].at[byte]];
		return true;
	}
	return false;
}

bool ranges_is_v4(const uint8_t address[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(address, mapped, sizeof(mapped)) == 0;
}

bool ranges_allow(const struct us_config *config, const uint8_t address[16])
{
	const struct config_range *allowed = config->ranges;
	uint8_t inner[16];
	bool carries = carried(address, inner);

	if (config->range_count == 0)
		return !is_denied(address) && !(carries && is_denied(inner));
	if (!in_any(allowed, config->range_count, address))
		return false;
	/* A wide IPv6 range must not open a denied IPv4 address through a gateway. */
	return !carries || !is_denied(inner) || in_any(allowed, config->range_count, inner);
}
