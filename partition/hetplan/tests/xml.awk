# SPDX-License-Identifier: GPL-3.0-or-later
# xml.awk - check that a file is well-formed XML as hetplan writes it: tags nest and close, attributes are quoted
# and unique in a tag, entities are known, there is one root. Prints what is wrong and where.
function wrong(what) { print FILENAME ": " what; failed = 1; exit 1 }

function check_text(s) {
  if (depth == 0 && s ~ /[^ \t\n]/) wrong("text outside of the root: " s)
  gsub(/&(amp|lt|gt|quot|#39);/, "", s)
  if (s ~ /[&<>]/) wrong("bare character in '" s "'")
}

# name="value" ... of a tag
function check_attributes(s, tag,   seen, name) {
  split("", seen)
  while (match(s, /^[ \n]+[A-Za-z_:][-A-Za-z0-9_:.]*="[^"]*"/)) {
    name = substr(s, 1, RLENGTH)
    s = substr(s, RLENGTH + 1)
    value = name
    sub(/^[^"]*"/, "", value); sub(/"$/, "", value)
    sub(/^[ \n]+/, "", name); sub(/=.*/, "", name)
    if (name in seen) wrong("attribute " name " twice in " tag)
    seen[name] = 1
    gsub(/&(amp|lt|gt|quot|#39);/, "", value)
    if (value ~ /[&<>]/) wrong("bare character in attribute " name " of " tag)
  }
  if (s !~ /^[ \n]*$/) wrong("bad attributes '" s "' in " tag)
}

{ text = text $0 "\n" }

END {
  if (failed) exit 1
  if (text !~ /^<\?xml version="1.0" encoding="UTF-8"\?>\n/) wrong("no declaration")
  sub(/^[^>]*>/, "", text)
  while ((at = index(text, "<")) > 0) {
    check_text(substr(text, 1, at - 1))
    text = substr(text, at)
    if (match(text, /^<!--([^-]|-[^-])*-->/)) {
      text = substr(text, RLENGTH + 1)
      continue
    }
    end = index(text, ">")
    if (end == 0) wrong("a tag that does not end")
    tag = substr(text, 2, end - 2)
    text = substr(text, end + 1)
    if (tag ~ /^\//) {
      if (depth == 0 || stack[depth] != substr(tag, 2)) wrong("</" substr(tag, 2) "> closes nothing")
      depth--
      continue
    }
    empty = sub(/\/$/, "", tag)
    if (!match(tag, /^[A-Za-z][A-Za-z0-9]*/)) wrong("bad tag '" tag "'")
    name = substr(tag, 1, RLENGTH)
    if (depth == 0 && roots++) wrong("a second root")
    check_attributes(substr(tag, RLENGTH + 1), name)
    if (!empty) stack[++depth] = name
  }
  check_text(text)
  if (depth) wrong("<" stack[depth] "> is not closed")
  if (roots != 1) wrong("no root")
}
