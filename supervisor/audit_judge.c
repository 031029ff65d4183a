/*
 * Verdicts of the audit (see the header). Pure: facts in, rows out. It judges each property by
 * itself where verify.c, which decides whether a process may live, stops at the first deviation;
 * a test holds the two against each other.
 */
#include "supervisor/audit.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/expiry.h"
#include "policy/sandbox.h"

/* What all rows about one process have in common. */
struct subject {
	struct buf *out;
	const char *name;
	bool seen;       /* there are facts */
	const char *why; /* why not; NULL: nobody looked, and nobody should have */
};

static void format(char *to, size_t size, const char *words, va_list arguments)
{
	(void)vsnprintf(to, size, words, arguments);
}

__attribute__((format(printf, 3, 4))) static void say(char *to, size_t size, const char *words, ...)
{
	va_list arguments;

	va_start(arguments, words);
	format(to, size, words, arguments);
	va_end(arguments);
}
#define SAY(field, ...) say(field, sizeof(field), __VA_ARGS__)

/* A row whose verdict is whether `right` holds, if anybody could look. */
static void put(
    const struct subject *subject, struct audit_row *row, bool right, enum audit_verdict otherwise)
{
	row->kind = AUDIT_PROTECTION;
	SAY(row->subject, "%s", subject->name);
	row->verdict = right ? AUDIT_OK : otherwise;
	if (!subject->seen) {
		row->verdict = subject->why ? AUDIT_UNVERIFIED : AUDIT_DECLARED;
		row->effective[0] = row->probed[0] = row->text[0] = '\0';
		if (subject->why)
			SAY(row->text, "%s", subject->why);
	}
	audit_put(subject->out, row);
}

/* one_uid: 0 is what allow-missing accepts in its place (F26). */
static void put_ids(const struct subject *subject, const char *what, const uint32_t ids[4],
    uint32_t wanted, bool one_uid)
{
	struct audit_row row = { .what = "" };
	bool same = ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3];
	bool waived = one_uid && same && ids[0] == 0;

	SAY(row.what, "%s", what);
	SAY(row.declared, "%u", wanted);
	if (same)
		SAY(row.effective, "%u", ids[0]);
	else
		SAY(row.effective, "%u %u %u %u", ids[0], ids[1], ids[2], ids[3]);
	if (waived)
		SAY(row.text, "the supervisor's: allow-missing names uid-separation");
	put(subject, &row, same && ids[0] == wanted, waived ? AUDIT_WAIVED : AUDIT_FINDING);
}

/* One number, which must be exactly this one. */
static void put_number(
    const struct subject *subject, const char *what, uint64_t value, uint64_t wanted)
{
	struct audit_row row = { .what = "" };

	SAY(row.what, "%s", what);
	SAY(row.declared, "%" PRIu64, wanted);
	SAY(row.effective, "%" PRIu64, value);
	put(subject, &row, value == wanted, AUDIT_FINDING);
}

static void put_most(const struct subject *subject, const char *what, uint64_t value, uint64_t most)
{
	struct audit_row row = { .what = "" };

	SAY(row.what, "%s", what);
	SAY(row.declared, "at most %" PRIu64, most);
	if (value == UINT64_MAX)
		SAY(row.effective, "unlimited");
	else
		SAY(row.effective, "%" PRIu64, value);
	put(subject, &row, value <= most, AUDIT_FINDING);
}

/* --- Capabilities ---------------------------------------------------------------------------- */

static void put_capabilities(const struct subject *subject, const char *words, const uint64_t *caps,
    uint64_t most, bool bounding_waived)
{
	static const char *const names[5] = { "inheritable", "permitted", "effective", "bounding",
		"ambient" };

	for (int i = 0; i < 5; i++) {
		struct audit_row row = { .what = "" };
		bool may = i >= 1 && i <= 3;

		SAY(row.what, "capabilities %s", names[i]);
		SAY(row.declared, "%s", may ? words : "none");
		if (caps[i] == 0)
			SAY(row.effective, "none");
		else
			SAY(row.effective, "%016" PRIx64, caps[i]);
		put(subject, &row, (caps[i] & ~(may ? most : 0)) == 0,
		    i == 3 && bounding_waived ? AUDIT_WAIVED : AUDIT_FINDING);
	}
}

