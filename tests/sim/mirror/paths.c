/*
 * Of what a path speaks, and which kinds a server knows under which version: discovery (M7).
 */
#include <stdio.h>
#include <string.h>

#include "tests/sim/mirror/mirror.h"

bool place_of(const char *path, struct place *place)
{
	char text[512], *part[10] = { NULL }, *save = NULL, group[64] = "", plural[64] = "";
	unsigned n = 0, at;

	*place = (struct place){ 0 };
	(void)snprintf(text, sizeof(text), "%s", path);
	for (char *word = strtok_r(text, "/", &save); word && n < 10;
	     word = strtok_r(NULL, "/", &save))
		part[n++] = word;
	if (n < 3)
		return false;
	at = strcmp(part[0], "api") == 0 ? 2 : 3;
	if (at == 3)
		(void)snprintf(group, sizeof(group), "%s", part[1]);
	(void)snprintf(place->version, sizeof(place->version), "%s", part[at - 1]);
	if (n > at + 2 && strcmp(part[at], "namespaces") == 0) {
		(void)snprintf(place->space, sizeof(place->space), "%s", part[at + 1]);
		at += 2;
	}
	(void)snprintf(plural, sizeof(plural), "%s", part[at++]);
	if (at < n)
		(void)snprintf(place->name, sizeof(place->name), "%s", part[at++]);
	place->status = at < n && strcmp(part[at], "status") == 0;
	for (unsigned kind = 0; kind < kind_end(); kind++)
		if (strcmp(kind_row((enum kind)kind)->plural, plural) == 0 &&
		    strcmp(kind_row((enum kind)kind)->group, group) == 0) {
			place->kind = (enum kind)kind;
			place->known = true;
		}
	return place->known;
}

/* The version that the configuration or the set says, whatever is used in its place. */
static const char *own_version(enum kind kind)
{
	const char *other = kind_other_version(kind);

	return other ? other : kind_row(kind)->version;
}

bool server_knows(const struct server *server, enum kind kind, const char *version)
{
	if (strcmp(version, SERVER_NEWER) == 0)
		return server->newer & 1u << kind;
	return strcmp(version, own_version(kind)) == 0 && !(server->missing & 1u << kind);
}

static json_t *versions_of(const struct server *server, const char *group)
{
	static const char newer[] = SERVER_NEWER;
	const char *names[2] = { NULL, NULL };
	json_t *versions = json_array();

	for (unsigned kind = 0; kind < kind_end(); kind++) {
		if (strcmp(kind_row((enum kind)kind)->group, group) != 0)
			continue;
		if (server_knows(server, (enum kind)kind, own_version((enum kind)kind)))
			names[0] = own_version((enum kind)kind);
		if (server_knows(server, (enum kind)kind, newer))
			names[1] = newer;
	}
	for (unsigned i = 0; i < 2; i++)
		if (names[i])
			json_array_append_new(versions, json_pack("{ss}", "version", names[i]));
	return versions;
}

static json_t *kinds_under(const struct server *server, const char *group, const char *version)
{
	json_t *list = json_array();

	for (unsigned kind = 0; kind < kind_end(); kind++) {
		const struct kind_row *row = kind_row((enum kind)kind);
		const char *name =
		    server->misnames && kind + 1 == kind_end() ? "Gadget" : row->kind;
		char text[160];

		if (strcmp(row->group, group) != 0 ||
		    !server_knows(server, (enum kind)kind, version))
			continue;
		json_array_append_new(list, json_pack("{sssssb}", "name", row->plural, "kind", name,
						"namespaced", row->place != KIND_NOWHERE));
		(void)snprintf(text, sizeof(text), "%s/status", row->plural);
		if (row->status)
			json_array_append_new(list, json_pack("{ss}", "name", text));
	}
	return list;
}

/* /api/v1, /apis/GROUP or /apis/GROUP/VERSION, and nothing behind it. */
bool server_discover(const struct server *server, const char *path, struct reply *reply)
{
	char group[64] = "", version[64] = "", more;
	int parts = sscanf(path, "/apis/%63[^/]/%63[^/]%c", group, version, &more);

	if (strcmp(path, "/api/v1") != 0 && parts != 1 && parts != 2)
		return false;
	reply->status = 200;
	if (parts == 1)
		reply->body =
		    json_pack("{ssso}", "kind", "APIGroup", "versions", versions_of(server, group));
	else
		reply->body = json_pack("{ssso}", "kind", "APIResourceList", "resources",
		    kinds_under(server, group, parts == 2 ? version : "v1"));
	return true;
}
