/*
 * Parsers of single values (see the header). Strict: a text that can be read in two ways is
 * refused. Called by config.c, kubeconfig.c and material.c; no I/O, no locale.
 */
#include "loader/values.h"

#include <arpa/inet.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_lower_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z');
}

/* The unit at p, its length, and its milliseconds; NULL at an unknown one. */
static const char *take_unit(const char *p, uint64_t *unit_ms)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = { { "ms", 1 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 } };

	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strncmp(p, units[i].name, strlen(units[i].name)) == 0) {
			*unit_ms = units[i].ms;
			return p + strlen(units[i].name);
		}
	return NULL;
}

/* Digits, at most 12 of them, as a number; how many stand there is told by the return. */
static const char *take_digits(const char *p, uint64_t *number, uint64_t *scale)
{
	const char *start = p;

	*number = 0;
	*scale = 1;
	for (; is_digit(*p) && p - start < 12; p++) {
		*number = *number * 10 + (uint64_t)(*p - '0');
		*scale *= 10;
	}
	return p;
}

const char *value_duration_ms(const char *text, uint64_t *ms)
{
	uint64_t sum = 0, last_ms = UINT64_MAX;

	if (!text[0])
		return "is empty";
	if (text[0] == '-')
		return "is negative";
	while (*text) {
		uint64_t whole, fraction = 0, scale, fraction_scale = 1, unit_ms;
		const char *p = take_digits(text, &whole, &scale);

		if (p == text || is_digit(*p))
			return "is no duration";
		if (*p == '.') {
			const char *start = ++p;

			p = take_digits(p, &fraction, &fraction_scale);
			if (p == start || is_digit(*p))
				return "is no duration";
		}
		if (!*p)
			return "has no unit";
		text = take_unit(p, &unit_ms);
		if (!text)
			return "is no duration";
		if (unit_ms >= last_ms)
			return "has its units out of order";
		last_ms = unit_ms;
		if (fraction * unit_ms % fraction_scale != 0)
			return "is no whole number of milliseconds";
		sum += whole * unit_ms + fraction * unit_ms / fraction_scale;
	}
	*ms = sum;
	return NULL;
}

static bool bits_behind(const uint8_t address[16], unsigned prefix)
{
	for (unsigned bit = prefix; bit < 128; bit++)
		if (address[bit / 8] & (0x80u >> bit % 8))
			return true;
	return false;
}

/* IPv4 as ::ffff:a.b.c.d. */
static bool parse_address(const char *text, uint8_t address[16], bool *four)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	memcpy(address, mapped, sizeof(mapped));
	*four = inet_pton(AF_INET, text, address + 12) == 1;
	return *four || inet_pton(AF_INET6, text, address) == 1;
}

const char *value_range(const char *text, struct config_range *range)
{
	const char *slash = strchr(text, '/');
	uint8_t address[16];
	char literal[64];
	uint64_t prefix;
	bool four;

	if (!slash)
		return "has no prefix length";
	if (!str_copy(literal, sizeof(literal), (struct str){ text, (size_t)(slash - text) }) ||
	    !parse_address(literal, address, &four))
		return "does not begin with a literal address";
	if (!str_to_u64(str_of(slash + 1), &prefix) || prefix > (four ? 32 : 128))
		return "has a prefix length that is out of bounds";
	prefix += four ? 96 : 0;
	if (bits_behind(address, (unsigned)prefix))
		return "has bits behind its prefix";
	memcpy(range->address, address, sizeof(address));
	range->prefix = (uint8_t)prefix;
	return NULL;
}

/* host and port of "host:port", "[host]:port" and, with a default port (not 0), "host". */
static const char *split_host(struct str text, char *host, size_t size, uint64_t *port, bool *six)
{
	const char *colon = memchr(text.p, ':', text.n), *end = text.p + text.n;
	struct str name = { text.p, colon ? (size_t)(colon - text.p) : text.n };

	*six = text.n > 0 && text.p[0] == '[';
	if (*six) {
		const char *close = memchr(text.p, ']', text.n);

		if (!close)
			return "has a [ without ]";
		name = (struct str){ text.p + 1, (size_t)(close - text.p) - 1 };
		if (memchr(name.p, '%', name.n))
			return "has a zone in its address";
		colon = close + 1 < end ? close + 1 : NULL;
		if (colon && *colon != ':')
			return "has something between ] and the port";
	} else if (colon && memchr(colon + 1, ':', (size_t)(end - colon) - 1)) {
		return "has an IPv6 address without brackets";
	}
	if (name.n == 0 || !str_copy(host, size, name))
		return "has no host, or one that is too long";
	if (!colon && *port == 0)
		return "has no port";
	if (colon && (!str_to_u64((struct str){ colon + 1, (size_t)(end - colon) - 1 }, port) ||
			 *port == 0 || *port > 65535))
		return "has a port that is not 1 to 65535";
	return NULL;
}