/* --- Confinement ----------------------------------------------------------------------------- */

static void put_seccomp(const struct subject *subject, const struct verify_expected *expected,
    const struct verify_facts *facts)
{
	bool runner = expected->id.role == ROLE_RUNNER;
	uint32_t filters = expected->filters + (runner ? 1 : 2);
	struct audit_row row = { .what = "seccomp" };

	SAY(row.declared, "mode 2, %u filters", filters);
	SAY(row.effective, "mode %u, %u filters", facts->seccomp, facts->filters);
	if (runner)
		SAY(row.text, "filter 1 only: the workload inherits it (F5)");
	else
		SAY(row.probed, "filter 2 answered socketpair, setresuid, connect and open as its "
				"list says, at the start");
	put(subject, &row, facts->seccomp == 2 && facts->filters == filters, AUDIT_FINDING);
}

/* What no file of /proc shows: the process's own trial before its filter closed (F15). */
static void put_protections(const struct subject *subject, const struct verify_expected *expected,
    unsigned in_force, unsigned available)
{
	static const unsigned bits[] = { SANDBOX_LANDLOCK_FS, SANDBOX_LANDLOCK_NET,
		SANDBOX_LANDLOCK_SCOPE, SANDBOX_MDWE, SANDBOX_MLOCK };
	static const char *const words[] = {
		"opens no file",
		"connects to no TCP port but its own",
		"reaches no abstract socket, signals no process outside",
		"makes no memory executable",
		"may lock its secrets in memory",
	};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		struct audit_row row = { .what = "" };
		enum audit_verdict otherwise = AUDIT_FINDING;
		bool mine = expected->id.role != ROLE_RUNNER || bits[i] == SANDBOX_MLOCK;

		SAY(row.what, "%s", sandbox_protection_name(bits[i]));
		SAY(row.declared, "%s", mine ? words[i] : "not for the runner");
		SAY(row.probed, "%s", in_force & bits[i] ? "in force, at the start" : "no");
		if (!mine)
			SAY(row.text, "its workload would inherit it (F5)");
		else if (expected->waived & bits[i]) {
			otherwise = AUDIT_WAIVED;
			SAY(row.text, "allow-missing names it");
		} else if (!(bits[i] & SANDBOX_REQUIRED) && !(available & bits[i])) {
			otherwise = AUDIT_OK;
			SAY(row.text, "absent: this kernel has it not (a bonus)");
		}
		put(subject, &row, !mine || (in_force & bits[i]), otherwise);
	}
}

static void put_limits(const struct subject *subject, const struct verify_expected *expected,
    const struct verify_facts *facts)
{
	const struct role_row *role = role_row(expected->id.role);
	struct audit_row row = { .what = "limits are fixed", .declared = "yes" };

	/* The runner's are those of the workload. */
	if (expected->id.role == ROLE_RUNNER)
		return;
	put_number(subject, "limit: core file", facts->core, 0);
	put_number(subject, "limit: processes", facts->processes, 0);
	put_most(subject, "limit: open files", facts->files, role->nofile);
	put_most(subject, "limit: data, bytes", facts->data_bytes, (uint64_t)role->data_mib << 20);
	SAY(row.effective, "%s", facts->limits_fixed ? "yes" : "no");
	put(subject, &row, facts->limits_fixed, AUDIT_FINDING);
	put_most(subject, "open descriptors", facts->fd_count, role->nofile);
}

