# SPDX-License-Identifier: GPL-3.0-or-later
# Read what c-code.awk prints; print each function of more than max_function lines, each file of more than max_file
# lines, and, outside of tests, each function with more than max_complexity paths by McCabe's count. A public header, one
# a library, and a file that says "lint: table" may be longer. A function is a block at depth 0 that follows a parameter
# list; it counts from its opening to its closing brace.
# With describe=1, print each line of code after its file, and each function as
# "function FILE LINE NAME static|extern PARAMETERS COMPLEXITY": its parameters, and McCabe's count of its paths.

function close_file()
{
	if (file != "" && lines > max_file && !table && file !~ /\/include\//)
		print file ":" lines ": " lines " lines, more than " max_file
}

{
	colon = index($0, ":")
	name = substr($0, 1, colon - 1)
	code = substr($0, colon + 1)
	colon = index(code, ":")
	line = substr(code, 1, colon - 1) + 0
	code = substr(code, colon + 1)
	if (name != file) {
		close_file()
		file = name
		table = depth = continued = skipping = 0
		before = ""
	}
	lines = line
	if (index(code, "lint: table"))
		table = 1
	gsub(/\/\*lint: table\*\//, "", code)
	# Only one arm of an #if ... #else is counted, or braces in both would unbalance the depth.
	if (continued || code ~ /^[ \t]*#/) {
		if (!continued)
			directive(code)
		continued = code ~ /\\$/
		next
	}
	if (!skipping) {
		if (describe)
			print "code", file, code
		count(code)
	}
}

function directive(code)
{
	if (code ~ /^[ \t]*#[ \t]*if/)
		nested++
	else if (code ~ /^[ \t]*#[ \t]*endif/) {
		if (skipping == nested)
			skipping = 0
		nested--
	} else if (code ~ /^[ \t]*#[ \t]*el/ && !skipping)
		skipping = nested
}

function count(code,    c)
{
	if (depth > 0)
		complexity += decisions(code)
	while (match(code, /[{};]/)) {
		c = substr(code, RSTART, 1)
		if (depth == 0)
			before = before substr(code, 1, RSTART - 1)
		code = substr(code, RSTART + 1)
		if (c == "{")
			open_brace()
		else if (c == "}")
			close_brace()
		else if (depth == 0)
			before = ""
	}
	if (depth == 0)
		before = before code
}

function open_brace()
{
	if (depth == 0 && before ~ /extern[ \t]*""[ \t]*$/) {
		before = ""  # extern "C": what is inside still stands at depth 0
		return
	}
	if (depth++ == 0) {
		opened = line
		is_function = before ~ /\)[ \t]*$/ && before !~ /=/
		complexity = 1
	}
}

function close_brace()
{
	if (depth == 0 || --depth > 0)
		return
	if (is_function && describe)
		print "function", file, opened, heading(before)
	if (is_function && line - opened + 1 > max_function)
		print file ":" opened ": function of " line - opened + 1 " lines, more than " max_function
	if (is_function && max_complexity && complexity > max_complexity && file !~ /\/tests\//)
		print file ":" opened ": function of complexity " complexity ", more than " max_complexity
	before = ""
}

function decisions(code,    n)
{
	n = gsub(/&&|\|\||\?/, " ", code)
	return n + gsub(/(^|[^A-Za-z0-9_])(if|for|while|case)([^A-Za-z0-9_]|$)/, " ", code)
}

# The name of the function whose heading this is, its linkage, how many parameters it has, and its complexity.
function heading(text,    name, parameters, nested, commas, i, c)
{
	gsub(/__attribute__[ \t]*\(\([^)]*(\([^)]*\))?[^)]*\)\)/, "", text)
	i = index(text, "(")
	name = substr(text, 1, i - 1)
	sub(/[ \t]*$/, "", name)
	sub(/.*[^A-Za-z0-9_]/, "", name)
	parameters = substr(text, i + 1)
	for (i = 1; i <= length(parameters); i++) {
		c = substr(parameters, i, 1)
		nested += (c == "(") - (c == ")")
		commas += c == "," && nested == 0
	}
	return name " " (text ~ /(^|[^A-Za-z0-9_])static([^A-Za-z0-9_]|$)/ ? "static" : "extern") " " \
		(parameters ~ /^[ \t]*(void)?[ \t]*\)/ ? 0 : commas + 1) " " complexity
}

END { close_file() }
