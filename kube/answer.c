/*
 * Classifies answers (see the header). It must never decide what to do about one.
 */
#include "kube/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kube/json.h"

const char *kube_class_name(enum kube_class class)
{
	static const char *const names[] = { "ok", "not-found", "no-resource", "unauthorized",
		"forbidden", "conflict", "exists", "gone", "too-large", "invalid", "throttled",
		"refused", "server-error", "silent", "blind" };

	return (unsigned)class < sizeof(names) / sizeof(names[0]) ? names[class] : "?";
}

/* Copies what a person may read: other bytes become '?', the rest is cut off. */
static void put_printable(char *dst, size_t size, struct str text)
{
	size_t n = text.n < size - 1 ? text.n : size - 1;

	for (size_t i = 0; i < n; i++)
		dst[i] = text.p[i] >= 0x20 && text.p[i] < 0x7f ? text.p[i] : '?';
	dst[n] = '\0';
}

void answer_set(
    struct kube_answer *answer, enum kube_class class, enum peer_why why, const char *words)
{
	answer->class = class;
	answer->why = why;
	put_printable(answer->message, sizeof(answer->message), str_of(words));
}

void answer_too_long(struct kube_answer *answer, size_t most)
{
	char words[64];

	(void)snprintf(words, sizeof(words), "the answer is longer than %zu KiB", most / 1024);
	answer_set(answer, KUBE_BLIND, PEER_WHY_UNPARSABLE, words);
	answer->too_long = true;
}

/* The value of a header, NULL when the line is another one. */
static bool header_value(struct str line, const char *name, struct str *value)
{
	size_t n = strlen(name);

	if (line.n <= n || line.p[n] != ':' || strncasecmp(line.p, name, n) != 0)
		return false;
	*value = (struct str){ line.p + n + 1, line.n - n - 1 };
	while (value->n && (value->p[0] == ' ' || value->p[0] == '\t')) {
		value->p++;
		value->n--;
	}
	while (value->n && strchr("\r\n \t", value->p[value->n - 1]))
		value->n--;
	return true;
}

/* Warning: 299 - "text": the text without its quotes, several joined by "; " (H11). */
static void add_warning(struct kube_answer *answer, struct str value)
{
	size_t have = strlen(answer->warning);
	const char *quote = value.n ? memchr(value.p, '"', value.n) : NULL;

	if (value.n < 4 || memcmp(value.p, "299 ", 4) != 0)
		return;
	if (quote) {
		value.n -= (size_t)(quote + 1 - value.p);
		value.p = quote + 1;
		if (value.n && value.p[value.n - 1] == '"')
			value.n--;
	}
	if (have && have + 2 < sizeof(answer->warning)) {
		memcpy(answer->warning + have, "; ", 3);
		have += 2;
	}
	put_printable(answer->warning + have, sizeof(answer->warning) - have, value);
}

static void read_status_line(struct kube_answer *answer, struct answer_head *head, struct str line)
{
	const char *space = memchr(line.p, ' ', line.n);
	uint64_t status = 0;

	*head = (struct answer_head){ 0 };
	answer->warning[0] = '\0';
	answer->retry_after_ms = answer->date_us = 0;
	if (space && line.p + line.n - space >= 4)
		(void)str_to_u64((struct str){ space + 1, 3 }, &status);
	answer->status = (int)status;
}

void answer_header(struct kube_answer *answer, struct answer_head *head, struct str line)
{
	char text[64];
	struct str value;
	uint64_t seconds;
	int64_t date;

	if (line.n > 5 && memcmp(line.p, "HTTP/", 5) == 0) {
		read_status_line(answer, head, line);
	} else if (header_value(line, "warning", &value)) {
		add_warning(answer, value);
	} else if (header_value(line, "retry-after", &value)) {
		if (str_to_u64(value, &seconds) && seconds <= 86400)
			answer->retry_after_ms = (int64_t)seconds * 1000;
	} else if (header_value(line, "content-type", &value)) {
		put_printable(text, sizeof(text), value);
		head->json = strstr(text, "json") != NULL;
	} else if (header_value(line, "date", &value)) {
		put_printable(text, sizeof(text), value);
		date = curl_getdate(text, NULL);
		/* A year that no microseconds reach says nothing. */
		answer->date_us = date > 0 && date < INT64_MAX / 1000000 ? date * 1000000 : 0;
	}
}

