/*
 * Tokens of accounts as kubeconfigs (see bootstrap.h). Each is proven with the address that the
 * machine will use before it takes its file's place: the server knows it as the account, it may
 * what its process needs, and it may not what the next one needs. Called by bootstrap.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"
#include "ctl/bootstrap.h"
#include "policy/kinds.h"

#define PATIENCE_S      30 /* a new binding takes its time to reach the authorizer */
#define TOKEN_MAX_BYTES 16384

/* What a hub's machine holds: on its own hub, and on the other one. */
static const struct {
	const char *name;
	bool at_peer;
	const char *may, *may_not;
} of_hub[] = {
	{ "elector", false, "update coordination.k8s.io/leases:kubeslice-controller-ha",
	    "get /secrets" },
	{ "publisher", false, "patch controller.kubeslice.io/clusters/status",
	    "update coordination.k8s.io/leases:kubeslice-controller-ha" },
	{ "syncer", false, "create /namespaces",
	    "update coordination.k8s.io/leases:kubeslice-controller-ha" },
	{ "peer-observer", true, "get coordination.k8s.io/leases:kubeslice-controller-ha",
	    "update coordination.k8s.io/leases:kubeslice-controller-ha" },
	{ "peer-syncer", true, "list /namespaces", "create /namespaces" },
};
#define OF_HUB (sizeof(of_hub) / sizeof(of_hub[0]))

bool bootstrap_identity_at(
    const struct bootstrap *b, unsigned i, struct bootstrap_identity *identity)
{
	unsigned each = OF_HUB + b->worker_count;

	*identity = (struct bootstrap_identity){ 0 };
	if (i >= b->hub_count * each + b->worker_count)
		return false;
	if (i < b->hub_count * each) {
		unsigned hub = i / each, n = i % each;
		const struct bootstrap_cluster *worker =
		    n < OF_HUB ? NULL : &b->workers[n - OF_HUB];

		identity->held_by = &b->hubs[hub];
		if (!worker) {
			identity->at = &b->hubs[of_hub[n].at_peer ? 1 - hub : hub];
			/* Without a mirror its accounts have no right but everybody's. */
			identity->may =
			    kinds_any(b->config) || !strstr(of_hub[n].name, "syncer")
				? of_hub[n].may
				: "create authorization.k8s.io/selfsubjectaccessreviews";
			identity->may_not = of_hub[n].may_not;
			(void)snprintf(
			    identity->space, sizeof(identity->space), "%s", b->namespace);
		} else {
			identity->at = worker;
			identity->may = "patch ha.kubeslice.io/clustercontrollers";
			identity->may_not = "delete ha.kubeslice.io/clustercontrollers";
			(void)snprintf(
			    identity->space, sizeof(identity->space), BOOTSTRAP_WORKER_SPACE);
		}
		(void)snprintf(identity->account, sizeof(identity->account), "understudy-%s",
		    worker ? b->hubs[hub].name : of_hub[n].name);
		(void)snprintf(identity->file, sizeof(identity->file), "credentials/%s.kubeconfig",
		    worker ? worker->name : of_hub[n].name);
		return true;
	}
	identity->at = identity->held_by = &b->workers[i - b->hub_count * each];
	identity->may = "patch ha.kubeslice.io/clustercontrollers/status";
	identity->may_not = "patch ha.kubeslice.io/clustercontrollers";
	(void)snprintf(identity->account, sizeof(identity->account), "understudy-follower");
	(void)snprintf(identity->space, sizeof(identity->space), BOOTSTRAP_WORKER_SPACE);
	(void)snprintf(identity->file, sizeof(identity->file), "credentials/follower.kubeconfig");
	return true;
}

/* --- Proving ---------------------------------------------------------------------------------- */

/* "verb group/resource[/sub][:name]" as a question of the account about itself. */
static void put_question(
    struct buf *out, const char *what, const struct bootstrap_identity *identity)
{
	size_t verb = strcspn(what, " ");
	const char *group = what + verb + 1, *resource = strchr(group, '/') + 1;
	const char *name = strchr(resource, ':'), *sub = strchr(resource, '/');
	const char *end = name ? name : resource + strlen(resource);

	buf_printf(out,
	    "---\napiVersion: authorization.k8s.io/v1\nkind: SelfSubjectAccessReview\n"
	    "spec: {resourceAttributes: {verb: %.*s, group: \"%.*s\", resource: \"%.*s\", "
	    "subresource: \"%.*s\", name: \"%s\", namespace: \"%s\"}}\n",
	    (int)verb, what, (int)(resource - 1 - group), group,
	    (int)((sub ? sub : end) - resource), resource, sub ? (int)(end - sub - 1) : 0,
	    sub ? sub + 1 : "", name ? name + 1 : "", identity->space);
}

