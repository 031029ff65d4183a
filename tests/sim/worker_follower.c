/*
 * A worker's follower (see the header): the real one, opened as follower/main.c opens it. Below it
 * lies a disk that may refuse, and that is all that outlives it. What must hold of what it hands
 * over is asked where it is handed over (H19, W10, C11).
 */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/check.h"
#include "follower/endpoint.h"
#include "follower/follower.h"
#include "ipc/role.h"
#include "tests/sim/worker_world.h"

static struct follower *running[MAX_WORKERS];

static unsigned current(void)
{
	CHECK(world->current && world->current->index >= HUBS);
	return world->current->index - HUBS;
}

/* --- The disk --------------------------------------------------------------------------------- */

int handover_keep_term(int directory, uint64_t max_term, struct err *err)
{
	unsigned worker = current();
	struct disk *disk = &world->disks[worker];

	(void)directory;
	if (disk->broken)
		return err_set(err, "hand-over directory: maxTerm: no space left");
	if (max_term < disk->max_term)
		world_broken(world, "I3 the_floor_of_a_worker_never_falls",
		    "worker-%u: %llu to %llu", worker, (unsigned long long)disk->max_term,
		    (unsigned long long)max_term);
	if (max_term == disk->max_term)
		world_broken(world, "H19 the_floor_is_written_when_it_rises",
		    "worker-%u: %llu again", worker, (unsigned long long)max_term);
	disk->max_term = max_term;
	return 0;
}

static int hub_of(const char *endpoint)
{
	for (int h = 0; h < HUBS; h++)
		if (strcmp(endpoint, hub_endpoints[h]) == 0)
			return h;
	return -1;
}

/* W10: needs nothing. */
static void what_is_handed_over_is_of_one_hub(unsigned worker, const struct disk *disk)
{
	char token[32];

	(void)snprintf(token, sizeof(token), "token-%d-%u-", disk->hub, worker);
	if (disk->hub < 0 || strcmp(disk->ca, hub_cas[disk->hub]) != 0 ||
	    strncmp(disk->token, token, strlen(token)) != 0)
		world_broken(world, "W10 what_is_handed_over_is_of_one_hub",
		    "worker-%u: %s, %s, %s", worker, disk->endpoint, disk->ca, disk->token);
}

/* H19: the term is on the disk before the hub is; a hub that was superseded is never followed. */
static void no_superseded_hub_is_handed_over(unsigned worker, const struct disk *disk)
{
	if (disk->term && disk->term != disk->max_term)
		world_broken(world, "H19 no_superseded_hub_is_handed_over",
		    "worker-%u: %s with term %llu, its floor is %llu", worker, disk->endpoint,
		    (unsigned long long)disk->term, (unsigned long long)disk->max_term);
	if (disk->term && (disk->term % 2 == 0) != (disk->hub == 0))
		world_broken(world, "C7 a_term_belongs_to_its_hub", "worker-%u: %s with term %llu",
		    worker, disk->endpoint, (unsigned long long)disk->term);
}

/* W20: what lies there is left alone, or each look would have it loaded anew. */
static void what_lies_there_is_left_alone(unsigned worker, const struct disk *disk)
{
	if (world->healed && world->now > world->healed + S(100))
		world_broken(world, "W20 what_lies_there_is_left_alone",
		    "worker-%u: %s with term %llu again", worker, disk->endpoint,
		    (unsigned long long)disk->term);
}

