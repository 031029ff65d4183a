/*
 * An elector without links behind admin.sock, for the tests of admin.c, relay.c and drill.c: its
 * machine is put in a state by hand, clients are socket pairs on the real loop, and what it sends
 * to the mirror is kept. Included by one test program each.
 */
#ifndef TESTS_ELECTOR_ADMIN_BED_H
#define TESTS_ELECTOR_ADMIN_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "elector/elector.h"
#include "tests/sim/no_metric.h"

/* --- The role process, played by the test ------------------------------------------------------
 */

struct role_process {
	struct loop *loop;
	struct us_config config;
	unsigned shown;
	char reason[512]; /* that the monitor shows */
	/* To the mirror. */
	bool mirror_away;
	unsigned asked;
	uint64_t operation, list_hash;
	uint32_t verb;
	bool dry_run;
	char kind[64];
	/* To observer and repointers: nonces, and whom the workers are asked about. */
	bool observer_away;
	uint64_t look, question, slot;
};

static struct role_process role;
static struct elector *elector;
static struct buf out;

struct loop *role_loop(struct role_process *process)
{
	return process->loop;
}

const struct us_config *role_config(const struct role_process *process)
{
	return &process->config;
}

struct role_id role_self(const struct role_process *process)
{
	(void)process;
	return (struct role_id){ ROLE_ELECTOR, 0 };
}

bool role_send(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body)
{
	const struct msg_status_leadership *status = body;
	const struct msg_sync_asked *asked = body;
	const struct msg_peer_read_asked *look = body;
	const struct msg_witness_asked *question = body;

	(void)shard;
	if (peer == ROLE_OBSERVER && id == MSG_PEER_READ_ASKED) {
		if (process->observer_away)
			return false;
		assert_true(look->fresh);
		process->look = look->nonce;
	}
	if (peer == ROLE_REPOINTER && id == MSG_WITNESS_ASKED) {
		process->question = question->nonce;
		process->slot = question->target_slot;
	}
	if (peer == ROLE_SYNCER && id == MSG_SYNC_ASKED) {
		if (process->mirror_away)
			return false;
		process->asked++;
		process->operation = asked->operation;
		process->list_hash = asked->list_hash;
		process->verb = asked->verb;
		process->dry_run = asked->dry_run;
		(void)str_copy(process->kind, sizeof(process->kind), asked->kind);
	}
	if (peer == ROLE_MONITOR && id == MSG_STATUS_LEADERSHIP) {
		process->shown++;
		assert_int_equal(status->nonce.n, 16);
		assert_true(str_copy(process->reason, sizeof(process->reason), status->reason));
	}
	return true;
}

void role_tell(struct role_process *process, enum control_type type, uint64_t a0, uint64_t a1,
    const char *text)
{
	(void)process;
	(void)type;
	(void)a0;
	(void)a1;
	(void)text;
}

void role_attach(struct role_process *process, const struct role_ops *ops, void *ctx)
{
	(void)process;
	(void)ops;
	(void)ctx;
}

void role_leave(struct role_process *process, int code)
{
	(void)process;
	(void)code;
}

void role_credential_answer(
    struct role_process *process, const struct msg_credential *credential, const char *why)
{
	(void)process;
	(void)credential;
	(void)why;
}

static uint32_t used; /* of the pool */

static inline config_text put(const char *text)
{
	uint32_t at = used;

	(void)snprintf(role.config.pool + at, sizeof(role.config.pool) - at, "%s", text);
	used += (uint32_t)strlen(text) + 1;
	return at;
}

/* A Standby, slot 1, whose peer led term 2 and whose mirror is complete. */
static inline int set_up(void **state)
{
	static uint64_t page[FENCE_WORDS];
	struct machine_options options = { .instance = 1,
		.slot = 1,
		.automatic = true,
		.duration_ns = 15 * BASE_NS_PER_S,
		.renew_deadline_ns = 10 * BASE_NS_PER_S,
		.retry_ns = 2 * BASE_NS_PER_S,
		.padding_ns = 5 * BASE_NS_PER_S,
		.request_ns = 4 * BASE_NS_PER_S,
		.max_lag_ns = 60 * BASE_NS_PER_S,
		.armed_max_age_ns = 86400 * BASE_NS_PER_S };
	struct machine *m;

	(void)state;
	memset(&role, 0, sizeof(role));
	used = 1;
	role.loop = loop_new();
	role.config.hubs[0].name = put("hub-a");
	role.config.hubs[1].name = role.config.self_name = put("hub-b");
	role.config.self = 1;
	role.config.mode = CONFIG_STANDBY;
	role.config.hub_count = 2;
	elector = calloc(1, sizeof(*elector));
	elector->process = &role;
	elector->config = &role.config;
	elector->wake = (struct loop_timer){ .fire = elector_wake, .arg = elector };
	elector->admin.nonce = 0xaa;
	elector->events.outstanding = EVENTS_OUTSTANDING; /* no server to post to */
	elector->page.words = page;
	machine_init(&elector->machine, &options);
	m = &elector->machine;
	m->state = STATE_STANDBY;
	m->now_ns = m->own_write_ns = m->look_ns = base_clock_boot_ns();
	m->lease_busy = m->role_busy = m->record_busy = true;
	(void)snprintf(m->peer.uid, sizeof(m->peer.uid), "u");
	(void)snprintf(m->complete_uid, sizeof(m->complete_uid), "u");
	m->peer.term = m->peer.led_term = m->complete_term = 2;
	m->peer.read = m->complete = true;
	m->last_class = PEER_OK;
	m->peer.seen_ns = m->now_ns;
	out = buf_make(1 << 16);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	admin_close(elector);
	loop_timer_cancel(role.loop, &elector->wake);
	loop_free(role.loop);
	json_decref(elector->record.history);
	free(elector);
	buf_free(&out);
	return 0;
}

static inline const char *ask(const char *request)
{
	buf_clear(&out);
	admin_answer(elector, 0, 77, str_of(request), &out);
	assert_false(out.failed);
	assert_int_equal(out.data[out.len - 1], '\n');
	return out.data;
}

#define ASSERT_SAYS(request, text) assert_non_null(strstr(ask(request), text))

static inline int connect_client(void)
{
	struct us_ctl ctl = { .type = CONTROL_ADMIN_CLIENT, .a = { 0, 0, 77 } };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	admin_take_client(elector, pair[1], &ctl);
	return pair[0];
}

static inline void end_turn(void *arg, int64_t now_ns)
{
	(void)now_ns;
	loop_stop(arg, 0);
}

/* Serves what is readable now. */
static inline void turn(void)
{
	struct loop_timer limit = { .fire = end_turn, .arg = role.loop };

	loop_timer_cancel(role.loop, &elector->wake);
	loop_timer_set(role.loop, &limit, base_clock_boot_ns());
	(void)loop_run(role.loop, base_clock_boot_ns);
}

static inline ssize_t answer_of(int fd, char *text, size_t size)
{
	ssize_t n = recv(fd, text, size - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return n;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
