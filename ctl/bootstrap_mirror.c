/*
 * `bootstrap --mirror FILE` (see bootstrap.h): the map `mirror` of both hubs' configurations, read
 * by the loader's own reader, so that there is one opinion about it; whether each hub serves what
 * it lists; and whether a hub has rights for another mirror. Called by bootstrap.c and
 * bootstrap_reach.c.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/bootstrap.h"
#include "ctl/json.h"
#include "loader/config.h"

/* The rest of a hub's configuration, behind FILE: so FILE's lines are the reader's. */
static void put_rest(const struct bootstrap *b, struct buf *out)
{
	static const char *const held[] = { "elector", "publisher", "syncer", "peer-observer",
		"peer-syncer" };

	buf_printf(out, "\nmode: standby\nself: %s\nhubs:\n", b->hubs[1].name);
	for (unsigned i = 0; i < 2; i++)
		buf_printf(out, "- {name: %s, endpoint: \"https://hub\"}\n", b->hubs[i].name);
	buf_printf(out, "namespace: %s\ncredentials:\n", b->namespace);
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		buf_printf(out, "  %s: {kubeconfig: /%s}\n", held[i], held[i]);
}

/* One map and nothing beside it: what else stood there would be a key of both hubs. */
static bool is_one_map(const struct bootstrap *b, struct str text)
{
	struct yaml_tree tree = { 0 };
	const struct yaml_value *other;
	bool fine = yaml_tree_parse(&tree, text, b->mirror_file, b->err) == 0;

	if (!fine)
		return false;
	other = tree.root->first;
	while (other && str_equal(other->key, STR_LIT("mirror")))
		other = other->next;
	fine = tree.root->kind == YAML_MAP && yaml_value_at(tree.root, "mirror") && !other;
	if (!fine && other && other->key.n)
		err_set(b->err, "%s:%u: \"%.80s\" stands there; expected `mirror` and no other key",
		    b->mirror_file, other->line, other->key.p);
	else if (!fine)
		err_set(b->err,
		    "%s:1: is no map with the key `mirror`; expected that of a hub's configuration",
		    b->mirror_file);
	yaml_tree_free(&tree);
	return fine;
}

enum ctl_exit bootstrap_mirror_take(struct bootstrap *b)
{
	struct buf text = buf_make(YAML_TREE_MAX_BYTES);
	struct yaml_tree tree = { 0 };
	struct err ignored = { "" };
	enum ctl_exit code = CTL_REFUSED;
	size_t of_file;

	errno = 0;
	b->config = calloc(1, sizeof(*b->config));
	if (!b->config) {
		err_set(b->err, "out of memory");
		goto out;
	}
	if (b->mirror_file && !bootstrap_read(b->mirror_file, &text)) {
		err_set(b->err, "%s: cannot be read (%s)", b->mirror_file,
		    text.failed ? "it is larger than 1 MiB" : strerror(errno));
		goto out;
	}
	if (b->mirror_file && !is_one_map(b, buf_str(&text)))
		goto out;
	of_file = text.len;
	put_rest(b, &text);
	if (b->mirror_file && yaml_tree_parse(&tree, buf_str(&text), b->mirror_file, &ignored)) {
		err_set(b->err,
		    "%s: no other key can stand behind it; expected `mirror:` at the left "
		    "margin, its keys in lines below, and no end of a document",
		    b->mirror_file);
		goto out;
	}
	if (config_read(b->config, buf_str(&text), b->mirror_file ? b->mirror_file : "the default",
		b->err) != 0)
		goto out;
	if (b->mirror_file) {
		b->mirror_text = strndup(text.data, of_file);
		if (!b->mirror_text) {
			err_set(b->err, "out of memory");
			goto out;
		}
	}
	code = CTL_DONE;
out:
	yaml_tree_free(&tree);
	buf_free(&text);
	return code;
}

/* --- What a hub serves ------------------------------------------------------------------------ */

static const char *text_at(const struct bootstrap *b, config_text text)
{
	return config_text_at(b->config, text);
}

static json_t *resource_of(const json_t *list, const char *resource, const char *subresource)
{
	json_t *item;
	char name[160];
	size_t i;

	(void)snprintf(name, sizeof(name), "%s%s", resource, subresource);
	json_array_foreach(json_object_get(list, "resources"), i, item)
	{
		if (strcmp(member_text(item, "name"), name) == 0)
			return item;
	}
	return NULL;
}

static bool has_verbs(const json_t *resource)
{
	static const char *const verbs[] = { "get", "list", "watch", "create", "update", "delete" };

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!texts_have(json_object_get(resource, "verbs"), verbs[i]))
			return false;
	return true;
}

