/*
 * Each word of an operator in each state: every way for a pair to change its leader, every command,
 * before and after what a hub does as it enters each state or as its Lease shows each phase. The
 * schedules are numbered, so that one can be replayed like a seed. Called by chaos.c and main.c.
 */
#include <string.h>

#include "tests/sim/world.h"

#define AT S(10) /* when the pair is disturbed */

static const struct {
	enum verb verb;
	int64_t number;
} words[] = { { VERB_SWITCHOVER, 0 }, { VERB_CALL_OFF, 0 }, { VERB_PROMOTE, 0 }, { VERB_FORCE, 0 },
	{ VERB_FORCE, 1 }, { VERB_HOLD, S(25) }, { VERB_LET, 0 }, { VERB_ACKNOWLEDGE, 0 },
	{ VERB_ACCEPT, 0 } };
#define WORDS (sizeof(words) / sizeof(words[0]))

static const int64_t delays[] = { 0, MS(1), MS(300) };
#define DELAYS  (sizeof(delays) / sizeof(delays[0]))
#define MOMENTS (1 + STATE_COUNT + 5) /* while all is well; states; phases of the own Lease */

static void add(struct schedule *s, int64_t at, enum verb verb, unsigned a, unsigned b, int64_t n)
{
	if (s->fault_count < MAX_FAULTS)
		s->faults[s->fault_count++] = (struct fault){
			.at = at, .verb = verb, .a = (uint8_t)a, .b = (uint8_t)b, .number = n
		};
}

static void fails_over(struct schedule *s)
{
	add(s, AT, VERB_REBOOT, 0, 0, 0);
	add(s, AT + S(45), VERB_START, 0, 0, 0);
}

static void switches_over(struct schedule *s)
{
	add(s, AT, VERB_SWITCHOVER, 0, 0, 0);
	add(s, AT + S(30), VERB_SWITCHOVER, 1, 0, 0);
}

/* The switchover is not taken: its time runs out, the lead is taken back. */
static void is_not_taken(struct schedule *s)
{
	add(s, AT - S(1), VERB_SYNCER, 1, 0, 1);
	add(s, AT, VERB_SWITCHOVER, 0, 0, 0);
	add(s, AT + S(12), VERB_SYNCER, 1, 0, 0);
	add(s, AT + S(20), VERB_SWITCHOVER, 0, 0, 0);
	add(s, AT + S(20) + MS(30), VERB_PAUSE, 1, 0, S(12));
}

static void loses_its_server(struct schedule *s)
{
	add(s, AT, VERB_DOWN, 0, 0, 0);
	add(s, AT + S(40), VERB_UP, 0, 0, 0);
}

static void lapses(struct schedule *s)
{
	add(s, AT, VERB_HANG, 0, 0, 0);
	add(s, AT + S(12), VERB_UP, 0, 0, 0);
}

static void is_held(struct schedule *s)
{
	add(s, AT, VERB_CUT, 0, 1, 0);
	add(s, AT, VERB_CUT, 1, 0, 0);
	add(s, AT, VERB_CUT, 0, 0, 0);
	add(s, AT + S(50), VERB_JOIN, 0, 0, 0);
	add(s, AT + S(65), VERB_JOIN, 0, 1, 0);
	add(s, AT + S(65), VERB_JOIN, 1, 0, 0);
}

static void both_restart(struct schedule *s)
{
	add(s, AT, VERB_REBOOT, 0, 0, 0);
	add(s, AT + S(30), VERB_REBOOT, 1, 0, 0);
	add(s, AT + S(35), VERB_START, 0, 0, 0);
	add(s, AT + S(50), VERB_START, 1, 0, 0);
}

static void waits_for_a_word(struct schedule *s)
{
	s->setup.manual = true;
	fails_over(s);
	add(s, AT + S(30), VERB_PROMOTE, 1, 0, 0);
}

static void is_blocked(struct schedule *s)
{
	s->setup.block_ns = S(30);
	fails_over(s);
	add(s, AT + S(52), VERB_STOP, 1, 0, 0);
	add(s, AT + S(90), VERB_START, 1, 0, 0);
}

static void gets_another_peer(struct schedule *s)
{
	add(s, AT, VERB_REPLACE, 0, 0, 1);
	add(s, AT + S(20), VERB_ACCEPT, 1, 0, 0);
	add(s, AT + S(25), VERB_REPLACE, 0, 0, 0);
	add(s, AT + S(40), VERB_ACCEPT, 1, 0, 0);
}

static void claims_anew(struct schedule *s)
{
	add(s, AT, VERB_ROGUE, HUBS, 0, 100);
	s->chaos_ends = AT + S(320);
}

static void exits(struct schedule *s)
{
	add(s, AT, VERB_CLASH, 1, 0, 1);
	add(s, AT, VERB_CLASH, 0, 0, 1);
	add(s, AT + S(5), VERB_KILL, 0, 0, 0);
	add(s, AT + S(20), VERB_CLASH, 1, 0, 0);
	add(s, AT + S(20), VERB_CLASH, 0, 0, 0);
}

static void (*const ways[])(struct schedule *) = { fails_over, switches_over, is_not_taken,
	loses_its_server, lapses, is_held, both_restart, waits_for_a_word, is_blocked,
	gets_another_peer, claims_anew, exits };
#define WAYS (sizeof(ways) / sizeof(ways[0]))

uint64_t sweep_count(void)
{
	return WAYS * WORDS * MOMENTS * DELAYS * HUBS;
}

static void sort(struct schedule *s)
{
	for (unsigned i = 1; i < s->fault_count; i++)
		for (unsigned j = i; j && s->faults[j].at < s->faults[j - 1].at; j--) {
			struct fault swap = s->faults[j];

			s->faults[j] = s->faults[j - 1];
			s->faults[j - 1] = swap;
		}
}

void sweep_make(struct schedule *schedule, uint64_t number)
{
	unsigned way = (unsigned)(number % WAYS), word = (unsigned)(number / WAYS % WORDS);
	unsigned moment = (unsigned)(number / WAYS / WORDS % MOMENTS);
	unsigned delay = (unsigned)(number / WAYS / WORDS / MOMENTS % DELAYS);
	struct fault fault = { .at = AT - S(1),
		.when_node = (uint8_t)(number / WAYS / WORDS / MOMENTS / DELAYS % HUBS),
		.delay = delays[delay],
		.verb = words[word].verb,
		.number = words[word].number };

	memset(schedule, 0, sizeof(*schedule));
	schedule->setup = (struct setup){ .seed = SWEEP | number,
		.workers = 2,
		.workload = number % 2,
		.active = { true, false },
		.rate_ppm = { 1000000, 1000000, 1000000 },
		.follower = { FOLLOWER_ALIVE, FOLLOWER_ALIVE, FOLLOWER_NONE } };
	schedule->chaos_ends = AT + S(100);
	add(schedule, 0, VERB_START, 0, 0, 0);
	add(schedule, 0, VERB_START, 1, 0, 0);
	ways[way](schedule);
	fault.a = fault.when_node;
	if (moment > STATE_COUNT) {
		fault.when = WHEN_APPLIED;
		fault.when_what = (uint8_t)(moment - STATE_COUNT - 1);
	} else if (moment > 0) {
		fault.when = WHEN_STATE;
		fault.when_what = (uint8_t)(moment - 1);
	}
	schedule->faults[schedule->fault_count++] = fault;
	sort(schedule);
}
