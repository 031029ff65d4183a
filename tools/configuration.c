/*
 * Prints the configuration's reference from the table that the loader reads by (loader/config.def)
 * and from the one that a reload judges by (supervisor/changes.c): docs/configuration.md, its JSON
 * Schema, or the body of understudy.conf(5). Run by tools/docs.sh; is no part of the product.
 *
 *   configuration markdown|schema|man
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/config.h"
#include "policy/sandbox.h"
#include "supervisor/changes.h"

struct row {
	enum section section;
	const char *key, *reader;
	uint64_t least, most;
	const char *fallback, *expected, *meaning;
};

#define REQUIRED NULL
#define ABSENT   ""
#define KEY(section, key, reader, type, member, least, most, fallback, expected, meaning)          \
	{ SECTION_##section, key, #reader, least, most, fallback, expected, meaning },
static const struct row rows[] = {
#include "loader/config.def"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* What a reader takes: a word for people, and the JSON Schema of one value. */
static const struct type {
	const char *reader, *word, *schema;
} types[] = {
	{ "choice", "word", NULL },
	{ "duration32", "duration",
	    "\"type\": \"string\", \"pattern\": \"^([0-9.]+(h|ms|m|s))+$\"" },
	{ "duration64", "duration",
	    "\"type\": \"string\", \"pattern\": \"^([0-9.]+(h|ms|m|s))+$\"" },
	{ "number", "number", NULL },
	{ "label", "DNS label",
	    "\"type\": \"string\", \"maxLength\": 63, \"pattern\": "
	    "\"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\"" },
	{ "subdomain", "DNS name",
	    "\"type\": \"string\", \"maxLength\": 253, \"pattern\": "
	    "\"^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$\"" },
	{ "path", "path", "\"type\": \"string\", \"maxLength\": 1023, \"pattern\": \"^/\"" },
	{ "server", "URL", "\"type\": \"string\", \"pattern\": \"^https://[^@?#]+$\"" },
	{ "listen", "address", "\"type\": \"string\", \"pattern\": \"^(.+):[0-9]+$\"" },
	{ "group", "group",
	    "\"type\": \"string\", \"maxLength\": 32, \"pattern\": \"^[a-z0-9_][-a-z0-9_]*$\"" },
	{ "ranges", "list of ranges",
	    "\"type\": \"string\", \"pattern\": \"^[0-9a-fA-F.:]+/[0-9]+$\"" },
	{ "arguments", "list of texts", "\"type\": \"string\", \"minLength\": 1" },
	{ "rules", "list of rules",
	    "\"type\": \"string\", \"maxLength\": 253, \"pattern\": "
	    "\"^[-A-Za-z0-9.*]+/[-A-Za-z0-9._*/:]+:[-A-Za-z0-9*]+(,[-A-Za-z0-9*]+){0,11}$\"" },
	{ "protections", "list of words", NULL },
	{ "identities", "list of words", NULL },
	{ "equality", "label",
	    "\"type\": \"string\", \"pattern\": \"^[-A-Za-z0-9_./]+=[-A-Za-z0-9_.]+$\"" },
	{ "selector", "labels",
	    "\"type\": \"string\", \"pattern\": "
	    "\"^[-A-Za-z0-9_./]+=[-A-Za-z0-9_.]+(,[-A-Za-z0-9_./]+=[-A-Za-z0-9_.]+){0,3}$\"" },
	{ "boolean", "true or false", "\"type\": \"boolean\"" },
	{ "word", "word", "\"type\": \"string\", \"pattern\": \"^[-A-Za-z0-9.]*$\"" },
	{ "skips", "list of names",
	    "\"type\": \"string\", \"pattern\": \"^[-a-z0-9.]+(/[-a-z0-9]+/[^/]+)?$\"" },
	{ "kinds", "list of maps", NULL },
	{ "map", "map", NULL },
	{ "hubs", "list of maps", NULL },
	{ "workers", "list of maps", NULL },
	{ "credential", "map", NULL },
	{ "hub_token", "map", NULL },
};

static const struct type *type_of(const struct row *row)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].reader, row->reader) == 0)
			return &types[i];
	(void)fprintf(stderr, "configuration: no type is known for the reader %s\n", row->reader);
	exit(1);
}

static bool reads(const struct row *row, const char *reader)
{
	return strcmp(row->reader, reader) == 0;
}

/* The maps that a row opens, as bits of their sections. */
static unsigned opens(const struct row *row)
{
	return reads(row, "map")          ? 1u << row->least
	       : reads(row, "hubs")       ? 1u << SECTION_HUB
	       : reads(row, "kinds")      ? 1u << SECTION_KIND
	       : reads(row, "workers")    ? 1u << SECTION_WORKER | 1u << SECTION_SOURCE
	       : reads(row, "credential") ? 1u << SECTION_SOURCE
	       : reads(row, "hub_token")  ? 1u << SECTION_HUB_TOKEN
					  : 0;
}

