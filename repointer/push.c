/*
 * ClusterController/active on the workers, by server-side apply (C11: one writer per identity, the
 * API server keeps terms rising). All workers at once, each with its own back-off and time limit;
 * a request that is not answered never holds up another one (B26).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "kube/json.h"
#include "repointer/repointer.h"

#define BODY_MAX_BYTES 262144

static struct worker_goal goal_of(const struct member *member)
{
	const struct repointer *repointer = member->repointer;

	return (struct worker_goal){ repointer->term, repointer->valid_until_ns,
		repointer->since_ns, member->version, member->bundle != NULL };
}

static void tell(struct member *member, uint64_t term, enum push_outcome outcome)
{
	struct repointer *repointer = member->repointer;
	struct msg_pushed pushed = { .worker = member->index, .term = term, .outcome = outcome };

	(void)role_send(repointer->process, ROLE_ELECTOR, 0, MSG_PUSHED, &pushed);
	role_metric(repointer->process, METRIC_PUSHES, member_name(member),
	    worker_outcome_name(outcome), 1000000);
	if (outcome == PUSH_SUPERSEDED)
		watch_event(
		    member, EVENT_WORKER_SUPERSEDED, "the worker follows a hub with a higher term");
}

static void on_pushed(void *arg, const struct kube_answer *answer)
{
	struct member *member = arg;
	enum push_outcome outcome = worker_outcome_of(answer);
	enum worker_state state;
	json_t *object;

	member->push_id = 0;
	worker_pushed(
	    &member->machine, &member->push_goal, outcome, base_clock_boot_ns(), base_random_u64());
	log_write(outcome == PUSH_DONE ? LOG_INFO : LOG_WARN,
	    "worker %s: push of term %llu: %s%s%s", member_name(member),
	    (unsigned long long)member->push_goal.term, worker_outcome_name(outcome),
	    answer->message[0] ? ": " : "", answer->message);
	tell(member, member->push_goal.term, outcome);
	if (outcome == PUSH_DONE) {
		object = kube_json_parse(answer->body, NULL);
		if (object)
			watch_see(member, object);
		json_decref(object);
	} else if (worker_state_of(answer->class, &state)) {
		watch_see_state(member, state, answer->message);
	}
	push_step(member);
}

static bool push(struct member *member, const struct worker_goal *goal)
{
	struct repointer *repointer = member->repointer;
	struct buf body = buf_make(BODY_MAX_BYTES);
	bool fits;

	buf_puts(&body, "{\"apiVersion\":\"ha.kubeslice.io/v1alpha1\","
			"\"kind\":\"ClusterController\",\"metadata\":{\"name\":\"active\"},"
			"\"spec\":{\"endpoint\":");
	buf_json_string(&body, str_of(repointer->endpoint));
	if (member->bundle) {
		buf_puts(&body, ",\"caBundle\":");
		buf_json_string(&body, str_of(member->bundle));
	}
	buf_puts(&body, ",\"identity\":");
	buf_json_string(&body, str_of(repointer->self));
	buf_printf(&body, ",\"term\":%llu}}", (unsigned long long)goal->term);
	fits = !body.failed;
	/* The last look at the clock before the request leaves (H16). */
	if (fits && worker_is_permitted(goal, base_clock_boot_ns())) {
		member->push_goal = *goal;
		worker_pushing(&member->machine);
		member->push_id = member_ask(member, KUBE_PATCH_APPLY, REPOINTER_OBJECT,
		    "fieldManager=" REPOINTER_MANAGER "&force=true", buf_str(&body),
		    OTHER_REQUEST_MS, on_pushed);
	} else if (!fits) {
		log_error("worker %s: endpoint and caBundle are longer than %d bytes",
		    member_name(member), BODY_MAX_BYTES);
	}
	buf_free(&body);
	return fits;
}

static bool equal_text(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

void push_step(struct member *member)
{
	struct repointer *repointer = member->repointer;
	struct loop *loop = role_loop(repointer->process);
	struct worker_goal goal = goal_of(member);
	struct worker_action action;

	member->view.ours = equal_text(member->seen_identity, repointer->self);
	member->view.same = equal_text(member->seen_endpoint, repointer->endpoint) &&
			    (!member->bundle || equal_text(member->seen_bundle, member->bundle));
	loop_timer_cancel(loop, &member->timer);
	action = worker_step(&member->machine, &goal, &member->view, base_clock_boot_ns());
	switch (action.verb) {
	case WORKER_PUSH: (void)push(member, &goal); return;
	case WORKER_TELL_EQUAL: tell(member, goal.term, PUSH_EQUAL); return;
	case WORKER_TELL_SUPERSEDED: tell(member, goal.term, PUSH_SUPERSEDED); return;
	case WORKER_WAIT: break;
	}
	if (action.wake_ns)
		loop_timer_set(loop, &member->timer, action.wake_ns);
}

void push_permit(struct repointer *repointer, uint64_t term, int64_t valid_until_ns)
{
	bool new_term = term != repointer->term;

	if (new_term) {
		repointer->since_ns = base_clock_boot_ns();
		log_info("permit for term %llu", (unsigned long long)term);
	} else if (valid_until_ns == 0 && repointer->valid_until_ns != 0) {
		log_info("permit for term %llu revoked", (unsigned long long)term);
	}
	repointer->term = term;
	repointer->valid_until_ns = valid_until_ns;
	for (unsigned i = 0; i < repointer->count; i++) {
		struct member *member = &repointer->members[i];

		if (new_term || valid_until_ns == 0) {
			kube_client_cancel(repointer->client, member->push_id);
			member->push_id = 0;
			member->machine.pushing = false;
		}
		if (new_term)
			worker_term_changed(&member->machine);
		push_step(member);
	}
}

void push_bundle(struct member *member, struct str pem)
{
	struct buf text = buf_make(BODY_MAX_BYTES);

	base64_put(&text, pem);
	if (pem.n && !text.failed && !equal_text(member->bundle, text.data)) {
		free(member->bundle);
		member->bundle = strdup(text.data);
		CHECK(member->bundle);
		member->version++;
		push_step(member);
	}
	buf_free(&text);
}
