/*
 * `status` and `history` of a hub by its records (see the header). Nothing here says that a hub
 * leads: a Lease that ran out says that it does not. Called by commands.c.
 */
#include "ctl/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/answer.h"
#include "ctl/json.h"
#include "ctl/kubectl.h"
#include "ctl/show.h"
#include "kube/lease.h"

#define SHOWN 8

struct words {
	struct kubectl hub;
	const char *namespace, *format;
	bool as_json;
};

bool records_are_meant(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--kubeconfig") == 0 || strcmp(argv[i], "--context") == 0)
			return true;
	return false;
}

static enum ctl_exit parse(int argc, char **argv, struct words *words, struct err *err)
{
	*words = (struct words){ .namespace = DEFAULT_NAMESPACE };
	for (int i = 1; i < argc; i++) {
		const char **value = strcmp(argv[i], "--kubeconfig") == 0  ? &words->hub.kubeconfig
				     : strcmp(argv[i], "--context") == 0   ? &words->hub.context
				     : strcmp(argv[i], "--namespace") == 0 ? &words->namespace
				     : strcmp(argv[i], "-o") == 0          ? &words->format
									   : NULL;

		if (!value)
			return command_misused(
			    err, argv[0], "with --context nobody is asked for this: ", argv[i]);
		if (i + 1 == argc || !argv[i + 1][0] || argv[i + 1][0] == '-')
			return command_misused(err, argv[0], "this needs a value: ", argv[i]);
		*value = argv[++i];
	}
	if (words->format && !answer_format(words->format, &words->as_json))
		return command_misused(err, argv[0], "-o takes json or text", "");
	return CTL_DONE;
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* NULL with an outcome: it could not be asked. JSON null: there is none. */
static json_t *get(
    const struct kubectl *hub, const char *const *words, enum ctl_exit *code, struct err *err)
{
	struct buf out = buf_make(4 << 20);
	enum kubectl_outcome outcome = kubectl_run(hub, words, (struct str){ 0 }, &out, err);
	json_t *object = NULL;

	if (outcome == KUBECTL_NOT_FOUND || (outcome == KUBECTL_OK && out.len == 0)) {
		object = json_null();
	} else if (outcome == KUBECTL_OK) {
		object = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
		json_object_del(json_object_get(object, "metadata"), "managedFields");
		if (!object)
			err_set(err, "what kubectl printed is no JSON");
	}
	if (!object)
		*code = CTL_REFUSED;
	buf_free(&out);
	return object;
}

static json_t *read_records(const struct words *words, enum ctl_exit *code, struct err *err)
{
	static const char *const keys[] = { "hubRole", "lease", "peer" };
	const char *const asked[][8] = {
		{ "get", "hubroles.ha.kubeslice.io", "self", "-o", "json", "--ignore-not-found",
		    NULL },
		{ "get", "leases.coordination.k8s.io", KUBE_LEASE_NAME, "-n", words->namespace,
		    "-o", "json", "--ignore-not-found" },
		{ "get", "leases.coordination.k8s.io", KUBE_LEASE_PEER_NAME, "-n", words->namespace,
		    "-o", "json", "--ignore-not-found" },
	};
	json_t *records = json_object();

	for (unsigned i = 0; i < 3 && *code == CTL_DONE; i++) {
		const char *argv[9] = { NULL };

		memcpy(argv, asked[i], sizeof(asked[i]));
		json_object_set_new(records, keys[i], get(&words->hub, argv, code, err));
	}
	if (*code == CTL_DONE && json_is_null(json_object_get(records, "hubRole")) &&
	    json_is_null(json_object_get(records, "lease"))) {
		err_set(err,
		    "there is neither HubRole self nor Lease %s in %s: no understudyd has run for "
		    "this cluster",
		    KUBE_LEASE_NAME, words->namespace);
		*code = CTL_REFUSED;
	}
	return records;
}

/* --- Showing ---------------------------------------------------------------------------------- */

static const char *mark(const json_t *object, const char *key)
{
	const char *text =
	    member_text(json_object_get(json_object_get(object, "metadata"), "annotations"), key);

	return text[0] ? text : "none";
}

static void put_label(struct buf *out, const char *label)
{
	buf_printf(out, "  %-14s", label);
}

static void put_mark(struct buf *out, const char *before, const json_t *object, const char *name)
{
	buf_puts(out, before);
	show_text(out, mark(object, name));
}

/* Its clock and this one's may differ: the time stands there, too. */
static void put_lease(const json_t *lease, long long now_us, struct buf *out)
{
	const json_t *spec = json_object_get(lease, "spec");
	const char *holder = member_text(spec, "holderIdentity");
	const char *renewed = member_text(spec, "renewTime");
	long long duration_s = member_number(spec, "leaseDurationSeconds");
	int64_t renewed_us = 0;

	put_label(out, "Lease");
	if (!json_is_object(lease)) {
		buf_puts(out, "none there: name understudy's namespace by --namespace\n");
		return;
	}
	buf_puts(out, "holder ");
	show_text(out, holder[0] ? holder : "none");
	put_mark(out, ", phase ", lease, MARK("phase"));
	put_mark(out, ", term ", lease, MARK("term"));
	put_mark(out, ", led term ", lease, MARK("led-term"));
	buf_puts(out, "\n");
	put_label(out, "renewed");
	if (!renewed[0] || kube_time_parse(renewed, &renewed_us) != 0) {
		buf_puts(out, "never\n");
		return;
	}
	show_text(out, renewed);
	buf_printf(out, ", %lld s ago by this machine's clock, for %lld s: %s\n",
	    (now_us - renewed_us) / 1000000, duration_s,
	    !holder[0]                                   ? "nobody holds it"
	    : now_us - renewed_us > duration_s * 1000000 ? "it ran out, nobody leads by it"
							 : "it has not run out");
}

static void put_peer(const json_t *peer, struct buf *out)
{
	json_t *mirror = json_loads(mark(peer, MARK("mirror")), JSON_REJECT_DUPLICATES, NULL);

	put_label(out, "its peer");
	if (!json_is_object(peer)) {
		buf_puts(out, "never seen\n");
	} else {
		put_mark(out, "", peer, MARK("peer-identity"));
		put_mark(out, ", term ", peer, MARK("peer-term"));
		put_mark(out, ", led term ", peer, MARK("peer-led-term"));
		put_mark(out, ", last seen ", peer, MARK("seen-at"));
		buf_puts(out, "\n");
	}
	if (json_is_object(mirror)) {
		put_label(out, "mirror");
		buf_printf(out, "%s for the peer's term %lld\n",
		    member_true(mirror, "complete") ? "complete" : "NOT complete",
		    member_number(mirror, "sourceTerm"));
	}
	json_decref(mirror);
}

/* As the status document has it: the newest first. */
static json_t *history_of(const json_t *records)
{
	const json_t *history = json_object_get(
	    json_object_get(json_object_get(records, "hubRole"), "status"), "history");
	json_t *list = json_array();

	for (size_t i = json_array_size(history); i-- > 0;)
		json_array_append(list, json_array_get(history, i));
	return list;
}

void records_show(const json_t *records, long long now_us, struct buf *out)
{
	const json_t *role = json_object_get(records, "hubRole");
	json_t *history = history_of(records), *document;

	buf_puts(out, "by its API server; no understudyd was asked\n");
	put_label(out, "HubRole");
	if (json_is_object(role)) {
		show_text(out, member_text(json_object_get(role, "spec"), "role"));
		buf_printf(
		    out, ", term %lld\n", member_number(json_object_get(role, "spec"), "term"));
	} else {
		buf_puts(out, "none\n");
	}
	put_lease(json_object_get(records, "lease"), now_us, out);
	put_peer(json_object_get(records, "peer"), out);
	while (json_array_size(history) > SHOWN)
		json_array_remove(history, SHOWN);
	if (json_array_size(history))
		buf_puts(out, "\nLAST TRANSITIONS\n");
	document = json_pack("{s:o}", "history", history);
	show_history(document, out);
	json_decref(document);
}

enum ctl_exit records_command(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	bool history = strcmp(argv[0], "history") == 0;
	struct timespec now = { 0 };
	struct words words;
	enum ctl_exit code = parse(argc, argv, &words, err);
	json_t *records, *document;

	(void)options;
	if (code != CTL_DONE)
		return code;
	records = read_records(&words, &code, err);
	document = json_pack("{s:o}", "history", history_of(records));
	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (code == CTL_DONE && words.as_json)
		answer_document(out, history ? json_object_get(document, "history") : records);
	else if (code == CTL_DONE && history)
		show_history(document, out);
	else if (code == CTL_DONE)
		records_show(records, now.tv_sec * 1000000LL + now.tv_nsec / 1000, out);
	json_decref(document);
	json_decref(records);
	return code;
}
