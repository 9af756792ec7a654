#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The shared library: its name, its exports and its calls; the static library gives the same answers.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
lib=$OBJ/libhetpart.so.$version
[ -e "$lib" ] || skip_all "no shared library here (SHARED=no)"

is "exactly the header's calls are exported" \
  "$(nm -D --defined-only "$lib" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort)" \
  "$(header_calls)"
is "and the map names no other" \
  "$(sed -n 's/^[[:blank:]]*\(hetpart_[a-z0-9_]*\);$/\1/p' "$ROOT/partition/hetpart.map" | sort)" "$(header_calls)"
is "all with the version HETPART_0, or of a later release" \
  "$(nm -D --defined-only "$lib" | awk '$2 != "A" && $3 !~ /@@HETPART_0(\.[0-9]+)?$/')" ""
is "the soname is the major version" \
  "$(readelf -d "$lib" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')" "$soname"
is "links lead to it" "$(readlink -f "$OBJ/$soname") $(readlink -f "$OBJ/libhetpart.so")" \
  "$(readlink -f "$lib") $(readlink -f "$lib")"
is "no static data that can be written" \
  "$([ -n "${SANITIZER:-}" ] || size -A "$OBJ/libhetpart.a" 2>/dev/null | awk '$1 ~ /^\.t?(data|bss)$/ && $2 > 0')" ""

# The examples, which take no arguments; NAME.out is the exact output of NAME.
case ${SANITIZER:-} in '') sane=() ;; tsan) sane=(-fsanitize=thread) ;; coverage) sane=(--coverage) ;; *) sane=('-fsanitize=address,undefined') ;; esac
examples=$ROOT/partition/examples
for source in "$examples"/*.c; do
  example=$(basename "$source" .c)
  build=("${CC:-cc}" -std=c11 -Wall -Wextra -Werror -I"$ROOT/partition/include" "$source" "${sane[@]}")
  ok "$example.c with the static library" "${build[@]}" -o "$example.static" "$OBJ/libhetpart.a" -ldl -lm
  run "./$example.static"
  static="$rc $out"
  is "$example: an answer, and nothing on stderr" "$rc $err$([ -n "$out" ] && echo some)" "0 some"
  want=${source%.c}.out
  if [ -e "$want" ]; then is "$example: its output is expected" "$out" "$(cat "$want")"; fi
  if [ -n "${SANITIZER:-}" ]; then continue; fi
  rm -f ./*.wisdom
  ok "$example.c with the shared library" "${build[@]}" -o "$example.shared" -L"$OBJ" -lhetpart -lm
  run env LD_LIBRARY_PATH="$OBJ" "./$example.shared"
  is "$example: both answer the same" "$rc $out" "$static"
done
done_under_sanitizer

# All calls it may make: memory, text, mathematics, wisdom files, and the loading of GLPK. None of them
# prints, exits, aborts, starts threads or other programs; the clock is for limits of time. Checked forms
# (__snprintf_chk) and long file forms (open64) count as the plain calls. The jump leads out of GLPK
# where it would abort.
cat >allowed <<'LIST'
malloc calloc realloc free
memchr memcmp memcpy memmove memset strchr strcmp strcpy strncmp strlen strnlen strspn strstr strerror snprintf vsnprintf
strtod strtoull newlocale uselocale freelocale qsort dirname __errno_location __stack_chk_fail
exp expl expm1 expm1l fabs fabsl fmax fmaxl fmin fminl frexp frexpl ldexp ldexpl log logl log1p log1pl
pow powl sqrt sqrtl floor floorl ceil ceill rint rintl trunc truncl
open close read write fstat fsync rename unlink getpid
setjmp longjmp
dlopen dlsym dlclose dlerror
clock_gettime
__gmon_start__ __cxa_finalize _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable
LIST
tr ' ' '\n' <allowed | sort >allowed.sorted
called() {
  nm -D -u "$lib" | awk '{sub(/@.*/, "", $2); print $2}' |
    sed -E 's/^__(.*)_chk$/\1/; s/^__isoc23_//; s/^(open|fstat)64(_2)?$/\1/; s/^_setjmp$/setjmp/' | sort -u
}
is "it makes only allowed calls" \
  "$(called | comm -23 - allowed.sorted)" ""
is "the planners with long inner loops compare inline, without fmin() and fmax()" \
  "$(nm -u "$OBJ"/partition/{scatter,chain,share}/*.o | awk '$2 ~ /^fm(in|ax)$/ {print $2}')" ""
is "it is linked only with the C library" \
  "$(ldd "$lib" | grep -vE '^\s*(linux-vdso|libm|libc|libdl|/lib)')" ""
is "nothing is undefined" "$(ldd -r "$lib" 2>&1 | grep -E 'undefined|not found')" ""
cat >version.c <<'C'
#include <stdio.h>
#include <hetpart.h>
int main(void)
{
	printf("%s %s %d.%d.%d", hetpart_version(), HETPART_VERSION, HETPART_VERSION_MAJOR,
	       HETPART_VERSION_MINOR, HETPART_VERSION_PATCH);
	return 0;
}
C
ok "version.c" "${CC:-cc}" -I"$ROOT/partition/include" -o version version.c -L"$OBJ" -lhetpart
run env LD_LIBRARY_PATH="$OBJ" ./version
is "library, header and VERSION agree" "$out" "$version $version $version"
done_testing
