/*
 * What must be equal, and what must not, in the configurations of machines that work together (see
 * the header). What only the clusters can say, their identities, the pair checks at its start
 * (H14). No I/O. Called by supervisor/main.c.
 */
#include "policy/config_pair.h"

#include <string.h>

#include "policy/config_mirror.h"
#include "policy/kinds.h"

struct two {
	const struct us_config *own, *other;
	struct buf *out;
	unsigned faults;
};

static const char *own(const struct two *two, config_text text)
{
	return config_text_at(two->own, text);
}

static const char *other(const struct two *two, config_text text)
{
	return config_text_at(two->other, text);
}

/* One line; the values are names and addresses of checked configurations. */
static void fault(
    struct two *two, const char *key, const char *a, const char *b, const char *expected)
{
	buf_printf(two->out, "%s: %s here, %s there; expected %s\n", key, a[0] ? a : "none",
	    b[0] ? b : "none", expected);
	two->faults++;
}

static void compare(
    struct two *two, const char *key, config_text a, config_text b, const char *expected)
{
	if (strcmp(own(two, a), other(two, b)) != 0)
		fault(two, key, own(two, a), other(two, b), expected);
}

/* C7: the place in the list is what a hub's terms come from. */
static void compare_hubs(struct two *two)
{
	unsigned count = two->own->hub_count < two->other->hub_count ? two->own->hub_count
								     : two->other->hub_count;

	if (two->own->hub_count != two->other->hub_count)
		fault(two, "hubs", two->own->hub_count == 1 ? "one" : "two",
		    two->other->hub_count == 1 ? "one" : "two", "the same list");
	for (unsigned i = 0; i < count; i++) {
		const struct config_hub *a = &two->own->hubs[i], *b = &two->other->hubs[i];

		compare(two, i ? "hubs[1].name" : "hubs[0].name", a->name, b->name,
		    "the same list in the same order (C7)");
		compare(two, i ? "hubs[1].endpoint" : "hubs[0].endpoint", a->endpoint, b->endpoint,
		    "one address for all machines");
	}
}

static bool is_hub(const struct us_config *config)
{
	return config->mode == CONFIG_ACTIVE || config->mode == CONFIG_STANDBY;
}

static const char *mode_name(const struct us_config *config)
{
	static const char *const names[CONFIG_MODE_COUNT] = { "standalone", "active", "standby",
		"replicas", "follower" };

	return names[config->mode];
}

/* H17: the silence that one waits for must be longer than the other's leadership can last. */
static void compare_times(
    struct two *two, const struct us_config *waits, const struct us_config *leads, const char *key)
{
	uint64_t threshold_ms = (uint64_t)leads->lease_duration_ms + waits->padding_ms;

	if (threshold_ms * 2 >= (uint64_t)leads->renew_deadline_ms * 3)
		return;
	buf_printf(two->out,
	    "%s: lease.duration %u ms of the one and lease.padding %u ms of the other are together "
	    "less than 1.5 x lease.renew-deadline %u ms; expected at least that (H17)\n",
	    key, leads->lease_duration_ms, waits->padding_ms, leads->renew_deadline_ms);
	two->faults++;
}

static const struct config_worker *find(
    const struct us_config *in, const struct us_config *of, config_text name)
{
	for (unsigned i = 0; i < in->worker_count; i++)
		if (strcmp(config_text_at(in, in->workers[i].name), config_text_at(of, name)) == 0)
			return &in->workers[i];
	return NULL;
}

static void compare_workers(struct two *two)
{
	for (unsigned i = 0; i < two->own->worker_count; i++) {
		const struct config_worker *a = &two->own->workers[i];
		const struct config_worker *b = find(two->other, two->own, a->name);

		if (!b)
			fault(
			    two, "workers", own(two, a->name), "", "the same workers on both hubs");
		else
			compare(two, "workers[].project-namespace", a->project_namespace,
			    b->project_namespace, "one namespace on both hubs");
	}
	for (unsigned i = 0; i < two->other->worker_count; i++)
		if (!find(two->own, two->other, two->other->workers[i].name))
			fault(two, "workers", "", other(two, two->other->workers[i].name),
			    "the same workers on both hubs");
}

static void put_kinds(const struct us_config *config, struct buf *out)
{
	for (unsigned i = 0; i < config->kind_count; i++) {
		buf_puts(out, i ? "; " : "");
		config_put_kind(config, &config->kinds[i], out);
	}
}

static void put_skips(const struct us_config *config, struct buf *out)
{
	for (unsigned i = 0; i < config->skip_count; i++) {
		buf_puts(out, i ? "; " : "");
		config_put_skip(config, &config->skips[i], out);
	}
}

static void put_label(const struct us_config *config, struct buf *out)
{
	config_put_label(config, &config->mirror_label, out);
}

static void fault_of(struct two *two, const char *key,
    void put(const struct us_config *, struct buf *), const char *expected)
{
	struct buf here = buf_make(65536), there = buf_make(65536);

	put(two->own, &here);
	put(two->other, &there);
	fault(two, key, here.data ? here.data : "", there.data ? there.data : "", expected);
	buf_free(&here);
	buf_free(&there);
}

