/*
 * Kubeconfigs: the identity of the current context comes out whole, and each key that would name a
 * program, a file, a proxy or somebody else is refused by its name (F7, D1-D10). Method: one right
 * file of three contexts; each hostile case puts one line in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loader/kubeconfig.h"
#include "tests/unit/loader_make.h"

static struct material material;

/* %1: more of cluster c, %2: more of user u, %3: more at the root. */
static char *compose(const char *cluster, const char *user, const char *root)
{
	char *text;

	if (asprintf(&text,
		"apiVersion: v1\n"
		"kind: Config\n"
		"preferences: {}\n"
		"current-context: x\n"
		"contexts:\n"
		"- {name: w, context: {cluster: c, user: nobody}}\n"
		"- {name: x, context: {cluster: c, user: u, namespace: n}}\n"
		"clusters:\n"
		"- name: d\n"
		"  cluster: {insecure-skip-tls-verify: true}\n"
		"- name: c\n"
		"  cluster:\n"
		"%s"
		"users:\n"
		"- name: v\n"
		"  user: {exec: {command: aws}}\n"
		"- name: u\n"
		"  user:\n"
		"%s"
		"%s",
		cluster, user, root) < 0)
		abort();
	return text;
}

#define CLUSTER                                                                                    \
	"    server: https://hub-a:6443/\n"                                                        \
	"    certificate-authority-data: Y2EtY2VydA==\n"
#define USER "    token: geheim\n"

static void expect(const char *cluster, const char *user, const char *root, const char *words)
{
	char *text = compose(cluster, user, root);
	struct err err;

	material_init(&material);
	assert_int_equal(kubeconfig_read(&material, str_of(text), "k", &err), -1);
	if (strncmp(err.text, words, strlen(words)) != 0)
		fail_msg("\"%s\" is not \"%s\"", err.text, words);
	assert_null(strstr(err.text, "geheim"));
	material_free(&material);
	free(text);
}

/* Whether six letters of the secret in a row are in the text. */
static bool tells(const char *text, const char *secret)
{
	char piece[7] = "";

	for (size_t at = 0; at + 6 <= strlen(secret); at++) {
		memcpy(piece, secret + at, 6);
		if (strstr(text, piece))
			return true;
	}
	return false;
}

/* F30: whatever a slip of the hand makes of the file around it, no error text holds the token. */
static void no_error_text_tells_the_token(void **state)
{
	static const char secret[] = "Zq7vKx2mWc9Rt4Yh";
	static const char slips[] = ":{}[]\"'\n\t -#&*!|>%@`,?\\\xff\x01";
	char *text = compose(CLUSTER, "    token: Zq7vKx2mWc9Rt4Yh\n", "");
	unsigned refused = 0;
	struct err err;

	(void)state;
	for (size_t at = 0; text[at]; at++) {
		char was = text[at];

		for (size_t slip = 0; slip < sizeof(slips); slip++) {
			text[at] = slips[slip]; /* the last one cuts it off */
			err.text[0] = '\0';
			material_init(&material);
			if (kubeconfig_read(&material, str_of(text), "k", &err) ||
			    material_check(&material, 0, &err)) {
				refused++;
				if (tells(err.text, secret))
					fail_msg("byte %zu, slip %zu: %s", at, slip, err.text);
			}
			material_free(&material);
		}
		text[at] = was;
	}
	assert_true(refused > 1000);
	assert_true(tells("xx2mWc9Ry", secret) && !tells("Zq7vK", secret));
	free(text);
}

static void the_current_context_counts(void **state)
{
	char *text = compose(CLUSTER "    tls-server-name: hub.internal\n"
				     "    insecure-skip-tls-verify: false\n"
				     "    extensions: [{name: a, extension: {b: c}}]\n",
	    "    token: |\n      geheim\n", "");
	struct err err;

	(void)state;
	material_init(&material);
	if (kubeconfig_read(&material, str_of(text), "k", &err))
		fail_msg("%s", err.text);
	assert_string_equal(material.server.url, "https://hub-a:6443");
	assert_string_equal(material.server.host, "hub-a");
	assert_int_equal(material.server.port, 6443);
	assert_string_equal(material.tls_name, "hub.internal");
	assert_string_equal(material.ca.bytes.data, "ca-cert");
	assert_string_equal(
	    material.ca.where, "k:14: clusters[1].cluster.certificate-authority-data");
	assert_string_equal(material.token.bytes.data, "geheim\n");
	assert_string_equal(material.token.where, "k:23: users[1].user.token");
	material_free(&material);
	free(text);
}

static void a_client_certificate_is_decoded(void **state)
{
	char *text = compose(CLUSTER,
	    "    client-certificate-data: |\n      Y2Vy\n      dA==\n    client-key-data: a2V5\n",
	    "");
	struct err err;

	(void)state;
	material_init(&material);
	assert_int_equal(kubeconfig_read(&material, str_of(text), "k", &err), 0);
	assert_string_equal(material.certificate.bytes.data, "cert");
	assert_string_equal(material.key.bytes.data, "key");
	assert_int_equal(material.token.bytes.len, 0);
	material_free(&material);
	free(text);
}

