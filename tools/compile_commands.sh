#!/bin/sh
# Prints compile_commands.json for editors and clang-tidy: COMPILER-AND-FLAGS FILE...
command=$1
shift
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
