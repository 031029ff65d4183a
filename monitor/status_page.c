/*
 * The status as a small page for a browser: the first look, no more; `understudyctl status` says
 * all of it. Every text is escaped, for some of them come from API objects. No script, no request
 * to anywhere. No I/O, no clock. Called by pages.c.
 */
#include <stdarg.h>

#include "monitor/status.h"

static void put_text(struct buf *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<': buf_puts(out, "&lt;"); break;
		case '>': buf_puts(out, "&gt;"); break;
		case '&': buf_puts(out, "&amp;"); break;
		case '"': buf_puts(out, "&quot;"); break;
		default: buf_append(out, text, 1);
		}
}

static void row(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "<tr><th>%s<td>", name);
	put_text(out, value);
	buf_puts(out, "\n");
}

__attribute__((format(printf, 3, 4))) static void row_of(
    struct buf *out, const char *name, const char *format, ...)
{
	char value[256];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(value, sizeof(value), format, arguments);
	va_end(arguments);
	row(out, name, value);
}

static void put_leadership(const struct status *status, int64_t now_ns, struct buf *out)
{
	const struct status_leadership *l = &status->leadership;

	if (!l->known) {
		row(out, "state", "unknown: the elector has said nothing");
		return;
	}
	row(out, "state", l->state);
	row_of(out, "term", "%llu", (unsigned long long)l->term);
	row(out, "reason", l->reason);
	if (l->leader[0])
		row_of(out, "leader", "%s, seen %.1f s ago", l->leader,
		    (double)(now_ns - l->leader_seen_ns) / 1e9);
	if (status->config->mode != CONFIG_REPLICAS)
		row(out, "armed", l->armed ? "yes" : "no");
}

static void put_peer(const struct status *status, int64_t now_ns, struct buf *out)
{
	const struct status_peer *peer = &status->peer;

	if (!peer->known)
		return;
	row_of(out, "peer", "%s %s, holder %s, term %llu", status_class_word(peer->class),
	    status_why_word(peer->why), status_holder_word(peer->holder),
	    (unsigned long long)peer->term);
	if (peer->changed_ns > 0)
		row_of(out, "peer's Lease changed", "%.1f s ago, threshold %.1f s",
		    (double)(now_ns - peer->changed_ns) / 1e9, peer->threshold_ms / 1e3);
}

static void put_mirror(const struct status *status, struct buf *out)
{
	const struct status_mirror *mirror = &status->mirror;

	if (mirror->known)
		row_of(out, "mirror", "%s, %s, %u objects, %u pending, %u blocked, lag %.3f s",
		    status_sync_word(mirror->state), mirror->complete ? "complete" : "incomplete",
		    mirror->objects, mirror->pending, mirror->blocked,
		    (double)mirror->lag_ms / 1e3);
}

static void put_workers(const struct status *status, struct buf *out)
{
	const struct us_config *config = status->config;

	if (config->worker_count == 0)
		return;
	buf_puts(out, "</table>\n<h2>Workers</h2>\n<table>\n");
	for (unsigned i = 0; i < config->worker_count; i++) {
		const struct status_worker *worker = &status->workers[i];

		buf_puts(out, "<tr><th>");
		put_text(out, config_text_at(config, config->workers[i].name));
		buf_printf(out, "<td>%s<td>term %llu<td>", status_worker_word(worker),
		    (unsigned long long)worker->term);
		put_text(out, worker->identity);
		buf_puts(out, "<td>");
		put_text(out, worker->detail);
		buf_puts(out, "\n");
	}
}

void status_put_page(
    const struct status *status, const struct fence_view *view, int64_t now_ns, struct buf *out)
{
	const char *self = config_text_at(status->config, status->config->self_name);
	int64_t left_ns = view ? fence_view_left_ns(view, now_ns) : 0;

	buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"refresh\" content=\"5\">\n<title>");
	put_text(out, self);
	buf_puts(out, " - understudy</title>\n<style>body{font:1em sans-serif;margin:2em}"
		      "th{text-align:left;padding-right:2em}td{padding-right:1em}</style>\n<h1>");
	put_text(out, self);
	buf_puts(out, "</h1>\n<table>\n");
	row(out, "mode", status_mode_word(status->config->mode));
	put_leadership(status, now_ns, out);
	row_of(out, "fence page", left_ns > 0 ? "leading for %.1f s more" : "not leading",
	    (double)left_ns / 1e9);
	put_peer(status, now_ns, out);
	put_mirror(status, out);
	put_workers(status, out);
	buf_puts(out,
	    "</table>\n<p><a href=\"/metrics\">metrics</a> <a href=\"/readyz\">readyz</a> "
	    "<a href=\"/leader\">leader</a>\n</html>\n");
}
