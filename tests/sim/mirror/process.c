/*
 * One life of the syncer, from main to exit, in virtual time: its clocks, timers, links and
 * messages; and the elector beside it, by its message contract: grants, pauses, a drain, a rejoin
 * (H9, C5, C12, H3). It must not know what the syncer does with them.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "syncer/judge.h"
#include "syncer/syncer.h"
#include "tests/sim/mirror/mirror.h"
#include "tests/sim/no_metric.h"

int syncer_main(int argc, char **argv); /* main of syncer/main.o (Makefile) */

static struct us_config config;
static struct link to_elector = { .self = { ROLE_SYNCER, 0 }, .peer = { ROLE_ELECTOR, 0 } };

/* --- base ----------------------------------------------------------------------------------- */

int64_t base_clock_boot_ns(void)
{
	return the->now;
}

int64_t base_clock_wall_us(void)
{
	return 1767225600000000 + the->now / 1000;
}

uint64_t base_random_u64(void)
{
	return chaos_random(UINT64_MAX) | 1;
}

void log_write(enum log_level level, const char *format, ...)
{
	char text[600];
	va_list list;

	if (!the->trace)
		return;
	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	chaos_say("  %s%s", level == LOG_DEBUG ? ". " : level == LOG_INFO ? "" : "! ", text);
}

/* What a line is about stands in no trace. */
void log_term(uint64_t term)
{
	(void)term;
}

void log_operation(const char *id)
{
	(void)id;
}

/* --- ipc/loop.h ----------------------------------------------------------------------------- */

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
	(void)loop;
	if (!timer->slot)
		return;
	the->timers[timer->slot - 1] = the->timers[--the->timer_count];
	the->timers[timer->slot - 1]->slot = timer->slot;
	timer->slot = 0;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t at_ns)
{
	loop_timer_cancel(loop, timer);
	CHECK(the->timer_count < sizeof(the->timers) / sizeof(the->timers[0]));
	timer->at_ns = at_ns;
	the->timers[the->timer_count++] = timer;
	timer->slot = the->timer_count;
}

static struct loop_timer *earliest(void)
{
	struct loop_timer *first = NULL;

	for (unsigned i = 0; i < the->timer_count; i++)
		if (!first || the->timers[i]->at_ns < first->at_ns)
			first = the->timers[i];
	return first;
}

int64_t process_next_timer(void)
{
	struct loop_timer *timer = earliest();

	return timer ? timer->at_ns : NEVER;
}

bool process_fire_timer(int64_t until)
{
	struct loop_timer *timer = earliest();

	if (!timer || timer->at_ns > until)
		return false;
	loop_timer_cancel(NULL, timer);
	if (timer->at_ns > the->now)
		the->now = timer->at_ns;
	timer->fire(timer->arg, the->now);
	return true;
}

/* --- ipc/role.h ----------------------------------------------------------------------------- */

static config_text put(const char *text)
{
	static uint32_t used;
	uint32_t at = text ? used : 0;

	used = text ? used + (uint32_t)strlen(text) + 1 : 1;
	CHECK(used < CONFIG_POOL_BYTES);
	if (text)
		memcpy(config.pool + at, text, strlen(text) + 1);
	return at;
}

/* A core kind that is chosen by a label, and one with status that may own it and is written after
 * it; a kind of the set is left out, and one object. */
static void list_kinds(void)
{
	config.mirror_label = (struct config_label){ put("team"), put("shop") };
	config.kinds[0] = (struct config_kind){ .version = put("v1"),
		.resource = put("configmaps"),
		.kind = put("ConfigMap"),
		.term_count = 1,
		.terms = { { put("app"), put("shop") } } };
	config.kinds[1] = (struct config_kind){ .group = put("shop.example.com"),
		.version = put("v1"),
		.resource = put("widgets"),
		.kind = put("Widget"),
		.status = 1 };
	config.kind_count = 2;
	config.skips[0] =
	    (struct config_skip){ put("workerserviceimports"), put("worker.kubeslice.io"), 0, 0 };
	config.skips[1] = (struct config_skip){ put("widgets"), put("shop.example.com"),
		put("p-blue"), put("b") };
	config.skip_count = 2;
}

