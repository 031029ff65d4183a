/*
 * repointer: one shard of it, argv[1] says which (F9). See repointer/repointer.h for the map.
 */
#include <stdlib.h>

#include "base/check.h"
#include "repointer/repointer.h"

static void step_again(void *arg, int64_t now_ns)
{
	(void)now_ns;
	push_step(arg);
}

static struct repointer *repointer_open(struct role_process *process)
{
	const struct us_config *config = role_config(process);
	unsigned first = role_self(process).shard * config->shard_size;
	struct repointer *repointer = calloc(1, sizeof(*repointer));

	CHECK(repointer && first < config->worker_count);
	repointer->process = process;
	repointer->self = config_text_at(config, config->self_name);
	repointer->endpoint = config_text_at(config, config->hubs[config->self].endpoint);
	repointer->count = config->worker_count - first;
	if (repointer->count > config->shard_size)
		repointer->count = config->shard_size;
	repointer->members = calloc(repointer->count, sizeof(*repointer->members));
	CHECK(repointer->members);
	repointer->client = kube_client_new(process);
	for (unsigned i = 0; i < repointer->count; i++) {
		struct member *member = &repointer->members[i];

		member->repointer = repointer;
		member->index = first + i;
		member->machine.state = WORKER_UNREACHABLE; /* until it was reached */
		member->timer = (struct loop_timer){ .fire = step_again, .arg = member };
	}
	role_attach(process, &repointer_ops, repointer);
	return repointer;
}

static void repointer_close(struct repointer *repointer)
{
	for (unsigned i = 0; i < QUESTIONS_AT_ONCE; i++)
		if (repointer->questions[i])
			question_free(repointer->questions[i]);
	for (unsigned i = 0; i < repointer->count; i++) {
		struct member *member = &repointer->members[i];

		deliver_forget(member);
		loop_timer_cancel(role_loop(repointer->process), &member->timer);
		loop_timer_cancel(role_loop(repointer->process), &member->challenge.timer);
		loop_timer_cancel(role_loop(repointer->process), &member->rehearsal.timer);
		loop_timer_cancel(role_loop(repointer->process), &member->doors.timer);
		if (member->watch)
			kube_watch_stop(member->watch);
		free(member->bundle);
		free(member->seen_identity);
		free(member->seen_endpoint);
		free(member->seen_bundle);
	}
	kube_client_free(repointer->client);
	free(repointer->members);
	free(repointer);
}

int main(int argc, char **argv)
{
	struct role_process *process = role_begin(ROLE_REPOINTER, argc, argv);
	struct repointer *repointer = repointer_open(process); /* curl: before the lock */
	int code;

	role_lock(process, NULL, 0);
	code = role_run(process);
	repointer_close(repointer);
	return code;
}
