#!/usr/bin/env bash
# The whole walk: every allocation, file call, thread and message of every sort fails.
set -u
exec "$BIN/failpoints/fault_walk"
