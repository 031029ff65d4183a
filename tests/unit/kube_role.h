/*
 * For tests of the API client: the role process that it runs in, played by the test, with a dialer
 * that does as it is told (refuses, hangs, lies), and the steps that all tests share.
 */
#ifndef KUBE_ROLE_H
#define KUBE_ROLE_H

#include "kube/client.h"

#include "base/clock.h"
#include "tests/unit/kube_bed.h"

static struct bed bed;

/* --- The role process, played by the test --------------------------------------------------- */

struct role_process {
	struct loop *loop;
	struct us_config config;
	bool no_dialer;
	int refuse;         /* answer dials with this outcome; DIAL_OK: connect */
	int wrong_fd;       /* hand this one over instead of a connection; -1: do not */
	bool hold;          /* dials get no answer */
	enum bed_mode mode; /* of the next connections */
	uint64_t asked[64];
	unsigned asked_count, answered_count;
	struct kube_client *client;
	enum verdict verdict; /* of the last dial */
};

static struct role_process role;

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
	return (struct role_id){ ROLE_OBSERVER, 0 };
}

/* What the client told the supervisor. */
static unsigned refused_told;

void role_tell(struct role_process *process, enum control_type type, uint64_t a0, uint64_t a1,
    const char *text)
{
	(void)process;
	(void)a0;
	(void)a1;
	(void)text;
	refused_told += type == CONTROL_CRED_REFUSED;
}

static void answer_dial(void *arg, int64_t now_ns);
static struct loop_timer dial_timer = { .fire = answer_dial };

bool role_send(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body)
{
	const struct msg_dial_asked *ask = body;
	char mode = (char)process->mode;

	assert_int_equal(peer, ROLE_OBSERVER_DIALER);
	assert_int_equal(id, MSG_DIAL_ASKED);
	assert_int_equal(shard, 0);
	if (process->no_dialer)
		return false;
	process->asked[process->asked_count++ % 64] = ask->id;
	if (process->hold)
		return true;
	if (process->refuse || process->wrong_fd >= 0)
		loop_timer_set(process->loop, &dial_timer, base_clock_boot_ns());
	else
		assert_int_equal(send(bed.link, &mode, 1, 0), 1);
	return true;
}

static inline void dialed(enum dial_outcome outcome, int fd)
{
	struct msg_dialed m = { .id = role.asked[role.answered_count++ % 64],
		.outcome = outcome,
		.address = STR_LIT("127.0.0.1") };

	role.verdict = kube_client_dialed(role.client, &m, fd);
	/* The link layer cuts such a link. */
	if (role.verdict == VERDICT_PEER_BROKEN)
		role.no_dialer = true;
}

static void answer_dial(void *arg, int64_t now_ns)
{
	(void)arg;
	(void)now_ns;
	dialed(role.refuse ? (enum dial_outcome)role.refuse : DIAL_OK,
	    role.refuse ? -1 : fcntl(role.wrong_fd, F_DUPFD_CLOEXEC, 3));
}

static inline void on_bed(void *arg, uint32_t events)
{
	int fd = bed_receive_fd(&bed);

	(void)arg;
	(void)events;
	if (fd >= 0)
		dialed(DIAL_OK, fd);
}

/* A deadline that an answer keeps on any machine. */
#define PATIENT_MS 40000

/* --- Steps ---------------------------------------------------------------------------------- */

struct result {
	unsigned done, heads, chunks;
	bool stop_after_chunk;
	enum kube_class class;
	struct kube_answer answer;
	char body[4096];
};

static unsigned waiting;

static inline void on_done(void *arg, const struct kube_answer *answer)
{
	struct result *result = arg;

	result->done++;
	result->class = answer->class;
	result->answer = *answer;
	(void)str_copy(result->body, sizeof(result->body), answer->body);
	if (waiting > 0 && --waiting == 0)
		loop_stop(role.loop, 0);
}

static inline bool on_chunk(void *arg, struct str bytes)
{
	struct result *result = arg;

	if (bytes.n == 0) {
		assert_int_equal(result->chunks, 0);
		result->heads++;
		return true;
	}
	result->chunks++;
	if (waiting > 0 && --waiting == 0)
		loop_stop(role.loop, 0);
	return !result->stop_after_chunk;
}

static inline void give_up(void *arg, int64_t now_ns)
{
	(void)arg;
	(void)now_ns;
	loop_stop(role.loop, 1);
}

/* Runs until n callbacks came: longer than any takes, shorter than a stream may be silent. */
static inline void await(unsigned n)
{
	struct loop_timer limit = { .fire = give_up };

	waiting = n;
	loop_timer_set(role.loop, &limit, base_clock_boot_ns() + 50 * BASE_NS_PER_S);
	assert_int_equal(loop_run(role.loop, base_clock_boot_ns), 0);
	loop_timer_cancel(role.loop, &limit);
}

/* Runs for a while, nothing particular expected. */
static inline void pass_ms(int ms)
{
	struct loop_timer limit = { .fire = give_up };

	loop_timer_set(role.loop, &limit, base_clock_boot_ns() + ms * BASE_NS_PER_MS);
	(void)loop_run(role.loop, base_clock_boot_ns);
}

static inline struct kube_ask get(const char *path, uint32_t deadline_ms)
{
	return (struct kube_ask){
		.target = 3, .verb = KUBE_GET, .path = path, .deadline_ms = deadline_ms
	};
}

static inline struct msg_credential identity(uint64_t generation)
{
	static char server[64];

	(void)snprintf(server, sizeof(server), "https://127.0.0.1:%u", bed.port);
	return (struct msg_credential){ .target = 3,
		.generation = generation,
		.server = str_of(server),
		.ca = str_of(bed.ca),
		.token = STR_LIT("abc.def.ghi") };
}

static inline void take(const struct msg_credential *credential)
{
	struct err err = { "" };
	int taken = kube_client_credential(role.client, credential, &err);

	if (taken != 0)
		fail_msg("%s", err.text);
}

static inline int set_up(void **state)
{
	struct msg_credential credential = identity(1);

	(void)state;
	role = (struct role_process){ .wrong_fd = -1, .mode = BED_H2, .loop = loop_new() };
	memset(bed.shared, 0, sizeof(*bed.shared));
	bed.shared->frozen = 0;
	role.client = kube_client_new(&role);
	loop_watch(role.loop, bed.link, EPOLLIN, on_bed, NULL);
	take(&credential);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	atomic_store(&bed.shared->frozen, 0);
	kube_client_free(role.client);
	/* A dial may still be under way: its descriptor must not reach the next test. */
	while (role.asked_count > role.answered_count && !role.hold) {
		int fd = bed_receive_fd(&bed);

		if (fd < 0)
			continue;
		close(fd);
		role.answered_count++;
	}
	/* Nothing of this test may be counted in the next one. */
	while (bed.shared->hangups < bed.shared->dials)
		usleep(1000);
	loop_timer_cancel(role.loop, &dial_timer);
	loop_forget(role.loop, bed.link);
	loop_free(role.loop);
	return 0;
}

static inline struct result ask(const struct kube_ask *what)
{
	struct result result = { 0 };

	assert_int_not_equal(kube_client_ask(role.client, what, on_done, &result), 0);
	assert_int_equal(result.done, 0); /* never from inside the call */
	await(1);
	assert_int_equal(result.done, 1);
	return result;
}

#endif
