# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The places that report an error: which are found, what counts as run, and what the table of files that
# are not wholly covered must say.
# shellcheck disable=SC2016  # backquotes of Markdown
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null 2>&1 || skip_all "no python3 here"

mkdir sort bench
cat >sort/a.c <<'C'
status a(int x, err *e)
{
	if (x == 1)
		return err_set(e, ST_IO, "never");
	if (x == 2)
		return ST_INTERNAL;
	return x ? err_set(e, ST_IO, "decided here") : ST_OK;
}
status fail(err *e)
{
	return other(e);
}
C
cp sort/a.c bench/a.c

counted() { # counted FILE "LINE:TIMES[:TAKEN,TAKEN]..." - what gcovr would say of it
  local word line times taken lines=''
  for word in $2; do
    IFS=: read -r line times taken <<<"$word"
    [ -z "$taken" ] || taken="{\"count\": ${taken//,/\}, \{\"count\": }}"
    lines+="${lines:+, }{\"line_number\": $line, \"count\": $times, \"branches\": [$taken]}"
  done
  printf '{"file": "%s", "lines": [%s]}' "$1" "$lines"
}
judge() { # judge GOAL FILES - with the rows of standard input as the table
  { printf '| | errors | why |\n|---|---|---|\n'; cat; } >known.md
  run bash -c '"$0" "$1" missed known.md <<<"{\"files\": [$2]}"' "$ROOT/scripts/error-paths" "$1" "$2"
}
all='1:9 3:9 4:1 5:8 6:1 7:7:3,4 9:1 11:1' none='1:9 3:9 4:0 5:8 6:0 7:7:0,7 9:1 11:1'

judge 100 "$(counted sort/a.c "$all")" </dev/null
is "all places run" "$rc/$(cat missed)" 0/
is "three places are found, a definition is not one" "$(awk '$1 == "sort" {print $2, $3}' <<<"$out")" "3 100.0"
judge 0 "$(counted sort/a.c "$none")" </dev/null
is "what was not run fails without a row" "$rc" 1
ok "and is said" grep -q "^sort/a.c: 3 errors not met, 0 in known.md$" <<<"$out"
is "a line that decides counts when both ways were gone" "$(cat missed)" \
  'sort/a.c:4: return err_set(e, ST_IO, "never");
sort/a.c:6: return ST_INTERNAL;
sort/a.c:7: return x ? err_set(e, ST_IO, "decided here") : ST_OK;'
judge 0 "$(counted sort/a.c "$none")" <<<'| `sort/a.c` | 3 | because |'
is "with a row it passes" "$rc" 0
judge 0 "$(counted sort/a.c "$none")" <<<'| `sort/a.c` | 2 | because |'
is "more than the row has fail" "$rc" 1
judge 80 "$(counted sort/a.c "$none")" <<<'| `sort/a.c` | 3 | because |'
is "a row does not help against the goal" "$rc/$(grep -c 'below 80 %' <<<"$out")" 1/1
for met in 1 2; do
  some=${none/4:0/4:1}
  [ $met -eq 1 ] || some=${some/6:0/6:1}
  judge 80 "$(counted sort/a.c "$some")" <<<"| \`sort/a.c\` | $((3 - met)) | because |"
  is "$met of three places met, one may be missed" "$rc/$(grep -c 'below 80 %' <<<"$out")" "$((met == 1))/$((met == 1))"
done
for ((i = 1; i <= 11; i++)); do echo "	return err_set(e, ST_IO, \"$i\");"; done >sort/many.c
for missed in 2 3; do
  judge 80 "$(counted sort/many.c "$(printf '%d:0 ' $(seq $missed); printf '%d:1 ' $(seq $((missed + 1)) 11))")" <<<"| \`sort/many.c\` | $missed | because |"
  is "eleven places, $missed are missed" "$rc/$(grep -c 'below 80 %' <<<"$out")" "$((missed == 3))/$((missed == 3))"
done
printf '\treturn x ? err_set(e, ST_IO, "long %%d",\n\t\t\t   x)\n\t\t : ST_OK;\n' >sort/long.c
for how in "its own line:1:7:3,4 3:7" "its last line:1:7:0,7 3:7:3,4" "another line, which runs more often:1:3:0,3 3:7"; do
  judge 0 "$(counted sort/long.c "${how#*:}")" </dev/null
  is "a statement of several lines, decided in ${how%%:*}" "$rc$(cat missed)" 0
done
judge 0 "$(counted sort/long.c "1:7:0,7 3:7:0,7")" </dev/null
is "a statement of several lines, always decided in one way" "$rc/$(cut -d: -f1-2 missed)" 1/sort/long.c:1
judge 0 "$(counted bench/a.c "$none")" </dev/null
is "bench needs no row" "$rc" 0
judge 100 "$(counted sort/a.c "$all")" <<<'| `sort/a.c` | 3 | because |'
is "a row that nothing needs is named, and no fault" \
  "$rc ${out##*$'\n'}" "0 covered, though known.md lists them: sort/a.c"
judge 100 "$(counted sort/a.c "$all")" <<<'| `sort/gone.c` | 3 | because |'
is "a row of a file that is gone fails" "$rc/$(grep -c "no file 'sort/gone.c' was counted" <<<"$out")" 1/1
judge 100 "$(counted sort/a.c "$all")" <<<'| `sort/a.c` | few | because |'
is "a row that cannot be read fails" "$rc/$(grep -c "no row of three: " <<<"$out")" 1/1
judge 100 "$(counted sort/a.c '1:0 3:0 4:1 5:8 6:1 7:7:3,4')" </dev/null
is "few lines need a row, too" "$rc/$(grep -c "66.7 % of its lines run, and no row" <<<"$out")" 1/1
judge 0 '' </dev/null
is "nothing counted fails" "$rc" 1
# what scripts/coverage links into the programs, by the line that compiles it there
export build=$PWD
(cd "$ROOT" && eval "$(grep 'coverage-end\.c$' scripts/coverage)")
ok "coverage-end.c compiles" test -s end.o
done_testing
