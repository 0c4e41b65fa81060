// SPDX-License-Identifier: Apache-2.0
// A small shared library with a thread's variable, made once and copied under many names
// (tests/support/loader_churn.py). It needs no library. LAST is that which deep.c takes names from. With SLOW the
// constructor takes long and uses CUDA, as plug-ins that register themselves do.
static __thread long turns[4];

// Calls back with a frame of its own on the stack.
long part_call(int (*use_cuda)(void)) {
  turns[0] += use_cuda() == 0;
  return turns[0];
}

// For a namespace of its own, where nobody resolves the loader's functions: it has a thread's variable and leaves it
// alone.
long part_number(void) { return 7; }

#ifdef LAST
long last_call(void) { return ++turns[1]; }
long last_number(void) { return 8; }
#endif

#ifdef SLOW
int usleep(unsigned us);
extern int churn_use_cuda(void) __attribute__((weak));

__attribute__((constructor)) static void begin(void) {
  if (churn_use_cuda) churn_use_cuda();
  usleep(SLOW);
  if (churn_use_cuda) churn_use_cuda();
}
#endif