void process_configure(bool listed)
{
	memset(&config, 0, sizeof(config));
	(void)put(NULL);
	config.mirror_set = CONFIG_MIRROR_KUBESLICE;
	config.mirror_window =
	    chaos_on(KNOB_TIGHT) && the->seed % 2 ? 1 : 1 + (uint32_t)(the->seed % 16);
	config.namespace = put(HUB_NS);
	config.mirror_label = (struct config_label){ put(KIND_OWNER_LABEL), put(KIND_OWNER_VALUE) };
	if (listed)
		list_kinds();
	kinds_fill(&config);
}

struct role_process *role_begin(enum role id, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	CHECK(id == ROLE_SYNCER);
	return (struct role_process *)the;
}

void role_attach(struct role_process *process, const struct role_ops *ops, void *ctx)
{
	(void)process;
	the->ops = *ops;
	the->context = ctx;
	if (chaos_on(KNOB_TIGHT))
		((struct syncer *)ctx)->engine.store.held_most = 2000;
}

void role_lock(struct role_process *process, const uint16_t *ports, unsigned port_count)
{
	(void)process;
	(void)ports;
	(void)port_count;
}

struct loop *role_loop(struct role_process *process)
{
	return (struct loop *)process;
}

const struct us_config *role_config(const struct role_process *process)
{
	(void)process;
	return &config;
}

void role_leave(struct role_process *process, int code)
{
	(void)process;
	the->alive = false;
	the->leaving = true;
	the->exit_code = code;
}

int role_run(struct role_process *process)
{
	(void)process;
	while (the->alive && !the->broken && the->phase != PHASE_DONE)
		if (!chaos_step(NEVER))
			break;
	return the->exit_code;
}

enum verdict link_refuse(void *context, const struct link *link, const void *message, int fd)
{
	(void)context;
	(void)link;
	(void)message;
	(void)fd;
	return VERDICT_PEER_BROKEN;
}

/* --- The elector ---------------------------------------------------------------------------- */

static void on_seen(const struct msg_mirror_seen *seen)
{
	if (seen->term != the->term || !str_equal(seen->source_uid, str_of(the->pinned)))
		return;
	if (the->complete != seen->complete)
		chaos_say("mirror is %scomplete", seen->complete ? "" : "in");
	the->complete = seen->complete;
	the->held = seen->held_deletes;
	the->regressed = seen->regressed;
	/* A stranger's versions mean nothing, and its freeze ends soon after it (G6), but for what
	 * was written of it before it was found out, and when it left before that. */
	if (seen->regressed && the->server[SOURCE].epoch == 0 && !the->pinned_objects &&
	    (!the->ever_stranger ||
		(!the->ever_believed && !the->misled && the->now - the->stranger_left > S(120))))
		broken("H10: a source that never went back in time is not frozen", "life %u",
		    the->life);
	/* C12: a whole pass ends the rejoin. */
	if (seen->complete && the->rejoin) {
		the->rejoin = false;
		if (the->role == AS_REJOINING)
			the->role = AS_STANDBY;
	}
}

bool role_send(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body)
{
	(void)process;
	(void)shard;
	if (peer != ROLE_ELECTOR)
		return true;
	if (id == MSG_MIRROR_SEEN)
		on_seen(body);
	else if (id == MSG_SYNC_DONE)
		the->operation_open = false;
	else if (id == MSG_DRAINED)
		the->lost = ((const struct msg_drained *)body)->lost;
	return true;
}

static void tell(struct message *message)
{
	if (the->alive &&
	    the->ops.on_message(the->context, &to_elector, message, -1) != VERDICT_FINE)
		broken("the syncer believes its elector", "message %d", (int)message->id);
}

