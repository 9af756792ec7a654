#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetplan batch: the reference platform of [S0] by every method, a table of malformed requests each
# with its own message, a batch that continues after them, exit codes, broken input and output.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"

hetplan=$BIN/hetplan
rays=$ROOT/partition/examples/rays.json
table=$ROOT/partition/hetplan/tests/refused.tsv

# request METHOD [REVERSED] - the 16 processors as a request line
request() {
  awk -v method="$1" -v rev="${2:-}" '
    { line[NR] = $0 }
    END {
      n = 0
      for (i = 1; i <= NR; i++) {
        if (line[i] ~ /"compute"/) p[++n] = line[i]
        else if (line[i] ~ /"link"/) { p[n] = p[n] line[i] }
      }
      printf "{\"op\":\"scatter\",\"items\":817101,\"method\":\"%s\",\"processors\":[", method
      for (i = 1; i <= n; i++) {
        j = (rev && i < n) ? n - i : i
        sub(/,$/, "", p[j]); printf "%s%s", (i > 1 ? "," : ""), p[j]
      }
      print "]}"
    }' "$rays"
}
field() { sed -n 's/.*"'"$1"'":\([-0-9.e+]*\).*/\1/p' <<<"$2"; }
seven() { printf '%.7f' "$1"; }
# The slow exact methods prove the same figure elsewhere; here they would take half a minute.
for method in auto multires lp closed; do
  out=$(request $method | "$hetplan" batch)
  is "$method: integer optimum, descending bandwidth" "$(seven "$(field makespan "$out")")" 403.9752296
done
out=$(request closed | "$hetplan" batch)
is "closed: rational optimum" "$(seven "$(field real_makespan "$out")")" 403.9730150
out=$(request auto reversed | "$hetplan" batch)
is "integer optimum, ascending bandwidth" "$(seven "$(field makespan "$out")")" 414.3858595
if [ -z "$SANITIZER" ]; then
  out=$(request window | "$hetplan" batch)
  is "window: the same optimum" "$(seven "$(field makespan "$out")")" 403.9752296
fi

out=$("$hetplan" scatter --input "$rays" --compare --csv)
is "equal shares end between 225.7 and 829.2" \
  "$(awk -F, '$1 == "equal shares" { printf "%.1f %.1f", $2, $3 }' <<<"$out")" "225.7 829.2"

# Every malformed request has a message of its own; % is its line.
tail -n +2 "$table" | cut -f 1 >bad
run "$hetplan" batch bad
is "refused requests: exit 1" "$rc" 1
is "refused requests: nothing on standard error" "$err" ""
is "one answer a line" "$(wc -l <<<"$out")" "$(wc -l <bad)"
tail -n +2 "$table" | cut -f 2 | sed 's/[\\"]/\\&/g' | awk '{ gsub(/%/, NR)
  print "{\"status\":\"error\",\"message\":\"" $0 "\"}" }' >wanted
n=0
while IFS= read -r got <&3 && IFS= read -r want <&4; do
  n=$((n + 1))
  is "message of line $n" "$got" "$want"
done 3<<<"$out" 4<wanted
is "no message twice" "$(sed 's/line [0-9]*//' wanted | sort | uniq -d | grep -v -e best_upto -e speeds)" ""

