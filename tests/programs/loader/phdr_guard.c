// SPDX-License-Identifier: Apache-2.0
// Preloaded, it stands before the C library's dl_iterate_phdr, which must not be asked while another thread is inside
// dlopen. What must not ask goes into PHDR_GUARD_FILE, a line each: code of libsynctrace.so, which is what runs in its
// callbacks and in its signal handler, and threads of the recorder's, whoever asks for them there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

typedef int (*Visit)(struct dl_phdr_info*, size_t, void*);

static void note(const char* thread, const char* library) {
  char line[512];
  const int length = snprintf(line, sizeof line, "thread %s, code of %s\n", thread, library);
  const char* const path = getenv("PHDR_GUARD_FILE");
  const int file = path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || write(file, line, (size_t)length) != length) abort();
  close(file);
}

__attribute__((visibility("default"))) int dl_iterate_phdr(Visit visit, void* data) {
  char thread[16] = "";
  prctl(PR_GET_NAME, thread);
  Dl_info caller;
  const int is_known = dladdr(__builtin_return_address(0), &caller) != 0 && caller.dli_fname != NULL;
  const char* const library = is_known ? caller.dli_fname : "";
  if (strncmp(thread, "synctrace", 9) == 0 || strstr(library, "libsynctrace.so") != NULL) note(thread, library);
  int (*next)(Visit, void*) = NULL;
  *(void**)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
  return next == NULL ? 0 : next(visit, data);
}
