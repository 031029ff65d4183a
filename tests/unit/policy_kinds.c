/*
 * Goal: which kinds a configuration mirrors, and how, is one answer for the syncer, for the least
 * rights and for the manifests (M8, M10, C14). Method: rows of single configurations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/kinds.h"
#include "tests/unit/config_pool.h"

static struct us_config config;
static struct kind_row rows[KIND_COUNT];
static unsigned end;

static config_text put(const char *text)
{
	return config_put(&config, text);
}

static int begin(void **state)
{
	(void)state;
	memset(&config, 0, sizeof(config));
	config.mirror_label = (struct config_label){ put(KIND_OWNER_LABEL), put(KIND_OWNER_VALUE) };
	return 0;
}

static void make(void)
{
	end = kinds_of(&config, rows);
	for (unsigned kind = end; kind < KIND_COUNT; kind++)
		assert_true(!rows[kind].kind && !rows[kind].on);
}

static unsigned count_on(void)
{
	unsigned count = 0;

	for (unsigned kind = 0; kind < end; kind++)
		count += rows[kind].on;
	return count;
}

static void the_set_is_as_its_table_says(void **state)
{
	(void)state;
	make();
	assert_int_equal(end, KIND_LISTED);
	assert_int_equal(count_on(), KIND_LISTED);
	assert_true(kinds_any(&config));
	for (unsigned kind = 0; kind < KIND_LISTED; kind++) {
		assert_string_equal(rows[kind].kind, kinds_default[kind].kind);
		assert_int_equal(rows[kind].label_count, rows[kind].labelled);
		if (rows[kind].labelled)
			assert_string_equal(rows[kind].labels[0].key, KIND_OWNER_LABEL);
	}
}

/* KubeSlice's accounts and Roles bear KubeSlice's label, whatever says which Namespaces cross. */
static void a_label_of_namespaces_is_theirs_alone(void **state)
{
	(void)state;
	config.mirror_label = (struct config_label){ put("team"), put("shop") };
	make();
	assert_string_equal(rows[KIND_NAMESPACE].labels[0].key, "team");
	assert_string_equal(rows[KIND_NAMESPACE].labels[0].value, "shop");
	assert_string_equal(rows[KIND_ROLE].labels[0].key, KIND_OWNER_LABEL);
	assert_string_equal(rows[KIND_SERVICE_ACCOUNT].labels[0].value, KIND_OWNER_VALUE);
}

static void listed_kinds_follow_in_their_order(void **state)
{
	const struct kind_row *row;

	(void)state;
	config_list(&config, "", "configmaps", "ConfigMap");
	config_list(&config, "shop.example.com", "widgets", "Widget")->status = 1;
	config.kinds[1].term_count = 1;
	config.kinds[1].terms[0] = (struct config_label){ put("app"), put("shop") };
	make();
	assert_int_equal(end, KIND_LISTED + 2);
	row = &rows[KIND_LISTED];
	assert_string_equal(row->kind, "ConfigMap");
	assert_true(row->on && !row->labelled && !row->status && row->map_owners && !row->each);
	assert_int_equal(row->place, KIND_MIRRORED);
	row = &rows[KIND_LISTED + 1];
	assert_string_equal(row->plural, "widgets");
	assert_string_equal(row->group, "shop.example.com");
	assert_true(row->on && row->labelled && row->status);
	assert_int_equal(row->label_count, 1);
	assert_string_equal(row->labels[0].value, "shop");
	assert_int_equal(kinds_by_resource(rows, "shop.example.com", "widgets"), KIND_LISTED + 1);
	assert_int_equal(kinds_by_resource(rows, "", "widgets"), KIND_COUNT);
}

static void without_the_set_only_what_is_listed_is_on(void **state)
{
	(void)state;
	config.mirror_set = CONFIG_MIRROR_NONE;
	make();
	assert_int_equal(count_on(), 0);
	assert_false(kinds_any(&config));
	config_list(&config, "", "secrets", "Secret");
	config_list(&config, "rbac.authorization.k8s.io", "roles", "Role");
	config.kinds[0].term_count = 1;
	config.kinds[0].terms[0] = (struct config_label){ put("app"), put("shop") };
	make();
	assert_true(kinds_any(&config));
	assert_int_equal(end, KIND_LISTED);
	assert_int_equal(count_on(), 3); /* with Namespaces */
	assert_true(rows[KIND_NAMESPACE].on && rows[KIND_SECRET].on && rows[KIND_ROLE].on);
	assert_true(rows[KIND_SECRET].each && rows[KIND_SECRET].labelled);
	assert_string_equal(rows[KIND_SECRET].labels[0].key, "app");
	assert_false(rows[KIND_ROLE].labelled); /* no selector: all of them */
}

static void what_is_skipped_is_off(void **state)
{
	(void)state;
	config.skip_count = 2;
	config.skips[0] =
	    (struct config_skip){ put("sliceqosconfigs"), put("controller.kubeslice.io"), 0, 0 };
	config.skips[1] = (struct config_skip){ put("secrets"), 0, put("shop"), put("big") };
	make();
	assert_true(rows[KIND_SLICE_QOS_CONFIG].skipped && !rows[KIND_SLICE_QOS_CONFIG].on);
	assert_true(rows[KIND_SECRET].on && !rows[KIND_SECRET].skipped); /* one object of it */
	assert_int_equal(count_on(), KIND_LISTED - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_set_is_as_its_table_says, begin),
		cmocka_unit_test_setup(a_label_of_namespaces_is_theirs_alone, begin),
		cmocka_unit_test_setup(listed_kinds_follow_in_their_order, begin),
		cmocka_unit_test_setup(without_the_set_only_what_is_listed_is_on, begin),
		cmocka_unit_test_setup(what_is_skipped_is_off, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
