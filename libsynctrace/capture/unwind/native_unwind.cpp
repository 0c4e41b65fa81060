// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/native_unwind.h"

#include <sys/syscall.h>
#include <ucontext.h>

#include <csignal>
#include <cstring>

#include "capture/process/raw_syscall.h"
#include "capture/unwind/libgcc_unwind.h"
#include "capture/unwind/unwind_table.h"

namespace synctrace::capture {
namespace {

// Initial-exec: dynamic thread-local storage may allocate at the first access of a thread. The library asks for one
// pointer of the loader's static reserve.
__attribute__((tls_model("initial-exec"))) constinit thread_local ThreadUnwinder* this_unwinder = nullptr;

struct Registers {
  std::uintptr_t pc = 0;
  std::uintptr_t sp = 0;
  std::uintptr_t fp = 0;
  std::uintptr_t lr = 0;  // aarch64
  bool exact_pc = false;  // the next instruction to run, not a return address
  // x86-64, where exact_pc:
  std::uintptr_t rbx = 0;
  std::uintptr_t r10 = 0;
  std::uintptr_t r13 = 0;
};

// Return addresses may be signed (aarch64): the bits above the address space are no address.
std::uintptr_t strip(std::uintptr_t pc) noexcept {
#if defined(__aarch64__)
  register std::uintptr_t x30 __asm__("x30") = pc;
  __asm__("hint #7" : "+r"(x30));  // xpaclri
  return x30;
#else
  return pc;
#endif
}

// Where the kernel's signal frame keeps registers, from the stack pointer of the code that the handler returns to.
#if defined(__aarch64__)
constexpr std::size_t kContextOffset = 128;  // behind the siginfo
#else
constexpr std::size_t kContextOffset = 0;
#endif

// The aarch64 vDSO's return from a signal has had no frame information since Linux 5.8: known by its two instructions,
// mov x8, #139 (rt_sigreturn) and svc #0.
bool is_signal_return([[maybe_unused]] std::uintptr_t pc) noexcept {
#if defined(__aarch64__)
  const auto* code = reinterpret_cast<const std::uint32_t*>(pc);
  return code[0] == 0xd2801168U && code[1] == 0xd4000001U;
#else
  return false;
#endif
}

Registers registers_of(const ucontext_t& context) noexcept {
  const auto word = [](auto value) { return static_cast<std::uintptr_t>(value); };
  const mcontext_t& machine = context.uc_mcontext;
#if defined(__aarch64__)
  return {word(machine.pc), word(machine.sp), word(machine.regs[29]), word(machine.regs[30]), true};
#else
  return {word(machine.gregs[REG_RIP]), word(machine.gregs[REG_RSP]), word(machine.gregs[REG_RBP]), 0, true,
          word(machine.gregs[REG_RBX]), word(machine.gregs[REG_R10]), word(machine.gregs[REG_R13])};
#endif
}

}  // namespace

class StackWalk {
 public:
  StackWalk(ThreadUnwinder& thread, const Registers& from, std::span<NativeFrame> out) noexcept
      : thread_(thread), map_(module_map.current()), out_(out), at_(from) {
    if (thread_.generation_ == map_.generation()) return;
    std::memset(static_cast<void*>(thread_.cache_), 0, sizeof(thread_.cache_));
    thread_.generation_ = map_.generation();
  }

  Walk run() noexcept;

  // run() from `start`, to be named.
  Walk run_noting(const WalkStart& start) noexcept {
    reads_ = &thread_.reads_;
    reads_->begin(start.sp);
    run();
    if (walk_.end == WalkEnd::kRoot && reads_->is_whole()) thread_.last_ = {start, read_end_, map_.generation()};
    return walk_;
  }

  // The walk that run() would make from `start`.
  std::uint64_t known_name(const WalkStart& start) noexcept {
    return enter_stack() ? thread_.known_.name_of({start, read_end_, map_.generation()}) : 0;
  }

  static void name_last(ThreadUnwinder& thread, std::uint64_t name) noexcept {
    if (thread.last_.start.sp != 0 && name != 0) thread.known_.keep(thread.last_, thread.reads_, name);
  }

 private:
  enum class Step : std::uint8_t { kUp, kStop };

