/*
 * The control link between the supervisor and each role: SEQPACKET, one packet is one fixed
 * struct of 128 bytes in native layout (both ends carry the same build id). Root parses nothing
 * more than this from a child (F28, sandbox-rules 4). Towards a role a packet may carry `more`
 * bytes behind the struct, and a descriptor where the type says so; from a role never.
 */
#ifndef POLICY_CONTROL_H
#define POLICY_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "policy/roles.h"

#define CONTROL_MAGIC    0x75736374u
#define CONTROL_MAX_MORE 4096

enum control_type {
	/* Role -> supervisor. */
	CONTROL_HELLO = 1, /* a[0], a[1]: build id */
	CONTROL_READY,     /* locked down and checked itself; a[0]: bits of SANDBOX_* in force */
	CONTROL_BEAT,      /* alive; every CONTROL_BEAT_MS */
	CONTROL_EXITING,   /* blob: reason, text */
	CONTROL_LINK_CUT,  /* a link ended here without a bad message; a[] as of its CONTROL_LINK */
	CONTROL_ACCUSE,    /* it ended by a bad message (F4); a[] as of its CONTROL_LINK */
	CONTROL_CRED_ACK,  /* a[0]: credential, a[1]: generation */
	CONTROL_CRED_NACK, /* a[0]: credential, a[1]: generation, blob: why, text without secrets */
	CONTROL_CRED_REFUSED, /* a[0]: credential: its server answers 401 to it */
	CONTROL_START_SYNCER, /* elector */
	CONTROL_STOP_SYNCER,  /* elector; a[0]: deadline_ns after which it is killed */
	CONTROL_RUN,      /* elector; a[0]: term, a[1]: valid_until_ns; follower; a[0]: hub + 1 */
	CONTROL_STOP_RUN, /* elector */
	CONTROL_LEADING,  /* elector; a[0]: enum fence role, a[1]: term: for sd_notify */
	CONTROL_WORKLOAD_SEEN, /* runner: a[0]: 1 running, a[1]: 1 uid empty, a[2]: seq of the last
				  word that it knew; without a[2] on to the elector */
	CONTROL_LOADED,        /* loader; a struct us_loaded follows */
	/* Supervisor -> role. */
	CONTROL_LINK = 64,    /* a[0]: peer role, a[1]: its shard, a[2]: generation; descriptor */
	CONTROL_CRED,         /* a[0]: credential, a[1]: generation; descriptor: one-shot link */
	CONTROL_LISTENER,     /* monitor; a[0]: enum control_listener; descriptor */
	CONTROL_ADMIN_CLIENT, /* elector; a[0..2]: uid, gid, pid; descriptor */
	CONTROL_TARGET,       /* dialer; a[0]: credential, a[1]: port; more: host, terminated */
	CONTROL_RELEASE,      /* loader: hand the credential over, then exit */
	CONTROL_SYNCER_GONE,  /* elector; a[0]: 1 clean, 0 killed */
	CONTROL_PREDECESSOR_DEAD, /* elector; a[0]: instance */
	CONTROL_CONFIG,   /* elector, monitor; descriptor: the configuration from now on, sealed */
	CONTROL_RELOADED, /* monitor; a[0]: reloads so far, a[1]: 1 done, 0 refused; more: text */
	CONTROL_ACCUSED,  /* monitor; a[0]: role, a[1]: 1 killed for it, 0 only cut; a[2]: how often
			   */
	CONTROL_START,    /* runner; a[0], a[1]: those of CONTROL_RUN */
	CONTROL_STOP,     /* runner: stop the workload; any other role: leave by a[0] deadline_ns */
};

enum control_listener { CONTROL_LISTENER_HTTP, CONTROL_LISTENER_STATUS };

#define CONTROL_BEAT_MS 1000

struct us_ctl {
	uint32_t magic;
	uint16_t type;
	uint16_t unused; /* 0 */
	uint64_t seq;    /* counts up per direction and link, from 1 */
	uint64_t a[6];
	char blob[64]; /* text, terminated, or zeros */
};
_Static_assert(sizeof(struct us_ctl) == 128, "the control struct is the wire format");

/* CONTROL_LOADED is followed by a second packet of exactly this size on the same link (fixed
 * struct, F7): what the dialer needs and what rotations are pinned to. */
struct us_loaded {
	uint32_t magic;
	uint32_t port;
	char host[256];        /* server's host: name or literal address, terminated */
	char subject[256];     /* JWT `sub` or certificate CN, terminated; "" when unknown */
	uint64_t fingerprint;  /* keyed, of the whole identity: says "changed", not what */
	uint64_t public_print; /* first bytes of the SHA-256 of its public part: the certificate's
				  DER, or what a JWT signs; 0: it has none */
	int64_t issued_us, expires_us; /* wall time; 0: it does not say */
};

#endif
