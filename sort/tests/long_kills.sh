#!/usr/bin/env bash
# Four ranks over MPI, of which one, or the launcher, gets a signal at any moment; and any bit of any
# message that is no block flips on the way, over MPI or between threads. Whatever comes of it: status 0
# means the right output; a file under the final name is the right one; no rank hangs; what is left under
# temporary names the next run removes, and after a signal that can be caught that is rare: where the others
# had begun to give names. Open MPI's launcher may hang or crash by itself when a rank is killed while it starts:
# that is counted.
#   KILLS, FLIPS: how many of each [200, 500]   SEED: what is drawn [of the time]   LANES: at a time [3]
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
"$ROOT/scripts/mpirun" --here || skip_all "no MPI here"
kills=${KILLS:-200} flips=${FLIPS:-500} seed=${SEED:-$EPOCHSECONDS} lanes=${LANES:-3} limit_s=60
"$BIN/gensort" --no-fsync 200000 large && "$BIN/gensort" --no-fsync 3000 small &&
  "$BIN/hetsort" -q -o large.sorted large && "$BIN/hetsort" -q -o small.sorted small || exit 1
ways=("" "--exchange-threads 0" "--exchange-threads 1" "--strategy distribute" "--strategy distribute --exchange-threads 0"
  "--source root --speeds 1,2,3,4" "--source root --scatter dynamic" "--source root --strategy distribute --speeds 2,1,1,1"
  "--speeds 1,0.5,2,1 --plan linear --stable" "--workdir store --resume")
cat >rank <<'END'
#!/bin/sh
echo $$ >pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
exec "$@"
END
chmod +x rank

