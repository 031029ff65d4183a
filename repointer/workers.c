/*
 * The machine of one worker (see the header). push.c carries out what it says; the permit is asked
 * for here and once more right before the request leaves (H16).
 */
#include "repointer/workers.h"

#include <string.h>

bool worker_is_permitted(const struct worker_goal *goal, int64_t now_ns)
{
	return goal->term != 0 && now_ns < goal->valid_until_ns;
}

static struct worker_action wait_until(int64_t wake_ns)
{
	return (struct worker_action){ WORKER_WAIT, wake_ns };
}

/* Something else stands where we wrote. What we want changed since: it is not foreign, write.
 * Nothing stands there, or what our term outranks already: nobody can mean that, so it is waited
 * for no longer than the watch may be behind our own write. Else somebody has a reason; C9 gives it
 * five minutes. Returns the time from which on to write. */
static int64_t reassert_ns(struct worker *worker, const struct worker_goal *goal,
    const struct worker_view *view, int64_t now_ns)
{
	bool outranked = view->known && (!view->exists || view->term < goal->term);

	if (worker->done_version != goal->version)
		return now_ns;
	if (worker->foreign_ns == 0)
		worker->foreign_ns = now_ns;
	return worker->foreign_ns + (outranked ? WORKER_OUTRANKED_NS : WORKER_REASSERT_NS);
}

struct worker_action worker_step(struct worker *worker, const struct worker_goal *goal,
    const struct worker_view *view, int64_t now_ns)
{
	int64_t from_ns = worker->next_try_ns;
	bool fits =
	    view->known && view->exists && view->term == goal->term && view->ours && view->same;
	bool outranks = view->known && view->exists && view->term > goal->term;

	if (!worker_is_permitted(goal, now_ns) || worker->pushing)
		return wait_until(0);
	/* A refused term never leapfrogs: it is a hint for the elector (C7). It binds as long as it
	 * stands there: whoever claimed it may leave (B13). */
	if (worker->superseded_term == goal->term) {
		worker->superseded_seen |= outranks;
		if (outranks || !worker->superseded_seen)
			return wait_until(0);
		worker->superseded_term = 0;
	}
	if (outranks) {
		worker->superseded_term = goal->term;
		worker->superseded_seen = true;
		return (struct worker_action){ WORKER_TELL_SUPERSEDED, 0 };
	}
	if (fits) {
		worker->foreign_ns = 0;
		if (worker->done_term == goal->term && worker->done_version == goal->version)
			return wait_until(0);
		worker->done_term = goal->term;
		worker->done_version = goal->version;
		return (struct worker_action){ WORKER_TELL_EQUAL, 0 };
	}
	/* What we wrote last is not seen yet by the watch, or was changed by somebody. */
	if (worker->done_term == goal->term) {
		int64_t reassert = reassert_ns(worker, goal, view, now_ns);

		if (reassert > from_ns)
			from_ns = reassert;
	} else if (!goal->has_bundle && goal->since_ns + WORKER_BUNDLE_NS > from_ns) {
		from_ns = goal->since_ns + WORKER_BUNDLE_NS;
	}
	if (now_ns < from_ns)
		return wait_until(from_ns);
	return (struct worker_action){ WORKER_PUSH, 0 };
}

void worker_pushing(struct worker *worker)
{
	worker->pushing = true;
}

void worker_pushed(struct worker *worker, const struct worker_goal *goal, enum push_outcome outcome,
    int64_t now_ns, uint64_t random)
{
	worker->pushing = false;
	worker->foreign_ns = 0;
	switch (outcome) {
	case PUSH_DONE:
	case PUSH_EQUAL:
		worker->done_term = goal->term;
		worker->done_version = goal->version;
		worker->failures = 0;
		worker->next_try_ns = 0;
		return;
	case PUSH_SUPERSEDED:
		worker->superseded_term = goal->term;
		worker->superseded_seen = false; /* by the watch, which comes behind the answer */
		return;
	case PUSH_DENIED:
	case PUSH_NO_CRD:
	case PUSH_UNREACHABLE: break;
	}
	worker->failures++;
	worker->next_try_ns = now_ns + worker_backoff_ns(worker->failures, random);
}

void worker_term_changed(struct worker *worker)
{
	enum worker_state state = worker->state;

	*worker = (struct worker){ .state = state };
}

bool worker_state_seen(struct worker *worker, enum worker_state state)
{
	bool changed = worker->state != state;

	worker->state = state;
	if (changed &&
	    (state == WORKER_OK || state == WORKER_NO_OBJECT || state == WORKER_NO_FENCE)) {
		worker->failures = 0;
		worker->next_try_ns = 0;
	}
	return changed;
}