  const UnwindRule& rule_here() noexcept;
  const UnwindRule& look_up(std::uintptr_t pc, ThreadUnwinder::CachedRule& cached) noexcept;
  bool enter_stack() noexcept;
  bool read(std::uintptr_t address, std::uintptr_t& value) const noexcept;
  bool read_and_note(std::uintptr_t address, std::uintptr_t& value) noexcept;
  void use_fp() noexcept;
  Step step(const UnwindRule& rule) noexcept;
  std::uintptr_t base_of(CfaKind kind) noexcept;
  Step step_by_rule(const UnwindRule& rule) noexcept;
  Step step_over_signal() noexcept;
  Step step_by_frame_pointer() noexcept;
  Step stop(WalkEnd end) noexcept {
    walk_.end = end;
    return Step::kStop;
  }

  ThreadUnwinder& thread_;
  const CodeMap& map_;
  std::span<NativeFrame> out_;
  Registers at_;
  std::uintptr_t read_begin_ = 0;  // memory [read_begin_, read_end_) may be read
  std::uintptr_t read_end_ = 0;
  WalkEnd why_no_rule_ = WalkEnd::kNoRule;
  std::uintptr_t cfa_ = 0;
  WalkReads* reads_ = nullptr;  // what the walk depends on, where that is asked for
  std::uintptr_t fp_slot_ = 0;  // where at_.fp was read and not used yet; most functions keep other things there
  UnwindRule uncached_;
  Walk walk_;
};

Walk StackWalk::run() noexcept {
  walk_.sp = at_.sp;
  thread_.last_ = {};
  const bool on_stack = enter_stack();
  for (;;) {
    if (walk_.count == out_.size()) {
      walk_.end = WalkEnd::kFull;
      return walk_;
    }
    NativeFrame& frame = out_[walk_.count++];
    frame = {at_.pc, 0, at_.exact_pc};
    if (!on_stack) {
      walk_.end = WalkEnd::kForeignStack;
      return walk_;
    }
    if (step(rule_here()) == Step::kStop) return walk_;
    frame.cfa = cfa_;
  }
}

// The bounds for reading while on the stack that at_.sp is on.
bool StackWalk::enter_stack() noexcept {
  const StackBounds& stack = thread_.stack_.reaches(at_.sp) ? thread_.stack_.bounds() : thread_.signal_stack_;
  if (!stack.holds(at_.sp)) return false;
  read_begin_ = at_.sp;
  read_end_ = stack.end;
  return true;
}

// Saved registers of other functions' frames: AddressSanitizer knows nothing of them.
__attribute__((no_sanitize("address"))) bool StackWalk::read(std::uintptr_t address,
                                                             std::uintptr_t& value) const noexcept {
  if (address < read_begin_ || address > read_end_ - sizeof(value) || address % sizeof(value) != 0) return false;
  value = *reinterpret_cast<const std::uintptr_t*>(address);
  return true;
}

inline bool StackWalk::read_and_note(std::uintptr_t address, std::uintptr_t& value) noexcept {
  if (!read(address, value)) return false;
  if (reads_ != nullptr) reads_->add(address, value);
  return true;
}

// The walk depends on the frame pointer only where a rule uses it.
inline void StackWalk::use_fp() noexcept {
  if (reads_ != nullptr && fp_slot_ != 0) reads_->add(fp_slot_, at_.fp);
  fp_slot_ = 0;
}

// A return address may be the first byte of the next function, when the call never returns: the call is before it.
const UnwindRule& StackWalk::rule_here() noexcept {
  const std::uintptr_t pc = at_.pc - (at_.exact_pc ? 0 : 1);
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  ThreadUnwinder::CachedRule& cached = thread_.cache_[(pc * kOdd) >> (64 - ThreadUnwinder::kCacheBits)];
  return cached.pc == pc && cached.rule != nullptr ? *cached.rule : look_up(pc, cached);
}

const UnwindRule& StackWalk::look_up(std::uintptr_t pc, ThreadUnwinder::CachedRule& cached) noexcept {
  uncached_ = {};
  const Module* module = map_.find(pc);
  if (module == nullptr) {
    why_no_rule_ = WalkEnd::kGeneratedCode;
    module_map.ask_for_refresh();
    return uncached_;
  }
  const UnwindTable* table = module->table.load(std::memory_order_acquire);
  if (table == nullptr) {
    why_no_rule_ = WalkEnd::kNoTable;
    return uncached_;
  }
  const UnwindRule& rule = table->find(pc);
  if (rule.cfa == CfaKind::kNoRule && is_signal_return(at_.pc)) uncached_.cfa = CfaKind::kSignalFrame;
  if (rule.cfa == CfaKind::kNoRule) {
    why_no_rule_ = WalkEnd::kNoRule;
    return uncached_;
  }
  cached = {pc, &rule};
  return rule;
}

inline StackWalk::Step StackWalk::step(const UnwindRule& rule) noexcept {
  switch (rule.cfa) {
    case CfaKind::kSp:
    case CfaKind::kFp:
    case CfaKind::kFpDeref:
    case CfaKind::kPlt: return step_by_rule(rule);
    case CfaKind::kRbx:
    case CfaKind::kR10:
    case CfaKind::kR13: return at_.exact_pc ? step_by_rule(rule) : stop(WalkEnd::kUnsupported);
    case CfaKind::kEnd: return stop(WalkEnd::kRoot);
    case CfaKind::kSignalFrame: return step_over_signal();
    case CfaKind::kUnsupported: return stop(WalkEnd::kUnsupported);
    case CfaKind::kNoRule: return why_no_rule_ == WalkEnd::kNoTable ? stop(WalkEnd::kNoTable) : step_by_frame_pointer();
  }
  return stop(WalkEnd::kNoRule);
}

inline std::uintptr_t StackWalk::base_of(CfaKind kind) noexcept {
  switch (kind) {
    case CfaKind::kSp: return at_.sp;
    case CfaKind::kRbx: return at_.rbx;
    case CfaKind::kR10: return at_.r10;
    case CfaKind::kR13: return at_.r13;
    default: use_fp(); return at_.fp;
  }
}

inline StackWalk::Step StackWalk::step_by_rule(const UnwindRule& rule) noexcept {
  const auto plus = [](std::uintptr_t base, std::int32_t offset) {
    return base + static_cast<std::uintptr_t>(std::intptr_t{offset});
  };
  std::uintptr_t cfa = plus(base_of(rule.cfa), rule.cfa_offset);
  if (rule.cfa == CfaKind::kPlt) cfa = at_.sp + 8 + ((at_.pc & 15U) >= static_cast<unsigned>(rule.cfa_offset) ? 8 : 0);
  if (rule.cfa == CfaKind::kFpDeref && !read_and_note(cfa, cfa)) return stop(WalkEnd::kBadFrame);
  // Only code interrupted before it built a frame has none (aarch64, where calls push nothing).
  const bool advances = cfa > at_.sp || (cfa == at_.sp && rule.ra == SlotKind::kSame && at_.exact_pc);
  if (!advances || cfa > read_end_) return stop(WalkEnd::kBadFrame);

  std::uintptr_t pc = at_.lr;
  if (rule.ra == SlotKind::kAtCfa && !read_and_note(plus(cfa, rule.ra_offset), pc)) return stop(WalkEnd::kBadFrame);
  if (rule.ra == SlotKind::kSame && !at_.exact_pc)
    return stop(WalkEnd::kBadFrame);  // a caller's return address is in memory
  if (rule.fp != SlotKind::kSame) {
    if (rule.fp == SlotKind::kAtFp) use_fp();
    const std::uintptr_t slot = plus(rule.fp == SlotKind::kAtCfa ? cfa : at_.fp, rule.fp_offset);
    if (!read(slot, at_.fp)) return stop(WalkEnd::kBadFrame);
    fp_slot_ = slot;
  }
  cfa_ = cfa;
  at_.pc = strip(pc);
  at_.sp = cfa;
  at_.exact_pc = false;
  read_begin_ = cfa;
  return at_.pc == 0 ? stop(WalkEnd::kRoot) : Step::kUp;
}

StackWalk::Step StackWalk::step_over_signal() noexcept {
  if (reads_ != nullptr) reads_->spoil();
  const std::uintptr_t context = at_.sp + kContextOffset;
  if (context < read_begin_ || context > read_end_ || read_end_ - context < sizeof(ucontext_t) - sizeof(sigset_t))
    return stop(WalkEnd::kBadFrame);
  const std::uintptr_t handler_sp = at_.sp;
  const StackBounds before = thread_.stack_.holds(handler_sp) ? thread_.stack_.bounds() : thread_.signal_stack_;
  at_ = registers_of(*reinterpret_cast<const ucontext_t*>(context));
  cfa_ = at_.sp;
  if (!enter_stack()) return stop(WalkEnd::kForeignStack);
  // On the same stack what was interrupted lies above; from the signal stack one comes to the thread's own, not back.
  const bool advances = before.holds(at_.sp) ? at_.sp > handler_sp : thread_.stack_.holds(at_.sp);
  return advances ? Step::kUp : stop(WalkEnd::kBadFrame);
}

// Without a rule, the frame pointer is believed only if it leads up this stack and to code of a known module.
StackWalk::Step StackWalk::step_by_frame_pointer() noexcept {
  std::uintptr_t next_fp = 0;
  std::uintptr_t next_pc = 0;
  const bool leads_up = at_.fp >= at_.sp && read(at_.fp, next_fp) && read(at_.fp + 8, next_pc);
  next_pc = strip(next_pc);
  if (!leads_up || next_fp <= at_.fp || map_.find(next_pc - 1) == nullptr) return stop(why_no_rule_);
  walk_.guessed = true;
  if (reads_ != nullptr) reads_->spoil();
  cfa_ = at_.fp + 16;
  at_ = {next_pc, cfa_, next_fp, 0, false};
  read_begin_ = cfa_;
  return Step::kUp;
}

// The thread's unwinder for one walk: a signal handler that interrupts it gets none.
class HeldUnwinder {
 public:
  HeldUnwinder() noexcept : thread_(this_unwinder) {
    if (thread_ == nullptr) return;
    if (thread_->busy_.load(std::memory_order_relaxed)) {
      thread_ = nullptr;
      why_none_ = WalkEnd::kBusy;
      return;
    }
    thread_->busy_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  HeldUnwinder(const HeldUnwinder&) = delete;
  HeldUnwinder& operator=(const HeldUnwinder&) = delete;
  ~HeldUnwinder() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (thread_ != nullptr) thread_->busy_.store(false, std::memory_order_relaxed);
  }

