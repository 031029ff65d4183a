/*
 * Lays the status out as text (see the header). No I/O, no clock: ages are in the document. Called
 * by commands.c.
 */
#include "ctl/show.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_EVENTS     8
#define LONG_LEASE_MS  300000 /* H17 */
#define EXPIRES_SOON_S 600

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static long long number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static bool is_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* Without C0, DEL and C1 (which is 0xc2 0x80 to 0xc2 0x9f in UTF-8). */
void show_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text, next = (unsigned char)text[1];

		if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
			buf_puts(out, "?");
			text++;
		} else if (c < 0x20 || c == 0x7f) {
			buf_puts(out, "?");
		} else {
			buf_append(out, text, 1);
		}
	}
}

/* Left-aligned in a column; a longer text pushes the rest. */
void show_column(struct buf *out, const char *text, size_t width)
{
	size_t n = strlen(text);

	show_text(out, text);
	do
		buf_puts(out, " ");
	while (++n < width);
}

static void put_duration(struct buf *out, long long ms)
{
	long long s = ms / 1000;

	if (s < 60)
		buf_printf(out, "%lld.%lld s", s, ms % 1000 / 100);
	else if (s < 3600)
		buf_printf(out, "%lldm%02llds", s / 60, s % 60);
	else
		buf_printf(out, "%lldh%02lldm", s / 3600, s / 60 % 60);
}

static void put_label(struct buf *out, const char *label)
{
	buf_printf(out, "  %-14s", label);
}

/* "! what which: more" */
static void warn(struct buf *out, const char *what, const char *which, const char *more)
{
	buf_puts(out, "! ");
	buf_puts(out, what);
	show_text(out, which);
	buf_puts(out, more[0] ? ": " : "");
	show_text(out, more);
	buf_puts(out, "\n");
}

/* --- What is wrong -------------------------------------------------------------------------- */

static void put_silent_processes(const json_t *document, struct buf *out)
{
	/* The syncer runs only while this hub stands by; one that is held or starts does not. */
	bool stands_by =
	    strcmp(text_of(json_object_get(document, "leadership"), "state"), "standby") == 0;
	const json_t *process;
	size_t i;

	json_array_foreach(json_object_get(document, "processes"), i, process)
	{
		char name[96];

		if (is_true(process, "connected") ||
		    (!stands_by && strcmp(text_of(process, "name"), "syncer") == 0))
			continue;
		if (strcmp(text_of(process, "name"), "repointer") == 0)
			(void)snprintf(
			    name, sizeof(name), "repointer %lld", number_of(process, "shard"));
		else
			(void)snprintf(name, sizeof(name), "%.80s", text_of(process, "name"));
		warn(out, "process not connected: ", name, "");
	}
}

/* -1: no time, or of another form than the document's. */
static long long seconds_of(const char *text)
{
	struct tm tm = { 0 };

	return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? (long long)timegm(&tm) : -1;
}

/* Later than the kubelet renews a token that lives an hour, so that it is true when it is said; the
 * log has warned before. */
static void warn_of_expiry(
    const json_t *document, const json_t *credential, const char *name, struct buf *out)
{
	long long now = seconds_of(text_of(document, "time"));
	long long end = seconds_of(text_of(credential, "expires"));

	if (now < 0 || end < 0 || end - now >= EXPIRES_SOON_S)
		return;
	warn(out, end > now ? "expires within minutes: credential " : "has expired: credential ",
	    name, text_of(credential, "worker"));
}

/* One line for all kinds that have one fault: a peer that is gone is not fourteen things wrong. */
static void warn_of_kinds(const json_t *kinds, struct buf *out)
{
	const json_t *kind, *other;
	char which[160], more[32];
	size_t i, k, same;

	json_array_foreach(kinds, i, kind)
	{
		const char *fault = text_of(kind, "fault");
		bool told = false;

		same = 0;
		json_array_foreach(kinds, k, other)
		{
			bool equal = strcmp(text_of(other, "fault"), fault) == 0;

			told |= equal && k < i;
			same += equal;
		}
		if (!fault[0] || told)
			continue;
		(void)snprintf(more, sizeof(more), " and %zu more", same - 1);
		(void)snprintf(
		    which, sizeof(which), "%.120s%s", text_of(kind, "kind"), same > 1 ? more : "");
		warn(out, "kind ", which, fault);
	}
}

