/*
 * What becomes of a server's kinds while they are mirrored: one is missing for a while, called
 * otherwise, or served under another version (M7, M10).
 */
#include "tests/sim/mirror/mirror.h"

/* One hub is upgraded and serves the kind under another version only; the other hub knows both, as
 * a rule. */
static void move_kind(unsigned id, enum kind kind)
{
	bool knows = chaos_random(4) != 0;

	chaos_say("server %u knows %s under " SERVER_NEWER " only, the other one %s", id,
	    kind_row(kind)->plural, knows ? "knows both" : "does not know it");
	for (unsigned i = 0; i < SERVERS; i++)
		if (i == id || knows)
			the->server[i].newer = 1u << kind;
	the->server[id].missing = 1u << kind;
	wire_cut(id, false);
	event_post(EVENT_UP, the->now + S(5) + (int64_t)chaos_random(S(60)), id);
}

void kinds_fault(void)
{
	unsigned id = (unsigned)chaos_random(SERVERS);
	struct server *server = &the->server[id];
	enum kind kind = (enum kind)(KIND_PROJECT + chaos_random(KIND_SECRET - KIND_PROJECT));

	if (server->missing || server->misnames)
		return;
	if (chaos_on(KNOB_LISTED) && chaos_random(3) == 0) {
		chaos_say("server %u calls widgets otherwise", id);
		server->misnames = true;
		event_post(EVENT_UP, the->now + S(5) + (int64_t)chaos_random(S(60)), id);
		return;
	}
	if (chaos_on(KNOB_LISTED) && chaos_random(4) == 0)
		kind = (enum kind)(kind_end() - 1);
	if (chaos_on(KNOB_VERSIONS) && chaos_random(2)) {
		move_kind(id, kind);
		return;
	}
	chaos_say("server %u knows no %s", id, kind_row(kind)->plural);
	/* Its objects go with the kind on the own hub; at the source it is not served. */
	for (unsigned i = server->count; id == OWN && i-- > 0;)
		if (i < server->count && server->objects[i]->kind == kind)
			server_drop(server, server->objects[i]);
	server->missing = 1u << kind;
	wire_cut(id, false);
	event_post(EVENT_UP, the->now + S(5) + (int64_t)chaos_random(S(60)), id);
}

void kinds_back(unsigned id)
{
	struct server *server = &the->server[id];
	bool stays = chaos_random(2);

	/* It knows the old version again; the new one may stay beside it. */
	for (unsigned i = 0; server->missing & server->newer && i < SERVERS; i++) {
		if (!stays)
			the->server[i].newer = 0;
		wire_cut(i, false);
	}
	server->missing = 0;
	server->misnames = false;
}
