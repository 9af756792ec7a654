#!/usr/bin/env bash
# Ten thousand clusters from seeds.
set -u
exec "$BIN/failpoints/fault_sim" 10000
