# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# lost REPORT - print from a report, which is complete JSON, the status, the number of ranks, and each rank that failed
lost() {
  python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
known = [k["timeline"][-1]["phase"] for k in r["ranks"] if k.get("timeline")]
print(r["status"], "%d," % r["exit_code"], len(r["ranks"]), "ranks" + ("" if known else " without a timeline") + ",",
      ", ".join("%d (%s) %s" % (k["rank"], k.get("host"), k["phase"]) for k in r["ranks"] if "error" in k))' "$1" 2>&1
}
