#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Speeds in a file: the same plan as by options, whatever the columns and their order; files that make no sense
# are refused with the line; a file of hosts does for hetsort as well.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
hetplan=$BIN/hetplan
plan() { "$hetplan" share -n 1000 --cost nlogn --csv "$@"; }
want=$(plan -s 1,2.5,4 --names a,b,c)
same() { # same WHAT TEXT - the file has the three processors
  printf '%b' "$2" >speeds.csv
  is "$1" "$(plan --speeds=speeds.csv)" "$want"
}
same "commas, no line of names" 'a,1\nb,2.5\nc,4\n'
same "column names" 'name,speed\na,1\nb,2.5\nc,4\n'
same "columns in another order, blanks, returns, no end of line" 'speed , name\r\n1, a\r\n2.5 ,b\r\n\r\n4,c'
same "blanks, as hetsort has them, and comments" '# three, of a kind\n\na 1\nb\t2.5 # fast, too\nc 4\n'
same "columns that shares do not need" 'name,speed,latency,bandwidth\na,1,0,1\nb,2.5,0,1\nc,4,0,1\n'
printf '1 2.5\n4\n' >numbers
is "only numbers" "$(plan -s numbers)" "$(plan -s 1,2.5,4)"
is "--names replaces names" "$(plan -s speeds.csv --names x,y,z)" "$(plan -s 1,2.5,4 --names x,y,z)"
is "a model takes them, too" "$("$hetplan" model --observations 10:20 -s numbers -n 9 --csv)" \
  "$("$hetplan" model --observations 10:20 -s 1,2.5,4 -n 9 --csv)"

printf 'name,speed,latency,bandwidth\na,1,.5,100\nb,2,.1,1000\nroot,4,0,1\n' >cluster.csv
is "a scatter: cost by speed, links by latency and bandwidth" \
  "$("$hetplan" scatter -n 1000 --cost 'linear*.1' -s cluster.csv --csv)" \
  "$("$hetplan" scatter -n 1000 --compute 'linear*.1,linear*.05,linear*.025' --link affine:.5:.01,affine:.1:.001 --names a,b,root --csv)"

refused() { # refused MESSAGE TEXT [WORDS...]
  local why=$1 text=$2; shift 2
  printf '%b' "$text" >bad.csv
  run "$hetplan" share -n 9 --cost linear -s bad.csv "$@"
  is "$why" "$rc $out$err" "1 hetplan: 'bad.csv': $why"
}
refused "line 2: speed must be a number above 0, not 'fast'" 'a,1\nb,fast\n'
refused "line 3: speed must be a number above 0, not '0'" '#\na,1\nb,0\n'
refused "line 2: latency must be a number of at least 0, not '-1'" 'a,1,0,1\nb,1,-1,1\n'
refused "line 2: 3 fields, must be 2" 'a,1\nb,1,1\n'
refused "line 1: 1 field, must be name, speed, and latency and bandwidth if known" 'a\n'
refused "line 1: ends with a comma" 'a,1,\n'
refused "line 1: unknown column 'cores', must be one of: name, speed, latency, bandwidth" 'name,cores\n'
refused "line 1: column 'speed' is given twice" 'speed,speed\n'
refused "line 1: column 'speed' is missing" 'name,latency\n'
refused "line 1: no speeds" ''
refused "line 1: no speeds" 'name,speed\n'
refused "line 2: speed must be a number above 0, not ''" 'a,1,1\nb,,1\n'
refused "line 2: contains a byte 0" 'a,1\n\0,1\n'
refused "line 2: name must be text in UTF-8, not '\\xff'" 'a,1\n\0377,1\n'
refused "line 1: more than 64 fields" "$(seq -s , 65)\\n"
run "$hetplan" share -n 9 --cost linear -s ./
is "a directory" "$rc $err" "1 hetplan: './': Is a directory"
run "$hetplan" share -n 9 --cost linear -s no/such.csv
is "no file" "$rc $err" "1 hetplan: 'no/such.csv': No such file or directory"
run "$hetplan" scatter -n 9 --cost linear -s numbers
is "a scatter needs links" "$rc $err" "1 hetplan: '--speeds' of a scatter must be a file with a column 'bandwidth'"
run "$hetplan" scatter -n 9 --cost linear -s 1,2
is "a scatter needs a file" "$rc $err" "1 hetplan: '--speeds' of a scatter must be a file with a column 'bandwidth'"
run "$hetplan" scatter -n 9 -s cluster.csv
is "a scatter needs a cost" "$rc $err" "1 hetplan: '--speeds' of a scatter requires '--cost'"
done_testing
