/*
 * Goal: listed kinds live by the rules of the set, what mirror.skip names is left alone, and a kind
 * that is off is nobody's business (M8, M10, C14, H7, H13). Method: stories in the world of
 * syncer_world.h with a configuration of its own.
 */
#include "tests/unit/syncer_world.h"

#include "tests/unit/config_pool.h"

#define CONFIG_MAP KIND_LISTED
#define WIDGET     (KIND_LISTED + 1)

static struct us_config config;

static config_text put(const char *text)
{
	return config_put(&config, text);
}

static void leave_out(const char *resource, const char *group, const char *name)
{
	config.skips[config.skip_count++] =
	    (struct config_skip){ put(resource), put(group), put(name[0] ? NS : ""), put(name) };
	kinds_fill(&config);
}

/* ConfigMaps with the label that the world puts on, and Widgets with status. */
static int begin(void **state)
{
	struct config_kind *maps;

	memset(&config, 0, sizeof(config));
	config.mirror_label = (struct config_label){ put(KIND_OWNER_LABEL), put(KIND_OWNER_VALUE) };
	maps = config_list(&config, "", "configmaps", "ConfigMap");
	maps->term_count = 1;
	maps->terms[0] = config.mirror_label;
	config_list(&config, "shop.example.com", "widgets", "Widget")->status = 1;
	kinds_fill(&config);
	return setup(state);
}

static int finish(void **state)
{
	int rc = teardown(state);

	kinds_fill(NULL);
	return rc;
}

#define LISTED(f) cmocka_unit_test_setup_teardown(f, begin, finish)

static void a_listed_kind_is_copied_behind_the_set(void **state)
{
	struct object *widget = add(WIDGET, "w");

	(void)state;
	add(CONFIG_MAP, "m");
	add(KIND_SECRET, "s");
	widget->status = 1;
	first_mirror();
	assert_string_equal(w.trace, "create " NS "; create s; create m; create w; status w; ");
	assert_string_equal(kube_json_text(widget->local, "apiVersion"), "shop.example.com/v1");
	assert_string_equal(kube_json_text(widget->local, "kind"), "Widget");
	change(widget, 2, 1);
	run();
	assert_string_equal(w.trace, "update w; ");
	change(widget, 2, 5);
	run();
	assert_string_equal(w.trace, "status w; ");
	vanish(widget);
	run();
	assert_string_equal(w.trace, "delete w; ");
	restart();
	run();
	assert_string_equal(w.trace, "");
	assert_int_equal(pending(), 0);
}

/* C14: it is not gone, whatever the watch of a selector says. */
static void one_that_lost_its_label_left_the_mirror(void **state)
{
	struct object *map = add(CONFIG_MAP, "m"), *gone = add(CONFIG_MAP, "gone");

	(void)state;
	first_mirror();
	map->labelled = false;
	map->version = ++w.version;
	engine_source_gone(&w.engine, CONFIG_MAP, NS, "m", map->version, w.now_ns);
	run();
	assert_string_equal(w.trace, "prove m; ");
	assert_int_equal(item_of(map)->source, SOURCE_LEFT);
	assert_non_null(map->local);
	vanish(gone); /* the control: that one is */
	run();
	assert_string_equal(w.trace, "prove gone; delete gone; ");
	assert_null(gone->local);
}

static void what_is_skipped_stays_as_it_is(void **state)
{
	struct object *map = add(CONFIG_MAP, "big"), *other = add(CONFIG_MAP, "other");
	struct object *missing = add(CONFIG_MAP, "missing");
	const struct item *item;

	(void)state;
	missing->source = false;
	first_mirror();
	leave_out("configmaps", "", "big");
	leave_out("configmaps", "", "missing");
	restart();
	change(map, 7, 0);
	change(other, 7, 0);
	missing->source = true;
	change(missing, 1, 0);
	run();
	assert_string_equal(w.trace, "update other; ");
	item = item_of(map);
	assert_int_equal(item->state, ITEM_EXCLUDED);
	assert_non_null(strstr(item->why, "mirror.skip"));
	assert_int_equal(item_of(missing)->state, ITEM_EXCLUDED);
	/* The mirror is complete without them (M8). */
	assert_int_equal(pending() + w.engine.store.count[ITEM_BLOCKED], 0);
	vanish(map); /* but what is gone is gone */
	run();
	assert_string_equal(w.trace, "prove big; delete big; ");
	assert_null(map->local);
}

