#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The start of a sort of little data: no thread without work, no system file read without need or twice, no directory
# listed twice for one purpose, no unneeded library.
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the preloaded library and the sanitizers replace the same calls"
cd "$TEST_TMP" || exit 1
cat >count.c <<'C'
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#define NEXT(type, name) ((type *)dlsym(RTLD_NEXT, name))
typedef FILE *opens(const char *, const char *);
typedef int creates(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int uses(int, void *);
typedef DIR *lists(int);
typedef ssize_t reads(int, const struct iovec *, int, off_t, int);
static void note(const char *what)
{
	FILE *log = NEXT(opens, "fopen")(getenv("CALLS_LOG"), "a");
	fprintf(log, "%s\n", what);
	fclose(log);
}
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x)
{
	note("thread");
	return NEXT(creates, "pthread_create")(t, a, f, x);
}
FILE *fopen(const char *path, const char *mode)
{
	note(path);
	return NEXT(opens, "fopen")(path, mode);
}
FILE *fopen64(const char *path, const char *mode)
{
	return fopen(path, mode);
}
DIR *fdopendir(int fd)
{
	note("list");
	return NEXT(lists, "fdopendir")(fd);
}
int getrusage(int who, void *to)
{
	note("usage");
	return NEXT(uses, "getrusage")(who, to);
}
ssize_t preadv64v2(int fd, const struct iovec *v, int n, off_t at, int flags)
{
	if (v->iov_len == 1)
		note("probe");
	return NEXT(reads, "preadv64v2")(fd, v, n, at, flags);
}
C
"${CC:-cc}" -D_GNU_SOURCE -O1 -shared -fPIC -o count.so count.c -ldl || exit 1
threads() { # threads ARGUMENT... - set begun to the number of threads that a sort starts
  : >log
  run env CALLS_LOG="$PWD/log" LD_PRELOAD="$PWD/count.so" "$BIN/hetsort" --force -o out "$@"
  is "hetsort $*: exit code" "$rc" 0
  begun=$(grep -cx thread log)
}
"$BIN/gensort" --no-fsync 1 one && "$BIN/gensort" --no-fsync 200000 more || exit 1
threads --threads 1 one
one_thread=$begun
threads --threads 8 one
is "one record, 8 threads: the same number as with one" "$begun" "$one_thread"
threads --threads 8 more
ok "many records: more threads" test "$begun" -gt "$one_thread"
is "many records: no system file is read twice" "$(grep '^/' log | sort | uniq -d)" ""
ok "many records: the limits of memory are read" grep -qx /proc/meminfo log

threads --threads 1 one
is "one record: only a thread for signals" "$begun" 1
is "one record: no system file is read" "$(grep '^/' log)" ""
ok "one record: one probe of the page cache" test "$(grep -cx probe log)" -le 1
ok "one record: the processor time is read only for stages" test "$(grep -cx usage log)" -le 8
is "one record: a list of the input's directory, and one after the output is locked" "$(grep -cx list log)" 2
ok "hwloc is not loaded" test "$(ldd "$BIN/hetsort" | grep -c hwloc)" -eq 0
case $("${CC:-cc}" -print-file-name=libjansson.a) in
  /*) is "jansson is linked statically" "$(ldd "$BIN/hetsort" | grep -c jansson)" 0 ;;
esac
if printf '%s\n' '#include <sys/platform/x86.h>' '#ifndef CPU_FEATURE_ACTIVE' '#error' '#endif' | "${CC:-cc}" -E - >/dev/null 2>&1; then
  ok "the processor is not asked for its features again" test "$(grep -c __cpu_indicator_init "$BIN/hetsort")" -eq 0
fi
threads --threads 1 --memory 50% one
ok "one record, a part of memory: the memory is read" grep -qx /proc/meminfo log
threads --threads 1 --memory 1G -v one
ok "one record, with a report: the limits are read" grep -qx /proc/meminfo log
run "$BIN/hetsort" --force --memory 1K -o out one
is "one record, too little memory" "$rc" 4
done_testing
