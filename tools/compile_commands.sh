#!/bin/sh
# Prints compile_commands.json for editors and clang-tidy: COMPILER-AND-FLAGS FILE...
command=$1
shift
# clang-tidy of Debian 12 does not know this flag of gcc.
command=$(printf '%s' "$command" | sed 's/-ftrivial-auto-var-init=zero//')
directory=$(pwd)
separator=
echo '['
for file; do
	printf '%s{"directory": "%s", "command": "%s -c %s", "file": "%s"}' \
		"$separator" "$directory" "$command" "$file" "$file"
	separator=',
'
done
printf '\n]\n'
