/*
 * What a cluster gets, in the one order in which nobody has a right before the policy that bounds
 * it is in force (C2), and the way back in the reverse order. Called by bootstrap.c.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/bootstrap.h"
#include "ctl/json.h"
#include "ctl/manifests.h"

#define PATIENCE_S 60
#define CONDITION  "understudy-not-the-syncer"

/* --- Applying --------------------------------------------------------------------------------- */

static void pause_a_moment(void)
{
	const struct timespec moment = { 0, 200000000 };

	(void)nanosleep(&moment, NULL);
}

static bool is_over(time_t begun)
{
	return time(NULL) - begun > PATIENCE_S;
}

static enum kubectl_outcome run(struct bootstrap *b, const struct bootstrap_cluster *cluster,
    const char *const *words, struct str input, struct buf *out)
{
	struct buf none = buf_make(4 << 20);
	enum kubectl_outcome outcome;

	b->err->text[0] = '\0';
	outcome = kubectl_run(&cluster->admin, words, input, out ? out : &none, b->err);
	buf_free(&none);
	return outcome;
}

/* What did not come back may have been done: it is done again by the next run, not by this one. */
static enum ctl_exit exit_of(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, enum kubectl_outcome outcome)
{
	return outcome == KUBECTL_OK ? CTL_DONE
				     : bootstrap_fail(b, cluster, kubectl_exit(outcome, true));
}

static enum ctl_exit apply(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, enum bootstrap_part part)
{
	static const char *const words[] = { "apply", "--server-side", "--force-conflicts",
		"--field-manager=understudyctl", "-f", "-", NULL };
	struct buf text = buf_make(1 << 20);
	time_t begun = time(NULL);
	enum kubectl_outcome outcome;

	bootstrap_manifest(b, cluster, part, &text);
	/* An API server that was just started has its policies before it knows the kind of their
	 * parameter, and refuses everything for up to half a minute. */
	while ((outcome = run(b, cluster, words, buf_str(&text), NULL)) != KUBECTL_OK &&
	       strstr(b->err->text, "failed to configure policy") && !is_over(begun))
		pause_a_moment();
	buf_free(&text);
	return exit_of(b, cluster, outcome);
}

/* Only where there is none: its role is the elector's. The kind may be a moment younger than us. */
static enum ctl_exit create_role(struct bootstrap *b, const struct bootstrap_cluster *cluster)
{
	static const char *const words[] = { "create", "-f", "-", NULL };
	enum kubectl_outcome outcome;
	time_t begun = time(NULL);

	do {
		outcome = run(b, cluster, words, str_of(bootstrap_hub_role), NULL);
		if (outcome == KUBECTL_OK || outcome == KUBECTL_EXISTS)
			return CTL_DONE;
		pause_a_moment();
	} while (!is_over(begun));
	return exit_of(b, cluster, outcome);
}

/* --- Policies in force ------------------------------------------------------------------------ */

/* A write that the cluster must refuse by a policy of ours; nothing of it is kept. */
struct probe {
	const char *word, *text, *as; /* as: an account of N, NULL: the administrator */
};
static const struct probe fence = { "UNDERSTUDY_FENCE",
	"apiVersion: v1\nkind: Namespace\n"
	"metadata: {name: understudy-probe, labels: {{LABELS}}}\n",
	NULL };
/* On a hub that leads the fence refuses nobody, but the publisher opens no namespace that is not
 * mirrored. */
static const struct probe binding = { "UNDERSTUDY_BINDING",
	"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n"
	"metadata: {name: understudy-probe, namespace: default}\n"
	"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "
	"understudy-mirror-secrets-read}\n",
	"understudy-publisher" };
static const struct probe identity = { "UNDERSTUDY_IDENTITY",
	"apiVersion: ha.kubeslice.io/v1alpha1\nkind: ClusterController\nmetadata: {name: active}\n"
	"spec: {endpoint: \"https://nobody\", identity: nobody, term: 1}\n",
	NULL };

