/*
 * The two conditions of upstream on this worker's own Cluster object, on the hub that is followed
 * (6.6). A merge patch of the whole list with the version that it was made from: what others wrote
 * in it stays. It must not be waited for: a hub that refuses costs a line.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "follower/follower.h"
#include "kube/json.h"

#define BODY_MAX_BYTES 262144

/* W25: told once; the next look says Connected. Also when the answer was lost, and a look shows
 * that it stands there. */
static void told(struct hub *hub)
{
	struct follower *follower = hub->follower;

	if (follower_current(follower) != hub || !follower->reconnected)
		return;
	follower->reconnected = false;
	events_post(
	    hub, "ControllerEndpointChanged", false, "this worker moved to the hub that leads now");
}

static void on_written(void *arg, const struct kube_answer *answer)
{
	struct hub *hub = arg;

	hub->report_id = 0;
	if (answer->class == KUBE_OK)
		told(hub);
	else if (answer->class != KUBE_CONFLICT)
		log_info("conditions on %s are not written: %s %s", hub->name,
		    kube_class_name(answer->class), answer->message);
}

/* Takes over the list. */
static void write_list(struct hub *hub, json_t *list)
{
	struct buf body = buf_make(BODY_MAX_BYTES), path = buf_make(1024);

	buf_puts(&body, "{\"metadata\":{\"resourceVersion\":");
	buf_json_string(&body, str_of(hub->version));
	buf_puts(&body, "},\"status\":{\"conditions\":");
	kube_json_put(&body, list);
	buf_puts(&body, "}}");
	hub_cluster_path(hub, &path, "status");
	if (!body.failed && !path.failed)
		hub->report_id = hub_ask(hub, KUBE_PATCH_MERGE, path.data, buf_str(&body),
		    hub->follower->config->follower.timeout_ms, false, on_written);
	buf_free(&body);
	buf_free(&path);
	json_decref(list);
}

/* The transition alone is worth an Event. */
static void tell_connected(struct hub *hub)
{
	struct follower *follower = hub->follower;
	bool connected = follower->connected.status == CONDITION_TRUE;

	if (connected && !follower->told_connected)
		events_post(hub, "ControllerConnected", false, "this hub serves this worker");
	follower->told_connected = connected;
}

void report_followed(struct hub *hub)
{
	struct follower *follower = hub->follower;
	bool connected, synced;
	json_t *list, *both;

	tell_connected(hub);
	if (hub->report_id || !hub->conditions || follower->connected.since_us == 0)
		return;
	list = condition_merge(
	    hub->conditions, &follower->connected, "ControllerConnected", &connected);
	both = condition_merge(list, &follower->synced, "ControllerEndpointSynced", &synced);
	json_decref(list);
	if (connected || synced) {
		write_list(hub, both);
	} else {
		json_decref(both);
		told(hub);
	}
}

void report_left(struct hub *hub)
{
	struct condition leaving = { 0 };
	bool changed;

	if (hub->look.reach != RULE_READ || !hub->conditions)
		return;
	kube_client_cancel(hub->follower->client, hub->report_id);
	events_post(
	    hub, "ControllerConnectionLost", true, "this worker leaves for the hub that leads now");
	(void)condition_set(&leaving, CONDITION_UNKNOWN, "Reconnecting",
	    "this worker leaves for the hub that leads now", base_clock_wall_us());
	write_list(
	    hub, condition_merge(hub->conditions, &leaving, "ControllerConnected", &changed));
}
