/*
 * Goal: no input of the corpus crashes its parser, in the build that everybody makes. Method: each
 * file named on the command line is given to the fuzzer's function, then each of its beginnings
 * that ends where a length or a bracket might.
 */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define MOST_BYTES (1 << 20)

int main(int argc, char **argv)
{
	static uint8_t bytes[MOST_BYTES];

	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		size_t n;

		if (!file) {
			perror(argv[i]);
			return 1;
		}
		n = fread(bytes, 1, sizeof(bytes), file);
		(void)fclose(file);
		for (size_t cut = 0; cut <= n; cut += cut < 256 ? 1 : n / 64 + 1) {
			uint8_t *copy = malloc(cut ? cut : 1); /* so that a tool sees its end */

			MUST(copy);
			memcpy(copy, bytes, cut);
			(void)LLVMFuzzerTestOneInput(copy, cut);
			free(copy);
		}
		(void)LLVMFuzzerTestOneInput(bytes, n);
	}
	return 0;
}
