/*
 * For a world in the place of kube/client.c whose watches are never told of another identity: they
 * wait their time. Included once in a program.
 */
#ifndef TESTS_SIM_NO_RENEWAL_H
#define TESTS_SIM_NO_RENEWAL_H

#include "kube/client.h"

void kube_client_on_renewal(struct kube_client *client, struct kube_renewal *renewal)
{
	(void)client;
	(void)renewal;
}

void kube_client_off_renewal(struct kube_client *client, struct kube_renewal *renewal)
{
	(void)client;
	(void)renewal;
}

#endif
