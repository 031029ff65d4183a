/*
 * What a role does with an identity that arrives (kube/client.h): the same few steps for each role,
 * in a file of their own because they talk to the supervisor and the monitor, which a client alone
 * does not need.
 */
#include "base/log.h"
#include "kube/internal.h"

/* STATUS_CREDENTIAL of the identity in use, or of a generation that was refused (0: none). */
static void tell(struct kube_client *client, unsigned target, uint64_t refused)
{
	struct kube_identity identity = { .generation = refused };
	struct msg_status_credential status = { .credential = target, .usable = refused == 0 };

	/* A rotation that was refused takes nothing away: the one in use is what counts. */
	if (kube_client_identity(client, target, &identity))
		status.usable = true;
	else if (refused)
		identity.generation = refused;
	else
		return;
	status.generation = identity.generation;
	status.subject = str_of(identity.subject);
	status.expires_us = identity.expires_us;
	(void)role_send(client->process, ROLE_MONITOR, 0, MSG_STATUS_CREDENTIAL, &status);
}

bool kube_client_take(struct kube_client *client, const struct msg_credential *credential)
{
	unsigned target = (unsigned)credential->target;
	struct err err = { "" };

	if (kube_client_credential(client, credential, &err)) {
		log_error("credential %s %u: %s", credential_name(target), target, err.text);
		role_credential_answer(client->process, credential, err.text);
		tell(client, target, credential->generation);
		return false;
	}
	role_credential_answer(client->process, credential, NULL);
	tell(client, target, 0);
	kube_rights_watch(client, target);
	return true;
}

void kube_client_show(struct kube_client *client, unsigned target)
{
	tell(client, target, 0);
	kube_rights_show(client, target);
}
