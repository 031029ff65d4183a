/*
 * Bodies made of what is on our own hub (see the header). Pure; called by local.c.
 */
#include "syncer/amend.h"

#include <inttypes.h>
#include <stdio.h>

#include "kube/json.h"

static json_t *annotations_of(json_t *metadata)
{
	json_t *annotations = json_object_get(metadata, "annotations");

	if (!json_is_object(annotations))
		json_object_set_new(metadata, "annotations", annotations = json_object());
	return annotations;
}

static void annotate(json_t *metadata, const char *key, const char *text)
{
	json_object_set_new(annotations_of(metadata), key, json_string(text));
}

static void become_copy(enum kind kind, json_t *object, uint64_t term)
{
	json_t *metadata = json_object_get(object, "metadata");
	json_t *labels = json_object_get(metadata, "labels");
	struct rewrite_facts facts;

	json_object_del(metadata, "finalizers");
	if (!json_is_object(labels))
		json_object_set_new(metadata, "labels", labels = json_object());
	json_object_set_new(labels, REWRITE_LABEL, json_string(REWRITE_ORIGIN));
	/* As a copy it is compared in another way, so it is read again. */
	if (rewrite_read(kind, REWRITE_OWN, object, &facts, NULL) < 0)
		return;
	facts.version = 0;
	rewrite_mark(metadata, &facts, term);
}

void amend_object(enum kind kind, json_t *object, const struct amend *amend, struct buf *out)
{
	const struct kind_row *row = kind_row(kind);
	json_t *metadata = json_object_get(object, "metadata");
	char version[96], term[24];

	(void)snprintf(
	    version, sizeof(version), "%s%s%s", row->group, *row->group ? "/" : "", row->version);
	json_object_set_new(object, "apiVersion", json_string(version));
	json_object_set_new(object, "kind", json_string(row->kind));
	json_object_del(object, "status");
	if (amend->strip)
		become_copy(kind, object, amend->term);
	if (amend->anew) {
		(void)snprintf(term, sizeof(term), "%" PRIu64, amend->term);
		annotate(metadata, REWRITE_PREFIX "source-rv", "0");
		annotate(metadata, REWRITE_PREFIX "source-term", term);
	}
	if (amend->held)
		annotate(metadata, REWRITE_PREFIX "delete-held", amend->held);
	if (amend->kept) {
		json_object_del(annotations_of(metadata), REWRITE_PREFIX "delete-held");
		annotate(metadata, REWRITE_PREFIX "delete-discarded", amend->kept);
	}
	if (amend->pruned)
		annotate(metadata, REWRITE_PREFIX "pruned", amend->pruned);
	json_object_set_new(metadata, "managedFields", json_pack("[{}]"));
	kube_json_put(out, object);
}

bool amend_account(struct str body, const json_t *present, struct buf *out)
{
	json_t *wanted = kube_json_parse(body, NULL);
	json_t *before = marks_annotation(json_object_get(present, "metadata"), MARK_LISTS);

	for (size_t i = 0; wanted && i < 2; i++) {
		const char *name = marks_list_names[i];
		json_t *merged = marks_merge(json_object_get(wanted, name),
		    json_object_get(present, name), json_object_get(before, name));

		if (json_array_size(merged))
			json_object_set(wanted, name, merged);
		json_decref(merged);
	}
	if (wanted)
		kube_json_put(out, wanted);
	json_decref(before);
	json_decref(wanted);
	return wanted != NULL;
}
