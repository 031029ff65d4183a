/*
 * Calls of a role to the API client that whoever plays the client does not look at: connections are
 * not played. Included by one file of a program.
 */
#ifndef TESTS_SIM_NO_DIALER_H
#define TESTS_SIM_NO_DIALER_H

#include "kube/client.h"

void kube_client_show(struct kube_client *client, unsigned target)
{
	(void)client;
	(void)target;
}

enum verdict kube_client_dialed(struct kube_client *client, const struct msg_dialed *m, int fd)
{
	(void)client;
	(void)m;
	(void)fd;
	return VERDICT_FINE;
}

void kube_client_dialer_lost(struct kube_client *client)
{
	(void)client;
}

#endif
