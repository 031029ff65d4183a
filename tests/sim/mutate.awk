# Lists or makes single changes to one source file. Goal: each change is one mistake that a person
# could make. Method: by line, on what the line looks like; `-v pick=N` prints the whole file with
# change N made and its name on standard error, without it the number of changes is printed.
#
#   rows of the table   dropped; guard dropped; guard negated; one action dropped; order swapped
#   everything else     > for >=, && for ||, == for !=, a negation dropped, an assignment dropped

function offer(name, line) {
	count++
	if (count == pick) {
		print FILENAME ":" FNR ": " name ": " trimmed($0) >"/dev/stderr"
		made = 1
		return line
	}
	return ""
}

function trimmed(text) {
	gsub(/^[ \t]+/, "", text)
	gsub(/[ \t]+/, " ", text)
	return text
}

BEGIN {
	operator_count = split(">= > <= < && || == !=", from, " ")
	split("> >= < <= || && != ==", to, " ")
}

# One nanosecond more or less is seen by nobody.
function unseen(operator, line) {
	return operator ~ /^[<>]=?$/ && line ~ /_ns|NS_PER|_NS/
}

# Each operator of the line in turn.
function operators(line,    i, at, start, result) {
	for (i = 1; i <= operator_count; i++) {
		start = 1
		while ((at = index(substr(line, start), " " from[i] " ")) > 0) {
			at += start - 1
			start = at + 1
			if (unseen(from[i], line))
				continue
			result = offer(from[i] " is " to[i],
				substr(line, 1, at) to[i] substr(line, at + 1 + length(from[i])))
			if (result != "")
				return result
		}
		# at the end of a line that goes on in the next one
		if (!unseen(from[i], line) && length(line) > length(from[i]) && substr(line, length(line) - length(from[i])) == " " from[i]) {
			result = offer(from[i] " is " to[i], substr(line, 1, length(line) - length(from[i])) to[i])
			if (result != "")
				return result
		}
	}
	return ""
}

function row(line,    guard, before, behind, result, actions, n, list, i, k, kept) {
	result = offer("row dropped", "/* dropped */")
	if (result != "")
		return result
	if (match(line, /, [a-z_0-9]+, (R\(|REPLICAS_)/)) {
		guard = substr(line, RSTART + 2)
		sub(/,.*/, "", guard)
		before = substr(line, 1, RSTART + 1)
		behind = substr(line, RSTART + 2 + length(guard))
		result = offer("guard dropped", before "NULL" behind)
		if (result != "")
			return result
		result = offer("guard negated", before "negated" behind)
		if (result != "") {
			negated = guard
			return result
		}
	}
	if (match(line, /DO\([a-z_0-9, ]+\)/) || match(line, /\{ act_[a-z_0-9, ]+ \}/)) {
		actions = substr(line, RSTART, RLENGTH)
		before = substr(line, 1, RSTART - 1)
		behind = substr(line, RSTART + RLENGTH)
		gsub(/DO\(|[{} )]/, "", actions)
		n = split(actions, list, ",")
		for (i = 1; i <= n; i++) {
			kept = ""
			for (k = 1; k <= n; k++)
				if (k != i)
					kept = kept (kept == "" ? "" : ", ") list[k]
			result = offer(list[i] " dropped", before "{ " (kept == "" ? "NULL" : kept) " }" behind)
			if (result != "")
				return result
		}
	}
	return ""
}

# A row that only says something may stand before or behind another one.
function remark(line) {
	return line ~ /(NOTHING|\{ NULL \}), STAY/ && line !~ /R\(NONE\)|REASON_NONE/
}

# Two rows that act and stay are taken one after the other in the same step, in either order; of two
# commands each asks for its own word.
function either(line, other) {
	return (line ~ /act_.*STAY/ && other ~ /act_.*STAY/) || (line ~ /ON\(COMMAND\)/ && other ~ /ON\(COMMAND\)/)
}

# States and facts of a row.
function head(line,    fields) {
	split(line, fields, ", ")
	return fields[1] ", " fields[2]
}

{ lines[FNR] = $0 }

# Rows that cannot happen are there for the day on which they do.
/^\{ .*\},$/ && !/cannot happen/ {
	result = row($0)
	if (result != "")
		lines[FNR] = result
	if (FNR > 1 && lines[FNR - 1] ~ /^\{ / && head($0) == head(lines[FNR - 1]) && !remark($0) && !remark(lines[FNR - 1]) && !either($0, lines[FNR - 1])) {
		result = offer("swapped with the row before", "x")
		if (result != "") {
			swap = lines[FNR - 1]
			lines[FNR - 1] = $0
			lines[FNR] = swap
		}
	}
	next
}

/^[ \t]*(\/?\*|#|\{)/ || /^[^\t]/ || /CHECK\(/ { next }

{
	result = operators($0)
	if (result != "")
		lines[FNR] = result
}

/return ![a-z]/ {
	line = $0
	sub(/return !/, "return ", line)
	result = offer("negation dropped", line)
	if (result != "")
		lines[FNR] = result
}

/^\t+([mr]|item|engine)->[a-z_.]+ \|?&?=.*;( \/\*.*\*\/)?$/ {
	result = offer("assignment dropped", "\t;")
	if (result != "")
		lines[FNR] = result
}

END {
	if (!pick) {
		print count + 0
		exit
	}
	for (i = 1; i <= FNR; i++) {
		if (negated != "" && match(lines[i], /^static const struct [a-z]+_row table/)) {
			machine = "const struct " substr(lines[i], 21, RLENGTH - 30)
			print "static bool negated(" machine " *m, " machine "_step *s)\n{\n\treturn !" negated "(m, s);\n}\n"
		}
		print lines[i]
	}
}