static void put_warnings(const json_t *document, struct buf *out)
{
	const json_t *peer = json_object_get(document, "peer");
	const json_t *mirror = json_object_get(document, "mirror"), *item;
	const json_t *reload = json_object_get(document, "reload");
	size_t i;

	if (json_is_object(reload) && !is_true(reload, "done"))
		warn(out, "", text_of(reload, "text"), "");
	if (!is_true(document, "ready"))
		warn(out, "not ready: ", text_of(document, "notReady"), "");
	put_silent_processes(document, out);
	if (json_is_object(peer) && strcmp(text_of(peer, "class"), "ok") != 0)
		warn(out, "the peer is ", text_of(peer, "class"), text_of(peer, "why"));
	if (number_of(peer, "leaseMs") > LONG_LEASE_MS)
		warn(out, "the peer's Lease lasts more than 300 s: so long nobody takes over", "",
		    "");
	if (json_is_object(mirror) && !is_true(mirror, "complete"))
		warn(out, "the mirror is not complete", "", "");
	if (text_of(json_object_get(document, "leadership"), "holdsPromotion")[0])
		warn(out, "no automatic promotion: ",
		    text_of(json_object_get(document, "leadership"), "holdsPromotion"), "");
	warn_of_kinds(json_object_get(document, "kinds"), out);
	json_array_foreach(json_object_get(document, "credentials"), i, item)
	{
		if (json_is_false(json_object_get(item, "usable")))
			warn(out, "no usable credential ", text_of(item, "name"),
			    text_of(item, "worker"));
		else
			warn_of_expiry(document, item, text_of(item, "name"), out);
	}
}

/* --- The facts ------------------------------------------------------------------------------ */

static void put_follows(const json_t *follower, struct buf *out)
{
	if (!text_of(follower, "follows")[0]) {
		buf_puts(out, "follows no hub yet");
		return;
	}
	buf_puts(out, "follows ");
	show_text(out, text_of(follower, "follows"));
	buf_printf(out, ", term %lld", number_of(follower, "term"));
}

/* A worker: whom it follows and why, what its own software reads. */
static void put_follower(const json_t *document, struct buf *out)
{
	const json_t *follower = json_object_get(document, "follower"), *look;
	const char *handed = text_of(follower, "handedOver");
	size_t i;

	if (!json_is_object(follower))
		return;
	put_label(out, "handed over");
	show_text(out, handed[0] ? handed : "nothing");
	buf_printf(out, "; no term below %lld is followed\n", number_of(follower, "maxTerm"));
	if (text_of(follower, "pending")[0]) {
		put_label(out, "pending");
		show_text(out, text_of(follower, "pending"));
		buf_printf(out, " claims to lead, confirmed by %lld of %lld looks\n",
		    number_of(follower, "confirmations"),
		    number_of(follower, "confirmationsNeeded"));
	}
	put_label(out, "conditions");
	buf_puts(out, "ControllerConnected ");
	show_text(out, text_of(follower, "controllerConnected"));
	buf_puts(out, ", ControllerEndpointSynced ");
	show_text(out, text_of(follower, "controllerEndpointSynced"));
	buf_puts(out, "\n");
	json_array_foreach(json_object_get(follower, "looks"), i, look)
	{
		buf_puts(out, "  ");
		show_column(out, text_of(look, "hub"), 14);
		show_text(out, text_of(look, "look"));
		buf_puts(out, "\n");
	}
	if (text_of(follower, "operator")[0]) {
		put_label(out, "operator");
		show_text(out, text_of(follower, "operator"));
		buf_puts(out, "\n");
	}
}

static void put_head(const json_t *document, struct buf *out)
{
	const json_t *leadership = json_object_get(document, "leadership");

	show_text(out, text_of(document, "identity"));
	buf_puts(out, "  ");
	if (json_is_object(leadership)) {
		show_text(out, text_of(leadership, "state"));
		buf_puts(out, "  since ");
		show_text(out, text_of(leadership, "since"));
	} else if (json_is_object(json_object_get(document, "follower"))) {
		put_follows(json_object_get(document, "follower"), out);
	} else {
		buf_puts(out, "state unknown");
	}
	buf_puts(out, "\n");
}

static void put_leadership(const json_t *document, struct buf *out)
{
	const json_t *leadership = json_object_get(document, "leadership");
	const json_t *fence = json_object_get(document, "fence");

	put_label(out, "now");
	show_text(out, text_of(document, "time"));
	buf_puts(out, ", configured as ");
	show_text(out, text_of(document, "mode"));
	buf_puts(out, "\n");
	if (json_is_object(leadership)) {
		put_label(out, "role");
		show_text(out, text_of(leadership, "role"));
		buf_printf(out, ", term %lld, led term %lld\n", number_of(leadership, "term"),
		    number_of(leadership, "ledTerm"));
		if (text_of(leadership, "leader")[0]) {
			put_label(out, "leader");
			show_text(out, text_of(leadership, "leader"));
			buf_puts(out, ", seen ");
			put_duration(out, number_of(leadership, "leaderSeenAgoMs"));
			buf_puts(out, " ago\n");
		}
		put_label(out, "reason");
		show_text(out, text_of(leadership, "reason"));
		buf_puts(out, "\n");
		if (text_of(leadership, "operation")[0]) {
			put_label(out, "operation");
			show_text(out, text_of(leadership, "operation"));
			buf_puts(out, " is under way\n");
		}
	}
	put_label(out, "fence page");
	if (!json_is_object(fence)) {
		buf_puts(out, "none\n");
		return;
	}
	if (is_true(fence, "leading")) {
		buf_printf(out, "open, term %lld, valid for ", number_of(fence, "term"));
		put_duration(out, number_of(fence, "remainingMs"));
	} else {
		buf_puts(out, "closed");
	}
	buf_puts(out, "\n");
}

