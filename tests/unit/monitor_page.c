/*
 * The page for a browser, without one: every fact is there, no text from elsewhere becomes markup,
 * nothing is fetched or run, and each colour can be read on each ground, light and dark. What only
 * a browser can say (width, the drawn plot) tests/docs/browser.py asks of the page that this
 * program writes to $PAGE_OUT.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "monitor/html.h"
#include "monitor/status.h"
#include "policy/sandbox.h"
#include "tests/unit/config_pool.h"

#define NOW_NS (1000 * 1000000000LL)
#define NOW_US 1767225600000000LL /* 2026-01-01 */
#define HOUR   (3600 * 1000000LL)

/* What a peer or an API object might bring: markup, an end of the style, an attribute's end, a
 * terminal's escape, a text that runs from right to left, a word without a place to break. */
#define HOSTILE                                                                                    \
	"<script src=//x>alert(1)</script></style><img onerror=x>\" onload='y' &lt; "              \
	"\x1b[31m\xe2\x80\xae"                                                                     \
	"txt.exe\xe2\x81\xa6 "
#define LONG_WORD                                                                                  \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaa"

static const struct role_id elector = { ROLE_ELECTOR, 0 }, syncer = { ROLE_SYNCER, 0 };
static const struct role_id shard = { ROLE_REPOINTER, 0 };
static struct us_config config;
static struct status *status;
static struct buf page;

static config_text pool(const char *text)
{
	return config_put(&config, text);
}

static int set_up(void **state)
{
	(void)state;
	memset(&config, 0, sizeof(config));
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.self = 1;
	config.hubs[0].name = pool("hub-a");
	config.hubs[1].name = config.self_name = pool("hub-b");
	config.credentials[CREDENTIAL_ELECTOR].kubeconfig = pool("/k");
	config.worker_count = 2;
	config.shard_size = 8;
	config.workers[0].name = pool("worker-1");
	config.workers[1].name = pool("worker-2");
	config.workers[0].credential.kubeconfig = config.workers[1].credential.kubeconfig =
	    config.credentials[CREDENTIAL_ELECTOR].kubeconfig;
	config.allow_missing = SANDBOX_MLOCK;
	status = status_new(&config);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	status_free(status);
	buf_free(&page);
	return 0;
}

static const char *make_page(const struct fence_view *view)
{
	buf_free(&page);
	page = buf_make(1 << 22);
	status_put_page(status, view, NOW_NS, NOW_US, &page);
	assert_false(page.failed);
	return page.data;
}

static bool says(const char *text)
{
	return strstr(page.data, text) != NULL;
}

/* Everything that a Standby can know, with this text wherever a text comes from elsewhere. */
static void say_all(const char *text)
{
	char kind_name[64];
	struct msg_status_leadership leadership = { .state = STR_LIT("standby"),
		.role = FENCE_STANDBY,
		.term = 4,
		.since_us = NOW_US - 3 * HOUR,
		.armed = true,
		.reason = str_cut(str_of(text), 512),
		.holds = str_cut(str_of(text), 128),
		.operation = str_cut(str_of(text), 64),
		.leader = str_cut(str_of(text), 253) };
	struct msg_status_peer peer = { .class = PEER_SILENT,
		.why = PEER_WHY_TIMEOUT,
		.holder = HOLDER_PEER,
		.phase = PHASE_LEADING,
		.term = 5,
		.since_us = NOW_US - 30 * HOUR,
		.changed_ns = NOW_NS - 1500000000,
		.threshold_ms = 20000 };
	struct msg_status_mirror mirror = { .state = SYNC_STATE_DEGRADED,
		.why = str_cut(str_of(text), 256),
		.objects = 20,
		.blocked = 1,
		.held_deletes = 2,
		.lag_ms = 4200 };
	struct msg_status_kind kind = { .fault = str_cut(str_of(text), 256) };
	struct msg_status_blocked blocked = { .object = str_cut(str_of(text), 512),
		.why = str_cut(str_of(text), 512) };
	struct msg_status_worker worker = { .state = WORKER_DENIED,
		.term = 5,
		.identity = str_cut(str_of(text), 253),
		.since_us = NOW_US - HOUR / 60,
		.detail = str_cut(str_of(text), 256) };
	struct msg_status_credential credential = { .usable = true,
		.subject = str_cut(str_of(text), 253),
		.expires_us = NOW_US + HOUR / 10 };
	struct msg_status_history event = { .time_us = NOW_US - HOUR,
		.from = STR_LIT("STANDBY"),
		.to = str_cut(str_of(text), 32),
		.term = 4,
		.reason = str_cut(str_of(text), 64),
		.text = str_cut(str_of(text), 512) };

	(void)snprintf(kind_name, sizeof(kind_name), "%.63s", text);
	kind.kind = str_cut(str_of(kind_name), 63);
	status_linked(status, elector);
	status_linked(status, syncer);
	status_linked(status, shard);
	status_take_leadership(status, &leadership, NOW_NS);
	status_take_peer(status, &peer);
	status_take_mirror(status, &mirror);
	status_take_kind(status, &kind);
	status_take_blocked(status, &blocked);
	blocked.row = 1;
	blocked.listing = LISTED_HELD;
	status_take_blocked(status, &blocked);
	assert_true(status_take_worker(status, shard, &worker));
	assert_true(status_take_credential(status, elector, &credential));
	status_take_history(status, &event);
	status_take_reload(status, 1, false, (struct str){ text, strlen(text) + 1 });
}

