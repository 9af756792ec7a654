# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The sources of packages fit the tree: versions, the calls of the libraries, and which package has which
# file. Tools that are not here (Spack, conda, EasyBuild, Docker, Apptainer, GitHub) do not run: the commands of their
# recipes run with the programs of this build.
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
cd "$TEST_TMP" || exit 1
packaging=$ROOT/scripts/packaging

is "debian/changelog" "$(sed -n '1s/^hetsort (\(.*\)-[^-]*) .*/\1/p' "$ROOT/debian/changelog")" "$version"
is "CITATION.cff" "$(sed -n 's/^version: //p' "$ROOT/CITATION.cff")" "$version"
is "codemeta.json" "$(sed -n 's/^  "version": "\(.*\)",/\1/p' "$ROOT/codemeta.json")" "$version"

calls() { sed -n 's/^\t\(het[a-z0-9_]*\);/\1/p' "$ROOT/$1" | LC_ALL=C sort; }
symbols() { sed -n 's/^ \(het[a-z0-9_]*\)@.*/\1/p' "$ROOT/debian/$1.symbols" | LC_ALL=C sort; }
is "libhetsort0.symbols has what the library exports" "$(symbols libhetsort0)" "$(calls sort/lib/hetsort.map)"
is "libhetpart0.symbols" "$(symbols libhetpart0)" "$(calls partition/hetpart.map)"
is "libhetpart-mpi0.symbols" "$(symbols libhetpart-mpi0)" "$(calls partition/mpi/hetpart_mpi.map)"

# packages_of FILE - those whose list has it, or a directory that it is in; $globs is PACKAGE GLOB, one a line
packages_of() {
  local package glob
  while read -r package glob; do
    # shellcheck disable=SC2254 # a pattern
    case $1 in $glob | $glob/*) echo "$package" ;; esac
  done <globs
}
if [ "${HAVE_MPI:-no}" = yes ] && [ -e "$OBJ/$soname" ] && [ ! -e "$BIN/libhetsort-mpich.so" ]; then
  for list in "$ROOT"/debian/*.install "$ROOT"/debian/*.examples; do
    package=${list##*/}
    sed "s|^|${package%.*} |" "$list"
  done >globs
  ok "make install, as debian/rules has it" installation install /usr DESTDIR="$PWD/tmp" LIBDIR=/usr/lib/x86_64-linux-gnu \
    PYTHONDIR=/usr/lib/python3/dist-packages ZSHDIR=/usr/share/zsh/vendor-completions
  while IFS= read -r file; do
    echo "$(packages_of "$file" | tr '\n' ' '): $file"
  done < <(cd tmp && find usr ! -type d | sort) >owners
  is "each file is in one package" "$(grep -v -E '^[a-z0-9-]+ : ' owners)" ""
  is "each package has files" "$(sed 's/ :.*//' owners | sort -u)" "$(cut -d' ' -f1 globs | sort -u)"
  is "each has its paragraph" "$(cut -d' ' -f1 globs | sort -u)" \
    "$(sed -n 's/^Package: //p' "$ROOT/debian/control" | sort)"
else echo "# omitted: packages have the parts over Open MPI, too"; fi
for file in "$ROOT"/debian/tests/sort "$ROOT"/debian/tests/libraries; do
  ok "syntax of ${file##*/}" sh -n "$file"
done
is "debian/tests/control names them" "$(sed -n 's/^Tests: //p' "$ROOT/debian/tests/control" | tr '\n' ' ')" "sort libraries "

