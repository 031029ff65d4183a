/*
 * What bootstrap did, for a program (see bootstrap.h): docs/answers.schema.json. No token is in it,
 * only where each lies. Called by bootstrap.c.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/answer.h"
#include "ctl/bootstrap.h"

static json_t *text_or_null(const char *text)
{
	return text && text[0] ? answer_text(text) : json_null();
}

static json_t *clusters_of(struct bootstrap *b)
{
	const struct bootstrap_cluster *cluster;
	json_t *list = json_array();

	for (unsigned i = 0; (cluster = bootstrap_cluster_at(b, i)); i++)
		json_array_append_new(
		    list, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", cluster->name,
			      "kind", cluster->is_hub ? "hub" : "worker", "context",
			      answer_text(cluster->admin.context), "server",
			      text_or_null(cluster->server), "uid", text_or_null(cluster->uid),
			      "hubRole", text_or_null(cluster->role), "projectNamespace",
			      text_or_null(cluster->project)));
	return list;
}

static json_t *credential_of(const struct bootstrap *b, unsigned i)
{
	static const char *const states[] = { "not reached", "none yet", "kept", "made" };
	const struct bootstrap_result *result = &b->results[i];
	struct bootstrap_identity identity;
	char path[1024];

	if (!bootstrap_identity_at(b, i, &identity)) {
		const struct bootstrap_cluster *worker =
		    &b->workers[i + b->worker_count - bootstrap_credential_count(b)];

		identity = (struct bootstrap_identity){ .at = &b->hubs[0], .held_by = worker };
		(void)snprintf(identity.account, sizeof(identity.account),
		    BOOTSTRAP_ACCOUNT "%.40s", worker->name);
		(void)snprintf(identity.file, sizeof(identity.file), "credentials/hub-a.token");
	}
	bootstrap_path(b, identity.held_by, identity.file, path);
	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o}", "machine", identity.held_by->name,
	    "cluster", identity.at->name, "account", identity.account, "file", answer_text(path),
	    "state", states[result->state], "expires",
	    text_or_null(result->state == BOOTSTRAP_MADE ? result->expires : ""));
}

static json_t *credentials_of(const struct bootstrap *b)
{
	json_t *list = json_array();
	unsigned count = b->dry_run || b->remove ? 0 : bootstrap_credential_count(b);

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(list, credential_of(b, i));
	return list;
}

/* In the order in which they are applied to a cluster. */
static json_t *manifests_of(struct bootstrap *b, enum ctl_exit code)
{
	const struct bootstrap_cluster *cluster;
	json_t *list = json_array();

	for (unsigned i = 0;
	     code == CTL_DONE && b->dry_run && (cluster = bootstrap_cluster_at(b, i)); i++)
		for (unsigned part = PART_FIRST; part < PART_COUNT; part++) {
			struct buf text = buf_make(1 << 20);

			bootstrap_manifest(b, cluster, (enum bootstrap_part)part, &text);
			if (text.len)
				json_array_append_new(
				    list, json_pack("{s:s, s:i, s:s}", "cluster", cluster->name,
					      "step", (int)part + 1, "yaml", text.data));
			buf_free(&text);
		}
	return list;
}

static json_t *lines_of(const struct buf *said)
{
	json_t *list = json_array();
	const char *at = said->data ? said->data : "";

	while (*at) {
		size_t n = strcspn(at, "\n");

		json_array_append_new(list, json_stringn(at, n));
		at += n + (at[n] == '\n');
	}
	return list;
}

enum ctl_exit bootstrap_answer(
    struct bootstrap *b, enum ctl_exit code, const struct buf *said, struct buf *out)
{
	const char *action = b->dry_run  ? "dry-run"
			     : b->renew  ? "renew"
			     : b->remove ? "remove"
					 : "install";

	return answer_put(out, code,
	    code != CTL_DONE ? b->err->text
	    : b->dry_run     ? "nothing was asked or changed"
			     : "done",
	    json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "action", action, "namespace",
		b->namespace, "folder", text_or_null(b->out), "clusters", clusters_of(b),
		"credentials", credentials_of(b), "manifests", manifests_of(b, code), "said",
		lines_of(said)));
}