/* With all rights: the account has none of its own where no Secret is mirrored. */
static bool is_refused(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, const struct probe *probe)
{
	char as[160];
	const char *words[] = { "create", "--dry-run=server", "--validate=false", "-f", "-",
		probe->as ? as : NULL, "--as-group=system:masters", NULL };
	struct buf text = buf_make(4096);
	bool refused;

	(void)snprintf(as, sizeof(as), "--as=system:serviceaccount:%s:%s", b->namespace,
	    probe->as ? probe->as : "");
	bootstrap_fill(b, probe->text, &text);
	refused = run(b, cluster, words, buf_str(&text), NULL) != KUBECTL_OK &&
		  strstr(b->err->text, probe->word);
	buf_free(&text);
	return refused;
}

static bool leads(struct bootstrap *b, const struct bootstrap_cluster *cluster)
{
	static const char *const words[] = { "get", "hubroles.ha.kubeslice.io", "self", "-o",
		"jsonpath={.spec.role}", NULL };
	struct buf role = buf_make(256);
	bool leading = run(b, cluster, words, (struct str){ NULL, 0 }, &role) == KUBECTL_OK &&
		       str_equal(buf_str(&role), STR_LIT("Leading"));

	buf_free(&role);
	return leading;
}

static enum ctl_exit await_policies(struct bootstrap *b, const struct bootstrap_cluster *cluster)
{
	struct err said;
	bool leading = strcmp(cluster->role, "Leading") == 0;
	time_t begun = time(NULL);

	for (;;) {
		const struct probe *probe = !cluster->is_hub ? &identity
					    : leading        ? &binding
							     : &fence;

		if (is_refused(b, cluster, probe))
			return CTL_DONE;
		said = *b->err;
		leading = cluster->is_hub && leads(b, cluster);
		if (is_over(begun)) {
			err_set(b->err,
			    "a dry run that policy %s must refuse is not refused after %d s "
			    "(%.200s); "
			    "nobody got a right; expected: ValidatingAdmissionPolicy v1, and a "
			    "caller who is not in group understudy:break-glass",
			    probe->word, PATIENCE_S, said.text[0] ? said.text : "it was accepted");
			return bootstrap_fail(b, cluster, CTL_REFUSED);
		}
		pause_a_moment();
	}
}

/* --- KubeSlice's webhooks (H5) ---------------------------------------------------------------- */

static bool is_of_kubeslice(const json_t *webhook)
{
	const json_t *rule;
	size_t i;

	json_array_foreach(json_object_get(webhook, "rules"), i, rule)
	{
		const json_t *groups = json_object_get(rule, "apiGroups");

		if (texts_have(groups, "controller.kubeslice.io") ||
		    texts_have(groups, "worker.kubeslice.io"))
			return true;
	}
	return false;
}

bool bootstrap_exempt(json_t *configuration, const char *namespace, bool out)
{
	bool changed = false;
	json_t *webhook, *condition;
	char expression[200];
	size_t i, k;

	(void)snprintf(expression, sizeof(expression),
	    "request.userInfo.username != 'system:serviceaccount:%s:understudy-syncer'", namespace);
	json_array_foreach(json_object_get(configuration, "webhooks"), i, webhook)
	{
		json_t *conditions = json_object_get(webhook, "matchConditions");
		bool there = false;

		if (!is_of_kubeslice(webhook))
			continue;
		for (k = json_array_size(conditions); k-- > 0;) {
			condition = json_array_get(conditions, k);
			if (strcmp(member_text(condition, "name"), CONDITION) != 0)
				continue;
			there =
			    !out && strcmp(member_text(condition, "expression"), expression) == 0;
			if (!there) {
				json_array_remove(conditions, k);
				changed = true;
			}
		}
		if (there || out)
			continue;
		if (!conditions) {
			conditions = json_array();
			json_object_set_new(webhook, "matchConditions", conditions);
		}
		json_array_append_new(conditions,
		    json_pack("{s:s, s:s}", "name", CONDITION, "expression", expression));
		changed = true;
	}
	return changed;
}

