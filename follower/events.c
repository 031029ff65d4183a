/*
 * Events about this worker's Cluster object on a hub, under upstream's names (6.6): for whoever
 * looks there after a failover. Best effort: one that is refused, or whose hub is gone, is nobody's
 * fault and is not tried again.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "follower/follower.h"
#include "kube/url.h"

#define BODY_MAX_BYTES 4096

static void on_posted(void *arg, const struct kube_answer *answer)
{
	struct hub *hub = arg;

	if (answer->class != KUBE_OK)
		log_debug("event on %s is not written: %s %s", hub->name,
		    kube_class_name(answer->class), answer->message);
}

void events_post(struct hub *hub, const char *reason, bool warning, const char *note)
{
	struct follower *follower = hub->follower;
	const char *namespace =
	    follower_text(follower, follower->config->follower.project_namespace);
	const char *self = follower_text(follower, follower->config->self_name);
	struct buf body = buf_make(BODY_MAX_BYTES), path = buf_make(1024);
	char time[40];

	if (follower->hub_count < 2 || hub->look.reach != RULE_READ) /* W1 */
		return;
	kube_time_put(time, base_clock_wall_us());
	buf_printf(&body,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":"
	    "\"understudy.%016" PRIx64 "\",\"namespace\":",
	    base_random_u64());
	buf_json_string(&body, str_of(namespace));
	buf_puts(&body, "},\"involvedObject\":{\"apiVersion\":\"controller.kubeslice.io/v1alpha1\","
			"\"kind\":\"Cluster\",\"namespace\":");
	buf_json_string(&body, str_of(namespace));
	buf_puts(&body, ",\"name\":");
	buf_json_string(&body, str_of(self));
	buf_printf(&body,
	    "},\"reason\":\"%s\",\"action\":\"Follow\",\"type\":\"%s\",\"count\":1,"
	    "\"firstTimestamp\":\"%.19sZ\",\"lastTimestamp\":\"%.19sZ\",\"eventTime\":\"%s\","
	    "\"source\":{\"component\":\"understudy\"},\"reportingComponent\":\"understudy\","
	    "\"reportingInstance\":",
	    reason, warning ? "Warning" : "Normal", time, time, time);
	buf_json_string(&body, str_of(self));
	buf_puts(&body, ",\"message\":");
	buf_json_string(&body, str_of(note));
	buf_puts(&body, "}");
	kube_url_path(&path, "", "v1", "events", namespace, NULL, NULL);
	if (!body.failed && !path.failed)
		(void)hub_ask(hub, KUBE_POST, path.data, buf_str(&body),
		    follower->config->follower.timeout_ms, false, on_posted);
	buf_free(&body);
	buf_free(&path);
}
