/*
 * A hostile syncer, or a hostile shard of the repointer, as it is called: it has what the
 * real one has and uses all of it (see live.h). Orders: "list" asks for everything in its list,
 * then for targets of others, then sends what is not its to send, which is its end; "random SECONDS
 * SEED" asks at random. Each write that an API server accepts is a line of its log.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kube/client.h"
#include "tests/attack/live/live.h"
#include "tests/attack/live/wishes.h"

#define AT_ONCE      2
#define DEADLINE_MS  5000
#define STEP_NS      (2 * BASE_NS_PER_MS)
#define LAST_STEP_NS (500 * BASE_NS_PER_MS)

static const unsigned syncer_targets[] = { CREDENTIAL_SYNCER, CREDENTIAL_PEER_SYNCER };
static const unsigned repointer_targets[] = { CREDENTIAL_WORKER };

struct asker {
	enum role role;
	struct role_process *process;
	struct kube_client *client;
	struct orders orders;
	const unsigned *targets;
	unsigned target_count;
	struct loop_timer timer;
	struct link *dialer, *elector;
	int64_t until_ns; /* of random requests; 0: not begun */
	unsigned next, under_way, asked, refused, unanswered, accepted;
	unsigned last; /* of what comes after the list */
};

struct asked {
	struct asker *asker;
	enum kube_verb verb;
	unsigned target;
	char path[256];
};

static const char *const verb_names[] = { "GET", "POST", "PUT", "PATCH", "PATCH", "PATCH",
	"DELETE" };

static void on_done(void *arg, const struct kube_answer *answer)
{
	struct asked *asked = arg;
	struct asker *asker = asked->asker;

	asker->under_way--;
	asker->asked++;
	if (answer->class == KUBE_OK) {
		asker->accepted++;
		log_warn("hostile: accepted: %s %s with %s", verb_names[asked->verb], asked->path,
		    credential_name(asked->target));
	} else if (answer->status != 0) {
		asker->refused++;
	} else {
		asker->unanswered++;
	}
	free(asked);
}

static void ask(struct asker *asker, const struct wish *wish)
{
	struct asked *asked = calloc(1, sizeof(*asked));
	struct kube_ask request = { .target = wish->target,
		.verb = wish->verb,
		.path = wish->path,
		.body = wish->body ? str_of(wish->body) : (struct str){ 0 },
		.deadline_ms = DEADLINE_MS };

	CHECK(asked);
	*asked = (struct asked){ .asker = asker, .verb = wish->verb, .target = wish->target };
	(void)snprintf(asked->path, sizeof(asked->path), "%s", wish->path);
	asker->under_way++;
	(void)kube_client_ask(asker->client, &request, on_done, asked);
}

static void tell(const struct asker *asker, const char *what)
{
	log_info("hostile: %s done: %u requests, %u refused, %u without an answer, %u accepted",
	    what, asker->asked, asker->refused, asker->unanswered, asker->accepted);
}

static const struct wish *next_wish(struct asker *asker)
{
	return asker->role == ROLE_SYNCER ? wish_of_syncer(asker->next)
					  : wish_of_repointer(asker->next);
}

/* Behind the list: what ends links, and in the end the process. Each once its link is there. */
static bool go_further(struct asker *asker)
{
	static const enum message_id others[] = { MSG_PEER_SEEN, MSG_PUBLISHED, MSG_PROBE_SEEN };
	struct msg_dial_asked theirs = { .id = 1, .generation = 1 };

	switch (asker->last) {
	case 0:
		/* Of another role, or of another shard. */
		theirs.target =
		    asker->role == ROLE_SYNCER ? CREDENTIAL_WORKER : CREDENTIAL_WORKER + 1;
		if (!asker->dialer || !link_send(asker->dialer, MSG_DIAL_ASKED, &theirs, -1))
			return true;
		log_info("hostile: asked for a target of others");
		break;
	case 1:
		if (!asker->elector)
			return true;
		log_info("hostile: sends what is not its to send");
		for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			(void)live_send(asker->elector, others[i]);
		break;
	default: return false;
	}
	asker->last++;
	return true;
}

