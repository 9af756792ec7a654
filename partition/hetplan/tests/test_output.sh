# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The files that hetplan writes: none that it reads is lost, under any name; only its own picture or page is
# replaced; a failure leaves the old file.
. "$ROOT/scripts/tap.sh"
hetplan=$BIN/hetplan

# Files that are read, each with the words that read it.
printf '1\n2\n4\n' >speeds
printf 'name,speed,latency,bandwidth\na,1,.5,100\nb,2,.1,1000\nroot,4,0,1\n' >cluster
echo '{"items":1000,"speeds":[1,2],"cost":{"type":"nlogn"}}' >request
"$hetplan" share -i request --json >plan
words_of() { # words_of ROLE - how the file of this role is read
  case $1 in
  speeds) echo share -n 1000 --cost nlogn --speeds speeds ;;
  cluster) echo scatter -n 1000 --cost linear --speeds cluster ;;
  request) echo share --input request ;;
  request-compared) echo share --input request --compare ;;
  plan) echo show plan ;;
  stdin) echo share -i - ;;
  plan-stdin) echo show - ;;
  esac
}
file_of() { case $1 in request-compared | stdin) echo request ;; plan-stdin) echo plan ;; *) echo "$1" ;; esac; }
name_for() { # name_for KIND FILE - another name of FILE; sets name
  rm -rf other dir
  case $1 in
  plain) name=$2 ;;
  dotted) name=./$2 ;;
  symlink) name=other; ln -s "$2" other ;;
  two-symlinks) name=other; ln -s "$2" dir; ln -s dir other ;;
  hard-link) name=other; ln "$2" other ;;
  directory) name=dir/$2; ln -s . dir ;;
  esac
}

refused=0 lost=0 pairs=0
for role in speeds cluster request request-compared plan stdin plan-stdin; do
  file=$(file_of "$role")
  cp "$file" saved
  for kind in plain dotted symlink two-symlinks hard-link directory; do
    for option in --svg --html; do
      if [ "$role $option" = "request-compared --svg" ]; then continue; fi
      name_for $kind "$file"
      # shellcheck disable=SC2046  # words are words
      run "$hetplan" $(words_of "$role") $option "$name" <"$file"
      pairs=$((pairs + 1))
      cmp -s "$file" saved || { lost=$((lost + 1)); echo "# lost: $role, $kind, $option"; cp saved "$file"; }
      [ "$rc/$out" = 2/ ] && [[ $err == *"is the same file as "*": choose another name" ]] && refused=$((refused + 1))
    done
  done
done
is "$pairs pairs of a file that is read and one that is written: none lost, all refused" "$lost $refused" "0 78"
name_for symlink speeds
run "$hetplan" share -n 9 --cost linear -s speeds --svg other
is "the message names the option that reads it" "$rc/$out/$err" "2//hetplan: 'other' is the same file as --speeds: choose another name"
cp saved over
run "$hetplan" show plan --csv --svg over
is "a file of somebody else" "$rc/$out/$err" \
  "2//hetplan: 'over' exists and was not written by hetplan --svg: choose another name, or remove it"

# Files that nobody reads: of somebody else, empty, of the other option, through links.
share=(share -n 9 -s "1,2" --cost linear)
"$hetplan" "${share[@]}" --svg a.svg --html a.html >/dev/null
: >empty
printf '<svg xmlns="http://www.w3.org/2000/svg"></svg>\n' >drawn
printf '<!DOCTYPE html>\n<title>mine</title>\n' >written
printf '<?xml version="1.0" encoding="UTF-8"?>\n<!-- hetplan' >short
for option in --svg --html; do
  for file in empty drawn written short speeds plan a.svg a.html; do
    if [ "$option $file" = "--svg a.svg" ] || [ "$option $file" = "--html a.html" ]; then continue; fi
    cp "$file" saved
    for kind in plain symlink two-symlinks hard-link directory; do
      name_for $kind "$file"
      run "$hetplan" "${share[@]}" $option "$name"
      is "$option over $file, $kind" "$rc/$out/$(cmp "$file" saved)" 2//
    done
  done
done
ln -s nowhere dangling
run "$hetplan" "${share[@]}" --svg dangling
is "a link to nothing" "$rc/$out/$err" \
  "2//hetplan: 'dangling' is a symbolic link to a file that does not exist: name that file, or remove the link"
for pair in "new new" "new ./new" "dir/new new"; do
  name_for directory speeds
  # shellcheck disable=SC2086  # two words
  set -- $pair
  run "$hetplan" "${share[@]}" --svg "$1" --html "$2"
  is "one file for both, $pair" "$rc/$out/$err/$(ls new 2>/dev/null)" \
    "2//hetplan: --svg and --html name the same file, '$1': choose another name for one/"
done
cp a.svg log.svg
# shellcheck disable=SC2094  # that is what is tested
"$hetplan" "${share[@]}" --svg log.svg >>log.svg 2>said
is "standard output is a file that is used" "$?/$(cat said)" \
  "2/hetplan: 'log.svg' is the same file as standard output: choose another name"

# Its own files are replaced, also through a link, which stays; rights stay.
draws() { run "$hetplan" share -n 77 -s 1,2 --cost linear --title New --csv "$@"; }
chmod 640 a.svg
ln -s a.svg link.svg
draws --svg link.svg --html a.html
is "its own files are replaced" "$rc/$err/$(grep -c 'New</title>' a.svg)/$(grep -c '"title":"New"' a.html)" "0//1/1"
is "the link is still one" "$(readlink link.svg)" a.svg
is "rights are kept" "$(stat -c %a a.svg)" 640
ln a.svg keep.svg
"$hetplan" share -n 5 -s 1 --cost linear --title Newer --svg a.svg >/dev/null
is "another link to the old file keeps it" "$(grep -c 'New</title>' keep.svg)/$(grep -c 'Newer</title>' a.svg)" 1/1
(umask 027; "$hetplan" "${share[@]}" --svg fresh.svg >/dev/null)
is "a new file has the usual rights" "$(stat -c %a fresh.svg)" 640

# A failure leaves the old file, and nothing else.
cp a.svg saved
mkdir full; cp a.svg full/a.svg
if [[ ! ${SANITIZER:-} =~ ^(coverage|tsan)$ ]]; then # which write files of their own
  said=$(ulimit -f 0; "$hetplan" "${share[@]}" --svg full/a.svg 2>&1; echo $?)
  is "no room" "$said/$(cmp full/a.svg saved)" $'hetplan: cannot write \'full/a.svg\': File too large\n1/'
fi
is "nothing is left of it" "$(ls -A full)" a.svg
run "$hetplan" "${share[@]}" --svg full
is "a directory" "$rc/$out/$err" "1//hetplan: cannot create 'full': Is a directory"

# Files without contents, such as pipes, are written directly.
mkfifo pipe
cat pipe >got &
"$hetplan" "${share[@]}" --svg pipe --csv >/dev/null
is "a pipe" "$?" 0
wait
is "a pipe gets the picture" "$(tail -n 1 got)" "</svg>"
is "/dev/stdout is a pipe" "$("$hetplan" "${share[@]}" --csv --svg /dev/stdout | grep -c '^</svg>')" 1
done_testing