/* One look: "" when all is as it should be, else what is not. */
static void look(const struct bootstrap_identity *identity, const char *kubeconfig, struct err *err)
{
	static const char *const words[] = { "create", "--validate=false", "-f", "-", "-o",
		"jsonpath={.kind} {.status.userInfo.username}{.status.allowed}{\"\\n\"}", NULL };
	struct kubectl as = { kubeconfig, NULL };
	struct buf asked = buf_make(8192), answer = buf_make(8192), wanted = buf_make(1024);

	buf_puts(&asked, "apiVersion: authentication.k8s.io/v1\nkind: SelfSubjectReview\n");
	put_question(&asked, identity->may, identity);
	put_question(&asked, identity->may_not, identity);
	buf_printf(&wanted,
	    "SelfSubjectReview system:serviceaccount:%s:%s\nSelfSubjectAccessReview true\n"
	    "SelfSubjectAccessReview false\n",
	    identity->space, identity->account);
	err->text[0] = '\0';
	if (kubectl_run(&as, words, buf_str(&asked), &answer, err) == KUBECTL_OK &&
	    !str_equal(buf_str(&answer), buf_str(&wanted))) {
		struct str told = buf_str(&answer);

		err_set(err, "it may not \"%s\", or may \"%s\", or is somebody else: %.*s",
		    identity->may, identity->may_not, (int)(told.n < 200 ? told.n : 200),
		    told.p ? told.p : "");
	}
	buf_free(&asked);
	buf_free(&answer);
	buf_free(&wanted);
}

static bool is_proven(
    const struct bootstrap_identity *identity, const char *kubeconfig, struct err *err)
{
	time_t begun = time(NULL);

	for (;;) {
		const struct timespec moment = { 0, 300000000 };

		look(identity, kubeconfig, err);
		if (!err->text[0])
			return true;
		if (time(NULL) - begun > PATIENCE_S)
			return false;
		(void)nanosleep(&moment, NULL);
	}
}

/* --- Making ----------------------------------------------------------------------------------- */

/* An expiry of RFC 3339 in a line of its own, then the token. */
static enum kubectl_outcome ask_token(const struct bootstrap *b,
    const struct bootstrap_identity *identity, char expires[40], struct buf *token)
{
	char life[40];
	const char *words[] = { "create", "token", identity->account, "-n", identity->space,
		"--duration", life, "-o",
		"jsonpath={.status.expirationTimestamp}{\"\\n\"}{.status.token}", NULL };
	struct buf answer = buf_make_secret(TOKEN_MAX_BYTES);
	enum kubectl_outcome outcome;
	const char *line;

	(void)snprintf(life, sizeof(life), "%llds", b->life_s);
	outcome =
	    kubectl_run(&identity->at->admin, words, (struct str){ NULL, 0 }, &answer, b->err);
	line = answer.data ? strchr(answer.data, '\n') : NULL;
	if (outcome == KUBECTL_OK &&
	    (!line || !line[1] ||
		!str_copy(
		    expires, 40, (struct str){ answer.data, (size_t)(line - answer.data) }))) {
		err_set(b->err, "kubectl create token printed no token");
		outcome = KUBECTL_FAILED;
	}
	if (outcome == KUBECTL_OK)
		buf_puts(token, line + 1);
	buf_free(&answer);
	return outcome;
}

static void put_kubeconfig(
    struct buf *out, const struct bootstrap_identity *identity, const struct buf *token)
{
	const struct bootstrap_cluster *at = identity->at;

	buf_printf(out,
	    "apiVersion: v1\nkind: Config\ncurrent-context: %s\nclusters:\n- name: %s\n"
	    "  cluster:\n    server: %s\n",
	    at->name, at->name, at->server);
	if (at->tls_name[0])
		buf_printf(out, "    tls-server-name: \"%s\"\n", at->tls_name);
	buf_puts(out, "    certificate-authority-data: ");
	base64_put(out, str_of(at->ca));
	buf_printf(out,
	    "\ncontexts:\n- name: %s\n  context: {cluster: %s, user: %s}\nusers:\n- name: %s\n"
	    "  user:\n    token: ",
	    at->name, at->name, identity->account, identity->account);
	buf_append(out, token->data, token->len);
	buf_puts(out, "\n");
}

