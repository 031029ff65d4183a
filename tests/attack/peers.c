/*
 * A peer of a hostile role, in its own row and behind the code that real roles receive with, and
 * somebody honest who goes on talking to it (see attack.h): a bad packet costs its sender the link,
 * is reported, and harms nobody else (F4, F20).
 */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/messages.h"
#include "policy/control.h"
#include "tests/attack/attack.h"

#define ANSWER_MS 10000
#define AGAIN_MS  500

/* The receiver of a role's packets, with one more sender that behaves. */
struct target {
	struct started started;
	enum role peer, honest;
	uint64_t generation;
	int honest_link;
};

static bool grant(struct target *target, enum role from, int fd)
{
	uint64_t link[3] = { from, 0, ++target->generation };
	/* What the loader's own message says it brings (encode() fills in the least values). */
	uint64_t credential[3] = { CREDENTIAL_ELECTOR, 1, 0 };

	return from == ROLE_LOADER ? process_tell(&target->started, CONTROL_CRED, credential, fd)
				   : process_tell(&target->started, CONTROL_LINK, link, fd);
}

/* A link of somebody honest to the receiver; where nobody else may send to it, of the role itself,
 * anew each time. */
static bool open_honest_link(struct target *target)
{
	int pair[2];
	bool granted;

	if (target->honest_link >= 0)
		close(target->honest_link);
	target->honest_link = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	target->honest_link = pair[0];
	granted = grant(target, target->honest, pair[1]);
	close(pair[1]);
	return granted;
}

static bool open_target(struct target *target, enum role hostile, struct place *place)
{
	target->honest = packet_honest_sender(target->peer, hostile);
	if (target->honest == ROLE_COUNT)
		target->honest = hostile;
	return process_start(&target->started, target->peer, LAYER_ALL, JOB_RECEIVE, 0, place) &&
	       process_await(&target->started, CONTROL_READY, NULL, ANSWER_MS) &&
	       open_honest_link(target);
}

/* A report of the receiver about that sender; what it says of others in between is passed over. */
static bool await_from(struct target *target, unsigned type, enum role sender, int wait_ms)
{
	uint64_t from = ROLE_COUNT;

	while (process_await(&target->started, type, &from, wait_ms))
		if (from == sender)
			return true;
	return false;
}

/* The receiver goes on: what the honest peer says still arrives, on the link that it had. */
static bool still_serves(struct target *target, enum role hostile)
{
	char bytes[4096];
	size_t n = packet_honest(target->honest, target->peer, bytes, sizeof(bytes));

	if (target->honest == hostile && !open_honest_link(target))
		return false;
	/* What a flood left is told first, and where it filled the control link not all of it. */
	for (int tries = 0; tries < ANSWER_MS / AGAIN_MS; tries++) {
		if (send(target->honest_link, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
			return false;
		if (await_from(target, CONTROL_WORKLOAD_SEEN, target->honest, AGAIN_MS))
			return true;
	}
	return false;
}

static const char *judge_packet(
    struct target *target, enum role role, const struct packet *packet, int status)
{
	const bool cut = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CUT;

	if (packet->wanted == PACKET_TAKEN)
		return !await_from(target, CONTROL_WORKLOAD_SEEN, role, ANSWER_MS)
			   ? "it did not arrive"
		       : cut && role != ROLE_LOADER ? "the link was cut"
						    : NULL;
	if (!cut)
		return "the peer did not cut the link";
	/* Reported to the supervisor (F4); the loader's one-shot link is in no table. */
	if (role != ROLE_LOADER && !await_from(target, CONTROL_ACCUSE, role, ANSWER_MS))
		return "the peer did not report the sender";
	return NULL;
}

static void packet_as(struct place *place, struct target *target, enum role role,
    const struct packet *packet, packet_told *told, void *ctx)
{
	int other = scene_refresh(place), status;
	char text[256] = "", wrong[400];
	struct started started;
	const char *fault;
	bool granted = grant(target, role, other);

	close(other);
	if (!granted || !process_start_towards(
			    &started, role, target->peer, (unsigned)(packet - packets), place)) {
		told(ctx, packet, target->peer, "", "it could not be started");
		return;
	}
	/* Ours would keep the link open. */
	close(place->fds[FD_LINK - FD_SCENE]);
	place->fds[FD_LINK - FD_SCENE] = -1;
	status = process_end(&started, false, text, sizeof(text));
	fault = started.ready ? judge_packet(target, role, packet, status) : "it never was locked";
	if (!fault && !still_serves(target, role))
		fault = "the peer serves nobody any more";
	(void)snprintf(wrong, sizeof(wrong), "%s (status 0x%x %s)", fault ? fault : "",
	    (unsigned)status, text);
	told(ctx, packet, target->peer,
	    packet->wanted == PACKET_CUT ? "link cut, the peer goes on" : "arrives",
	    fault ? wrong : NULL);
}

static void attack_peer(
    struct place *place, enum role role, enum role peer, packet_told *told, void *ctx)
{
	struct target target = { .peer = peer, .honest_link = -1 };
	char text[256] = "";

	if (!open_target(&target, role, place)) {
		told(ctx, &packets[0], peer, "", "no peer to receive it");
		return;
	}
	for (unsigned i = 0; i < packet_count; i++)
		if (packet_applies(&packets[i], role, peer))
			packet_as(place, &target, role, &packets[i], told, ctx);
	(void)process_end(&target.started, true, text, sizeof(text));
	close(target.honest_link);
}

void peers_attack(struct place *place, enum role role, packet_told *told, void *ctx)
{
	for (unsigned peer = 0; peer < ROLE_COUNT; peer++)
		if (packet_peers(role) & ROLE_BIT(peer))
			attack_peer(place, role, (enum role)peer, told, ctx);
}
