/*
 * The watch of HubRole/self (C2): what another hand made of it is known at once, not when it is
 * written next. Judges nothing: each look goes to the machine, which knows what it wrote itself.
 * Called by messages.c when the first credential is there, and by record_close().
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "elector/elector.h"
#include "kube/json.h"
#include "kube/url.h"

#define STRANGE_KEY 0x487562526f6c65ULL /* of the Event; any number that is no other one's */

static void tell(struct elector *elector, enum hub_role role, uint64_t term)
{
	struct machine_event event = { .input = MACHINE_ROLE_WATCHED };
	const struct machine *m = &elector->machine;
	bool known = m->role_strange;
	char text[160];

	event.hub_role.role = role;
	event.hub_role.term = term;
	elector_feed(elector, &event);
	if (known || !m->role_strange)
		return;
	(void)snprintf(text, sizeof(text),
	    "HubRole self says %s, term %llu, which this hub did not write last: it is written "
	    "again",
	    role == HUB_UNKNOWN ? "nothing" : record_role_name(role), (unsigned long long)term);
	log_warn("%s", text);
	if (events_is_new(&elector->events, STRANGE_KEY, base_clock_boot_ns()))
		events_own(elector, "HubRoleChanged", "HAFence", true, text);
}

static void on_begin(void *arg)
{
	struct elector *elector = arg;

	elector->record.role_listed = false;
}

static void on_object(void *arg, enum kube_watch_event kind, const json_t *object)
{
	struct elector *elector = arg;
	enum hub_role role = HUB_UNKNOWN;
	uint64_t term = 0;

	if (strcmp(kube_json_text(json_object_get(object, "metadata"), "name"), "self") != 0)
		return;
	elector->record.role_listed = true;
	if (kind != KUBE_WATCH_DELETED) {
		record_parse_role(object, &role, &term);
		record_keep_history(elector, object);
	}
	tell(elector, role, term);
}

static void on_synced(void *arg, const char *resource_version)
{
	struct elector *elector = arg;

	(void)resource_version;
	if (!elector->record.role_listed)
		tell(elector, HUB_UNKNOWN, 0);
}

static void on_error(void *arg, const struct kube_answer *answer)
{
	(void)arg;
	log_debug("watch of HubRole self: %s %s", kube_class_name(answer->class), answer->message);
}

void record_watch_role(struct elector *elector)
{
	static const struct kube_watch_ops ops = { .on_begin = on_begin,
		.on_object = on_object,
		.on_synced = on_synced,
		.on_error = on_error };
	struct kube_watch_options options = { .target = CREDENTIAL_ELECTOR,
		.query = "fieldSelector=metadata.name%3Dself",
		.deadline_ms = config_request_deadline_ms(elector->config) };
	struct buf path = buf_make(256);

	kube_url_path(&path, "ha.kubeslice.io", "v1alpha1", "hubroles", NULL, NULL, NULL);
	options.path = path.data;
	elector->record.role_watch =
	    kube_watch_start(elector->client, role_loop(elector->process), &options, &ops, elector);
	buf_free(&path);
}
