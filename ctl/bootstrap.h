/*
 * `understudyctl bootstrap`: from an administrator's contexts everything that two hubs and their
 * workers need before the first start, with the administrator's own kubectl (decision 4).
 *
 *   bootstrap.c        words, what is going to happen, the steps in their order
 *   bootstrap_many.c   one step for many clusters at once
 *   bootstrap_reach.c  where each cluster is, which one it is, whether the caller may do all this
 *   bootstrap_mirror.c what is mirrored, by --mirror
 *   bootstrap_manifest.c  the manifests
 *   bootstrap_apply.c  CRDs, policies in force before rights (C2), webhooks (H5); the way back
 *   bootstrap_who.c    tokens as kubeconfigs, each proven before it takes its place
 *   bootstrap_files.c  files of an output folder, one sub-folder a machine; configurations
 *   bootstrap_answer.c what was done, for a program
 *
 * A token is in our memory between two programs only: in no argument, environment or message.
 */
#ifndef CTL_BOOTSTRAP_H
#define CTL_BOOTSTRAP_H

#include <jansson.h>

#include "ctl/commands.h"
#include "ctl/kubectl.h"
#include "policy/config.h"

command_run_fn bootstrap_command;

#define BOOTSTRAP_MAX_WORKERS  256
#define BOOTSTRAP_INSTALLED    "/etc/understudy" /* where a machine has its sub-folder */
#define BOOTSTRAP_WORKER_SPACE "kubeslice-system"
#define BOOTSTRAP_ACCOUNT      "kubeslice-rbac-worker-" /* KubeSlice's, of a worker on each hub */

/* One cluster. Words of the command line are borrowed. All of them lie in memory that is shared
 * with the processes of bootstrap_many. */
struct bootstrap_cluster {
	char name[64];
	bool is_hub;
	struct kubectl admin;
	const char *endpoint, *ca_file; /* NULL: those of the context */
	const char *project;            /* of a worker */
	char server[512], tls_name[254];
	char ca[65536]; /* PEM */
	char uid[64];   /* of kube-system */
	char role[32];  /* HubRole/self of a hub as it was found, "" when there is none */
};

/* What became of a credential, in shared memory as well. */
struct bootstrap_result {
	enum { BOOTSTRAP_NOT_REACHED, BOOTSTRAP_NONE_YET, BOOTSTRAP_KEPT, BOOTSTRAP_MADE } state;
	char expires[40]; /* RFC 3339, of one that was made and ends */
};

struct bootstrap {
	const char *namespace, *out, *yes;
	const char *mirror_file;  /* --mirror; NULL: the default */
	char *mirror_text;        /* its text; owned */
	struct us_config *config; /* of a hub, for its mirror; owned */
	bool dry_run, renew, remove, force;
	bool as_json;                             /* for a program: nothing is shown meanwhile */
	bool quiet;                               /* what is told is kept, not shown at once */
	struct bootstrap_result *results;         /* by the number of the credential */
	long long life_s;                         /* of a token */
	struct bootstrap_cluster *hubs, *workers; /* of one piece, bootstrap_free's */
	unsigned hub_count, worker_count;
	struct buf *said; /* what the caller reads */
	struct err *err;
};

