/*
 * API servers as the administrator, through his own kubectl: whatever his kubeconfig says (exec
 * plugins, proxies, OIDC) works, and no credential of his passes through this program. What is
 * written goes over its standard input, never over its command line.
 */
#ifndef CTL_KUBECTL_H
#define CTL_KUBECTL_H

#include "base/buf.h"
#include "base/err.h"
#include "ctl/client.h"

/* Which cluster, as whom; NULL: what kubectl itself takes. */
struct kubectl {
	const char *kubeconfig, *context;
};

/* What the server made of it. FAILED: kubectl could not ask, or its answer did not come. */
enum kubectl_outcome {
	KUBECTL_OK,
	KUBECTL_NOT_FOUND,
	KUBECTL_CONFLICT,
	KUBECTL_EXISTS,
	KUBECTL_REFUSED,
	KUBECTL_FAILED
};

#define KUBECTL_MAX_WORDS 128

/* A label or an annotation of understudy; where its Lease lies unless --namespace says so. */
#define MARK(name)        "ha.kubeslice.io/" name
#define DEFAULT_NAMESPACE "kubeslice-controller"

/* Runs kubectl with these words (the last one NULL) and gives it input. Appends what it prints; on
 * failure err holds its words, made printable. */
enum kubectl_outcome kubectl_run(const struct kubectl *kubectl, const char *const *words,
    struct str input, struct buf *out, struct err *err);
/* Who holds understudy's Lease there, appended to holder. NOT_FOUND: there is none, and err says by
 * which word another namespace is named. */
enum kubectl_outcome kubectl_lease_holder(
    const struct kubectl *kubectl, const char *namespace, struct buf *holder, struct err *err);
/* writes: what came of a request that was not answered is not known. */
enum ctl_exit kubectl_exit(enum kubectl_outcome outcome, bool writes);

#endif
