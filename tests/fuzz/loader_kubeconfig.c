/*
 * Goal: no kubeconfig, certificate, key or token crashes the loader, and an identity that passes is
 * whole: a server, a CA, and a token or a certificate with its key.
 */
#include <string.h>

#include "loader/kubeconfig.h"
#include "loader/pem.h"
#include "tests/fuzz/fuzz.h"

#define NOW_US 1800000000000000LL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool begun;
	struct str text = { (const char *)data, size };
	struct material material;
	struct err err;

	if (!begun)
		pem_begin();
	begun = true;
	material_init(&material);
	if (kubeconfig_read(&material, text, "f", &err) == 0 &&
	    material_check(&material, NOW_US, &err) == 0) {
		MUST(*material.server.host && material.server.port);
		MUST(material.ca.bytes.len);
		MUST(material.token.bytes.len ||
		     (material.certificate.bytes.len && material.key.bytes.len));
		(void)material_fingerprint(&material, 1);
		(void)material_public_print(&material);
	}
	material_free(&material);
	/* The same bytes as a CA and as a token. */
	material_init(&material);
	if (size && material_take(&material.ca, text, "c", &err) == 0 &&
	    material_take(&material.token, text, "t", &err) == 0)
		(void)material_check(&material, NOW_US, &err);
	material_free(&material);
	return 0;
}