/* What the elector wants now: the first word of a life, and after each change. */
void process_tell(void)
{
	struct message message = { 0 };

	if (!the->alive)
		return;
	if (!the->credentials) {
		struct msg_credential none = { 0 };

		the->credentials = true;
		the->ops.on_credential(the->context, &none);
		the->ops.on_link(the->context, &to_elector);
	}
	if (the->draining)
		return;
	the->told_granted = the->granted;
	if (the->granted) {
		chaos_say("grant: %s term %llu%s", the->pinned, (unsigned long long)the->term,
		    the->rejoin ? ", rejoin" : "");
		message.id = MSG_MIRROR_GRANT;
		message.mirror_grant.source_uid = str_of(the->pinned);
		message.mirror_grant.term = the->term;
		message.mirror_grant.led_term = the->led_term;
		message.mirror_grant.rejoin = the->rejoin;
	} else {
		chaos_say("pause");
		message.id = MSG_MIRROR_PAUSE;
		message.mirror_pause.why = str_of("the peer's claim is gone");
	}
	tell(&message);
}

void process_promote(void)
{
	struct message message = { .id = MSG_DRAIN_ASKED };

	the->draining = true;
	the->drain_deadline = the->now + S(2);
	chaos_say("drain");
	message.drain_asked.deadline_ns = (uint64_t)the->drain_deadline;
	tell(&message);
}

/* The operator answers what waits for a person. */
void process_operate(void)
{
	struct message message = { .id = MSG_SYNC_ASKED };
	struct syncer *syncer = the->context;

	if (!the->alive || the->draining)
		return;
	message.sync_asked.operation = ++the->operation;
	/* Who knows of no restore has nothing to accept. */
	if (syncer->engine.regressed &&
	    (the->server[SOURCE].epoch || the->ever_believed || the->misled)) {
		chaos_say("operator: accept-restore");
		the->frozen = false;
		the->accepted = true;
		invariants_life();
		message.sync_asked.verb = SYNC_ACCEPT_RESTORE;
		tell(&message);
	} else if (the->held) {
		message.sync_asked.verb = SYNC_CONFIRM_DELETES;
		message.sync_asked.list_hash = engine_held_hash(&syncer->engine);
		chaos_say("operator: confirm-deletes of %u", syncer->engine.store.count[ITEM_HELD]);
		the->confirmed = true;
		tell(&message);
	}
}

static void explain_inside(const char *space, char *out, size_t size)
{
	struct syncer *syncer = the->context;
	const struct space *inside = map_get(&syncer->engine.store.spaces, str_of(space));

	for (const struct item *at = inside ? inside->items : NULL; at; at = at->space_next)
		if (at->copy != COPY_NONE && !judge_is_pristine(at)) {
			(void)snprintf(out, size,
			    "; %s: source %u copy %u state %u archived %llu of %llu shell %u/%u",
			    at->key, at->source, at->copy, at->state,
			    (unsigned long long)at->archived_version,
			    (unsigned long long)at->copy_version, at->shell, at->copy_shell);
			return;
		}
}