static void every_fact_is_on_the_page(void **state)
{
	static const char *const facts[] = { "hub-b <span class=\"quiet\">does not lead</span>",
		"hub-a <span class=\"good\">claims to lead</span>",
		"<dt>since<dd><time datetime=\"2025-12-30T18:00:00.000Z\">",
		"2025-12-30 18:00:00 UTC</time>, 1 d 6 h ago", "<dt>term<dd>5",
		"<dt>armed<dd class=\"good\">yes", "<dt>complete<dd class=\"bad\">no",
		"<dt>Lease changed<dd>1.5 s ago", "<dt>counts as silent after<dd>20.0 s",
		"<dt>lag<dd>4.2 s", "<dt>deletes held<dd>2",
		"<span class=\"bad\">blocked</span> a-text",
		"<span class=\"care\">held</span> a-text",
		"worker-1 <span class=\"bad\">denied</span>", "follows a-text, term 5",
		"worker-2 <span class=\"bad\">unknown</span>",
		"<li>elector  <span class=\"care\">expires in 6 min 0 s</span>",
		"<li class=\"care\">protection waived: mlock", "STANDBY to a-text, term 4: a-text",
		"<li class=\"bad\">process not connected: observer",
		"no automatic promotion: a-text" };

	(void)state;
	say_all("a-text");
	make_page(NULL);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (!says(facts[i]))
			fail_msg("the page does not say %s: %s", facts[i], page.data);
}

/* On the hub that leads: how long still, and what the Standby says of itself. */
static void the_leaders_page_tells_validity_and_the_standby(void **state)
{
	struct fence_view view = { .role = FENCE_LEADING,
		.term = 5,
		.valid_until_ns = NOW_NS + 8300000000,
		.written_at_ns = NOW_NS - 1,
		.here = true };
	struct msg_status_leadership leadership = { .state = STR_LIT("ACTIVE"),
		.role = FENCE_LEADING,
		.term = 5,
		.since_us = NOW_US - HOUR };
	struct msg_status_peer peer = {
		.standby = true, .armed = true, .complete = true, .lag_ms = 31
	};

	(void)state;
	status_take_leadership(status, &leadership, NOW_NS);
	status_take_peer(status, &peer);
	make_page(&view);
	assert_true(says("hub-b <span class=\"good\">leads</span>"));
	assert_true(says("<dt>valid for<dd>8.3 s"));
	assert_true(says("<dt>since<dd><time datetime=\"2025-12-31T23:00:00.000Z\">"));
	assert_true(says("<dt>armed<dd class=\"good\">yes"));
	assert_true(says("<dt>complete<dd class=\"good\">yes"));
	assert_true(says("Mirror <span class=\"quiet\">on the other hub"));
	view.valid_until_ns = NOW_NS;
	make_page(&view);
	assert_true(says("hub-b <span class=\"quiet\">does not lead</span>"));
}

/* Each tag is one that this page makes, with no attribute that runs or fetches anything. */
static void check_markup(void)
{
	static const char *const tags[] = { "!DOCTYPE", "html", "head", "meta", "title", "style",
		"body", "h1", "h2", "p", "time", "ul", "li", "div", "section", "dl", "dt", "dd",
		"span", "svg", "line", "path", "text", "footer", "a" };

	for (const char *at = strchr(page.data, '<'); at; at = strchr(at + 1, '<')) {
		const char *name = at[1] == '/' ? at + 2 : at + 1, *end = strchr(at, '>');
		size_t n = strcspn(name, " >/\n"), i = 0;

		while (i < sizeof(tags) / sizeof(tags[0]) &&
		       !(strlen(tags[i]) == n && memcmp(tags[i], name, n) == 0))
			i++;
		if (!end || i == sizeof(tags) / sizeof(tags[0]))
			fail_msg("markup that is none of ours: %.60s", at);
		for (const char *c = at; c < end; c++)
			if (memcmp(c, " on", 3) == 0 || memcmp(c, "src=", 4) == 0)
				fail_msg("an attribute that runs or fetches: %.60s", at);
	}
	for (const char *c = page.data; *c; c++)
		if (((unsigned char)*c < 0x20 && *c != '\n') || *c == 0x7f)
			fail_msg("a control character before %.30s", c + 1);
	assert_false(says("\xe2\x80\xae"));
	assert_false(says("\xe2\x81\xa6"));
	assert_false(says("http:"));
	assert_false(says("https:"));
	assert_false(says("url("));
	assert_false(says("@import"));
}

