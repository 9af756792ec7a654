#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Four ranks over MPI. One of them, or the launcher, gets a signal when a rank has reached a phase, at any moment of the
# job, or while files get their names. Then any bit of any message other than a block flips on the way, over MPI or
# between threads. In each case: status 0 means the right output; a file under the final name is the right one; no rank
# hangs; the next job removes files that are left under temporary names, which is rare after a signal that can be
# caught. Files that --workdir keeps are counted separately; the next job continues with them, with any number of ranks.
# Open MPI's launcher may hang or crash itself if a rank is killed during its start: this is counted.
#   KILLS, FLIPS: number of each [200, 500]   SEED: of random numbers [the time]   LANES: jobs at a time [3]
# shellcheck disable=SC2317,SC2086  # called through ok and await; process numbers
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
"$ROOT/scripts/mpirun" --here || skip_all "no MPI here"
kills=${KILLS:-200} flips=${FLIPS:-500} seed=${SEED:-$EPOCHSECONDS} lanes=${LANES:-3} limit_s=60
"$BIN/gensort" --no-fsync 200000 large && "$BIN/gensort" --no-fsync 3000 small &&
  "$BIN/hetsort" -q -o large.sorted large && "$BIN/hetsort" -q -o small.sorted small || exit 1
from=$EPOCHREALTIME
"$ROOT/scripts/mpirun" 4 "$BIN/hetsort" -o out large && rm out || exit 1
whole_ms=$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { print int(1000 * (b - a)) }')
ways=("" "--exchange-threads 0" "--exchange-threads 1" "--strategy distribute" "--strategy distribute --exchange-threads 0"
  "--source root --speeds 1,2,3,4" "--source root --scatter dynamic" "--source root --strategy distribute --speeds 2,1,1,1"
  "--speeds 1,0.5,2,1 --plan linear --stable" "--workdir store --resume")
cat >rank <<'END'
#!/bin/sh
echo $$ >pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
exec "$@"
END
chmod +x rank

# find_left - find the files that a job has left. Set kept to the files that --resume continues with: runs, states, and a
# complete output that a state notes. Set litter to all others.
find_left() {
  local f id complete
  kept='' litter=''
  complete=$(sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p' store/hetsort-rank*.json 2>/dev/null | sort -u)
  while read -r f; do
    case $f in ./store/hetsort-rank*.json | ./store/hetsort-rank*.run*) kept+=" $f"; continue ;; esac
    for id in $complete; do case $f in ./.hetsort-*-"$id"-*.tmp) kept+=" $f"; continue 2 ;; esac; done
    litter+=" $f"
  done < <(find . -name '.hetsort-*' -o -path './store/*')
}
without_timeout() { # without_timeout COMMAND... - set next: the command without hetsort's --timeout N
  next=()
  while [ $# -gt 0 ]; do
    if [ "$1" = --timeout ]; then shift; else next+=("$1"); fi
    shift
  done
}
other_ranks() { # other_ranks COMMAND... - set next: the command, with a random number of ranks if it can resume with that
  next=("$@")
  case "$*" in *"/mpirun 4 "*"--workdir store --resume -o out "*) draw 8; next[1]=$((d + 1)) ;; esac
}
judge() { # judge WHAT RC END INPUT COMMAND... - print the result; COMMAND is the next job
  local what=$1 rc=$2 end=$3 in=$4 out kept litter next said; shift 4
  out=$(cat out out.[0-3] 2>/dev/null | cmp -s - "../$in.sorted" && echo right)
  said=$(sed -n 's/^hetsort: / | /p' messages | head -n 1)
  find_left
  if [ "$out" != right ]; then # parts may exist one by one until the manifest exists
    if [ "$rc" = 0 ] || [ -e out ] || [ -e out.manifest ]; then end=WRONG; fi
  fi
  if [ "$rc" = 0 ] && [ -n "$litter$kept" ]; then end=LITTER; fi
  rm -f out out.[0-3] out.manifest
  what+=" rc=$rc${litter:+ litter:$litter}${kept:+ kept:$kept}$said"
  if [ -n "$litter$kept" ]; then # the next job removes these files
    without_timeout "$@"
    other_ranks "${next[@]}"
    what+=" next: ${next[1]}"
    timeout -k 2 $((2 * limit_s)) "${next[@]}" >messages.next 2>&1 || end=STAYS
    cat out out.[0-3] 2>/dev/null | cmp -s - "../$in.sorted" || end=STAYS-WRONG
    find_left
    if [ -n "$litter$kept" ]; then end=STAYS; fi
    rm -rf out out.[0-3] out.manifest .hetsort-* store
  fi
  echo "$end $what"
}

draw() { d=$(((RANDOM << 15 | RANDOM) % $1)); } # draw N - set d, below N; no subshell, because its numbers would repeat

