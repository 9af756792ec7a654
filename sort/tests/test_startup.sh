#!/usr/bin/env bash
# What a sort of little does before and beside it: no thread that can have no work.
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the preloaded library and the sanitizers want the same calls"
cd "$TEST_TMP" || exit 1
cat >count.c <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
typedef int creates(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x)
{
	FILE *log = fopen(getenv("THREADS_LOG"), "a");
	fputs("thread\n", log);
	fclose(log);
	return ((creates *)dlsym(RTLD_NEXT, "pthread_create"))(t, a, f, x);
}
C
"${CC:-cc}" -D_GNU_SOURCE -O1 -shared -fPIC -o count.so count.c -ldl || exit 1
threads() { # threads ARGUMENT... - how many a sort begins
  : >log
  run env THREADS_LOG="$PWD/log" LD_PRELOAD="$PWD/count.so" "$BIN/hetsort" --force -o out "$@"
  is "hetsort $*: exit code" "$rc" 0
  begun=$(wc -l <log)
}
"$BIN/gensort" --no-fsync 1 one && "$BIN/gensort" --no-fsync 200000 more || exit 1
threads --threads 1 one
alone=$begun
threads --threads 8 one
is "one record, 8 threads: as many as for one" "$begun" "$alone"
threads --threads 8 more
ok "many records: more" test "$begun" -gt "$alone"
done_testing
