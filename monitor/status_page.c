/*
 * The status as one page for a browser, from a phone up: no script, no request to anywhere, and
 * nothing on it changes anything. What needs a person stands first. Every text goes through
 * html_text, for some of them come from API objects and from the peer. No I/O, no clock. Called by
 * pages.c.
 */
#include <stdio.h>
#include <string.h>

#include "monitor/html.h"
#include "monitor/status.h"
#include "policy/sandbox.h"

struct page {
	const struct status *status;
	const struct us_config *config;
	int64_t now_ns, now_us, left_ns;
	struct buf *out;
};

static const char *at(const struct page *page, config_text text)
{
	return config_text_at(page->config, text);
}

static void number(const struct page *page, const char *name, uint64_t value)
{
	buf_printf(page->out, "<dt>%s<dd>%llu\n", name, (unsigned long long)value);
}

static void yes_or_no(const struct page *page, const char *name, bool yes)
{
	buf_printf(page->out, "<dt>%s<dd class=\"%s\">%s\n", name, yes ? "good" : "bad",
	    yes ? "yes" : "no");
}

static void put_time(const struct page *page, int64_t us)
{
	char word[40];

	status_time_word(us, word);
	if (!word[0])
		return;
	buf_printf(page->out, "<time datetime=\"%s\">%.10s %.8s UTC</time>", word, word, word + 11);
}

/* "2026-01-31 10:20:30 UTC, 3 h 4 min ago" */
static void since(const struct page *page, const char *name, int64_t us)
{
	if (us <= 0)
		return;
	buf_printf(page->out, "<dt>%s<dd>", name);
	put_time(page, us);
	buf_puts(page->out, ", ");
	html_span(page->out, (page->now_us - us) / 1000);
	buf_puts(page->out, " ago\n");
}

static void ago(const struct page *page, const char *name, int64_t then_ns)
{
	if (then_ns <= 0)
		return;
	buf_printf(page->out, "<dt>%s<dd>", name);
	html_span(page->out, (page->now_ns - then_ns) / 1000000);
	buf_puts(page->out, " ago\n");
}

static void span(const struct page *page, const char *name, int64_t ms)
{
	buf_printf(page->out, "<dt>%s<dd>", name);
	html_span(page->out, ms);
	buf_puts(page->out, "\n");
}

/* --- What needs a person ------------------------------------------------------------------------
 */

static void care(const struct page *page, bool bad, const char *what, const char *which)
{
	buf_printf(page->out, "<li class=\"%s\">%s", bad ? "bad" : "care", what);
	html_text(page->out, which);
	buf_puts(page->out, "\n");
}

static void put_silent_processes(const struct page *page)
{
	const struct status *status = page->status;
	bool stands_by = strcmp(status->leadership.state, "standby") == 0;
	char name[64];

	for (unsigned role = 0; role < ROLE_COUNT; role++)
		for (unsigned shard = 0; shard < ROLE_MAX_SHARDS; shard++) {
			struct role_id id = { (uint8_t)role, (uint8_t)shard };

			/* The syncer runs only while this hub stands by; one that is held or
			 * starts does not. */
			if (!status_expects(status, id) || status->linked[role][shard] ||
			    (role == ROLE_SYNCER && status->leadership.known && !stands_by))
				continue;
			(void)snprintf(name, sizeof(name), role == ROLE_REPOINTER ? "%s %u" : "%s",
			    role_name((enum role)role), shard);
			care(page, true, "process not connected: ", name);
		}
}

