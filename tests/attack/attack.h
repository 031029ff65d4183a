/*
 * One hostile probe per role: a process that enters the role's row as the real one does (the
 * supervisor's own start, then role_begin and role_lock) and then tries one thing (sandbox-rules
 * 7). Each attempt runs in a process of its own; refused means that the kernel or the filter said
 * no, or that the peer cut the link. The same attempt without the lock must succeed, else the check
 * could not fail; and it runs behind each layer of the lock alone, so that the table shows which of
 * them hold it. Needs root; ends what it starts. Called by tests/integration/run.sh.
 */
#ifndef ATTACK_H
#define ATTACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/roles.h"

/* Beside the row's descriptors, what a hostile process would like to misuse. */
enum {
	FD_SCENE = 8,     /* struct scene */
	FD_SOCKET = 9,    /* a TCP socket that is not connected */
	FD_BOUND = 10,    /* one that is bound and does not listen */
	FD_LINK = 11,     /* a link with a peer, when the attempt is a packet */
	FD_PROGRAM = 12,  /* an executable file, opened for reading */
	FD_PAGE = 13,     /* a page of root's, opened for reading, as the fence page is */
	FD_CONNECTED = 14 /* a TCP connection, as dialers hand them over */
};

#define EXTRA_FDS 7 /* from FD_SCENE on */

/* Nothing else on the machine runs under these. */
#define ATTACK_UID_BASE 26000

/* What lies around; the same for all attempts of a role. */
struct scene {
	uint16_t port, target_port; /* both listened on; the second one is the dialer's target */
	pid_t sibling;              /* same uid, dumpable: the user rules alone would let us */
	const uint64_t *secret;     /* in the memory of the sibling */
	char credential[64];        /* root 0400 */
	char readable[64];          /* root 0644 */
	char folder[64];            /* 0777 */
	char victim[64];            /* in it, 0666 */
};

/* What keeps a process in its row, one by one. */
enum layer {
	LAYER_USER = 1 << 0,     /* uid, groups, capabilities, limits, not dumpable, MDWE */
	LAYER_LANDLOCK = 1 << 1, /* files, ports, scopes */
	LAYER_SECCOMP = 1 << 2,  /* filters 1 and 2 */
	LAYER_ALL = 7            /* as in a running role */
};

/* One thing to try. Returns 0 when it worked, else errno. */
struct attempt {
	const char *name;
	int (*try)(const struct scene *);
	uint32_t allowed; /* ROLE_BITs that may */
	/* Layers that have to refuse it each alone, in every role that has a filter 2. One that
	 * stops doing so is found although the others still hold. */
	unsigned held;
	bool rare; /* not every machine lets even root do it: no refusal is wrong then */
};

struct attempt_list {
	const struct attempt *attempts;
	unsigned count;
};

/* One list per file: calls_files.c, ... */
extern const struct attempt_list file_attempts, network_attempts, process_attempts,
    identity_attempts, memory_attempts, kernel_attempts;
/* All of them, in that order; NULL behind the last. */
const struct attempt *attempt_at(unsigned number);

/* What a system call says, as an attempt says it. */
int attempt_outcome(long result);

/* One packet to a peer, sent by the hostile role over its link (packets.c). */
enum packet_answer { PACKET_CUT, PACKET_TAKEN };

struct packet {
	const char *name;
	/* Sends; 0 or errno. */
	int (*send)(enum role self, enum role peer);
	enum packet_answer wanted;
	unsigned needs; /* PACKET_NEEDS_* */
};

/* What a packet cannot be sent without. */
enum {
	PACKET_NEEDS_OWN = 1 << 0,     /* a message from the role to the peer exists */
	PACKET_NEEDS_OTHERS = 1 << 1,  /* the peer gets a message that the role may not send */
	PACKET_NEEDS_PASSING = 1 << 2, /* the role's filter lets descriptors pass */
	PACKET_NEEDS_LOADER = 1 << 3,
	PACKET_NEEDS_MANY = 1 << 4 /* the role may say more than one thing on a link */
};

extern const struct packet packets[];
extern const unsigned packet_count;
/* With whom a role talks, as ROLE_BITs. */
uint32_t packet_peers(enum role self);
bool packet_applies(const struct packet *packet, enum role self, enum role peer);
/* Another role that can send something to `peer`; and that message: its length, 0 for none. */
enum role packet_honest_sender(enum role peer, enum role except);
size_t packet_honest(enum role from, enum role to, char *bytes, size_t size);
/* A good packet of any message, with the least values: its length. */
size_t packet_bytes(unsigned message, char *bytes, size_t size);

/* --- scene.c -------------------------------------------------------------------------------- */

struct place {
	struct scene scene;
	char root[32];
	int listeners[2];
	int handover;       /* a directory that is a follower's to write */
	int fds[EXTRA_FDS]; /* from FD_SCENE on; FD_LINK is made for each attempt */
};

/* Exits when the machine does not let it. */
void scene_lay_out(struct place *place);
void scene_clear_away(const struct place *place);
/* New ones of what an attempt may have used up: sockets, a link. The other end of the link. */
int scene_refresh(struct place *place);
/* Somebody else under the uid who lets himself be looked at; its pid goes into the scene. */
void scene_start_sibling(struct place *place, uid_t uid);
void scene_end_sibling(struct place *place);

/* --- processes.c ---------------------------------------------------------------------------- */

struct started {
	pid_t pid;
	int control, log;
	bool ready;    /* READY was seen: it is locked */
	uint64_t told; /* control packets */
};

/* Starts ourselves as the role, behind those layers, with a job (hostile.c) and the number of what
 * to try. place: NULL for a role without a scene. False: reported. */
bool process_start(struct started *started, enum role role, enum layer layers, const char *job,
    unsigned number, const struct place *place);
/* The same of a role whose packets go to that peer. */
bool process_start_towards(struct started *started, enum role role, enum role peer, unsigned packet,
    const struct place *place);
/* The next control packet of that type, or false: the process ended, or wait_ms went by. */
bool process_await(struct started *started, unsigned type, uint64_t *a0, int wait_ms);
bool process_tell(struct started *started, unsigned type, const uint64_t a[3], int fd);
/* Reaps and closes; its last words go into text. The status of waitpid. */
int process_end(struct started *started, bool kill_it, char *text, size_t size);

/* --- mutants.c ------------------------------------------------------------------------------ */

/* From here on this process, and what it starts, leaves out that step; 0: none. */
void mutant_become(unsigned number, bool executed);
/* The filter that is loaded next is the one that is left out. */
bool mutant_forgets_filter(void);
/* How many were judged wrongly; reported. */
unsigned mutants_run(enum role role);

/* --- peers.c -------------------------------------------------------------------------------- */

/* Sends each packet that the role can send, from a locked process, to a peer that receives as real
 * ones do; told(ctx, packet, how, wrong) for each, wrong NULL when it went as it should. */
typedef void packet_told(
    void *ctx, const struct packet *packet, enum role peer, const char *how, const char *wrong);
void peers_attack(struct place *place, enum role role, packet_told *told, void *ctx);

/* --- hostile.c ------------------------------------------------------------------------------ */

#define JOB_CALL    "call"
#define JOB_PACKET  "packet"
#define JOB_RECEIVE "receive"
/* How a process with JOB_PACKET ends: the peer cut the link, or did not for so long. */
enum { EXIT_CUT = 201, EXIT_LINKED = 202 };
#define PACKET_CUT_MS   20000
#define PACKET_TAKEN_MS 50

/* The main of a started process. */
int hostile_main(enum role self, int argc, char **argv);
#endif
