/*
 * Goal: no packet of a hostile role crashes the scan or the decoder, and what is decoded is in its
 * bounds: it can be encoded again, to the same bytes. Whoever gets it has no other check.
 */
#include <string.h>

#include "ipc/messages.h"
#include "ipc/scan.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str packet = { (const char *)data, size };
	struct message message;
	struct buf again = buf_make(MESSAGE_MAX_BYTES);
	struct err err;

	(void)scan_packet(packet, &err);
	if (message_decode(packet, &message, &err) == 0) {
		struct message twice;

		MUST(scan_packet(packet, &err) == 0);
		MUST(message_encode(message.id, &message.credential, &again, &err) == 0);
		MUST(message_decode(buf_str(&again), &twice, &err) == 0);
		MUST(twice.id == message.id);
		(void)message_wants_fd(&message);
	}
	buf_free(&again);
	return 0;
}