/* With the version that was read: what somebody else writes meanwhile is not lost. */
static enum kubectl_outcome replace(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, const json_t *configuration)
{
	static const char *const words[] = { "replace", "-f", "-", NULL };
	char *text = json_dumps(configuration, JSON_COMPACT);
	enum kubectl_outcome outcome = run(b, cluster, words, str_of(text), NULL);

	free(text);
	return outcome;
}

static enum ctl_exit exempt_syncer(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, bool out)
{
	static const char *const words[] = { "get",
		"validatingwebhookconfigurations,mutatingwebhookconfigurations", "-o", "json",
		NULL };
	struct buf text = buf_make(16 << 20);
	enum kubectl_outcome outcome;
	json_t *list, *item;
	size_t i;

	outcome = run(b, cluster, words, (struct str){ NULL, 0 }, &text);
	list = outcome == KUBECTL_OK ? json_loadb(text.data, text.len, 0, NULL) : NULL;
	buf_free(&text);
	if (outcome == KUBECTL_OK && !json_is_array(json_object_get(list, "items"))) {
		err_set(b->err, "the list of webhook configurations cannot be read");
		outcome = KUBECTL_REFUSED;
	}
	json_array_foreach(json_object_get(list, "items"), i, item)
	{
		if (outcome != KUBECTL_OK || !bootstrap_exempt(item, b->namespace, out))
			continue;
		outcome = replace(b, cluster, item);
		if (outcome == KUBECTL_OK)
			bootstrap_tell(b, "%s: %s %s the mirror's copies", cluster->name,
			    member_text(json_object_get(item, "metadata"), "name"),
			    out ? "judges again" : "does not judge");
	}
	json_decref(list);
	return exit_of(b, cluster, outcome);
}

/* --- Bindings in mirrored namespaces ---------------------------------------------------------- */

/* What syncer and publisher made in mirrored namespaces. The fence guards it until the API server
 * has noticed that its policy is gone; without their ClusterRoles they are no rights any more. */
static enum kubectl_outcome delete_bindings_in(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, const char *namespace)
{
	const char *words[] = { "delete", "rolebinding", "-n", namespace, "--ignore-not-found",
		"understudy-mirror-secrets", "understudy-mirror-read", NULL };
	time_t begun = time(NULL);
	enum kubectl_outcome outcome;

	for (;;) {
		outcome = run(b, cluster, words, (struct str){ NULL, 0 }, NULL);
		if (outcome == KUBECTL_OK || !strstr(b->err->text, fence.word) || is_over(begun))
			return outcome;
		pause_a_moment();
	}
}

static enum kubectl_outcome list_names(struct bootstrap *b, const struct bootstrap_cluster *cluster,
    const char *const *words, struct buf *names)
{
	buf_clear(names);
	return run(b, cluster, words, (struct str){ NULL, 0 }, names);
}

/* A line of a list. */
static bool is_in(const struct buf *names, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = names->data; at && (at = strstr(at, name)); at += n)
		if ((at == names->data || at[-1] == '\n') && at[n] == '\n')
			return true;
	return false;
}

/* all: everywhere; else where nothing is mirrored (any more), so that another label narrows the
 * rights that the first one gave. */
static enum ctl_exit delete_bindings(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, bool all)
{
	static const char *const fields[] = { "metadata.name=understudy-mirror-secrets",
		"metadata.name=understudy-mirror-read" };
	char label[400];
	const char *mirrored_words[] = { "get", "namespaces", "-l", label, "-o",
		"jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{end}", NULL };
	struct buf mirrored = buf_make(1 << 20), names = buf_make(1 << 20);
	enum kubectl_outcome outcome = KUBECTL_OK;

