// SPDX-License-Identifier: Apache-2.0
// A recorder with nothing of synctrace in it: it asks CUPTI for some kinds of records and throws them away. Which kinds
// together kill a program with CUDA graphs?
//   gcc -shared -fPIC -I/usr/local/cuda/include cupti_pairs.c -o cupti_pairs.so -ldl -lpthread
//   PAIRS_KINDS=MEMCPY,GRAPH_TRACE CUDA_INJECTION64_PATH=$PWD/cupti_pairs.so program
// PAIRS_KINDS       kinds of records, by their names in kKinds
// PAIRS_FLUSH_MS    cuptiActivityFlushAll this often (0: never); PAIRS_FORCED=1 forces it
// PAIRS_SWITCH_MS   the kinds but GRAPH_TRACE off and on again this often
// PAIRS_SWITCHED    these kinds alone; "none": only callbacks are switched
// PAIRS_IN_CALL     1: by the thread of the program that ends the next call of CUDA, not by a thread of the recorder
// PAIRS_FLUSH_FIRST 1: cuptiActivityFlushAll before the kinds go off
// PAIRS_CALLBACKS   1: callbacks for all calls; 2: these on and off with each switch too
// PAIRS_LATE        1: GRAPH_TRACE only from the first switch on
// PAIRS_CUPTI       the library; default libcupti.so.13
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KIND(name) \
  { #name, CUPTI_ACTIVITY_KIND_##name }
static const struct {
  const char* name;
  CUpti_ActivityKind kind;
} kKinds[] = {
    KIND(CONCURRENT_KERNEL), KIND(MEMCPY), KIND(MEMCPY2), KIND(MEMSET),     KIND(OVERHEAD),   KIND(DEVICE),
    KIND(CONTEXT),           KIND(STREAM), KIND(RUNTIME), KIND(DRIVER),     KIND(NAME),       KIND(SYNCHRONIZATION),
    KIND(MEMORY2),           KIND(MODULE), KIND(MARKER),  KIND(CUDA_EVENT), KIND(GRAPH_TRACE)};
enum { kKindCount = sizeof kKinds / sizeof kKinds[0], kBufferBytes = 1 << 20 };

static CUptiResult (*enable_kind)(CUpti_ActivityKind);
static CUptiResult (*disable_kind)(CUpti_ActivityKind);
static CUptiResult (*flush_all)(uint32_t);
static CUptiResult (*enable_domain)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain);
static CUpti_SubscriberHandle subscriber;
static const char *wanted, *switched;
static atomic_int asked;  // 1: off, 2: on
static atomic_int ends;
static pthread_t thread;

static long number(const char* name) {
  const char* value = getenv(name);
  return value != NULL ? atol(value) : 0;
}

// Whether the comma-separated list has this whole word.
static int listed(const char* list, const char* word) {
  const size_t length = strlen(word);
  for (const char* at = list; (at = strstr(at, word)) != NULL; at += length) {
    const int begins = at == list || at[-1] == ',';
    if (begins && (at[length] == '\0' || at[length] == ',')) return 1;
  }
  return 0;
}

static void switch_kinds(const char* names, int on, int graphs) {
  for (int i = 0; i < kKindCount; ++i) {
    if (!listed(names, kKinds[i].name) || (kKinds[i].kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) != graphs) continue;
    const CUptiResult result = on ? enable_kind(kKinds[i].kind) : disable_kind(kKinds[i].kind);
    if (result != CUPTI_SUCCESS) fprintf(stderr, "cupti_pairs: %s: result %d\n", kKinds[i].name, (int)result);
  }
}

static void switch_callbacks(int on) {
  enable_domain(on, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  enable_domain(on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
}

static void CUPTIAPI give_buffer(uint8_t** data, size_t* bytes, size_t* records) {
  *data = aligned_alloc(8, kBufferBytes);
  *bytes = *data != NULL ? kBufferBytes : 0;
  *records = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t* data, size_t bytes, size_t valid) {
  (void)context, (void)stream, (void)bytes, (void)valid;
  free(data);
}

static void CUPTIAPI on_call(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* call) {
  (void)user, (void)domain, (void)id;
  if (((const CUpti_CallbackData*)call)->callbackSite != CUPTI_API_EXIT) return;
  const int how = atomic_load_explicit(&asked, memory_order_relaxed) ? atomic_exchange(&asked, 0) : 0;
  if (how != 0) switch_kinds(switched, how == 2, 0);
}

static void* work(void* unused) {
  const long flush_ms = number("PAIRS_FLUSH_MS"), switch_ms = number("PAIRS_SWITCH_MS");
  const int callbacks = (int)number("PAIRS_CALLBACKS");
  const uint32_t how = number("PAIRS_FORCED") ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0;
  const struct timespec pause = {0, 10 * 1000 * 1000};
  for (long ms = 10, switches = 0; !atomic_load(&ends); ms += 10) {
    nanosleep(&pause, NULL);
    if (flush_ms > 0 && ms % flush_ms == 0) flush_all(how);
    if (switch_ms <= 0 || ms % switch_ms != 0) continue;
    const int on = ++switches % 2 == 0;
    if (!on && number("PAIRS_FLUSH_FIRST")) flush_all(how);
    if (number("PAIRS_IN_CALL")) {
      atomic_store(&asked, 1 + on);
    } else {
      switch_kinds(switched, on, 0);
    }
    if (callbacks == 2) switch_callbacks(on);
    if (switches == 1 && number("PAIRS_LATE")) switch_kinds(wanted, 1, 1);
  }
  return unused;
}

// Runs before CUPTI's own destructors: the thread must not call CUPTI after them.
static void stop(void) {
  atomic_store(&ends, 1);
  pthread_join(thread, NULL);
}

// Called by the driver, inside cuInit.
int InitializeInjection(void) {
  wanted = getenv("PAIRS_KINDS");
  switched = getenv("PAIRS_SWITCHED") != NULL ? getenv("PAIRS_SWITCHED") : wanted;
  const char* path = getenv("PAIRS_CUPTI");
  void* cupti = dlopen(path != NULL ? path : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  if (wanted == NULL || cupti == NULL) {
    fprintf(stderr, "cupti_pairs: %s\n", wanted == NULL ? "PAIRS_KINDS is not set" : dlerror());
    exit(99);
  }
#define FIND(name) (__typeof__(&name))dlsym(cupti, #name)
  enable_kind = FIND(cuptiActivityEnable);
  disable_kind = FIND(cuptiActivityDisable);
  flush_all = FIND(cuptiActivityFlushAll);
  enable_domain = FIND(cuptiEnableDomain);
  (FIND(cuptiSubscribe))(&subscriber, (CUpti_CallbackFunc)on_call, NULL);
  (FIND(cuptiActivityRegisterCallbacks))(give_buffer, take_buffer);
  switch_kinds(wanted, 1, 0);
  if (!number("PAIRS_LATE")) switch_kinds(wanted, 1, 1);
  if (number("PAIRS_CALLBACKS")) switch_callbacks(1);
  pthread_create(&thread, NULL, work, NULL);
  atexit(stop);
  return 1;
}
