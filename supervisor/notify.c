/*
 * Tells the service manager how we are (see the header). Never blocks, never fails anything.
 * Pitfall: P16.
 */
#include "supervisor/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"

void notify_open(struct notify *notify)
{
	const char *path = getenv("NOTIFY_SOCKET"), *watchdog = getenv("WATCHDOG_USEC");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	uint64_t us;

	*notify = (struct notify){ .fd = -1 };
	if (n == 0)
		return;
	if (n >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@')) {
		log_warn("NOTIFY_SOCKET is no socket address: nothing will be notified");
		return;
	}
	memcpy(address.sun_path, path, n);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (notify->fd >= 0 && connect(notify->fd, (struct sockaddr *)&address,
				   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) != 0) {
		close(notify->fd);
		notify->fd = -1;
	}
	if (notify->fd < 0)
		log_warn("NOTIFY_SOCKET %s does not answer: nothing will be notified", path);
	else if (watchdog && str_to_u64(str_of(watchdog), &us) && us < INT64_MAX / 1000)
		notify->watchdog_ns = (int64_t)us * 1000 / 2;
}

void notify_send(struct notify *notify, const char *format, ...)
{
	char text[512];
	va_list arguments;
	int n;

	if (notify->fd < 0)
		return;
	va_start(arguments, format);
	n = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (n > 0)
		(void)!send(notify->fd, text,
		    (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

void notify_role(struct notify *notify, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(notify->role, sizeof(notify->role), format, arguments);
	va_end(arguments);
	notify_send(notify, "STATUS=%s", notify->role);
}

void notify_reloaded(struct notify *notify, const char *text)
{
	notify_send(
	    notify, "READY=1\nSTATUS=%s%s%s", notify->role, notify->role[0] ? "; " : "", text);
}

int64_t notify_watchdog(struct notify *notify, bool fresh, int64_t now_ns)
{
	if (notify->fd < 0 || notify->watchdog_ns == 0)
		return INT64_MAX;
	if (now_ns >= notify->watchdog_at_ns) {
		if (fresh)
			notify_send(notify, "WATCHDOG=1");
		notify->watchdog_at_ns = now_ns + notify->watchdog_ns;
	}
	return notify->watchdog_at_ns;
}
