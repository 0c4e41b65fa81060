// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/native_unwind.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "capture/unwind/unwind_table.h"
#include "native_unwind_oracle.h"
#include "native_unwind_shapes.h"
#include "prepared_unwinder.h"
#include "support/catch.h"
#include "support/sanitizers.h"

namespace {

using namespace synctrace;
using namespace synctrace::capture;
using test::Comparison;

class CompareInEveryShape : public test::Visit {
 public:
  void operator()() override {
    test::compare_here(*comparison);
    ++visits;
    if (comparison->all_equal() && comparison->walk.end == WalkEnd::kRoot && !comparison->walk.guessed) return;
    ++differences;
    UNSCOPED_INFO("visit " << visits << ": " << comparison->equal << " frames agree of our " << comparison->ours.count
                           << " and libgcc's " << comparison->libgcc.count << ", end " << int(comparison->walk.end));
  }
  std::unique_ptr<Comparison> comparison = std::make_unique<Comparison>();
  int visits = 0;
  int differences = 0;
};

TEST_CASE("Walks equal libgcc's in every shape, at every optimization level") {
  const test::PreparedUnwinder prepared;
  CompareInEveryShape visit;
  test::shapes_o0::all(visit);
  test::shapes_o2::all(visit);
  test::shapes_o3::all(visit);
  CHECK(visit.visits == 3 * 13);
  CHECK(visit.differences == 0);
}

TEST_CASE("A thread's walk ends at its root") {
  const test::PreparedUnwinder prepared;
  CompareInEveryShape visit;
  std::thread([&] {
    const auto unwinder = std::make_unique<ThreadUnwinder>();
    unwinder->prepare_here();
    test::shapes_o2::all(visit);
    ThreadUnwinder::forget_here();
  }).join();
  CHECK(visit.visits == 13);
  CHECK(visit.differences == 0);
}

TEST_CASE("Walks equal libunwind's") {
  // Loaded, not linked: its library exports _Unwind_*, which would replace libgcc's in this process.
  void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    WARN("libunwind is not installed");
    return;
  }
  const auto backtrace = reinterpret_cast<int (*)(void**, int)>(dlsym(library, "unw_backtrace"));
  REQUIRE(backtrace != nullptr);
  const test::PreparedUnwinder prepared;
  struct Compare : test::Visit {
    void operator()() override {
      std::array<NativeFrame, 256> ours{};
      std::array<void*, 256> theirs{};
      const std::size_t count = walk_here(ours).count;
      const auto their_count = static_cast<std::size_t>(backtrace(theirs.data(), 256));
      bool equal = count == their_count;
      for (std::size_t i = 1; i < count && equal; ++i)
        equal = ours[i].pc == reinterpret_cast<std::uintptr_t>(theirs[i]);
      differences += equal ? 0 : 1;
      ++visits;
    }
    int (*backtrace)(void**, int) = nullptr;
    int visits = 0;
    int differences = 0;
  } visit;
  visit.backtrace = backtrace;
  test::shapes_o2::all(visit);
  test::shapes_o3::all(visit);
  CHECK(visit.visits == 26);
  CHECK(visit.differences == 0);
}

std::unique_ptr<Comparison> in_handler;
std::array<NativeFrame, 256> interrupted_frames;
Walk interrupted_walk;

void on_signal(int, siginfo_t*, void* context) {
  test::compare_here(*in_handler);
  interrupted_walk = walk_interrupted(context, interrupted_frames);
}

[[gnu::noinline]] void raise_from_depth(int depth) {
  if (depth == 0) {
    raise(SIGUSR1);
  } else {
    raise_from_depth(depth - 1);
  }
  __asm__ volatile("");
}

