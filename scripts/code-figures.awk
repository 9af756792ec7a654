# SPDX-License-Identifier: GPL-3.0-or-later
# Read what c-size.awk prints with describe=1; print the figures of scripts/code-figures, or with list the
# functions that one of them counts.

# Not functions with names of their own: macros that define functions, and each program's main.
$1 == "function" && ($4 == "main" || $4 !~ /[a-z]/) { next }

$1 == "function" {
	where[++functions] = $2 ":" $3
	name[functions] = $4
	file[functions] = $2
	is_static[functions] = $5 == "static"
	parameters[functions] = $6
	complexity[functions] = $7
	defined[$4]++
	next
}

$1 == "code" {
	text = $0
	sub(/^code [^ ]* /, "", text)
	while (match(text, /[A-Za-z_][A-Za-z0-9_]*/)) {
		uses[$2, substr(text, RSTART, RLENGTH)]++
		text = substr(text, RSTART + RLENGTH)
	}
}

END {
	for (i = 1; i <= functions; i++) {
		static_functions += is_static[i]
		# Its definition is one use; a declaration before it would be another.
		if (is_static[i] && uses[file[i], name[i]] == 2) {
			once++
			say("once", i, "")
		}
		if (defined[name[i]] > 1) {
			sharing++
			shared += !seen[name[i]]++
			say("shared", i, "")
		}
		if (parameters[i] > 6) {
			many++
			say("parameters", i, parameters[i])
		}
		if (complexity[i] > 15)
			say("complexity", i, complexity[i])
		if (complexity[i] > greatest)
			greatest = complexity[i]
	}
	if (list != "none")
		exit
	printf "%d functions, %d of them static; %d static functions with one use (%.0f %%)\n", functions, static_functions, once,
		100 * once / static_functions
	printf "%d names shared by %d functions\n", shared, sharing
	printf "%d functions with more than 6 parameters\n", many
	printf "%d is the greatest complexity\n", greatest
}

function say(figure, i, value)
{
	if (list == figure)
		print name[i], where[i], value
}