/* What the one takes for a copy, the other must have given to be copied. */
static void compare_mirror(struct two *two)
{
	if (two->own->mirror_set != two->other->mirror_set)
		fault(two, "mirror.set", two->own->mirror_set ? "none" : "kubeslice",
		    two->other->mirror_set ? "none" : "kubeslice", "the same on both hubs");
	if (!config_same_label(two->own, two->other))
		fault_of(two, "mirror.namespaces", put_label, "the same on both hubs");
	if (!config_same_kinds(two->own, two->other))
		fault_of(two, "mirror.kinds", put_kinds, "the same list on both hubs");
	if (!config_same_skips(two->own, two->other))
		fault_of(two, "mirror.skip", put_skips, "the same list on both hubs");
}

static void compare_hub_pair(struct two *two)
{
	if (two->own->self == two->other->self)
		fault(two, "self", own(two, two->own->self_name), other(two, two->other->self_name),
		    "each hub once (H14)");
	if (two->own->mode == CONFIG_ACTIVE && two->other->mode == CONFIG_ACTIVE)
		fault(two, "mode", "active", "active", "standby on one of them");
	compare_mirror(two);
	compare_times(two, two->own, two->other, "lease, when this hub waits");
	compare_times(two, two->other, two->own, "lease, when the other hub waits");
	compare_workers(two);
}

/* hub, worker: in whichever order they were given. */
static void compare_follower(
    struct two *two, const struct us_config *hub, const struct us_config *worker)
{
	const struct config_worker *listed = find(hub, worker, worker->self_name);
	const char *space = config_text_at(worker, worker->follower.project_namespace);

	if (!listed)
		fault(two, "workers",
		    hub == two->own ? "" : config_text_at(worker, worker->self_name),
		    hub == two->own ? config_text_at(worker, worker->self_name) : "",
		    "the worker among the workers of the hub");
	else if (strcmp(config_text_at(hub, listed->project_namespace), space) != 0)
		fault(two, "project-namespace",
		    hub == two->own ? config_text_at(hub, listed->project_namespace) : space,
		    hub == two->own ? space : config_text_at(hub, listed->project_namespace),
		    "one namespace on hub and worker");
}

/* --- By phone ----------------------------------------------------------------------------------
 */

#define FNV_OFFSET 14695981039346656037ULL
#define FNV_PRIME  1099511628211ULL

/* With its end, so that no two lists of texts are one text. */
static uint64_t add_text(uint64_t hash, const struct us_config *config, config_text text)
{
	const char *byte = config_text_at(config, text);

	do
		hash = (hash ^ (unsigned char)*byte) * FNV_PRIME;
	while (*byte++);
	return hash;
}

static uint64_t add_written(
    uint64_t hash, const struct us_config *config, void put(const struct us_config *, struct buf *))
{
	struct buf text = buf_make(65536);

	put(config, &text);
	for (const char *byte = text.data ? text.data : ""; *byte; byte++)
		hash = (hash ^ (unsigned char)*byte) * FNV_PRIME;
	buf_free(&text);
	return hash * FNV_PRIME;
}

uint64_t config_pair_hash(const struct us_config *config)
{
	uint64_t hash = FNV_OFFSET, workers = 0;

	if (!is_hub(config))
		return 0;
	for (unsigned i = 0; i < config->hub_count; i++) {
		hash = add_text(hash, config, config->hubs[i].name);
		hash = add_text(hash, config, config->hubs[i].endpoint);
	}
	hash = add_text(hash, config, config->namespace);
	/* Their order is each hub's own. */
	for (unsigned i = 0; i < config->worker_count; i++)
		workers += add_text(add_text(FNV_OFFSET, config, config->workers[i].name), config,
		    config->workers[i].project_namespace);
	hash = (hash ^ workers) * FNV_PRIME;
	hash = (hash ^ config->mirror_set) * FNV_PRIME;
	/* Where they are not used, a hub of a version without them has the same sum. */
	if (!kinds_owner_chooses(config) || config->kind_count || config->skip_count) {
		hash = add_written(hash, config, put_label);
		hash = add_written(hash, config, put_kinds);
		hash = add_written(hash, config, put_skips);
	}
	return hash | 1;
}

unsigned config_pair_faults(
    const struct us_config *own_config, const struct us_config *other_config, struct buf *out)
{
	struct two two = { own_config, other_config, out, 0 };
	bool hub = is_hub(own_config), other_hub = is_hub(other_config);

	if ((!hub && own_config->mode != CONFIG_FOLLOWER) ||
	    (!other_hub && other_config->mode != CONFIG_FOLLOWER)) {
		fault(&two, "mode", mode_name(own_config), mode_name(other_config),
		    "two hubs, or hubs and workers");
		return two.faults;
	}
	compare_hubs(&two);
	compare(&two, "namespace", own_config->namespace, other_config->namespace,
	    "one namespace on all machines");
	if (hub && other_hub)
		compare_hub_pair(&two);
	else if (hub || other_hub)
		compare_follower(
		    &two, hub ? own_config : other_config, hub ? other_config : own_config);
	else if (strcmp(own(&two, own_config->self_name), other(&two, other_config->self_name)) ==
		 0)
		fault(&two, "self", own(&two, own_config->self_name),
		    other(&two, other_config->self_name), "each worker once");
	return two.faults;
}
