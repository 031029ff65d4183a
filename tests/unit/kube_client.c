/*
 * The API client against a TLS server on loopback whose sockets a dialer hands over: reuse and
 * multiplexing, deadlines, a silently dead connection, refused and hostile descriptors, identities
 * and their generations. Rules: F8, F10, F11, F12, F22, F30, C4, H1, H3, M18.
 */
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

static void dialed(enum dial_outcome outcome, int fd)
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

static void on_bed(void *arg, uint32_t events)
{
	int fd = bed_receive_fd(&bed);

	(void)arg;
	(void)events;
	if (fd >= 0)
		dialed(DIAL_OK, fd);
}

/* --- Steps ---------------------------------------------------------------------------------- */

struct result {
	unsigned done, chunks;
	bool stop_after_chunk;
	enum kube_class class;
	struct kube_answer answer;
	char body[4096];
};

static unsigned waiting;

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct result *result = arg;

	result->done++;
	result->class = answer->class;
	result->answer = *answer;
	(void)str_copy(result->body, sizeof(result->body), answer->body);
	if (waiting > 0 && --waiting == 0)
		loop_stop(role.loop, 0);
}

static bool on_chunk(void *arg, struct str bytes)
{
	struct result *result = arg;

	assert_true(bytes.n > 0);
	result->chunks++;
	if (waiting > 0 && --waiting == 0)
		loop_stop(role.loop, 0);
	return !result->stop_after_chunk;
}

static void give_up(void *arg, int64_t now_ns)
{
	(void)arg;
	(void)now_ns;
	loop_stop(role.loop, 1);
}

/* Runs until n callbacks came. */
static void await(unsigned n)
{
	struct loop_timer limit = { .fire = give_up };

	waiting = n;
	loop_timer_set(role.loop, &limit, base_clock_boot_ns() + 20 * BASE_NS_PER_S);
	assert_int_equal(loop_run(role.loop, base_clock_boot_ns), 0);
	loop_timer_cancel(role.loop, &limit);
}

/* Runs for a while, nothing particular expected. */
static void pass_ms(int ms)
{
	struct loop_timer limit = { .fire = give_up };

	loop_timer_set(role.loop, &limit, base_clock_boot_ns() + ms * BASE_NS_PER_MS);
	(void)loop_run(role.loop, base_clock_boot_ns);
}

static struct kube_ask get(const char *path, uint32_t deadline_ms)
{
	return (struct kube_ask){
		.target = 3, .verb = KUBE_GET, .path = path, .deadline_ms = deadline_ms
	};
}

static struct msg_credential identity(uint64_t generation)
{
	static char server[64];

	(void)snprintf(server, sizeof(server), "https://127.0.0.1:%u", bed.port);
	return (struct msg_credential){ .target = 3,
		.generation = generation,
		.server = str_of(server),
		.ca = str_of(bed.ca),
		.token = STR_LIT("abc.def.ghi") };
}

static void take(const struct msg_credential *credential)
{
	struct err err = { "" };
	int taken = kube_client_credential(role.client, credential, &err);

	if (taken != 0)
		fail_msg("%s", err.text);
}

static int set_up(void **state)
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

static int tear_down(void **state)
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

static struct result ask(const struct kube_ask *what)
{
	struct result result = { 0 };

	assert_int_not_equal(kube_client_ask(role.client, what, on_done, &result), 0);
	assert_int_equal(result.done, 0); /* never from inside the call */
	await(1);
	assert_int_equal(result.done, 1);
	return result;
}

/* --- Requests ------------------------------------------------------------------------------- */

static void test_parallel_requests_share_one_connection(void **state)
{
	struct kube_ask what = get("/api/v1", 5000);
	struct result results[20] = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++)
		kube_client_ask(role.client, &what, on_done, &results[i]);
	await(20);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(results[i].class, KUBE_OK);
		assert_true(results[i].answer.sent);
		assert_string_equal(results[i].body, "{}");
	}
	assert_int_equal(bed.shared->requests, 20);
	assert_int_equal(role.asked_count, 1);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 1);
}