/* Words without their command. CTL_DONE, or what is wrong; bootstrap_free in any case. */
enum ctl_exit bootstrap_parse(int argc, char **argv, struct bootstrap *b, struct err *err);
/* Frees what the steps filled in. */
void bootstrap_free(struct bootstrap *b);
/* Appends a line for the caller; on a terminal it is shown at once. show: what there is. */
void bootstrap_show(struct bootstrap *b);
void bootstrap_tell(struct bootstrap *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* https://HOST[:PORT][/PATH] of characters that need no quotes in YAML. */
bool bootstrap_is_endpoint(const char *text);
/* Number i of all clusters, hubs first; NULL behind the last. */
struct bootstrap_cluster *bootstrap_cluster_at(struct bootstrap *b, unsigned i);
/* Puts the cluster's name before the text in b->err. Returns the code. */
enum ctl_exit bootstrap_fail(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, enum ctl_exit code);

/* Appends all that was done as one document. said: what was told meanwhile. Returns the code. */
enum ctl_exit bootstrap_answer(
    struct bootstrap *b, enum ctl_exit code, const struct buf *said, struct buf *out);

/* Runs the step for each number from 0 to count - 1, some of them at the same time, each in a
 * process of its own: what it changes is lost but for clusters and files. What they tell is told in
 * order. The first failure, by number, is the result; after one nothing more is begun. */
enum ctl_exit bootstrap_many(
    struct bootstrap *b, unsigned count, enum ctl_exit (*step)(struct bootstrap *, unsigned));

/* One cluster: server, certificates, uid, role. Refused: not reachable, a
 * caller who may not do everything there. */
enum ctl_exit bootstrap_reach(struct bootstrap *b, unsigned i);
/* No two of them may be one (D15). */
enum ctl_exit bootstrap_judge_uids(struct bootstrap *b);

/* Reads --mirror into b->config, or the default without it. Refused: what the loader refuses. */
enum ctl_exit bootstrap_mirror_take(struct bootstrap *b);
/* One hub: does it serve what is listed (M7, M10); has it rights for another mirror? */
enum ctl_exit bootstrap_mirror_judge(struct bootstrap *b, const struct bootstrap_cluster *cluster);
/* What is mirrored, in one line without its end. */
void bootstrap_mirror_put(const struct us_config *config, struct buf *out);
/* On the syncer's ClusterRole where the mirror is not the default: what is mirrored. */
#define BOOTSTRAP_MIRROR_NOTE "ha.kubeslice.io/mirror"

/* The manifests of one cluster, in the order in which they are applied: crds, hubrole (hubs),
 * admission, rights. Pure. */
enum bootstrap_part { PART_FIRST, PART_ROLE, PART_ADMISSION, PART_RIGHTS, PART_COUNT };
void bootstrap_manifest(const struct bootstrap *b, const struct bootstrap_cluster *cluster,
    enum bootstrap_part part, struct buf *out);
extern const char bootstrap_hub_role[];
/* Appends a template of a hub's with its places filled. Pure. */
void bootstrap_fill(const struct bootstrap *b, const char *text, struct buf *out);
enum ctl_exit bootstrap_apply(struct bootstrap *b, unsigned i);
enum ctl_exit bootstrap_remove(struct bootstrap *b, unsigned i);
/* Puts the condition into each webhook of KubeSlice that lacks it, or takes it out. True: the
 * object was changed. Pure. */
bool bootstrap_exempt(json_t *configuration, const char *namespace, bool out);

/* One identity: whose account on which cluster, held by which machine under which file name. */
struct bootstrap_identity {
	const struct bootstrap_cluster *at, *held_by;
	char account[80], space[64], file[96];
	const char *may,
	    *may_not; /* SelfSubjectAccessReviews: "verb group/resource[/sub][:name]" */
};
/* Number i of all; false behind the last. Pure. */
bool bootstrap_identity_at(
    const struct bootstrap *b, unsigned i, struct bootstrap_identity *identity);
/* Number i of all credentials: a token of each identity, then KubeSlice's own of each worker. */
unsigned bootstrap_credential_count(const struct bootstrap *b);
enum ctl_exit bootstrap_credentials(struct bootstrap *b, unsigned i);

/* Makes the output folder and its sub-folders. */
enum ctl_exit bootstrap_folders(struct bootstrap *b);
/* The path of a machine's file, in the output folder. */
void bootstrap_path(const struct bootstrap *b, const struct bootstrap_cluster *machine,
    const char *file, char out[1024]);
/* 0600, never half written: beside it, then renamed over it. */
bool bootstrap_write(const char *path, struct str bytes, struct err *err);
/* false: it cannot be read. Appends. */
bool bootstrap_read(const char *path, struct buf *out);
/* CA files and, unless only credentials are renewed, configurations of all machines. What a person
 * has edited stays. */
enum ctl_exit bootstrap_configure(struct bootstrap *b);
enum ctl_exit bootstrap_forget(struct bootstrap *b);
/* Text of one machine's configuration, without its first line; token: the file of KubeSlice's
 * token on the first hub is there. Pure. */
void bootstrap_configuration(const struct bootstrap *b, const struct bootstrap_cluster *machine,
    bool token, struct buf *out);
/* The first line: whose file it is, with a checksum of the rest. False: another one wrote it, or
 * the rest was changed. Pure. */
void bootstrap_stamp(struct str text, char out[160]);
bool bootstrap_is_ours(struct str file);

#endif
