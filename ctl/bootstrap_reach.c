/*
 * Where each cluster is and which one it is (see bootstrap.h), before anything is changed. Of the
 * administrator's kubeconfig only addresses and certificates are asked for. Called by bootstrap.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "ctl/bootstrap.h"

static const char context_form[] =
    "jsonpath={.clusters[0].cluster.server}{\"\\n\"}{.clusters[0].cluster.tls-server-name}{\"\\n\"}"
    "{.clusters[0].cluster.insecure-skip-tls-verify}{\"\\n\"}{.clusters[0].cluster.proxy-url}"
    "{\"\\n\"}{.clusters[0].cluster.certificate-authority-data}{\"\\n\"}";
static const struct str nothing;

/* The next line, without its end; "" behind the last one. */
static struct str next_line(struct str *text)
{
	const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;
	struct str line = { text->p, end ? (size_t)(end - text->p) : text->n };

	text->p += line.n + (end ? 1 : 0);
	text->n -= line.n + (end ? 1 : 0);
	return line;
}

static enum ctl_exit take_ca(
    struct bootstrap *b, struct bootstrap_cluster *cluster, struct str encoded)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----";
	struct buf pem = buf_make(sizeof(cluster->ca) - 1);
	bool taken = cluster->ca_file ? bootstrap_read(cluster->ca_file, &pem)
				      : base64_get(&pem, encoded, BASE64_SPACED);

	taken = taken && str_copy(cluster->ca, sizeof(cluster->ca), buf_str(&pem)) &&
		strstr(cluster->ca, begin);
	buf_free(&pem);
	if (taken)
		return CTL_DONE;
	err_set(b->err, "%s; expected --ca %s=FILE with PEM certificates",
	    cluster->ca_file ? "that file cannot be read or holds no certificate"
			     : "its context names no certificates to verify the server by",
	    cluster->name);
	return bootstrap_fail(b, cluster, CTL_REFUSED);
}

/* D5, D6, D7: what an administrator's context may have and a credential of understudy may not. */
static enum ctl_exit judge_context(struct bootstrap *b, struct bootstrap_cluster *cluster,
    struct str server, struct str insecure, struct str proxy)
{
	const char *kind = cluster->is_hub ? "hub" : "worker";

	if (cluster->endpoint)
		server = str_of(cluster->endpoint);
	else if (proxy.n)
		err_set(b->err,
		    "its context goes through a proxy, understudy does not; expected "
		    "--%s-endpoint %s=URL",
		    kind, cluster->name);
	else if (cluster->tls_name[0] && cluster->is_hub)
		err_set(b->err,
		    "its context needs tls-server-name, which the list of hubs has no place for; "
		    "expected --hub-endpoint %s=URL",
		    cluster->name);
	else if (server.n < 8 || strncmp(server.p, "https://", 8) != 0)
		err_set(b->err, "its context has no https:// server");
	else if (str_equal(insecure, STR_LIT("true")) && !cluster->ca_file)
		err_set(b->err, "its context verifies no certificate; expected --ca %s=FILE",
		    cluster->name);
	if (b->err->text[0])
		return bootstrap_fail(b, cluster, CTL_REFUSED);
	if (!str_copy(cluster->server, sizeof(cluster->server), server) ||
	    !bootstrap_is_endpoint(cluster->server)) {
		err_set(
		    b->err, "its server is no https://HOST[:PORT][/PATH] of less than 500 bytes");
		return bootstrap_fail(b, cluster, CTL_REFUSED);
	}
	return CTL_DONE;
}

static enum ctl_exit read_context(struct bootstrap *b, struct bootstrap_cluster *cluster)
{
	static const char *const words[] = { "config", "view", "--raw", "--minify", "--flatten",
		"-o", context_form, NULL };
	struct buf out = buf_make(1 << 20);
	enum ctl_exit code = CTL_DONE;
	struct str rest, server, insecure, proxy;

	if (kubectl_run(&cluster->admin, words, nothing, &out, b->err) != KUBECTL_OK) {
		buf_free(&out);
		return bootstrap_fail(b, cluster, CTL_REFUSED);
	}
	rest = buf_str(&out);
	server = next_line(&rest);
	(void)str_copy(cluster->tls_name, sizeof(cluster->tls_name), next_line(&rest));
	insecure = next_line(&rest);
	proxy = next_line(&rest);
	b->err->text[0] = '\0';
	code = judge_context(b, cluster, server, insecure, proxy);
	if (cluster->endpoint)
		cluster->tls_name[0] = '\0';
	if (code == CTL_DONE)
		code = take_ca(b, cluster, next_line(&rest));
	buf_free(&out);
	return code;
}

