#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetplan's command line: verbs and options against requests in files, tables, CSV and JSON that
# agree, usage errors that name the option, output that cannot be written.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"

hetplan=$BIN/hetplan
rays=$ROOT/partition/examples/rays.json

run "$hetplan" --help
is "--help: exit 0, on standard output" "$rc $err ${out%%:*}" "0  Usage"
is "--help fits 80 columns or a little more" "$(awk 'length > 90' <<<"$out")" ""
run "$hetplan" --version
is "--version" "$rc ${out%%$'\n'*}" "0 hetplan $(cat "$ROOT/VERSION")"
run "$hetplan" batch --help
is "batch --help" "$rc ${out%%:*}" "0 Usage"
run "$hetplan" share --help
is "share --help" "$rc ${out%%:*}" "0 Usage"
for words in -h "share -h" "batch -h" "show -h"; do
  # shellcheck disable=SC2086  # several words
  run "$hetplan" $words
  is "$words" "$rc $err ${out%%:*}" "0  Usage"
done

words() { grep -oE -e '--[a-z][a-z-]+|--[wz]\b' | sort -u; }
is "the manual has the options of --help, and no others" \
  "$(sed -e 's/Fl -/--/g' -e 's/[\\]//g' "$ROOT/partition/man/hetplan.1" | sed -n '/^.Sh DESC/,/^.Sh EXAM/p' | words)" \
  "$("$hetplan" --help | words)"

usage() { # usage WHAT WORDS... - exit 2, and the first line on standard error is WHAT
  local what=$1; shift
  run "$hetplan" "$@"
  is "usage: $*" "$rc $out ${err%%$'\n'*}" "2  hetplan: $what"
}
verbs="use share, scatter, chain, emulate, model, show or batch"
usage "the verb is missing; $verbs"
usage "unknown verb 'sort'; $verbs" sort
usage "unknown verb 'farm'; $verbs" farm
usage "unknown verb 'shrae' (did you mean share?)" shrae
usage "unknown verb 'emulat' (did you mean emulate?)" emulat
usage "unknown verb '\\x1b[1m'; $verbs" $'\e[1m'
usage "'--frob': unknown option" share --frob
usage "'--itmes': unknown option (did you mean --items?)" share --itmes 5
usage "'--sped': unknown option (did you mean --speeds?)" share --sped 5
usage "'--itmes=5': unknown option (did you mean --items?)" share --itmes=5
usage "'--json=x': takes no value" share --json=x
usage "'-x': unknown option" share -x
usage "'--i': ambiguous: --items, --installments, --input" chain --i

