/*
 * Reads the configuration by the table of config.def (see the header): one function per type of
 * value, one that walks a map. A key that the table does not name is an error, never ignored. No
 * I/O. Called by main.c.
 */
#include "loader/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "loader/flags.h"
#include "loader/rows.h"
#include "loader/values.h"
#include "policy/sandbox.h"

bool config_complain(struct reader *r, const struct yaml_value *value, const char *key,
    const char *expected, const char *format, ...)
{
	char what[256], path[256] = "", where[640];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (value)
		yaml_value_path(value, path, sizeof(path));
	if (value && value->by)
		(void)snprintf(where, sizeof(where), "%s", value->by);
	else
		(void)snprintf(where, sizeof(where), "%.600s:%u", r->file,
		    value && value->line ? value->line : 1);
	err_set(r->err, "%s: %s%s%s%s%s; expected %s", where, path, path[0] && key ? "." : "",
	    key ? key : "", path[0] || key ? ": " : "", what, expected);
	return false;
}

/* What a text is, with the text. */
bool row_is_wrong(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, const char *fault)
{
	return config_complain(r, value, NULL, row->expected, "\"%.80s\" %s", value->text.p, fault);
}

static bool wrong_kind(struct reader *r, const struct key_row *row, const struct yaml_value *value)
{
	return config_complain(r, value, NULL, row->expected, "is %s", yaml_value_kind(value));
}

bool row_is_text(struct reader *r, const struct key_row *row, const struct yaml_value *value)
{
	if (value->kind != YAML_TEXT || value->empty)
		return wrong_kind(r, row, value);
	if (strlen(value->text.p) != value->text.n)
		return config_complain(r, value, NULL, row->expected, "holds a NUL byte");
	return true;
}

bool row_is_list(struct reader *r, const struct key_row *row, const struct yaml_value *value)
{
	if (value->kind != YAML_LIST)
		return wrong_kind(r, row, value);
	if (value->count < row->least || value->count > row->most)
		return config_complain(
		    r, value, NULL, row->expected, "has %u members", value->count);
	return true;
}

void *row_field(const struct key_row *row, void *base)
{
	return (char *)base + row->offset;
}

bool row_keep_text(
    struct reader *r, const struct yaml_value *value, const char *text, config_text *out)
{
	size_t n = strlen(text) + 1;

	*out = 0;
	if (n == 1)
		return true;
	if (n > CONFIG_POOL_BYTES - 1 - r->pool_used)
		return config_complain(r, value, NULL, "less than 64 KiB",
		    "does not fit: the texts of the file are too long together");
	memcpy(r->config->pool + r->pool_used, text, n);
	*out = r->pool_used;
	r->pool_used += (uint32_t)n;
	return true;
}

/* --- One function per type ------------------------------------------------------------------ */

/* The words of the choice are those of `expected`, numbered in their order. */
static bool read_choice(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	uint32_t number = 0;

	if (!row_is_text(r, row, value))
		return false;
	for (const char *p = row->expected; *p; p += strspn(p, ", ")) {
		struct str word = { p, strcspn(p, ", ") };

		p += word.n;
		if (str_equal(word, STR_LIT("or")))
			continue;
		if (str_equal(word, value->text)) {
			*(uint32_t *)row_field(row, base) = number;
			return true;
		}
		number++;
	}
	return row_is_wrong(r, row, value, "is none of the choices");
}

/* A choice, for which the schema has a type of its own. */
static bool read_boolean(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	return read_choice(r, row, value, base);
}

static bool read_milliseconds(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, uint64_t *ms)
{
	const char *fault;

	if (!row_is_text(r, row, value))
		return false;
	fault = value_duration_ms(value->text.p, ms);
	if (!fault && *ms < row->least)
		fault = "is too short";
	if (!fault && *ms > row->most)
		fault = "is too long";
	return fault ? row_is_wrong(r, row, value, fault) : true;
}

static bool read_duration32(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	uint64_t ms;

	if (!read_milliseconds(r, row, value, &ms))
		return false;
	*(uint32_t *)row_field(row, base) = (uint32_t)ms;
	return true;
}

static bool read_duration64(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	return read_milliseconds(r, row, value, row_field(row, base));
}

static bool read_number(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	uint64_t number;

	if (!row_is_text(r, row, value))
		return false;
	if (!str_to_u64(value->text, &number))
		return row_is_wrong(r, row, value, "is no number");
	if (number < row->least || number > row->most)
		return row_is_wrong(r, row, value, "is out of bounds");
	*(uint32_t *)row_field(row, base) = (uint32_t)number;
	return true;
}

static bool read_checked_text(struct reader *r, const struct key_row *row,
    const struct yaml_value *value, void *base, const char *(*check)(const char *))
{
	const char *fault;

	if (!row_is_text(r, row, value))
		return false;
	fault = check(value->text.p);
	if (fault)
		return row_is_wrong(r, row, value, fault);
	return row_keep_text(r, value, value->text.p, row_field(row, base));
}

static bool read_label(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	return read_checked_text(r, row, value, base, value_label);
}

static bool read_subdomain(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	return read_checked_text(r, row, value, base, value_subdomain);
}