enum worker_rehearsal worker_rehearsed(
    enum worker_rehearsal_step step, const struct kube_answer *answer)
{
	static const struct {
		enum kube_class class;
		const char *word;
	} wanted[] = { [REHEARSE_PUSH] = { KUBE_OK, "" },
		[REHEARSE_LOWER_TERM] = { KUBE_INVALID, "UNDERSTUDY_TERM" },
		[REHEARSE_FOREIGN_IDENTITY] = { KUBE_FORBIDDEN, "UNDERSTUDY_IDENTITY" } };

	if (answer->class == wanted[step].class && strstr(answer->message, wanted[step].word))
		return REHEARSAL_AS_WANTED;
	return answer->class == KUBE_OK ? REHEARSAL_UNFENCED : REHEARSAL_FAILED;
}

enum rights_verdict worker_door(enum rights_check door, const struct kube_answer *answer)
{
	switch (answer->class) {
	case KUBE_OK: return RIGHTS_DIFFER;
	case KUBE_NOT_FOUND: /* its right let it through, and nothing is there to delete */
		return door == RIGHTS_CHECK_DELETE ? RIGHTS_DIFFER : RIGHTS_UNKNOWN;
	case KUBE_INVALID:
		if (door == RIGHTS_CHECK_SPEC ||
		    (door == RIGHTS_CHECK_TERM && strstr(answer->message, "UNDERSTUDY_TERM")))
			return RIGHTS_AS_WANTED;
		return RIGHTS_UNKNOWN;
	case KUBE_FORBIDDEN:
		if (door == RIGHTS_CHECK_DELETE || door == RIGHTS_CHECK_SPEC ||
		    (door == RIGHTS_CHECK_IDENTITY &&
			strstr(answer->message, "UNDERSTUDY_IDENTITY")))
			return RIGHTS_AS_WANTED;
		return RIGHTS_UNKNOWN;
	default: return RIGHTS_UNKNOWN; /* refused by something else, which proves nothing */
	}
}

enum push_outcome worker_outcome_of(const struct kube_answer *answer)
{
	switch (answer->class) {
	case KUBE_OK: return PUSH_DONE;
	case KUBE_NO_RESOURCE:
	case KUBE_NOT_FOUND: return PUSH_NO_CRD; /* an apply creates the object itself */
	case KUBE_INVALID:
		return strstr(answer->message, "UNDERSTUDY_TERM") ? PUSH_SUPERSEDED : PUSH_DENIED;
	case KUBE_SILENT:
	case KUBE_BLIND:
	case KUBE_SERVER_ERROR:
	case KUBE_THROTTLED: return PUSH_UNREACHABLE;
	case KUBE_UNAUTHORIZED:
	case KUBE_FORBIDDEN:
	case KUBE_CONFLICT:
	case KUBE_EXISTS:
	case KUBE_GONE:
	case KUBE_TOO_LARGE:
	case KUBE_REFUSED: break;
	}
	return PUSH_DENIED;
}

bool worker_state_of(enum kube_class class, enum worker_state *state)
{
	switch (class) {
	case KUBE_OK: *state = WORKER_OK; return true;
	case KUBE_NOT_FOUND: *state = WORKER_NO_OBJECT; return true;
	case KUBE_NO_RESOURCE: *state = WORKER_NO_CRD; return true;
	case KUBE_UNAUTHORIZED:
	case KUBE_FORBIDDEN: *state = WORKER_DENIED; return true;
	case KUBE_SILENT:
	case KUBE_BLIND:
	case KUBE_SERVER_ERROR: *state = WORKER_UNREACHABLE; return true;
	case KUBE_CONFLICT:
	case KUBE_EXISTS:
	case KUBE_GONE:
	case KUBE_TOO_LARGE:
	case KUBE_INVALID:
	case KUBE_THROTTLED:
	case KUBE_REFUSED: break;
	}
	return false;
}

int64_t worker_backoff_ns(unsigned failures, uint64_t random)
{
	int64_t base_ns = WORKER_BACKOFF_MIN_NS;

	while (failures-- > 1 && base_ns < WORKER_BACKOFF_MAX_NS)
		base_ns *= 2;
	if (base_ns > WORKER_BACKOFF_MAX_NS)
		base_ns = WORKER_BACKOFF_MAX_NS;
	return base_ns * 4 / 5 + (int64_t)(random % (uint64_t)(base_ns * 2 / 5 + 1));
}

const char *worker_state_name(enum worker_state state)
{
	static const char *const names[] = { "ok", "no-crd", "no-object", "no-fence", "denied",
		"unreachable" };

	return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

const char *worker_outcome_name(enum push_outcome outcome)
{
	static const char *const names[] = { "done", "equal", "superseded", "denied", "no-crd",
		"unreachable" };

	return (size_t)outcome < sizeof(names) / sizeof(names[0]) ? names[outcome] : "?";
}
