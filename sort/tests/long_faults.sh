#!/usr/bin/env bash
# The whole walk: every allocation, file call, thread and message of every sort fails; then two at a
# time, anywhere, until a hundred thousand faults have struck.
set -u
exec "$BIN/failpoints/fault_walk" full 100000
