/*
 * The four doors of a worker (C11), tried for the audit: a claim without content, its deletion, a
 * claim in the peer's name, one that goes back. Dry runs, every five minutes, and soon again while
 * one of them is open, whatever this hub is: unlike the rehearsal, which a leader does not need, an
 * audit asks at any time. It must not write, and decides nothing: the verdict goes to the monitor.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "repointer/repointer.h"

#define BODY_MAX_BYTES 4096
#define FIRST_NS       (3 * BASE_NS_PER_S)
#define AGAIN_NS       (300 * BASE_NS_PER_S)
#define SOON_NS        (5 * BASE_NS_PER_S)

static const char *const wanted[DOORS] = { "a claim without content is refused",
	"its own identity may not delete a claim", "a claim in another hub's name is refused",
	"a lower term is refused" };

static void later(struct member *member, int64_t delay_ns)
{
	delay_ns += (int64_t)(base_random_u64() % (uint64_t)(delay_ns / 4));
	loop_timer_set(role_loop(member->repointer->process), &member->doors.timer,
	    base_clock_boot_ns() + delay_ns);
}

static void tell(const struct member *member, unsigned door)
{
	const struct door *told = &member->doors.told[door];
	struct msg_status_rights message = { .row = member_target(member) * RIGHTS_CHECKS +
						    RIGHTS_CHECK_SPEC + door,
		.verdict = told->verdict,
		.declared = str_of(wanted[door]),
		.found = str_of(told->found),
		.seen_ns = (uint64_t)told->seen_ns };

	if (told->known)
		(void)role_send(
		    member->repointer->process, ROLE_MONITOR, 0, MSG_STATUS_RIGHTS, &message);
}

void doors_show(const struct member *member)
{
	for (unsigned door = 0; door < DOORS; door++)
		tell(member, door);
}

static void ask(struct member *member);

/* Was any of them, when it was tried last? */
static bool is_open(const struct member *member)
{
	for (unsigned door = 0; door < DOORS; door++)
		if (member->doors.told[door].verdict == RIGHTS_DIFFER)
			return true;
	return false;
}

static void conclude(struct member *member, enum rights_verdict verdict, const char *found)
{
	struct door *told = &member->doors.told[member->doors.door];

	told->known = true;
	told->verdict = verdict;
	told->seen_ns = base_clock_boot_ns();
	(void)snprintf(told->found, sizeof(told->found), "%s", found);
	tell(member, member->doors.door);
	if (++member->doors.door < DOORS)
		ask(member);
	else /* A claim may come any moment where none stands yet; and who shuts a door. */
		later(member, member->view.exists && member->view.term >= 2 && !is_open(member)
				  ? AGAIN_NS
				  : SOON_NS);
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct member *member = arg;
	enum rights_verdict verdict = worker_door(RIGHTS_CHECK_SPEC + member->doors.door, answer);
	char found[256];

	member->doors.id = 0;
	if (answer->class == KUBE_OK)
		(void)snprintf(found, sizeof(found), "not refused");
	else
		(void)snprintf(found, sizeof(found), "%s: %.200s", kube_class_name(answer->class),
		    answer->message);
	conclude(member, verdict, found);
}

static void ask_claim(struct member *member, bool in_peers_name)
{
	const struct repointer *repointer = member->repointer;
	const struct us_config *config = role_config(repointer->process);
	uint64_t stands = member->view.exists ? member->view.term : 0;
	struct buf body = buf_make(BODY_MAX_BYTES);

	if (in_peers_name && config->hub_count == 2)
		rehearse_put_claim(repointer,
		    config_text_at(config, config->hubs[1 - config->self].name),
		    stands + 1 + (stands + 1 + config_slot(config)) % 2, &body);
	else if (!in_peers_name && stands >= 2)
		rehearse_put_claim(repointer, repointer->self, stands - 1, &body);
	if (body.len && !body.failed)
		member->doors.id = member_ask(member, KUBE_PATCH_APPLY, REPOINTER_OBJECT,
		    "fieldManager=" REPOINTER_MANAGER "&force=true&dryRun=All", buf_str(&body),
		    OTHER_REQUEST_MS, on_answer);
	else
		conclude(member, RIGHTS_UNKNOWN,
		    in_peers_name ? "there is no other hub whose name could be tried"
				  : "no claim stands that could go back");
	buf_free(&body);
}

static void ask(struct member *member)
{
	switch (RIGHTS_CHECK_SPEC + member->doors.door) {
	case RIGHTS_CHECK_SPEC:
		if (member->view.exists)
			member->doors.id = member_ask(member, KUBE_PATCH_JSON, REPOINTER_OBJECT,
			    "dryRun=All", STR_LIT("[{\"op\":\"remove\",\"path\":\"/spec\"}]"),
			    OTHER_REQUEST_MS, on_answer);
		else
			member->doors.id = member_ask(member, KUBE_PATCH_APPLY, REPOINTER_OBJECT,
			    "fieldManager=" REPOINTER_MANAGER "&force=true&dryRun=All",
			    STR_LIT("{\"apiVersion\":\"ha.kubeslice.io/v1alpha1\",\"kind\":"
				    "\"ClusterController\",\"metadata\":{\"name\":\"active\"}}"),
			    OTHER_REQUEST_MS, on_answer);
		break;
	case RIGHTS_CHECK_DELETE:
		member->doors.id = member_ask(member, KUBE_DELETE, REPOINTER_OBJECT, "dryRun=All",
		    STR_LIT(""), OTHER_REQUEST_MS, on_answer);
		break;
	case RIGHTS_CHECK_IDENTITY: ask_claim(member, true); break;
	case RIGHTS_CHECK_TERM: ask_claim(member, false); break;
	default: break;
	}
}

static void on_timer(void *arg, int64_t now_ns)
{
	struct member *member = arg;

	(void)now_ns;
	later(member, member->view.known ? AGAIN_NS : FIRST_NS);
	if (!member->view.known || member->doors.id)
		return;
	member->doors.door = 0;
	ask(member);
}

void doors_soon(struct member *member)
{
	member->doors.timer.fire = on_timer;
	member->doors.timer.arg = member;
	later(member, FIRST_NS);
}