static void json_and_crlf_are_fine(void **state)
{
	static const char json[] =
	    "{\"current-context\":\"x\",\r\n"
	    "\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}],\r\n"
	    "\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"https://[fd00::1]\","
	    "\"certificate-authority-data\":\"Y2E=\"}}],\r\n"
	    "\"users\":[{\"name\":\"u\",\"user\":{\"token\":\"t\"}}]}";
	struct err err;

	(void)state;
	material_init(&material);
	assert_int_equal(kubeconfig_read(&material, str_of(json), "k", &err), 0);
	assert_string_equal(material.server.host, "fd00::1");
	assert_int_equal(material.server.port, 443);
	material_free(&material);
}

/* Each names what to write instead. */
static void users_that_are_not_in_the_file_are_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "    exec: {command: geheim}\n",
		    "k:21: users[1].user.exec: names a program to run; expected token, or "
		    "client-certificate-data" },
		{ "    auth-provider: {name: oidc}\n",
		    "k:21: users[1].user.auth-provider: names a plug-in; expected token" },
		{ "    username: geheim\n", "k:21: users[1].user.username: is a password login" },
		{ "    password: geheim\n", "k:21: users[1].user.password: is a password login" },
		{ "    as: geheim\n", "k:21: users[1].user.as: acts as somebody else; expected "
				      "credentials of the identity itself" },
		{ "    as-uid: geheim\n", "k:21: users[1].user.as-uid: acts as somebody else" },
		{ "    as-groups: [geheim]\n",
		    "k:21: users[1].user.as-groups: acts as somebody else" },
		{ "    as-user-extra: {a: [geheim]}\n",
		    "k:21: users[1].user.as-user-extra: acts as somebody else" },
		{ "    tokenFile: /geheim\n",
		    "k:21: users[1].user.tokenFile: names a file; expected token, or token-file in "
		    "understudy's own configuration" },
		{ "    client-certificate: /geheim\n",
		    "k:21: users[1].user.client-certificate: names a file; expected "
		    "client-certificate-data, or client-certificate-file" },
		{ "    client-key: /geheim\n", "k:21: users[1].user.client-key: names a file; "
					       "expected client-key-data, or client-key-file" },
		{ "    impersonate: geheim\n",
		    "k:21: users[1].user.impersonate: is an unknown key" },
		{ "    token: geheim2\n", "k:21: token: is there twice" },
		{ "    client-key-data: a2V5\n",
		    "k:19: users[1].user: has one of client-certificate-data and client-key-data" },
		{ "    client-certificate-data: YQ==\n    client-key-data: a2V5\n",
		    "k:19: users[1].user: has a token and a client certificate" },
	};
	char user[256];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(user, sizeof(user), USER "%s", cases[i][0]);
		expect(CLUSTER, user, "", cases[i][1]);
	}
	expect(CLUSTER, "    {}\n", "",
	    "k:19: users[1].user: has neither a token nor a client certificate");
	expect(CLUSTER, "    geheim\n", "", "k:19: users[1].user: is no map");
	expect(CLUSTER, "    token: [geheim]\n", "",
	    "k:20: users[1].user.token: is a list; expected a bearer token");
	expect(CLUSTER, "    token: \"\"\n", "", "k:20: users[1].user.token: is empty");
	expect(CLUSTER, "    token: \"geheim\\0\"\n", "",
	    "k:20: users[1].user.token: holds a NUL byte");
	expect(CLUSTER, "    client-certificate-data: \"?\"\n    client-key-data: a2V5\n", "",
	    "k:20: users[1].user.client-certificate-data: is no base64");
}