static enum kube_class class_of(int status)
{
	switch (status) {
	case 401: return KUBE_UNAUTHORIZED;
	case 403: return KUBE_FORBIDDEN;
	case 404: return KUBE_NOT_FOUND;
	case 409: return KUBE_CONFLICT;
	case 410: return KUBE_GONE;
	case 413: return KUBE_TOO_LARGE;
	case 422: return KUBE_INVALID;
	case 429: return KUBE_THROTTLED;
	default: break;
	}
	if (status >= 200 && status < 300)
		return KUBE_OK;
	return status >= 500 ? KUBE_SERVER_ERROR : KUBE_REFUSED;
}

static enum peer_why why_of(enum kube_class class)
{
	switch (class) {
	case KUBE_UNAUTHORIZED: return PEER_WHY_UNAUTHORIZED;
	case KUBE_FORBIDDEN: return PEER_WHY_FORBIDDEN;
	case KUBE_THROTTLED: return PEER_WHY_THROTTLED;
	case KUBE_SERVER_ERROR: return PEER_WHY_SERVER_ERROR;
	default: return PEER_WHY_NONE;
	}
}

/* The field that all causes name; "" when they name several (H7). */
static const char *common_field(const json_t *causes)
{
	const char *field = kube_json_text(json_array_get(causes, 0), "field");

	for (size_t i = 1; i < json_array_size(causes); i++)
		if (strcmp(kube_json_text(json_array_get(causes, i), "field"), field) != 0)
			return "";
	return field;
}

/* The Status object of an error. False: the body is none. */
static bool read_status(struct kube_answer *answer, struct str body, bool *named)
{
	json_t *status = kube_json_parse(body, NULL), *details;
	int64_t seconds;

	if (strcmp(kube_json_text(status, "kind"), "Status") != 0) {
		json_decref(status);
		return false;
	}
	details = json_object_get(status, "details");
	put_printable(
	    answer->reason, sizeof(answer->reason), str_of(kube_json_text(status, "reason")));
	put_printable(
	    answer->message, sizeof(answer->message), str_of(kube_json_text(status, "message")));
	put_printable(answer->cause_field, sizeof(answer->cause_field),
	    str_of(common_field(json_object_get(details, "causes"))));
	*named = kube_json_text(details, "name")[0] != '\0';
	seconds = kube_json_integer(details, "retryAfterSeconds", 0);
	if (answer->retry_after_ms == 0 && seconds > 0 && seconds <= 86400)
		answer->retry_after_ms = seconds * 1000;
	json_decref(status);
	return true;
}

/* A 404 is the object's only where the server names it; the resource itself is missing where it
 * says so in its own words; any other 404 is not Kubernetes speaking (C4, M7, H20). */
static void refine_not_found(
    struct kube_answer *answer, bool is_status, bool named, struct str body)
{
	static const struct str page = STR_LIT("404 page not found");
	static const char generic[] = "the server could not find the requested resource";

	if (is_status && named && !strstr(answer->message, generic))
		return;
	answer->class = KUBE_NO_RESOURCE;
	if (is_status)
		return;
	if (body.n < page.n || memcmp(body.p, page.p, page.n) != 0)
		answer_set(answer, KUBE_BLIND, PEER_WHY_UNPARSABLE,
		    "404 that does not come from a Kubernetes API server");
}

bool kube_is_dead_webhook(const struct kube_answer *answer)
{
	return answer->status >= 400 && strstr(answer->message, "failed calling webhook");
}

/* The no of a policy or a webhook is not the object's fault, whatever its number (H7): a policy
 * that has no parameter, or that a server which just started has not read yet, says 422; a webhook
 * says the number that it likes, and 500 is said where it does not answer (B24). The message names
 * it. */
static bool is_of_admission(const struct kube_answer *answer)
{
	if (answer->class == KUBE_INVALID && strstr(answer->message, "ValidatingAdmissionPolicy"))
		return true;
	if (answer->class == KUBE_SERVER_ERROR)
		return kube_is_dead_webhook(answer);
	return (answer->class == KUBE_INVALID || answer->class == KUBE_REFUSED) &&
	       strncmp(answer->message, "admission webhook \"", 19) == 0;
}

