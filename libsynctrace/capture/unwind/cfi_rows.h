// SPDX-License-Identifier: Apache-2.0
// The call frame instructions of one function, run and reduced to what a stack walk needs: for each range of pcs, where
// the caller's stack pointer, frame pointer and return address are. x86-64 and aarch64, chosen at run time, so that
// either machine reads the other's tables. Instructions are not trusted: every read is bounded and every loop ends.
// No allocation, no system call. Any thread; an object is not shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/unwind/eh_frame.h"

namespace synctrace::capture {

enum class Machine : std::uint8_t { kX86_64, kAarch64 };
#if defined(__aarch64__)
inline constexpr Machine kThisMachine = Machine::kAarch64;
#else
inline constexpr Machine kThisMachine = Machine::kX86_64;
#endif

// How the canonical frame address (CFA: the caller's stack pointer at the call) is found.
enum class CfaKind : std::uint8_t {
  kNoRule,   // no frame information covers this pc
  kSp,       // sp + cfa_offset
  kFp,       // fp + cfa_offset
  kFpDeref,  // *(fp + cfa_offset): functions that realign their stack
  kRbx,      // rbx, r10 or r13 + cfa_offset: x86-64, mostly while a function realigns its stack; what these held is
  kR10,      // known only where a signal interrupted
  kR13,
  kPlt,          // sp + 8, and 8 more from byte `cfa_offset` of each 16-byte entry on
  kEnd,          // the return address is declared undefined: the thread's first frame
  kSignalFrame,  // the kernel's frame: every register is in its ucontext
  kUnsupported,  // there is a rule, but not one of these
};

// Where a register of the caller is.
enum class SlotKind : std::uint8_t { kSame, kAtCfa, kAtFp };

struct UnwindRule {
  std::int32_t cfa_offset = 0;
  std::int32_t fp_offset = 0;
  std::int32_t ra_offset = 0;
  CfaKind cfa = CfaKind::kNoRule;
  SlotKind fp = SlotKind::kSame;
  SlotKind ra = SlotKind::kSame;  // kSame: in the link register (aarch64)
  std::uint8_t reserved = 0;

  friend bool operator==(const UnwindRule&, const UnwindRule&) = default;
};
static_assert(sizeof(UnwindRule) == 16);

struct CfiRow {
  std::uint64_t begin = 0;  // pcs [begin, end), never empty
  std::uint64_t end = 0;
  UnwindRule rule;
};

// Runs an FDE's instructions; each next() gives one row, in ascending order of pc, until the FDE's end. What follows a
// malformed instruction is one row of kUnsupported.
class CfiRows {
 public:
  CfiRows(const Fde& fde, Machine machine) noexcept;
  bool next(CfiRow& row) noexcept;

 private:
  enum class Where : std::uint8_t { kSame, kUndefined, kAtCfa, kAtFp, kAtSp, kUnknown };
  enum class Cfa : std::uint8_t { kNone, kRegister, kFpDeref, kSpDeref, kPlt, kUnknown };
  struct Slot {
    Where where = Where::kSame;
    std::int64_t offset = 0;
  };
  struct State {
    Cfa cfa = Cfa::kNone;
    std::uint64_t cfa_register = 0;
    std::int64_t cfa_offset = 0;
    Slot fp;
    Slot ra;
  };
  enum class Step : std::uint8_t { kContinue, kAdvance, kBad };

  Step execute(dwarf::DwarfCursor& cursor) noexcept;
  Step execute_extended(unsigned opcode, dwarf::DwarfCursor& cursor) noexcept;
  Step execute_cfa(unsigned opcode, dwarf::DwarfCursor& cursor) noexcept;
  Step advance(std::uint64_t units) noexcept;
  Slot* slot(std::uint64_t number) noexcept;
  void set_slot(std::uint64_t number, Where where, std::int64_t offset) noexcept;
  void restore_slot(std::uint64_t number) noexcept;
  void set_cfa_expression(std::span<const std::byte> expression) noexcept;
  void set_slot_expression(std::uint64_t number, std::span<const std::byte> expression) noexcept;
  UnwindRule rule() const noexcept;
  UnwindRule signal_rule() const noexcept;

  // Compilers nest remember_state once or twice.
  static constexpr std::size_t kMaxRemembered = 16;

  const Fde& fde_;
  Machine machine_;
  std::uint64_t fp_register_;
  std::uint64_t sp_register_;
  std::uint64_t location_;
  std::uint64_t target_ = 0;  // where the last advance leads
  std::size_t position_ = 0;
  bool bad_ = false;
  State state_;
  State initial_;
  State remembered_[kMaxRemembered];
  std::size_t remembered_count_ = 0;
};

}  // namespace synctrace::capture
