# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# lost REPORT - print from a report, which is complete, the status, the number of ranks, and each rank that failed. Lines of a
# report are indented by their depth; minimal systems have no program that reads JSON.
lost() {
  awk '
    { depth = match($0, /[^ ]/) - 1; name = $1; gsub(/[":,]/, "", name); value = $2; gsub(/[",]/, "", value) }
    depth == 2 && name == "status" { status = value }
    depth == 2 && name == "exit_code" { code = value }
    depth == 2 && name == "ranks" { inside = 1 }
    inside && depth == 4 && /[{]/ { n++; host = phase = ""; failed = 0 }
    inside && depth == 6 && name == "rank" { rank = value }
    inside && depth == 6 && name == "host" { host = value }
    inside && depth == 6 && name == "phase" { phase = value }
    inside && depth == 6 && name == "error" { failed = 1 }
    inside && depth == 6 && name == "timeline" && ! /\[\]/ { known = 1 }
    inside && depth == 4 && /[}]/ && failed { all = all (all == "" ? "" : ", ") rank " (" host ") " phase }
    END { print status " " code ", " n " ranks" (known ? "" : " without a timeline") ($0 == "}" ? "" : ", incomplete") ", " all }' "$1" 2>&1
}