static bool read_path(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	return read_checked_text(r, row, value, base, value_path);
}

static bool read_group(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	return read_checked_text(r, row, value, base, value_group);
}

static bool read_server(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct value_server server;
	const char *fault;

	if (!row_is_text(r, row, value))
		return false;
	fault = value_server(value->text.p, &server);
	if (fault)
		return config_complain(r, value, NULL, row->expected, "%s", fault);
	return row_keep_text(r, value, server.url, row_field(row, base));
}

static bool read_listen(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct us_config *config = base;
	const char *fault;
	char address[64];

	if (!row_is_text(r, row, value))
		return false;
	fault = value_listen(value->text.p, address, &config->listen_port);
	if (fault)
		return row_is_wrong(r, row, value, fault);
	return row_keep_text(r, value, address, row_field(row, base));
}

static bool read_ranges(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct us_config *config = base;

	if (!row_is_list(r, row, value))
		return false;
	for (const struct yaml_value *m = value->first; m; m = m->next) {
		const char *fault;

		if (!row_is_text(r, row, m))
			return false;
		fault = value_range(m->text.p, &config->ranges[m->index]);
		if (fault)
			return row_is_wrong(r, row, m, fault);
	}
	config->range_count = value->count;
	return true;
}

static bool read_arguments(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct us_config *config = base;

	if (!row_is_list(r, row, value))
		return false;
	for (const struct yaml_value *m = value->first; m; m = m->next) {
		const char *fault = NULL;

		if (!row_is_text(r, row, m))
			return false;
		if (m->index == 0)
			fault = value_path(m->text.p);
		else if (m->text.n == 0)
			fault = "is an empty argument";
		if (fault)
			return row_is_wrong(r, row, m, fault);
		if (!row_keep_text(r, m, m->text.p, &config->arguments[m->index]))
			return false;
	}
	config->argument_count = value->count;
	return true;
}

/* F27: a name that is unknown would be a protection that somebody believes to have waived. */
static bool read_protections(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	char names[160] = "";

	if (!row_is_list(r, row, value))
		return false;
	for (unsigned bit = 1; bit <= SANDBOX_ALL; bit <<= 1) {
		size_t n = strlen(names);

		(void)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "one of ",
		    sandbox_protection_name(bit));
	}
	for (const struct yaml_value *m = value->first; m; m = m->next) {
		unsigned bit;

		if (!row_is_text(r, row, m))
			return false;
		bit = sandbox_protection_by_name(m->text.p);
		if (bit == 0)
			return config_complain(r, m, NULL, names,
			    "\"%.80s\" is no protection that can be waived", m->text.p);
		*(uint32_t *)row_field(row, base) |= bit;
	}
	return true;
}

/* config_cross.c asks which. */
static bool read_identities(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	(void)base;
	return row_is_list(r, row, value);
}

static bool read_map(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct place place = { (enum section)row->least, base };

	if (value && value->kind != YAML_MAP)
		return wrong_kind(r, row, value);
	return row_read_map(r, value, &place, 1);
}

static bool read_hubs(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct us_config *config = base;

	if (!row_is_list(r, row, value))
		return false;
	for (const struct yaml_value *m = value->first; m; m = m->next) {
		struct place place = { SECTION_HUB, &config->hubs[m->index] };

		if (!row_read_map(r, m, &place, 1))
			return false;
	}
	config->hub_count = value->count;
	return true;
}

/* F7: one way to say who. */
static bool check_source(
    struct reader *r, const struct yaml_value *map, struct config_credential *c)
{
	static const char expected[] = "kubeconfig, or server, ca-file and one of token-file and "
				       "client-certificate-file with client-key-file";
	bool parts = c->server || c->ca_file || c->token_file || c->certificate_file || c->key_file;
	const char *fault = NULL;

	c->line = map->line;
	if (c->kubeconfig && parts)
		fault = "has a kubeconfig and parts beside it";
	else if (!c->kubeconfig && !parts)
		fault = "does not say where the identity comes from";
	else if (parts && !c->server)
		fault = "has no server";
	else if (parts && !c->ca_file)
		fault = "has no ca-file";
	else if (!c->certificate_file != !c->key_file)
		fault = "has one of client-certificate-file and client-key-file";
	else if (parts && c->token_file && c->key_file)
		fault = "has a token and a client certificate";
	else if (parts && !c->token_file && !c->key_file)
		fault = "has neither a token nor a client certificate";
	return fault ? config_complain(r, map, NULL, expected, "%s", fault) : true;
}

static bool read_credential(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct config_credential *credential = row_field(row, base);
	struct place place = { SECTION_SOURCE, credential };

	return row_read_map(r, value, &place, 1) && check_source(r, value, credential);
}

static bool read_hub_token(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct config_credential *credential = row_field(row, base);
	struct place place = { SECTION_HUB_TOKEN, credential };

	credential->line = value->line;
	return row_read_map(r, value, &place, 1);
}

static bool read_workers(
    struct reader *r, const struct key_row *row, const struct yaml_value *value, void *base)
{
	struct us_config *config = base;

