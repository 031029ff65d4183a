/*
 * Refusals of a start (see the header). Only reads: what it refuses it leaves as it was.
 * Pitfalls: P88, P92, P95.
 */
#include "supervisor/preconditions.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "policy/sandbox.h"
#include "policy/uids.h"

#define OURS_IN_PASSWD "_understudy-"
#define NOBODY         65534u

static bool has_effective(unsigned capability)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 }, { 0 } };

	return syscall(SYS_capget, &header, data) == 0 &&
	       (data[capability / 32].effective >> capability % 32 & 1) != 0;
}

int preconditions_check_root(struct err *err)
{
	if (geteuid() != 0)
		return err_set(err,
		    "understudyd needs root, and runs as uid %u: it starts each of its processes "
		    "under a uid of its own",
		    geteuid());
	/* Where uids cannot be changed, either, allow-missing decides, and all uids are ours. */
	if (!has_effective(CAP_KILL) && has_effective(CAP_SETUID) && has_effective(CAP_SETGID))
		return err_set(err,
		    "understudyd needs the capability CAP_KILL: it ends processes that run under "
		    "other uids");
	/* No waiver covers them (F27), and the first loader could not start. */
	if (!has_effective(CAP_SETGID) && getgroups(0, NULL) != 0)
		return err_set(err,
		    "understudyd has supplementary groups, and lacks the capability CAP_SETGID to "
		    "give them up");
	return 0;
}

int preconditions_check_protections(unsigned available, unsigned waived, struct err *err)
{
	for (unsigned bit = 1; bit <= SANDBOX_ALL; bit <<= 1) {
		bool here = (available & bit) != 0, waiver = (waived & bit) != 0;
		bool bonus = (SANDBOX_REQUIRED & bit) == 0;

		if (bonus && !waiver)
			continue;
		if (!here && !waiver)
			return err_set(err,
			    "this machine lacks the protection %s; `allow-missing: [%s]` does "
			    "without it",
			    sandbox_protection_name(bit), sandbox_protection_name(bit));
		if (!here && bonus)
			log_warn("allow-missing names %s, which may be missing anyway (a bonus)",
			    sandbox_protection_name(bit));
		else if (!here)
			log_warn("without the protection %s, as allow-missing says",
			    sandbox_protection_name(bit));
		else if (waiver)
			log_warn("allow-missing names %s, which this machine has",
			    sandbox_protection_name(bit));
	}
	return 0;
}

int preconditions_check_one_uid(unsigned available, const struct us_config *config, struct err *err)
{
	const char *text = NULL;

	if (available & SANDBOX_UID_SEPARATION)
		return 0;
	/* A workload is ended by its uid (F5), and as root it would read every credential. */
	if (config->argument_count > 0)
		text = "`workload:` needs it: a workload has a uid of its own, and is ended by it";
	/* The one role that opens files: root's, but for Landlock. */
	else if (config->mode == CONFIG_FOLLOWER)
		text = "`mode: follower` needs it: it hands files over to another uid";
	/* What is left between a role and every file of root would be one filter. */
	else if (!(available & SANDBOX_LANDLOCK_FS))
		text = "landlock-fs is missing, too, and one of both has to be there";
	return text ? err_set(err, "without the protection uid-separation: %s", text) : 0;
}

/* --- uids (F24) ------------------------------------------------------------------------------ */

static bool in_range(uint64_t id, uint32_t first)
{
	return id >= first && id < (uint64_t)first + ROLE_UID_RANGE;
}

int preconditions_check_names(FILE *file, const char *path, uint32_t first, struct err *err)
{
	char line[1024], *name, *rest, *id;
	uint64_t number;

	while (fgets(line, sizeof(line), file)) {
		rest = line;
		name = strsep(&rest, ":");
		(void)strsep(&rest, ":");
		id = strsep(&rest, ":");
		if (!id || !str_to_u64(str_of(id), &number) || !in_range(number, first) ||
		    strncmp(name, OURS_IN_PASSWD, strlen(OURS_IN_PASSWD)) == 0)
			continue;
		return err_set(err,
		    "run.uid-base: the range %u to %u holds %" PRIu64 ", which is \"%s\" in %s",
		    first, first + ROLE_UID_RANGE - 1, number, name, path);
	}
	return 0;
}

int preconditions_check_map(FILE *file, const char *path, uint32_t first, struct err *err)
{
	uint64_t inside, outside, count;

	while (fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64, &inside, &outside, &count) == 3)
		if (inside <= first && (uint64_t)first + ROLE_UID_RANGE <= inside + count)
			return 0;
	return err_set(err, "run.uid-base: %u to %u are not all mapped in %s", first,
	    first + ROLE_UID_RANGE - 1, path);
}

static int check_file(const char *path, int (*check)(FILE *, const char *, uint32_t, struct err *),
    uint32_t first, struct err *err)
{
	FILE *file = fopen(path, "re");
	int result;

	if (!file) /* A container without a passwd file has no other names. */
		return errno == ENOENT ? 0 : err_set(err, "%s: %s", path, strerror(errno));
	result = check(file, path, first, err);
	fclose(file);
	return result;
}

static uint32_t overflow_uid(void)
{
	FILE *file = fopen("/proc/sys/kernel/overflowuid", "re");
	unsigned value = NOBODY;

	if (file && fscanf(file, "%u", &value) != 1)
		value = NOBODY;
	if (file)
		fclose(file);
	return value;
}

/* Processes of a run that was killed end by themselves: they get a moment. */
static int check_processes(uint32_t first, int64_t patience_ns, struct err *err)
{
	const struct timespec moment = { .tv_nsec = 20 * BASE_NS_PER_MS };
	int64_t until_ns = base_clock_boot_ns() + patience_ns;
	struct uids_found found;

	do {
		if (uids_find(first, first + ROLE_UID_RANGE - 1, &found) != 0)
			return err_set(err, "/proc: %s", strerror(errno));
		if (found.pid == 0)
			return 0;
		(void)nanosleep(&moment, NULL);
	} while (base_clock_boot_ns() < until_ns);
	return err_set(err,
	    "run.uid-base: the range %u to %u holds %u, under which process %d (%s) runs", first,
	    first + ROLE_UID_RANGE - 1, found.uid, (int)found.pid, found.name);
}

int preconditions_check_uids(uint32_t uid_base, int64_t patience_ns, struct err *err)
{
	if (uid_base == 0 || uid_base > UINT32_MAX - ROLE_UID_RANGE || in_range(NOBODY, uid_base) ||
	    in_range(overflow_uid(), uid_base))
		return err_set(err,
		    "run.uid-base: the range %u to %u holds root, nobody or the overflow id",
		    uid_base, uid_base + ROLE_UID_RANGE - 1);
	if (check_file("/proc/self/uid_map", preconditions_check_map, uid_base, err) ||
	    check_file("/proc/self/gid_map", preconditions_check_map, uid_base, err) ||
	    check_file("/etc/passwd", preconditions_check_names, uid_base, err) ||
	    check_file("/etc/group", preconditions_check_names, uid_base, err))
		return -1;
	return check_processes(uid_base, patience_ns, err);
}