const char *value_listen(const char *text, char address[64], uint32_t *port)
{
	char host[64];
	uint8_t bytes[16];
	uint64_t number = 0;
	bool six, four;
	const char *fault = split_host(str_of(text), host, sizeof(host), &number, &six);

	if (fault)
		return fault;
	if (!parse_address(host, bytes, &four) || four == six)
		return "has no literal address";
	(void)str_copy(address, 64, str_of(host));
	*port = (uint32_t)number;
	return NULL;
}

/* RFC 1123 labels, joined by dots. */
static bool is_dns_name(const char *text, size_t label_max, bool dots)
{
	size_t run = 0;

	for (; *text; text++) {
		if (*text == '.' && dots && run > 0 && text[-1] != '-')
			run = 0;
		else if (is_lower_alnum(*text) || (*text == '-' && run > 0))
			run++;
		else
			return false;
		if (run > label_max)
			return false;
	}
	return run > 0 && text[-1] != '-';
}

const char *value_label(const char *text)
{
	return is_dns_name(text, 63, false) ? NULL : "is no DNS label";
}

const char *value_subdomain(const char *text)
{
	return strlen(text) <= 253 && is_dns_name(text, 253, true) ? NULL : "is no DNS name";
}

const char *value_group(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_");

	return n > 0 && n <= 32 && !text[n] && text[0] != '-' ? NULL : "is no group's name";
}

const char *value_path(const char *text)
{
	size_t n = strlen(text);

	if (text[0] != '/')
		return "is not absolute";
	if (n > 1023)
		return "is longer than 1023 bytes";
	for (const char *part = text; part; part = strchr(part + 1, '/')) {
		size_t length = strcspn(part + 1, "/");

		if (length == 0 || (length == 1 && part[1] == '.') ||
		    (length == 2 && part[1] == '.' && part[2] == '.'))
			return "has an empty, . or .. part";
	}
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return "has control characters";
	return NULL;
}

/* A host is a literal address, or a name of letters, digits, '-', '.' (any case). */
static const char *check_host(const char *host, bool six)
{
	char lower[VALUE_HOST_BYTES];
	uint8_t bytes[16];
	bool four;
	size_t i;

	if (parse_address(host, bytes, &four) && four != six)
		return NULL;
	if (six)
		return "has no IPv6 address within its brackets";
	for (i = 0; host[i]; i++)
		lower[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] + 32 : host[i]);
	lower[i] = '\0';
	if (is_digit(host[strspn(host, "0123456789.")]) || !host[strspn(host, "0123456789.")])
		return "has a broken IPv4 address";
	return value_subdomain(lower) ? "has a host that is neither a DNS name nor an address"
				      : NULL;
}

const char *value_server(const char *text, struct value_server *server)
{
	const char *rest = text + strlen("https://"), *fault;
	size_t length = strlen(text), authority;
	struct value_server parsed;
	uint64_t port = 443;
	bool six;

	if (strncmp(text, "http://", 7) == 0)
		return "is http, not https";
	if (strncmp(text, "https://", 8) != 0)
		return "does not begin with https://";
	authority = strcspn(rest, "/?#");
	if (memchr(rest, '@', authority))
		return "holds user info";
	if (strchr(rest, '?'))
		return "holds a query";
	if (strchr(rest, '#'))
		return "holds a fragment";
	for (const char *c = rest + authority; *c; c++)
		if (!strchr("/-._~%", *c) && !is_lower_alnum(*c) && !(*c >= 'A' && *c <= 'Z'))
			return "holds a character that no URL path has";
	fault = split_host(
	    (struct str){ rest, authority }, parsed.host, sizeof(parsed.host), &port, &six);
	if (!fault)
		fault = check_host(parsed.host, six);
	if (fault)
		return fault;
	while (length > 8 + authority && text[length - 1] == '/')
		length--;
	if (!str_copy(parsed.url, sizeof(parsed.url), (struct str){ text, length }))
		return "is longer than 511 bytes";
	parsed.port = (uint16_t)port;
	*server = parsed;
	return NULL;
}