static void test_http1_reuses_and_adds_connections(void **state)
{
	struct kube_ask what = get("/api/v1", 5000);
	struct result results[6] = { 0 };

	(void)state;
	role.mode = BED_H1;
	for (int i = 0; i < 6; i++)
		kube_client_ask(role.client, &what, on_done, &results[i]);
	await(6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(results[i].class, KUBE_OK);
	assert_in_range(role.asked_count, 1, 6);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_in_range(role.asked_count, 1, 6);
}

static void test_verbs_bodies_headers(void **state)
{
	struct kube_ask what = { .target = 3,
		.verb = KUBE_PATCH_MERGE,
		.path = "/api/v1/x",
		.query = "timeout=5s",
		.body = STR_LIT("{\"a\":1}"),
		.deadline_ms = 5000 };
	struct result result;

	(void)state;
	role.mode = BED_H1;
	for (int verb = KUBE_POST; verb <= KUBE_DELETE; verb++) {
		what.verb = (enum kube_verb)verb;
		result = ask(&what);
		assert_int_equal(result.class, KUBE_OK);
		assert_string_equal(result.body, "{\"a\":1}");
	}
	assert_string_equal(result.answer.warning, "unknown field");
	assert_true(result.answer.date_us == 1795968000LL * 1000000);
	assert_string_equal(bed.shared->authorization, "Bearer abc.def.ghi");
	assert_int_equal(role.asked_count, 1);
}

static void test_hostile_answers(void **state)
{
	static const struct {
		const char *path;
		enum kube_class class;
		enum peer_why why;
	} rows[] = {
		{ "/api/cut", KUBE_SILENT, PEER_WHY_RESET },
		{ "/api/big", KUBE_BLIND, PEER_WHY_UNPARSABLE },
		{ "/api/html", KUBE_BLIND, PEER_WHY_UNPARSABLE },
		{ "/api/429", KUBE_THROTTLED, PEER_WHY_THROTTLED },
		{ "/api/moved", KUBE_REFUSED, PEER_WHY_NONE },
		{ "/api/drop", KUBE_SILENT, PEER_WHY_RESET },
		{ "/api/v1 HTTP/1.1", KUBE_BLIND, PEER_WHY_UNPARSABLE },
		{ "/api/v1\r\nx: y", KUBE_BLIND, PEER_WHY_UNPARSABLE },
		{ "", KUBE_BLIND, PEER_WHY_UNPARSABLE },
	};

	(void)state;
	role.mode = BED_H1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kube_ask what = get(rows[i].path, 5000);
		struct result result = ask(&what);

		assert_int_equal(result.class, rows[i].class);
		assert_int_equal(result.answer.why, rows[i].why);
		assert_true(result.answer.message[0] != '\0');
	}
}

static void test_deadline_covers_the_answer_and_spares_the_next(void **state)
{
	struct kube_ask hang = { .target = 3,
		.verb = KUBE_POST,
		.path = "/api/v1",
		.deadline_ms = 60,
		.body = STR_LIT("{}") };
	struct kube_ask what = get("/api/v1", 5000);
	struct result result;
	int64_t before_ns = base_clock_boot_ns();

	(void)state;
	result = ask(&hang);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_int_equal(result.answer.why, PEER_WHY_TIMEOUT);
	assert_true(result.answer.sent); /* it may have been applied (H1) */
	assert_in_range(base_clock_boot_ns() - before_ns, 60 * BASE_NS_PER_MS, 2 * BASE_NS_PER_S);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 2); /* a new connection after a time-out */
}

/* Upstream situation 1: the established flow is frozen, new ones work. */
static void test_silently_dead_connection(void **state)
{
	struct kube_ask watch = {
		.target = 3, .verb = KUBE_DELETE, .path = "/api/v1", .deadline_ms = 5000
	};
	struct kube_ask what = get("/api/v1", 80);
	struct result stream = { 0 }, result;

	(void)state;
	kube_client_stream(role.client, &watch, 60000, on_chunk, on_done, &stream);
	await(1);
	assert_int_equal(stream.chunks, 1);
	atomic_store(&bed.shared->frozen, 1000000);
	/* The stream falls with the request that notices, long before its own 60 s. */
	result = (struct result){ 0 };
	kube_client_ask(role.client, &what, on_done, &result);
	await(2);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_int_equal(stream.done, 1);
	assert_int_equal(stream.class, KUBE_SILENT);
	atomic_store(&bed.shared->frozen, 0);
}

