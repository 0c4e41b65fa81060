// SPDX-License-Identifier: Apache-2.0
// glibc 2.33 has these as functions; before, <sys/stat.h> called others that know which structure is meant.
extern "C" {
int __xstat(int version, const char* path, void* into);
int __lxstat(int version, const char* path, void* into);
int __fxstat(int version, int file, void* into);

#define SYNCTRACE_HIDDEN __attribute__((visibility("hidden")))
#if defined(__x86_64__)
#define SYNCTRACE_STAT_VERSION 1
#else
#define SYNCTRACE_STAT_VERSION 0
#endif

SYNCTRACE_HIDDEN int stat(const char* path, void* into) { return __xstat(SYNCTRACE_STAT_VERSION, path, into); }
SYNCTRACE_HIDDEN int lstat(const char* path, void* into) { return __lxstat(SYNCTRACE_STAT_VERSION, path, into); }
SYNCTRACE_HIDDEN int fstat(int file, void* into) { return __fxstat(SYNCTRACE_STAT_VERSION, file, into); }
}