static void hostile_texts_stay_texts(void **state)
{
	(void)state;
	say_all(HOSTILE);
	config.hubs[0].name = pool(HOSTILE);
	config.hubs[1].name = config.self_name = pool(HOSTILE);
	config.workers[0].name = config.workers[1].name = pool(HOSTILE);
	make_page(NULL);
	check_markup();
	assert_true(says("&lt;script src=//x&gt;alert(1)&lt;/script&gt;&lt;/style&gt;&lt;img "
			 "onerror=x&gt;&quot; onload=&#39;y&#39; &amp;lt; ?[31m?txt.exe?"));
}

/* Also with nothing known at all, and in each mode. */
static void the_page_is_whole_in_every_mode(void **state)
{
	(void)state;
	for (config.mode = 0; config.mode < CONFIG_MODE_COUNT; config.mode++) {
		make_page(NULL);
		check_markup();
		assert_true(says("<meta http-equiv=\"refresh\" content=\"5\">"));
		assert_true(says("<meta name=\"viewport\" content=\"width=device-width"));
		assert_non_null(strstr(page.data, "</body>\n</html>\n"));
	}
}

/* --- Colours (WCAG 2: relative luminance, and the ratio of two) ----------------------------------
 */

static double channel(unsigned value)
{
	double c = value / 255.0, x = (c + 0.055) / 1.055, power = 1;

	if (c <= 0.03928)
		return c / 12.92;
	/* x^2.4 = x^2 * x^0.4; the root by bisection needs no libm */
	double low = 0, high = 1;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		power = middle * middle * middle * middle * middle;
		if (power < x * x)
			low = middle;
		else
			high = middle;
	}
	return x * x * low;
}

static double luminance(const char *theme, const char *name)
{
	char key[32];
	const char *at;
	unsigned rgb;

	(void)snprintf(key, sizeof(key), "--%s:#", name);
	at = strstr(theme, key);
	assert_non_null(at);
	rgb = (unsigned)strtoul(at + strlen(key), NULL, 16);
	return 0.2126 * channel(rgb >> 16) + 0.7152 * channel(rgb >> 8 & 255) +
	       0.0722 * channel(rgb & 255);
}

static void every_text_can_be_read_light_and_dark(void **state)
{
	static const char *const inks[] = { "text", "quiet", "good", "bad", "care", "line" };
	static const char *const grounds[] = { "back", "card" };
	const char *themes[2];

	(void)state;
	make_page(NULL);
	themes[0] = strstr(page.data, ":root{");
	themes[1] = strstr(page.data, "prefers-color-scheme:dark");
	assert_non_null(themes[0]);
	assert_non_null(themes[1]);
	for (unsigned theme = 0; theme < 2; theme++)
		for (unsigned ink = 0; ink < 6; ink++)
			for (unsigned ground = 0; ground < 2; ground++) {
				double a = luminance(themes[theme], inks[ink]) + 0.05;
				double b = luminance(themes[theme], grounds[ground]) + 0.05;
				double ratio = a > b ? a / b : b / a;

				if (ratio < 4.5)
					fail_msg("%s on %s, %s: %.2f, expected 4.5", inks[ink],
					    grounds[ground], theme ? "dark" : "light", ratio);
			}
}

/* --- The plot ------------------------------------------------------------------------------------
 */

static const char *plot(const int64_t *ms, unsigned count)
{
	buf_free(&page);
	page = buf_make(1 << 16);
	html_plot(&page, ms, count, 30);
	return page.data;
}

static void the_plot_has_gaps_where_nothing_is_known(void **state)
{
	static const int64_t none[] = { -1, -1 }, gap[] = { 0, 500, -1, -1, 1000, -1 };

	(void)state;
	assert_string_equal(
	    plot(none, 2), "<p class=\"quiet\">no lag is known of the last hour</p>\n");
	assert_non_null(
	    strstr(plot(gap, 6), "<path d=\" M4.0 72.0 h1 L64.0 42.0 M244.0 12.0 h1\"/>"));
	assert_true(says("aria-label=\"lag: at most 1.0 s, now 1.0 s\""));
	assert_true(says("lag, 0 to 1.0 s"));
	assert_true(says("3 min 0 s ago"));
}

