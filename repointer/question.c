/*
 * Which workers answer now, and with which term (C6, C7): one GET each, all at once, told one by
 * one, and at the end, never later than the limit, how many. A worker that only says that it
 * denies, says nothing about terms and is not counted.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "kube/json.h"
#include "repointer/repointer.h"

struct part {
	struct question *question;
	struct member *member;
	uint64_t id;
};

struct question {
	struct repointer *repointer;
	uint64_t nonce;
	int64_t asked_ns;
	unsigned waiting, answered;
	struct part parts[];
};

void question_free(struct question *question)
{
	struct repointer *repointer = question->repointer;

	for (unsigned i = 0; i < repointer->count; i++)
		if (question->parts[i].id)
			kube_client_cancel(repointer->client, question->parts[i].id);
	for (unsigned i = 0; i < QUESTIONS_AT_ONCE; i++)
		if (repointer->questions[i] == question)
			repointer->questions[i] = NULL;
	free(question);
}

static void finish(struct question *question)
{
	struct msg_workers_read read = { .nonce = question->nonce,
		.answered = question->answered,
		.of = question->repointer->count };

	(void)role_send(question->repointer->process, ROLE_ELECTOR, 0, MSG_WORKERS_READ, &read);
	question_free(question);
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct part *part = arg;
	struct question *question = part->question;
	enum worker_state state;
	json_t *object;

	part->id = 0;
	question->waiting--;
	if (answer->class == KUBE_OK && (object = kube_json_parse(answer->body, NULL))) {
		question->answered++;
		watch_see(part->member, object);
		json_decref(object);
	} else if (answer->class == KUBE_NOT_FOUND) {
		question->answered++;
		watch_see(part->member, NULL);
	} else if (worker_state_of(answer->class, &state)) {
		question->answered += state == WORKER_NO_CRD;
		watch_see_state(part->member, state, answer->message);
	}
	if (question->waiting == 0)
		finish(question);
}

void question_start(struct repointer *repointer, uint64_t nonce)
{
	struct question *question =
	    calloc(1, sizeof(*question) + repointer->count * sizeof(question->parts[0]));
	unsigned at = 0;

	CHECK(question);
	/* When more are asked than can run, the oldest has been given up by its asker. */
	for (unsigned i = 0; i < QUESTIONS_AT_ONCE && repointer->questions[at]; i++)
		if (!repointer->questions[i] ||
		    repointer->questions[i]->asked_ns < repointer->questions[at]->asked_ns)
			at = i;
	if (repointer->questions[at])
		question_free(repointer->questions[at]);
	repointer->questions[at] = question;
	question->repointer = repointer;
	question->nonce = nonce;
	question->asked_ns = base_clock_boot_ns();
	question->waiting = repointer->count;
	for (unsigned i = 0; i < repointer->count; i++) {
		struct part *part = &question->parts[i];
		struct kube_ask ask = { .target = member_target(&repointer->members[i]),
			.verb = KUBE_GET,
			.path = REPOINTER_OBJECT,
			.deadline_ms = ANSWER_MS };

		part->question = question;
		part->member = &repointer->members[i];
		part->id = kube_client_ask(repointer->client, &ask, on_answer, part);
	}
	if (repointer->count == 0)
		finish(question);
}