static bool is_list(const struct row *row)
{
	static const char *const lists[] = { "ranges", "arguments", "rules", "protections",
		"identities", "skips", "kinds", "hubs", "workers" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (reads(row, lists[i]))
			return true;
	return false;
}

/* Upstream's flags. */
static const struct {
	const char *name, *key, *note;
} flags[] = {
#define FLAG(name, key, note) { name, key, note },
#include "loader/flags.def"
};
#define FLAGS (sizeof(flags) / sizeof(flags[0]))

/* How a section is written in a path, what a reload calls it, and its chapter: its title, "" for
 * the path, and what stands in front of its keys. In the order of the pages. */
static const struct section_name {
	enum section section;
	const char *path, *reload, *title, *text;
} names[] = {
	{ SECTION_ROOT, "", "", "The file", "" },
	{ SECTION_HUB, "hubs[]", "hubs", "`hubs`, each", "" },
	{ SECTION_LEASE, "lease", "lease", "", "" },
	{ SECTION_PROMOTION, "promotion", "promotion", "", "" },
	{ SECTION_MIRROR, "mirror", "mirror", "", "" },
	{ SECTION_KIND, "mirror.kinds[]", "mirror: kinds", "`mirror.kinds`, each", "" },
	{ SECTION_CREDENTIALS, "credentials", "credentials", "", "" },
	{ SECTION_SOURCE, "credentials.NAME", "credentials",
	    "An identity: each of `credentials`, and beside the name of a worker",
	    "One way to say who: a kubeconfig, or server, ca-file and a token or a certificate "
	    "(F7)."
	    "\n\n" },
	{ SECTION_HUB_TOKEN, "credentials.hub-a", "credentials",
	    "`credentials.hub-a`, `credentials.hub-b`",
	    "Server and certificates are those of the list of hubs.\n\n" },
	{ SECTION_WORKER, "workers[]", "workers", "`workers`, each", "" },
	{ SECTION_REPOINTER, "repointer", "repointer", "", "" },
	{ SECTION_FOLLOWER, "follower", "follower", "", "" },
	{ SECTION_WORKLOAD, "workload", "workload", "", "" },
	{ SECTION_LISTEN, "listen", "listen", "", "" },
	{ SECTION_DIAL, "dial", "dial", "", "" },
	{ SECTION_RUN, "run", "run", "", "" },
};
#define SECTIONS (sizeof(names) / sizeof(names[0]))

static const struct section_name *name_of(enum section section)
{
	for (size_t i = 0; i < SECTIONS; i++)
		if (names[i].section == section)
			return &names[i];
	(void)fprintf(stderr, "configuration: section %u has no name\n", (unsigned)section);
	exit(1);
}

/* --- What a reload does ----------------------------------------------------------------------- */

static void reload_of(const struct row *row, char out[256])
{
	const char *section = name_of(row->section)->reload;
	bool may_change;
	uint32_t anew;
	size_t n;

	if (strcmp(section[0] ? section : row->key, "workers") == 0) {
		(void)snprintf(out, 256, "its shard and the publisher start anew");
		return;
	}
	if (reads(row, "identities") || (opens(row) && row->section == SECTION_ROOT)) {
		(void)snprintf(out, 256, "-");
		return;
	}
	if (!(section[0] ? changes_of_key(section, row->key, &may_change, &anew)
			 : changes_of_key(row->key, "", &may_change, &anew))) {
		(void)fprintf(
		    stderr, "configuration: no reload rule for %s.%s\n", section, row->key);
		exit(1);
	}
	if (!may_change || anew == 0) {
		(void)snprintf(out, 256, may_change ? "takes effect" : "takes a restart");
		return;
	}
	n = (size_t)snprintf(out, 256, "starts anew: ");
	if (anew == ROLE_DIALERS) {
		(void)snprintf(out + n, 256 - n, "dialers");
		return;
	}
	for (unsigned role = 0, some = 0; role < ROLE_COUNT && n < 256; role++)
		if (anew & ROLE_BIT(role))
			n += (size_t)snprintf(out + n, 256 - n, "%s%s", some++ ? ", " : "",
			    role_name((enum role)role));
}

static const char *default_of(const struct row *row)
{
	return !row->fallback ? "required" : row->fallback[0] ? row->fallback : "-";
}

/* Milliseconds as people write them. */
static const char *duration(uint64_t ms, char out[24])
{
	(void)snprintf(out, 24,
	    ms % 3600000 == 0 && ms ? "%lluh"
	    : ms % 60000 == 0 && ms ? "%llum"
	    : ms % 1000 == 0        ? "%llus"
				    : "%llums",
	    (unsigned long long)(ms % 3600000 == 0 && ms ? ms / 3600000
				 : ms % 60000 == 0 && ms ? ms / 60000
				 : ms % 1000 == 0        ? ms / 1000
							 : ms));
	return out;
}

/* Bounds, or what is expected where there are none. */
static void bounds_of(const struct row *row, char out[256])
{
	char from[24], to[24];

	if (strncmp(row->reader, "duration", 8) == 0)
		(void)snprintf(
		    out, 256, "%s to %s", duration(row->least, from), duration(row->most, to));
	else if (reads(row, "number"))
		(void)snprintf(out, 256, "%llu to %llu", (unsigned long long)row->least,
		    (unsigned long long)row->most);
	else
		(void)snprintf(out, 256, "%s", row->expected);
}

/* --- Markdown --------------------------------------------------------------------------------- */

static const char *title_of(const struct section_name *name, char out[96])
{
	(void)snprintf(
	    out, 96, name->title[0] ? "%s" : "`%s`", name->title[0] ? name->title : name->path);
	return out;
}

static void print_markdown(void)
{
	printf(
	    "# Configuration\n\n"
	    "Printed by `make docs` from `loader/config.def`, by which the file is read, and "
	    "`supervisor/changes.c`, by which a reload is judged.\n\n"
	    "One YAML file, `/etc/understudy/understudy.yaml` unless `--config` names another: "
	    "owned by root, written by root only, at most 1 MiB. An unknown or repeated key, an "
	    "anchor, a tag, a second document is an error with file, line and key. A duration is "
	    "`15s`, `400ms`, `1m30s`, `24h`. `understudyctl "
	    "check-config` checks a file, and with `--pair` whether it fits another machine's; "
	    "`configuration.schema.json`, beside this page, lets an editor do it "
	    "while it is written, but for the rules between keys.\n\n"
	    "Rule numbers are those of `rules.md`. The last column is what `understudyctl reload` "
	    "does about a changed value: it takes effect, named roles start anew, or the whole "
	    "reload is refused because it takes a restart of understudyd.\n");
	for (size_t i = 0; i < SECTIONS; i++) {
		char title[96];

		printf("\n## %s\n\n%s| key | type | default | bounds | what it does | reload |\n"
		       "|---|---|---|---|---|---|\n",
		    title_of(&names[i], title), names[i].text);
		for (const struct row *row = rows; row < rows + ROWS; row++) {
			char reload[256], bounds[256];

			if (row->section != names[i].section)
				continue;
			reload_of(row, reload);
			bounds_of(row, bounds);
			printf("| `%s` | %s | %s%s%s | %s | %s | %s |\n", row->key,
			    type_of(row)->word, row->fallback && row->fallback[0] ? "`" : "",
			    default_of(row), row->fallback && row->fallback[0] ? "`" : "", bounds,
			    row->meaning, reload);
		}
	}
	printf("\n## Upstream's flags\n\n"
	       "`understudyd` takes the flags of KubeSlice's hub controller, as `NAME=VALUE` or "
	       "`NAME VALUE`, "
	       "and one variable of its environment. Each overrides a key of the file before "
	       "anything is "
	       "checked; a wrong value is an error that names the flag. An empty value, and `0s`, "
	       "is none. "
	       "A reload reads the file again under the same flags.\n\n"
	       "| flag | key | told when it is given |\n|---|---|---|\n");
	for (size_t i = 0; i < FLAGS; i++)
		printf("| `%s` | %s%s%s | %s |\n", flags[i].name, flags[i].key[0] ? "`" : "",
		    flags[i].key[0] ? flags[i].key : "-", flags[i].key[0] ? "`" : "",
		    flags[i].note);
}

/* --- Man page --------------------------------------------------------------------------------- */

/* One text, in lines of at most 78 characters. mdoc: a line does not begin with a control
 * character, and a backslash is an escape. */
static void print_mdoc(const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t n = strcspn(text, " \n");

		if (column && column + 1 + n > 78) {
			putchar('\n');
			column = 0;
		} else if (column) {
			putchar(' ');
			column++;
		}
		if (column == 0 && (*text == '.' || *text == '\''))
			printf("\\&");
		column += n;
		for (; n > 0; n--, text++)
			if (*text == '\\')
				printf("\\e");
			else if (*text == '-')
				printf("\\-");
			else if (*text != '`')
				putchar(*text);
		text += strspn(text, " \n");
	}
	putchar('\n');
}

