/*
 * Markup of the status page (see the header). The style stands here as text, because the page asks
 * nobody for anything else: no script, no font, no image. tests/unit/monitor_page.c reckons the
 * contrasts from it. No I/O, no clock. Called by status_page.c.
 */
#include "monitor/html.h"

#include <string.h>

void html_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		const unsigned char *c = (const unsigned char *)text;

		/* U+202A to U+202E and U+2066 to U+2069 */
		if (c[0] == 0xe2 && ((c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
					(c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9))) {
			buf_puts(out, "?");
			text += 2;
			continue;
		}
		switch (*text) {
		case '<': buf_puts(out, "&lt;"); break;
		case '>': buf_puts(out, "&gt;"); break;
		case '&': buf_puts(out, "&amp;"); break;
		case '"': buf_puts(out, "&quot;"); break;
		case '\'': buf_puts(out, "&#39;"); break;
		default:
			if (*c < 0x20 || *c == 0x7f)
				buf_puts(out, "?");
			else
				buf_append(out, text, 1);
		}
	}
}

void html_span(struct buf *out, int64_t ms)
{
	long long s = ms > 0 ? (long long)ms / 1000 : 0;

	if (s < 60)
		buf_printf(out, "%lld.%lld s", s, ms > 0 ? (long long)ms % 1000 / 100 : 0);
	else if (s < 3600)
		buf_printf(out, "%lld min %lld s", s / 60, s % 60);
	else if (s < 86400)
		buf_printf(out, "%lld h %lld min", s / 3600, s / 60 % 60);
	else
		buf_printf(out, "%lld d %lld h", s / 86400, s / 3600 % 24);
}

void html_fact(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "<dt>%s<dd>", name);
	html_text(out, value);
	buf_puts(out, "\n");
}

static const char style[] =
    ":root{color-scheme:light dark;--back:#ffffff;--card:#f3f4f6;--text:#1b1d20;--quiet:#50555c;"
    "--good:#0b6430;--bad:#a8071a;--care:#7a4a00;--line:#2456b0}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#121417;--card:#1e2126;--text:#e7e9ec;"
    "--quiet:#aab0b8;--good:#74d694;--bad:#ff9a90;--care:#f5c261;--line:#8ab4ff}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:.75rem;max-width:64rem;background:var(--back);color:var(--text);"
    "font:1rem/1.45 system-ui,sans-serif;overflow-wrap:anywhere}\n"
    "h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.05rem;margin:1.2rem 0 .4rem}\n"
    ".cards{display:grid;gap:.6rem;margin-top:.6rem;grid-template-columns:repeat(auto-fit,minmax("
    "min(20rem,100%),"
    "1fr))}\n"
    ".card{background:var(--card);border-radius:.4rem;padding:.6rem .8rem}\n"
    ".card h2{margin:0 0 .3rem}\n"
    "dl{display:grid;grid-template-columns:minmax(5rem,max-content) 1fr;gap:.1rem .8rem;margin:0}\n"
    "dt{color:var(--quiet)}dd{margin:0}\n"
    "ul{list-style:none;margin:0;padding:0}li{padding:.25rem 0}\n"
    "li+li{border-top:1px solid var(--card)}\n"
    ".good{color:var(--good)}.bad{color:var(--bad);font-weight:600}"
    ".care{color:var(--care)}.quiet,time{color:var(--quiet)}\n"
    "svg{display:block;width:100%;height:auto}svg path{fill:none;stroke:var(--line);"
    "stroke-width:1.5}svg text{fill:var(--quiet);font-size:11px}svg line{stroke:var(--quiet);"
    "stroke-width:.5}\n"
    "a{color:var(--line)}footer{margin-top:1.2rem}footer a{margin-right:1rem}\n";

void html_head(struct buf *out, const char *title)
{
	buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"refresh\" content=\"5\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<title>");
	html_text(out, title);
	buf_puts(out, " - understudy</title>\n<style>\n");
	buf_puts(out, style);
	buf_puts(out, "</style>\n</head>\n<body>\n");
}

#define PLOT_W    300
#define PLOT_H    60
#define PLOT_LEFT 4
#define PLOT_TOP  12
/* Paths are drawn in tenths. */
#define TENTHS(n) ((int64_t)(n)*10)

/* The scale's end: 1, 2 or 5 times a power of ten, in ms, not below 1 s. */
static int64_t nice_end(int64_t most)
{
	static const int steps[] = { 1, 2, 5 };
	int64_t power = 1000;

	for (; power < INT64_MAX / 100; power *= 10)
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
			if (most <= power * steps[i])
				return power * steps[i];
	return most;
}

static void put_path(struct buf *out, const int64_t *ms, unsigned count, int64_t end)
{
	bool is_drawing = false;

	buf_puts(out, "<path d=\"");
	for (unsigned i = 0; i < count; i++) {
		int64_t x = TENTHS(PLOT_LEFT) + i * TENTHS(PLOT_W) / (count > 1 ? count - 1 : 1);
		/* Not in integers: a lag may be anything. */
		int64_t y = TENTHS(PLOT_TOP + PLOT_H) -
			    (int64_t)((double)ms[i] / (double)end * TENTHS(PLOT_H));

		if (ms[i] >= 0)
			buf_printf(out, "%s%lld.%lld %lld.%lld", is_drawing ? " L" : " M",
			    (long long)x / 10, (long long)x % 10, (long long)y / 10,
			    (long long)y % 10);
		/* A lone sample is a dot. */
		if (ms[i] >= 0 && !is_drawing)
			buf_puts(out, " h1");
		is_drawing = ms[i] >= 0;
	}
	buf_puts(out, "\"/>");
}

void html_plot(struct buf *out, const int64_t *ms, unsigned count, unsigned period_s)
{
	int64_t most = 0, last = -1, end;
	unsigned known = 0;

	for (unsigned i = 0; i < count; i++) {
		if (ms[i] < 0)
			continue;
		known++;
		last = ms[i];
		most = ms[i] > most ? ms[i] : most;
	}
	if (!known) {
		buf_puts(out, "<p class=\"quiet\">no lag is known of the last hour</p>\n");
		return;
	}
	end = nice_end(most);
	buf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"lag: at most ",
	    PLOT_LEFT + PLOT_W + 4, PLOT_TOP + PLOT_H + 14);
	html_span(out, most);
	buf_puts(out, ", now ");
	html_span(out, last);
	buf_printf(out, "\"><line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>", PLOT_LEFT,
	    PLOT_TOP + PLOT_H, PLOT_LEFT + PLOT_W, PLOT_TOP + PLOT_H);
	put_path(out, ms, count, end);
	buf_printf(out, "<text x=\"%d\" y=\"9\">lag, 0 to ", PLOT_LEFT);
	html_span(out, end);
	buf_puts(out, "; at most ");
	html_span(out, most);
	buf_printf(out, "</text><text x=\"%d\" y=\"%d\">", PLOT_LEFT, PLOT_TOP + PLOT_H + 12);
	html_span(out, (int64_t)count * period_s * 1000);
	buf_printf(out, " ago</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">now</text></svg>\n",
	    PLOT_LEFT + PLOT_W, PLOT_TOP + PLOT_H + 12);
}
