/*
 * Leases and times as text (see the header). Pure; what a claim is worth is decided elsewhere.
 */
#include "kube/lease.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/json.h"

#define PREFIX    "ha.kubeslice.io/"
#define US_PER_S  1000000LL
#define S_PER_DAY 86400LL
/* 0001-01-01 and 9999-12-31T23:59:59.999999: what four digits of a year can say. */
#define TIME_LEAST (-62135596800LL * US_PER_S)
#define TIME_MOST  (253402300800LL * US_PER_S - 1)

static const char *const phase_names[] = { [PHASE_NONE] = "none",
	[PHASE_ACQUIRING] = "acquiring",
	[PHASE_LEADING] = "leading",
	[PHASE_DRAINING] = "draining",
	[PHASE_RELEASED] = "released" };

const char *kube_phase_name(enum lease_phase phase)
{
	return (unsigned)phase <= PHASE_RELEASED ? phase_names[phase] : "?";
}

/* --- Times ---------------------------------------------------------------------------------- */

/* Days since 1970-01-01 of a day of the Gregorian calendar; years start in March here, so that
 * the leap day is the last one. */
static int64_t days_of(int64_t year, int month, int day)
{
	int64_t shifted = month > 2 ? year : year - 1;
	int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
	int64_t of_era = shifted - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, int64_t *year, int *month, int *day)
{
	int64_t shifted = days + 719468;
	int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	int64_t of_era = shifted - era * 146097;
	int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
	int64_t m = (5 * of_year + 2) / 153;

	*day = (int)(of_year - (153 * m + 2) / 5 + 1);
	*month = (int)(m < 10 ? m + 3 : m - 9);
	*year = years + era * 400 + (*month <= 2);
}

void kube_time_put(char text[40], int64_t us)
{
	int64_t days, rest, year;
	int month, day;

	us = us < TIME_LEAST ? TIME_LEAST : us > TIME_MOST ? TIME_MOST : us;
	days = us / (S_PER_DAY * US_PER_S);
	rest = us % (S_PER_DAY * US_PER_S);
	if (rest < 0) {
		rest += S_PER_DAY * US_PER_S;
		days--;
	}
	date_of(days, &year, &month, &day);
	(void)snprintf(text, 40, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", (unsigned)year % 10000,
	    (unsigned)month % 100, (unsigned)day % 100, (unsigned)(rest / US_PER_S / 3600) % 100,
	    (unsigned)(rest / US_PER_S / 60 % 60), (unsigned)(rest / US_PER_S % 60),
	    (unsigned)(rest % US_PER_S));
}

/* n digits; moves *at behind them. -1: they are not there. */
static int digits(const char **at, int n)
{
	int value = 0;

	for (int i = 0; i < n; i++) {
		if (**at < '0' || **at > '9')
			return -1;
		value = value * 10 + (*(*at)++ - '0');
	}
	return value;
}

static bool skip(const char **at, char c)
{
	return *(*at)++ == c;
}

