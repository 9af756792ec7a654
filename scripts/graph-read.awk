# SPDX-License-Identifier: GPL-3.0-or-later
# First part of include-graph: read what it is given, by the variable input, and make arrows of it.
#   files    the files of the tree
#   table    CONTRIBUTING.md, whose table has a row a directory
#   deps     dependency files of the compiler
#   code     what c-code.awk prints
#   symbols  what nm prints of the objects
# An arrow: from[i], to[i], kind[i] is "include" or "call", line[i] or symbol[i].

function part_of(path) { sub(/\/.*/, "", path); return path }
function directory_of(path) { return sub(/\/[^\/]*$/, "", path) ? path : "." }
function is_test(path) { return path ~ /(^|\/)tests\// }
function is_public(path) { return path ~ /(^|\/)include\// }

function finding(where, what)
{
	findings++
	if (want == "findings")
		print where ": " what
}

function arrow(how, a, b, at)
{
	if ((how, a, b) in have_arrow || a == b)
		return
	have_arrow[how, a, b] = 1
	arrows++
	kind[arrows] = how
	from[arrows] = a
	to[arrows] = b
	if (how == "include")
		line[arrows] = at
	else
		symbol[arrows] = at
	out[how, a] = out[how, a] " " arrows
}

# Without "." and with ".." taken away, as far as it goes.
function clean(path)
{
	gsub(/\/\.\//, "/", path)
	sub(/^\.\//, "", path)
	while (match(path, /[^\/]+\/\.\.\//) && substr(path, RSTART, 3) != "../")
		path = substr(path, 1, RSTART - 1) substr(path, RSTART + RLENGTH)
	return path
}

# ------------------------------------------------------------------------------------- files
input == "files" {
	is_file[$0] = 1
	for (directory = $0; sub(/\/[^\/]*$/, "", directory);)
		has_files[directory] = 1
	if ($0 ~ /\.(c|h|cc)$/) {
		c_file[++c_files] = $0
		named[base_of($0)] = named[base_of($0)] " " $0
	}
}

# ------------------------------------------------------------------------------------- table
# | `directory/` (most modules) | what is inside | `what it may use`, ... |
input == "table" && /^\| *directory *\|/ { in_table = 1; next }
input == "table" && !/^\|/ { in_table = 0 }
input == "table" && in_table && /`/ { read_row() }

function read_row(    cell, name, rest)
{
	split($0, cell, / *\| */)
	for (rest = cell[2]; match(rest, /`[^`]+`/);) {
		name = substr(rest, RSTART + 1, RLENGTH - 2)
		rest = substr(rest, RSTART + RLENGTH)
		sub(/\/$/, "", name)
		row[++rows] = name
		row_of[name] = rows
		row_line[rows] = FNR
		row_uses[rows] = cell[4]
		row_most[rows] = match(rest, /^ *\([0-9]+/) ? substr(rest, index(rest, "(") + 1, RLENGTH) + 0 : 0
	}
}

# -------------------------------------------------------------------------------------- deps
input == "deps" {
	rule = rule $0
	if (sub(/\\$/, " ", rule))
		next
	read_rule(rule)
	rule = ""
}

function read_rule(text,    n, i, path, source, word)
{
	n = split(text, word, " ")
	if (n < 2 || word[1] !~ /\.o:$/)
		return
	source = clean(word[2])
	for (i = 2; i <= n; i++) {
		path = clean(word[i])
		if (path in is_file && !((source, path) in reads)) {
			reads[source, path] = 1
			read_by[source] = read_by[source] " " path
			readers[path] = readers[path] " " source
		}
	}
}

# -------------------------------------------------------------------------------------- code
input == "code" && match($0, /:[ \t]*#[ \t]*include[ \t]*["<][^">]+[">]/) {
	split($0, word, ":")
	name = substr($0, RSTART, RLENGTH - 1)
	quote = name ~ /"/
	sub(/.*["<]/, "", name)
	read_include(word[1], word[2], name, quote)
}

function read_include(file, at, name, quote,    path, n, i, found)
{
	path = clean(directory_of(file) "/" name)
	if (quote && path in is_file) {
		arrow("include", file, path, at)
		return
	}
	n = split(meant(file, name, quote), found, " ")
	for (i = 1; i <= n; i++)
		arrow("include", file, found[i], at)
	if (n == 0 && quote)
		finding(file ":" at, "includes " name ", which is not a file of this tree")
	if (n == 0 && !quote)
		outside[++outsides] = file ":" at ":" name
}

# Return the file that the compiler reads where file says name. If it never read it, search by name: <x.h> among the
# public headers, "x.h" in the same part, or else elsewhere.
function meant(file, name, quote,    n, i, m, k, source, path, all, mine)
{
	while (sub(/^\.\.\//, "", name))
		;
	n = split(readers[file], source, " ")
	for (i = 1; i <= n; i++) {
		m = split(read_by[source[i]], path, " ")
		for (k = 1; k <= m; k++)
			if (ends_with(path[k], name) && !index(all " ", " " path[k] " "))
				all = all " " path[k]
	}
	if (all != "")
		return all
	n = split(named[base_of(name)], source, " ")
	for (i = 1; i <= n; i++)
		if (ends_with(source[i], name) && (quote || is_public(source[i]))) {
			all = all " " source[i]
			if (part_of(source[i]) == part_of(file))
				mine = mine " " source[i]
		}
	return mine != "" ? mine : all
}

function base_of(path) { sub(/.*\//, "", path); return path }
function ends_with(path, end)
{
	path = "/" path
	return substr(path, length(path) - length(end)) == "/" end
}

# ----------------------------------------------------------------------------------- symbols
# FILE.o: NAME TYPE VALUE SIZE
input == "symbols" {
	sub(/\.o:$/, ".c", $1)
	if (!($1 in has_symbols)) {
		has_symbols[$1] = 1
		objects++
	}
	if ($3 ~ /^[Uvw]$/)
		wanted[++wants] = $1 " " $2
	else if (!(($2, $1) in defines)) {
		defines[$2, $1] = 1
		defined_in[$2] = defined_in[$2] " " $1
	}
}

function read_calls(    i, n, k, word, file, nearest, best)
{
	for (i = 1; i <= wants; i++) {
		split(wanted[i], word, " ")
		n = split(defined_in[word[2]], file, " ")
		nearest = 0
		for (k = 1; k <= n; k++)
			if (nearness(word[1], file[k]) > nearest) {
				nearest = nearness(word[1], file[k])
				best = file[k]
			}
		if (n > 0)
			arrow("call", word[1], best, word[2])
	}
}

# Programs may have functions of the same name; a call is to the one next to it.
function nearness(a, b)
{
	return directory_of(a) == directory_of(b) ? 3 : part_of(a) == part_of(b) ? 2 : 1
}
