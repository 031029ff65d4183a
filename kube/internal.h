/*
 * The inside of the API client, shared by client.c (life of a request), pool.c (connections and
 * dials) and transport.c (libcurl); nobody else includes it.
 *
 * A pool is the set of connections that may carry a request: one target, one credential
 * generation, one epoch. Its name is the reuse key (F10). One connection of a pool is made at a
 * time, by one request, its opener; the others wait parked until it is up, so that they share it.
 * After a time-out or a broken connection the pool is retired: new requests get a new pool, thus
 * new connections, and whatever has not been sent moves along.
 */
#ifndef KUBE_INTERNAL_H
#define KUBE_INTERNAL_H

#include <curl/curl.h>

#include "kube/answer.h"
#include "kube/client.h"
#include "kube/credential.h"

#define MAX_BODY_BYTES ((size_t)32 * 1024 * 1024)

enum request_state {
	REQUEST_NEW,     /* has no pool yet */
	REQUEST_PARKED,  /* waits for a connection */
	REQUEST_RUNNING, /* in libcurl's hands */
	REQUEST_OVER     /* answered; the callback comes next */
};

struct request {
	struct request *next;
	struct kube_client *client;
	struct pool *pool;
	uint64_t id;
	enum request_state state;
	enum kube_verb verb;
	unsigned target;
	char *resource; /* path, or path?query */
	struct buf body;
	bool fresh, streaming;
	uint32_t deadline_ms, idle_ms;
	int64_t asked_ns, heard_ns,
	    drain_ns; /* drain_ns: 0 or when a stream of an old generation ends */
	struct loop_timer timer;
	kube_chunk_fn *chunk;
	kube_done_fn *done;
	void *arg;
	/* Transport. */
	CURL *easy;
	char *url;
	struct curl_slist headers[4];
	char error[CURL_ERROR_SIZE];
	int fd;            /* handed over, not yet taken by libcurl; -1: none */
	bool opener;       /* makes a connection of its pool */
	bool wants_socket; /* libcurl found no connection to use */
	bool tried;        /* a dialer was asked, or a connection used, on its behalf */
	bool ended;        /* chunk said enough */
	bool cancelled;
	bool flowing; /* a stream's head came with 200: idle_ms counts, not deadline_ms */
	/* Answer. */
	struct kube_answer answer;
	struct answer_head head;
	struct buf response;
};

struct pool {
	struct pool *next;
	struct kube_client *client;
	struct kube_credential *credential;
	char name[64]; /* "/dialer/<target>/<generation>/<epoch>" */
	bool fresh;    /* serves one request */
	bool retired;  /* no new requests */
	bool dialing;  /* a dialer was asked */
	bool opening;  /* an opener has a descriptor, the connection is not up */
	unsigned up;   /* connections that are */
	int64_t rx_ns; /* last time that anything could be read from one of them */
};

struct connection {
	struct connection *next;
	struct kube_client *client;
	struct pool *pool;
	int fd;
	bool up;
	bool shut; /* its pool is gone, libcurl has not noticed yet */
};

struct dial {
	struct dial *next;
	struct pool *pool;
	uint64_t id;
};

struct target {
	unsigned number;
	struct kube_credential *credential;
	struct pool *pool;  /* current; NULL: made on demand */
	int64_t refused_ns; /* when the supervisor was told last that the server answers 401 */
};

struct kube_client {
	struct role_process *process;
	struct loop *loop;
	struct secret_arena *arena;
	CURLM *multi;
	char agent[64];
	struct target *targets;
	unsigned target_count;
	struct request *requests;
	struct pool *pools;
	struct connection *connections;
	struct dial *dials;
	uint64_t last_id, last_epoch, last_dial;
	struct loop_timer curl_timer, kick, redial, trim;
	struct kube_rights *rights; /* rights.c */
	struct kube_renewal *renewals;
	bool pumping; /* inside client_pump: whoever wants something done just notes it */
	bool work;    /* something was noted */
	bool added;   /* libcurl has a new request to look at */
	bool shut;
};

/* rights.c */
void kube_rights_free(struct kube_client *client);

/* client.c */
/* Does everything that can be done now, then calls back whoever is answered. */
void client_pump(struct kube_client *client);
/* Lets the loop call client_pump soon: for callers who must not be called back from inside. */
void client_kick(struct kube_client *client);
/* Ends the request with what its answer says; the callback comes from client_pump. */
void request_over(struct request *request);
/* Bytes of its answer came. */
void request_heard(struct request *request);
/* libcurl is done with it. */
void request_result(struct request *request, CURLcode code);

/* transport.c */
/* Before the lock. */
void transport_open(struct kube_client *client);
void transport_close(struct kube_client *client);
/* Gives the request to libcurl. False: out of memory. */
bool transport_start(struct request *request);
/* Takes it back, whatever it does; sends nothing more of it. */
void transport_stop(struct request *request);
/* Lets libcurl look at new requests, and collects results. */
void transport_run(struct kube_client *client);

/* pool.c */
/* Moves new requests into pools, starts parked ones where a connection is up, dials where not. */
void pools_advance(struct kube_client *client);
/* Frees what nobody uses. */
void pools_sweep(struct kube_client *client);
/* Somebody is looking for its server right now, or has found it. NULL is nobody. */
bool pool_is_trying(const struct pool *pool);
/* New requests go elsewhere, and what has not been sent moves along. */
void pool_retire(struct pool *pool);
/* libcurl asks for a socket: the request's own, -1 when it has none. */
int connection_open(struct request *request);
void connection_up(struct request *request);
void connection_close(struct kube_client *client, int fd);
struct connection *connection_find(struct kube_client *client, int fd);
/* The opener ends without a connection. */
void opener_failed(struct request *request);
struct target *client_target(struct kube_client *client, unsigned number);

#endif
