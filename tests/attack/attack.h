/*
 * One hostile probe per role: a process that enters the role's row as the real one does (the
 * supervisor's own start, then role_begin and role_lock) and then tries one thing (sandbox-rules
 * 7). Each attempt runs in a process of its own; refused means that the kernel or the filter said
 * no, or that the peer cut the link. The same attempt without the lock must succeed, else the check
 * could not fail. Needs root; ends what it starts. Called by tests/integration/run.sh.
 */
#ifndef ATTACK_H
#define ATTACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/roles.h"

/* Beside the row's descriptors, what a hostile process would like to misuse. */
enum {
	FD_SCENE = 8,   /* struct scene */
	FD_SOCKET = 9,  /* a TCP socket that is not connected */
	FD_BOUND = 10,  /* one that is bound and does not listen */
	FD_LINK = 11,   /* a link with a peer, when the attempt is a packet */
	FD_PROGRAM = 12 /* an executable file, opened for reading */
};

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
};

/* One thing to try. Returns 0 when it worked, else errno. */
struct attempt {
	const char *name;
	int (*try)(const struct scene *);
	uint32_t allowed; /* ROLE_BITs that may */
	unsigned
	    bonus; /* SANDBOX_* that alone refuses it to dialers; not every kernel has it (F27) */
};

extern const struct attempt attempts[];
extern const unsigned attempt_count;

/* One packet to a peer, sent by the hostile role over its link (packets.c). */
enum packet_answer { PACKET_CUT, PACKET_TAKEN };

struct packet {
	const char *name;
	/* Sends; 0 or errno. */
	int (*send)(enum role self, enum role peer);
	enum packet_answer wanted;
	uint32_t roles; /* ROLE_BITs that can send it at all */
};

extern const struct packet packets[];
extern const unsigned packet_count;
/* With whom a hostile role talks here. */
enum role packet_peer(enum role self);
/* Another role that can send something to `peer`; and that message: its length, 0 for none. */
enum role packet_honest_sender(enum role peer, enum role except);
size_t packet_honest(enum role from, enum role to, char *bytes, size_t size);

/* --- processes.c ---------------------------------------------------------------------------- */

#define EXTRA_FDS 5 /* from FD_SCENE on */

struct started {
	pid_t pid;
	int control, log;
	bool ready;    /* READY was seen: it is locked */
	uint64_t told; /* control packets */
};

/* Starts ourselves as the role, with a job (hostile.c) and the number of what to try. extra: the
 * descriptors from FD_SCENE on, -1 for none; they stay the caller's. False: reported. */
bool process_start(struct started *started, enum role role, const char *job, unsigned number,
    const int extra[EXTRA_FDS]);
/* The next control packet of that type, or false: the process ended, or wait_ms went by. */
bool process_await(struct started *started, unsigned type, uint64_t *a0, int wait_ms);
bool process_tell(struct started *started, unsigned type, const uint64_t a[3], int fd);
/* Reaps and closes; its last words go into text. The status of waitpid. */
int process_end(struct started *started, bool kill_it, char *text, size_t size);

/* --- hostile.c ------------------------------------------------------------------------------ */

#define JOB_CALL    "call"
#define JOB_PACKET  "packet"
#define JOB_RECEIVE "receive"
/* How a process with JOB_PACKET ends: the peer cut the link, or did not for so long. */
enum { EXIT_CUT = 201, EXIT_LINKED = 202 };
#define PACKET_CUT_MS   2000
#define PACKET_TAKEN_MS 50

/* The main of a started process. */
int hostile_main(enum role self, int argc, char **argv);
#endif