good='{"op":"share","id":"g","items":3,"speeds":[1,2],"cost":{"type":"linear"}}'
run "$hetplan" batch <<<"$good
{\"op\":\"share\",\"id\":17}
$good"
is "continues after an error: exit 1" "$rc" 1
want='{"id":"g","status":"ok","op":"share","method":"exact, D'"'"'Hondt","shares":[1,2],"real":[1.0,2.0],"times":[1.0,1.0],"makespan":1.0,"real_makespan":1.0,"lower_bound":1.0}'
is "continues after an error" "$out" "$want
{\"id\":17,\"status\":\"error\",\"message\":\"'items' is missing\"}
$want"
run "$hetplan" batch - <<<"$good"
is "all well: exit 0" "$rc $out" "0 $want"
run "$hetplan" batch <<<"${good/\"g\"/[true,false,null]}"
is "an id of any kind comes back" "$rc ${out%%,\"status*}" '0 {"id":[true,false,null]'
printf '%s' "$good" >noeol
is "a last line without a line feed" "$("$hetplan" batch noeol)" "$want"
run "$hetplan" batch </dev/null
is "nothing in, nothing out" "$rc$out$err" 0
printf '{"op":"\377\033[1m"}\n\0\n' >bytes
run "$hetplan" batch bytes
is "bytes that are not text: exit 1" "$rc" 1
ok "bytes that are not text: none comes back" test -z "$(LC_ALL=C tr -d '\n -~' <<<"$out")"

run "$hetplan" batch "no/such"$'\e'"file"
is "no such file: exit 1" "$rc" 1
is "no such file: message" "$err" "hetplan: cannot open 'no/such\\x1bfile': No such file or directory"
run "$hetplan" batch .
is "a directory: exit 1" "$rc" 1
is "a directory: message" "$err" "hetplan: cannot read '.': Is a directory"
if [ -w /dev/full ]; then
  printf "%s\n%s\n" "$good" "$good" >two
  "$hetplan" batch two >/dev/full 2>said
  is "full disk: exit 1" $? 1
  is "full disk: message" "$(cat said)" "hetplan: cannot write 'standard output': No space left on device"
fi
# Limits: the best plan so far is an answer, and says what ended the search.
link='{"type":"affine","startup":0,"per_item"'
hostile="{\"compute\":{\"type\":\"nlogn\"},\"link\":$link:3}},{\"compute\":{\"type\":\"nlogn\",\"scale\":2},\"link\":$link:1}},{\"compute\":{\"type\":\"nlogn\"}}"
scatter="{\"op\":\"scatter\",\"items\":1000000,\"processors\":[$hostile]"
chain='{"op":"chain","w":[1,1,1],"z":[0.1,0.1],"vcomm":[1,1],"vcomp":[1,1]'
printf '%s,"max_mem_bytes":1}\n%s,"method":"dp","max_mem_bytes":100000}\n%s,"max_mem_bytes":1}\n' \
  "$scatter" "$scatter" "$chain" >limited
run "$hetplan" batch limited
is "limits: exit 0" "$rc$err" 0
is "limits: what ended each search" "$(grep -o '"stopped":"[a-z ]*"' <<<"$out" | sort | uniq -c | tr -s ' ')" \
  ' 3 "stopped":"out of memory"'
is "limits: each has a bound" "$(grep -c '"lower_bound":[0-9]' <<<"$out")" 3
zigzag='{"type":"table","values":['$(seq -s, 0 20000 | sed 's/\([0-9]*\)5,/\11,/g')']}'
printf '{"op":"share-unrelated","items":20000,"costs":[%s,%s],"method":"dp","time_limit_s":1e-6}\n' "$zigzag" "$zigzag" >limited
run "$hetplan" batch limited
is "limits: shares that end early" "$rc $(grep -o '"stopped":"[a-z ]*"' <<<"$out")" '0 "stopped":"out of time"'
run "$hetplan" batch --time-limit=0.2 <<<'{"op":"emulate","ratings":[1,1.41421356],"best_upto":1000000000}'
is "limits: the batch's limit ends a line that runs" "$rc $(grep -o '"stopped":"[a-z ]*"' <<<"$out")" '0 "stopped":"out of time"'
run "$hetplan" emulate --ratings=1,1.41421356 --best-upto=1000000000 --time-limit=1e-6
is "limits: emulate has an option" "$rc $(grep -c 'stopped: out of time' <<<"$out")" "0 1"
run "$hetplan" batch <<<'{"op":"farm","items":1000000000,"chunk":1,"processors":[{"compute":{"type":"linear"}}],"time_limit_s":1e-6}'
is "limits: farm" "$rc $(grep -o 'out of time' <<<"$out")" "1 out of time"
run "$hetplan" batch --time-limit=1e6 <<<"$(sed 's/"time_limit_s":1e-6/"max_mem_bytes":9/' limited)"
is "limits: shares that need more memory" "$rc $(grep -o "allowed" <<<"$out")" "1 allowed"
printf '%s,"time_limit_s":0}\n%s,"time_limit_s":-1}\n%s,"max_mem_bytes":0}\n' "$scatter" "$chain" "$chain" >limited
run "$hetplan" batch limited
is "invalid limits: refused" "$rc$(grep -c '"status":"error"' <<<"$out")" 13
run "$hetplan" batch --time-limit=1e-9 <<<"$good"
is "a batch without time: refused" "$rc $(grep -o 'the batch is out of time' <<<"$out")" "1 the batch is out of time"
run "$hetplan" batch --time-limit=1000 <<<"$good"
is "a batch with time: as without a limit" "$out" "$want"
run "$hetplan" batch --time-limit=no
is "a limit that is not a number" "$rc" 2
run "$hetplan" scatter -n 1000000 --compute=nlogn,nlogn*2,nlogn --link=3,1 --max-mem=1 --time-limit=100
is "a table says what ended the search" "$rc $(grep -c 'stopped: out of memory' <<<"$out")" "0 1"

# Each answer is there before the next request is asked.
mkfifo q a
"$hetplan" batch <q >a &
exec 3>q 4<a
echo "$good" >&3
IFS= read -r -t 20 line <&4
is "answers come one by one" "$line" "$want"
exec 3>&- 4<&-
wait $!
is "end of input ends it" $? 0
run "$hetplan" batch <<<'{"op":"share","items":103,"speeds":[1,2,7],"cost":{"type":"linear"},"minimum":[20,null,0],"quantum":5}
{"op":"share-unrelated","items":103,"costs":[{"type":"linear"},{"type":"linear"}],"minimum":[0,0],"capacity":[null,8]}'
is "minimum, quantum, capacity" "$rc $(grep -o '"shares":[^]]*' <<<"$out" | tr '\n' ' ')" '0 "shares":[20,18,65 "shares":[95,8 '
run "$hetplan" batch <<<'{"op":"share-weights","weights":[5,1,1,1,4],"speeds":[1,1,2]}'
is "contiguous parts of weights" "$rc $(grep -o '"shares":[^]]*' <<<"$out")" '0 "shares":[1,3,1'
run "$hetplan" share --weights=5,3x1,4 -s 1,1,2 --csv
is "an option for weights" "$rc $(cut -d, -f 2 <<<"$out" | tr -dc '0-9 \n' | tr '\n' ' ')" "0  1 3 1 "
run "$hetplan" share -n 100 -s 1,9 --cost=linear --minimum=30,0 --csv
is "an option for minimums" "$rc $(cut -d, -f 2 <<<"$out" | tr -dc '0-9 \n' | tr '\n' ' ')" "0  30 70 "
procs='{"compute":{"type":"linear"},"link":{"type":"linear"}},{"compute":{"type":"linear"},"link":{"type":"linear","scale":2}},{"compute":{"type":"linear","scale":9}}'
swapped=$(sed 's/,"scale":2//; s/"link":{"type":"linear"/&,"scale":2/' <<<"$procs")
run "$hetplan" batch <<<"{\"op\":\"scatter\",\"items\":102,\"processors\":[$procs],\"minimum\":[null,20,0],\"quantum\":5}
{\"op\":\"scatter-order\",\"items\":100,\"processors\":[$swapped],\"minimum\":[20,null,0],\"quantum\":20,\"method\":\"multires\"}
{\"op\":\"scatter\",\"items\":100,\"processors\":[$procs],\"minimum\":[90,20,0]}
{\"op\":\"scatter\",\"items\":100,\"processors\":[$procs],\"minimum\":[1,1,1],\"method\":\"lp\"}
{\"op\":\"scatter\",\"items\":100,\"processors\":[$procs],\"minimum\":[1]}"
is "scatters: minimum and quantum" "$rc $(grep -o -e '"shares":[^]]*' -e '"message":.*' <<<"$out" | tr '\n' ' ')" \
  '1 "shares":[75,25,2 "shares":[80,20,0 "message":"the minimums take more than the '"'100'"' items"} "message":"the method does not support minimums"} "message":"'"'minimum'"': 1 entries, must be 3"} '
run "$hetplan" scatter -n 100 --compute=1,1,9 --link=1,2 --minimum=0,20,0 --quantum=20 --csv
is "scatters: options for both" "$rc $(cut -d, -f 2 <<<"$out" | tr -dc '0-9 \n' | tr '\n' ' ')" "0  80 20 0 "
run "$BIN/hetplan" batch <<<'{"op":"share","items":1000,"speeds":[{"repeat":3,"value":1},2],"cost":{"type":"linear"}}
{"op":"scatter","items":9,"processors":[{"repeat":2,"value":{"compute":{"type":"linear"},"link":{"type":"linear"}}},{"compute":{"type":"linear"}}]}'
is "repeat" "$rc $(grep -o '"shares":[^]]*' <<<"$out" | tr '\n' ' ')" '0 "shares":[200,200,200,400 "shares":[0,0,9 '
done_testing
