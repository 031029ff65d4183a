/*
 * The answers of the HTTP listener (see the header). /leader reads the fence page itself, so it
 * says what a controller beside us would see; still it is our word, and no fence (F35).
 * Pitfall: P97.
 */
#include "monitor/pages.h"

#include <string.h>

#include "monitor/derive.h"

#define PLAIN "text/plain; charset=utf-8"

bool pages_look_at_fence(const struct monitor *monitor, struct fence_view *view)
{
	return monitor->fence.words && fence_read(&monitor->fence, view);
}

static void answer_metrics(
    struct monitor *monitor, int64_t now_ns, int64_t now_us, struct http_answer *answer)
{
	(void)now_us;
	answer->type = "text/plain; version=0.0.4; charset=utf-8";
	derive_metrics(monitor, now_ns);
	metrics_put(monitor->metrics, &answer->body);
}

/* That this runs is the answer. */
static void answer_livez(
    struct monitor *monitor, int64_t now_ns, int64_t now_us, struct http_answer *answer)
{
	(void)monitor;
	(void)now_ns;
	(void)now_us;
	buf_puts(&answer->body, "ok\n");
}

static void answer_readyz(
    struct monitor *monitor, int64_t now_ns, int64_t now_us, struct http_answer *answer)
{
	char why[128];

	(void)now_us;
	if (status_is_ready(monitor->status, now_ns, why)) {
		buf_puts(&answer->body, "ok\n");
		return;
	}
	answer->status = 503;
	buf_printf(&answer->body, "not ready: %s\n", why);
}

/* Who leads instead, and how old that knowledge is: for clients that look for the leader. */
static void put_leader(const struct monitor *monitor, int64_t now_ns, struct buf *out)
{
	const struct status_leadership *l = &monitor->status->leadership;
	int64_t age_ns = now_ns - l->leader_seen_ns;

	if (!l->known || !l->leader[0])
		return;
	buf_puts(out, ",\"leader\":");
	buf_json_string(out, str_of(l->leader));
	buf_printf(
	    out, ",\"leaderSeenAgoMs\":%lld", (long long)(age_ns > 0 ? age_ns / 1000000 : 0));
}

static void answer_leader(
    struct monitor *monitor, int64_t now_ns, int64_t now_us, struct http_answer *answer)
{
	struct fence_view view = { 0 };
	int64_t left_ns = 0;
	const char *why = NULL;

	(void)now_us;
	answer->type = "application/json";
	if (!monitor->fence.words)
		why = "there is no fence page";
	else if (!fence_read(&monitor->fence, &view))
		why = "the fence page is being written";
	else if ((left_ns = fence_view_left_ns(&view, now_ns)) == 0)
		why = "this hub is not the leader";
	if (!why) {
		buf_printf(&answer->body, "{\"term\":%llu,\"remainingMs\":%lld}\n",
		    (unsigned long long)view.term, (long long)(left_ns / 1000000));
		return;
	}
	answer->status = 503;
	buf_printf(&answer->body, "{\"leading\":false,\"reason\":\"%s\"", why);
	put_leader(monitor, now_ns, &answer->body);
	buf_puts(&answer->body, "}\n");
}

static void answer_root(
    struct monitor *monitor, int64_t now_ns, int64_t now_us, struct http_answer *answer)
{
	struct fence_view view;
	bool is_seen = pages_look_at_fence(monitor, &view);

	answer->type = "text/html; charset=utf-8";
	status_put_page(monitor->status, is_seen ? &view : NULL, now_ns, now_us, &answer->body);
}

static const struct {
	const char *path;
	void (*answer)(struct monitor *, int64_t, int64_t, struct http_answer *);
} pages[] = {
	{ "/metrics", answer_metrics },
	{ "/livez", answer_livez },
	{ "/readyz", answer_readyz },
	{ "/leader", answer_leader },
	{ "/", answer_root },
};

void pages_answer(struct monitor *monitor, const char *path, int64_t now_ns, int64_t now_us,
    struct http_answer *answer)
{
	answer->status = 200;
	answer->type = PLAIN;
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (strcmp(path, pages[i].path) == 0) {
			pages[i].answer(monitor, now_ns, now_us, answer);
			return;
		}
	answer->status = 404;
	buf_puts(&answer->body, "not found; there are /metrics, /livez, /readyz, /leader and /\n");
}
