/*
 * Goal: two machines that would not work together are told so before they are started, by key and
 * with both values (C7, H14, H17). Method: two right configurations, and one change at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/config_pair.h"
#include "tests/unit/config_pool.h"

static struct us_config a, b, w;
static struct buf faults;

/* In all three pools at the same place. */
static config_text put(const char *text)
{
	config_text at = config_put(&a, text);

	assert_int_equal(config_put(&b, text), at);
	assert_int_equal(config_put(&w, text), at);
	return at;
}

static int begin(void **state)
{
	(void)state;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	memset(&w, 0, sizeof(w));
	a.mode = CONFIG_ACTIVE;
	a.hub_count = w.hub_count = 2;
	a.hubs[0].name = a.self_name = put("hub-a");
	a.hubs[1].name = put("hub-b");
	a.hubs[0].endpoint = put("https://a");
	a.hubs[1].endpoint = put("https://b");
	a.namespace = put("kubeslice-controller");
	a.mirror_label =
	    (struct config_label){ put("kubeslice-resource-owner"), put("kubeslice-controller") };
	a.worker_count = 1;
	a.workers[0].name = put("w1");
	a.workers[0].project_namespace = put("kubeslice-x");
	a.lease_duration_ms = 15000;
	a.renew_deadline_ms = 10000;
	a.padding_ms = 5000;
	b = a;
	b.mode = CONFIG_STANDBY;
	b.self = 1;
	b.self_name = a.hubs[1].name;
	w.mode = CONFIG_FOLLOWER;
	memcpy(w.hubs, a.hubs, sizeof(a.hubs));
	w.namespace = a.namespace;
	w.self_name = a.workers[0].name;
	w.follower.project_namespace = a.workers[0].project_namespace;
	memcpy(w.pool, a.pool, sizeof(a.pool));
	buf_free(&faults);
	faults = buf_make(65536);
	return 0;
}

static void expect(
    const struct us_config *own, const struct us_config *other, const char *const *lines)
{
	unsigned count = 0;

	buf_clear(&faults);
	while (lines[count])
		count++;
	if (config_pair_faults(own, other, &faults) != count)
		fail_msg("%s", faults.len ? faults.data : "nothing");
	for (unsigned i = 0; i < count; i++)
		if (!strstr(faults.data, lines[i]))
			fail_msg("no \"%s\" in %s", lines[i], faults.data);
}

#define EXPECT(own, other, ...) expect(own, other, (const char *const[]){ __VA_ARGS__, NULL })
#define FIT(own, other)         expect(own, other, (const char *const[]){ NULL })

static void what_belongs_together_fits(void **state)
{
	(void)state;
	FIT(&a, &b);
	FIT(&b, &a);
	FIT(&a, &w);
	FIT(&w, &b);
	a.mode = CONFIG_STANDBY; /* both: one of them has led */
	FIT(&a, &b);
}

static void each_difference_is_named(void **state)
{
	(void)state;
	b.namespace = put("elsewhere");
	EXPECT(&a, &b, "namespace: kubeslice-controller here, elsewhere there; expected");
	EXPECT(&b, &a, "namespace: elsewhere here, kubeslice-controller there");
	begin(NULL);
	b.mode = CONFIG_ACTIVE;
	EXPECT(&a, &b, "mode: active here, active there; expected standby on one of them");
	begin(NULL);
	b.self = 0;
	b.self_name = a.self_name;
	EXPECT(&a, &b, "self: hub-a here, hub-a there; expected each hub once");
	begin(NULL);
	b.mirror_set = CONFIG_MIRROR_NONE;
	EXPECT(&a, &b, "mirror.set: kubeslice here, none there");
	begin(NULL);
	b.hubs[0].endpoint = put("https://a.example.com");
	EXPECT(&a, &b, "hubs[0].endpoint: https://a here, https://a.example.com there");
	begin(NULL);
	b.mode = CONFIG_REPLICAS;
	EXPECT(&a, &b, "mode: active here, replicas there; expected two hubs, or hubs and workers");
}

static void list(struct us_config *config, const char *resource, const char *kind)
{
	config->kinds[config->kind_count++] = (struct config_kind){
		.version = put("v1"), .resource = put(resource), .kind = put(kind)
	};
}

static void both_hubs_mirror_the_same(void **state)
{
	(void)state;
	b.mirror_label.value = put("shop");
	EXPECT(&a, &b,
	    "mirror.namespaces: kubeslice-resource-owner=kubeslice-controller here, "
	    "kubeslice-resource-owner=shop there; expected the same on both hubs");
	begin(NULL);
	list(&b, "configmaps", "ConfigMap");
	EXPECT(&a, &b, "mirror.kinds: none here, configmaps/v1 ConfigMap there; expected the same");
	list(&a, "configmaps", "ConfigMap");
	FIT(&a, &b);
	b.kinds[0].group = put("shop.example.com");
	b.kinds[0].term_count = 1;
	b.kinds[0].terms[0] = (struct config_label){ put("app"), put("shop") };
	b.kinds[0].status = 1;
	EXPECT(&a, &b,
	    "mirror.kinds: configmaps/v1 ConfigMap here, configmaps.shop.example.com/v1 ConfigMap "
	    "app=shop status there");
	begin(NULL);
	a.skip_count = 2;
	a.skips[0] = (struct config_skip){ put("secrets"), 0, 0, 0 };
	a.skips[1] = (struct config_skip){ put("roles"), put("rbac.authorization.k8s.io"),
		put("shop"), put("big") };
	EXPECT(&a, &b,
	    "mirror.skip: secrets; roles.rbac.authorization.k8s.io/shop/big here, none there");
}

