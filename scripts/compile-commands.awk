# SPDX-License-Identifier: GPL-3.0-or-later
# Read the commands that make would run; print those that compile a .c file as the JSON array of clang's
# compile_commands.json. dir is the directory that they run in.

BEGIN { print "[" }

/ -c -o [^ ]* [^ ]*\.c$/ {
	file = $NF
	command = $0
	gsub(/\\/, "\\\\", command)
	gsub(/"/, "\\\"", command)
	printf "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\"}", separator, dir, file, command
	separator = ",\n"
}

END { print "\n]" }