# Each verb without each option that it requires, in the order in which they are requested.
requires() { # requires VERB OPTION=VALUE... - without an option, that option is missing
  local verb=$1 i; shift
  for ((i = 1; i <= $#; i++)); do
    usage_line "${!i%%=*} is missing" "$verb" "${@:1:i-1}" "${@:i+1}"
  done
}
usage_line() { local what=$1; shift; run "$hetplan" "$@"; is "required: $*" "$rc $out $err" "2  hetplan: $what"$'\n'"Try 'hetplan --help' for more."; }
requires share --items=9 --speeds=1,2 --cost=linear
requires scatter --items=9 --compute=1,2 --link=1
requires chain --w=1,1 --z=1 --vcomm=1 --vcomp=1
requires model --items=9 --speeds=1,2 --observations=1:2
usage_line "--ratings is missing" emulate --processes=3
usage_line "--processes or --best-upto is missing" emulate --ratings=1,2
usage_line "--items is missing" share --costs linear,nlogn
usage_line "--items is missing" share --speeds 1,2 --cost linear --compare
usage_line "--speeds is missing" share --weights 1,2
echo '{"speeds":[1,2],"cost":{"type":"linear"}}' >incomplete
run "$hetplan" share -i incomplete
is "a file lacks a member, not an option" "$rc $err" "1 hetplan: 'items' is missing"
usage "'--items': no value for this option" share --items
usage "'--items': must be a whole number below 2^63, not '1.5'" share --items 1.5
usage "'--items': must be a whole number below 2^63, not '1e19'" share --items 1e19
usage "'--speeds': must be a number, not '0x1'" share --speeds 0x1
usage "'--speeds': must be a number, not '99999999999x1'" share --speeds 99999999999x1
usage "'--items': must be a whole number below 2^63, not '-1'" share --items=-1
usage "'--items': must be a whole number below 2^63, not '9223372036854775808'" share -n 9223372036854775808
usage "'--items': given twice" share -n 1 -n 2
usage "'--op': given twice" share --op x --op y
usage "'--items': not an option of 'emulate'" emulate --items 5
usage "'--speeds': must be a number, not ''" share --speeds 1,,2
usage "'--speeds': must be a number, not 'inf'" share -s 1,inf
usage "'--speeds': must be a number, not ' 2'" share -s "1, 2"
usage "'--speeds': must be a number, not '0x10'" share -s 0x10
costs="use the time of one item, linear, nlogn, nlog2n1, power:EXPONENT or affine:STARTUP:TIME, and *FACTOR after it"
usage "'--cost': unknown cost 'cubic'; $costs" share --cost cubic
usage "'--cost': unknown cost 'nlog' (did you mean nlogn?); $costs" share --cost nlog
usage "'--costs': unknown cost 'linea*2' (did you mean linear?); $costs" share --costs 'nlogn,linea*2'
usage "'--cost': unknown cost 'power:'; $costs" share --cost power:
usage "'--cost': unknown cost 'linear*x'; $costs" share --cost 'linear*x'
usage "'--observations': must be ITEMS:TIME, not '5'" model --observations 5
usage "'--names': must be text in UTF-8, not '\\xff'" share --names $'\xff'
run "$hetplan" share -n 5 --speeds 1,2 --op $'\xff'
is "--op that is not text" "$rc $out $err" "1  hetplan: '--op': must be text in UTF-8, not '\\xff'"
usage "'--width': must be a whole number in 48..1000, not '3'" share --width 3
usage "'--csv': use either --json or --csv, not both" share --json --csv
usage "'--gantt': cannot be combined with --json or --csv" share --json --gantt
usage "'--svg': cannot be combined with --compare" share --compare --svg x
usage "'--method': cannot be combined with --compare" share --compare --method exact
usage "'--title': requires --svg or --html" share --title x
usage "'--svg': empty" share --svg=
usage "'more': extra operand" share more
usage "'b': extra operand" batch a b
usage "'--json': unknown option; batch has --time-limit" batch --json
usage "'\\x1b[1m': extra operand" share $'\e[1m'

fails() { # fails WHAT WORDS... - exit 1, and WHAT on standard error
  local what=$1; shift
  run "$hetplan" "$@"
  is "fails: $*" "$rc $out $err" "1  hetplan: $what"
}
fails "speed of processor 1 is '-2': must be a finite number above 0" share -n 9 -s 1,-2 --cost linear
fails "'no/file': No such file or directory" share -i no/file
fails "'.': Is a directory" share -i .
fails "nothing to compare: 'emulate' has one method" emulate --ratings 1 --processes 1 --compare
fails "'--link': 3 entries, but '--compute' has 2: must be the same number, or one less" \
  scatter -n 5 --compute 1,1 --link 1,1,1
fails "operation 'chain' belongs to 'chain', not to 'share'" share --op chain
fails "cannot create 'no/dir.svg': No such file or directory" \
  emulate --ratings 1 --processes 1 --csv --svg no/dir.svg
printf '{\n  "op": "share",\n  "items": 1,,\n}\n' >bad.json
fails "'bad.json': line 3, column 14: string or '}' expected near ','" share -i bad.json
printf '{"items": 5}\n{"items": 6}\n' >two.json
fails "'two.json': line 2, column 1: end of file expected near '{'" share --input two.json

# Options and files are two ways to write the same request.
json() { "$hetplan" "$@" --json | sed 's/,"request":.*/}/'; }
is "share: options and a file" "$(json share -n 1000 -s 1,2 --cost 'power:1.5*3' --method exact)" \
  "$(echo '{"items":1000,"speeds":[1,2],"method":"exact","cost":{"type":"power","exponent":1.5,"scale":3}}' |
    json share -i -)"
is "share: a file and a batch" \
  "$(echo '{"op":"share","id":5,"items":1000,"speeds":[1,2],"cost":{"type":"nlogn"}}' | json share -i -)" \
  "$(echo '{"op":"share","id":5,"items":1000,"speeds":[1,2],"cost":{"type":"nlogn"}}' | "$hetplan" batch)"
is "scatter: options and a file" \
  "$(json scatter -n 100 --compute 1,affine:2:0.5 --link 0.1)" \
  "$(echo '{"op":"scatter","items":100,"processors":[{"compute":{"type":"affine","startup":0,"per_item":1},
    "link":{"type":"affine","startup":0,"per_item":0.1}},{"compute":{"type":"affine","startup":2,"per_item":0.5}}]}' |
    json scatter -i -)"