void answer_finish(
    struct kube_answer *answer, const struct answer_head *head, const char *path, struct str body)
{
	bool named = false, is_status;

	answer->class = class_of(answer->status);
	answer->why = why_of(answer->class);
	if (answer->class == KUBE_OK) {
		/* A login page with status 200 is not the server that was asked for (C4). */
		if (strncmp(path, "/api", 4) == 0 && body.n && !head->json)
			answer_set(
			    answer, KUBE_BLIND, PEER_WHY_UNPARSABLE, "the answer is not JSON");
		return;
	}
	if (answer->status >= 300 && answer->status < 400) {
		/* No API server sends us elsewhere: something stands in its place (C4), and no
		 * credential of ours goes where that says (F10). */
		answer_set(
		    answer, KUBE_BLIND, PEER_WHY_UNPARSABLE, "a redirect, which is not followed");
		return;
	}
	is_status = head->json && read_status(answer, body, &named);
	if (answer->class == KUBE_NOT_FOUND) {
		refine_not_found(answer, is_status, named, body);
	} else if (answer->class == KUBE_CONFLICT && strcmp(answer->reason, "AlreadyExists") == 0) {
		answer->class = KUBE_EXISTS;
	} else if (is_of_admission(answer)) {
		answer->class = KUBE_FORBIDDEN;
		answer->why = why_of(KUBE_FORBIDDEN);
	} else if (strstr(answer->message, "request is too large")) { /* etcd's limit: a 500 (M8) */
		answer->class = KUBE_TOO_LARGE;
	}
	if (!answer->message[0])
		(void)snprintf(
		    answer->message, sizeof(answer->message), "HTTP status %d", answer->status);
}

void answer_fail(struct kube_answer *answer, CURLcode code, const char *words)
{
	enum kube_class class = KUBE_SILENT;
	enum peer_why why = PEER_WHY_RESET;

	answer->status = 0;
	if (!*words)
		words = curl_easy_strerror(code);
	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_CIPHER:
		class = KUBE_BLIND;
		why = PEER_WHY_X509;
		break;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		/* The server refuses our certificate by an alert, maybe after the handshake. */
		if (strstr(words, "certificate") || strstr(words, "unknown ca")) {
			class = KUBE_BLIND;
			why = PEER_WHY_X509;
		}
		break;
	case CURLE_OPERATION_TIMEDOUT: why = PEER_WHY_TIMEOUT; break;
	case CURLE_OUT_OF_MEMORY:
	case CURLE_URL_MALFORMAT:
		class = KUBE_BLIND;
		why = PEER_WHY_UNPARSABLE;
		break;
	default: break;
	}
	answer_set(answer, class, why, words);
}

void answer_not_dialed(struct kube_answer *answer, enum dial_outcome outcome, struct str address)
{
	static const struct {
		enum kube_class class;
		enum peer_why why;
		const char *words;
	} rows[] = {
		[DIAL_OK] = { KUBE_SILENT, PEER_WHY_RESET, "connection lost" },
		[DIAL_REFUSED] = { KUBE_SILENT, PEER_WHY_REFUSED, "connection refused" },
		[DIAL_TIMEOUT] = { KUBE_SILENT, PEER_WHY_TIMEOUT, "connecting timed out" },
		[DIAL_RESET] = { KUBE_SILENT, PEER_WHY_RESET, "connection reset" },
		[DIAL_NO_NAME] = { KUBE_BLIND, PEER_WHY_NO_NAME, "the name has no address" },
		[DIAL_DENIED] = { KUBE_BLIND, PEER_WHY_DIALER,
		    "the dialer may not go there (dial.allow)" },
	};

	answer_set(answer, rows[outcome].class, rows[outcome].why, rows[outcome].words);
	if (address.n) {
		size_t have = strlen(answer->message);

		put_printable(
		    answer->message + have, sizeof(answer->message) - have, STR_LIT(": "));
		have += 2;
		put_printable(answer->message + have, sizeof(answer->message) - have, address);
	}
}

const char *answer_version(const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *version = kube_json_text(metadata, "resourceVersion");

	return *version && strlen(version) < ANSWER_VERSION_BYTES ? version : NULL;
}

bool answer_is_named(const json_t *object)
{
	return kube_json_text(json_object_get(object, "metadata"), "name")[0] != '\0';
}