static void clusters_that_weaken_the_check_are_refused(void **state)
{
	static const char *const cases[][2] = {
		{ CLUSTER "    insecure-skip-tls-verify: true\n",
		    "k:15: clusters[1].cluster.insecure-skip-tls-verify: switches the check of the "
		    "server off; expected certificate-authority-data" },
		{ CLUSTER "    insecure-skip-tls-verify: yes\n",
		    "k:15: clusters[1].cluster.insecure-skip-tls-verify: switches" },
		{ CLUSTER "    proxy-url: socks5://geheim\n",
		    "k:15: clusters[1].cluster.proxy-url: names a proxy; expected a direct "
		    "connection" },
		{ CLUSTER "    certificate-authority: /geheim\n",
		    "k:15: clusters[1].cluster.certificate-authority: names a file; expected "
		    "certificate-authority-data, or ca-file" },
		{ CLUSTER "    api-version: v1\n",
		    "k:15: clusters[1].cluster.api-version: is an unknown key" },
		{ CLUSTER "    tls-server-name: a_b\n",
		    "k:15: clusters[1].cluster.tls-server-name: is no DNS name" },
		{ "    server: https://a\n",
		    "k:12: clusters[1].cluster.certificate-authority-data: is missing; expected "
		    "base64 of the server's CA" },
		{ "    server: https://a\n    certificate-authority-data: \"\"\n",
		    "k:14: clusters[1].cluster.certificate-authority-data: is empty" },
		{ "    server: https://a\n    certificate-authority-data: \"-----BEGIN\"\n",
		    "k:14: clusters[1].cluster.certificate-authority-data: is no base64" },
		{ "    certificate-authority-data: YQ==\n",
		    "k:12: clusters[1].cluster.server: is missing; expected https://" },
		{ "    server: http://a\n",
		    "k:13: clusters[1].cluster.server: is http, not https; expected https://" },
		{ "    server: a:6443\n",
		    "k:13: clusters[1].cluster.server: does not begin with https://" },
		{ "    server: https://user:geheim@a\n",
		    "k:13: clusters[1].cluster.server: holds user info" },
		{ "    server: https://a?token=geheim\n",
		    "k:13: clusters[1].cluster.server: holds a query" },
		{ "    server: https://fd00::1:6443\n",
		    "k:13: clusters[1].cluster.server: has an IPv6 address without brackets" },
		{ "    server: [https://a]\n", "k:13: clusters[1].cluster.server: is a list" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(cases[i][0], USER, "", cases[i][1]);
}

static void broken_references_are_named(void **state)
{
	static const char *const cases[][2] = {
		{ "", "k:1: is empty; expected a YAML document" },
		{ "words\n", "k:1: is a text; expected a kubeconfig" },
		{ "kind: Config\n",
		    "k:1: current-context: is missing; expected the name of a context" },
		{ "current-context: \"\"\n", "k:1: current-context: is empty" },
		{ "current-context: a\n", "k:1: contexts: is missing" },
		{ "current-context: a\ncontexts: {}\n", "k:2: contexts: is no list" },
		{ "current-context: a\ncontexts: []\n",
		    "k:2: contexts: has no \"a\"; expected an entry of that name" },
		{ "current-context: a\ncontexts: [{context: {}}]\n",
		    "k:2: contexts[0].name: is missing" },
		{ "current-context: a\ncontexts: [b]\n", "k:2: contexts[0].name: is missing" },
		{ "current-context: a\ncontexts: [{name: a}]\n",
		    "k:2: contexts[0].context: is missing" },
		{ "current-context: a\ncontexts: [{name: a, context: {}}, {name: a, context: "
		  "{}}]\n",
		    "k:2: contexts[1].name: \"a\" is there twice" },
		{ "current-context: a\ncontexts: [{name: a, context: {}}]\n",
		    "k:2: contexts[0].context.cluster: is missing" },
		{ "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: "
		  "[{name: d}]\n",
		    "k:3: clusters: has no \"c\"" },
		{ "a: &a [x]\nb: [*a, *a]\n", "k:1: has an anchor or alias" },
		{ "a: 1\n---\nb: 1\n", "k:2: has a second document" },
	};
	struct err err;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		material_init(&material);
		assert_int_equal(kubeconfig_read(&material, str_of(cases[i][0]), "k", &err), -1);
		if (strncmp(err.text, cases[i][1], strlen(cases[i][1])) != 0)
			fail_msg("\"%s\" is not \"%s\"", err.text, cases[i][1]);
		material_free(&material);
	}
	expect(CLUSTER, USER, "current-context: w\n", "k:21: current-context: is there twice");
}

/* D1: a misspelt key is no key that may be left out, wherever it stands on the way to the user. */
static void unknown_keys_are_named_on_the_whole_way(void **state)
{
	static const char *const cases[][2] = {
		{ "current-context: a\ncontext: []\n", "k:2: context: is an unknown key; expected "
						       "clusters, users, contexts" },
		{ "current-context: a\ncontexts: [{name: a, context: {cluster: c, as: root}}]\n",
		    "k:2: contexts[0].context.as: is an unknown key; expected cluster, user and "
		    "namespace" },
		{ "current-context: a\ncontexts: [{name: a, contexts: {}}]\n",
		    "k:2: contexts[0].contexts: is an unknown key; expected name and what it "
		    "names" },
	};
	struct err err;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		material_init(&material);
		assert_int_equal(kubeconfig_read(&material, str_of(cases[i][0]), "k", &err), -1);
		if (strncmp(err.text, cases[i][1], strlen(cases[i][1])) != 0)
			fail_msg("\"%s\" is not \"%s\"", err.text, cases[i][1]);
		material_free(&material);
	}
	expect(CLUSTER, USER, "colors: 1\n", "k:21: colors: is an unknown key");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_error_text_tells_the_token),
		cmocka_unit_test(the_current_context_counts),
		cmocka_unit_test(a_client_certificate_is_decoded),
		cmocka_unit_test(json_and_crlf_are_fine),
		cmocka_unit_test(users_that_are_not_in_the_file_are_refused),
		cmocka_unit_test(clusters_that_weaken_the_check_are_refused),
		cmocka_unit_test(broken_references_are_named),
		cmocka_unit_test(unknown_keys_are_named_on_the_whole_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