# Recipes get the checksum of an archive.
mkdir -p "tree/hetsort-$version" && cp "$ROOT/VERSION" "tree/hetsort-$version/"
tar -czf "hetsort-$version.tar.gz" -C tree "hetsort-$version"
sha256=$(sha256sum "hetsort-$version.tar.gz" | cut -d' ' -f1)
recipes() { run "$packaging/recipes" "$@"; }
recipes "hetsort-$version.tar.gz" recipes '' 'alice bob-2'
is "recipes are written" "$rc $err" "0 "
mapfile -t written <<<"$out"
is "each has the checksum" "$(grep -l "$sha256" "${written[@]}" | wc -l) $(grep -l '@[A-Z0-9]*@' "${written[@]}")" "3 "
watched=$(sed -n 's/^\(https:[^ ]*\) .*/\1/p' "$ROOT/debian/watch")
is "and the address of debian/watch" "$(grep -l -F -e "${watched}hetsort-$version.tar.gz" -e "['${watched%/}']" "${written[@]}" | wc -l)" 3
is "and the home page of the Debian packages" "$(grep -h -o 'homepage[ =:"]*[^"]*' "${written[@]}" | sed "s/.*[ \"']\(http[^\"']*\).*/\1/" | sort -u)" \
  "$(sed -n 's/^Homepage: //p' "$ROOT/debian/control")"
is "maintainers are named" "$(grep -h -o '(*\[*"alice", "bob-2"' "${written[@]}" | tr -d '\n')" '("alice", "bob-2"["alice", "bob-2"'
recipes "hetsort-$version.tar.gz" unnamed "file://$PWD/"
is "or not; the archive may be local" "$rc $(grep -r -i -c maintainers unnamed | grep -c -v ':0$') $(grep -r -l -F "file://$PWD" unnamed | wc -l) $err" \
  "0 0 3 recipes: without maintainers, whom Spack and conda-forge ask for: make recipes MAINTAINERS='NAME...'"
recipes "hetsort-$version.tar.gz" none here
is "an address without a scheme is refused" "$rc $err" "1 recipes: 'here' is not a URL of a directory; use https://... or file:///..."
recipes "hetsort-$version.tar.gz" none '' 'a"b'
is "and a name with a quote" "$rc $err" "1 recipes: 'a\"b' is not the name of an account; separate names by blanks"
cp "hetsort-$version.tar.gz" other.tar.gz
recipes other.tar.gz none
is "and another archive" "$rc $err" "1 recipes: 'other.tar.gz' is not named hetsort-$version.tar.gz, the archive of this version"
ok "nothing is written then" test ! -e none

# Followed without their tools: each installs this build, and its tests run the installed programs.
if [ -e "$OBJ/$soname" ] && [ -z "${SANITIZER:-}" ] && python3 -c 'import yaml' 2>/dev/null; then
  unset BINDIR LIBDIR INCLUDEDIR DATADIR MANDIR DOCDIR PYTHONDIR BASHDIR ZSHDIR
  run python3 "$ROOT/scripts/tests/run_recipes.py" recipes followed
  is "the recipes install and test this build" "$rc $err" "0 "
else echo "# omitted: recipes are followed with yaml for python3, and shared libraries without sanitizers"; fi
if python3 -c 'import yaml' 2>/dev/null; then
  run python3 - "$ROOT/CITATION.cff" "$ROOT/.github/workflows/check.yml" <<'PY'
import sys, yaml
cite, flow = (yaml.safe_load(open(f)) for f in sys.argv[1:])
assert {"cff-version", "message", "title", "authors"} <= cite.keys()
matrix = flow["jobs"]["build"]["strategy"]["matrix"]
assert matrix == {"cc": ["gcc", "clang"], "mpi": ["openmpi", "mpich", "none"]}, matrix
PY
  is "CITATION.cff and the workflow are YAML (not run)" "$rc$err" 0
  run python3 - "$ROOT/CITATION.cff" "$ROOT/codemeta.json" "$ROOT/paper.md" "$ROOT/paper.bib" "$ROOT" \
    "$(make -s -C "$ROOT" help | awk '{print $1}' | tr '\n' ' ')" <<'PY'
import json, re, sys, yaml
cite, meta = yaml.safe_load(open(sys.argv[1])), json.load(open(sys.argv[2]))
assert cite["abstract"] == meta["description"] and cite["keywords"] == meta["keywords"]
assert meta["license"].endswith("/" + cite["license"]) and meta["author"][0]["name"] == cite["authors"][0]["name"]
head, text = open(sys.argv[3]).read().split("---\n", 2)[1:]
assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= yaml.safe_load(head).keys()
text, references = text.split("# References")
# The sections and the length that JOSS requires: https://joss.readthedocs.io/en/latest/paper.html
assert re.findall("^# (.*)", text, re.M) == ["Summary", "Statement of need", "State of the field", "Software design",
    "Research impact statement", "AI usage disclosure", "Acknowledgements"] and not references.strip()
assert 750 <= len(text.split()) <= 1750, len(text.split())
entries = dict(re.findall(r"^@[a-z]+{(.*?),\n(.*?)^}", open(sys.argv[4]).read(), re.M | re.S))
cited = set(re.findall(r"@([a-z]+[0-9]*)", text))
assert cited == entries.keys(), cited ^ entries.keys()
for key, entry in entries.items():
    fields = set(re.findall(r"^  ([a-z]+) =", entry, re.M))
    assert {"author", "title"} <= fields and fields & {"doi", "url", "eprint"}, (key, fields)
# Programs and files that the paper names exist.
for file in re.findall("`(docs/[a-z.]+)`", text):
    open(sys.argv[5] + "/" + file)
named = re.findall("`make ([a-z-]+)`", text)
assert named and set(named) <= set(sys.argv[6].split()), named
PY
  is "codemeta.json agrees with them, and the paper has what JOSS requires" "$rc$err" 0
else echo "# omitted: python3 has no yaml"; fi
if command -v tclsh >/dev/null; then
  run tclsh - <<TCL
set said {}
foreach word {module-whatis conflict prepend-path} { proc \$word args {lappend ::said {*}\$args} }
set ModulesCurrentModulefile /modulefiles/hetsort/$version
source {$packaging/modulefile}
puts \$said
TCL
  ok "the modulefile is Tcl, and has the directory of programs" grep -q "hetsort $version: .* PATH /opt/hetsort/bin" <<<"$out"
else echo "# omitted: tclsh is not installed"; fi

# Images for Docker and Apptainer; long_containers.sh builds them where that is possible.
section() { sed -n "/^%$1\$/,/^%/{/^%/d;p;}" "$packaging/hetsort.def"; }
is "sections of the definition" "$(grep -o '^%.*' "$packaging/hetsort.def" | LC_ALL=C sort | tr '\n' ' ')" "%files %help %labels %post %runscript %test "
for part in post test runscript; do ok "syntax of %$part" sh -n <(section $part); done
is "both have the same base" "$(sed -n 's/^From: //p' "$packaging/hetsort.def")" "$(sed -n 's/^FROM \([^ ]*\).*/\1/p' "$packaging/Dockerfile" | sort -u)"
wanted=$(sed -n '/^Package: hetsort$/,/^$/s/^Recommends: //p' "$ROOT/debian/control" | tr -d ',' | tr ' ' '\n' | LC_ALL=C sort | tr '\n' ' ')
for file in hetsort.def Dockerfile; do
  is "$file installs hetsort and what its package recommends" "$(grep -o -E '/src/hetsort[a-z-]*_\*\.deb|\blib(glpk|hwloc)[0-9]+' "$packaging/$file" |
    sed 's|/src/||; s|_.*||' | LC_ALL=C sort | tr '\n' ' ')" "hetsort $wanted"
