# SPDX-License-Identifier: GPL-3.0-or-later
# Print C files as "file:line:code" with comments and the insides of strings blanked, so that a
# search finds code only. Include lines keep their file names; a comment that holds "lint: table"
# is kept as that mark.

FNR == 1 { in_comment = 0 }

{
	rest = $0
	code = ""
	if (rest ~ /lint: table/)
		code = "/*lint: table*/"
	if (!in_comment && rest ~ /^[ \t]*#[ \t]*include[ \t]*"/) {
		print FILENAME ":" FNR ":" rest
		next
	}
	while (rest != "") {
		if (in_comment) {
			end = index(rest, "*/")
			if (!end)
				break
			rest = substr(rest, end + 2)
			in_comment = 0
		} else if (match(rest, /["']|\/[*]|\/\//)) {
			mark = substr(rest, RSTART, RLENGTH)
			code = code substr(rest, 1, RSTART - 1)
			rest = substr(rest, RSTART + RLENGTH)
			if (mark == "//")
				break
			if (mark == "/*") {
				code = code " "
				in_comment = 1
			} else {
				code = code mark mark
				rest = after_string(rest, mark)
			}
		} else {
			code = code rest
			break
		}
	}
	print FILENAME ":" FNR ":" code
}

# Return the text after the string or character constant in which s begins.
function after_string(s, quote,    i, c)
{
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		if (c == "\\")
			i++
		else if (c == quote)
			return substr(s, i + 1)
	}
	return ""
}
