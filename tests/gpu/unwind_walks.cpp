// SPDX-License-Identifier: Apache-2.0
// Walks of real stacks against libgcc's and, where it is installed, libunwind's, and those that are known from before
// against what they are now: a CUDA injection library that compares them, frame by frame, at the entry of the program's
// CUDA calls.
//   CUDA_INJECTION64_PATH=.../unwind_walks.so UNWIND_WALKS_OUT=walks.json python3 train.py
// Writes one line of JSON when the program ends. Not together with the recorder: CUPTI serves one tool at a time.
#include <cupti.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "capture/cupti/cupti_api.h"
#include "capture/cupti/traced_calls.h"
#include "capture/process/id_table.h"
#include "capture/unwind/native_unwind.h"
#include "capture/unwind/unwind_table.h"
#include "unit/capture/native_unwind_oracle.h"

namespace {

using namespace synctrace;
using namespace synctrace::capture;

// libgcc takes 0.1 us a frame, so this many comparisons take a few seconds.
constexpr std::uint64_t kMaxWalks = 200'000;
constexpr std::uint64_t kShownDifferences = 5;

using Backtrace = int (*)(void**, int);

struct Totals {
  std::atomic<std::uint64_t> walks{0};
  std::atomic<std::uint64_t> frames{0};
  std::atomic<std::uint64_t> equal_to_libgcc{0};
  std::atomic<std::uint64_t> equal_to_libunwind{0};
  std::atomic<std::uint64_t> to_the_root{0};
  std::atomic<std::uint64_t> by_tables_alone{0};
  std::atomic<std::uint64_t> known{0};
  std::atomic<std::uint64_t> equal_to_known{0};
  std::atomic<std::uint64_t> longest{0};
} totals;

Backtrace libunwind = nullptr;
std::mutex map_lock;

void bring_up_to_date() {
  const std::lock_guard lock(map_lock);
  module_map.refresh();
  build_missing_tables(module_map);
}

struct PerThread {
  PerThread() { unwinder.prepare_here(); }
  ~PerThread() { ThreadUnwinder::forget_here(); }
  ThreadUnwinder unwinder;
  test::Comparison comparison;
  std::array<NativeFrame, test::OracleStack::kRoom> ours{};
  std::array<void*, test::OracleStack::kRoom> theirs{};
};

void print_frame(const char* whose, std::size_t index, std::uintptr_t pc) {
  const Module* module = module_map.current().find(pc - 1);
  std::fprintf(stderr, "  %s frame %zu: %s+%#zx\n", whose, index, module == nullptr ? "?" : module->path,
               static_cast<std::size_t>(pc - (module == nullptr ? 0 : module->bias)));
}

void show_difference(const test::Comparison& comparison) {
  static std::atomic<std::uint64_t> shown{0};
  if (shown.fetch_add(1) >= kShownDifferences) return;
  const std::size_t at = comparison.equal;
  std::fprintf(stderr, "unwind_walks: %zu frames agree of our %zu and libgcc's %zu; our walk ended with %d\n", at,
               comparison.ours.count, comparison.libgcc.count, static_cast<int>(comparison.walk.end));
  if (at != 0) print_frame("last equal", at - 1, comparison.ours.frames[at - 1].pc);
  if (at < comparison.ours.count) print_frame("our", at, comparison.ours.frames[at].pc);
  if (at < comparison.libgcc.count) print_frame("libgcc's", at, comparison.libgcc.frames[at].pc);
}

[[gnu::noinline]] bool equals_libunwind(PerThread& own) {
  auto& ours = own.ours;
  auto& theirs = own.theirs;
  const std::size_t count = walk_here(ours).count;
  const auto their_count = static_cast<std::size_t>(libunwind(theirs.data(), static_cast<int>(theirs.size())));
  bool equal = count == their_count;
  for (std::size_t i = 1; i < count && equal; ++i) equal = ours[i].pc == reinterpret_cast<std::uintptr_t>(theirs[i]);
  return equal;
}

// The name of a walk is a hash of its frames.
[[gnu::noinline]] void compare_with_known(PerThread& own) {
  const WalkStart start = walk_start();
  const std::uint64_t known = known_walk(start);
  const std::size_t count = walk_from(start, own.ours).count;
  std::uint64_t name = count;
  for (std::size_t i = 0; i < count; ++i) name = mix_hash(name, own.ours[i].pc, own.ours[i].cfa);
  if (known == 0) return name_walk(name);
  totals.known.fetch_add(1);
  if (known == name) totals.equal_to_known.fetch_add(1);
}

void compare() {
  if (totals.walks.fetch_add(1) >= kMaxWalks) {
    totals.walks.store(kMaxWalks);
    return;
  }
  static thread_local const std::unique_ptr<PerThread> own = std::make_unique<PerThread>();  // all too large for TLS
  test::Comparison& comparison = own->comparison;
  test::compare_here(comparison);
  if (!comparison.all_equal() || comparison.walk.used_libgcc) {  // perhaps only a module that has just been loaded
    bring_up_to_date();
    test::compare_here(comparison);
  }
  totals.frames.fetch_add(comparison.ours.count);
  if (comparison.all_equal()) {
    totals.equal_to_libgcc.fetch_add(1);
  } else {
    show_difference(comparison);
  }
  if (comparison.walk.end == WalkEnd::kRoot) totals.to_the_root.fetch_add(1);
  if (!comparison.walk.used_libgcc && !comparison.walk.guessed) totals.by_tables_alone.fetch_add(1);
  if (comparison.ours.count > totals.longest.load()) totals.longest.store(comparison.ours.count);
  if (libunwind != nullptr && equals_libunwind(*own)) totals.equal_to_libunwind.fetch_add(1);
  compare_with_known(*own);
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  if (static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_ENTER) compare();
}

void print_totals() {
  const char* path = std::getenv("UNWIND_WALKS_OUT");
  std::FILE* out = path == nullptr ? stderr : std::fopen(path, "w");
  if (out == nullptr) return;
  const auto number = [](const std::atomic<std::uint64_t>& value) {
    return static_cast<unsigned long long>(value.load());
  };
  std::fprintf(out,
               "{\"walks\": %llu, \"frames\": %llu, \"longest\": %llu, \"equal_to_libgcc\": %llu, \"libunwind\": %s, "
               "\"equal_to_libunwind\": %llu, \"to_the_root\": %llu, \"by_tables_alone\": %llu, "
               "\"known\": %llu, \"equal_to_known\": %llu}\n",
               number(totals.walks), number(totals.frames), number(totals.longest), number(totals.equal_to_libgcc),
               libunwind == nullptr ? "false" : "true", number(totals.equal_to_libunwind), number(totals.to_the_root),
               number(totals.by_tables_alone), number(totals.known), number(totals.equal_to_known));
  if (out != stderr) std::fclose(out);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static std::atomic<bool> started{false};
  if (started.exchange(true)) return 1;
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cupti.load("") != CuptiStatus::kLoaded || cupti->Subscribe(&subscriber, on_callback, nullptr) != CUPTI_SUCCESS) {
    std::fputs("unwind_walks: no CUPTI, or another tool holds it\n", stderr);
    return 1;
  }
  // Loaded, not linked: it exports _Unwind_*, which would replace libgcc's in this process.
  if (void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL))
    libunwind = reinterpret_cast<Backtrace>(dlsym(library, "unw_backtrace"));
  prepare_fallback();
  bring_up_to_date();
  for (const TracedCall& call : traced_calls())
    cupti->EnableCallback(1, subscriber, static_cast<CUpti_CallbackDomain>(call.domain), call.callback_id);
  std::atexit(print_totals);
  return 1;
}
