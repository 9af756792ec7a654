# shellcheck shell=bash disable=SC2016,SC2317  # planted scripts; functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/deps with made-up package managers on a PATH of our own: nothing is installed here.
. "$ROOT/scripts/tap.sh"
deps=$ROOT/scripts/deps

# A bare system: the tools every system has, and no compiler.
mkdir bare
for tool in bash sh sed cat mktemp rm tail dirname env; do ln -s "$(command -v $tool)" bare/; done

stub() { cat >"$1" && chmod +x "$1"; } # stub FILE <SCRIPT
system() { # system NAME - a bare system of its own
  cp -R bare "$1"
  stub "$1/id" <<<'#!/bin/sh
echo "${FAKE_UID:-0}"'
}
deps_on() { local dir=$1; shift; run env CC=cc PATH="$PWD/$dir" "$(command -v bash)" "$deps" "$@"; }
names() { grep -q -e "$1" <<<"$err"; }

system none
deps_on none --check
is "check fails where everything is missing" "$rc" 1
ok "and names what and why" names '^deps: missing: gcc (the C11 compiler)$'
ok "optional packages are named apart" names '^deps: would be good to have: libopenmpi-dev'
deps_on none --check bench
ok "what to measure with is checked when it is named" test "$rc" -eq 1 -a "$(grep -c '^deps: missing' <<<"$err")" -ge 5
ok "a C++ library among it" names '^deps: missing: libtbb-dev (tbb::parallel_sort)$'
deps_on none
is "without a package manager it cannot install" "$rc" 1
ok "but says what is to be installed" names 'to install it: .* make gcc libc6-dev'

# Other systems: the exact command, and failure.
for row in "dnf:dnf install make gcc glibc-devel pkgconf-pkg-config" \
  "pacman:pacman -S --needed make gcc glibc pkgconf gsl glpk" "zypper:zypper install make gcc glibc-devel" \
  "apk:apk add make gcc musl-dev pkgconf gsl-dev glpk-dev" "brew:brew install make gcc pkgconf gsl glpk"; do
  pm=${row%%:*}
  system "on_$pm"
  stub "on_$pm/$pm" <<<'#!/bin/sh
echo run >>"$0.log"'
  deps_on "on_$pm"
  is "$pm: fails" "$rc" 1
  ok "$pm: gives the command" names "to install it: .*${row#*:}"
  ok "$pm: does not run it" test ! -e "on_$pm/$pm.log"
done

