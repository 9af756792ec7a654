/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failpoints at calls of libc and the system. A build with failpoints includes this file before
 * every source (cc -include), so no call of ours can be forgotten and libraries are not changed.
 * Removing a file is counted but does not fail, because cleaning up needs it. Calls that only give
 * hints to the kernel have no failpoint. Write (name)(...) for a call without its failpoint. */
#ifndef HETSORT_TESTING_FAILCALLS_H
#define HETSORT_TESTING_FAILCALLS_H

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#define link unistd_link /* sources without <unistd.h> have a type of that name */
#include <unistd.h>
#undef link

/* fail_memory, fail_file - count a call, and return true with errno set if it fails. */
bool fail_memory(void);
bool fail_file(void);

/* fail_some - return how many bytes the call that fail_file has just counted may move. */
size_t fail_some(size_t bytes);

/* fail_thread - do the same as pthread_create; the thread belongs to the rank of its creator. */
int fail_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);

#define malloc(bytes)      (fail_memory() ? NULL : malloc(bytes))
#define calloc(n, bytes)   (fail_memory() ? NULL : calloc(n, bytes))
#define realloc(p, bytes)  (fail_memory() ? NULL : realloc(p, bytes))
#define strdup(s)          (fail_memory() ? NULL : strdup(s))
#define strndup(s, n)      (fail_memory() ? NULL : strndup(s, n))
#define mmap(...)          (fail_memory() ? MAP_FAILED : mmap(__VA_ARGS__))
#define asprintf(out, ...) (fail_memory() ? -1 : asprintf(out, __VA_ARGS__))

#define open(...)                  (fail_file() ? -1 : open(__VA_ARGS__))
#define openat(...)                (fail_file() ? -1 : openat(__VA_ARGS__))
#define read(fd, buf, n)           (fail_file() ? -1 : read(fd, buf, fail_some(n)))
#define pread(fd, buf, n, at)      (fail_file() ? -1 : pread(fd, buf, fail_some(n), at))
#define preadv2(...)               (fail_file() ? -1 : preadv2(__VA_ARGS__))
#define write(fd, buf, n)          (fail_file() ? -1 : write(fd, buf, fail_some(n)))
#define pwrite(fd, buf, n, at)     (fail_file() ? -1 : pwrite(fd, buf, fail_some(n), at))
#define fallocate(...)             (fail_file() ? -1 : fallocate(__VA_ARGS__))
#define ftruncate(fd, bytes)       (fail_file() ? -1 : ftruncate(fd, bytes))
#define fsync(fd)                  (fail_file() ? -1 : fsync(fd))
#define stat(path, st)             (fail_file() ? -1 : stat(path, st))
#define fstat(fd, st)              (fail_file() ? -1 : fstat(fd, st))
#define fstatat(dir, path, st, at) (fail_file() ? -1 : fstatat(dir, path, st, at))
#define fstatfs(fd, fs)            (fail_file() ? -1 : fstatfs(fd, fs))
#define fstatvfs(fd, fs)           (fail_file() ? -1 : fstatvfs(fd, fs))
#define renameat(...)              (fail_file() ? -1 : renameat(__VA_ARGS__))
#define renameat2(...)             (fail_file() ? -1 : renameat2(__VA_ARGS__))
#define linkat(...)                (fail_file() ? -1 : linkat(__VA_ARGS__))
#define unlinkat(...)              ((void)fail_file(), unlinkat(__VA_ARGS__))
#define close(fd)                  (close(fd) != 0 || fail_file() ? -1 : 0) /* closes fd in any case */

#define pthread_create(thread, attr, fn, arg) fail_thread(thread, attr, fn, arg)

#endif
