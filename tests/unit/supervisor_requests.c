/*
 * Goal: the matrix of who may say what to root, in which state, cell by cell against a second
 * writing of it (sandbox-rules 4). Method: pure calls over every type, role and state.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/requests.h"

static bool is_verified(enum process_state state)
{
	return state == PROCESS_RUNNING || state == PROCESS_LEAVING;
}

static bool expected(unsigned type, enum role role, enum process_state state)
{
	bool elector = role == ROLE_ELECTOR, kube = (ROLE_BIT(role) & ROLE_KUBE) != 0;

	if (role == ROLE_SUPERVISOR || state == PROCESS_NONE || state == PROCESS_WAITING)
		return false;
	switch (type) {
	case CONTROL_HELLO: return state == PROCESS_STARTED;
	case CONTROL_READY: return state == PROCESS_GREETED;
	case CONTROL_EXITING: return true;
	case CONTROL_LOADED: return role == ROLE_LOADER && state == PROCESS_RUNNING;
	case CONTROL_BEAT: return is_verified(state);
	case CONTROL_LINK_CUT:
	case CONTROL_ACCUSE:
		return is_verified(state) && role != ROLE_LOADER && role != ROLE_RUNNER;
	case CONTROL_CRED_ACK:
	case CONTROL_CRED_NACK: return is_verified(state) && kube;
	case CONTROL_START_SYNCER:
	case CONTROL_STOP_SYNCER:
	case CONTROL_RUN:
	case CONTROL_STOP_RUN:
	case CONTROL_LEADING: return is_verified(state) && elector;
	case CONTROL_WORKLOAD_SEEN: return is_verified(state) && role == ROLE_RUNNER;
	default: return false; /* What only the supervisor says, and what nobody does. */
	}
}

static void every_cell_of_the_matrix(void **state)
{
	unsigned allowed = 0;

	(void)state;
	for (unsigned type = 0; type <= UINT16_MAX; type++)
		for (unsigned role = 0; role < ROLE_COUNT; role++)
			for (unsigned s = PROCESS_NONE; s <= PROCESS_LEAVING; s++) {
				bool may = requests_permitted((uint16_t)type, role, s);

				assert_int_equal(may, expected(type, role, s));
				allowed += may;
			}
	assert_true(allowed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell_of_the_matrix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