TEST_CASE("Walks cross a signal frame, also from an alternate stack") {
  in_handler = std::make_unique<Comparison>();
  std::vector<char> memory(1 << 16);
  stack_t alternate{};
  alternate.ss_sp = memory.data();
  alternate.ss_size = memory.size();
  stack_t old_stack{};
  REQUIRE(sigaltstack(&alternate, &old_stack) == 0);
  const test::PreparedUnwinder prepared;
  for (const int flags : {0, SA_ONSTACK}) {
    struct sigaction action {};
    struct sigaction old_action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | flags;
    REQUIRE(sigaction(SIGUSR1, &action, &old_action) == 0);
    raise_from_depth(10);
    sigaction(SIGUSR1, &old_action, nullptr);
    CAPTURE(flags, in_handler->equal, in_handler->ours.count, in_handler->libgcc.count);
    CHECK(in_handler->all_equal());
    CHECK(in_handler->walk.end == WalkEnd::kRoot);
    CHECK(interrupted_walk.end == WalkEnd::kRoot);
    // The handler's frames, then the kernel's, then what was interrupted.
    const std::size_t above = in_handler->ours.count - interrupted_walk.count;
    REQUIRE(above < in_handler->ours.count);
    for (std::size_t i = 0; i < interrupted_walk.count; ++i) {
      REQUIRE(interrupted_frames[i].pc == in_handler->ours.frames[above + i].pc);
    }
  }
  sigaltstack(&old_stack, nullptr);
}

#if defined(__x86_64__)
// Interrupts itself while its caller is found by REGISTER only, as a function that realigns its stack may be.
#define FOUND_BY(REGISTER)                                                      \
  __asm__(".pushsection .text\n.type interrupted_by_" REGISTER                  \
          ", @function\n"                                                       \
          "interrupted_by_" REGISTER                                            \
          ":\n.cfi_startproc\n"                                                 \
          "push %" REGISTER "\n.cfi_adjust_cfa_offset 8\n.cfi_offset " REGISTER \
          ", -16\n"                                                             \
          "lea 16(%rsp), %" REGISTER "\n.cfi_def_cfa " REGISTER                 \
          ", 0\n"                                                               \
          "and $-64, %rsp\nint3\n"                                              \
          "lea -16(%" REGISTER                                                  \
          "), %rsp\n.cfi_def_cfa rsp, 16\n"                                     \
          "pop %" REGISTER "\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.popsection")
FOUND_BY("rbx");
FOUND_BY("r10");
FOUND_BY("r13");
extern "C" void interrupted_by_rbx();
extern "C" void interrupted_by_r10();
extern "C" void interrupted_by_r13();

TEST_CASE("A walk finds the caller of a function that is interrupted while it realigns its stack") {
  struct sigaction action {};
  struct sigaction old_action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  const test::PreparedUnwinder prepared;
  in_handler = std::make_unique<Comparison>();
  REQUIRE(sigaction(SIGTRAP, &action, &old_action) == 0);
  for (void (*const interrupted)() : {interrupted_by_rbx, interrupted_by_r10, interrupted_by_r13}) {
    interrupted();
    CHECK(in_handler->all_equal());
    CHECK(interrupted_walk.end == WalkEnd::kRoot);
    CHECK(interrupted_walk.count > 1);
    CHECK(interrupted_frames[0].is_exact);
  }
  sigaction(SIGTRAP, &old_action, nullptr);
}
#endif

// Walks from inside a module that was loaded a moment ago.
int walk_in_callback(void* into) {
  auto& comparison = *static_cast<Comparison*>(into);
  test::compare_here(comparison);
  return 0;
}

