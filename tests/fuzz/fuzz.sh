#!/bin/bash
# Lets libFuzzer (clang, with ASan and UBSan) drive each fuzzer, or those named, for TIME seconds, from
# the corpus in the tree. A crash leaves its input in build/fuzz/NAME.crash/, which becomes a file
# of tests/fuzz/corpus/NAME once its cause is gone. One line each; exit 1 when one crashed.
set -u
cd "$(dirname "$0")/../.." || exit
build=${BUILD:-build}
clang=$(command -v clang-14 || command -v clang)
if ! printf 'int LLVMFuzzerTestOneInput(const char *d, long n) { return !d && n; }' |
	"${clang:-false}" -fsanitize=fuzzer -x c -o /dev/null - 2>/dev/null; then
	tools/packages.sh clang-14 libclang-rt-14-dev || exit 1
	clang=$(command -v clang-14)
fi
make --no-print-directory -s -j"$(nproc)" BUILD="$build/fuzz.clang" CC="$clang" \
	SANITIZE=fuzzer-no-link,address,undefined fuzzers >/dev/null || exit 1
failed=0
for path in tests/fuzz/*.c; do
	name=$(basename "$path" .c)
	[ "$name" != replay ] || continue
	[ $# = 0 ] || [[ " $* " = *" $name "* ]] || continue
	found=$build/fuzz/$name.found crash=$build/fuzz/$name.crash log=$build/fuzz/$name.log
	mkdir -p "$found" "$crash" "tests/fuzz/corpus/$name"
	if nice -n 19 "$build/fuzz.clang/fuzz/$name" -max_total_time="${TIME:-60}" -timeout=10 \
		-rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 -artifact_prefix="$crash/" \
		"$found" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
		echo "ok - fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in ${TIME:-60} s," \
			"$(grep -c . <(ls "$found")) found, $(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1) edges"
	else
		failed=1
		echo "not ok - fuzz $name: $(grep -m 1 -E 'ERROR|SUMMARY|deadly|runtime error' "$log"); see $log and $crash/"
	fi
done
exit $failed
