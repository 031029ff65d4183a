/*
 * The common life of a role process (see the header; order: sandbox-rules 3). No decision of any
 * role is made here, and nothing here is specific to one.
 */
#include "ipc/role.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/build.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "policy/canary.h"
#include "policy/sandbox.h"

enum { EXIT_NO_SUPERVISOR = 64, EXIT_SANDBOX = 70 };

struct role_process {
	struct role_id self;
	char title[32];
	const struct us_config *config;
	struct us_config *reloaded; /* NULL: config is what was mapped at the start */
	struct loop *loop;
	const struct role_ops *ops;
	void *ctx;
	struct link *links[ROLE_COUNT][ROLE_MAX_SHARDS];
	struct loop_timer beat;
	uint64_t sent, received; /* control packets, for their sequence numbers */
};

static const struct role_ops no_ops;

_Noreturn static void die(struct role_process *process, int code, const char *why)
{
	log_error("%s", why);
	role_tell(process, CONTROL_EXITING, (uint64_t)code, 0, why);
	_exit(code);
}

static void send_control(struct role_process *process, struct us_ctl *ctl, const char *text)
{
	ctl->magic = CONTROL_MAGIC;
	ctl->seq = ++process->sent;
	if (text)
		(void)snprintf(ctl->blob, sizeof(ctl->blob), "%s", text);
	/* The supervisor reads or is dead; a full queue of 128-byte structs is the latter (F21). */
	if (send(ROLE_FD_CONTROL, ctl, sizeof(*ctl), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_warn(
		    "supervisor does not take control message %u: %s", ctl->type, strerror(errno));
}

void role_tell(struct role_process *process, enum control_type type, uint64_t a0, uint64_t a1,
    const char *text)
{
	struct us_ctl ctl = { .type = (uint16_t)type, .a = { a0, a1 } };

	send_control(process, &ctl, text);
}

/* --- Links ---------------------------------------------------------------------------------- */

static enum verdict on_message(
    void *owner, struct link *link, const struct message *message, int fd)
{
	struct role_process *process = owner;

	if (!process->ops->on_message) {
		if (fd >= 0)
			close(fd);
		return VERDICT_PEER_BROKEN;
	}
	return process->ops->on_message(process->ctx, link, message, fd);
}

static void on_link_end(void *owner, struct link *link, bool broken, const char *why)
{
	struct role_process *process = owner;
	struct role_id peer = link->peer;
	struct us_ctl report = { .type = broken ? CONTROL_ACCUSE : CONTROL_LINK_CUT,
		.a = { peer.role, peer.shard, link->generation } };

	process->links[peer.role][peer.shard] = NULL;
	if (broken)
		log_error("bad message from %s %u: %s", role_name(peer.role), peer.shard, why);
	else
		log_debug("link with %s %u ended: %s", role_name(peer.role), peer.shard, why);
	send_control(process, &report, why);
	link_free(link);
	if (process->ops->on_link_end)
		process->ops->on_link_end(process->ctx, peer);
}

static const struct link_ops link_ops = { on_message, on_link_end };

/* The loader's link brings one identity, the one that the supervisor announced, and ends. It is in
 * no table. A loader parses files of people: what it says it brings is held against the grant. */
struct grant {
	struct role_process *process;
	uint64_t credential, generation;
	bool taken;
};

static enum verdict on_identity(
    void *owner, struct link *link, const struct message *message, int fd)
{
	struct grant *grant = owner;
	const struct role_ops *ops = grant->process->ops;

	(void)link;
	(void)fd; /* CREDENTIAL carries none: the link has checked it */
	if (grant->taken || message->id != MSG_CREDENTIAL ||
	    message->credential.target != grant->credential ||
	    message->credential.generation != grant->generation)
		return VERDICT_PEER_BROKEN;
	grant->taken = true;
	if (ops->on_credential)
		ops->on_credential(grant->process->ctx, &message->credential);
	return VERDICT_FINE;
}

static void on_loader_end(void *owner, struct link *link, bool broken, const char *why)
{
	if (broken)
		log_error("bad credential message from the loader: %s", why);
	link_free(link);
	free(owner);
}

static const struct link_ops loader_ops = { on_identity, on_loader_end };

static void take_grant(struct role_process *process, const struct us_ctl *ctl, int fd)
{
	struct grant *grant = malloc(sizeof(*grant));
	struct role_id loader = { ROLE_LOADER, 0 };

	CHECK(grant && fd >= 0);
	*grant = (struct grant){ process, ctl->a[0], ctl->a[1], false };
	link_new(process->loop, fd, process->self, loader, ctl->a[1], &loader_ops, grant);
}

static void take_link(struct role_process *process, const struct us_ctl *ctl, int fd)
{
	struct role_id peer = { (uint8_t)ctl->a[0], (uint8_t)ctl->a[1] };
	struct link **slot;

	CHECK(ctl->a[0] < ROLE_COUNT && ctl->a[1] < ROLE_MAX_SHARDS && fd >= 0);
	slot = &process->links[peer.role][peer.shard];
	if (*slot) {
		link_free(*slot);
		*slot = NULL;
		if (process->ops->on_link_end)
			process->ops->on_link_end(process->ctx, peer);
	}
	*slot = link_new(process->loop, fd, process->self, peer, ctl->a[2], &link_ops, process);
	if (process->ops->on_link)
		process->ops->on_link(process->ctx, *slot);
}

/* --- Control link --------------------------------------------------------------------------- */

/* One packet of the supervisor. 1: taken; 0: nothing there; -1: the supervisor is gone. */
static int receive_control(
    struct role_process *process, int flags, struct us_ctl *ctl, struct str *more, int *fd)
{
	static char rest[CONTROL_MAX_MORE];
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec vectors[] = { { ctl, sizeof(*ctl) }, { rest, sizeof(rest) } };
	struct msghdr header = { .msg_iov = vectors,
		.msg_iovlen = 2,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t n = recvmsg(ROLE_FD_CONTROL, &header, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0)
		return -1;
	CHECK((size_t)n >= sizeof(*ctl) && ctl->magic == CONTROL_MAGIC);
	CHECK(!(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && ctl->seq == ++process->received);
	*more = (struct str){ rest, (size_t)n - sizeof(*ctl) };
	*fd = -1;
	c = CMSG_FIRSTHDR(&header);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return 1;
}

/* A later configuration comes by its descriptor, which nothing but read is allowed on here. */
static void take_config(struct role_process *process, int fd)
{
	struct us_config *next = malloc(sizeof(*next)), *before = process->reloaded;
	const struct us_config *was = process->config;
	size_t n = 0;
	ssize_t got = 1;
	struct err err;

	CHECK(next && fd >= 0);
	while (n < sizeof(*next) && (got = read(fd, (char *)next + n, sizeof(*next) - n)) > 0)
		n += (size_t)got;
	close(fd);
	/* The supervisor has checked it: anything else is a fault of this build. */
	CHECK(n == sizeof(*next) && config_check(next, &err) == 0);
	process->config = process->reloaded = next;
	process->ops->on_config(process->ctx, was);
	if (before)
		free(before);
	else
		(void)munmap((void *)was, sizeof(*was));
}

static void handle_control(
    struct role_process *process, const struct us_ctl *ctl, struct str more, int fd)
{
	switch (ctl->type) {
	case CONTROL_LINK: take_link(process, ctl, fd); return;
	case CONTROL_CRED: take_grant(process, ctl, fd); return;
	case CONTROL_CONFIG:
		if (process->ops->on_config)
			take_config(process, fd);
		else if (fd >= 0)
			close(fd);
		return;
	case CONTROL_STOP:
		if (process->ops->on_stop)
			process->ops->on_stop(process->ctx, (int64_t)ctl->a[0]);
		else
			role_leave(process, 0);
		return;
	default: break;
	}
	if (process->ops->on_control)
		process->ops->on_control(process->ctx, ctl, more, fd);
	else if (fd >= 0)
		close(fd);
}

static void on_control_ready(void *arg, uint32_t events)
{
	struct role_process *process = arg;
	struct us_ctl ctl;
	struct str more;
	int fd, got;

	(void)events;
	while ((got = receive_control(process, MSG_DONTWAIT, &ctl, &more, &fd)) > 0)
		handle_control(process, &ctl, more, fd);
	if (got < 0)
		role_leave(process, 0);
}

bool role_next_control(struct role_process *process, struct us_ctl *ctl, struct str *more)
{
	int fd = -1, got;

	do
		got = receive_control(process, 0, ctl, more, &fd);
	while (got == 0);
	if (fd >= 0)
		close(fd);
	return got > 0;
}

/* --- Life ----------------------------------------------------------------------------------- */

static void on_beat(void *arg, int64_t now_ns)
{
	struct role_process *process = arg;

	role_tell(process, CONTROL_BEAT, 0, 0, NULL);
	loop_timer_set(process->loop, &process->beat, now_ns + CONTROL_BEAT_MS * BASE_NS_PER_MS);
}

/* The configuration: a sealed memfd, or nothing (the loader's first job has none yet). */
static const struct us_config *map_config(struct role_process *process)
{
	struct stat st;
	struct err err;
	void *map;

	if (fstat(ROLE_FD_CONFIG, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	if (st.st_size != sizeof(struct us_config))
		die(process, EXIT_NO_SUPERVISOR,
		    "the configuration on descriptor 4 has another size");
	map = mmap(NULL, sizeof(struct us_config), PROT_READ, MAP_PRIVATE, ROLE_FD_CONFIG, 0);
	if (map == MAP_FAILED || config_check(map, &err))
		die(process, EXIT_NO_SUPERVISOR, "the configuration on descriptor 4 is not valid");
	return map;
}

/* "" or a decimal number below ROLE_MAX_SHARDS. */
static uint8_t parse_shard(int argc, char **argv)
{
	uint64_t shard = 0;

	if (argc > 1 && str_to_u64(str_of(argv[1]), &shard) && shard < ROLE_MAX_SHARDS)
		return (uint8_t)shard;
	return 0;
}

struct role_process *role_begin(enum role id, int argc, char **argv)
{
	struct role_process *process;
	struct stat st;
	struct err err;

	if (canary_is_asked(argc, argv))
		canary_main((struct role_id){ (uint8_t)id, 0 }, argc, argv);
	process = calloc(1, sizeof(*process));
	CHECK(process);
	process->self = (struct role_id){ (uint8_t)id, parse_shard(argc, argv) };
	process->ops = &no_ops;
	(void)snprintf(process->title, sizeof(process->title),
	    id == ROLE_REPOINTER ? "%s/%u" : "%s", role_name(id), process->self.shard);
	log_open(process->title, LOG_INFO);
	if (fstat(ROLE_FD_CONTROL, &st) != 0 || !S_ISSOCK(st.st_mode)) {
		log_error("started by hand: only understudyd starts this program");
		_exit(EXIT_NO_SUPERVISOR);
	}
	if (sandbox_after_exec(process->self, &err))
		die(process, EXIT_SANDBOX, err.text);
	signals_ignore();
	(void)prctl(PR_SET_NAME, process->title, 0, 0, 0);
	process->loop = loop_new();
	role_tell(process, CONTROL_HELLO, build_id[0], build_id[1], NULL);
	process->config = map_config(process);
	close(ROLE_FD_CONFIG);
	return process;
}

void role_attach(struct role_process *process, const struct role_ops *ops, void *ctx)
{
	process->ops = ops;
	process->ctx = ctx;
}

void role_lock(struct role_process *process, const uint16_t *ports, unsigned port_count)
{
	/* Without a configuration nothing can be waived yet; the supervisor, which knows what is
	 * missing, refuses after it has read the configuration (F27). */
	unsigned waived =
	    process->config ? process->config->allow_missing : SANDBOX_ALL & ~sandbox_available();
	struct err err;
	int in_force = sandbox_lock(process->self, ports, port_count, waived, &err);

	if (in_force < 0)
		die(process, EXIT_SANDBOX, err.text);
	process->beat.fire = on_beat;
	process->beat.arg = process;
	loop_timer_set(process->loop, &process->beat, base_clock_boot_ns());
	loop_watch(process->loop, ROLE_FD_CONTROL, EPOLLIN, on_control_ready, process);
	role_tell(process, CONTROL_READY, (uint64_t)in_force, 0, NULL);
}

int role_run(struct role_process *process)
{
	return loop_run(process->loop, base_clock_boot_ns);
}

void role_leave(struct role_process *process, int code)
{
	loop_stop(process->loop, code);
}

struct loop *role_loop(struct role_process *process)
{
	return process->loop;
}

const struct us_config *role_config(const struct role_process *process)
{
	return process->config;
}

struct role_id role_self(const struct role_process *process)
{
	return process->self;
}

bool role_send_fd(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body, int fd)
{
	return shard < ROLE_MAX_SHARDS && process->links[peer][shard] &&
	       link_send(process->links[peer][shard], id, body, fd);
}

bool role_send(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body)
{
	return role_send_fd(process, peer, shard, id, body, -1);
}

void role_credential_answer(
    struct role_process *process, const struct msg_credential *credential, const char *why)
{
	role_tell(process, why ? CONTROL_CRED_NACK : CONTROL_CRED_ACK, credential->target,
	    credential->generation, why);
}

void role_metric(struct role_process *process, enum metric_id id, const char *label,
    const char *label2, int64_t value_micro)
{
	struct msg_metric metric = { .id = id,
		.label = str_of(label),
		.label2 = str_of(label2),
		.value_micro = value_micro };

	(void)role_send(process, ROLE_MONITOR, 0, MSG_METRIC, &metric);
}