static void test_a_busy_connection_keeps_its_watches(void **state)
{
	struct kube_ask watch = {
		.target = 3, .verb = KUBE_DELETE, .path = "/api/v1", .deadline_ms = 5000
	};
	struct kube_ask hang = { .target = 3,
		.verb = KUBE_POST,
		.path = "/api/v1",
		.body = STR_LIT("{}"),
		.deadline_ms = 500 };
	struct kube_ask what = get("/api/v1", 5000);
	struct result stream = { 0 }, slow = { 0 };

	(void)state;
	kube_client_stream(role.client, &watch, 60000, on_chunk, on_done, &stream);
	await(1);
	kube_client_ask(role.client, &hang, on_done, &slow);
	pass_ms(50);
	assert_int_equal(ask(&what).class, KUBE_OK); /* the server lives, one answer is slow */
	await(1);
	assert_int_equal(slow.class, KUBE_SILENT);
	pass_ms(50);
	assert_int_equal(stream.done, 0);
}

static void test_handshake_without_answer(void **state)
{
	struct kube_ask what = get("/api/v1", 300), patient = get("/api/v1", 5000);
	struct result first = { 0 }, second = { 0 };

	(void)state;
	role.mode = BED_MUTE;
	kube_client_ask(role.client, &what, on_done, &first);
	kube_client_ask(role.client, &patient, on_done, &second);
	pass_ms(20);
	role.mode = BED_H2;
	await(2);
	assert_int_equal(first.class, KUBE_SILENT);
	assert_int_equal(first.answer.why, PEER_WHY_TIMEOUT);
	assert_false(first.answer.sent);
	/* Who waited for that connection moves on to the next one. */
	assert_int_equal(second.class, KUBE_OK);
	assert_int_equal(role.asked_count, 2);
}

static void test_no_tls_and_reset(void **state)
{
	struct kube_ask what = get("/api/v1", 5000);
	struct result result;

	(void)state;
	role.mode = BED_GARBAGE;
	result = ask(&what);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_false(result.answer.sent);
	role.mode = BED_RESET;
	result = ask(&what);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_int_equal(result.answer.why, PEER_WHY_RESET);
}

static void test_fresh_request_has_its_own_connection(void **state)
{
	struct kube_ask what = get("/api/v1", 5000);

	(void)state;
	assert_int_equal(ask(&what).class, KUBE_OK);
	what.fresh = true;
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 3);
	what.fresh = false;
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 3);
}

static void test_streams(void **state)
{
	struct kube_ask what = get("/api/stream", 5000);
	struct result result = { 0 };

	(void)state;
	role.mode = BED_H1;
	kube_client_stream(role.client, &what, 5000, on_chunk, on_done, &result);
	await(2);
	assert_int_equal(result.chunks, 1);
	assert_int_equal(result.class, KUBE_OK);
	assert_int_equal(result.answer.body.n, 0);
	/* Idle. */
	what.path = "/api/stall";
	result = (struct result){ 0 };
	kube_client_stream(role.client, &what, 60, on_chunk, on_done, &result);
	await(2);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_int_equal(result.answer.why, PEER_WHY_TIMEOUT);
	/* The reader has enough. */
	result = (struct result){ .stop_after_chunk = true };
	kube_client_stream(role.client, &what, 5000, on_chunk, on_done, &result);
	await(2);
	assert_int_equal(result.class, KUBE_OK);
	/* An error is no stream. */
	what.path = "/api/429";
	result = (struct result){ 0 };
	kube_client_stream(role.client, &what, 5000, on_chunk, on_done, &result);
	await(1);
	assert_int_equal(result.chunks, 0);
	assert_int_equal(result.class, KUBE_THROTTLED);
	assert_true(result.answer.retry_after_ms == 7000);
}

static void test_cancel(void **state)
{
	struct kube_ask hang = { .target = 3,
		.verb = KUBE_POST,
		.path = "/api/v1",
		.deadline_ms = 100,
		.body = STR_LIT("{}") };
	struct kube_ask what = get("/api/v1", 5000);
	struct result never = { 0 };
	uint64_t id = kube_client_ask(role.client, &hang, on_done, &never);

	(void)state;
	kube_client_cancel(role.client, id);
	kube_client_cancel(role.client, id);
	kube_client_cancel(role.client, 0);
	kube_client_cancel(role.client, 12345);
	id = kube_client_ask(role.client, &hang, on_done, &never);
	pass_ms(30);
	kube_client_cancel(role.client, id);
	assert_int_equal(ask(&what).class, KUBE_OK);
	pass_ms(120);
	assert_int_equal(never.done, 0);
}

