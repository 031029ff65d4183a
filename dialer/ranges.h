/*
 * Which addresses may be connected to: those of `dial.allow`, or without it every unicast address
 * but this host's own and link-local ones, so that a name cannot be turned towards a metadata
 * service (F23). Addresses are 16 bytes in network order, IPv4 as ::ffff:a.b.c.d. Pure.
 * Landlock stands behind this only by port; docs say that ranges are this code's alone (F34).
 */
#ifndef DIALER_RANGES_H
#define DIALER_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/config.h"

bool ranges_allow(const struct us_config *config, const uint8_t address[16]);
/* True for ::ffff:a.b.c.d. */
bool ranges_is_v4(const uint8_t address[16]);

#endif