/* M7: what is not there yet may come; what is something else never fits. */
static enum ctl_exit judge_kind(struct bootstrap *b, const struct bootstrap_cluster *cluster,
    const struct config_kind *kind, const json_t *list)
{
	const char *group = text_at(b, kind->group), *resource = text_at(b, kind->resource);
	const json_t *found = resource_of(list, resource, "");
	char name[400];

	(void)snprintf(name, sizeof(name), "%s%s%s", resource, *group ? "." : "", group);
	if (!found) {
		bootstrap_tell(b,
		    "%s: warning: it does not serve %s in version %s: until both hubs serve one "
		    "version of it that kind is Blocked, and no hub is promoted (M7)",
		    cluster->name, name, text_at(b, kind->version));
		return CTL_DONE;
	}
	if (!json_is_true(json_object_get(found, "namespaced")))
		err_set(b->err,
		    "mirror.kinds: %s has no namespaces there; expected a kind that has (M10)",
		    name);
	else if (strcmp(member_text(found, "kind"), text_at(b, kind->kind)) != 0)
		err_set(b->err, "mirror.kinds: %s is of kind %.63s there; expected that, not %s",
		    name, member_text(found, "kind"), text_at(b, kind->kind));
	else if (!has_verbs(found))
		err_set(b->err,
		    "mirror.kinds: %s cannot be listed, watched, created, updated and deleted "
		    "there; expected a kind that can",
		    name);
	else if (kind->status && !resource_of(list, resource, "/status"))
		err_set(b->err,
		    "mirror.kinds: %s has no status subresource there; expected status: false",
		    name);
	else
		return CTL_DONE;
	return bootstrap_fail(b, cluster, CTL_REFUSED);
}

static enum ctl_exit judge_served(
    struct bootstrap *b, const struct bootstrap_cluster *cluster, const struct config_kind *kind)
{
	const char *group = text_at(b, kind->group);
	char path[400];
	const char *words[] = { "get", "--raw", path, NULL };
	struct buf text = buf_make(8 << 20);
	enum kubectl_outcome outcome;
	json_t *list;
	enum ctl_exit code;

	(void)snprintf(path, sizeof(path), "%s%s/%s", *group ? "/apis/" : "/api", group,
	    text_at(b, kind->version));
	b->err->text[0] = '\0';
	outcome = kubectl_run(&cluster->admin, words, (struct str){ NULL, 0 }, &text, b->err);
	list = outcome == KUBECTL_OK ? json_loadb(text.data, text.len, 0, NULL) : NULL;
	if (outcome == KUBECTL_OK && !json_is_array(json_object_get(list, "resources")))
		err_set(b->err, "%s: its list of kinds cannot be read", path);
	if (outcome == KUBECTL_NOT_FOUND)
		b->err->text[0] = '\0';
	code = b->err->text[0] ? bootstrap_fail(b, cluster, CTL_REFUSED)
			       : judge_kind(b, cluster, kind, list);
	json_decref(list);
	buf_free(&text);
	return code;
}

/* The rights of another mirror would go without a word. */
static enum ctl_exit judge_note(struct bootstrap *b, const struct bootstrap_cluster *cluster)
{
	static const char *const words[] = { "get", "clusterrole", "understudy-syncer",
		"--ignore-not-found", "-o",
		"jsonpath={.metadata.annotations.ha\\.kubeslice\\.io/mirror}", NULL };
	struct buf note = buf_make(1 << 16);
	enum ctl_exit code = CTL_DONE;

	if (kubectl_run(&cluster->admin, words, (struct str){ NULL, 0 }, &note, b->err) !=
	    KUBECTL_OK) {
		code = bootstrap_fail(b, cluster, CTL_REFUSED);
	} else if (note.len && !b->force) {
		err_set(b->err,
		    "it has the rights of a mirror that no --mirror names: %.300s; expected "
		    "--mirror "
		    "FILE, or --force, which takes it back to the set kubeslice",
		    note.data);
		code = bootstrap_fail(b, cluster, CTL_REFUSED);
	}
	buf_free(&note);
	return code;
}

enum ctl_exit bootstrap_mirror_judge(struct bootstrap *b, const struct bootstrap_cluster *cluster)
{
	enum ctl_exit code = CTL_DONE;

	if (b->renew || b->remove)
		return CTL_DONE;
	if (!b->mirror_file)
		return judge_note(b, cluster);
	for (unsigned i = 0; i < b->config->kind_count && code == CTL_DONE; i++)
		code = judge_served(b, cluster, &b->config->kinds[i]);
	return code;
}
