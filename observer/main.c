/*
 * observer: looks at the peer hub for the elector (F18). See observer/observer.h for the map.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "observer/observer.h"

static struct observer *observer_open(struct role_process *process)
{
	const struct us_config *config = role_config(process);
	struct observer *observer = calloc(1, sizeof(*observer));

	CHECK(observer && config->hub_count == 2);
	observer->process = process;
	observer->names = (struct peer_names){ config_text_at(config, config->self_name),
		config_text_at(config, config->hubs[1 - config->self].name) };
	observer->pace.retry_ns = config->retry_period_ms * BASE_NS_PER_MS;
	observer->timer = (struct loop_timer){ .fire = watch_look_now, .arg = observer };
	observer->client = kube_client_new(process);
	role_attach(process, &observer_ops, observer);
	return observer;
}

static void observer_close(struct observer *observer)
{
	if (observer->watch)
		kube_watch_stop(observer->watch);
	loop_timer_cancel(role_loop(observer->process), &observer->timer);
	kube_client_free(observer->client);
	free(observer);
}

int main(int argc, char **argv)
{
	struct role_process *process = role_begin(ROLE_OBSERVER, argc, argv);
	struct observer *observer = observer_open(process); /* curl: before the lock */
	int code;

	role_lock(process, NULL, 0);
	code = role_run(process);
	observer_close(observer);
	return code;
}