# Debian: apt-get makes commands appear; libraries need the compiler's word, which is a stub here.
system deb
stub deb/apt-get <<'SH'
#!/bin/bash
dir=${0%/*}
echo "$*" >>"$dir/apt-get.log"
case " $* " in *" update "*) exit "${FAKE_UPDATE:-0}" ;; esac
case " $* " in *" --print-uris "*)
  echo "'http://deb/make.deb' make.deb 1 -"
  echo "0 upgraded, 141 newly installed, 0 to remove and 0 not upgraded."
  echo "Need to get 98.1 MB of archives."
  echo "After this operation, 412 MB of additional disk space will be used."
  exit ;;
esac
case " $* " in *" APT::Status-Fd=3 "*) ;; *) exit 99 ;; esac
echo "dlstatus:1:7.5000:Retrieving file 1 of 9" >&3
echo "pmstatus:make:11.1111:Installing make (amd64)" >&3
# As apt-get does it, dpkg gets no status, and where there is no /dev/pts these streams.
bash -c 'echo "pmstatus:words of dpkg"' 3>&- || exit 98
[ "${FAKE_INSTALL:-0}" -eq 0 ] || { echo "E: broken: by dpkg"; exit 100; }
printf '#!/bin/sh\n' >"$dir/cc"
for c in make cc pkg-config mpicc mpirun taskset timeout cksum ar ld objcopy cmp diff nm readelf objdump gzip tar unshare setpriv prlimit; do
  printf '#!/bin/sh\nexit 0\n' >"$dir/$c"; chmod_x "$dir/$c"
done
SH
ln -s "$(command -v chmod)" deb/chmod
sed -i 's/chmod_x/chmod +x/' deb/apt-get
stub deb/apt-cache <<'SH'
#!/bin/sh
case $2 in libisal-dev) exit 100 ;; esac
SH
cp -R deb user; cp -R deb user_sudo; cp -R deb broken; cp -R deb offline; cp -R deb no_install

deps_on deb
is "as root apt-get installs" "$rc" 0
ok "what it is about to install is said first" names '^deps: installing with apt-get: make gcc'
ok "then what it does, at once" names '^deps: download: 7 %, Retrieving file 1 of 9$'
ok "how much that is" names '^deps: with what these depend on: 141 packages in all, 98.1 MB to fetch, 412 MB on disk$'
is "each package is named once" "$(sed -n 's/^deps: installing with apt-get: //p' <<<"$err" | tr ' ' '\n' | sort | uniq -d)" ""
ok "dpkg has a standard output that is not the status" test "$(grep -c 'words of dpkg' <<<"$err")" -eq 0
is "lists are fetched first" "$(grep -c update deb/apt-get.log)" 1
ok "without recommended packages" grep -q -e 'install -y --no-install-recommends make gcc' deb/apt-get.log
ok "by a descriptor of its own for the status" grep -q -e '-o APT::Status-Fd=3 install' deb/apt-get.log
ok "a package that this release does not have is omitted" names "no package 'libisal-dev' here"
rm deb/apt-get.log
deps_on deb
is "the second time everything is there" "$rc $err" "0 "
ok "and apt-get is not run" test ! -e deb/apt-get.log

FAKE_UID=1000 deps_on user
is "no root, no sudo: fails" "$rc" 1
ok "and says what to type" names 'to install it: sudo apt-get update && sudo apt-get install --no-install-recommends make gcc'
ok "and does not try" test ! -e user/apt-get.log

stub user_sudo/sudo <<'SH'
#!/bin/sh
echo "$*" >>"$0.log"
shift
exec "$@"
SH
ln -s "$(type -P true)" user_sudo/true
FAKE_UID=1000 deps_on user_sudo
is "no root, sudo without a password: installs" "$rc" 0
ok "through sudo -n" grep -q -e '^-n sh .* env .*install' user_sudo/sudo.log

FAKE_INSTALL=1 deps_on broken
is "a failed installation fails" "$rc" 1
ok "with apt-get's own words" names '^E: broken: by dpkg$'
FAKE_UPDATE=100 deps_on offline
is "old lists do when new ones cannot be had" "$rc" 0
deps_on no_install --no-install
is "--no-install fails" "$rc" 1
ok "and installs nothing" test ! -e no_install/apt-get.log
ok "and says what to type" names '^deps: to install it: apt-get update && apt-get install --no-install-recommends make gcc'

# Missing what is only wanted is not a failure.
rm deb/mpicc deb/mpirun
deps_on deb --no-install
is "MPI is not needed" "$rc" 0
ok "but missed" names 'would be good to have: openmpi-bin'
FAKE_UID=1000 deps_on deb
is "nor needed by somebody who cannot install it" "$rc" 0

# A library that cannot be linked is missing, whatever pkg-config says.
stub deb/cc <<'SH'
#!/bin/bash
case " $* " in *" -lglpk "*) exit 1 ;; esac
SH
deps_on deb --check
is "a library that does not link is missing" "$rc $(grep -c missing: <<<"$err")" "1 1"
ok "it is named" names 'missing: libglpk-dev'

# Where /proc is missing, bash cannot open what <(...) names.
is "no list comes through /dev/fd" "$(grep -n '<(' "$deps" | grep -v '#')" ""

# The Debian package's own list of what it is built with.
system packager
stub packager/dpkg-query <<<'#!/bin/sh
[ "$3" != "${FAKE_LACKS:-}" ] || exit 1; printf "install ok installed"'
for c in dpkg-buildpackage dh dh_python3 lintian; do ln -s "$(type -P true)" packager/$c; done
deps_on packager --check package
is "all for packages is there" "$rc $err" "0 "
stub packager/dpkg-query <<<'#!/bin/sh
exit 1'
deps_on packager --check package
ok "dpkg-buildpackage takes build-essential" names '^deps: missing: build-essential '

deps_on deb --list
is "--list" "$rc" 0
is "each line of the table has nine fields" "$(awk -F '|' 'NF != 9' <<<"$out")" ""
deps_on deb --nonsense
is "an unknown argument is refused" "$rc" 2
done_testing