static void put_cares(const struct page *page)
{
	const struct status *status = page->status;
	const struct status_peer *peer = &status->peer;
	char why[128];

	buf_puts(page->out, "<ul>\n");
	if (!status_is_ready(status, page->now_ns, why))
		care(page, true, "not ready: ", why);
	put_silent_processes(page);
	if (status->reload.count && !status->reload.done)
		care(page, true, "", status->reload.text);
	if (peer->known && peer->class != PEER_OK) {
		(void)snprintf(why, sizeof(why), "%s%s%s", status_class_word(peer->class),
		    peer->why ? ": " : "", status_why_word(peer->why));
		care(page, false, "the peer is ", why);
	}
	if (status->leadership.holds[0])
		care(page, false, "no automatic promotion: ", status->leadership.holds);
	if (status->mirror.known && !status->mirror.complete)
		care(page, false, "the mirror is not complete: ", status->mirror.why);
	for (unsigned i = 0; i < STATUS_MAX_ROWS; i++)
		if (status->kinds[i].known && status->kinds[i].fault[0]) {
			char both[330];

			(void)snprintf(both, sizeof(both), "%s: %s", status->kinds[i].kind,
			    status->kinds[i].fault);
			care(page, true, "kind ", both);
		}
	for (unsigned bit = 1; bit <= SANDBOX_REQUIRED; bit <<= 1)
		if (page->config->allow_missing & bit)
			care(page, false, "protection waived: ", sandbox_protection_name(bit));
	buf_puts(page->out, "</ul>\n");
}

/* --- The two hubs -------------------------------------------------------------------------------
 */

static void put_self(const struct page *page)
{
	const struct status_leadership *l = &page->status->leadership;
	bool leads = page->left_ns > 0;

	buf_puts(page->out, "<section class=\"card\"><h2>");
	html_text(page->out, at(page, page->config->self_name));
	buf_printf(page->out, " <span class=\"%s\">%s</span></h2>\n<dl>\n",
	    leads ? "good" : "quiet", leads ? "leads" : "does not lead");
	if (!l->known) {
		html_fact(page->out, "state", "unknown: the elector has said nothing");
	} else {
		html_fact(page->out, "state", l->state);
		since(page, "since", l->since_us);
		number(page, "term", l->term);
		if (leads)
			span(page, "valid for", page->left_ns / 1000000);
		else if (page->config->mode != CONFIG_REPLICAS) {
			yes_or_no(page, "armed", l->armed);
			yes_or_no(page, "complete", l->complete);
		}
		html_fact(page->out, "last word", l->reason);
		if (l->operation[0])
			html_fact(page->out, "operation", l->operation);
	}
	html_fact(page->out, "configured", status_mode_word(page->config->mode));
	buf_puts(page->out, "</dl></section>\n");
}

static void put_peer(const struct page *page)
{
	const struct status_peer *peer = &page->status->peer;
	bool leads = peer->holder == HOLDER_PEER;

	if (!peer->known || page->config->hub_count != 2)
		return;
	buf_puts(page->out, "<section class=\"card\"><h2>");
	html_text(page->out, at(page, page->config->hubs[1 - page->config->self].name));
	buf_printf(page->out, " <span class=\"%s\">%s</span></h2>\n<dl>\n",
	    leads ? "good" : "quiet", leads ? "claims to lead" : "does not lead");
	since(page, "since", peer->since_us);
	number(page, "term", peer->term);
	html_fact(page->out, "phase", status_phase_word(peer->phase));
	html_fact(page->out, "last look", status_class_word(peer->class));
	ago(page, "Lease changed", peer->changed_ns);
	span(page, "counts as silent after", peer->threshold_ms);
	if (peer->standby && !leads) {
		yes_or_no(page, "armed", peer->armed);
		yes_or_no(page, "complete", peer->complete);
		span(page, "lag", peer->lag_ms);
	}
	buf_puts(page->out, "</dl></section>\n");
}

/* In mode replicas, and for a worker's page. */
static void put_leader(const struct page *page)
{
	const struct status_leadership *l = &page->status->leadership;

	if (page->config->mode != CONFIG_REPLICAS || !l->known || !l->leader[0])
		return;
	buf_puts(page->out, "<section class=\"card\"><h2>Leader</h2><dl>\n");
	html_fact(page->out, "name", l->leader);
	ago(page, "seen", l->leader_seen_ns);
	buf_puts(page->out, "</dl></section>\n");
}

static void put_hub_of_worker(const struct page *page, const char *name, unsigned hub)
{
	html_fact(page->out, name, hub ? at(page, page->config->hubs[hub - 1].name) : "none");
}

