/*
 * Connections: what a dialer may answer, which descriptors are taken, and that generations of a
 * credential share none. Rules: F10, F11, F22, C4, M18.
 * Pitfalls: P36, P79, P80.
 */
#include "tests/unit/kube_role.h"

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
	struct kube_ask what = get("/api/v1", PATIENT_MS);

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
	what.deadline_ms = PATIENT_MS;
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
	what.deadline_ms = PATIENT_MS;
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
	what.deadline_ms = PATIENT_MS;
	assert_int_equal(ask(&what).class, KUBE_OK);
	role.answered_count--;
	dialed(DIAL_REFUSED, -1);
	assert_int_equal(role.verdict, VERDICT_PEER_BROKEN);
}

static void test_non_blocking_is_set_again(void **state)
{
	struct kube_ask what = get("/api/v1", PATIENT_MS);
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
	struct kube_ask what = get("/api/v1", PATIENT_MS);
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
	struct kube_ask what = get("/api/v1", PATIENT_MS);

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
	struct kube_ask what = get("/api/v1", PATIENT_MS);
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
	struct kube_ask what = get("/api/v1", PATIENT_MS);
	struct result result;

	(void)state;
	what.target = 4;
	result = ask(&what);
	assert_int_equal(result.class, KUBE_BLIND);
	assert_int_equal(result.answer.why, PEER_WHY_NO_CREDENTIAL);
	assert_true(kube_client_has(role.client, 3));
	assert_false(kube_client_has(role.client, 4));
}

static void on_renewed(void *arg)
{
	++*(unsigned *)arg;
}

/* Who waits after a failure is told of a new identity, of its own target only; one that is refused
 * is none. */
static void test_a_new_identity_is_told(void **state)
{
	unsigned count[3] = { 0 };
	struct kube_renewal renewals[3] = {
		{ .target = 3, .renewed = on_renewed, .arg = &count[0] },
		{ .target = 4, .renewed = on_renewed, .arg = &count[1] },
		{ .target = 3, .renewed = on_renewed, .arg = &count[2] },
	};
	struct msg_credential credential = identity(3);
	struct err err;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		kube_client_on_renewal(role.client, &renewals[i]);
	take(&credential);
	assert_int_equal(count[0], 1);
	assert_int_equal(count[1], 0);
	assert_int_equal(count[2], 1);
	credential.ca = STR_LIT("no certificate");
	assert_int_equal(kube_client_credential(role.client, &credential, &err), -1);
	assert_int_equal(count[0], 1);
	kube_client_off_renewal(role.client, &renewals[0]);
	kube_client_off_renewal(role.client, &renewals[0]); /* twice is once */
	credential = identity(3);
	take(&credential);
	assert_int_equal(count[0], 1);
	assert_int_equal(count[2], 2);
	kube_client_off_renewal(role.client, &renewals[1]);
	kube_client_off_renewal(role.client, &renewals[2]);
}

/* P36: of no question of ours, or of one that is answered already. */
static void test_answers_without_a_question(void **state)
{
	struct kube_ask what = get("/api/v1", PATIENT_MS);
	struct msg_dialed late = { .id = 1, .outcome = DIAL_REFUSED };

	(void)state;
	assert_int_equal(kube_client_dialed(role.client, &late, -1), VERDICT_PEER_BROKEN);
	assert_int_equal(ask(&what).class, KUBE_OK);
	for (late.id = 0; late.id < 4; late.id++)
		assert_int_equal(kube_client_dialed(role.client, &late, -1), VERDICT_PEER_BROKEN);
	assert_int_equal(ask(&what).class, KUBE_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(dial_outcomes),
		TEST(no_dialer_is_blindness),
		TEST(dialer_that_hangs_and_dies),
		TEST(handed_descriptors_are_judged),
		TEST(non_blocking_is_set_again),
		TEST(generations_do_not_share_connections),
		TEST(client_certificate),
		TEST(wrong_authority_and_wrong_name_are_blindness),
		TEST(no_credential),
		TEST(a_new_identity_is_told),
		TEST(answers_without_a_question),
	};
	int failed;

	bed_start(&bed);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bed_stop(&bed);
	return failed;
}