static void put_process(const struct subject *subject, const struct verify_expected *expected,
    const struct verify_facts *facts, unsigned in_force, unsigned available)
{
	bool runner = expected->id.role == ROLE_RUNNER;
	uint64_t three = 1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_KILL;
	bool one_uid = !runner && !(available & SANDBOX_UID_SEPARATION) &&
		       (expected->waived & SANDBOX_UID_SEPARATION);
	struct audit_row row = { .what = "supplementary groups", .declared = "none" };

	put_ids(subject, "uid", facts->uids, expected->uid, one_uid);
	put_ids(subject, "gid", facts->gids, expected->uid, one_uid);
	SAY(row.effective, "%s", facts->has_groups ? "some" : "none");
	put(subject, &row, !facts->has_groups, AUDIT_FINDING);
	put_capabilities(subject, runner ? "SETUID SETGID KILL" : "none", facts->caps,
	    runner ? three : 0, (expected->waived & SANDBOX_BOUNDING_SET) != 0);
	put_number(subject, "no new privileges", facts->no_new_privs, 1);
	put_seccomp(subject, expected, facts);
	put_protections(subject, expected, in_force, available);
	row = (struct audit_row){ .what = "dumpable", .declared = "no" };
	/* The kernel gives /proc/PID of such a process to root: of root's own that says nothing. */
	if (one_uid)
		SAY(row.probed, "no, at the start");
	else
		SAY(row.effective, "%s", facts->owner ? "yes" : "no");
	put(subject, &row, facts->owner == 0, AUDIT_FINDING);
	put_number(subject, "traced by", facts->tracer, 0);
	put_number(subject, "parent", facts->parent, expected->parent);
	put_number(subject, "threads", facts->threads, 1);
	put_limits(subject, expected, facts);
}

void audit_judge_process(struct buf *out, const char *subject,
    const struct verify_expected *expected, const struct verify_facts *facts, unsigned in_force,
    unsigned available)
{
	const struct subject seen = { out, subject, !facts->ended,
		facts->ended ? "it ended while it was looked at" : NULL };

	put_process(&seen, expected, facts, in_force, available);
}

void audit_judge_unseen(
    struct buf *out, const char *subject, const struct verify_expected *expected, const char *why)
{
	const struct subject unseen = { out, subject, false, why };
	const struct verify_facts nothing = { 0 };

	put_process(&unseen, expected, &nothing, 0, 0);
}

void audit_judge_supervisor(
    struct buf *out, const struct verify_facts *facts, uint32_t filters, bool bounding_waived)
{
	const struct subject self = { out, "supervisor", true, NULL };
	struct audit_row row = { .what = "seccomp" };
	uint64_t four =
	    1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_KILL | 1ULL << CAP_SETPCAP;

	put_ids(&self, "uid", facts->uids, 0, false);
	put_capabilities(&self, "SETUID SETGID SETPCAP KILL", facts->caps, four, bounding_waived);
	put_number(&self, "no new privileges", facts->no_new_privs, 1);
	/* Others may lie beneath its own, of a container or a unit; one that went is never seen. */
	SAY(row.declared, "mode 2, %u filters", filters);
	SAY(row.effective, "mode %u, %u filters", facts->seccomp, facts->filters);
	SAY(row.text, "filter 1 only: all others inherit it (F29)");
	put(&self, &row, filters > 0 && facts->seccomp == 2 && facts->filters == filters,
	    AUDIT_FINDING);
	put_number(&self, "traced by", facts->tracer, 0);
	put_number(&self, "threads", facts->threads, 1);
}

/* --- Canaries -------------------------------------------------------------------------------- */

void audit_judge_canary(struct buf *out, const char *subject, const struct canary_answers *answers)
{
	struct audit_row row = { .kind = AUDIT_PROBE,
		.what = "a canary in its row",
		.declared = "confined as the role is" };

	SAY(row.subject, "%s", subject);
	if (answers->entered)
		SAY(row.effective, "%s", "confined as the role is, by /proc, before each probe");
	SAY(row.text, "%s", answers->fault);
	if (answers->deviates)
		row.verdict = AUDIT_FINDING;
	else if (answers->fault[0] || !answers->entered)
		row.verdict = AUDIT_UNVERIFIED;
	audit_put(out, &row);
}