static void put_follower(const struct page *page)
{
	const struct status_follower *f = &page->status->follower;

	if (page->config->mode != CONFIG_FOLLOWER)
		return;
	buf_puts(page->out, "<section class=\"card\"><h2>");
	html_text(page->out, at(page, page->config->self_name));
	buf_puts(page->out, "</h2>\n<dl>\n");
	if (!f->known) {
		html_fact(page->out, "state", "unknown: the follower has said nothing");
	} else {
		put_hub_of_worker(page, "follows", f->follows);
		number(page, "term", f->term);
		put_hub_of_worker(page, "handed over", f->handed);
		html_fact(page->out, "connected", f->connected);
		html_fact(page->out, "synced", f->synced);
		for (unsigned i = 0; i < page->config->hub_count; i++) {
			buf_puts(page->out, "<dt>");
			html_text(page->out, at(page, page->config->hubs[i].name));
			buf_puts(page->out, "<dd>");
			html_text(page->out, f->looks[i]);
			buf_puts(page->out, "\n");
		}
	}
	buf_puts(page->out, "</dl></section>\n");
}

/* --- The mirror ---------------------------------------------------------------------------------
 */

static void put_mirror(const struct page *page)
{
	const struct status_mirror *m = &page->status->mirror;
	int64_t samples[STATUS_LAG_SAMPLES];

	if (page->config->mode != CONFIG_ACTIVE && page->config->mode != CONFIG_STANDBY)
		return;
	buf_puts(page->out, "<section class=\"card\"><h2>Mirror");
	buf_printf(page->out, " <span class=\"quiet\">%s</span></h2>\n<dl>\n",
	    m->known ? status_sync_word(m->state) : "on the other hub");
	if (m->known) {
		number(page, "objects", m->objects);
		number(page, "to write", m->pending);
		number(page, "blocked", m->blocked);
		number(page, "deletes held", m->held_deletes);
		span(page, "lag", (int64_t)m->lag_ms);
	}
	buf_puts(page->out, "</dl>\n");
	status_lag_samples(page->status, samples);
	html_plot(page->out, samples, STATUS_LAG_SAMPLES, STATUS_LAG_PERIOD_S);
	buf_puts(page->out, "</section>\n");
}

static void put_listed(const struct page *page)
{
	bool any = false;

	for (unsigned i = 0; i < STATUS_MAX_ROWS; i++) {
		const struct status_blocked *row = &page->status->blocked[i];

		if (!row->object[0])
			continue;
		buf_printf(page->out, "%s<li><span class=\"%s\">%s</span> ",
		    any ? "" : "<h2>Objects that wait or stay out</h2>\n<ul>\n",
		    row->listing == LISTED_BLOCKED ? "bad"
		    : row->listing == LISTED_HELD  ? "care"
						   : "quiet",
		    status_listing_word(row->listing));
		any = true;
		html_text(page->out, row->object);
		buf_puts(page->out, " <span class=\"quiet\">");
		html_text(page->out, row->why);
		buf_puts(page->out, "</span>\n");
	}
	buf_puts(page->out, any ? "</ul>\n" : "");
}

/* --- Workers, credentials, history --------------------------------------------------------------
 */

static void put_workers(const struct page *page)
{
	if (page->config->worker_count == 0)
		return;
	buf_puts(page->out, "<h2>Workers</h2>\n<ul>\n");
	for (unsigned i = 0; i < page->config->worker_count; i++) {
		const struct status_worker *worker = &page->status->workers[i];
		bool good = worker->known && worker->state == WORKER_OK;

		buf_puts(page->out, "<li>");
		html_text(page->out, at(page, page->config->workers[i].name));
		buf_printf(page->out, " <span class=\"%s\">%s</span>", good ? "good" : "bad",
		    status_worker_word(worker));
		if (worker->known && worker->identity[0]) {
			buf_puts(page->out, " follows ");
			html_text(page->out, worker->identity);
			buf_printf(page->out, ", term %llu", (unsigned long long)worker->term);
		}
		if (worker->known && worker->since_us > 0) {
			buf_puts(page->out, " <span class=\"quiet\">for ");
			html_span(page->out, (page->now_us - worker->since_us) / 1000);
			buf_puts(page->out, "</span>");
		}
		buf_puts(page->out, " <span class=\"quiet\">");
		html_text(page->out, worker->detail);
		buf_puts(page->out, "</span>\n");
	}
	buf_puts(page->out, "</ul>\n");
}

/* As `understudyctl status` warns: later than a token that lives an hour is renewed. */
#define SOON_US (600 * 1000000LL)

