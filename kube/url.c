/*
 * Paths and queries (see the header). The only place that turns names into URLs; it sends nothing.
 */
#include "kube/url.h"

#include <stdio.h>
#include <string.h>

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

void kube_url_escape(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (is_unreserved(*text))
			buf_append(out, text, 1);
		else
			buf_printf(out, "%%%02X", (unsigned char)*text);
	}
}

/* One segment. An empty one would turn an object's path into its collection's, a dot one would
 * climb: neither is a Kubernetes name, so the whole path is given up. */
static void put_segment(struct buf *out, const char *text)
{
	if (!*text || strcmp(text, ".") == 0 || strcmp(text, "..") == 0) {
		out->failed = true;
		return;
	}
	buf_puts(out, "/");
	kube_url_escape(out, text);
}

void kube_url_path(struct buf *out, const char *group, const char *version, const char *plural,
    const char *namespace, const char *name, const char *subresource)
{
	size_t before = out->len;

	buf_puts(out, *group ? "/apis" : "/api");
	if (*group)
		put_segment(out, group);
	put_segment(out, version);
	if (namespace) {
		buf_puts(out, "/namespaces");
		put_segment(out, namespace);
	}
	put_segment(out, plural);
	if (name)
		put_segment(out, name);
	if (subresource)
		put_segment(out, subresource);
	/* Half a path names something else: nothing is left of it, and no request takes "". */
	if (out->failed) {
		out->len = before;
		if (out->data)
			out->data[before] = '\0';
	}
}

void kube_url_query_number(struct buf *out, const char *key, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	kube_url_query(out, key, text);
}

void kube_url_query(struct buf *out, const char *key, const char *value)
{
	if (out->len)
		buf_puts(out, "&");
	kube_url_escape(out, key);
	buf_puts(out, "=");
	kube_url_escape(out, value);
}