static void test_shutdown_ends_everything(void **state)
{
	struct kube_ask hang = { .target = 3,
		.verb = KUBE_POST,
		.path = "/api/v1",
		.deadline_ms = 5000,
		.body = STR_LIT("{}") };
	struct result result = { 0 };

	(void)state;
	kube_client_ask(role.client, &hang, on_done, &result);
	pass_ms(50);
	assert_int_equal(bed.shared->requests, 1);
	kube_client_shutdown(role.client);
	await(1);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_true(result.answer.sent);
	for (int i = 0; i < 100 && bed.shared->hangups == 0; i++)
		pass_ms(10);
	assert_int_equal(bed.shared->hangups, 1); /* the server has seen the end (F8, H3) */
	assert_int_equal(ask(&hang).class, KUBE_SILENT);
}

/* --- Dialer --------------------------------------------------------------------------------- */

static void test_dial_outcomes(void **state)
{
	static const struct {
		enum dial_outcome outcome;
		enum kube_class class;
		enum peer_why why;
	} rows[] = {
		{ DIAL_REFUSED, KUBE_SILENT, PEER_WHY_REFUSED },
		{ DIAL_TIMEOUT, KUBE_SILENT, PEER_WHY_TIMEOUT },
		{ DIAL_RESET, KUBE_SILENT, PEER_WHY_RESET },
		{ DIAL_NO_NAME, KUBE_BLIND, PEER_WHY_NO_NAME },
		{ DIAL_DENIED, KUBE_BLIND, PEER_WHY_DIALER },
	};
	struct kube_ask what = get("/api/v1", 5000);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct result result;

		role.refuse = (int)rows[i].outcome;
		result = ask(&what);
		assert_int_equal(result.class, rows[i].class);
		assert_int_equal(result.answer.why, rows[i].why);
		assert_false(result.answer.sent);
	}
	role.refuse = DIAL_OK;
	assert_int_equal(ask(&what).class, KUBE_OK);
}

/* M18: nobody has looked, so this is no silence of the server. */
static void test_no_dialer_is_blindness(void **state)
{
	struct kube_ask what = get("/api/v1", 80);
	struct result result;

	(void)state;
	role.no_dialer = true;
	result = ask(&what);
	assert_int_equal(result.class, KUBE_BLIND);
	assert_int_equal(result.answer.why, PEER_WHY_DIALER);
	/* It comes back in time. */
	what.deadline_ms = 5000;
	result = (struct result){ 0 };
	kube_client_ask(role.client, &what, on_done, &result);
	pass_ms(20);
	role.no_dialer = false;
	await(1);
	assert_int_equal(result.class, KUBE_OK);
}

static void test_dialer_that_hangs_and_dies(void **state)
{
	struct kube_ask what = get("/api/v1", 60);
	struct result result;

	(void)state;
	role.hold = true;
	result = ask(&what); /* a server that swallows packets looks just so */
	assert_int_equal(result.class, KUBE_SILENT);
	assert_int_equal(result.answer.why, PEER_WHY_TIMEOUT);
	what.deadline_ms = 5000;
	result = (struct result){ 0 };
	kube_client_ask(role.client, &what, on_done, &result);
	pass_ms(20);
	role.hold = false;
	role.answered_count = role.asked_count; /* its answers died with it */
	kube_client_dialer_lost(role.client);
	await(1);
	assert_int_equal(result.class, KUBE_OK);
}

static void test_handed_descriptors_are_judged(void **state)
{
	struct sockaddr_in address;
	struct kube_ask what = get("/api/v1", 60);
	char other = BED_OTHER_PORT;
	int pair[2], pipes[2], fds[7];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	fds[0] = pair[0];
	fds[1] = pipes[0];
	fds[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	fds[3] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fds[4] = bed_listen(&address);
	fds[5] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	loop_forget(role.loop, bed.link);
	assert_int_equal(send(bed.link, &other, 1, 0), 1);
	while ((fds[6] = bed_receive_fd(&bed)) < 0)
		;
	loop_watch(role.loop, bed.link, EPOLLIN, on_bed, NULL);
	for (int i = 0; i < 7; i++) {
		role.wrong_fd = fds[i];
		role.verdict = VERDICT_FINE;
		role.no_dialer = false;
		assert_int_not_equal(ask(&what).class, KUBE_OK);
		assert_int_equal(role.verdict, VERDICT_PEER_BROKEN);
		close(fds[i]);
	}
	close(pair[1]);
	close(pipes[1]);
	/* An answer that nobody waits for, twice the same answer. */
	role.wrong_fd = -1;
	role.no_dialer = false;
	what.deadline_ms = 5000;
	assert_int_equal(ask(&what).class, KUBE_OK);
	role.answered_count--;
	dialed(DIAL_REFUSED, -1);
	assert_int_equal(role.verdict, VERDICT_PEER_BROKEN);
}

static void test_non_blocking_is_set_again(void **state)
{
	struct kube_ask what = get("/api/v1", 5000);
	char mode = BED_H2;
	int fd;

	(void)state;
	loop_forget(role.loop, bed.link);
	assert_int_equal(send(bed.link, &mode, 1, 0), 1);
	while ((fd = bed_receive_fd(&bed)) < 0)
		;
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK), 0);
	role.wrong_fd = fd;
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
	loop_watch(role.loop, bed.link, EPOLLIN, on_bed, NULL);
}