done
is "programs in the examples exist" "$(grep -o 'exec hetsort\.sif [a-z-]*' "$packaging/hetsort.def" | cut -d' ' -f3 | sort -u | while read -r program; do
  [ -e "$BIN/$program" ] || echo "$program"; done)" ""
mkdir stubs
# shellcheck disable=SC2016 # the stub expands it
printf '#!/bin/sh\nwhile [ "$1" != hetsort ]; do shift; done\nexec "$@"\n' >stubs/mpirun && chmod +x stubs/mpirun
run env PATH="$PWD/stubs:$BIN:$PATH" TMPDIR="$PWD" sh -ec "$(section test)"
is "the test of the image passes with this build, without mpirun" "$rc" 0
run env PATH="$BIN:$PATH" sh -c "$(section runscript)" hetsort --version
is "the image runs hetsort" "$rc ${out%%$'\n'*}" "0 hetsort $version"

# The programs that recipes start exist.
while IFS= read -r file; do ok "$file is there" test -e "$ROOT/$file"; done < <(
  grep -h -o -E '\b(scripts|debian|partition)/[a-z_/-]+(\.sh)?\b' "$packaging/Dockerfile" "$packaging/hetsort.def" \
    "$ROOT/.github/workflows/check.yml" | LC_ALL=C sort -u | grep -v -E '^scripts/packaging/(Dockerfile|hetsort)$')
done_testing
