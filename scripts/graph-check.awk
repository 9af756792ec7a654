# SPDX-License-Identifier: GPL-3.0-or-later
# Second part of include-graph: hold files and arrows against the table of directories.

END {
	read_calls()
	read_uses()
	check_table()
	check_directories()
	check_arrows()
	check_outside()
	check_circles("include")
	check_circles("call")
	if (unbuilt != 0 && strict)
		finding("Makefile:1", "calls cannot be looked at: " unbuilt " objects are not up to date")
	if (want == "findings") {
		if (unbuilt != 0)
			print "note: " unbuilt " objects not up to date, so their calls were not looked at"
		exit findings > 0
	}
	draw()
}

function row_at(r) { return "CONTRIBUTING.md:" row_line[r] }

# ------------------------------------------------------------------------------------- table
# A name in the last cell is a directory inside the row's directory, next to it, or further up; <x.h> is a header of
# somebody else, <x/> all of a directory of such headers.
function read_uses(    r, cell, name, directory)
{
	for (r = 1; r <= rows; r++)
		for (cell = row_uses[r]; match(cell, /`[^`]+`/);) {
			name = substr(cell, RSTART + 1, RLENGTH - 2)
			cell = substr(cell, RSTART + RLENGTH)
			sub(/\/$/, "", name)
			if (name ~ /^</) {
				outside_name[name] = 1
				may_use[r, name] = 1
			} else if ((directory = directory_named(row[r], name)) == "")
				finding(row_at(r), row[r] "/ may use " name "/, which is not a directory of this tree")
			else
				use(r, directory)
		}
}

function directory_named(here, name,    found)
{
	for (; !((found = here "/" name) in has_files); )
		if (!sub(/\/[^\/]*$/, "", here))
			return name in has_files ? name : ""
	return found
}

function use(r, directory)
{
	may_use[r, directory] = 1
	used[r] = used[r] (used[r] == "" ? "" : ", ") directory
	if (directory in row_of && row_of[directory] <= r)
		finding(row_at(r), row[r] "/ may use " directory "/, which does not stand below it")
	if (part_of(directory) != part_of(row[r]) && !is_public(directory "/") && part_of(row[r]) !~ /^(bench|scripts)$/)
		finding(row_at(r), row[r] "/ may use " directory "/, which is private to " part_of(directory) "/")
}

function check_table(    r, seen)
{
	if (rows == 0)
		finding("CONTRIBUTING.md:1", "there is no table of directories")
	for (r = 1; r <= rows; r++) {
		if (!(row[r] in has_files))
			finding(row_at(r), row[r] "/ is not a directory of this tree")
		if (row[r] in seen)
			finding(row_at(r), row[r] "/ has a row already")
		seen[row[r]] = 1
	}
}

# ----------------------------------------------------------------------------------- directories
function check_directories(    i, directory, module, count, have, first, r, most)
{
	for (i = 1; i <= c_files; i++) {
		directory = directory_of(c_file[i])
		if (is_test(c_file[i])) {
			tests++
			continue
		}
		if (!(directory in count)) {
			first[directory] = c_file[i]
			if (!(directory in row_of))
				finding(c_file[i] ":1", "the table of CONTRIBUTING.md has no row for " directory "/")
		}
		files[directory]++
		module = module_of(c_file[i])
		if (!(module in have))
			count[directory]++
		have[module] = 1
	}
	for (r = 1; r <= rows; r++) {
		directory = row[r]
		modules[directory] = count[directory] + 0
		most = row_most[r] ? row_most[r] : 15
		if (modules[directory] > most)
			finding(first[directory] ":1", directory "/ has " modules[directory] " modules, more than " most)
		if (modules[directory] == 1 && most != 1)
			finding(first[directory] ":1", "is the only module in " directory "/")
	}
}

function module_of(path) { sub(/\.[a-z]+$/, "", path); return path }

# ------------------------------------------------------------------------------------ arrows
function check_arrows(    i)
{
	for (i = 1; i <= arrows; i++) {
		check_arrow(i)
		if (kind[i] == "include")
			reach[from[i]] = reach[from[i]] " " to[i]
	}
	for (i = 1; i <= c_files; i++)
		check_read(c_file[i])
}

# An include has to be in the table. A call is made through a header that was included, so it may go
# further than the table says, but not up.
function check_arrow(i,    a, b, goes_up)
{
	a = directory_of(from[i])
	b = directory_of(to[i])
	if (is_test(from[i])) {
		if (part_of(a) != part_of(b) && !is_public(to[i]) && !is_test(to[i]) && part_of(b) != "scripts")
			finding(place(i), says(i) ", which is private to " part_of(b) "/")
		return
	}
	if (a == b || !(a in row_of))
		return
	between[a, b, kind[i]]++
	goes_up = b in row_of && row_of[b] < row_of[a]
	if (goes_up)
		up[kind[i]]++
	if ((kind[i] == "include" ? !((row_of[a], b) in may_use) : goes_up) && !((from[i], b) in refused)) {
		refused[from[i], b] = 1
		finding(place(i), says(i) why_not(a, b, to[i], goes_up))
	}
}

function why_not(a, b, path, goes_up)
{
	if (is_test(path))
		return ", which is for tests"
	if (part_of(a) != part_of(b) && !is_public(path))
		return ", which is private to " part_of(b) "/"
	if (goes_up)
		return ", but " b "/ stands above " a "/ (" row_at(row_of[b]) ")"
	return ", but " a "/ may use " (used[row_of[a]] == "" ? "nothing" : "only " used[row_of[a]]) " (" row_at(row_of[a]) ")"
}

function says(i) { return (kind[i] == "include" ? "includes " : "calls " symbol[i] " of ") to[i] }
function place(i) { return from[i] ":" (kind[i] == "include" ? line[i] : line_of(from[i], symbol[i])) }

# The first line of a file that has the word.
function line_of(path, name,    n, text, found)
{
	while (!found && (getline text < path) > 0) {
		n++
		found = match(text, "(^|[^A-Za-z0-9_])" name "([^A-Za-z0-9_]|$)")
	}
	close(path)
	return found ? n : 1
}

# Each file that the compiler reads for a source must be reached by the #include lines that we saw.
function check_read(source,    n, i, m, k, path, queue, last, seen)
{
	queue[last = 1] = source
	seen[source] = 1
	for (i = 1; i <= last; i++) {
		m = split(reach[queue[i]], path, " ")
		for (k = 1; k <= m; k++)
			if (!(path[k] in seen)) {
				seen[path[k]] = 1
				queue[++last] = path[k]
			}
	}
	n = split(read_by[source], path, " ")
	for (i = 1; i <= n; i++)
		if (!(path[i] in seen))
			finding(source ":1", "the compiler reads " path[i] " for it, which no #include names")
}

# Of the headers of others those that the table names are for the rows that name them.
function check_outside(    i, word, name, token, directory, mine)
{
	for (i = 1; i <= outsides; i++) {
		split(outside[i], word, ":")
		directory = directory_of(word[1])
		if (is_test(word[1]) || !(directory in row_of))
			continue
		name = "<" word[3] ">"
		token = name in outside_name ? name : "<" part_of(word[3]) "/>"
		if (token in outside_name && !((row_of[directory], token) in may_use))
			finding(word[1] ":" word[2], "includes " name ", which " directory "/ may not (" row_at(row_of[directory]) ")")
	}
}

# ----------------------------------------------------------------------------------- circles
# Strongly connected components, by Tarjan's algorithm; the shortest circle of each is reported.
function check_circles(how,    i)
{
	delete_all(index_of)
	number = stacked = 0
	for (i = 1; i <= arrows; i++)
		if (kind[i] == how && !(from[i] in index_of))
			connect(how, from[i])
}

function delete_all(array,    key) { for (key in array) delete array[key] }

function connect(how, v,    n, i, w, arc, size)
{
	index_of[v] = low[v] = ++number
	stack[++stacked] = v
	on_stack[v] = 1
	n = split(out[how, v], arc, " ")
	for (i = 1; i <= n; i++) {
		w = to[arc[i]]
		if (!(w in index_of)) {
			connect(how, w)
			if (low[w] < low[v])
				low[v] = low[w]
		} else if (on_stack[w] && index_of[w] < low[v])
			low[v] = index_of[w]
	}
	if (low[v] != index_of[v])
		return
	delete_all(member)
	do {
		w = stack[stacked--]
		on_stack[w] = 0
		member[w] = 1
		size++
	} while (w != v)
	if (size > 1)
		tell_circle(how, v)
}

# The shortest way from v back to v among the members, by breadth first.
function tell_circle(how, v,    queue, last, i, n, k, arc, w, by, at, text)
{
	circles[how]++
	queue[last = 1] = v
	for (i = 1; i <= last && !(v in by); i++) {
		n = split(out[how, queue[i]], arc, " ")
		for (k = 1; k <= n; k++) {
			w = to[arc[k]]
			if (w in member && !(w in by)) {
				by[w] = arc[k]
				queue[++last] = w
			}
		}
	}
	at = v
	do {
		i = by[at]
		at = from[i]
		text = " " says(i) (text == "" ? "" : ", which" text)
	} while (at != v)
	finding(place(i), "a circle:" text)
}
