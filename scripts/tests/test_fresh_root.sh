# shellcheck shell=bash disable=SC2016,SC2317  # stubs for sh; functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/fresh-root with stubs for all that needs root: which ways it takes, what it runs there, and what it adds up.
. "$ROOT/scripts/tap.sh"

stub() { cat >"stubs/$1" && chmod +x "stubs/$1"; }
mkdir stubs
for tool in umount ip apt-config useradd; do stub $tool </dev/null; done
stub mount <<'SH'
#!/bin/sh
for last; do :; done
echo "mount ${last#"$PLACE/"}" >>"$CALLS"
SH
stub id <<<'echo 0'
stub debootstrap <<'SH'
#!/bin/sh
echo debootstrap >>"$CALLS"
mkdir -p "$3/etc/apt/apt.conf.d" "$3/var/cache/apt/archives" "$3/var/lib/apt" "$3/proc/sys" "$3/sys" "$3/dev" "$3/root"
echo 12 >"$3/etc/debian_version"
SH
stub git <<'SH'
#!/bin/sh
for last; do :; done
case " $* " in *" clone "*) mkdir "$last" ;; *) echo abc123 ;; esac
SH
stub unshare <<<'#!/bin/sh
shift; exec "$@"'
stub setpriv <<'SH'
#!/bin/sh
echo "setpriv $3" >>"$CALLS"
shift 3
exec "$@"
SH
# The commands inside are noted, not executed. The table of calls has the way, the account and the command.
stub chroot <<'SH'
#!/bin/sh
echo "$*" | sed 's|^[^ ]*/||; s|env -i .* HOME=[^ ]* ||; s|bash -c .*exec "$@" ||' >>CALLS
case " $* " in
  *" ./scripts/demo"*) [ ! -e BAD ] || exit 1 ;;
  *" ./scripts/check"*) echo "7 passed, 0 failed" ;;
  *try-packages*build*) [ ! -e BAD ] || exit 1; touch "$1/root/x.deb" ;;
esac
SH
export CALLS=$PWD/calls PLACE=$PWD/roots
sed -i "s|CALLS|$CALLS|; s|BAD|$PWD/bad|" stubs/chroot
fresh() { : >calls; run env FRESH_ROOT_INSIDE=1 MIRROR=here PATH="$PWD/stubs:$PATH" "$ROOT/scripts/fresh-root" "$@"; }
table() { sed -n -E 's/^(base|root|user|container|full|packages) +([a-z-]+) +[0-9]+ s  /\1 \2 /p' <<<"$out"; }

fresh --ways root,user,container,full,packages roots
is "all five ways" "$rc $(table)" "0 base set-up ok
root demo ok
root check ok, 7 passed, 0 failed
user set-up ok
user demo ok
user check ok, 7 passed, 0 failed
container demo ok
container check ok, 7 passed, 0 failed
full set-up ok
full demo ok
full check ok, 7 passed, 0 failed
packages build ok
packages use ok"
is "the sum of all is the last line" "$(tail -n 1 <<<"$out")" "37 passed, 0 failed"
is "a bare system has only /proc" "$(grep -E '^mount (root|user)/' calls | sort -u)" $'mount root/proc\nmount user/proc'
ok "others have more" grep -q '^mount container/sys$' calls
is "one minimal system for all" "$(grep -c '^debootstrap' calls)" 1
home_0=/root plain=/home; plain+=/plain # in the new systems
is "in which directory and as whom" "$(grep scripts/ calls)" "root $home_0/hetsort ./scripts/demo
root $home_0/hetsort ./scripts/check
user runuser -u plain -- $plain/hetsort ./scripts/demo
user runuser -u plain -- $plain/hetsort ./scripts/check
container $home_0/hetsort ./scripts/demo
container $home_0/hetsort ./scripts/check
full $home_0/hetsort ./scripts/demo
full $home_0/hetsort ./scripts/check --strict
packages $home_0/hetsort/scripts/packaging/try-packages build
installed $home_0/hetsort/scripts/packaging/try-packages use"
is "a container has only its own capabilities" \
  "$(grep -c '^setpriv -all,' calls)/$(grep -c 'setpriv.*sys_admin' calls)" 2/0
ok "nothing is left" test ! -e roots

fresh --keep --ways container --no-demo kept
is "some ways, one command" "$rc $(table | tail -n 1)" "0 container check ok, 7 passed, 0 failed"
fresh --keep --ways root --no-check kept
is "a system that was kept is used again" "$rc $(table) $(grep -c debootstrap calls)" "0 root demo ok 0"
fresh --keep --ways user --no-demo kept
is "a user without the way root: root installs what is missing" "$rc $(grep scripts/ calls)" "0 user bash -c cd \"\$0\" && scripts/deps $plain/hetsort
user runuser -u plain -- $plain/hetsort ./scripts/check"
fresh --cache cache --ways root --no-demo roots
is "a cache keeps the minimal system" "$rc $(cat cache/base/etc/debian_version) $(ls cache) $([ ! -e roots ] || echo left)" "0 12 base
debs "
fresh --cache cache --ways root --no-demo roots
is "and has it the next time" "$rc $(grep -c debootstrap calls)" "0 0"
touch bad
fresh --keep --ways root kept
is "a command that fails does not keep the others from running" "$rc $(table)" "1 root demo FAILED (1)
root check ok, 7 passed, 0 failed"
is "and is reported" "$err" "fresh-root: 1 steps failed"
is "and counts" "$(grep -x '[0-9]* passed, [0-9]* failed' <<<"$out" | tail -n 1)" "7 passed, 1 failed"
fresh --keep --ways packages kept
is "packages that are not built are not installed" "$rc $(table) $(grep -c use calls)" "1 packages build FAILED (1) 0"

mkdir full; touch full/precious
fresh full
is "a directory with something in it is refused" "$rc $(ls full)" "1 precious"
for words in "--ways tea here" "--ways root" "--tea here" "--ways root, here"; do
  # shellcheck disable=SC2086  # words
  fresh $words
  is "refused: $words" "$rc" 2
done
done_testing
