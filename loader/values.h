/*
 * The words of the configuration as numbers: durations, ranges, addresses, names, URLs. Pure, no
 * allocation. Each returns NULL when the text is what it should be, else what is wrong with it, a
 * literal that never quotes the text (a URL may hold a password). Outputs are written on success.
 */
#ifndef LOADER_VALUES_H
#define LOADER_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "policy/config.h"

/* 15s, 1m30s, 400ms, 0.4s, 24h: units h, m, s, ms, falling; whole milliseconds. */
const char *value_duration_ms(const char *text, uint64_t *ms);
/* 10.0.0.0/8 or fd00::/8; bits behind the prefix must be 0. */
const char *value_range(const char *text, struct config_range *range);
/* 127.0.0.1:8080 or [::1]:8080; a literal address, copied without brackets. */
const char *value_listen(const char *text, char address[64], uint32_t *port);
/* A DNS-1123 label (63, no dot) or subdomain (253). */
const char *value_label(const char *text);
const char *value_subdomain(const char *text);
/* Absolute, no empty, "." or ".." part, at most 1023 bytes. */
const char *value_path(const char *text);

/* A group's name: letters, digits, '-', '_', at most 32. */
const char *value_group(const char *text);

#define VALUE_HOST_BYTES 254
#define VALUE_URL_BYTES  512

/* https://host[:port][/prefix] of an API server. */
struct value_server {
	char url[VALUE_URL_BYTES];   /* as written, without a '/' at its end */
	char host[VALUE_HOST_BYTES]; /* name or literal address, without brackets */
	uint16_t port;
};
/* D1, D2, D4: a path prefix is kept; user info, query, fragment, zone and http are refused. */
const char *value_server(const char *text, struct value_server *server);

#endif