static void print_man(void)
{
	for (size_t i = 0; i < SECTIONS; i++) {
		const char *path = names[i].path;
		char title[96];

		printf(".Ss ");
		print_mdoc(title_of(&names[i], title));
		if (names[i].text[0])
			print_mdoc(names[i].text);
		printf(".Bl -tag -width Ds\n");
		for (const struct row *row = rows; row < rows + ROWS; row++) {
			char reload[256], bounds[256];

			if (row->section != names[i].section)
				continue;
			reload_of(row, reload);
			bounds_of(row, bounds);
			printf(".It Cm %s%s%s : Ar %s\n", path, path[0] ? "." : "", row->key,
			    type_of(row)->word);
			print_mdoc(bounds);
			if (row->fallback && row->fallback[0]) {
				printf(".br\nDefault: ");
				print_mdoc(row->fallback);
			} else if (!row->fallback) {
				printf(".br\nRequired.\n");
			}
			if (row->meaning[0]) {
				printf(".br\n");
				print_mdoc(row->meaning);
			}
			if (strcmp(reload, "-") != 0) {
				printf(".br\nReload: ");
				print_mdoc(reload);
			}
		}
		printf(".El\n");
	}
	printf(".Ss Flags of understudyd that override a key\n.Bl -tag -width Ds\n");
	for (size_t i = 0; i < FLAGS; i++) {
		printf(".It ");
		print_mdoc(flags[i].name);
		print_mdoc(flags[i].key[0] ? flags[i].key : flags[i].note);
	}
	printf(".El\n");
}

