#!/usr/bin/env bash
# Two faults at a time, anywhere in any sort.
set -u
exec "$BIN/failpoints/fault_walk" pairs 80000
