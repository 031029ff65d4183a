/*
 * Paths and queries of the Kubernetes API. Every name is escaped: a name out of an object, a file
 * or a peer can never add a path segment or a parameter.
 */
#ifndef KUBE_URL_H
#define KUBE_URL_H

#include "base/buf.h"

/* Percent-encodes everything but the unreserved characters of RFC 3986. */
void kube_url_escape(struct buf *out, const char *text);
/* A resource as the API addresses it. group "" is the core group; namespace NULL: cluster-scoped
 * or all namespaces; name NULL: the collection; subresource NULL: none. */
void kube_url_path(struct buf *out, const char *group, const char *version, const char *plural,
    const char *namespace, const char *name, const char *subresource);
/* Appends "key=value" with '&' where needed, value escaped. */
void kube_url_query(struct buf *out, const char *key, const char *value);
void kube_url_query_number(struct buf *out, const char *key, uint64_t value);

#endif
