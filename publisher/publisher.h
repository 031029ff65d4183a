/*
 * The publisher: says on this hub's Clusters that this hub is Active, while it is (3.8), and reads
 * each worker's own token here for delivery to that worker (H12). It holds one identity on the own
 * hub. Every write needs a valid permit right before it leaves (H16); reading tokens does not. It
 * must not reach a worker, and never clears what it published.
 *
 *   plan      what to do about one Cluster; pure
 *   publish   the Clusters of this hub: watch, write, read back
 *   probe     does the API server enforce this hub's role? (C1)
 *   tokens    the workers' tokens, handed to the repointer shards
 *   bindings  lets the peer's syncer read Secrets in mirrored namespaces (decision 2)
 *   messages  what it is told
 */
#ifndef PUBLISHER_PUBLISHER_H
#define PUBLISHER_PUBLISHER_H

#include "kube/client.h"
#include "kube/watch.h"
#include "publisher/plan.h"

#define PUBLISHER_CLUSTERS_MAX 4096
#define PUBLISHER_WINDOW       16 /* writes at the same time */
#define OTHER_REQUEST_MS       5000

struct publisher;

/* A Cluster of this hub, as last seen. */
struct cluster {
	struct publisher *publisher;
	char namespace[64], name[254], secret[254];
	struct plan plan;
	bool same;          /* activeController says what we would say */
	int64_t updated_us; /* its lastUpdated; 0: none */
	uint64_t id;        /* write that runs */
	bool listed;
};

/* A mirrored namespace of this hub. */
struct mirrored {
	struct publisher *publisher;
	char name[64];
	struct plan plan;
	int64_t done_ns;
	uint64_t id;
	bool listed;
};

/* The token of one configured worker. */
struct token {
	struct publisher *publisher;
	unsigned worker;
	struct loop_timer timer;
	uint64_t id;
	unsigned failures;
	char version[64]; /* resourceVersion of the Secret that was sent; "" : none */
	int64_t sent_ns;
};

struct publisher {
	struct role_process *process;
	struct kube_client *client;
	const char *self, *endpoint;
	struct plan_permit permit;
	struct buf ca; /* PEM to publish; empty: none known */
	char *bundle;  /* the same in base64; "" */
	bool ca_from_file;
	/* publish.c */
	struct kube_watch *cluster_watch;
	struct cluster **clusters;
	unsigned cluster_count, writing;
	bool synced, pruned_told, wrote; /* wrote: since the last pass was told */
	struct loop_timer timer;
	struct msg_published told;
	/* bindings.c */
	struct kube_watch *namespace_watch;
	struct mirrored **namespaces;
	unsigned namespace_count;
	bool namespaces_synced, binds; /* binds: a kind is mirrored that needs the binding */
	struct loop_timer binding_timer;
	/* probe.c */
	uint64_t probe_early; /* nonce of the last one, while it waits for something to try it on */
	/* tokens.c */
	struct token *tokens;
};

extern const struct role_ops publisher_ops;

/* --- publish.c --- */
void publish_open(struct publisher *publisher);
void publish_close(struct publisher *publisher);
/* A credential is there: starts watching, once; with another one what failed is tried again. */
void publish_begin(struct publisher *publisher);
void publish_permit(struct publisher *publisher, const struct plan_permit *permit);
/* The CA that workers need to trust our endpoint; empty: unreadable, published without (L105). */
void publish_set_ca(struct publisher *publisher, struct str pem);
void publish_cluster_path(struct buf *path, const struct cluster *cluster, const char *subresource);
/* NULL: not seen. */
const struct cluster *publish_find(
    const struct publisher *publisher, const char *namespace, const char *name);

/* --- probe.c --- */
void probe_start(struct publisher *publisher, uint64_t nonce);
/* There may be something to try it on now, for which the last one came too early. */
void probe_again(struct publisher *publisher);

/* --- tokens.c --- */
void tokens_open(struct publisher *publisher);
void tokens_close(struct publisher *publisher);
/* Looks at once: the credential came, or the Cluster names another Secret. */
void tokens_look(struct publisher *publisher, const char *namespace, const char *name);
void tokens_look_all(struct publisher *publisher);
/* A shard is there (again): it gets endpoint and CA at once, then its tokens. */
void tokens_shard_linked(struct publisher *publisher, unsigned shard);
void tokens_ca_changed(struct publisher *publisher);

/* --- bindings.c --- */
void bindings_begin(struct publisher *publisher);
void bindings_step(struct publisher *publisher);
void bindings_term_changed(struct publisher *publisher);
/* Whether the namespace carries the label by which the role policy governs it. */
bool bindings_is_mirrored(const struct publisher *publisher, const char *namespace);
void bindings_close(struct publisher *publisher);

#endif
