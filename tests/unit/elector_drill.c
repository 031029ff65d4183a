/*
 * Goal: a drill asks what a takeover would ask, tells each answer with its verdict, and leaves the
 * machine, the Lease and the page as they are (B15, C3); it is refused where it could be in the way
 * of the real thing. Method: the elector of elector_admin_bed.h; the test plays observer and
 * repointer. The claim's dry run is tried on real API servers (bed demo --check).
 */
#include "tests/unit/elector_admin_bed.h"

#define DRILL "{\"verb\":\"drill\"}\n"

static char text[8192];
static struct machine before;

/* A Standby that sees its peer renew, with two workers to ask. */
static int begin(void **state)
{
	(void)set_up(state);
	role.config.worker_count = elector->machine.options.workers = 2;
	role.config.shard_size = 2;
	elector->machine.options.witness = true;
	elector->shards = 1;
	elector->machine.reads = 3;
	elector->machine.watch_ns = elector->machine.now_ns;
	before = elector->machine;
	return 0;
}

static int client(void)
{
	int fd = connect_client();

	assert_true(send(fd, DRILL, strlen(DRILL), MSG_NOSIGNAL) > 0);
	turn();
	return fd;
}

static const char *answer_at(int fd)
{
	(void)answer_of(fd, text, sizeof(text));
	close(fd);
	return text;
}

static bool look(uint32_t class, const char *uid)
{
	return drill_look_seen(elector, &(struct msg_peer_seen){ .nonce = role.look,
					    .class = class,
					    .why = PEER_WHY_X509,
					    .holder = HOLDER_PEER,
					    .term = 2,
					    .uid = str_of(uid) });
}

static bool witness(uint64_t worker, uint32_t answer)
{
	return drill_witness_seen(elector, &(struct msg_witness_seen){ .nonce = role.question,
					       .worker = worker,
					       .answer = answer,
					       .holder = HOLDER_PEER });
}

static void unchanged(void)
{
	assert_memory_equal(&before, &elector->machine, sizeof(before));
	assert_int_equal(elector->admin.drill.nonce, 0);
}

static void each_answer_is_told(void **state)
{
	int fd = client();

	(void)state;
	assert_true(role.look && role.look == role.question);
	assert_int_equal(role.slot, 0);
	assert_true(witness(0, WITNESS_READ));
	assert_true(witness(0, WITNESS_READ)); /* said twice counts once */
	assert_true(look(PEER_OK, "u"));
	assert_true(answer_of(fd, text, sizeof(text)) < 0); /* one worker is still awaited */
	assert_true(witness(1, WITNESS_NO_ANSWER));
	answer_at(fd);
	assert_non_null(strstr(
	    text, "\"ok\":true,\"text\":\"read over a new connection: hub-a leads, term 2\""));
	assert_non_null(strstr(
	    text, "\"ok\":true,\"text\":\"of 2: 1 see the peer renew, 0 do not, 1 have nobody"));
	/* Without a Lease that was read there is nothing to claim. */
	assert_non_null(strstr(text, "\"ok\":false,\"text\":\"the own Lease was not read yet\""));
	assert_non_null(strstr(text, "\"outcome\":\"refused\""));
	unchanged();
	assert_false(look(PEER_OK, "u")); /* over: it is nobody's now */
}

static void what_would_stop_a_takeover_is_a_no(void **state)
{
	static const struct {
		uint32_t class;
		const char *uid, *says;
	} looks[] = { { PEER_BLIND, "u", "not read over a new connection: certificate" },
		{ PEER_OK, "another", "it is another cluster" },
		{ PEER_NOT_FOUND, "u", "there is none" } };
	int fd;

	(void)state;
	for (unsigned i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		fd = client();
		(void)look(looks[i].class, looks[i].uid);
		(void)witness(0, WITNESS_NO_API);
		(void)witness(1, WITNESS_CUT_OFF);
		answer_at(fd);
		assert_non_null(strstr(text, looks[i].says));
		assert_non_null(
		    strstr(text, "\"ok\":false,\"text\":\"of 2: 0 see the peer renew, 1 do not, 0 "
				 "have nobody who answers, 1 not reached\""));
		unchanged();
	}
}

static void C3_it_is_not_in_the_way_of_the_machines_own_question(void **state)
{
	int64_t now_ns = elector->machine.now_ns;

	(void)state;
	elector->machine.watch_ns = now_ns - 7 * BASE_NS_PER_S; /* of 20 s */
	assert_non_null(strstr(answer_at(client()), "whose peer leads and is seen"));
	elector->machine.watch_ns = now_ns;
	elector->machine.last_class = PEER_SILENT;
	assert_non_null(strstr(answer_at(client()), "whose peer leads and is seen"));
	elector->machine.last_class = PEER_OK;
	elector->machine.state = STATE_SUSPECT;
	assert_non_null(strstr(answer_at(client()), "whose peer leads and is seen"));
	assert_int_equal(role.look, 0);
	ASSERT_SAYS("{\"verb\":\"drill\",\"force\":true}", "does not know");
}

static void one_at_a_time_and_30_a_minute(void **state)
{
	int first = client();

	(void)state;
	assert_non_null(strstr(answer_at(client()), "one is done at a time"));
	/* Its client goes: it ends by itself, and tells nobody. */
	close(first);
	turn();
	(void)look(PEER_OK, "u");
	(void)witness(0, WITNESS_READ);
	(void)witness(1, WITNESS_READ);
	unchanged();
	for (int i = 0; i < DRILL_PER_MINUTE - 1; i++) {
		int fd = client();

		/* Nobody answers: what is late is told, and not waited for for ever. */
		elector->admin.drill.timer.fire(
		    elector, elector->admin.drill.began_ns + 60 * BASE_NS_PER_S);
		assert_non_null(strstr(answer_at(fd), "the observer has not answered"));
		assert_non_null(strstr(text, "0 have nobody who answers, 2 not reached"));
	}
	assert_non_null(strstr(answer_at(client()), "30 drills a minute"));
	unchanged();
}

static void without_workers_there_is_nobody_to_ask(void **state)
{
	int fd;

	(void)state;
	role.config.worker_count = 0;
	fd = client();
	(void)look(PEER_OK, "u");
	assert_non_null(strstr(answer_at(fd), "\"ok\":true,\"text\":\"nobody to ask\""));
	assert_int_equal(role.question, 0);
	role.observer_away = true;
	assert_non_null(strstr(answer_at(client()), "the observer is not connected"));
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_answer_is_told),
		TEST(what_would_stop_a_takeover_is_a_no),
		TEST(C3_it_is_not_in_the_way_of_the_machines_own_question),
		TEST(one_at_a_time_and_30_a_minute),
		TEST(without_workers_there_is_nobody_to_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
