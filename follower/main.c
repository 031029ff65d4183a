/*
 * follower: keeps a worker with the hub that leads. See follower/follower.h for the map.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/log.h"
#include "follower/endpoint.h"
#include "follower/follower.h"

enum { EXIT_HANDOVER = 71 };

/* Which hub a former process handed over: W19, an unsure worker stays where it is. */
static int hub_by_endpoint(const struct follower *follower, const char *endpoint)
{
	for (unsigned i = 0; i < follower->hub_count; i++)
		if (endpoint_equal(follower->hubs[i].endpoint, endpoint))
			return (int)i;
	return RULE_NOWHERE;
}

/* A term that cannot be read is not 0: following an older hub is what it is there against (I3). */
static void restore(struct follower *follower)
{
	struct handover_found found;
	struct err err = { "" };

	if (handover_read(ROLE_FD_FILES, &found, &err)) {
		log_error("%s; remove the file to follow whoever claims to lead", err.text);
		exit(EXIT_HANDOVER);
	}
	follower->handover_generation = found.generation;
	follower->handed = hub_by_endpoint(follower, found.endpoint);
	follower->handed_term = found.term;
	follower->kept_term = found.max_term;
	rule_init(&follower->rule, follower->hub_count, follower->config->follower.confirmations,
	    follower->handed, follower->handed == RULE_NOWHERE ? 0 : found.term, found.max_term);
	if (follower->handed != RULE_NOWHERE || found.max_term)
		log_info("handed over before: %s, highest term %llu",
		    follower->handed == RULE_NOWHERE ? "nothing"
						     : follower->hubs[follower->handed].name,
		    (unsigned long long)follower->rule.max_term);
}

static struct follower *follower_open(struct role_process *process)
{
	const struct us_config *config = role_config(process);
	struct follower *follower = calloc(1, sizeof(*follower));

	CHECK(follower && config);
	follower->process = process;
	follower->config = config;
	follower->hub_count = config->hub_count;
	follower->wanted.hub = RULE_NOWHERE;
	follower->push.hub = RULE_NOWHERE;
	follower->poll_timer = (struct loop_timer){ .fire = poll_timer, .arg = follower };
	follower->secret_timer = (struct loop_timer){ .fire = hubs_look, .arg = follower };
	follower->move_timer = (struct loop_timer){ .fire = follow_timer, .arg = follower };
	follower->status_timer = (struct loop_timer){ .fire = controller_timer, .arg = follower };
	follower->operator_timer = (struct loop_timer){ .fire = operator_timer, .arg = follower };
	for (unsigned i = 0; i < follower->hub_count; i++) {
		struct hub *hub = &follower->hubs[i];

		hub->follower = follower;
		hub->index = i;
		hub->name = config_text_at(config, config->hubs[i].name);
		hub->endpoint = config_text_at(config, config->hubs[i].endpoint);
		hub->token = buf_make_secret(16384);
	}
	restore(follower);
	follower->client = kube_client_new(process);
	role_attach(process, &follower_ops, follower);
	return follower;
}

static void follower_close(struct follower *follower)
{
	struct loop *loop = role_loop(follower->process);

	loop_timer_cancel(loop, &follower->poll_timer);
	loop_timer_cancel(loop, &follower->secret_timer);
	loop_timer_cancel(loop, &follower->move_timer);
	loop_timer_cancel(loop, &follower->status_timer);
	loop_timer_cancel(loop, &follower->operator_timer);
	if (follower->controller)
		kube_watch_stop(follower->controller);
	if (follower->probes)
		kube_watch_stop(follower->probes);
	for (unsigned i = 0; i < follower->hub_count; i++)
		hubs_close(&follower->hubs[i]);
	kube_client_free(follower->client);
	json_decref(follower->conditions);
	free(follower->status);
	free(follower);
}

int main(int argc, char **argv)
{
	struct role_process *process = role_begin(ROLE_FOLLOWER, argc, argv);
	struct follower *follower;
	int code;

	(void)umask(027); /* the workload's group reads what is handed over (F36) */
	follower = follower_open(process); /* curl: before the lock */
	role_lock(process, NULL, 0);
	code = role_run(process);
	follower_close(follower);
	return code;
}