/* --- JSON Schema ------------------------------------------------------------------------------ */

static void print_json_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

/* The words of a choice are those of `expected`, as the loader takes them from there. */
static void print_words(const char *expected)
{
	const char *comma = "";

	printf("\"enum\": [");
	for (const char *p = expected; *p; p += strspn(p, ", ")) {
		size_t n = strcspn(p, ", ");

		if (n != 2 || strncmp(p, "or", 2) != 0) {
			printf("%s\"%.*s\"", comma, (int)n, p);
			comma = ", ";
		}
		p += n;
	}
	printf("]");
}

static void print_map(unsigned sections, int depth);

static void print_value(const struct row *row, int depth)
{
	const char *comma = "";

	if (opens(row)) {
		print_map(opens(row), depth);
	} else if (reads(row, "choice")) {
		print_words(row->expected);
	} else if (reads(row, "number")) {
		printf("\"type\": \"integer\", \"minimum\": %llu, \"maximum\": %llu",
		    (unsigned long long)row->least, (unsigned long long)row->most);
	} else if (reads(row, "protections")) {
		printf("\"enum\": [");
		for (unsigned bit = 1; bit <= SANDBOX_ALL; bit <<= 1, comma = ", ")
			printf("%s\"%s\"", comma, sandbox_protection_name(bit));
		printf("]");
	} else if (reads(row, "identities")) {
		printf("\"enum\": [");
		for (unsigned c = 0; c < CREDENTIAL_FIXED_COUNT; c++, comma = ", ")
			printf("%s\"%s\"", comma, credential_name(c));
		printf("]");
	} else {
		printf("%s", type_of(row)->schema);
	}
}

static void print_property(const struct row *row, int depth)
{
	printf("%*s", depth, "");
	print_json_text(row->key);
	printf(": {\"description\": ");
	print_json_text(row->meaning[0] ? row->meaning : row->expected);
	if (row->fallback && row->fallback[0] && !reads(row, "number") && !reads(row, "boolean")) {
		printf(", \"default\": ");
		print_json_text(row->fallback);
	} else if (row->fallback && row->fallback[0]) {
		printf(", \"default\": %s", row->fallback);
	}
	printf(", ");
	if (is_list(row)) {
		printf("\"type\": \"array\", \"minItems\": %llu, \"maxItems\": %llu, \"items\": {",
		    (unsigned long long)row->least, (unsigned long long)row->most);
		print_value(row, depth);
		printf("}");
	} else {
		print_value(row, depth);
	}
	printf("}");
}

static void print_map(unsigned sections, int depth)
{
	const char *comma = "";

	printf("\"type\": \"object\", \"additionalProperties\": false, \"required\": [");
	for (const struct row *row = rows; row < rows + ROWS; row++)
		if ((sections & 1u << row->section) && !row->fallback) {
			printf("%s\"%s\"", comma, row->key);
			comma = ", ";
		}
	printf("], \"properties\": {\n");
	comma = "";
	for (const struct row *row = rows; row < rows + ROWS; row++)
		if (sections & 1u << row->section) {
			printf("%s", comma);
			print_property(row, depth + 2);
			comma = ",\n";
		}
	printf("\n%*s}", depth, "");
}

static void print_schema(void)
{
	printf("{\n\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
	       "\"title\": \"understudy.yaml\",\n");
	print_map(1u << SECTION_ROOT, 0);
	printf("\n}\n");
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "markdown") == 0)
		print_markdown();
	else if (strcmp(what, "schema") == 0)
		print_schema();
	else if (strcmp(what, "man") == 0)
		print_man();
	else
		return 64;
	return ferror(stdout) ? 1 : 0;
}
