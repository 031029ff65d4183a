/*
 * See the header. Called by lease.c for the own Lease and by messages.c for the peer's.
 */
#include "elector/annotations.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "kube/json.h"
#include "kube/lease.h"

uint64_t annotations_id(struct str text)
{
	uint64_t id = 0;

	if (text.n != 16)
		return 0;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
			return 0;
		id = id << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return id;
}

static json_t *parse(struct str text)
{
	return text.n ? kube_json_parse(text, NULL) : NULL;
}

void annotations_read_handover(struct str text, const char *self, uint64_t *id, bool *to_me)
{
	json_t *value = parse(text);
	const char *to = kube_json_text(value, "to");

	*id = annotations_id(str_of(kube_json_text(value, "id")));
	if (!to[0])
		*id = 0;
	*to_me = *id && str_equal(str_of(to), str_of(self));
	json_decref(value);
}

void annotations_read_ack(
    struct str text, uint64_t *id, enum machine_ack *ack, char why[ANNOTATIONS_WHY])
{
	json_t *value = parse(text);
	bool synced = json_is_true(json_object_get(value, "synced"));
	bool declined = json_is_true(json_object_get(value, "declined"));

	*id = annotations_id(str_of(kube_json_text(value, "id")));
	*ack = *id == 0 || synced == declined ? ACK_NONE : synced ? ACK_SYNCED : ACK_DECLINED;
	if (*ack == ACK_NONE)
		*id = 0;
	if (why)
		(void)snprintf(why, ANNOTATIONS_WHY, "%s", kube_json_text(value, "why"));
	json_decref(value);
}

void annotations_read_standby(struct str text, struct machine_standby *standby)
{
	json_t *value = parse(text);
	const json_t *armed = json_object_get(value, "armed");
	const json_t *complete = json_object_get(value, "complete");
	int64_t lag_ms = kube_json_integer(value, "lagMs", -1);

	*standby = (struct machine_standby){ 0 };
	if (json_is_boolean(armed) && json_is_boolean(complete) && lag_ms >= 0)
		*standby = (struct machine_standby){ true, json_is_true(armed),
			json_is_true(complete), lag_ms };
	json_decref(value);
}

void annotations_read_block(struct str text, struct machine_block *block)
{
	json_t *value = parse(text);
	const json_t *acknowledged = json_object_get(value, "acknowledged");
	int64_t term = kube_json_integer(value, "term", 0), until_us;

	*block = (struct machine_block){ 0 };
	if (term > 0 && (uint64_t)term <= KUBE_TERM_MAX && json_is_boolean(acknowledged) &&
	    kube_time_parse(kube_json_text(value, "until"), &until_us) == 0)
		*block =
		    (struct machine_block){ (uint64_t)term, until_us, json_is_true(acknowledged) };
	json_decref(value);
}

static void put(char *text, size_t size, struct buf *made)
{
	if (made->failed || !str_copy(text, size, buf_str(made)))
		text[0] = '\0';
	buf_free(made);
}

void annotations_put_handover(char *text, size_t size, uint64_t id, const char *to)
{
	struct buf made = buf_make(size);

	if (id) {
		buf_printf(&made, "{\"id\":\"%016" PRIx64 "\",\"to\":", id);
		buf_json_string(&made, str_of(to));
		buf_puts(&made, "}");
	}
	put(text, size, &made);
}

void annotations_put_ack(
    char *text, size_t size, uint64_t id, enum machine_ack ack, const char *why)
{
	struct buf made = buf_make(size);

	if (id && ack == ACK_SYNCED) {
		buf_printf(&made, "{\"id\":\"%016" PRIx64 "\",\"synced\":true}", id);
	} else if (id && ack == ACK_DECLINED) {
		buf_printf(&made, "{\"id\":\"%016" PRIx64 "\",\"declined\":true,\"why\":", id);
		buf_json_string(&made, str_of(why));
		buf_puts(&made, "}");
	}
	if (made.failed) { /* without the reason it is still the answer */
		buf_free(&made);
		annotations_put_ack(text, size, id, ack, "");
		return;
	}
	put(text, size, &made);
}

void annotations_put_standby(char *text, size_t size, const struct machine_standby *standby)
{
	struct buf made = buf_make(size);

	if (standby->known)
		buf_printf(&made, "{\"armed\":%s,\"complete\":%s,\"lagMs\":%" PRId64 "}",
		    standby->armed ? "true" : "false", standby->complete ? "true" : "false",
		    standby->lag_ms);
	put(text, size, &made);
}

void annotations_put_block(char *text, size_t size, const struct machine_block *block)
{
	struct buf made = buf_make(size);
	char until[40];

	if (block->term) {
		kube_time_put(until, block->until_us);
		buf_printf(&made, "{\"term\":%" PRIu64 ",\"until\":\"%s\",\"acknowledged\":%s}",
		    block->term, until, block->acknowledged ? "true" : "false");
	}
	put(text, size, &made);
}

void annotations_put_rejoin(
    char text[ANNOTATIONS_REJOIN], uint64_t done, uint64_t of, uint64_t archived)
{
	(void)snprintf(text, ANNOTATIONS_REJOIN,
	    "{\"done\":%" PRIu64 ",\"of\":%" PRIu64 ",\"archived\":%" PRIu64 "}", done, of,
	    archived);
}
