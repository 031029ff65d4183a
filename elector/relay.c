/*
 * See the header. Called by admin.c with parsed requests, and by messages.c with the syncer's
 * answers. It touches neither machine nor Lease.
 */
#include "elector/relay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "elector/admin_inner.h"
#include "elector/annotations.h"
#include "kube/json.h"

#define PATIENCE_NS      (25 * BASE_NS_PER_S)
#define DIFF_PATIENCE_NS (140 * BASE_NS_PER_S)

/* A hub that leads has no mirror: its peer mirrors it. */
static unsigned put_checks_of(const struct elector *elector, struct machine_check *checks)
{
	bool stands_by = elector->machine.state == STATE_STANDBY;
	bool linked = elector->syncer_linked;

	checks[0] = (struct machine_check){ .ok = stands_by };
	checks[0].name = "state of this hub";
	(void)snprintf(checks[0].value, sizeof(checks[0].value), "%s",
	    machine_state_name(elector->machine.state));
	(void)snprintf(
	    checks[0].limit, sizeof(checks[0].limit), "standby: only a Standby mirrors its peer");
	checks[1] = (struct machine_check){ .ok = linked };
	checks[1].name = "the mirror's process";
	(void)snprintf(
	    checks[1].value, sizeof(checks[1].value), linked ? "connected" : "not connected");
	(void)snprintf(checks[1].limit, sizeof(checks[1].limit), "connected");
	return 2;
}

static bool can_go(struct request *request)
{
	struct machine_check checks[2];
	unsigned count = put_checks_of(request->elector, checks);

	for (unsigned i = 0; i < count; i++) {
		if (checks[i].ok)
			continue;
		admin_begin(request, ADMIN_REFUSED, 0);
		admin_put_checks(request, checks, count);
		admin_end(request, "nothing was changed");
		return false;
	}
	return true;
}

static void forget(struct relay *relay)
{
	buf_free(&relay->rows);
	buf_free(&relay->checks);
	relay->operation = 0;
	relay->client = NULL;
	relay->row_count = relay->check_count = relay->left_out = 0;
}

/* Which list of deletions was seen: 16 hexadecimal digits (H8). */
static bool read_list(struct request *request, uint64_t *list)
{
	bool wanted = strstr(request->row->keys, " list ") != NULL;

	*list = annotations_id(str_of(kube_json_text(request->body, "list")));
	if (!wanted || *list)
		return true;
	admin_refuse(request,
	    "no list of held deletions is named: none is held, or `list` is no id that sync status "
	    "shows");
	return false;
}

static void begin(struct request *request, uint64_t list, bool check)
{
	struct relay *relay = &request->elector->admin.relay;
	struct msg_sync_asked asked = { .operation = base_random_u64() | 1,
		.verb = request->row->sync,
		.dry_run = check,
		.kind = str_of(kube_json_text(request->body, "kind")),
		.list_hash = list };

	if (asked.kind.n > 63) {
		admin_refuse(request, "`kind` is longer than the name of any kind");
		return;
	}
	if (!role_send(request->elector->process, ROLE_SYNCER, 0, MSG_SYNC_ASKED, &asked)) {
		admin_refuse(
		    request, "the mirror's process ended at this moment: nothing was done");
		return;
	}
	relay->operation = asked.operation;
	relay->name = request->row->name;
	relay->client = request->client;
	relay->rows = buf_make(RELAY_MAX_ROWS);
	relay->checks = buf_make(RELAY_MAX_ROWS);
	request->later = true;
	request->outcome = ADMIN_RUNNING;
	admin_wait(request->client, asked.verb == SYNC_DIFF ? DIFF_PATIENCE_NS : PATIENCE_NS);
}

void relay_command(struct request *request)
{
	struct relay *relay = &request->elector->admin.relay;
	bool check = json_is_true(json_object_get(request->body, "check"));
	uint64_t list;

	if (!can_go(request) || !read_list(request, &list))
		return;
	if (relay->operation || !request->client) {
		admin_refuse(
		    request, "another command to the mirror is under way; one is done at a time");
		return;
	}
	if (request->row->consents && !check && !admin_consented(request))
		return;
	if (!admin_within_rate(
		relay->taken_ns, &relay->taken_count, RELAY_PER_MINUTE, base_clock_boot_ns())) {
		admin_refuse(request,
		    "30 commands a minute go to the mirror: nothing was done, try again later");
		return;
	}
	begin(request, list, check);
}

/* --- Answers -----------------------------------------------------------------------------------
 */

static void put_text(struct buf *out, const char *name, struct str text)
{
	buf_printf(out, "\"%s\":", name);
	buf_json_string(out, text);
}