is "an option replaces a member" "$(json scatter -i "$rays" -n 0 | grep -o '"makespan":[^,]*')" \
  '"makespan":0.0'
op_of() { json "$@" | sed 's/.*"op":"\([a-z-]*\)".*/\1/'; }
is "costs make share-unrelated" "$(op_of share -n 9 --costs linear,nlogn)" share-unrelated
is "a chunk makes a farm" "$(op_of scatter -n 9 --compute 1,1 --link 1 --chunk 2)" farm
is "--op" "$(op_of scatter -n 9 --compute 1,1 --link 1 --op scatter-order)" scatter-order
is "emulate" "$(json emulate --ratings 0.46,0.65,1.61,1.61 --processes 11 | grep -o '"counts":[^]]*')" \
  '"counts":[1,2,4,4'
is "model" "$(json model --observations 10:20,100:200 -s 1,3 -n 100 | grep -o '"shares":[^]]*')" \
  '"shares":[25,75'
is "chain" "$(json chain --w 0.75,0.75 --z 1 --vcomm 1,1 --vcomp 1,1 --method multiinst |
  sed 's/.*"makespan":\([0-9.]*\).*/\1/' | awk '{ printf "%.9f", $1 }')" 0.900000000
is "chain of one processor has no links" \
  "$(echo '{"w":[2],"z":[],"vcomm":[1],"vcomp":[3]}' | json chain -i - | grep -o '"makespan":[^,]*')" \
  '"makespan":6.0'

# Table, CSV and JSON say the same numbers.
list() { sed -n 's/.*"'"$1"'":\[\([^]]*\)\].*/\1/p' <<<"$2" | tr ',' '\n'; }
same() { # same NAME WORDS... - shares and times of the three outputs
  local name=$1 j c t; shift
  j=$("$hetplan" "$@" --json) c=$("$hetplan" "$@" --csv) t=$("$hetplan" "$@")
  is "$name: CSV has JSON's shares" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "share") k = i; next }
    { print $k }' <<<"$c")" "$(list shares "$j")"
  is "$name: CSV has JSON's times" "$(awk -F, 'NR > 1 { print $NF }' <<<"$c")" "$(list times "$j")"
  is "$name: the table has them too, in ten digits" \
    "$(awk 'NR > 2 && NF == 0 { exit } NR > 2 { print $NF }' <<<"$t")" \
    "$(list times "$j" | awk '{ printf "%.10g\n", $1 }')"
}
same share share -n 123457 -s 1,2.5,4 --cost nlogn
same scatter scatter -i "$rays"
same order scatter -n 1000 --op scatter-order --compute 1,2,3 --link 5,affine:1:0.5
run "$hetplan" share -n 3 -s 1,2 --cost linear --names 'a "b",c' --csv
is "too few names, for a comma parts them" "$rc" 0
is "CSV quotes names" "$out" 'processor,name,share,real,time
0,"a ""b""",1,1.0,1.0
1,c,2,2.0,1.0'
run "$hetplan" chain --w 1,1 --z 0 --vcomm 1 --vcomp 2 --method simple --csv
is "CSV of a chain" "$out" 'load,installment,processor,fraction
0,0,0,0.5
0,0,1,0.5'

run "$hetplan" share -n 1000000 -s 1,2,4,8 --cost nlogn --compare --csv
is "compare: methods, side by side" "$(cut -d, -f1 <<<"$out" | tr '\n' ' ')" \
  "method exact taylor asymptotic proportional equal shares "
is "compare: the gaps of the sources' table" \
  "$(awk -F, '/^(taylor|asym|prop)/ { printf "%.2f ", $4 }' <<<"$out")" "0.21 0.07 4.26 "
equal() { "$hetplan" "$@" --compare --csv | awk -F, '$1 == "equal shares" { print $2, $3 }'; } # first and last end
is "compare: equal shares have the minimum" "$(equal share -n 1002 -s 1,2,4 --cost linear --minimum 0,0,800)" "50.5 200.0"
is "compare: equal shares keep capacities and the quantum" \
  "$(equal share -n 1001 -s 1,2,4 --cost linear --capacity 97,1000,1000 --quantum 7)" "91.0 227.5"