/* The peer never had it because it was kept out, so what this hub has from the time when it led is
 * no leftover (M8, C12). */
static void C12_what_is_kept_out_outlives_the_return_of_its_hub(void **state)
{
	struct object *own = add(CONFIG_MAP, "own"), *extra = add(CONFIG_MAP, "extra");
	struct object *marked = add(CONFIG_MAP, "marked");

	(void)state;
	leave_out("configmaps", "", "own");
	w.object[0].local = source_json(&w.object[0]);
	own->local = source_json(own);
	extra->local = source_json(extra);
	marked->local = source_json(marked);
	json_object_set_new(json_object_get(marked->local, "metadata"), "annotations",
	    json_pack("{s:s}", REWRITE_PREFIX "mirror", "false"));
	own->source = extra->source = marked->source = false;
	engine_rejoin(&w.engine, true, w.now_ns);
	first_mirror();
	assert_null(strstr(w.trace, " own; "));
	assert_null(strstr(w.trace, " marked; "));
	assert_int_equal(item_of(marked)->state, ITEM_EXCLUDED);
	assert_non_null(strstr(w.trace, "archive extra; "));
	assert_null(extra->local);
	assert_non_null(own->local);
	assert_int_equal(item_of(own)->state, ITEM_EXCLUDED);
	assert_non_null(strstr(item_of(own)->why, "mirror.skip"));
	assert_int_equal(pending() + w.engine.store.count[ITEM_BLOCKED], 0);
}

/* H7: nobody can change it any more, so it is made anew. */
static void an_immutable_config_map_is_made_anew(void **state)
{
	struct object *map = add(CONFIG_MAP, "m");

	(void)state;
	first_mirror();
	w.immutable = CONFIG_MAP;
	w.field = "data";
	change(map, 2, 0);
	run();
	assert_string_equal(w.trace, "update m; delete m; create m; ");
	assert_int_equal(w.engine.store.count[ITEM_BLOCKED], 0);
}

static void a_namespace_goes_without_the_kinds_that_are_off(void **state)
{
	struct object *map;

	(void)state;
	config.mirror_set = CONFIG_MIRROR_NONE;
	kinds_fill(&config);
	map = add(CONFIG_MAP, "m");
	for (unsigned i = 0; i < w.count; i++)
		show_copy(&w.object[i], 1);
	engine_copies_listed(&w.engine, KIND_NAMESPACE, NULL, 1, w.now_ns);
	engine_copies_listed(&w.engine, CONFIG_MAP, NULL, 1, w.now_ns);
	engine_copies_listed(&w.engine, WIDGET, NULL, 1, w.now_ns);
	list_source(2);
	run();
	assert_string_equal(w.trace, "create " NS "; create m; ");
	vanish(map);
	run();
	assert_null(map->local);
	vanish(&w.object[0]);
	run_for(60 * BASE_NS_PER_S);
	assert_null(w.object[0].local);
}

/* Without its account it would be deleted at once (H6), and nobody is to be told of it each day. */
static void a_token_stays_out_where_accounts_do(void **state)
{
	struct object *token;

	(void)state;
	leave_out("serviceaccounts", "", "");
	token = add(KIND_SECRET, "acc");
	token->token = true;
	first_mirror();
	assert_string_equal(w.trace, "create " NS "; ");
	assert_int_equal(item_of(token)->state, ITEM_EXCLUDED);
	assert_non_null(strstr(item_of(token)->why, "ServiceAccounts are not mirrored"));
}

/* --- Names and labels ------------------------------------------------------------------------ */

static void owners_are_found_among_kinds_that_are_on(void **state)
{
	(void)state;
	assert_int_equal(kind_by_name("shop.example.com/v2", "Widget"), WIDGET);
	assert_int_equal(kind_by_name("v1", "ConfigMap"), CONFIG_MAP);
	assert_int_equal(kind_by_name("example.com/v1", "Widget"), KIND_COUNT);
	assert_int_equal(kind_by_name("v1", "ServiceAccount"), KIND_SERVICE_ACCOUNT);
	leave_out("serviceaccounts", "", "");
	assert_int_equal(kind_by_name("v1", "ServiceAccount"), KIND_COUNT);
	kinds_fill(NULL);
	assert_int_equal(kind_by_name("v1", "ConfigMap"), KIND_COUNT);
	assert_int_equal(kind_end(), KIND_LISTED);
}