static void put_expiry(const struct page *page, const struct status_credential *credential)
{
	int64_t left_us = credential->expires_us - page->now_us;

	if (!credential->usable) {
		buf_puts(page->out, " <span class=\"bad\">not usable</span>");
	} else if (credential->expires_us == 0) {
		buf_puts(page->out, " <span class=\"quiet\">does not say when it expires</span>");
	} else {
		buf_printf(page->out, " <span class=\"%s\">",
		    left_us <= 0        ? "bad"
		    : left_us < SOON_US ? "care"
					: "good");
		buf_puts(page->out, left_us <= 0 ? "expired " : "expires in ");
		html_span(page->out, (left_us <= 0 ? -left_us : left_us) / 1000);
		buf_puts(page->out, left_us <= 0 ? " ago</span>" : "</span>");
	}
}

static void put_credentials(const struct page *page)
{
	bool leads = page->left_ns > 0;

	buf_puts(page->out, "<h2>Credentials</h2>\n<ul>\n");
	for (unsigned n = 0; n < CREDENTIAL_LIMIT; n++) {
		const struct status_credential *credential = &page->status->credentials[n];

		if (!config_credential_of(page->config, n))
			continue;
		buf_printf(page->out, "<li>%s ", credential_name(n));
		if (n >= CREDENTIAL_WORKER)
			html_text(
			    page->out, at(page, page->config->workers[n - CREDENTIAL_WORKER].name));
		if (credential->known)
			put_expiry(page, credential);
		else
			buf_printf(page->out, " <span class=\"quiet\">%s</span>",
			    leads && role_holding(n, page->config->shard_size).role == ROLE_SYNCER
				? "not in use while this hub leads"
				: "nothing is known of it");
		buf_puts(page->out, " <span class=\"quiet\">");
		html_text(page->out, credential->subject);
		buf_puts(page->out, "</span>\n");
	}
	buf_puts(page->out, "</ul>\n");
}

/* Newest first. */
static void put_history(const struct page *page)
{
	const struct status *status = page->status;

	if (status->history_count == 0)
		return;
	buf_puts(page->out, "<h2>History</h2>\n<ul>\n");
	for (unsigned i = 0; i < status->history_count && i < STATUS_MAX_HISTORY; i++) {
		const struct status_event *event =
		    &status->history[(status->history_count - 1 - i) % STATUS_MAX_HISTORY];

		buf_puts(page->out, "<li>");
		put_time(page, event->time_us);
		buf_puts(page->out, " ");
		html_text(page->out, event->from);
		if (strcmp(event->from, event->to) != 0) {
			buf_puts(page->out, " to ");
			html_text(page->out, event->to);
		}
		buf_printf(page->out, ", term %llu: ", (unsigned long long)event->term);
		html_text(page->out, event->text[0] ? event->text : event->reason);
		buf_puts(page->out, "\n");
	}
	buf_puts(page->out, "</ul>\n");
}

void status_put_page(const struct status *status, const struct fence_view *view, int64_t now_ns,
    int64_t now_us, struct buf *out)
{
	struct page page = { .status = status,
		.config = status->config,
		.now_ns = now_ns,
		.now_us = now_us,
		.left_ns = view ? fence_view_left_ns(view, now_ns) : 0,
		.out = out };

	html_head(out, at(&page, page.config->self_name));
	buf_puts(out, "<h1>");
	html_text(out, at(&page, page.config->self_name));
	buf_puts(out, "</h1>\n<p class=\"quiet\">");
	put_time(&page, now_us);
	buf_puts(out, ", renewed every 5 s; a controller asks the fence page, not this one</p>\n");
	put_cares(&page);
	buf_puts(out, "<div class=\"cards\">\n");
	if (page.config->mode != CONFIG_FOLLOWER)
		put_self(&page);
	put_peer(&page);
	put_leader(&page);
	put_follower(&page);
	put_mirror(&page);
	buf_puts(out, "</div>\n");
	put_workers(&page);
	put_listed(&page);
	put_credentials(&page);
	put_history(&page);
	buf_puts(out, "<footer><a href=\"/metrics\">metrics</a> <a href=\"/readyz\">readyz</a> "
		      "<a href=\"/leader\">leader</a></footer>\n</body>\n</html>\n");
}