	(void)snprintf(label, sizeof(label), "%s=%s",
	    config_text_at(b->config, b->config->mirror_label.key),
	    config_text_at(b->config, b->config->mirror_label.value));
	if (!all)
		outcome = list_names(b, cluster, mirrored_words, &mirrored);
	for (unsigned i = 0; i < 2 && outcome == KUBECTL_OK; i++) {
		const char *words[] = { "get", "rolebindings", "-A", "--field-selector", fields[i],
			"-o", "jsonpath={range .items[*]}{.metadata.namespace}{\"\\n\"}{end}",
			NULL };
		char *rest, *name;

		outcome = list_names(b, cluster, words, &names);
		rest = names.data;
		while (outcome == KUBECTL_OK && rest && (name = strsep(&rest, "\n")) && *name)
			if (!is_in(&mirrored, name))
				outcome = delete_bindings_in(b, cluster, name);
	}
	buf_free(&mirrored);
	buf_free(&names);
	return exit_of(b, cluster, outcome);
}

enum ctl_exit bootstrap_apply(struct bootstrap *b, unsigned i)
{
	const struct bootstrap_cluster *cluster = bootstrap_cluster_at(b, i);
	enum ctl_exit code = apply(b, cluster, PART_FIRST);

	if (code == CTL_DONE && cluster->is_hub)
		code = create_role(b, cluster);
	if (code == CTL_DONE)
		code = apply(b, cluster, PART_ADMISSION);
	if (code == CTL_DONE)
		code = await_policies(b, cluster);
	if (code == CTL_DONE)
		code = apply(b, cluster, PART_RIGHTS);
	if (code == CTL_DONE && cluster->is_hub)
		code = delete_bindings(b, cluster, false);
	if (code == CTL_DONE && cluster->is_hub)
		code = exempt_syncer(b, cluster, false);
	if (code == CTL_DONE)
		bootstrap_tell(
		    b, "%s: policies are in force, accounts have their rights", cluster->name);
	return code;
}

/* --- The way back ----------------------------------------------------------------------------- */

static enum ctl_exit delete_part(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, const char *text)
{
	static const char *const words[] = { "delete", "--ignore-not-found", "--wait=false", "-f",
		"-", NULL };

	return exit_of(b, cluster, run(b, cluster, words, str_of(text), NULL));
}

/* Rights go before the policies that bound them, and kinds last: with them go their objects. */
enum ctl_exit bootstrap_remove(struct bootstrap *b, unsigned i)
{
	const struct bootstrap_cluster *cluster = bootstrap_cluster_at(b, i);
	const char *leases[] = { "delete", "leases.coordination.k8s.io", "-n", b->namespace,
		"--ignore-not-found", "kubeslice-controller-ha", "kubeslice-controller-ha-peer",
		NULL };
	static const enum bootstrap_part parts[] = { PART_RIGHTS, PART_ADMISSION };
	enum ctl_exit code = cluster->is_hub ? exempt_syncer(b, cluster, true) : CTL_DONE;

	for (unsigned k = 0; k < 2 && code == CTL_DONE; k++) {
		struct buf text = buf_make(1 << 20);

		bootstrap_manifest(b, cluster, parts[k], &text);
		code = delete_part(b, cluster, text.data);
		buf_free(&text);
	}
	if (code == CTL_DONE && cluster->is_hub)
		code = delete_bindings(b, cluster, true);
	if (code == CTL_DONE)
		code = delete_part(
		    b, cluster, cluster->is_hub ? manifest_crds_hub : manifest_crds_worker);
	if (code == CTL_DONE && cluster->is_hub)
		code = exit_of(b, cluster, run(b, cluster, leases, (struct str){ NULL, 0 }, NULL));
	if (code == CTL_DONE)
		bootstrap_tell(
		    b, "%s: nothing of understudy is left but its namespace", cluster->name);
	return code;
}