static bool has_all(const struct asker *asker)
{
	for (unsigned i = 0; i < asker->target_count; i++)
		if (!kube_client_has(asker->client, asker->targets[i]))
			return false;
	return true;
}

/* How long until the next step; 0: there is none. */
static int64_t step_list(struct asker *asker)
{
	const struct wish *wish = next_wish(asker);

	if (wish && asker->under_way < AT_ONCE) {
		ask(asker, wish);
		asker->next++;
	}
	if (wish || asker->under_way > 0)
		return STEP_NS;
	if (asker->last == 0)
		tell(asker, "list");
	return go_further(asker) ? LAST_STEP_NS : 0;
}

static int64_t step_random(struct asker *asker, int64_t now_ns)
{
	if (asker->until_ns == 0)
		asker->until_ns = now_ns + (int64_t)asker->orders.number * BASE_NS_PER_S;
	while (now_ns < asker->until_ns && asker->under_way < AT_ONCE) {
		struct wish wish =
		    wish_random(&asker->orders.seed, asker->targets, asker->target_count);

		ask(asker, &wish);
	}
	if (now_ns < asker->until_ns || asker->under_way > 0)
		return STEP_NS;
	tell(asker, "random");
	return 0;
}

static void step(void *arg, int64_t now_ns)
{
	struct asker *asker = arg;
	int64_t wait_ns = STEP_NS;

	if (has_all(asker))
		wait_ns = strcmp(asker->orders.word, "random") == 0 ? step_random(asker, now_ns)
								    : step_list(asker);
	if (wait_ns > 0)
		loop_timer_set(role_loop(asker->process), &asker->timer, now_ns + wait_ns);
}

static enum verdict on_message(
    void *ctx, const struct link *from, const struct message *message, int fd)
{
	struct asker *asker = ctx;

	(void)from;
	if (message->id == MSG_DIALED)
		return kube_client_dialed(asker->client, &message->dialed, fd);
	if (fd >= 0)
		close(fd);
	return VERDICT_FINE;
}

static void on_link(void *ctx, struct link *link)
{
	struct asker *asker = ctx;

	if (link->peer.role == ROLE_ELECTOR)
		asker->elector = link;
	else if (ROLE_BIT(link->peer.role) & ROLE_DIALERS)
		asker->dialer = link;
}

static void on_link_end(void *ctx, struct role_id peer)
{
	struct asker *asker = ctx;

	if (peer.role == ROLE_ELECTOR)
		asker->elector = NULL;
	if (!(ROLE_BIT(peer.role) & ROLE_DIALERS))
		return;
	asker->dialer = NULL;
	kube_client_dialer_lost(asker->client);
}

static void on_credential(void *ctx, const struct msg_credential *credential)
{
	struct asker *asker = ctx;

	(void)kube_client_take(asker->client, credential);
}

static const struct role_ops ops = { .on_message = on_message,
	.on_link = on_link,
	.on_link_end = on_link_end,
	.on_credential = on_credential };

int main(int argc, char **argv)
{
	struct asker asker = { .role = argc > 0 ? role_by_name(argv[0]) : ROLE_COUNT,
		.targets = syncer_targets,
		.target_count = 2 };
	bool first = argc < 2 || strcmp(argv[1], "0") == 0; /* other shards stay honest */

	if (!first || asker.role == ROLE_COUNT || !orders_read(argv[0], &asker.orders))
		return honest_main(argc, argv);
	if (asker.role == ROLE_REPOINTER) {
		asker.targets = repointer_targets;
		asker.target_count = 1;
	}
	asker.process = role_begin(asker.role, argc, argv);
	asker.client = kube_client_new(asker.process);
	asker.timer = (struct loop_timer){ .fire = step, .arg = &asker };
	role_attach(asker.process, &ops, &asker);
	role_lock(asker.process, NULL, 0);
	log_info(
	    "hostile: orders: %s %llu", asker.orders.word, (unsigned long long)asker.orders.number);
	loop_timer_set(role_loop(asker.process), &asker.timer, base_clock_boot_ns());
	return role_run(asker.process);
}