static void put_peer(const json_t *document, struct buf *out)
{
	const json_t *leadership = json_object_get(document, "leadership");
	const json_t *peer = json_object_get(document, "peer");

	if (!json_is_object(peer))
		return;
	put_label(out, "peer");
	show_text(out, text_of(peer, "identity"));
	buf_puts(out, " ");
	show_text(out, text_of(peer, "class"));
	buf_puts(out, ", phase ");
	show_text(out, text_of(peer, "phase"));
	buf_puts(out, ", holder ");
	show_text(out, text_of(peer, "holder"));
	buf_printf(out, ", term %lld, led term %lld\n", number_of(peer, "term"),
	    number_of(peer, "ledTerm"));
	put_label(out, "peer's Lease");
	if (json_is_integer(json_object_get(peer, "ageMs"))) {
		buf_puts(out, "last change ");
		put_duration(out, number_of(peer, "ageMs"));
		buf_puts(out, " ago, threshold ");
		put_duration(out, number_of(peer, "thresholdMs"));
	} else {
		buf_puts(out, "never seen");
	}
	buf_puts(out, "\n");
	if (strcmp(text_of(leadership, "role"), "standby") != 0)
		return;
	put_label(out, "armed");
	buf_printf(out, "%s, record %s\n", is_true(leadership, "armed") ? "yes" : "NO",
	    is_true(leadership, "complete") ? "complete" : "incomplete");
}

void show_workers(const json_t *document, struct buf *out)
{
	const json_t *workers = json_object_get(document, "workers"), *worker;
	size_t i, widest = 6;

	if (json_array_size(workers) == 0)
		return;
	json_array_foreach(workers, i, worker)
	{
		size_t n = strlen(text_of(worker, "name"));

		widest = n > widest ? n : widest;
	}
	show_column(out, "WORKER", widest + 2);
	buf_puts(out, "STATE        TERM      ACTIVE            SINCE\n");
	json_array_foreach(workers, i, worker)
	{
		char term[32];

		(void)snprintf(term, sizeof(term), "%lld", number_of(worker, "term"));
		show_column(out, text_of(worker, "name"), widest + 2);
		show_column(out, text_of(worker, "state"), 13);
		show_column(out, term, 10);
		if (text_of(worker, "since")[0]) {
			show_column(out, text_of(worker, "identity"), 18);
			show_text(out, text_of(worker, "since"));
		} else {
			show_text(out, text_of(worker, "identity"));
		}
		if (text_of(worker, "detail")[0]) {
			buf_puts(out, "\n    ");
			show_text(out, text_of(worker, "detail"));
		}
		buf_puts(out, "\n");
	}
}

/* The document has the newest first. */
static void put_history(const json_t *document, size_t most, const char *indent, struct buf *out)
{
	const json_t *event;
	size_t i;

	json_array_foreach(json_object_get(document, "history"), i, event)
	{
		if (i == most)
			break;
		buf_puts(out, indent);
		show_text(out, text_of(event, "time"));
		buf_puts(out, "  ");
		show_text(out, text_of(event, "from"));
		buf_puts(out, " -> ");
		show_text(out, text_of(event, "to"));
		buf_printf(out, "  term %lld  ", number_of(event, "term"));
		show_text(out, text_of(event, "reason"));
		if (text_of(event, "text")[0]) {
			buf_puts(out, ": ");
			show_text(out, text_of(event, "text"));
		}
		buf_puts(out, "\n");
	}
}

void show_history(const json_t *document, struct buf *out)
{
	put_history(document, json_array_size(json_object_get(document, "history")), "", out);
}

void show_hubs(const json_t *document, struct buf *out)
{
	put_head(document, out);
	put_warnings(document, out);
	put_leadership(document, out);
	put_peer(document, out);
	show_mirror_lines(document, out);
}

void show_status(const json_t *document, struct buf *out)
{
	show_hubs(document, out);
	put_follower(document, out);
	if (json_array_size(json_object_get(document, "workers")))
		buf_puts(out, "\n");
	show_workers(document, out);
	show_listed(document, NULL, 20, out);
	if (json_array_size(json_object_get(document, "history")))
		buf_puts(out, "\nLAST TRANSITIONS\n");
	put_history(document, MAX_EVENTS, "  ", out);
}
