#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every call of hetpart.h has a manual page with the header's prototype, which is found under its name
# after the installation, and the examples of the pages work.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
pages=("$ROOT"/partition/man/*.3)
names() { awk -f "$ROOT/partition/pkg/man-names.awk" "${pages[@]}"; }

is "each call is named in the NAME of a page, once, and nothing else is" \
  "$(names | cut -d' ' -f1 | grep -vx hetpart | sort)" "$(header_calls)"

# Prototypes as "type name(argument,argument)", blanks made one.
tidy() { sed -E 's/[[:space:]]+/ /g; s/ ?([(),*]) ?/\1/g; s/^ //; s/ $//' | sort; }
header_prototypes() {
  awk '/^HETPART_API/, /;/ {printf "%s", $0} /;$/ {print ""}' "$header" | grep HETPART_API |
    sed -E 's/HETPART_(API|MUST_CHECK)//g; s/.*HETPART_//; s/;//' | tidy
}
page_prototypes() {
  awk '
    function strip(s) { gsub(/"/, "", s); return s }
    /^\.Sh / { synopsis = $2 == "SYNOPSIS" }
    !synopsis { next }
    /^\.Ft / { type = substr($0, 5) }
    /^\.Fo / { call = $2; args = "" }
    /^\.Fa / { args = args (args ? "," : "") strip(substr($0, 5)) }
    /^\.Fc/ { print type " " call "(" args ")" }
    /^\.Fn / {
      rest = substr($0, 5); call = rest; sub(/ .*/, "", call); rest = substr(rest, length(call) + 2); args = ""
      while (rest != "") {
        if (rest ~ /^"/) { match(rest, /^"[^"]*"/) } else { match(rest, /^[^ ]+/) }
        args = args (args ? "," : "") strip(substr(rest, 1, RLENGTH)); rest = substr(rest, RLENGTH + 2)
      }
      print type " " call "(" args ")"
    }' "${pages[@]}" | tidy
}
header_prototypes >header.list
page_prototypes >pages.list
is "prototypes are the header's" "$(diff header.list pages.list)" ""
is "all of them were compared" "$(wc -l <header.list)" "$(header_calls | wc -l)"

is "each status and method is explained in a page" \
  "$(sed -nE 's/^\t(HETPART_[A-Z_]+) = [0-9]+,?.*/\1/p' "$header" | while read -r constant; do
    grep -q -F "$constant" "${pages[@]}" || echo "$constant"; done)" ""
is "references lead to pages, or to the names of calls" \
  "$(sed -nE 's/^\.Xr (hetpart[a-z_0-9-]*) ([0-9]).*/\1.\2/p' "$ROOT"/partition/man/* | sort -u |
    comm -23 - <({ names | sed 's/ .*/.3/'; (cd "$ROOT/partition/man" && printf '%s\n' * hetpart_mpi.3); } | sort -u))" ""

ok "install" installation install-lib "$PWD/inst"
man=$PWD/inst/share/man
found() { # found NAME - its page exists, as itself or by a reference to one that does
  local page="$man/man3/$1.3"
  if grep -q '^\.so ' "$page"; then page=$man/$(sed -n 's/^\.so //p' "$page"); fi
  grep -q -E "^\.Nm $1( ,)?\$" "$page"
}
is "each call's page is found under its name" \
  "$(header_calls | while read -r name; do found "$name" || echo "$name"; done)" ""
if command -v mandoc >/dev/null; then
  is "mandoc has no complaints" "$(mandoc -T lint -W warning "$ROOT"/partition/man/*.[35] 2>&1)" ""
  is "a page is shown by the name of a call" \
    "$(cd "$man" && mandoc -T utf8 man3/hetpart_plan_share.3 | sed 's/.\x08//g' | grep -c '^HETPART_PLAN(3)')" 1
else
  left_out "mandoc is not installed"
fi
done_under_sanitizer

example() { awk '/^\.Bd -literal/ {on = 1; next} /^\.Ed/ {on = 0} on' "$1" | sed 's/\\e/\\/g'; }
example "$ROOT/partition/man/hetpart.3" >first.c
ok "the first example builds" "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -I"$PWD/inst/include" -o first first.c -L"$OBJ" -lhetpart
run env LD_LIBRARY_PATH="$OBJ" ./first
is "and divides all" "$rc $(awk '{s += $3} END {print NR, s}' <<<"$out")" "0 3 1000000"
example "$ROOT/partition/man/hetpart-wisdom.5" >wisdom
cat >load.c <<'C'
#include <stdio.h>
#include <hetpart.h>
int main(void)
{
	hetpart_wisdom *wisdom;
	hetpart_err err;

	if (hetpart_wisdom_load(&wisdom, "wisdom", "n17 16 cores", 0, &err) != HETPART_OK) {
		puts(err.text);
		return 1;
	}
	puts(hetpart_wisdom_model_name(wisdom, 0));
	hetpart_wisdom_free(wisdom);
	return 0;
}
C
ok "a program that loads wisdom" "${CC:-cc}" -I"$PWD/inst/include" -o load load.c -L"$OBJ" -lhetpart
run env LD_LIBRARY_PATH="$OBJ" ./load
is "the example of the format is wisdom" "$rc $out" "0 sort"
done_testing