is "compare: equal shares that a root sends" \
  "$(equal scatter -n 102 --compute 1,1,1 --link 1,1 --minimum 70,0,0 --quantum 10)" "102.0 140.0"
run "$hetplan" scatter -n 50 --compute nlogn,nlogn --link 1 --compare
is "compare: exit 0 if any method applies" "$rc" 0
ok "compare: says why a method does not" grep -q '^closed .*linear' <<<"$out"
run "$hetplan" scatter -i "$rays" --compare --max-steps 10
ok "compare: skips methods that need too many steps" grep -q '^window .*skipped: about' <<<"$out"
run "$hetplan" share -n 5 -s 0 --cost linear --compare
is "compare: exit 1 if none applies" "$rc" 1

if [ -w /dev/full ]; then
  for words in "share -n 5 -s 1 --cost linear" "share -n 5 -s 1 --cost linear --json" "--help" \
    "share -n 5 -s 1 --cost linear --csv" "share -n 5 -s 1 --cost linear --compare" \
    "emulate --ratings 1 --processes 3 --gantt"; do
    # shellcheck disable=SC2086  # words are words
    "$hetplan" $words >/dev/full 2>said
    is "full disk: $words" "$? $(cut -c 1-39 said)" "1 hetplan: cannot write 'standard output'"
  done
  run "$hetplan" emulate --ratings 1 --processes 3 --svg /dev/full
  is "full disk: picture" "$rc $err" "1 hetplan: cannot write '/dev/full': No space left on device"
fi
"$hetplan" share -n 5 -s 1 --cost linear --svg closed.svg >&- 2>said
is "closed standard output: exit 1" $? 1
is "closed standard output: the table is not in the picture" "$(grep -c makespan closed.svg)" 2
"$hetplan" batch <&- 2>said
is "closed standard input: exit 1" $? 1
yes '{"op":"emulate","ratings":[1],"processes":1}' | head -n 5000 >many
{ "$hetplan" batch many; echo $? >status; } | head -n 1 >/dev/null
is "nobody reads: ended by SIGPIPE" "$(cat status)" 141
same_plan() { # same_plan WHAT OPTIONS... - -- OPTIONS... give the same answer
  local what=$1 first=() ; shift
  while [ "$1" != -- ]; do first+=("$1"); shift; done
  shift
  is "$what" "$("$hetplan" "${first[@]}" --json)" "$("$hetplan" "$@" --json)"
}
same_plan "1M items" share -n 1M -s 1,2 --cost linear -- share -n 1000000 -s 1,2 --cost linear
same_plan "3x1 is 1,1,1" share -n 1e3 -s 3x1,2x0.5 --cost nlogn -- share -n 1000 -s 1,1,1,.5,.5 --cost nlogn
same_plan "costs in groups" scatter -n 99 --compute '2xnlogn*2,1' --link 2x.1 -- scatter -n 99 --compute 'nlogn*2,nlogn*2,1' --link .1,.1
run "$hetplan" share -n 1e9 -s 100000x1 --cost nlogn --json
is "a hundred thousand alike" "$rc $(tr , '\n' <<<"$out" | grep -c '^10000$')" "0 99998"

# Without GLPK: a file with its name that is not a library, then a library that is not GLPK.
chain=(chain --w ".75,.75" --z 1 --vcomm "1,1" --vcomp "1,1")
mkdir hidden
for source in "" /dev/null; do
  [ -z "$source" ] && : >hidden/libglpk.so.40
  [ -z "$source" ] || ok "another library" "${CC:-cc}" -shared -o hidden/libglpk.so.40 -x c "$source"
  run env LD_LIBRARY_PATH="$PWD/hidden" "$hetplan" "${chain[@]}" --method lp
  is "method lp names what it lacks" "$rc $out ${err%40*}" "1  hetplan: method lp needs GLPK, the others do not: \
cannot load 'libglpk.so.40': $PWD/hidden/libglpk.so."
  run env LD_LIBRARY_PATH="$PWD/hidden" "$hetplan" "${chain[@]}" --compare
  is "the other methods work" "$rc $(awk '$NF ~ /^[0-9.e-]+$/ {print $1}' <<<"$out" | paste -sd ' ')" "0 simple singleinst multiinst"