int handover_swap(
    int directory, uint64_t *generation, const struct handover_content *content, struct err *err)
{
	unsigned worker = current();
	struct disk *disk = &world->disks[worker];
	int before = disk->hub;

	(void)directory;
	if (disk->broken)
		return err_set(err, "hand-over directory: swap: no space left");
	what_lies_there_is_left_alone(worker, disk);
	disk->generation = ++*generation;
	disk->term = content->term;
	(void)str_copy(disk->endpoint, sizeof(disk->endpoint), content->endpoint);
	(void)str_copy(disk->token, sizeof(disk->token), content->token);
	(void)str_copy(disk->ca, sizeof(disk->ca), content->ca);
	disk->hub = hub_of(disk->endpoint);
	disk->swaps++;
	world->moves += before != disk->hub;
	if (before >= 0 && before != disk->hub && !disk->counted)
		world_broken(world, "a_move_to_another_hub_is_counted", "worker-%u: from %s to %s",
		    worker, hub_names[before], hub_names[disk->hub]);
	disk->counted = false;
	if (disk->way && strcmp(disk->way, "unresolved") != 0 &&
	    (strcmp(disk->way, "primary") == 0) != (disk->hub == 0))
		world_broken(world, "a_move_is_counted_as_what_it_was", "worker-%u: to %s, as %s",
		    worker, hub_names[disk->hub], disk->way);
	disk->way = NULL;
	what_is_handed_over_is_of_one_hub(worker, disk);
	no_superseded_hub_is_handed_over(worker, disk);
	return 0;
}

/* W20: the runner starts it anew when the number is another one; it must be that of what lies
 * there. */
void role_tell(struct role_process *process, enum control_type type, uint64_t a0, uint64_t a1,
    const char *text)
{
	unsigned worker = process->actor->index - HUBS;
	struct disk *disk = &world->disks[worker];

	(void)a1;
	(void)text;
	if (type != CONTROL_RUN)
		return;
	if (process->actor->config->argument_count == 0)
		world_broken(world, "only_a_command_is_run", "worker-%u has none", worker);
	if ((int)a0 - 1 != disk->hub)
		world_broken(world, "H19 the_command_runs_for_what_is_handed_over",
		    "worker-%u: told hub %d, handed over is %d", worker, (int)a0 - 1, disk->hub);
	disk->runs += disk->run != disk->hub;
	disk->run = disk->hub;
}

/* --- Life ------------------------------------------------------------------------------------- */

static void load_hubs(struct world *w, unsigned worker)
{
	struct follower *follower = running[worker];
	char token[64];

	for (unsigned h = 0; h < HUBS; h++) {
		struct msg_credential m = {
			.target = CREDENTIAL_HUB_A + h, .generation = 1, .ca = str_of(hub_cas[h])
		};

		(void)snprintf(
		    token, sizeof(token), "token-%u-%u-%u", h, worker, w->apis[h].token[worker]);
		if (h == 0) /* from a file, the other one is delivered (H12) */
			m.token = str_of(token);
		(void)hubs_loaded(&follower->hubs[h], &m);
	}
}

void follower_start(struct world *w, unsigned worker)
{
	struct actor *actor = &w->actors[HUBS + worker];
	struct follower *follower = calloc(1, sizeof(*follower));
	const struct disk *disk = &w->disks[worker];

	CHECK(follower && !actor->alive);
	w->current = actor;
	actor->alive = true;
	actor->life++;
	actor->config = world_config(w, true, worker);
	running[worker] = follower;
	follower->process = &actor->process;
	follower->client = &actor->client;
	follower->config = actor->config;
	follower->hub_count = HUBS;
	follower->wanted.hub = follower->push.hub = RULE_NOWHERE;
	follower->poll_timer = (struct loop_timer){ .fire = poll_timer, .arg = follower };
	follower->secret_timer = (struct loop_timer){ .fire = hubs_look, .arg = follower };
	follower->move_timer = (struct loop_timer){ .fire = follow_timer, .arg = follower };
	follower->status_timer = (struct loop_timer){ .fire = controller_timer, .arg = follower };
	follower->operator_timer = (struct loop_timer){ .fire = operator_timer, .arg = follower };
	for (unsigned i = 0; i < HUBS; i++) {
		struct hub *hub = &follower->hubs[i];

		hub->follower = follower;
		hub->index = i;
		hub->name = hub_names[i];
		hub->endpoint = hub_endpoints[i];
		hub->token = buf_make_secret(16384);
	}
	follower->handover_generation = disk->generation;
	follower->handed = disk->hub;
	follower->handed_term = disk->term;
	follower->kept_term = disk->max_term;
	rule_init(&follower->rule, HUBS, actor->config->follower.confirmations, disk->hub,
	    disk->hub < 0 ? 0 : disk->term, disk->max_term);
	actor->client.has[CREDENTIAL_FOLLOWER] = true;
	controller_start(follower);
	challenge_start(follower);
	load_hubs(w, worker);
}

