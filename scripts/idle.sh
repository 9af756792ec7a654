# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# How much of this machine was idle, for measurements that mean nothing while others use it: source
# it, call idle_mark, and later idle_since. CPU_STAT names another file than /proc/stat.

# The fields are user, nice, system, idle, iowait, irq, softirq, steal; all in ticks of all CPUs.
idle_read() {
  local t
  read -r -a t <"${CPU_STAT:-/proc/stat}"
  idle_ticks=$((t[4] + t[5])) all_ticks=$((t[1] + t[2] + t[3] + t[4] + t[5] + t[6] + t[7] + t[8]))
}

idle_mark() { idle_read; idle_ticks_then=$idle_ticks all_ticks_then=$all_ticks; }

# shellcheck disable=SC2034  # idle_percent is for the caller
idle_since() { # sets $idle_percent, of all CPUs since the mark
  idle_read
  local all=$((all_ticks - all_ticks_then))
  idle_percent=$((all > 0 ? 100 * (idle_ticks - idle_ticks_then) / all : 100))
}