	if (!row_is_list(r, row, value))
		return false;
	for (const struct yaml_value *m = value->first; m; m = m->next) {
		struct config_worker *worker = &config->workers[m->index];
		struct place places[] = { { SECTION_WORKER, worker },
			{ SECTION_SOURCE, &worker->credential } };

		if (!row_read_map(r, m, places, 2) || !check_source(r, m, &worker->credential))
			return false;
	}
	config->worker_count = value->count;
	return true;
}

/* --- The table and its walk ----------------------------------------------------------------- */

#define REQUIRED NULL
#define ABSENT   ""
#define KEY(section, key, reader, type, member, least, most, fallback, expected, meaning)          \
	{ SECTION_##section, key, read_##reader, offsetof(struct type, member), least, most,       \
		fallback, expected },
static const struct key_row rows[] = {
#include "loader/config.def"
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static const struct place *place_of(
    const struct key_row *row, const struct place *places, unsigned place_count)
{
	for (unsigned i = 0; i < place_count; i++)
		if (places[i].section == row->section)
			return &places[i];
	return NULL;
}

/* Levenshtein distance of two short words; words of more than 31 bytes are far apart. */
static unsigned distance(const char *a, const char *b)
{
	unsigned line[32], n = (unsigned)strlen(b);

	if (n > 31 || strlen(a) > 31)
		return UINT32_MAX;
	for (unsigned j = 0; j <= n; j++)
		line[j] = j;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = line[0];

		line[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned change = diagonal + (a[i - 1] != b[j - 1]);
			unsigned least = line[j] < line[j - 1] ? line[j] + 1 : line[j - 1] + 1;

			diagonal = line[j];
			line[j] = change < least ? change : least;
		}
	}
	return line[n];
}

static bool complain_unknown(struct reader *r, const struct yaml_value *member,
    const struct place *places, unsigned place_count)
{
	char names[256] = "one of ";
	const char *nearest = NULL;
	unsigned best = 3;

	for (const struct key_row *row = rows; row < rows + ROW_COUNT; row++) {
		unsigned far = distance(member->key.p, row->key);
		size_t n = strlen(names);

		if (!place_of(row, places, place_count))
			continue;
		(void)snprintf(names + n, sizeof(names) - n, "%s%s", n > 7 ? ", " : "", row->key);
		if (far < best) {
			best = far;
			nearest = row->key;
		}
	}
	if (nearest)
		return config_complain(r, member, NULL, nearest, "is an unknown key");
	return config_complain(r, member, NULL, names, "is an unknown key");
}

static bool read_row(
    struct reader *r, const struct yaml_value *map, const struct key_row *row, void *base)
{
	const struct yaml_value *member = yaml_value_at(map, row->key);
	struct yaml_value otherwise = { .kind = YAML_TEXT, .key = str_of(row->key) };

	if (member)
		return row->read(r, row, member, base);
	if (!row->fallback)
		return config_complain(r, map, row->key, row->expected, "is missing");
	if (row->read == read_map)
		return row->read(r, row, NULL, base);
	if (!row->fallback[0])
		return true;
	otherwise.text = str_of(row->fallback);
	return row->read(r, row, &otherwise, base);
}

/* map NULL: nothing is written there, the fallbacks hold. */
bool row_read_map(struct reader *r, const struct yaml_value *map, const struct place *places,
    unsigned place_count)
{
	if (map && map->kind != YAML_MAP)
		return config_complain(r, map, NULL, "a map", "is %s", yaml_value_kind(map));
	for (const struct yaml_value *m = map ? map->first : NULL; m; m = m->next) {
		bool known = false;

		for (const struct key_row *row = rows; row < rows + ROW_COUNT; row++)
			known = known || (place_of(row, places, place_count) &&
					     strcmp(row->key, m->key.p) == 0);
		if (!known)
			return complain_unknown(r, m, places, place_count);
	}
	for (const struct key_row *row = rows; row < rows + ROW_COUNT; row++) {
		const struct place *place = place_of(row, places, place_count);

		if (place && !read_row(r, map, row, place->base))
			return false;
	}
	return true;
}

int config_read(struct us_config *config, struct str text, const char *file, struct err *err)
{
	return config_read_with(config, text, file, NULL, 0, err);
}

int config_read_with(struct us_config *config, struct str text, const char *file,
    const char *const *flags, unsigned flag_count, struct err *err)
{
	struct reader r = { .config = config, .file = file, .pool_used = 1, .err = err };
	struct place place = { SECTION_ROOT, config };
	struct yaml_tree tree;
	struct err reason;
	int result = -1;

	memset(config, 0, sizeof(*config));
	if (yaml_tree_parse(&tree, text, file, err))
		return -1;
	r.root = tree.root;
	if (!flags_apply(&r, &tree, flags, flag_count) || !row_read_map(&r, tree.root, &place, 1) ||
	    !config_check_cross(&r))
		goto out;
	config->magic = CONFIG_MAGIC;
	config->version = CONFIG_VERSION;
	result = config_check(config, &reason);
	if (result)
		err_set(err, "%s: %s", file, reason.text);
out:
	yaml_tree_free(&tree);
	return result;
}