static enum kubectl_outcome ask(struct bootstrap *b, const struct bootstrap_cluster *cluster,
    const char *const *words, char *out, size_t size)
{
	struct buf text = buf_make(1 << 16);
	enum kubectl_outcome outcome = kubectl_run(&cluster->admin, words, nothing, &text, b->err);
	struct str all = buf_str(&text), line = next_line(&all);

	out[0] = '\0';
	if (outcome == KUBECTL_OK)
		(void)str_copy(out, size, line);
	buf_free(&text);
	return outcome;
}

static bool is_named(const struct bootstrap *b, const char *worker)
{
	for (unsigned i = 0; i < b->worker_count; i++)
		if (strcmp(b->workers[i].name, worker) == 0)
			return true;
	return false;
}

/* The rights of a hub name all of its workers: one that is not named this time would lose the
 * delivery of its token (H12) without a word. */
static enum ctl_exit judge_workers(struct bootstrap *b, const struct bootstrap_cluster *cluster)
{
	static const char *const words[] = { "get", "clusterrole", "understudy-publisher",
		"--ignore-not-found", "-o", "jsonpath={.rules[*].resourceNames[*]}", NULL };
	struct buf names = buf_make(1 << 20);
	size_t prefix = strlen(BOOTSTRAP_ACCOUNT);
	char *rest, *name;
	enum ctl_exit code = CTL_DONE;

	if (kubectl_run(&cluster->admin, words, nothing, &names, b->err) != KUBECTL_OK)
		code = bootstrap_fail(b, cluster, CTL_REFUSED);
	rest = names.data;
	while (code == CTL_DONE && !b->force && rest && (name = strsep(&rest, " \n"))) {
		if (strncmp(name, BOOTSTRAP_ACCOUNT, prefix) != 0 || !name[prefix] ||
		    is_named(b, name + prefix))
			continue;
		err_set(b->err,
		    "it serves worker %.63s, too, which no --worker names; name all workers, or "
		    "--force leaves it out",
		    name + prefix);
		code = bootstrap_fail(b, cluster, CTL_REFUSED);
	}
	buf_free(&names);
	return code;
}

static enum ctl_exit read_cluster(struct bootstrap *b, struct bootstrap_cluster *cluster)
{
	static const char *const uid[] = { "get", "namespace", "kube-system", "-o",
		"jsonpath={.metadata.uid}", NULL };
	static const char *const all[] = { "auth", "can-i", "*", "*", "--all-namespaces", NULL };
	static const char *const role[] = { "get", "hubroles.ha.kubeslice.io", "self", "-o",
		"jsonpath={.spec.role}", NULL };
	char may[16];
	enum kubectl_outcome outcome;

	if (ask(b, cluster, uid, cluster->uid, sizeof(cluster->uid)) != KUBECTL_OK)
		return bootstrap_fail(b, cluster, CTL_REFUSED);
	if (ask(b, cluster, all, may, sizeof(may)) != KUBECTL_OK || strcmp(may, "yes") != 0) {
		err_set(b->err,
		    "who context %.100s is may not do everything there (kubectl auth can-i '*' "
		    "'*'); expected an administrator of the cluster, who gives rights to others",
		    cluster->admin.context);
		return bootstrap_fail(b, cluster, CTL_REFUSED);
	}
	if (!cluster->is_hub)
		return CTL_DONE;
	outcome = ask(b, cluster, role, cluster->role, sizeof(cluster->role));
	if (outcome != KUBECTL_OK && outcome != KUBECTL_NOT_FOUND)
		return bootstrap_fail(b, cluster, CTL_REFUSED);
	if (judge_workers(b, cluster) != CTL_DONE)
		return CTL_REFUSED;
	return bootstrap_mirror_judge(b, cluster);
}

enum ctl_exit bootstrap_reach(struct bootstrap *b, unsigned i)
{
	struct bootstrap_cluster *cluster = bootstrap_cluster_at(b, i);
	enum ctl_exit code = read_context(b, cluster);

	return code == CTL_DONE ? read_cluster(b, cluster) : code;
}

/* D15: the same cluster under two names is found by its identity, not by its address. */
enum ctl_exit bootstrap_judge_uids(struct bootstrap *b)
{
	const struct bootstrap_cluster *a, *o;

	for (unsigned i = 0; (a = bootstrap_cluster_at(b, i)); i++)
		for (unsigned k = 0; k < i; k++) {
			o = bootstrap_cluster_at(b, k);
			if (!a->uid[0] || strcmp(a->uid, o->uid) != 0)
				continue;
			err_set(b->err,
			    "%s and %s are the same cluster (kube-system %s): nothing was done",
			    o->name, a->name, a->uid);
			return CTL_REFUSED;
		}
	return CTL_DONE;
}