static void the_plot_fits_any_lag(void **state)
{
	static const int64_t large[] = { 0, INT64_MAX, 86400000 };

	(void)state;
	assert_non_null(strstr(plot(large, 3), "M4.0 72.0"));
	assert_non_null(strstr(plot(large + 2, 1), "M4.0 20.2")); /* 86,400 s of 100,000 */
}

static void spans_are_told_in_two_units(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} spans[] = { { -5, "0.0 s" }, { 0, "0.0 s" }, { 1299, "1.2 s" }, { 59999, "59.9 s" },
		{ 60000, "1 min 0 s" }, { 3599000, "59 min 59 s" }, { 3600000, "1 h 0 min" },
		{ 86400000, "1 d 0 h" }, { 90000000, "1 d 1 h" } };

	(void)state;
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		struct buf out = buf_make(64);

		html_span(&out, spans[i].ms);
		assert_string_equal(out.data, spans[i].text);
		buf_free(&out);
	}
}

/* It runs only while the hub stands by. */
static void a_syncer_is_missed_where_it_should_run(void **state)
{
	static const struct {
		const char *state;
		enum fence_role role;
		bool missed;
	} states[] = { { "standby", FENCE_STANDBY, true }, { "held", FENCE_STANDBY, false },
		{ "init", FENCE_NONE, false }, { "active", FENCE_LEADING, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct msg_status_leadership m = { .state = str_of(states[i].state),
			.role = states[i].role };

		status_take_leadership(status, &m, NOW_NS);
		make_page(NULL);
		assert_int_equal(says("process not connected: syncer"), states[i].missed);
	}
}

/* The highest of each half minute, an hour of them; from the mirror here, else from the peer. */
static void the_lag_of_an_hour_is_kept(void **state)
{
	struct msg_status_mirror mirror = { .lag_ms = 900 };
	struct msg_status_peer peer = { .standby = true, .lag_ms = 7 };
	int64_t ms[STATUS_LAG_SAMPLES];

	(void)state;
	status_sample_lag(status);
	status_linked(status, syncer);
	status_take_mirror(status, &mirror);
	mirror.lag_ms = 20;
	status_take_mirror(status, &mirror);
	status_sample_lag(status);
	status_sample_lag(status);
	status_unlinked(status, syncer);
	status_take_peer(status, &peer);
	status_sample_lag(status);
	status_sample_lag(status);
	status_lag_samples(status, ms);
	assert_int_equal(ms[STATUS_LAG_SAMPLES - 7], -1);
	assert_int_equal(ms[STATUS_LAG_SAMPLES - 6], -1);
	assert_int_equal(ms[STATUS_LAG_SAMPLES - 5], 900);
	assert_int_equal(ms[STATUS_LAG_SAMPLES - 4], 20);
	assert_int_equal(ms[STATUS_LAG_SAMPLES - 3], 20); /* it was so when that time began */
	assert_int_equal(ms[STATUS_LAG_SAMPLES - 2], 7);
	assert_int_equal(ms[STATUS_LAG_SAMPLES - 1], 7); /* now */
	for (unsigned i = 0; i < STATUS_LAG_SAMPLES; i++)
		status_sample_lag(status);
	status_lag_samples(status, ms);
	assert_int_equal(ms[0], 7);
}

/* For a browser: everything at once, long words without a place to break, an hour of lag. */
static void a_full_page_is_written_for_a_browser(void **state)
{
	const char *path = getenv("PAGE_OUT");
	struct msg_status_mirror mirror = { 0 };
	FILE *file;

	(void)state;
	say_all(LONG_WORD);
	for (unsigned i = 0; i < STATUS_LAG_SAMPLES; i++) {
		mirror.lag_ms = i * i % 5000;
		status_take_mirror(status, &mirror);
		status_sample_lag(status);
	}
	make_page(NULL);
	check_markup();
	file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	assert_true(fputs(page.data, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_fact_is_on_the_page),
		TEST(the_leaders_page_tells_validity_and_the_standby),
		TEST(hostile_texts_stay_texts),
		TEST(the_page_is_whole_in_every_mode),
		TEST(every_text_can_be_read_light_and_dark),
		TEST(the_plot_has_gaps_where_nothing_is_known),
		TEST(the_plot_fits_any_lag),
		TEST(spans_are_told_in_two_units),
		TEST(a_syncer_is_missed_where_it_should_run),
		TEST(the_lag_of_an_hour_is_kept),
		TEST(a_full_page_is_written_for_a_browser),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