void follower_die(struct world *w, unsigned worker)
{
	struct actor *actor = &w->actors[HUBS + worker];
	struct follower *follower = running[worker];

	if (!actor->alive)
		return;
	client_die(actor);
	for (unsigned i = 0; i < HUBS; i++)
		hubs_close(&follower->hubs[i]);
	json_decref(follower->conditions);
	free(follower->status);
	free(follower);
	free(actor->config);
	running[worker] = NULL;
	actor->alive = false;
}

/* The hubs give this worker other tokens; files are read again, deliveries come by themselves. */
void follower_rotate(struct world *w, unsigned worker)
{
	for (unsigned h = 0; h < HUBS; h++) {
		w->apis[h].token[worker]++;
		hub_deliver(w, h, worker);
	}
	w->current = &w->actors[HUBS + worker];
	if (running[worker])
		load_hubs(w, worker);
}

/* --- Liveness --------------------------------------------------------------------------------- */

/* reason NULL: any. */
static bool has_condition(
    const json_t *object, const char *type, const char *status, const char *reason)
{
	const json_t *list = json_object_get(json_object_get(object, "status"), "conditions");
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		const char *t = json_string_value(json_object_get(entry, "type"));
		const char *s = json_string_value(json_object_get(entry, "status"));

		const char *r = json_string_value(json_object_get(entry, "reason"));

		if (t && s && r && strcmp(t, type) == 0)
			return strcmp(s, status) == 0 && (!reason || strcmp(r, reason) == 0);
	}
	return false;
}

/* The same to an operator that reads a Secret: as a whole, its pods as well. */
static const char *operator_settled(const struct world *w, unsigned worker, unsigned hub)
{
	const struct api *api = &w->apis[HUBS + worker];
	const json_t *data = json_object_get(api->operator, "data");
	const json_t *meta = json_object_get(
	    json_object_get(json_object_get(api->deployment, "spec"), "template"), "metadata");
	const char *pods = json_string_value(
	    json_object_get(json_object_get(meta, "annotations"), "ha.kubeslice.io/hub"));
	const struct disk *disk = &w->disks[worker];
	const char *values[] = { disk->endpoint, disk->token, disk->ca, "project" };
	static const char *const keys[] = { "endpoint", "token", "ca.crt", "namespace" };

	if (worker % 2 == 0)
		return NULL;
	for (unsigned i = 0; i < 4; i++) {
		struct buf text = buf_make(1024);
		const char *found = json_string_value(json_object_get(data, keys[i]));
		bool same;

		(void)base64_get(&text, str_of(found), BASE64_PADDED);
		same = str_equal(buf_str(&text), str_of(values[i]));
		buf_free(&text);
		if (!same)
			return "the operator's Secret is not what is handed over";
	}
	if (!pods || strcmp(pods, hub_names[hub]) != 0)
		return "the operator's pods know another hub";
	return NULL;
}

const char *follower_settled(const struct world *w, unsigned worker, unsigned hub)
{
	const struct disk *disk = &w->disks[worker];
	const json_t *active = w->apis[HUBS + worker].active;
	const json_t *cluster = w->apis[hub].clusters[worker];

	if (disk->hub != (int)hub)
		return "the hub that leads is not handed over";
	if (disk->term != w->leads[hub].term)
		return "its term is not handed over";
	if (disk->run != (int)hub && running[worker]->config->argument_count > 0)
		return "the command runs for another hub";
	if (!has_condition(active, "ControllerConnected", "True", "Connected") ||
	    !has_condition(active, "ControllerEndpointSynced", "True", NULL))
		return "ClusterController does not say that it follows";
	if (!has_condition(cluster, "ControllerConnected", "True", "Connected"))
		return "the Cluster object on the hub does not say that it follows";
	if (!has_condition(active, "CredentialReady-hub-a", "True", NULL) ||
	    !has_condition(active, "CredentialReady-hub-b", "True", NULL))
		return "not both tokens are proven";
	return operator_settled(w, worker, hub);
}
