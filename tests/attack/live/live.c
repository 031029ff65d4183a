/*
 * What hostile roles on a running pair share (see live.h). Reads one file, before any lock.
 */
#include "tests/attack/live/live.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/attack/attack.h"

bool orders_read(const char *name, struct orders *orders)
{
	char self[PATH_MAX], path[PATH_MAX + 64], line[128];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	unsigned long long number = 0, seed = 1;
	char *slash;
	FILE *file;
	int got = 0;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	(void)snprintf(path, sizeof(path), "%s/orders/%s", self, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(line, sizeof(line), file))
		got = sscanf(line, "%31s %llu %llu", orders->word, &number, &seed);
	fclose(file);
	orders->number = number;
	orders->seed = seed ? seed : 1;
	return got > 0;
}

bool live_send(struct link *link, enum message_id id)
{
	static char bytes[MESSAGE_MAX_BYTES];
	size_t n = packet_bytes(id, bytes, sizeof(bytes));

	return send(link->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n;
}

uint32_t live_random(uint64_t *seed, uint32_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (uint32_t)(*seed >> 16) % below;
}
