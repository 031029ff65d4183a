/*
 * What an HTTP answer or a failed connection means (C4, H7, H20): the one classification of this
 * tree. Pure: no I/O, no clock. Everything that came from a server is made printable here.
 */
#ifndef KUBE_ANSWER_H
#define KUBE_ANSWER_H

#include <curl/curl.h>
#include <jansson.h>

#include "kube/client.h"

/* What the head of an answer said beyond kube_answer. */
struct answer_head {
	bool json; /* Content-Type */
};

/* One header line as curl hands it out, status lines included. A new status line forgets what the
 * head before it said (100 Continue). */
void answer_header(struct kube_answer *answer, struct answer_head *head, struct str line);
/* The whole answer is there: sets class, why, reason, message, cause. path: of the request. */
void answer_finish(
    struct kube_answer *answer, const struct answer_head *head, const char *path, struct str body);
/* There is none. words: curl's error buffer. */
void answer_fail(struct kube_answer *answer, CURLcode code, const char *words);
/* Its body is longer than was asked for. */
void answer_too_long(struct kube_answer *answer, size_t most);
/* The dialer gave no connection. */
void answer_not_dialed(struct kube_answer *answer, enum dial_outcome outcome, struct str address);
void answer_set(
    struct kube_answer *answer, enum kube_class class, enum peer_why why, const char *words);

/* Of a version, with its end. */
#define ANSWER_VERSION_BYTES 64
/* The resourceVersion of an object out of an answer or event, borrowed; NULL when this is no
 * Kubernetes object. Has it a name? */
const char *answer_version(const json_t *object);
bool answer_is_named(const json_t *object);

#endif
