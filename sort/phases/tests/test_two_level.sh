# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An exchange in two steps writes the same as a direct one, with any ranks, records, keys and shares. If two steps are not
# possible, the exchange is direct.
. "$ROOT/scripts/tap.sh"
hetsort=$BIN/hetsort

way() { # REPORT - print the exchange that it names
    sed -n 's/.*"exchange": *"\([a-z-]*\)".*/\1/p' "$1"
}

same() { # TEXT WAY OPTION... - both ways write the same; the second must be WAY, or either
    local text=$1 want=$2
    shift 2
    run "$hetsort" -q -f --no-fsync --exchange direct -o direct "$@" in
    is "$text: directly" "$rc" 0
    run "$hetsort" -q -f --no-fsync --exchange two-level --report report.json -o two "$@" in
    [[ $want != either ]] || want=$(way report.json)
    is "$text: in two steps" "$rc/$(cmp direct two && echo same)/$(way report.json)" "0/same/$want"
}

for ranks in 2 3 4 7 16 31; do
    for records in 0 1 $((ranks - 1)) "$ranks" $((ranks + 1)) 3000; do
        "$BIN/gensort" --no-fsync "$records" in
        same "$ranks ranks, $records records" two-level --ranks "$ranks"
    done
done

printed() { # TEXT START - check that a printed line begins with START
    is "$1" "$rc/$(grep -c "^$2" <<<"$out")" 0/1
}

speeds=1,0.2,3,1,1,0.7
speeds=$speeds,$speeds,$speeds,$speeds

# four kinds of keys, equal ones in the order of the input
"$BIN/gensort" --no-fsync 20000 random
"$hetsort" -q -o sorted random
"$hetsort" -q -r -o reversed random
"$BIN/gensort" --no-fsync -s 20000 skewed
for kind in random skewed sorted reversed; do
    cp "$kind" in
    for key in 0,10 0,1 98,1 99,1; do
        same "$kind, key $key" two-level --ranks 13 --key "$key" -s
    done
    # all records of a fast rank may be for one other, and go to a slow rank first, which has no room for them
    want=two-level
    [[ $kind == random ]] || want=either
    same "$kind, other speeds" $want --ranks 24 --speeds "$speeds"
    # measured speeds, which differ from run to run, decide how many records go to a rank
    same "$kind, adapted" either --ranks 24 --speeds "$speeds" --adapt
    same "$kind, the first" two-level --ranks 11 --top 700
    same "$kind, nearly all" two-level --ranks 11 --top 19990
    same "$kind, unique" two-level --ranks 11 --unique
    for threads in 0 1; do
        same "$kind, $threads exchange threads" two-level --ranks 9 --exchange-threads "$threads"
    done
    same "$kind, virtual ranks" two-level --ranks 4 --speeds 1,2,3,4 --emulate 10
    same "$kind, short messages" two-level --ranks 9 --max-message 7
done

# simulated hosts have the same speeds in every run, so the resulting shares are known
adapted() { # TEXT WAY HOST - HOST runs at another speed than planned, so shares change, and the exchange is WAY
    { tr , '\n' <<<"$speeds" | sed 's/^/1 x speed /' && echo "at 0 host $3 speed 0.1"; } >platform
    run "$BIN/hetsim" --scale 100 --report simulated platform -q -f --no-fsync --exchange two-level \
        --speeds "$speeds" --adapt --report report.json -o two in
    is "$1" "$rc/$(cmp sorted two && echo same)/$(grep -o '"shares": *"[a-z ]*"' report.json)/$(way report.json)" \
        "0/same/\"shares\": \"changed\"/$2"
}
if [[ -x $BIN/hetsim && ${SANITIZER:-coverage} == coverage ]]; then # sanitizers do not follow coroutines
    cp random in
    adapted "random, adapted to a slow host" two-level 3
    adapted "a fast host turned slow: too much comes to it between the steps" direct 2
fi

# all keys equal: with unique keys one rank must have all records
head -c 2000000 /dev/zero >in
same "equal keys" two-level --ranks 13
same "equal keys, unique" direct --ranks 13 --unique --key 0,1

cp reversed in
same "too much for slow ranks" direct --ranks 6 --speeds 1,0.2,3,1,1,0.7
cp random in
same "records of 8 bytes" two-level --ranks 10 --record-size 8 --key 0,8
same "records of 1000 bytes" two-level --ranks 10 --record-size 1000 --key 3,4
same "one rank" "" --ranks 1
same "distribute" direct --ranks 5 --strategy distribute
same "from rank 0" direct --ranks 5 --source root
same "too little memory" direct --ranks 5 --memory 11M

run "$hetsort" --explain --exchange two-level --ranks 9 in
printed "--explain prints two levels" "exchange two-level"
run "$hetsort" --explain --exchange two-level --ranks 9 --strategy distribute in
printed "and why the exchange is direct" "exchange direct, the only way"
run "$hetsort" --explain --ranks 9 --memory 16M --exchange two-level in
printed "little memory" "exchange direct, because memory"
run "$hetsort" --explain --ranks 2 in
printed "two ranks" "exchange direct, which takes less time"
run "$hetsort" --explain --ranks 500 in
printed "very many" "exchange two-level"
run "$hetsort" -q -f --ranks 150 --report report.json -o two in
is "by itself, too" "$rc/$(way report.json)" 0/two-level
run "$hetsort" -q -f --ranks 150 --report report.json -o two sorted
is "not of what is in order" "$rc/$(way report.json)/$(cmp two sorted && echo same)" 0/direct/same
done_testing
