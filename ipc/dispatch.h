/*
 * Declares the handlers of one role and builds its dispatcher, for inclusion by that role's
 * messages.c after
 *	#define DISPATCH_ROLE    ROLE_OBSERVER
 *	#define DISPATCH_PREFIX  observer
 *	#define DISPATCH_CONTEXT struct observer
 * It expands to `observer_dispatch`, an on_message for struct role_ops. For each message that the
 * role may receive a handler
 *	enum verdict observer_on_<name>(struct observer *, const struct link *from,
 *	    const struct msg_<name> *, int fd);
 * must exist, else the link fails; the fd (-1: none) belongs to the handler. Sender, state of the
 * link and bounds are already checked.
 */
#include "ipc/link.h"
#include "ipc/messages.h"

#define DISPATCH_JOIN_(a, b)   a##b
#define DISPATCH_JOIN(a, b)    DISPATCH_JOIN_(a, b)
#define DISPATCH_HANDLER(name) DISPATCH_JOIN(DISPATCH_PREFIX, _on_##name)

#define MESSAGE(ID, name, ...)                                                                     \
	enum verdict DISPATCH_HANDLER(name)(                                                       \
	    DISPATCH_CONTEXT *, const struct link *, const struct msg_##name *, int);
#include "ipc/messages.def"

/* CREDENTIAL comes by the loader's own link to role_ops.on_credential, never here. */
#define DISPATCH_TAKES(ID, to) (((to)&ROLE_BIT(DISPATCH_ROLE)) != 0 && MSG_##ID != MSG_CREDENTIAL)
/* __builtin_choose_expr: a handler for a message that this role never gets is not even named. */
#define MESSAGE(ID, name, from, to, ...)                                                           \
	case MSG_##ID:                                                                             \
		return __builtin_choose_expr(DISPATCH_TAKES(ID, to), DISPATCH_HANDLER(name),       \
		    link_refuse)(context, link, &message->name, fd);

static enum verdict DISPATCH_JOIN(DISPATCH_PREFIX, _dispatch)(
    void *opaque, const struct link *link, const struct message *message, int fd)
{
	DISPATCH_CONTEXT *context = opaque;

	switch (message->id) {
#include "ipc/messages.def"
	case MSG_COUNT: break;
	}
	return VERDICT_PEER_BROKEN;
}
