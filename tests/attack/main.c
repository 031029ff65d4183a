/*
 * The launcher of the attack suite (see attack.h): lays out what hostile roles may find, runs each
 * attempt unlocked as the control, then as each kind of role behind all layers and behind each one
 * alone, and each role's packets. One row each, role x probe x layers x expected x got; a row that
 * went wrong also as `not ok - hostile syncer: ...`; the last line counts. `attack ROLE...`: those.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/sandbox.h"
#include "tests/attack/attack.h"

/* A kind of role that tries less has lost part of its list. */
#define LEAST_PROBES 100u
#define MOST_PROBES  300u

static const enum role kinds[] = { ROLE_LOADER, ROLE_RUNNER, ROLE_MONITOR, ROLE_SYNCER_DIALER,
	ROLE_OBSERVER, ROLE_ELECTOR, ROLE_SYNCER, ROLE_PUBLISHER, ROLE_REPOINTER, ROLE_FOLLOWER };

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const enum layer single_layers[] = { LAYER_USER, LAYER_LANDLOCK, LAYER_SECCOMP };
static const char *const layer_names[] = { "user", "landlock", "seccomp" };

/* What is known of a role while it is attacked, and of all. */
struct count {
	enum role role;
	unsigned probes, wrong, succeeded;
	unsigned by_layers[4]; /* how many are held by so many layers, each of them alone */
};

static bool impossible[MOST_PROBES]; /* the control did not work, and need not */

const struct attempt *attempt_at(unsigned number)
{
	static const struct attempt_list *const lists[] = { &file_attempts, &network_attempts,
		&process_attempts, &identity_attempts, &memory_attempts, &kernel_attempts };

	for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (number < lists[i]->count)
			return &lists[i]->attempts[number];
		number -= lists[i]->count;
	}
	return NULL;
}

int attempt_outcome(long result)
{
	return result >= 0 ? 0 : errno;
}

/* --- Reporting ------------------------------------------------------------------------------ */

static const char *error_name(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "refused";
}

static void row(struct count *count, const char *probe, const char *layers, const char *expected,
    const char *got, const char *wrong)
{
	printf("%-14s %-56s %-21s %-8s %s\n", role_name(count->role), probe, layers, expected, got);
	if (wrong)
		printf("not ok - hostile %s: %s: %s\n", role_name(count->role), probe, wrong);
	count->probes++;
	count->wrong += wrong != NULL;
}

static const char *name_layers(unsigned layers, char *text, size_t size)
{
	size_t n = 0;

	(void)snprintf(text, size, "-");
	for (unsigned i = 0; i < 3; i++)
		if (layers & single_layers[i])
			n += (size_t)snprintf(
			    text + n, size - n, "%s%s", n > 0 ? " " : "", layer_names[i]);
	return text;
}

/* --- The control ---------------------------------------------------------------------------- */

/* Unlocked and root: what must work, or the attempt proves nothing. */
static int run_unlocked(struct place *place, const struct attempt *attempt)
{
	int other = scene_refresh(place), status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < EXTRA_FDS; i++)
			if (dup2(place->fds[i], 100 + i) < 0)
				_exit(99);
		for (int i = 0; i < EXTRA_FDS; i++)
			if (dup2(100 + i, FD_SCENE + i) < 0)
				_exit(99);
		_exit(attempt->try(&place->scene));
	}
	(void)waitpid(pid, &status, 0);
	close(other);
	return status;
}

static unsigned control_all(struct place *place)
{
	unsigned wrong = 0;

	scene_start_sibling(place, ATTACK_UID_BASE);
	for (unsigned i = 0; attempt_at(i) && i < MOST_PROBES; i++) {
		const struct attempt *attempt = attempt_at(i);
		int status = run_unlocked(place, attempt);

		if (status == 0)
			continue;
		if (attempt->rare && WIFEXITED(status)) {
			impossible[i] = true;
			printf("# not possible here for anybody: %s: %s\n", attempt->name,
			    error_name(WEXITSTATUS(status)));
			continue;
		}
		printf("not ok - unlocked: %s: ends with status 0x%x\n", attempt->name,
		    (unsigned)status);
		wrong++;
	}
	scene_end_sibling(place);
	if (wrong == 0)
		printf("ok - unlocked: what is tried works, so that a refusal says something\n");
	return wrong;
}

/* --- Attempts --------------------------------------------------------------------------------- */

enum outcome { REFUSED, WORKED, BROKEN };

static enum outcome try_as(
    struct place *place, enum role role, enum layer layers, unsigned number, char *how, size_t size)
{
	int other = scene_refresh(place), status = -1;
	struct started started;
	char text[128] = "";

	if (!process_start(&started, role, layers, JOB_CALL, number, place)) {
		close(other);
		(void)snprintf(how, size, "it could not be started");
		return BROKEN;
	}
	status = process_end(&started, false, text, sizeof(text));
	close(other);
	if (!started.ready) {
		(void)snprintf(
		    how, size, "it never was locked: status 0x%x %s", (unsigned)status, text);
		return BROKEN;
	}
	/* SIGXFSZ is how a limit of files refuses. */
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGSYS && WTERMSIG(status) != SIGXFSZ) {
		(void)snprintf(how, size, "it crashed: status 0x%x %s", (unsigned)status, text);
		return BROKEN;
	}
	if (status == 0) {
		(void)snprintf(how, size, "works");
		return WORKED;
	}
	(void)snprintf(how, size, "%s",
	    WIFSIGNALED(status) ? "refused (killed)" : error_name(WEXITSTATUS(status)));
	return REFUSED;
}