ended() { # ended JOB SECONDS - 0: all ended in time; 1: all but the launcher; 2: ranks have not ended
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

choose_phase() { # choose_phase WAY - set phase to one that this way of sorting has
  local phases=(start describe plan read sample split exchange write sync commit named end)
  case $1 in *distribute*) phases+=(sort) ;; *) phases+=(merge) ;; esac
  case $1 in *workdir*) phases+=(checkpoint complete) ;; esac
  draw ${#phases[@]}; phase=${phases[d]}
}
arrived() { [ "$(state_of "$(cat "pid.$at" 2>/dev/null || echo 0)")" = T ] || [ ! -d /proc/$job ]; }
come() { [ -s "pid.$1" ] || [ ! -d /proc/$job ]; }

# A third of the strikes come when a rank has reached a phase, before it continues or a moment later. A third come at a
# random time. In the last third a rank dies at a call on a file while final names are given.
draw_strike() { # draw_strike - set way, out, program, plan, sig, rank, at, ms, when
  local sigs=(KILL KILL STOP STOP TERM HUP INT) victims=(0 1 2 3 launcher)
  program=$BIN/failpoints/hetsort out=out
  draw ${#ways[@]}; way=${ways[d]}
  draw ${#sigs[@]}; sig=${sigs[d]}
  draw ${#victims[@]}; rank=${victims[d]}
  draw 4; at=$d
  choose_phase "$way"
  draw 3; [ $d = 0 ] || out=out.%r
  if [ "$rank" = launcher ] && [ "$sig" = STOP ]; then sig=TERM; fi # no watchdog would end it
  draw 3
  case $d in
    0) draw $whole_ms; ms=$d when="$ms ms" program=$BIN/hetsort plan='' ;;
    1) draw 60; ms=$((d > 30 ? d - 30 : 0)) when="$phase of $at + $ms ms" plan=stop@$phase:$at ;;
    2) draw 30; sig=none rank=$at ms=0 when="file call $((1 + d)) of commit" plan=file:$((1 + d))=kill@rank$at@incommit ;;
  esac
}
strike() { # strike - send the drawn signal
  case $plan in stop*)
    await arrived
    [ $ms = 0 ] || kill -s CONT "$(cat pid.$at 2>/dev/null || echo 999999999)" 2>/dev/null ;;
  esac
  sleep "$(printf %d.%03d $((ms / 1000)) $((ms % 1000)))"
  if [ "$rank" = launcher ]; then
    kill -s "$sig" "$(children_of $job)" 2>/dev/null
  elif [ "$sig" != none ]; then
    await come "$rank"
    kill -s "$sig" "$(cat "pid.$rank" 2>/dev/null || echo 999999999)" 2>/dev/null
  fi
  if [ "$sig/$rank" != "STOP/$at" ]; then kill -s CONT "$(cat pid.$at 2>/dev/null || echo 999999999)" 2>/dev/null; fi
}

once_killed() {
  local way sig rank phase at ms when job out end program plan
  draw_strike
  rm -f pid.*
  # shellcheck disable=SC2206  # the way is several words
  local command=("$ROOT/scripts/mpirun" 4 ../rank "$program" --timeout 3 $way -o $out ../large)
  HETSORT_FAIL=$plan timeout -k 2 $((limit_s + 20)) "${command[@]}" >messages 2>&1 &
  job=$!
  strike
  ended $job $limit_s; end=$?
  wait $job; rc=$?
  case $end/$rc in 0/0) end=ok ;; 0/124) end=HANGS ;; 0/*) end=failed ;; 1/*) end=launcher-hung ;; *) end=HANGS ;; esac
  judge "$sig of $rank, $when, $way, $out" $rc $end large "${command[@]}"
} 2>/dev/null

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
  HETSORT_FAIL=$plan timeout -s KILL $limit_s "${command[@]}" >messages 2>&1; rc=$?
  case $rc in 0) ;; 137) end=HANGS ;; *) end=failed ;; esac
  judge "$plan, $over, $way" $rc $end small "${command[@]}"
}

lane() { # lane I - do the share of lane I
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
$(grep -c ' kept: ' $kind) left files that --resume continues with, $(grep -c ' litter: ' $kind) left litter for the next job"
  sed -n 's/\(.* litter: .*\)/#   \1/p' $kind
  is "$kind: all promises kept" "$(grep -v -E '^(ok|failed|launcher-hung) ' $kind | head -n 20)" ""
  is "$kind: the requested number" "$(wc -l <$kind)" "${!kind}"
done
rare() { [ $((20 * $(grep -c -E "$2.* litter: " "$1"))) -le "$(grep -c . "$1")" ]; }
ok "kills: signals that can be caught rarely leave files" rare kills '^failed (TERM|HUP|INT)'
ok "flips: they rarely leave files" rare flips '^failed'
done_testing