done
# Without GSL: the same in its place.
for version in .28 .27 .25 .23 ""; do : >"hidden/libgsl.so$version"; done
without_gsl() { run env LD_LIBRARY_PATH="$PWD/hidden" "$hetplan" share -n 1000 "$@" --csv; }
for method in exact asymptotic; do
  without_gsl -s 1,2 --cost nlogn --method $method
  is "n ln n, method $method, names what it lacks" "$rc $out ${err%so: *}" \
    "1  hetplan: the cost n ln n needs GSL, the others do not: cannot load 'libgsl.so': $PWD/hidden/libgsl."
done
for words in "--cost linear" "--cost nlog2n1" "--cost power:1.5" "--cost nlogn --method taylor" "--cost nlogn --method proportional"; do
  # shellcheck disable=SC2086  # several words
  without_gsl -s 1,2 $words
  is "$words needs no GSL" "$rc $err $(wc -l <<<"$out")" "0  3"
done
without_gsl -s 2,2,2 --cost nlogn
is "n ln n among equals needs no GSL" "$rc $err $(cut -d, -f2 <<<"$out" | paste -sd ' ')" "0  share 334 333 333"
run env LD_LIBRARY_PATH="$PWD/hidden" "$hetplan" scatter -n 99 --compute 1,2 --link .1,.1 --method lp
is "method lp of a scatter needs none" "$rc $(grep -c makespan <<<"$out")" "0 1"
run "$hetplan" share -n 9 -s 1,2 --cost linear --names 2x3,b
is "a name may look like a group" "$rc $(grep -c 2x3 <<<"$out")" "0 1"

# Numbers at and beyond the range of a double: a plan of finite numbers, or a refusal that names the option.
edges() { # edges NAME WORDS... - V in the words is the number; NAME: what a refusal contains
  local name=$1 v words wrong='' jobs=0; shift
  for v in 0 -1 4.9e-324 1e-308 1e-160 1e-30 1 1e30 1e160 1e308 inf nan '' 1e400; do
    words=("${@//V/$v}")
    run "$hetplan" "${words[@]}" --csv
    jobs=$((jobs + 1))
    if [ "$rc" = 0 ] && ! grep -q -i -w -E -- '-?(nan|inf|infinity)' <<<"$out"; then continue; fi
    if [[ $rc = [12] ]] && [[ $err =~ $name ]]; then continue; fi
    wrong+="status $rc: ${words[*]}: ${out:0:200}${err:0:200}"$'\n'
  done
  is "edges of $name: $*" "$jobs $wrong" "14 "
}
edges speed share -n 1000 --cost linear -s V,1
edges speed share -n 1000 --cost nlogn -s 1,V,1e160
edges speed share -n 1000 --cost linear -s V,1e-308,1e308 --capacity 300,300,400
edges items share -n V --cost linear -s 1,2
edges weight share --weights V,1,2 -s 1e-160,1
edges 'cost|power|finite time' share -n 1000 -s 1,2 --cost power:V
edges cost share -n 1000 -s 1,2 --cost affine:V:1
edges cost share -n 1000 -s 1,2 --cost affine:1:V
edges 'cost|scale' share -n 1000 -s 1,2 --cost 'nlogn*V'
edges cost share -n 1000 --costs V,1
edges quantum share -n 1000 -s 1,2 --cost linear --quantum V
edges time.limit share -n 1000 -s 1,2 --cost linear --time-limit V
edges rating emulate --ratings V,1 --processes 7
edges rating emulate --ratings 1,V --best-upto 9
edges 'compute|cost' scatter -n 100 --compute V,1 --link 1,1
edges 'link|cost' scatter -n 100 --compute 1,1 --link 1,V
edges 'observation|item|time' model --observations V:1,20:2
edges 'observation|item|time' model --observations 1:V,20:2
for option in w w-load z tau latency vcomm vcomp release weight; do
  words=(--w '1,1' --z 1 --tau '0,0' --latency 0 --vcomm '1,1' --vcomp '1,1' --release '0,0' --weight '1,1')
  [ "$option" != w-load ] || words+=(--w-load '1,1,1,1')
  for i in "${!words[@]}"; do [ "${words[i]}" != --$option ] || words[i + 1]=${words[i + 1]/%[01]/V}; done
  edges "\b${option/-/.}\b|end time" chain "${words[@]}"
done
done_testing