/* Which layers hold it, each alone; broken names the first that could not be tried. */
static unsigned layers_of(
    struct place *place, enum role role, unsigned number, char *broken, size_t size)
{
	unsigned held = 0;
	char how[256];

	broken[0] = '\0';
	for (unsigned i = 0; i < 3; i++) {
		enum outcome outcome =
		    try_as(place, role, single_layers[i], number, how, sizeof(how));

		if (outcome == REFUSED)
			held |= single_layers[i];
		else if (outcome == BROKEN)
			(void)snprintf(broken, size, "%s alone: %s", layer_names[i], how);
	}
	return held;
}

/* What this kernel's Landlock can refuse at all, for those that one of its later abilities holds.
 */
static unsigned due_layers(const struct attempt *attempt, enum role role)
{
	const unsigned whole = SANDBOX_LANDLOCK_FS | SANDBOX_LANDLOCK_NET | SANDBOX_LANDLOCK_SCOPE;
	unsigned due = attempt->held;

	if (role == ROLE_RUNNER)
		return 0;
	if ((sandbox_available() & whole) != whole)
		due &= ~(unsigned)LAYER_LANDLOCK;
	return due;
}

static void attempt_as(struct place *place, struct count *count, unsigned number)
{
	const struct attempt *attempt = attempt_at(number);
	const bool allowed = (attempt->allowed & ROLE_BIT(count->role)) != 0;
	char how[256], layers[48], broken[300], missing[48], wrong[400] = "";
	enum outcome outcome = try_as(place, count->role, LAYER_ALL, number, how, sizeof(how));
	unsigned held = layers_of(place, count->role, number, broken, sizeof(broken));
	unsigned due = allowed ? 0 : due_layers(attempt, count->role) & ~held;

	if (outcome == BROKEN)
		(void)snprintf(wrong, sizeof(wrong), "%s", how);
	else if (broken[0])
		(void)snprintf(wrong, sizeof(wrong), "%s", broken);
	else if (outcome == WORKED ? !allowed : allowed && !attempt->rare)
		(void)snprintf(wrong, sizeof(wrong), allowed ? "refused: %s" : "it succeeded", how);
	else if (due)
		(void)snprintf(wrong, sizeof(wrong), "not held by %s alone any more",
		    name_layers(due, missing, sizeof(missing)));
	count->succeeded += !allowed && outcome == WORKED;
	if (!allowed)
		count->by_layers[__builtin_popcount(held)]++;
	row(count, attempt->name, name_layers(held, layers, sizeof(layers)),
	    !allowed        ? "refused"
	    : attempt->rare ? "may work"
			    : "works",
	    how, wrong[0] ? wrong : NULL);
}

static void on_packet(
    void *ctx, const struct packet *packet, enum role peer, const char *how, const char *wrong)
{
	struct count *count = ctx;
	const bool cut = packet->wanted == PACKET_CUT;
	char what[96];

	(void)snprintf(what, sizeof(what), "%s: %s", role_name(peer), packet->name);

	count->succeeded += wrong != NULL && cut;
	row(count, what, cut ? "receiver" : "-", cut ? "cut" : "arrives", how, wrong);
}

/* --- All ------------------------------------------------------------------------------------ */

static void attack_as(struct place *place, struct count *count)
{
	struct role_id id = { (uint8_t)count->role, 0 };

	scene_start_sibling(place, role_uid(id, ATTACK_UID_BASE));
	for (unsigned i = 0; attempt_at(i) && i < MOST_PROBES; i++)
		if (!impossible[i])
			attempt_as(place, count, i);
	scene_end_sibling(place);
	peers_attack(place, count->role, on_packet, count);
	if (count->probes < LEAST_PROBES) {
		printf("not ok - hostile %s: only %u probes, expected %u\n", role_name(count->role),
		    count->probes, LEAST_PROBES);
		count->wrong++;
	}
	if (count->wrong == 0)
		printf("ok - hostile %s: %u probes, as expected; of those refused to it %u are "
		       "held by "
		       "three layers, %u by two, %u by one\n",
		    role_name(count->role), count->probes, count->by_layers[3], count->by_layers[2],
		    count->by_layers[1]);
}

static bool is_named(enum role role, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], role_name(role)) == 0)
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	enum role self = argc > 0 ? role_by_name(argv[0]) : ROLE_COUNT;
	unsigned probes = 0, wrong, succeeded = 0;
	struct place place;

	if (self != ROLE_COUNT)
		return hostile_main(self, argc, argv);
	if (geteuid() != 0) {
		fprintf(stderr, "attack: root is needed: each probe runs under a uid of its own\n");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	scene_lay_out(&place);
	wrong = control_all(&place);
	printf("%-14s %-56s %-21s %-8s %s\n", "role", "probe", "layers", "expected", "got");
	wrong += mutants_run(ROLE_OBSERVER);
	for (unsigned i = 0; i < KINDS; i++) {
		struct count count = { .role = kinds[i] };

		if (!is_named(kinds[i], argc, argv))
			continue;
		attack_as(&place, &count);
		probes += count.probes;
		wrong += count.wrong;
		succeeded += count.succeeded;
	}
	scene_clear_away(&place);
	printf("attack: %u probes, %u succeeded\n", probes, succeeded);
	return wrong > 0 || succeeded > 0;
}