/* "works", "EPERM", "SIGSYS"; "" when nobody knows. */
static void name_outcome(uint16_t outcome, char *to, size_t size)
{
	int number = outcome & 0xff;
	const char *name;

	if (outcome & CANARY_DIED) {
		name = sigabbrev_np(number);
		(void)snprintf(to, size, "killed by SIG%s", name ? name : "?");
	} else if (outcome == CANARY_WORKED) {
		(void)snprintf(to, size, "works");
	} else if (outcome != CANARY_UNANSWERED) {
		name = strerrorname_np(number);
		(void)snprintf(to, size, "refused with %s", name ? name : "?");
	}
}

void audit_judge_probe(struct buf *out, enum role role, const struct canary_probe *probe,
    const struct canary_answers *answers, unsigned number)
{
	uint16_t wanted[] = { [CANARY_WORKS] = CANARY_WORKED,
		[CANARY_REFUSED] = (uint16_t)probe->with,
		[CANARY_KILLED] = CANARY_DIED | SIGSYS },
		 outcome = answers->outcomes[number];
	enum canary_expected expected = canary_expects(probe, role, answers->in_force);
	struct audit_row row = { .kind = AUDIT_PROBE };

	/* Landlock's, on a kernel that has not that much of it: see its own row. */
	if (expected == CANARY_NOT_TRIED)
		return;
	SAY(row.subject, "%s", role_name(role));
	SAY(row.what, "%s", probe->what);
	name_outcome(wanted[expected], row.declared, sizeof(row.declared));
	name_outcome(outcome, row.probed, sizeof(row.probed));
	if (outcome == CANARY_UNANSWERED) {
		row.verdict = AUDIT_UNVERIFIED;
		SAY(row.text, "no canary came so far");
	} else if (outcome != wanted[expected]) {
		row.verdict = AUDIT_FINDING;
		SAY(row.text, "%s",
		    expected == CANARY_WORKS ? "what the role may do does not work"
					     : "the row of this role does not hold");
	}
	audit_put(out, &row);
}

/* --- Files ----------------------------------------------------------------------------------- */

void audit_judge_file(struct buf *out, enum audit_kind kind, const char *subject,
    const struct audit_file *file, const struct audit_wanted_file *wanted)
{
	struct audit_row row = { .kind = kind };
	uint32_t mode = file->mode & 07777;

	SAY(row.subject, "%s", subject);
	SAY(row.what, "%s", file->path);
	SAY(row.declared, "%s", wanted->words);
	if (file->error) {
		row.verdict = AUDIT_UNVERIFIED;
		SAY(row.text, "%s", strerror(file->error));
		audit_put(out, &row);
		return;
	}
	SAY(row.effective, "uid %u, gid %u, mode %04o", file->uid, file->gid, mode);
	row.verdict = AUDIT_FINDING;
	if (!file->right_kind)
		SAY(row.text, "it is something else than it should be");
	else if (file->uid != 0)
		SAY(row.text, "its owner is not root");
	else if (mode & wanted->forbidden)
		SAY(row.text, "its mode lets more users in than it should");
	else if ((mode & wanted->needed) != wanted->needed)
		SAY(row.text, "its mode lets in fewer users than it should");
	else if (!wanted->any_group && (mode & 070) && file->gid != wanted->gid)
		SAY(row.text, "its group, gid %u, is let in", file->gid);
	else
		row.verdict = AUDIT_OK;
	audit_put(out, &row);
}

/* --- Credentials ----------------------------------------------------------------------------- */