/* --- Identities ----------------------------------------------------------------------------- */

static void test_generations_do_not_share_connections(void **state)
{
	struct msg_credential second = identity(2);
	struct kube_ask what = get("/api/v1", 5000);
	struct kube_identity who;

	(void)state;
	role.mode = BED_H1;
	assert_int_equal(ask(&what).class, KUBE_OK);
	second.token =
	    str_of("eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6bjplIiwiZXhw"
		   "Ijo0MTAyNDQ0ODAwfQ.x");
	take(&second);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 2);
	assert_true(strstr(bed.shared->authorization, "eyJzdWI"));
	assert_true(kube_client_identity(role.client, 3, &who));
	assert_string_equal(who.subject, "system:serviceaccount:n:e");
	assert_true(who.expires_us == 4102444800LL * 1000000);
	assert_int_equal(who.generation, 2);
	assert_false(kube_client_identity(role.client, 4, &who));
}

static void test_client_certificate(void **state)
{
	struct msg_credential credential = identity(2);
	struct kube_ask what = get("/api/v1", 5000);

	(void)state;
	credential.token = str_of("");
	credential.certificate = str_of(bed.certificate);
	credential.key = str_of(bed.key);
	credential.tls_name = STR_LIT("api.test");
	take(&credential);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_string_equal(bed.shared->subject, "/CN=elector");
}

static void test_wrong_authority_and_wrong_name_are_blindness(void **state)
{
	struct msg_credential credential = identity(2);
	struct kube_ask what = get("/api/v1", 5000);
	struct result results[3] = { 0 };

	(void)state;
	credential.ca = str_of(bed.other_ca);
	take(&credential);
	for (int i = 0; i < 3; i++)
		kube_client_ask(role.client, &what, on_done, &results[i]);
	await(3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(results[i].class, KUBE_BLIND);
		assert_int_equal(results[i].answer.why, PEER_WHY_X509);
		assert_false(results[i].answer.sent);
	}
	assert_int_equal(role.asked_count, 1);
	credential = identity(3);
	credential.tls_name = STR_LIT("other.test");
	take(&credential);
	results[0] = ask(&what);
	assert_int_equal(results[0].class, KUBE_BLIND);
	assert_int_equal(results[0].answer.why, PEER_WHY_X509);
}

static void test_no_credential(void **state)
{
	struct kube_ask what = get("/api/v1", 5000);
	struct result result;

	(void)state;
	what.target = 4;
	result = ask(&what);
	assert_int_equal(result.class, KUBE_BLIND);
	assert_int_equal(result.answer.why, PEER_WHY_NO_CREDENTIAL);
	assert_true(kube_client_has(role.client, 3));
	assert_false(kube_client_has(role.client, 4));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(parallel_requests_share_one_connection),
		TEST(http1_reuses_and_adds_connections),
		TEST(verbs_bodies_headers),
		TEST(hostile_answers),
		TEST(deadline_covers_the_answer_and_spares_the_next),
		TEST(silently_dead_connection),
		TEST(a_busy_connection_keeps_its_watches),
		TEST(handshake_without_answer),
		TEST(no_tls_and_reset),
		TEST(fresh_request_has_its_own_connection),
		TEST(streams),
		TEST(cancel),
		TEST(shutdown_ends_everything),
		TEST(dial_outcomes),
		TEST(no_dialer_is_blindness),
		TEST(dialer_that_hangs_and_dies),
		TEST(handed_descriptors_are_judged),
		TEST(non_blocking_is_set_again),
		TEST(generations_do_not_share_connections),
		TEST(client_certificate),
		TEST(wrong_authority_and_wrong_name_are_blindness),
		TEST(no_credential),
	};
	int failed;

	bed_start(&bed);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bed_stop(&bed);
	return failed;
}