left() { find . \( -name '.hetsort-*' -o -path './store/*' \) | head -n 3 | paste -sd' '; }
without_timeout() { # without_timeout COMMAND... - sets next: the command without hetsort's --timeout N
  next=()
  while [ $# -gt 0 ]; do
    if [ "$1" = --timeout ]; then shift; else next+=("$1"); fi
    shift
  done
}
judge() { # judge WHAT RC END INPUT COMMAND... - prints what became of it; the next run is the command
  local what=$1 rc=$2 end=$3 in=$4 out litter next; shift 4
  out=$(cat out out.[0-3] 2>/dev/null | cmp -s - "../$in.sorted" && echo right)
  litter=$(left)
  if [ "$out" != right ]; then # parts may be there one by one, until there is a manifest
    if [ "$rc" = 0 ] || [ -e out ] || [ -e out.manifest ]; then end=WRONG; fi
  fi
  if [ "$rc" = 0 ] && [ -n "$litter" ]; then end=LITTER; fi
  rm -f out out.[0-3] out.manifest
  if [ -n "$litter" ]; then # the next run removes it
    without_timeout "$@"
    timeout -k 2 $((2 * limit_s)) "${next[@]}" >told.next 2>&1 && [ -z "$(left)" ] || end=STAYS
    rm -rf out out.[0-3] out.manifest .hetsort-* store
  fi
  echo "$end $what rc=$rc${litter:+ left: $litter}$(sed -n 's/^hetsort: / | /p' told | head -n 1)"
}

draw() { d=$(((RANDOM << 15 | RANDOM) % $1)); } # draw N - sets d, below N; no subshell, whose numbers would repeat

ended() { # ended JOB SECONDS - 0: in that time; 1: but for the launcher; 2: ranks have not
  local i
  for ((i = 0; i < $2 * 10; i++)); do
    # shellcheck disable=SC2046  # several
    if gone $(cat pid.* 2>/dev/null); then gone "$1" && return 0; fi
    sleep 0.1
  done
  # shellcheck disable=SC2046
  gone $(cat pid.* 2>/dev/null) && return 1
  return 2
}

once_killed() {
  local way sig rank ms after job i out=out end
  local sigs=(KILL KILL STOP STOP TERM HUP INT) victims=(0 1 2 3 launcher)
  draw ${#ways[@]}; way=${ways[d]}
  draw ${#sigs[@]}; sig=${sigs[d]}
  draw ${#victims[@]}; rank=${victims[d]}
  draw 700; ms=$d
  draw 3; after=$d
  draw 4; [ $d != 0 ] || out=out.%r
  if [ "$rank" = launcher ] && [ "$sig" = STOP ]; then sig=TERM; fi # nothing of ours would end it
  case $way in *workdir*) out=out ;; esac
  rm -f pid.*
  # shellcheck disable=SC2206  # the way is several words
  local command=("$ROOT/scripts/mpirun" 4 ../rank "$BIN/hetsort" --timeout 3 $way -o $out ../large)
  timeout -k 2 $((limit_s + 20)) "${command[@]}" >told 2>&1 &
  job=$!
  # shellcheck disable=SC2016  # for await
  [ $after = 0 ] || await eval '[ -n "$(find . -name "*.lock")" ] || [ ! -d /proc/$job ]' # it has started
  sleep "0.$(printf %03d $ms)"
  if [ "$rank" = launcher ]; then
    kill -s "$sig" "$(children_of $job)" 2>/dev/null
  else
    for ((i = 0; i < 200; i++)); do if [ -s "pid.$rank" ] || [ ! -d /proc/$job ]; then break; fi; sleep 0.02; done
    kill -s "$sig" "$(cat "pid.$rank" 2>/dev/null || echo 999999999)" 2>/dev/null
  fi
  ended $job $limit_s; end=$?
  wait $job; rc=$?
  case $end/$rc in 0/0) end=ok ;; 0/124) end=HANGS ;; 0/*) end=failed ;; 1/*) end=launcher-hung ;; *) end=HANGS ;; esac
  judge "$sig of $rank after $ms ms ($after), $way, $out" $rc $end large "${command[@]}"
}

once_flipped() { # once_flipped N
  local way over plan end=ok
  draw ${#ways[@]}; way=${ways[d]}
  # shellcheck disable=SC2206
  local command=("$BIN/failpoints/hetsort" --timeout 5 $way -o out ../small)
  draw 140; plan=flip@heard:$((1 + d))
  draw 100000; plan+="=$d"
  draw 4; plan+=@rank$d
  if [ $(($1 % 4)) = 0 ]; then over=MPI command=("$ROOT/scripts/mpirun" 4 "${command[@]}")
  else over=threads command+=(--ranks 4); fi
  HETSORT_FAIL=$plan timeout -s KILL $limit_s "${command[@]}" >told 2>&1; rc=$?
  case $rc in 0) ;; 137) end=HANGS ;; *) end=failed ;; esac
  judge "$plan, $over, $way" $rc $end small "${command[@]}"
}

lane() { # lane I - its share of all
  local i
  mkdir -p "lane$1" && cd "lane$1" || exit 1
  RANDOM=$((seed + $1))
  for ((i = $1; i < kills; i += lanes)); do once_killed; done >kills
  for ((i = $1; i < flips; i += lanes)); do once_flipped $((i / lanes)); done >flips
}

for ((l = 0; l < lanes; l++)); do lane $l & done
wait
for kind in kills flips; do
  cat lane*/$kind >$kind
  echo "# sum: $(wc -l <$kind) $kind, seed $seed: $(cut -d' ' -f1 $kind | sort | uniq -c | awk '{printf "%s%d %s", c, $1, $2; c = ", "}'); \
$(grep -c ' left: ' $kind) left something for the next run"
  is "$kind: all promises kept" "$(grep -v -E '^(ok|failed|launcher-hung) ' $kind | head -n 20)" ""
  is "$kind: as many as wanted" "$(wc -l <$kind)" "${!kind}"
done
# shellcheck disable=SC2317  # called through ok
rare() { [ $((20 * $(grep -v workdir "$1" | grep -c -E "$2.* left: "))) -le "$(grep -c . "$1")" ]; }
ok "kills: signals that can be caught rarely leave something" rare kills '^failed (TERM|HUP|INT)'
ok "flips: they rarely leave something" rare flips '^failed'
done_testing