  ThreadUnwinder* thread() const noexcept { return thread_; }
  Walk no_walk() const noexcept { return {0, 0, why_none_, false, false}; }

 private:
  ThreadUnwinder* thread_;
  WalkEnd why_none_ = WalkEnd::kNotPrepared;
};

namespace {

// Registers of the caller of the function this is inlined into. Our own code keeps frame pointers, so it needs no rule.
__attribute__((always_inline)) inline WalkStart start_of_caller() noexcept {
  return {strip(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))),
          reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa()),
          *static_cast<const std::uintptr_t*>(__builtin_frame_address(0))};
}

Registers registers_of(const WalkStart& start) noexcept { return {start.pc, start.sp, start.fp}; }

Walk walk(const WalkStart& start, bool is_to_be_named, std::span<NativeFrame> out) noexcept {
  const HeldUnwinder held;
  if (held.thread() == nullptr) return held.no_walk();
  StackWalk from_start(*held.thread(), registers_of(start), out);
  Walk walk = is_to_be_named ? from_start.run_noting(start) : from_start.run();
  if (walk.end == WalkEnd::kNoTable && libgcc_is_safe()) {
    const Walk fallback = walk_by_libgcc(start.sp, out);
    if (fallback.count > walk.count) walk = fallback;
  }
  return walk;
}

}  // namespace

