#!/bin/bash
# Goal: each invariant of the simulator can fail. Method: for each, one change of the machine or of the
# model that breaks just what it says; the stories or schedules must end with that sentence. Part of
# `make mutants`. SEEDS=N schedules each at most.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
work=$build/canfail
failed=0
mkdir -p "$work"

objects_without() { # OBJECT: all of the simulator but this one
	find "$build"/obj/tests/sim -maxdepth 1 -name '*.o' ! -name 'worker*'
	find "$build"/obj/elector \( -name 'machine*.o' -o -name terms.o -o -name trace.o \)
}

# Breaks FILE by the sed EXPRESSION; one of the sentences that come out must be SENTENCE.
breaks() { # SENTENCE FILE EXPRESSION
	local object=$build/obj/${2%.c}.o output
	sed -E "$3" "$2" >"$work/changed.c"
	if cmp -s "$2" "$work/changed.c"; then
		failed=1
		echo "not ok - $1: nothing in $2 is changed any more"
		return
	fi
	# shellcheck disable=SC2046
	if ! gcc -std=gnu11 -D_GNU_SOURCE -I. -O1 -w -c "$work/changed.c" -o "$work/changed.o" ||
		! gcc -pie -o "$work/sim" "$work/changed.o" $(objects_without | grep -vxF "$object") "$build"/libbase.a; then
		failed=1
		echo "not ok - $1: the change to $2 does not build"
		return
	fi
	output=$( (ulimit -t 20 && exec "$work/sim" --out "$work" --jobs 1 --seeds "${SEEDS:-1500}" tests/sim/stories/*.story) 2>/dev/null)
	if grep -q "broken: .*$1" <<<"$output"; then
		echo "ok - $1 can fail"
	else
		failed=1
		echo "not ok - $1 can fail: $(grep -m 2 -o 'broken: .*' <<<"$output" | tr '\n' ' ')"
	fi
}

breaks 'I1 page_ends_with_the_last_applied_renewal' elector/machine_facts.c \
	's/m->valid_until_ns = sent->sent_ns \+/m->valid_until_ns = step->now_ns +/'
breaks 'I1 validity_belongs_to_a_claim' elector/machine_acts.c \
	'/^void act_close/,/^}/s/m->valid_until_ns = 0;//'
breaks 'the_page_is_open_in_active_alone' elector/machine_acts.c \
	'/^void act_close/,/^}/s/m->page_open = false;//'
breaks 'I2 no_two_pages_open' elector/machine_watch.c \
	's/now_ns >= threshold_at_ns\(m\) \&\&/now_ns >= m->watch_ns + 4 * NS_PER_S \&\&/'
breaks 'I3 workers_get_terms_that_were_led' tests/sim/api.c \
	's/r->led_term < api->term \|\|/false ||/'
breaks 'I4 terms_are_of_the_hub_and_new' elector/terms.c \
	's/if \(term % 2 != slot\)/if (false)/'
breaks 'I4 taken_term_is_above_all_seen' elector/machine_guards.c \
	's/highest = m->term > m->peer.term \? m->term : m->peer.term/highest = m->term/'
breaks 'H10 terms_of_a_lease_never_fall' elector/machine_acts.c \
	's/want == WANT_LEADING \? m->term : m->led_term;/want == WANT_LEADING ? m->term : 0;/'
breaks 'I5 higher_claim_closes_the_page' elector/machine.c \
	's/\{ IN\(OPENING\) \| IN\(ACTIVE\) \| IN\(DRAIN\), READ_OK, peer_took_over/{ IN(OPENING), READ_OK, peer_took_over/'
breaks 'I5 superseded_term_never_opens' elector/machine.c \
	's/(peer_took_over, R\(PEER_TOOK_OVER\), DO\(act_close\), )STATE_YIELD/\1STATE_RECOVER/'
breaks 'I6 syncer_is_gone_while_the_page_is_open' elector/machine_guards.c \
	's/return m->syncer == SYNCER_OFF && s->now_ns >= m->syncer_clear_ns;/return true;/'
breaks 'I6 mirror_never_writes_beside_an_open_page' tests/sim/api.c \
	's/take = world_latency\(w, r->node, r->api\);/take = world_latency(w, r->node, r->api) + (r->ask == ASK_MIRROR ? S(1) : 0);/; s/if \(!api->unfenced \&\&/if (false \&\&/; s/if \(r->ask == ASK_MIRROR \&\&/if (false \&\&/'
breaks 'I7 newest_content_leads' tests/sim/api.c \
	's/store->data_led = led;/;/'
breaks 'I7 content_is_as_new_as_workers_say' elector/machine_guards.c \
	's/return !read_since && m->worker_term > m->peer.led_term/return false/'
breaks 'C13 switchover_loses_no_write' elector/machine_handover.c \
	's/barrier_answered\(m, m->barrier, ACK_DECLINED\);/barrier_answered(m, m->barrier, ACK_SYNCED);/; s/if \(m->granted\)/if (false)/'
breaks 'I8 mirror_follows_a_later_leader' elector/machine_guards.c \
	'/^bool mirror_wanted/,/^}/s/m->peer.led_term > m->led_term/true/'
breaks 'I10 no_claim_stands_in_standby' elector/machine_guards.c \
	'/^GUARD\(released\)/,/^}/s/return !m->lease_busy/return true || !m->lease_busy/'
breaks 'M2 who_gave_up_waits_two_seconds' elector/machine_acts.c \
	'/^void act_abort/,/^}/s/s->now_ns \+ back_ns/s->now_ns/'
breaks 'B15 a_command_is_taken_when_its_checks_pass' elector/machine_handover.c \
	's/if \(!checks\[i\].ok\)/if (false)/'
breaks 'I12 exactly_one_leads' elector/machine_watch.c \
	's/^\treturn m->reads >= 3 && machine_watched/\treturn false \&\& machine_watched/'
breaks 'I12 the_other_stands_by' elector/machine.c \
	's/^\{ IN\(YIELD\), ON\(TIME\), released.*$//'
breaks 'I12 the_mirror_is_complete' elector/machine_acts.c \
	'/^void act_mirror/,/^}/s/todo\(s, TODO_SYNCER_START\);//'
breaks 'I12 hub_roles_agree' elector/machine_guards.c \
	's/^\tcase STATE_ACTIVE: return HUB_LEADING;/\tcase STATE_ACTIVE: return HUB_STANDBY;/'
exit "$failed"