static void put_holder(struct buf *out, const struct audit_identity *identity, bool offline)
{
	struct audit_row row = { .kind = AUDIT_CREDENTIAL, .what = "holder" };

	SAY(row.subject, "%s", identity->name);
	SAY(row.declared, "%s and nobody else", identity->holder);
	/* Each of the two could do what any of them may, whoever runs. */
	if (identity->same) {
		row.verdict = identity->same_allowed ? AUDIT_WAIVED : AUDIT_FINDING;
		SAY(row.text, "credential %s is the same identity%s", identity->same,
		    identity->same_allowed ? ", as shared-credentials says" : "");
		audit_put(out, &row);
		return;
	}
	if (offline || (!identity->holder_runs && !identity->holder_wanted)) {
		row.verdict = AUDIT_DECLARED;
		SAY(row.effective, "%s", offline ? "" : "nobody: the role does not run");
	} else if (!identity->holder_runs || !identity->delivered) {
		row.verdict = AUDIT_UNVERIFIED;
		SAY(row.text, "%s",
		    identity->holder_runs ? "not handed over yet" : "the role does not run now");
	} else {
		SAY(row.effective, "%s, generation %" PRIu64, identity->holder,
		    identity->generation);
	}
	audit_put(out, &row);
}

static void put_expiry(struct buf *out, const struct audit_identity *identity, int64_t now_us)
{
	struct audit_row row = {
		.kind = AUDIT_CREDENTIAL, .what = "expiry", .declared = "not expired, and not soon"
	};
	int64_t expires_us = identity->pinned->expires_us;
	time_t seconds = (time_t)(expires_us / 1000000);
	struct tm tm;

	SAY(row.subject, "%s", identity->name);
	if (!identity->known) {
		row.verdict = AUDIT_UNVERIFIED;
		SAY(row.text, "its files were not read");
	} else if (expires_us == 0) {
		SAY(row.effective, "never, by its own word");
	} else {
		if (gmtime_r(&seconds, &tm))
			(void)strftime(
			    row.effective, sizeof(row.effective), "%Y-%m-%dT%H:%M:%SZ", &tm);
		if (expiry_is_soon(identity->pinned->issued_us, expires_us, now_us)) {
			row.verdict = AUDIT_FINDING;
			SAY(row.text, "expires in %" PRId64 " s", (expires_us - now_us) / 1000000);
		}
	}
	audit_put(out, &row);
}

void audit_judge_identity(
    struct buf *out, const struct audit_identity *identity, bool offline, int64_t now_us)
{
	const struct us_loaded *pinned = identity->pinned;
	struct audit_row row = { .kind = AUDIT_CREDENTIAL,
		.what = "identity",
		.declared = "the same server and subject for as long as nobody reloads (F7)" };

	SAY(row.subject, "%s", identity->name);
	if (!identity->known) {
		row.verdict = AUDIT_UNVERIFIED;
		SAY(row.text, "its files were not read");
	} else {
		SAY(row.effective, "%s at %s:%u", *pinned->subject ? pinned->subject : "no subject",
		    pinned->host, pinned->port);
		if (pinned->public_print)
			SAY(row.text, "public part: SHA-256 %016" PRIx64 "...",
			    pinned->public_print);
		else
			SAY(row.text, "it has no public part: an opaque token");
	}
	audit_put(out, &row);
	put_holder(out, identity, offline);
	put_expiry(out, identity, now_us);
}

/* --- Links ----------------------------------------------------------------------------------- */

void audit_judge_link(struct buf *out, const char *name, bool up, uint64_t generation,
    bool ends_run, bool ends_wanted, bool offline)
{
	struct audit_row row = { .kind = AUDIT_LINK,
		.what = "link",
		.declared = "messages of ipc/messages.def, made by the supervisor" };

	SAY(row.subject, "%s", name);
	if (offline) {
		row.verdict = AUDIT_DECLARED;
	} else if (up) {
		SAY(row.effective, "up, generation %" PRIu64, generation);
	} else if (ends_run) {
		row.verdict = AUDIT_FINDING;
		SAY(row.effective, "cut");
		SAY(row.text, "both ends live and have no link: one of them had reason to cut it");
	} else {
		row.verdict = ends_wanted ? AUDIT_UNVERIFIED : AUDIT_DECLARED;
		SAY(row.text, "an end does not run%s", ends_wanted ? " now" : "");
	}
	audit_put(out, &row);
}