static void a_person_names_what_is_mirrored(void **state)
{
	static const char *const right[] = { "Widget", "widgets", "WIDGETS",
		"widgets.shop.example.com", "widget.Shop.example.com" };
	static const char *const wrong[] = { "", "widget s", "widgets.", "widgets.example.com",
		"widge", "configmaps" };

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		assert_true(kind_is_named(WIDGET, right[i]));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(kind_is_named(WIDGET, wrong[i]));
	assert_true(kind_is_named(CONFIG_MAP, "configmaps"));
	assert_true(kind_is_named(KIND_SERVICE_ACCOUNT, "serviceaccounts"));
	leave_out("serviceaccounts", "", "");
	assert_false(kind_is_named(KIND_SERVICE_ACCOUNT, "serviceaccounts"));
}

static bool chooses(enum kind kind, const char *labels)
{
	json_t *metadata = json_pack("{so}", "labels", json_loads(labels, JSON_DECODE_ANY, NULL));
	bool chosen = kind_chooses(kind, metadata);

	json_decref(metadata);
	return chosen;
}

static void all_labels_of_a_row_count(void **state)
{
	struct config_kind *maps = &config.kinds[0];
	struct buf query = buf_make(1000);

	(void)state;
	maps->term_count = 2;
	maps->terms[0] = (struct config_label){ put("app"), put("shop") };
	maps->terms[1] = (struct config_label){ put("example.com/tier"), put("back") };
	kinds_fill(&config);
	assert_true(
	    chooses(CONFIG_MAP, "{\"app\":\"shop\",\"example.com/tier\":\"back\",\"x\":\"y\"}"));
	assert_false(chooses(CONFIG_MAP, "{\"app\":\"shop\"}"));
	assert_false(chooses(CONFIG_MAP, "{\"app\":\"shop\",\"example.com/tier\":\"front\"}"));
	assert_false(chooses(CONFIG_MAP, "{\"app\":\"shop\",\"example.com/tier\":7}"));
	assert_false(chooses(CONFIG_MAP, "null"));
	assert_true(chooses(WIDGET, "null"));
	kind_put_selector(CONFIG_MAP, &query);
	assert_string_equal(query.data, "labelSelector=app%3Dshop%2Cexample.com%2Ftier%3Dback");
	buf_clear(&query);
	kind_put_selector(WIDGET, &query);
	assert_int_equal(query.len, 0);
	buf_free(&query);
}

static void the_clusters_own_config_maps_stay(void **state)
{
	(void)state;
	assert_true(kind_excludes(CONFIG_MAP, "kube-root-ca.crt"));
	assert_false(kind_excludes(CONFIG_MAP, "kube-root-ca"));
	assert_false(kind_excludes(WIDGET, "kube-root-ca.crt"));
}

/* Also when it is not the first time (M7). */
static void M7_the_version_that_is_meant_is_remembered(void **state)
{
	(void)state;
	for (unsigned time = 0; time < 2; time++) {
		assert_null(kind_other_version(WIDGET));
		kind_use_version(WIDGET, "v2");
		assert_string_equal(kind_row(WIDGET)->version, "v2");
		assert_string_equal(kind_other_version(WIDGET), "v1");
		kind_use_version(WIDGET, "v3");
		assert_string_equal(kind_other_version(WIDGET), "v1");
		kind_use_version(WIDGET, "v1");
	}
	assert_null(kind_other_version(WIDGET));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LISTED(a_listed_kind_is_copied_behind_the_set),
		LISTED(one_that_lost_its_label_left_the_mirror),
		LISTED(what_is_skipped_stays_as_it_is),
		LISTED(C12_what_is_kept_out_outlives_the_return_of_its_hub),
		LISTED(an_immutable_config_map_is_made_anew),
		LISTED(a_namespace_goes_without_the_kinds_that_are_off),
		LISTED(a_token_stays_out_where_accounts_do),
		LISTED(owners_are_found_among_kinds_that_are_on),
		LISTED(a_person_names_what_is_mirrored),
		LISTED(all_labels_of_a_row_count),
		LISTED(the_clusters_own_config_maps_stay),
		LISTED(M7_the_version_that_is_meant_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