static int days_in(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/* Z or +hh:mm; seconds that the text is ahead of UTC. */
static bool parse_zone(const char **at, int64_t *ahead_s)
{
	char sign = *(*at)++;
	int hours, minutes;

	*ahead_s = 0;
	if (sign == 'Z')
		return true;
	if (sign != '+' && sign != '-')
		return false;
	if ((hours = digits(at, 2)) < 0 || hours > 23 || !skip(at, ':') ||
	    (minutes = digits(at, 2)) < 0 || minutes > 59)
		return false;
	*ahead_s = (int64_t)hours * 3600 + (int64_t)minutes * 60;
	if (sign == '-')
		*ahead_s = -*ahead_s;
	return true;
}

int kube_time_parse(const char *text, int64_t *us)
{
	const char *at = text;
	int year, month, day, hour, minute, second, fraction = 0;
	int64_t ahead_s;

	if ((year = digits(&at, 4)) < 1 || !skip(&at, '-') || (month = digits(&at, 2)) < 1 ||
	    month > 12 || !skip(&at, '-') || (day = digits(&at, 2)) < 1 ||
	    day > days_in(year, month) || !skip(&at, 'T'))
		return -1;
	if ((hour = digits(&at, 2)) < 0 || hour > 23 || !skip(&at, ':') ||
	    (minute = digits(&at, 2)) < 0 || minute > 59 || !skip(&at, ':') ||
	    (second = digits(&at, 2)) < 0 || second > 59)
		return -1;
	if (*at == '.') {
		int scale = 100000;

		at++;
		if (*at < '0' || *at > '9')
			return -1;
		for (; *at >= '0' && *at <= '9'; at++, scale /= 10)
			fraction += (*at - '0') * scale;
	}
	if (!parse_zone(&at, &ahead_s) || *at)
		return -1;
	second += hour * 3600 + minute * 60;
	*us = (days_of(year, month, day) * S_PER_DAY + second - ahead_s) * US_PER_S + fraction;
	return 0;
}

/* --- Parse ---------------------------------------------------------------------------------- */

/* The texts, where they stand and where they go: annotations of the same form. */
static const struct {
	const char *key;
	size_t offset, size;
} texts[] = {
#define TEXT(key, field)                                                                           \
	{                                                                                          \
		PREFIX key, offsetof(struct kube_lease, field),                                    \
		    sizeof(((struct kube_lease *)0)->field)                                        \
	}
	TEXT("timing", timing),
	TEXT("pair", pair),
	TEXT("handover", handover),
	TEXT("handover-ack", handover_ack),
	TEXT("standby", standby),
	TEXT("paused-until", paused_until),
	TEXT("rejoin", rejoin),
	TEXT("block", block),
#undef TEXT
};
#define TEXT_COUNT (sizeof(texts) / sizeof(texts[0]))

static int copy_text(char *dst, size_t size, const json_t *object, const char *key, struct err *err)
{
	if (str_copy(dst, size, str_of(kube_json_text(object, key))))
		return 0;
	return err_set(err, "lease: %s is longer than %zu bytes", key, size - 1);
}

/* Absent is 0: a stripped annotation says nothing, and what was known stays known (H15). */
static int parse_term(const json_t *annotations, const char *key, uint64_t *term, struct err *err)
{
	const char *text = kube_json_text(annotations, key);

	*term = 0;
	if (!*text)
		return 0;
	if (!str_to_u64(str_of(text), term) || *term > KUBE_TERM_MAX)
		return err_set(err, "lease: %s is no term (0 to 2^53-1)", key); /* C7 */
	return 0;
}

static int parse_instance(const json_t *annotations, uint64_t *instance, struct err *err)
{
	const char *text = kube_json_text(annotations, PREFIX "instance");

	*instance = 0;
	if (!*text)
		return 0;
	if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
		return err_set(err, "lease: " PREFIX "instance is not 16 hexadecimal digits");
	*instance = strtoull(text, NULL, 16);
	return 0;
}

static int parse_phase(const json_t *annotations, enum lease_phase *phase, struct err *err)
{
	const char *text = kube_json_text(annotations, PREFIX "phase");

	*phase = PHASE_NONE;
	if (!*text)
		return 0;
	for (int i = 0; i <= PHASE_RELEASED; i++)
		if (strcmp(text, phase_names[i]) == 0) {
			*phase = (enum lease_phase)i;
			return 0;
		}
	return err_set(err, "lease: " PREFIX "phase is no phase");
}

static int parse_time(const json_t *spec, const char *key, int64_t *us, struct err *err)
{
	const char *text = kube_json_text(spec, key);

	*us = 0;
	if (*text && kube_time_parse(text, us) != 0)
		return err_set(err, "lease: spec.%s is no RFC 3339 time", key);
	return 0;
}

/* A value of another type than the API gives it is not the same as one that is absent: a holder
 * that is a number is not nobody. */
static int check_types(const json_t *annotations, const json_t *spec, struct err *err)
{
	static const char *const spec_texts[] = { "holderIdentity", "acquireTime", "renewTime",
		"preferredHolder" };
	static const char *const spec_numbers[] = { "leaseDurationSeconds", "leaseTransitions" };
	const json_t *value;
	const char *key;

	if ((annotations && !json_is_object(annotations) && !json_is_null(annotations)) ||
	    (spec && !json_is_object(spec) && !json_is_null(spec)))
		return err_set(err, "lease: annotations or spec is no object");
	json_object_foreach((json_t *)annotations, key, value)
	{
		if (strncmp(key, PREFIX, strlen(PREFIX)) == 0 && !json_is_string(value))
			return err_set(err, "lease: an annotation " PREFIX "... is no text");
	}
	for (size_t i = 0; i < sizeof(spec_texts) / sizeof(spec_texts[0]); i++) {
		value = json_object_get(spec, spec_texts[i]);
		if (value && !json_is_string(value) && !json_is_null(value))
			return err_set(err, "lease: spec.%s is no text", spec_texts[i]);
	}
	for (size_t i = 0; i < sizeof(spec_numbers) / sizeof(spec_numbers[0]); i++) {
		value = json_object_get(spec, spec_numbers[i]);
		if (value && !json_is_integer(value) && !json_is_null(value))
			return err_set(err, "lease: spec.%s is no whole number", spec_numbers[i]);
	}
	return 0;
}

int kube_lease_parse(const json_t *object, struct kube_lease *out, struct err *err)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const json_t *annotations = json_object_get(metadata, "annotations");
	const json_t *spec = json_object_get(object, "spec");
	int64_t seconds = kube_json_integer(spec, "leaseDurationSeconds", 0);
	int64_t transitions = kube_json_integer(spec, "leaseTransitions", 0);

	const json_t *kind = json_object_get(object, "kind"); /* the items of a list have none */

	*out = (struct kube_lease){ 0 };
	if (kind && (!json_is_string(kind) || strcmp(json_string_value(kind), "Lease") != 0))
		return err_set(err, "lease: kind is not Lease");
	if (!json_is_object(metadata))
		return err_set(err, "lease: no metadata");
	if (check_types(annotations, spec, err))
		return -1;
	if (copy_text(out->uid, sizeof(out->uid), metadata, "uid", err) ||
	    copy_text(out->resource_version, sizeof(out->resource_version), metadata,
		"resourceVersion", err) ||
	    copy_text(out->holder, sizeof(out->holder), spec, "holderIdentity", err) ||
	    copy_text(out->preferred_holder, sizeof(out->preferred_holder), spec, "preferredHolder",
		err) ||
	    parse_term(annotations, PREFIX "term", &out->term, err) ||
	    parse_term(annotations, PREFIX "led-term", &out->led_term, err) ||
	    parse_phase(annotations, &out->phase, err) ||
	    parse_instance(annotations, &out->instance, err) ||
	    parse_time(spec, "acquireTime", &out->acquire_us, err) ||
	    parse_time(spec, "renewTime", &out->renew_us, err))
		return -1;
	for (size_t i = 0; i < TEXT_COUNT; i++)
		if (copy_text((char *)out + texts[i].offset, texts[i].size, annotations,
			texts[i].key, err))
			return -1;
	/* H15: in which it led was allocated, whoever lowered or removed the other one. */
	if (out->term < out->led_term)
		out->term = out->led_term;
	if (seconds > 0)
		out->duration_ms =
		    seconds > UINT32_MAX / 1000 ? UINT32_MAX : (uint32_t)seconds * 1000;
	out->transitions = transitions > 0 ? (uint64_t)transitions : 0;
	return 0;
}