/* A new token beside the file, proven, then over it. */
static enum ctl_exit make_one(struct bootstrap *b, const struct bootstrap_identity *identity,
    char path[1024], struct bootstrap_result *result)
{
	struct buf token = buf_make_secret(TOKEN_MAX_BYTES), text = buf_make_secret(1 << 20);
	char beside[1040];
	enum kubectl_outcome outcome = ask_token(b, identity, result->expires, &token);
	enum ctl_exit code = kubectl_exit(outcome, false);

	(void)snprintf(beside, sizeof(beside), "%s.new", path);
	if (code == CTL_DONE) {
		put_kubeconfig(&text, identity, &token);
		if (text.failed || !bootstrap_write(beside, buf_str(&text), b->err))
			code = CTL_REFUSED;
	}
	buf_free(&token);
	buf_free(&text);
	if (code == CTL_DONE && !is_proven(identity, beside, b->err)) {
		struct err was = *b->err;

		err_set(b->err, "the token of %s does not work at %s: %.300s", identity->account,
		    identity->at->server, was.text);
		code = CTL_REFUSED;
	}
	if (code == CTL_DONE && rename(beside, path) != 0) {
		err_set(b->err, "%s cannot be replaced: %m", path);
		code = CTL_REFUSED;
	}
	if (code == CTL_DONE) {
		bootstrap_tell(b, "%s: %s of %s, proven at %s, until %s", identity->held_by->name,
		    identity->account, identity->at->name, identity->at->server, result->expires);
		result->state = BOOTSTRAP_MADE;
	} else {
		(void)unlink(beside);
	}
	return code == CTL_DONE ? code : bootstrap_fail(b, identity->at, code);
}

/* Unless asked for new ones, a credential that works and names the same server stays. */
static bool is_good(
    struct bootstrap *b, const struct bootstrap_identity *identity, const char *path)
{
	struct buf text = buf_make_secret(1 << 20), nobody = buf_make(1),
		   wanted = buf_make(1 << 20);
	struct err ignored = { "" };
	bool good = !b->renew && bootstrap_read(path, &text);

	put_kubeconfig(&wanted, identity, &nobody);
	good = good && wanted.len > 1 && text.len > wanted.len &&
	       memcmp(text.data, wanted.data, wanted.len - 1) == 0;
	if (good) {
		look(identity, path, &ignored);
		good = !ignored.text[0];
	}
	buf_free(&text);
	buf_free(&nobody);
	buf_free(&wanted);
	return good;
}

/* KubeSlice's own token of a worker, from the hub that leads first: there once the worker is
 * registered. Without it the hubs deliver theirs (H12). */
static enum ctl_exit take_worker_token(
    struct bootstrap *b, const struct bootstrap_cluster *worker, struct bootstrap_result *result)
{
	char account[112], path[1024];
	const char *words[] = { "get", "secret", account, "-n", worker->project,
		"--ignore-not-found", "-o", "jsonpath={.data.token}", NULL };
	struct buf encoded = buf_make_secret(2UL * TOKEN_MAX_BYTES);
	struct buf token = buf_make_secret(TOKEN_MAX_BYTES);
	enum ctl_exit code;

	(void)snprintf(account, sizeof(account), BOOTSTRAP_ACCOUNT "%s", worker->name);
	code = kubectl_exit(
	    kubectl_run(&b->hubs[0].admin, words, (struct str){ NULL, 0 }, &encoded, b->err),
	    false);
	bootstrap_path(b, worker, "credentials/hub-a.token", path);
	if (code == CTL_DONE && encoded.len &&
	    base64_get(&token, buf_str(&encoded), BASE64_SPACED) && token.len) {
		result->state = BOOTSTRAP_MADE;
		if (!bootstrap_write(path, buf_str(&token), b->err))
			code = CTL_REFUSED;
	} else if (code == CTL_DONE) {
		result->state = BOOTSTRAP_NONE_YET;
		bootstrap_tell(b,
		    "%s: %s has no token of KubeSlice's for it yet: the hubs deliver theirs",
		    worker->name, b->hubs[0].name);
	}
	buf_free(&encoded);
	buf_free(&token);
	return code == CTL_DONE ? code : bootstrap_fail(b, &b->hubs[0], code);
}

unsigned bootstrap_credential_count(const struct bootstrap *b)
{
	struct bootstrap_identity identity;
	unsigned count = 0;

	while (bootstrap_identity_at(b, count, &identity))
		count++;
	return count + b->worker_count;
}

enum ctl_exit bootstrap_credentials(struct bootstrap *b, unsigned i)
{
	struct bootstrap_identity identity;
	char path[1024];

	if (!bootstrap_identity_at(b, i, &identity))
		return take_worker_token(b,
		    &b->workers[i + b->worker_count - bootstrap_credential_count(b)],
		    &b->results[i]);
	bootstrap_path(b, identity.held_by, identity.file, path);
	if (!is_good(b, &identity, path))
		return make_one(b, &identity, path, &b->results[i]);
	b->results[i].state = BOOTSTRAP_KEPT;
	bootstrap_tell(b, "%s: %s of %s works and stays; --renew makes a new one",
	    identity.held_by->name, identity.account, identity.at->name);
	return CTL_DONE;
}