__attribute__((noinline)) Walk walk_here(std::span<NativeFrame> out) noexcept {
  return walk(start_of_caller(), false, out);
}

__attribute__((noinline)) WalkStart walk_start() noexcept { return start_of_caller(); }

Walk walk_from(const WalkStart& start, std::span<NativeFrame> out) noexcept { return walk(start, true, out); }

std::uint64_t known_walk(const WalkStart& start) noexcept {
  const HeldUnwinder held;
  return held.thread() == nullptr ? 0 : StackWalk(*held.thread(), registers_of(start), {}).known_name(start);
}

void name_walk(std::uint64_t name) noexcept {
  const HeldUnwinder held;
  if (held.thread() != nullptr) StackWalk::name_last(*held.thread(), name);
}

Walk walk_interrupted(const void* context, std::span<NativeFrame> out) noexcept {
  const HeldUnwinder held;
  if (held.thread() == nullptr) return held.no_walk();
  return StackWalk(*held.thread(), registers_of(*static_cast<const ucontext_t*>(context)), out).run();
}

void ThreadUnwinder::prepare_here() noexcept {
  stack_.find();
  stack_t signals{};
  // The kernel's answer, not that of sigaltstack(), which is interposed.
  if (raw_syscall(SYS_sigaltstack, 0, to_word(&signals)) == 0 && (signals.ss_flags & SS_DISABLE) == 0)
    set_signal_stack(signals);
  this_unwinder = this;
}

void ThreadUnwinder::set_signal_stack(const stack_t& stack) noexcept {
  signal_stack_.begin = reinterpret_cast<std::uintptr_t>(stack.ss_sp);
  signal_stack_.end = signal_stack_.begin + stack.ss_size;
}

void ThreadUnwinder::forget_here() noexcept { this_unwinder = nullptr; }

}  // namespace synctrace::capture