static void put_row(struct relay *relay, const struct msg_sync_row *row)
{
	/* Escaped, a byte becomes six at most. */
	if (relay->rows.len + 6 * (row->object.n + row->text.n) + 64 > RELAY_MAX_ROWS) {
		relay->left_out++;
		return;
	}
	buf_puts(&relay->rows, relay->row_count++ ? ",{" : "{");
	put_text(&relay->rows, "object", row->object);
	buf_puts(&relay->rows, ",");
	put_text(&relay->rows, "text", row->text);
	buf_puts(&relay->rows, "}");
}

static void put_check(struct relay *relay, const struct msg_sync_row *row)
{
	if (relay->check_count == MACHINE_MAX_CHECKS)
		return;
	buf_puts(&relay->checks, relay->check_count++ ? ",{" : "{");
	put_text(&relay->checks, "name", row->object);
	buf_puts(&relay->checks, ",");
	put_text(&relay->checks, "value", row->text);
	buf_puts(&relay->checks, ",");
	put_text(&relay->checks, "limit", row->limit);
	buf_printf(&relay->checks, ",\"ok\":%s}", row->ok ? "true" : "false");
}

/* Nobody waits for it, but the mirror goes on and will say so. */
static void abandon(struct relay *relay)
{
	relay->abandoned[relay->abandoned_count++ % RELAY_ABANDONED] = relay->operation;
}

/* Its place among the abandoned ones, NULL: it is none. */
static uint64_t *abandoned(struct relay *relay, uint64_t operation)
{
	for (unsigned i = 0; operation && i < RELAY_ABANDONED; i++)
		if (relay->abandoned[i] == operation)
			return &relay->abandoned[i];
	return NULL;
}

enum verdict relay_row(struct elector *elector, const struct msg_sync_row *row)
{
	struct relay *relay = &elector->admin.relay;

	if (abandoned(relay, row->operation))
		return VERDICT_FINE;
	if (!relay->operation || row->operation != relay->operation)
		return VERDICT_PEER_BROKEN;
	if (row->type == SYNC_ROW_CHECK)
		put_check(relay, row);
	else
		put_row(relay, row);
	return VERDICT_FINE;
}

static void answer(struct relay *relay, enum admin_outcome outcome, struct str text)
{
	struct buf out = buf_make(3 * RELAY_MAX_ROWS);

	log_info("operation %016" PRIx64 " (%s): %s: %.*s", relay->operation, relay->name,
	    admin_outcome_name(outcome), STR_ARG(text));
	buf_printf(&out, "{\"outcome\":\"%s\",\"operation\":\"%016" PRIx64 "\",\"rows\":[",
	    admin_outcome_name(outcome), relay->operation);
	buf_append(&out, relay->rows.data ? relay->rows.data : "", relay->rows.len);
	buf_printf(&out, "],\"rowsLeftOut\":%u,\"checks\":[", relay->left_out);
	/* Conditions are for who wants to know what is missing (B15). */
	if (outcome != ADMIN_DONE)
		buf_append(&out, relay->checks.data ? relay->checks.data : "", relay->checks.len);
	buf_puts(&out, "],");
	put_text(&out, "text", text);
	buf_puts(&out, "}\n");
	if (relay->client)
		admin_finish(relay->client, buf_str(&out));
	buf_free(&out);
	forget(relay);
}

enum verdict relay_done(struct elector *elector, const struct msg_sync_done *done)
{
	static const enum admin_outcome outcomes[] = { [SYNC_OUTCOME_DONE] = ADMIN_DONE,
		[SYNC_OUTCOME_REFUSED] = ADMIN_REFUSED,
		[SYNC_OUTCOME_UNKNOWN] = ADMIN_UNKNOWN };
	struct relay *relay = &elector->admin.relay;
	uint64_t *late = abandoned(relay, done->operation);

	if (late) {
		*late = 0;
		return VERDICT_FINE;
	}
	if (!relay->operation || done->operation != relay->operation)
		return VERDICT_PEER_BROKEN;
	/* What status showed before it is not what is now (sandbox-rules 5). */
	elector->admin.nonce = base_random_u64();
	elector_show_leadership(elector);
	answer(relay, outcomes[done->outcome], done->text);
	return VERDICT_FINE;
}

void relay_lost(struct elector *elector, const char *why)
{
	struct relay *relay = &elector->admin.relay;

	if (!relay->operation)
		return;
	abandon(relay);
	answer(relay, ADMIN_UNKNOWN, str_of(why));
}

void relay_client_gone(struct elector *elector, const struct admin_client *client)
{
	struct relay *relay = &elector->admin.relay;

	if (!relay->operation || relay->client != client)
		return;
	log_info("operation %016" PRIx64 " (%s): nobody waits for its answer any more",
	    relay->operation, relay->name);
	abandon(relay);
	forget(relay);
}
