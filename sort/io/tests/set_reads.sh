# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck disable=SC2154,SC2086  # hetsort, olds and news are set by the test; numbers of ranks
# Read the set of parts d/out.* in every way in which hetsort reads sets, after a job was killed: the output is the
# whole old set or the whole new one, in the files old and new, or the set is refused. For test_commit.sh and
# long_set_reads.sh.
# shellcheck disable=SC2034  # for the tests
reads=0 mixtures=0 refusals=0
# shellcheck disable=SC2034
ways_to_read=(set own fewer manifest names stable top merge merged check summed explain root link)

names_there() { find d -name 'out.[0-9]*' | sort -V; }

# read_set WAY - set rc, out and err; a sorted output is in `got`
read_set() {
  local names
  mapfile -t names < <(names_there)
  [ ${#names[@]} -gt 0 ] || names=(d/out.0)
  rm -rf got linked
  case $1 in
    set) run "$hetsort" -q -o got --ranks $news d/out.%r ;;
    own) run "$hetsort" -q -o got --ranks $((olds > 0 ? olds : 2)) d/out.%r ;;
    fewer) run "$hetsort" -q -o got d/out.%r ;;
    manifest) run "$hetsort" -q -o got --ranks 2 d/out.manifest ;;
    names) run "$hetsort" -q -o got "${names[@]}" ;;
    stable) run "$hetsort" -q -o got --ranks 2 --key 0,10 --stable "${names[@]}" ;;
    top) run "$hetsort" -q -o got --ranks 2 --top 600 d/out.manifest ;;
    merge) run "$hetsort" -q -o got --merge d/out.manifest ;;
    merged) run "$hetsort" -q -o got --ranks 2 --merge "${names[@]}" ;;
    check) run "$hetsort" --check -q --ranks $news d/out.%r ;;
    summed) run "$hetsort" --check --checksum "${names[@]}" ;;
    explain) run "$hetsort" --explain -o got d/out.%r ;;
    root) run "$hetsort" -q -o got --ranks 2 --source root "${names[@]}" ;;
    link) mkdir linked; ln -s "${names[@]/#/../}" linked; run "$hetsort" -q -o got linked/out.[0-9]* ;;
  esac
}

sum_of() { "$hetsort" --check --checksum "$1" | sed -n 's/^checksum: //p'; }

# what_was_read WAY - print old, new, refused, some (a set, but not which one), or MIXTURE
what_was_read() {
  [ "$rc" -eq 0 ] || { echo refused; return; }
  case $1 in
    check | explain) if is_between; then echo MIXTURE; else echo some; fi ;;
    summed) case $out in *"$sum_old"*) echo old ;; *"$sum_new"*) echo new ;; *) echo MIXTURE ;; esac ;;
    *) if cmp -s got old; then echo old; elif cmp -s got new; then echo new; else echo MIXTURE; fi ;;
  esac
}

# is_between - return whether a journal exists
is_between() { [ -n "$(find d -name '*.commit' -o -name '*.replace*')" ]; }

# reads_whole WAY WHAT... - read the set, and add a failure to `odd`
reads_whole() {
  local way=$1 is; shift
  read_set $way
  is=$(what_was_read $way)
  reads=$((reads + 1))
  case $is in
    MIXTURE) mixtures=$((mixtures + 1)); odd+=" $*: read by $way: neither the old set nor the new one;" ;;
    refused) refusals=$((refusals + 1))
      if [[ $way = link && $err = *"cannot open input 'linked/"*"No such file"* ]]; then return 0; fi # the link leads nowhere yet
      if is_between && [[ $err != *"hetsort --clean '"*"d/out.manifest' completes it"* ]]; then
        odd+=" $*: read by $way: refused, but not for its journal: $err;"
      fi ;;
  esac
}
