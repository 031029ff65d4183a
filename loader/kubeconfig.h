/*
 * The identity that a kubeconfig's current-context names. Only what the file itself holds counts:
 * whatever names a program, a file, a proxy or another user is refused by its key, with what to
 * write instead (F7, D6-D9). Nothing is ignored that would change who we are or whom we ask.
 */
#ifndef LOADER_KUBECONFIG_H
#define LOADER_KUBECONFIG_H

#include "loader/material.h"

/* Fills server, tls_name, ca, and token or certificate and key of an initialised material, not yet
 * checked. `file` is for messages. 0, or -1 with "FILE:LINE: KEY: what; expected ...". */
int kubeconfig_read(struct material *material, struct str text, const char *file, struct err *err);

#endif
