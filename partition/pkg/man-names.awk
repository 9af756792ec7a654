# SPDX-License-Identifier: GPL-3.0-or-later
# Print "NAME PAGE" for each name that the section NAME of manual pages (mdoc) lists; PAGE is the
# file's own name without directory and section.

FNR == 1 {
	page = FILENAME
	sub(/.*\//, "", page)
	sub(/\.[0-9]$/, "", page)
	in_name = 0
}
/^\.Sh / { in_name = $2 == "NAME" }
in_name && $1 == ".Nm" { print $2, page }
