/*
 * Rehearsal (H20): a Standby shows that it could re-point a worker, and that the worker's API
 * server would refuse what must be refused, by three dry runs every ten minutes and after each
 * rotation. It must not write, and no promotion waits for it; while a permit holds the pushes
 * themselves tell.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "repointer/repointer.h"

#define BODY_MAX_BYTES 4096
#define FIRST_NS       (2 * BASE_NS_PER_S)
#define AGAIN_NS       (600 * BASE_NS_PER_S)

static void later(struct member *member, int64_t delay_ns)
{
	/* Spread: shards begin together, their workers need not. */
	delay_ns += (int64_t)(base_random_u64() % (uint64_t)(delay_ns / 2));
	loop_timer_set(role_loop(member->repointer->process), &member->rehearsal.timer,
	    base_clock_boot_ns() + delay_ns);
}

static bool leads(const struct repointer *repointer)
{
	return repointer->term != 0 && base_clock_boot_ns() < repointer->valid_until_ns;
}

/* What was learned about the fence; everything else the watch sees, too. */
static void conclude(struct member *member, bool unfenced)
{
	bool changed = member->unfenced != unfenced;

	member->unfenced = unfenced;
	if (unfenced)
		watch_see_state(member, WORKER_NO_FENCE, member->rehearsal.missing);
	else if (changed)
		watch_see_state(member, member->view.exists ? WORKER_OK : WORKER_NO_OBJECT, "");
	if (!unfenced)
		log_debug("worker %s: rehearsal as wanted", member_name(member));
}

static void ask(struct member *member);

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct member *member = arg;
	struct rehearsal *rehearsal = &member->rehearsal;
	enum worker_state state;

	rehearsal->id = 0;
	later(member, AGAIN_NS);
	switch (worker_rehearsed(rehearsal->step, answer)) {
	case REHEARSAL_AS_WANTED: break;
	case REHEARSAL_UNFENCED:
		(void)snprintf(rehearsal->missing, sizeof(rehearsal->missing),
		    "%s was not refused in a dry run",
		    rehearsal->step == REHEARSE_LOWER_TERM ? "a lower term" : "a foreign identity");
		conclude(member, true);
		return;
	case REHEARSAL_FAILED:
		log_warn("worker %s: rehearsal: %s: %s", member_name(member),
		    kube_class_name(answer->class), answer->message);
		if (rehearsal->step == REHEARSE_PUSH && answer->class != KUBE_OK &&
		    worker_state_of(answer->class, &state))
			watch_see_state(member, state, answer->message);
		return;
	}
	if (rehearsal->step == REHEARSE_FOREIGN_IDENTITY) {
		conclude(member, false);
		return;
	}
	rehearsal->step++;
	ask(member);
}

void rehearse_put_claim(
    const struct repointer *repointer, const char *identity, uint64_t term, struct buf *out)
{
	buf_puts(out, "{\"apiVersion\":\"ha.kubeslice.io/v1alpha1\","
		      "\"kind\":\"ClusterController\",\"metadata\":{\"name\":\"active\"},"
		      "\"spec\":{\"endpoint\":");
	buf_json_string(out, str_of(repointer->endpoint));
	buf_puts(out, ",\"identity\":");
	buf_json_string(out, str_of(identity));
	buf_printf(out, ",\"term\":%llu}}", (unsigned long long)term);
}

/* The request of the present step, or of the one after it when there is no lower term to try. */
static void ask(struct member *member)
{
	const struct repointer *repointer = member->repointer;
	const struct us_config *config = role_config(repointer->process);
	struct rehearsal *rehearsal = &member->rehearsal;
	uint64_t stands = member->view.exists ? member->view.term : 0, term;
	const char *identity = repointer->self;
	struct buf body = buf_make(BODY_MAX_BYTES);

	if (leads(repointer))
		return;
	if (rehearsal->step == REHEARSE_LOWER_TERM && stands < 2)
		rehearsal->step++;
	if (rehearsal->step == REHEARSE_FOREIGN_IDENTITY)
		identity = config_text_at(config, config->hubs[1 - config->self].name);
	term = rehearsal->step == REHEARSE_LOWER_TERM
		   ? stands - 1
		   : stands + 1 + (stands + 1 + config_slot(config)) % 2;
	rehearse_put_claim(repointer, identity, term, &body);
	if (!body.failed)
		rehearsal->id = member_ask(member, KUBE_PATCH_APPLY, REPOINTER_OBJECT,
		    "fieldManager=" REPOINTER_MANAGER "&force=true&dryRun=All", buf_str(&body),
		    OTHER_REQUEST_MS, on_answer);
	buf_free(&body);
}

static void on_timer(void *arg, int64_t now_ns)
{
	struct member *member = arg;

	(void)now_ns;
	later(member, member->view.known ? AGAIN_NS : FIRST_NS);
	if (!member->view.known || member->rehearsal.id || leads(member->repointer))
		return;
	member->rehearsal.step = REHEARSE_PUSH;
	ask(member);
}

void rehearse_soon(struct member *member)
{
	if (role_config(member->repointer->process)->hub_count != 2)
		return;
	member->rehearsal.timer.fire = on_timer;
	member->rehearsal.timer.arg = member;
	later(member, FIRST_NS);
}
