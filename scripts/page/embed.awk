# SPDX-License-Identifier: GPL-3.0-or-later
# A page as two strings of C: NAME_head before its data, and NAME_tail after it. The lines @style and
# @script of the page stand for files: awk -v name=NAME -v style=FILE -v script="FILE FILE" -f embed.awk PAGE

function put(line) {
  gsub(/\\/, "&&", line) # doubles it, in every awk
  gsub(/"/, "\\\"", line)
  printf "\t\"%s\\n\"\n", line
}
function put_files(names, n, i, of, line, rc) {
  n = split(names, of, " ")
  for (i = 1; i <= n; i++) {
    while ((rc = getline line <of[i]) > 0) put(line)
    if (rc < 0) { print "embed.awk: cannot read '" of[i] "'" >"/dev/stderr"; exit 1 }
    close(of[i])
  }
}
function begin(part) { printf "extern const char %s_%s[];\nconst char %s_%s[] =\n", name, part, name, part }

BEGIN { begin("head") }
$0 == "@style" { put_files(style); next }
$0 == "@script" { put_files(script); next }
$0 == "@data" { print ";"; begin("tail"); next }
{ put($0) }
END { print ";" }
