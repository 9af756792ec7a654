# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make dist: what git tracks, under the version's name, and the same bytes everywhere. long_dist.sh builds it.
. "$ROOT/scripts/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
{ [ -e "$ROOT/.git" ] && git -C "$ROOT" rev-parse HEAD >/dev/null 2>&1; } || skip_all "not in a git repository"
version=$(cat "$ROOT/VERSION")
name=hetsort-$version

run make -s -C "$ROOT" dist ARCHIVE="$PWD/one.tar.gz"
is "make dist" "$rc" 0
is "it holds what git tracks, in one directory" "$(tar tzf one.tar.gz | grep -v '/$' | LC_ALL=C sort)" \
  "$(git -C "$ROOT" ls-tree -r --name-only HEAD | sed "s|^|$name/|" | LC_ALL=C sort)"
run make -s -C "$ROOT" dist ARCHIVE="$PWD/two.tar.gz"
ok "the same bytes each time" cmp one.tar.gz two.tar.gz
git clone -q --shared "$ROOT" clone 2>/dev/null
(cd "$ROOT" && cp --parents Makefile scripts/*.mk bench/bench.mk "$TEST_TMP/clone")
(umask 077 && env TZ=Asia/Tokyo GIT_CONFIG_COUNT=4 GIT_CONFIG_KEY_0=tar.umask GIT_CONFIG_VALUE_0=user GIT_CONFIG_KEY_1=core.autocrlf \
  GIT_CONFIG_VALUE_1=true GIT_CONFIG_KEY_2=core.abbrev GIT_CONFIG_VALUE_2=20 GIT_CONFIG_KEY_3=tar.tar.gz.command \
  GIT_CONFIG_VALUE_3='gzip -1' make -s -C clone dist ARCHIVE="$PWD/three.tar.gz" 2>/dev/null)
ok "and in another clone, with another configuration of git" cmp one.tar.gz three.tar.gz
run make -s -C "$ROOT" recipes ARCHIVE="$PWD/$name.tar.gz" RECIPES="$PWD/recipes"
ok "recipes have the checksum of this archive" grep -q "version(\"$version\", sha256=\"$(sha256sum one.tar.gz | cut -d' ' -f1)\")" \
  recipes/spack_repo/hetsort/packages/hetsort/package.py

mkdir unpacked
tar xzf one.tar.gz -C unpacked --strip-components=1
(cd "$ROOT" && cp --parents Makefile scripts/*.mk bench/bench.mk "$TEST_TMP/unpacked") # as they are now
git init -q . # a repository that the tree lies in, but that is not its own
run make -s -C unpacked dist
is "an unpacked archive is not archived" "$rc $(head -n 1 <<<"$err")" \
  "2 make: no git repository here: this is unpacked from an archive already"

is "CHANGELOG's newest section is this version" "$(sed -n 's/^## \([^ ]*\).*/\1/p' "$ROOT/CHANGELOG.md" | head -n 1)" "$version"
for header in sort/include/hetsort.h partition/include/hetpart.h; do
  is "the version of $header" "$(sed -n 's/^#define HET[A-Z]*_VERSION *"\(.*\)"/\1/p' "$ROOT/$header")" "$version"
  is "and its numbers" "$(sed -n 's/^#define HET[A-Z]*_VERSION_[A-Z]* //p' "$ROOT/$header" | paste -sd .)" "$version"
done

# The directory of programs in the build is not taken from BINDIR, by which packagers name the directory of the installation.
run env BINDIR=/nowhere make -s -C "$ROOT" -n --no-print-directory -f - show <<'MAKE'
include Makefile
show: ; @echo '$(PROGDIR) $(BINDIR)'
MAKE
is "BINDIR is where programs are installed" "$(tail -n 1 <<<"$out")" "echo 'bin /nowhere'"
done_testing
