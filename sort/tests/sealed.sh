# shellcheck shell=bash
# For tests of kept runs, which lie in the folder store.
sealed() { # sealed RANK - has it a run with a seal, which ends anywhere in a block?
  local f bytes
  for f in store/hetsort-rank"$1".run*; do
    if bytes=$(stat -c %s "$f" 2>/dev/null) && [ $((bytes % 4096)) -ne 0 ]; then return 0; fi
  done
  return 1
}