static void C7_the_order_of_hubs_counts(void **state)
{
	struct config_hub first;

	(void)state;
	first = b.hubs[0];
	b.hubs[0] = b.hubs[1];
	b.hubs[1] = first;
	b.self = 0;
	EXPECT(&a, &b, "hubs[0].name: hub-a here, hub-b there",
	    "hubs[1].name: hub-b here, hub-a there",
	    "hubs[0].endpoint: ", "hubs[1].endpoint: ", "self: hub-a here, hub-b there");
	begin(NULL);
	w.hub_count = 1;
	EXPECT(&a, &w, "hubs: two here, one there; expected the same list");
}

static void H17_the_one_waits_longer_than_the_other_can_lead(void **state)
{
	(void)state;
	b.renew_deadline_ms = 14000;
	EXPECT(&a, &b, "lease, when this hub waits: lease.duration 15000 ms of the one");
	EXPECT(&b, &a, "lease, when the other hub waits: ");
	b.renew_deadline_ms = 13333; /* 1.5 x that is 19999.5, and 20 s are waited for */
	FIT(&a, &b);
	b.renew_deadline_ms = 13334;
	EXPECT(&a, &b, "lease, when this hub waits: ");
}

static void workers_are_the_same_on_both_hubs(void **state)
{
	(void)state;
	b.workers[0].name = put("w2");
	EXPECT(&a, &b, "workers: w1 here, none there", "workers: none here, w2 there");
	EXPECT(&b, &w, "workers: none here, w1 there; expected the worker among");
	EXPECT(&w, &b, "workers: w1 here, none there; expected the worker among");
	begin(NULL);
	b.workers[0].project_namespace = put("kubeslice-y");
	EXPECT(&a, &b, "workers[].project-namespace: kubeslice-x here, kubeslice-y there");
	EXPECT(&w, &b, "project-namespace: kubeslice-x here, kubeslice-y there");
	EXPECT(&b, &w, "project-namespace: kubeslice-y here, kubeslice-x there");
	begin(NULL);
	EXPECT(&w, &w, "self: w1 here, w1 there; expected each worker once");
}

/* Two people read it to each other: equal exactly where both files fit in what it covers. */
static void the_hash_is_of_what_must_be_equal(void **state)
{
	uint64_t hash = config_pair_hash(&a);
	struct config_worker first;

	(void)state;
	assert_true(hash != 0);
	assert_true(config_pair_hash(&b) == hash);
	assert_true(config_pair_hash(&w) == 0);
	/* As versions say it that know no mirror.kinds: a pair is upgraded one hub after the other.
	 */
	assert_true(hash == 0x20229e7f563b3201);
	a.workers[1].name = b.workers[0].name = put("w2");
	a.workers[1].project_namespace = b.workers[0].project_namespace = put("kubeslice-y");
	b.workers[1] = a.workers[0];
	a.worker_count = b.worker_count = 2;
	FIT(&a, &b); /* in another order */
	assert_true(config_pair_hash(&a) != hash);
	assert_true(config_pair_hash(&a) == config_pair_hash(&b));
	first = b.workers[0]; /* namespaces change places */
	b.workers[0].project_namespace = b.workers[1].project_namespace;
	b.workers[1].project_namespace = first.project_namespace;
	assert_true(config_pair_hash(&a) != config_pair_hash(&b));
	begin(NULL);
	b.hubs[1].endpoint = put("https://b.example.com");
	assert_true(config_pair_hash(&b) != hash);
	begin(NULL);
	b.hubs[0] = a.hubs[1];
	b.hubs[1] = a.hubs[0];
	assert_true(config_pair_hash(&b) != hash);
	begin(NULL);
	b.namespace = put("elsewhere");
	assert_true(config_pair_hash(&b) != hash);
	begin(NULL);
	b.mirror_set = CONFIG_MIRROR_NONE;
	assert_true(config_pair_hash(&b) != hash);
	begin(NULL);
	b.renew_deadline_ms = 14000; /* need not be equal */
	assert_true(config_pair_hash(&b) == hash);
	b.mirror_label.value = put("shop");
	assert_true(config_pair_hash(&b) != hash);
	begin(NULL);
	list(&b, "configmaps", "ConfigMap");
	assert_true(config_pair_hash(&b) != hash);
	list(&a, "configmaps", "ConfigMap");
	assert_true(config_pair_hash(&b) == config_pair_hash(&a));
	b.kinds[0].status = 1;
	assert_true(config_pair_hash(&b) != config_pair_hash(&a));
	begin(NULL);
	b.skip_count = 1;
	b.skips[0] = (struct config_skip){ put("secrets"), 0, 0, 0 };
	assert_true(config_pair_hash(&b) != hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_belongs_together_fits, begin),
		cmocka_unit_test_setup(each_difference_is_named, begin),
		cmocka_unit_test_setup(both_hubs_mirror_the_same, begin),
		cmocka_unit_test_setup(C7_the_order_of_hubs_counts, begin),
		cmocka_unit_test_setup(H17_the_one_waits_longer_than_the_other_can_lead, begin),
		cmocka_unit_test_setup(workers_are_the_same_on_both_hubs, begin),
		cmocka_unit_test_setup(the_hash_is_of_what_must_be_equal, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
