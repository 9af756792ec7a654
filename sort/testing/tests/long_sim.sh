#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Ten thousand clusters from seeds.
set -u
exec "$BIN/failpoints/fault_sim" 10000