bool kube_lease_claims(const struct kube_lease *lease)
{
	return lease->holder[0] &&
	       (lease->phase == PHASE_ACQUIRING || lease->phase == PHASE_LEADING ||
		   lease->phase == PHASE_DRAINING);
}

/* --- Write ---------------------------------------------------------------------------------- */

/* The object under a key, made when it is not there (or is something else). */
static json_t *child(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_object(value)) {
		value = json_object();
		json_object_set_new(object, key, value);
	}
	return value;
}

static void put_text(json_t *object, const char *key, const char *text)
{
	if (*text)
		json_object_set_new(object, key, json_string(text));
	else
		json_object_del(object, key);
}

static void put_number(json_t *object, const char *key, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	put_text(object, key, text);
}

static void put_time(json_t *object, const char *key, int64_t us)
{
	char text[40] = "";

	if (us)
		kube_time_put(text, us);
	put_text(object, key, text);
}

static void put_annotations(json_t *annotations, const struct kube_lease *lease)
{
	char instance[24] = "";

	put_number(annotations, PREFIX "term", lease->term);
	put_number(annotations, PREFIX "led-term", lease->led_term);
	put_text(annotations, PREFIX "phase", kube_phase_name(lease->phase));
	if (lease->instance)
		(void)snprintf(instance, sizeof(instance), "%016" PRIx64, lease->instance);
	put_text(annotations, PREFIX "instance", instance);
	for (size_t i = 0; i < TEXT_COUNT; i++)
		put_text(annotations, texts[i].key, (const char *)lease + texts[i].offset);
}

json_t *kube_lease_write(
    const json_t *base, const struct kube_lease *lease, const char *namespace, const char *name)
{
	json_t *object = base ? json_deep_copy(base) : json_object();
	json_t *metadata = child(object, "metadata"), *spec = child(object, "spec");
	uint32_t seconds = lease->duration_ms / 1000 + (lease->duration_ms % 1000 != 0);

	put_text(object, "apiVersion", "coordination.k8s.io/v1");
	put_text(object, "kind", "Lease");
	put_text(metadata, "name", name);
	put_text(metadata, "namespace", namespace);
	put_annotations(child(metadata, "annotations"), lease);
	put_text(spec, "holderIdentity", lease->holder);
	put_time(spec, "acquireTime", lease->acquire_us);
	put_time(spec, "renewTime", lease->renew_us);
	if (seconds)
		json_object_set_new(spec, "leaseDurationSeconds", json_integer(seconds));
	else
		json_object_del(spec, "leaseDurationSeconds");
	json_object_set_new(spec, "leaseTransitions", json_integer((json_int_t)lease->transitions));
	return object;
}