TEST_CASE("A module loaded at run time is walked by guess or by libgcc, and by its table once that is built") {
  const test::PreparedUnwinder prepared;
  void* library = dlopen(SYNCTRACE_PROBE, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  using ProbeCall = int (*)(int (*)(void*), void*);
  const auto call = reinterpret_cast<ProbeCall>(dlsym(library, "probe_call"));
  REQUIRE(call != nullptr);
  const auto comparison = std::make_unique<Comparison>();

  module_map.take_refresh_request();
  call(walk_in_callback, comparison.get());
  CHECK(module_map.take_refresh_request());
  CHECK((comparison->walk.end == WalkEnd::kGeneratedCode || comparison->walk.guessed));

  CHECK(module_map.refresh());
  call(walk_in_callback, comparison.get());
  CHECK(comparison->walk.used_libgcc);
  CHECK(comparison->all_equal());

  CHECK(build_missing_tables(module_map) == 1);
  call(walk_in_callback, comparison.get());
  CHECK(!comparison->walk.used_libgcc);
  CHECK(comparison->all_equal());
  CHECK(comparison->walk.end == WalkEnd::kRoot);

  const auto pc = reinterpret_cast<std::uintptr_t>(call);
  CHECK(module_map.current().find(pc) != nullptr);
  dlclose(library);
  CHECK(module_map.refresh());
  CHECK(module_map.current().find(pc) == nullptr);
}

TEST_CASE("A short buffer gets the innermost frames") {
  const test::PreparedUnwinder prepared;
  std::array<NativeFrame, 3> few{};
  const Walk walk = walk_here(few);
  CHECK(walk.count == 3);
  CHECK(walk.end == WalkEnd::kFull);
  CHECK(few[2].cfa > few[1].cfa);
  CHECK(walk_here({}).count == 0);
}

TEST_CASE("An unprepared thread and a foreign stack say so") {
  std::array<NativeFrame, 8> frames{};
  CHECK(walk_here(frames).end == WalkEnd::kNotPrepared);
  const test::PreparedUnwinder prepared;
  Walk walk;
  std::thread([&] {
    const auto unwinder = std::make_unique<ThreadUnwinder>();
    unwinder->prepare_here();
    ucontext_t context{};  // with a stack pointer of 0: on none of the thread's stacks, as a fibre's is
    walk = walk_interrupted(&context, frames);
    ThreadUnwinder::forget_here();
  }).join();
  CHECK(walk.end == WalkEnd::kForeignStack);
  CHECK(walk.count == 1);
}

#if defined(__x86_64__)
TEST_CASE("A call of address 0 is a frame without a rule") {
  const test::PreparedUnwinder prepared;
  std::array<std::uintptr_t, 64> stack{};
  std::array<NativeFrame, 8> frames{};
  ucontext_t context{};
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(stack.data()));
  const Walk walk = walk_interrupted(&context, frames);
  CHECK(walk.count == 1);
  CHECK(walk.end == WalkEnd::kGeneratedCode);
}
#endif

// Not in sanitized builds: their runtime must be the first library of a process, and Python's is another's.
#if !SYNCTRACE_UNDER_ASAN && !SYNCTRACE_UNDER_TSAN
TEST_CASE("Walks inside Python equal libgcc's") {
  const std::string script =
      "import ctypes, sys, functools\n"
      "probe = ctypes.CDLL('" SYNCTRACE_PROBE
      "')\n"
      "probe.probe_prepare()\n"
      "def deep(n): return probe.probe_compare() if n == 0 else deep(n - 1)\n"
      "class C:\n"
      "  def __init__(self): self.frames = deep(3)\n"
      "callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: deep(2))\n"
      "results = [deep(0), deep(20), C().frames, max([1], key=lambda _: 0) and deep(1), probe.probe_call(callback, "
      "None) - 1,\n"
      "  functools.reduce(lambda a, b: deep(2), [1, 2]), sorted([1], key=lambda _: results_of.append(deep(1)) or 0) "
      "and 5 if (results_of := []) is None else 5]\n"
      "sys.exit(0 if all(r >= 5 for r in results) else print(results) or 1)\n";
  const std::string command = "python3 -c \"" + script + "\"";
  if (std::system("python3 -c 'import ctypes'") != 0) {
    WARN("python3 with ctypes is not installed");
    return;
  }
  CHECK(std::system(command.c_str()) == 0);
}
#endif

}  // namespace