/* What the engine thinks of an object: for a schedule that does not end in equality. */
const char *process_explain(enum kind kind, const char *space, const char *name)
{
	static char text[500];
	struct syncer *syncer = the->context;
	const struct item *item =
	    the->alive ? store_find(&syncer->engine.store, kind, space, name) : NULL;

	if (!the->alive)
		return "no syncer lives";
	if (!item)
		return "the engine knows nothing of it";
	(void)snprintf(text, sizeof(text),
	    "engine: source %u copy %u state %u queue %u attempts %u proofs %u braked %d "
	    "terminating %d/%d open %d busy %u/%u: %s",
	    item->source, item->copy, item->state, item->queue, item->attempts, item->proofs,
	    item->braked, item->terminating, item->copy_terminating,
	    engine_is_open(&syncer->engine), syncer->engine.busy, syncer->engine.window,
	    item->why ? item->why : "");
	(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
	    "; mark %d body %d status %d wrote %d version %llu copied %llu restore %d",
	    hash_equal(&item->copy_mark, &item->source_body),
	    hash_equal(&item->copy_body, &item->source_body),
	    hash_equal(&item->copy_status, &item->source_status),
	    hash_equal(&item_made(item)->wrote_body, &item->source_body),
	    (unsigned long long)item->source_version, (unsigned long long)item->copy_source_version,
	    syncer->engine.restore);
	if (item->owner)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    "; owner %s: source %u copy %u state %u", item->owner->key, item->owner->source,
		    item->owner->copy, item->owner->state);
	if (item->space->self)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    "; namespace: source %u copy %u state %u braked %d proofs %u",
		    item->space->self->source, item->space->self->copy, item->space->self->state,
		    item->space->self->braked, item->space->self->proofs);
	if (kind == KIND_NAMESPACE)
		explain_inside(name, text + strlen(text), sizeof(text) - strlen(text));
	return text;
}

static void find_fault(struct feed *feed, void *arg)
{
	char *text = arg;

	if (feed->counts)
		(void)snprintf(text + strlen(text), 700 - strlen(text), "; %s %s %s: %s parked %d",
		    feed->side == SIDE_SOURCE ? "source" : "own", kind_row(feed->kind)->plural,
		    feed->space ? feed->space->name : "", feed->fault, feed->parked);
}

const char *process_not_complete(void)
{
	static char text[700];
	struct syncer *syncer = the->context;
	struct item *item;

	for (size_t at = 0; the->alive && (item = map_next(&syncer->engine.store.items, &at));)
		if (item->state == ITEM_PENDING || item->state == ITEM_BLOCKED) {
			const struct object *own = server_find(&the->server[OWN],
			    (enum kind)item->kind, item_namespace(item), item_name(item));
			char *dump = own && the->trace ? json_dumps(own->value, 0) : NULL;

			if (dump)
				chaos_say("own %s", dump);
			free(dump);
			(void)snprintf(text, sizeof(text),
			    "all is equal, but the mirror is not complete: %s: %s", item->key,
			    process_explain(
				(enum kind)item->kind, item_namespace(item), item_name(item)));
			return text;
		}
	(void)snprintf(text, sizeof(text),
	    "all is equal, but the mirror is not complete: %u lists to come, %u kinds failed",
	    the->alive ? syncer->unsynced : 0, the->alive ? syncer->failed_kinds : 0);
	if (the->alive)
		feeds_visit(syncer, SIDE_SOURCE, find_fault, text);
	if (the->alive)
		feeds_visit(syncer, SIDE_COPIES, find_fault, text);
	return text;
}

void process_elector_again(void)
{
	if (!the->alive || !the->credentials)
		return;
	chaos_say("the elector is gone and comes again");
	the->told_granted = false;
	the->ops.on_link_end(the->context, to_elector.peer);
	event_post(EVENT_TELL, the->now + MS(500), 0);
}

void process_kill(void)
{
	chaos_say("KILL");
	the->exit_code = 137;
	the->alive = false;
	wire_process_ended(); /* whatever else happens in this instant, it hears nothing of it */
}

void process_live(void)
{
	char name[] = "syncer", *argv[] = { name, NULL };

	the->life++;
	the->alive = true;
	the->leaving = the->credentials = the->told_granted = the->draining = false;
	the->frozen = the->exposed = false;
	invariants_life();
	/* Whoever led once and is not complete rejoins (C12). */
	if (the->ever_led && !the->complete) {
		the->rejoin = true;
		the->role = AS_REJOINING;
	}
	chaos_say("syncer starts, life %u", the->life);
	event_post(EVENT_TELL, the->now + MS(30), 0);
	(void)syncer_main(1, argv);
	the->alive = false;
	the->timer_count = 0;
	wire_process_ended();
	chaos_say("syncer ended with %d", the->exit_code);
}
