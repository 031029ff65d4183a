/*
 * One spelling for each endpoint (see the header). What it cannot read it refuses: a guess would
 * send a worker's token somewhere. Called by the parts that read claims.
 */
#include "follower/endpoint.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define SCHEME       "https://"
#define HOST_BYTES   256
#define DEFAULT_PORT 443

static bool is_host_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

static bool is_address_byte(char c)
{
	return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

/* The host in lower case. Returns where it ends, NULL when it is none. */
static const char *take_host(const char *at, char host[HOST_BYTES])
{
	bool address = *at == '[';
	size_t n = strcspn(at, address ? "]" : ":/");

	if (n < 1u + address || n >= HOST_BYTES - 1 || (address && at[n] != ']'))
		return NULL;
	n += address;
	for (size_t i = 0; i < n; i++)
		host[i] = (char)(at[i] >= 'A' && at[i] <= 'Z' ? at[i] + ('a' - 'A') : at[i]);
	host[n] = '\0';
	for (size_t i = address; i < n - address; i++)
		if (!(address ? is_address_byte(host[i]) : is_host_byte(host[i])))
			return NULL;
	if (!address && host[n - 1] == '.')
		host[n - 1] = '\0';
	return host[0] == '\0' || host[0] == '.' ? NULL : at + n;
}

/* ":6443", or nothing. */
static const char *take_port(const char *at, uint64_t *port)
{
	size_t n;

	*port = DEFAULT_PORT;
	if (*at != ':')
		return at;
	n = strcspn(++at, "/");
	if (n > 5 || !str_to_u64((struct str){ at, n }, port) || *port == 0 || *port > UINT16_MAX)
		return NULL;
	return at + n;
}

bool endpoint_normalise(const char *text, char out[ENDPOINT_BYTES])
{
	char host[HOST_BYTES];
	uint64_t port;
	size_t n;
	int written;

	if (strncasecmp(text, SCHEME, sizeof(SCHEME) - 1) != 0 || strpbrk(text, "@?#\\%"))
		return false;
	text = take_host(text + sizeof(SCHEME) - 1, host);
	if (!text || !(text = take_port(text, &port)) || (*text != '\0' && *text != '/'))
		return false;
	n = strlen(text);
	while (n > 0 && text[n - 1] == '/')
		n--;
	for (size_t i = 0; i < n; i++)
		if (text[i] <= 0x20 || text[i] == 0x7f)
			return false;
	written =
	    snprintf(out, ENDPOINT_BYTES, SCHEME "%s:%u%.*s", host, (unsigned)port, (int)n, text);
	return written > 0 && written < ENDPOINT_BYTES;
}

bool endpoint_equal(const char *a, const char *b)
{
	char one[ENDPOINT_BYTES], other[ENDPOINT_BYTES];

	return endpoint_normalise(a, one) && endpoint_normalise(b, other) &&
	       strcmp(one, other) == 0;
}
