// SPDX-License-Identifier: Apache-2.0
// Loads and unloads libraries in every way that a recorder has to survive. FOLDER has them
// (tests/support/loader_churn.py).
//   loader_churn recipe FOLDER                       loads a library for long while its thread table is older than the
//   list loader_churn churn FOLDER SEED PARTS THREADS     threads load and unload while others make CUDA calls
// stdout is the same in every run of the same arguments. Plain C and the C library alone: it must run on old ones as
// well.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kMaxThreads = 8, kTurns = 60, kCalls = 150, kHeld = 16 };

static const char* folder;
static int part_count, seed;
static int (*cuda_malloc)(void**, size_t);
static int (*cuda_free)(void*);
static int (*cuda_memset)(void*, int, size_t);
static int (*cuda_wait)(void);
static pthread_mutex_t namespaces = PTHREAD_MUTEX_INITIALIZER;

// Exported: the slow library's constructor calls it.
__attribute__((visibility("default"), noinline)) int churn_use_cuda(void) {
  void* memory = NULL;
  if (cuda_malloc(&memory, 4096) != 0) return 1;
  const int failed = cuda_memset(memory, 1, 4096) != 0 || cuda_wait() != 0;
  return cuda_free(memory) != 0 || failed;
}

static void fail(const char* what) {
  dprintf(STDERR_FILENO, "%s: %s\n", what, dlerror());
  _exit(3);
}

static void* load(const char* name, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  void* const library = dlopen(path, flags);
  if (library == NULL) fail(path);
  return library;
}

static void* load_part(int number, int flags) {
  char name[64];
  snprintf(name, sizeof name, "libpart%03d.so", number);
  return load(name, flags);
}

static void find_cuda(void) {
  const char* const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
  void* library = NULL;
  for (int i = 0; i < 3 && library == NULL; ++i) library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) fail("libcudart");
  *(void**)&cuda_malloc = dlsym(library, "cudaMalloc");
  *(void**)&cuda_free = dlsym(library, "cudaFree");
  *(void**)&cuda_memset = dlsym(library, "cudaMemset");
  *(void**)&cuda_wait = dlsym(library, "cudaDeviceSynchronize");
  if (!cuda_malloc || !cuda_free || !cuda_memset || !cuda_wait) fail("libcudart");
}

static void pause_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

// The wait is no synchronisation: a tool that asks the loader each 50 ms shall have come by since the first CUDA call.
static int play_recipe(void) {
  for (int i = 0; i < 56; ++i) load_part(i, RTLD_NOW);
  if (churn_use_cuda() != 0) return 1;
  pause_ms(100);
  load_part(56, RTLD_NOW);
  load_part(57, RTLD_NOW);
  load("libdeep.so", RTLD_NOW);
  if (churn_use_cuda() != 0) return 1;
  puts("loaded");
  return 0;
}

static long call_into(void* part) {
  long (*call)(int (*)(void)) = NULL;
  *(void**)&call = dlsym(part, "part_call");
  if (call == NULL) fail("part_call");
  return call(churn_use_cuda);
}

// A file of its own that is gone while the library is in use.
static void* load_deleted(unsigned thread, int turn) {
  char from[4096], to[4096], block[65536];
  snprintf(from, sizeof from, "%s/libpart000.so", folder);
  snprintf(to, sizeof to, "%s/deleted-%d-%u-%d.so", folder, (int)getpid(), thread, turn);
  const int in = open(from, O_RDONLY | O_CLOEXEC);
  const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  if (in < 0 || out < 0) fail(to);
  for (ssize_t bytes; (bytes = read(in, block, sizeof block)) > 0;) {
    if (write(out, block, (size_t)bytes) != bytes) fail(to);
  }
  close(in);
  close(out);
  void* const library = dlopen(to, RTLD_NOW);
  if (library == NULL) fail(to);
  unlink(to);
  return library;
}

static void visit_namespace(int number) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libpart%03d.so", folder, number);
  pthread_mutex_lock(&namespaces);
  void* const library = dlmopen(LM_ID_NEWLM, path, RTLD_LAZY);
  if (library == NULL) fail(path);
  long (*call)(void) = NULL;
  *(void**)&call = dlsym(library, "part_number");
  if (call == NULL || call() != 7) fail("part_number");
  dlclose(library);
  pthread_mutex_unlock(&namespaces);
}

static void* churn(void* argument) {
  const unsigned thread = (unsigned)(size_t)argument;
  unsigned random = (unsigned)seed * 97 + thread;
  void* held[kHeld] = {NULL};
  long done = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const int place = rand_r(&random) % kHeld;
    const int number = rand_r(&random) % part_count;
    const int what = rand_r(&random) % 16;
    if (held[place] != NULL) dlclose(held[place]);
    held[place] = NULL;
    if (thread == 0 && turn == kTurns / 2)
      held[place] = load("libslow.so", RTLD_NOW);
    else if (what == 0)
      visit_namespace(number);
    else if (what <= 2)
      held[place] = load_deleted(thread, turn);
    else
      held[place] = load_part(number, what <= 8 ? RTLD_LAZY : RTLD_NOW);
    if (held[place] != NULL && what % 2 == 0) done += call_into(held[place]) > 0;
  }
  for (int i = 0; i < kHeld; ++i) {
    if (held[i] != NULL) dlclose(held[i]);
  }
  return (void*)done;
}

static void* make_calls(void* unused) {
  (void)unused;
  void* const part = load_part(0, RTLD_NOW);
  long done = 0;
  for (int i = 0; i < kCalls; ++i) done += (i % 2 == 0 ? churn_use_cuda() == 0 : call_into(part) > 0);
  return (void*)done;
}

static long join(pthread_t thread) {
  void* done = NULL;
  pthread_join(thread, &done);
  return (long)done;
}

// Odd seeds: the first CUDA call comes while others load. Half of the parts are there before, and stay.
static int play_churn(int thread_count) {
  for (int i = 0; i < part_count / 2; ++i) load_part(i, RTLD_LAZY);
  if (seed % 2 == 0 && churn_use_cuda() != 0) return 1;
  pthread_t loaders[kMaxThreads], callers[2];
  for (int i = 0; i < thread_count; ++i) pthread_create(&loaders[i], NULL, churn, (void*)(size_t)i);
  for (int i = 0; i < 2; ++i) pthread_create(&callers[i], NULL, make_calls, NULL);
  long loaded = 0, called = 0;
  for (int i = 0; i < thread_count; ++i) loaded += join(loaders[i]);
  for (int i = 0; i < 2; ++i) called += join(callers[i]);
  printf("%ld calls of loaders, %ld of others\n", loaded, called);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  folder = argv[2];
  find_cuda();
  if (strcmp(argv[1], "recipe") == 0) return play_recipe();
  if (argc < 6) return 2;
  seed = atoi(argv[3]);
  part_count = atoi(argv[4]);
  const int threads = atoi(argv[5]);
  return part_count < 1 || threads < 1 || threads > kMaxThreads ? 2 : play_churn(threads);
}
