// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/cfi_rows.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "capture/unwind/dwarf_cursor.h"

namespace synctrace::capture {

using namespace dwarf;

namespace {

// DWARF register numbers (the processor supplements of the System V ABI).
constexpr std::uint64_t kX86Fp = 6;
constexpr std::uint64_t kX86Sp = 7;
constexpr std::uint64_t kX86Rbx = 3;
constexpr std::uint64_t kX86R10 = 10;
constexpr std::uint64_t kX86R13 = 13;
constexpr std::uint64_t kArmFp = 29;
constexpr std::uint64_t kArmSp = 31;

// Operations that the expressions below are made of.
constexpr std::uint8_t kOpDeref = 0x06;
constexpr std::uint8_t kOpBreg0 = 0x70;
constexpr std::uint8_t kOpLit0 = 0x30;

// What the linker gives PLT sections: sp + 8 + ((pc & 15) >= N) * 8, as breg7 8; breg16 0; lit15; and; litN; ge; lit3;
// shl; plus.
constexpr std::array<std::uint8_t, 11> kPltExpression{0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22};
constexpr std::size_t kPltLiteral = 6;

// The x86-64 kernel's signal frame: sp points at the ucontext, whose registers lie at these offsets.
constexpr std::int64_t kX86SignalFp = 120;
constexpr std::int64_t kX86SignalSp = 160;
constexpr std::int64_t kX86SignalPc = 168;

std::int64_t multiply(std::uint64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(a * static_cast<std::uint64_t>(b));
}

std::int64_t negate(std::int64_t value) noexcept {
  return static_cast<std::int64_t>(-static_cast<std::uint64_t>(value));
}

bool fits(std::int64_t value) noexcept {
  return value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
}

struct RegisterPlus {
  std::uint64_t number = ~std::uint64_t{0};
  std::int64_t offset = 0;
  bool dereferenced = false;
};

// An expression of the form "register + offset", perhaps dereferenced; number ~0 for any other.
RegisterPlus register_plus(Bytes expression) noexcept {
  DwarfCursor cursor(expression, 0);
  const auto operation = cursor.fixed<std::uint8_t>();
  if (operation < kOpBreg0 || operation > kOpBreg0 + 31) return {};
  RegisterPlus found{static_cast<std::uint64_t>(operation - kOpBreg0), cursor.sleb(), false};
  if (cursor.ok() && !cursor.at_end()) {
    if (cursor.fixed<std::uint8_t>() != kOpDeref) return {};
    found.dereferenced = true;
  }
  return cursor.ok() && cursor.at_end() ? found : RegisterPlus{};
}

// Registers, besides stack and frame pointer, by which compilers find a caller.
CfaKind rare_base(std::uint64_t x86_register) noexcept {
  switch (x86_register) {
    case kX86Rbx: return CfaKind::kRbx;
    case kX86R10: return CfaKind::kR10;
    case kX86R13: return CfaKind::kR13;
    default: return CfaKind::kUnsupported;
  }
}

// The N of the PLT expression; -1 for any other.
int plt_threshold(Bytes expression) noexcept {
  if (expression.size() != kPltExpression.size()) return -1;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    if (i != kPltLiteral && expression[i] != std::byte{kPltExpression[i]}) return -1;
  }
  const int literal = static_cast<int>(expression[kPltLiteral]) - kOpLit0;
  return literal >= 0 && literal < 16 ? literal : -1;
}

}  // namespace

CfiRows::CfiRows(const Fde& fde, Machine machine) noexcept
    : fde_(fde),
      machine_(machine),
      fp_register_(machine == Machine::kX86_64 ? kX86Fp : kArmFp),
      sp_register_(machine == Machine::kX86_64 ? kX86Sp : kArmSp),
      location_(fde.begin) {
  DwarfCursor cursor(fde.initial_instructions, fde.initial_address);
  while (!bad_ && !cursor.at_end()) bad_ = execute(cursor) != Step::kContinue;  // a CIE has no locations
  bad_ = bad_ || !cursor.ok();
  initial_ = state_;
  remembered_count_ = 0;
}

bool CfiRows::next(CfiRow& row) noexcept {
  if (location_ >= fde_.end) return false;
  row.begin = location_;
  DwarfCursor cursor(fde_.instructions.subspan(position_), fde_.instructions_address + position_);
  Step step = Step::kContinue;
  while (!bad_ && step == Step::kContinue && !cursor.at_end()) {
    step = execute(cursor);
    bad_ = step == Step::kBad || !cursor.ok();
  }
  position_ += cursor.position();
  // The state is that of [begin, target): advancing changes no rule.
  const bool advanced = !bad_ && step == Step::kAdvance;
  row.end = advanced ? std::min(target_, fde_.end) : fde_.end;
  row.rule = rule();
  location_ = row.end;
  return true;
}

CfiRows::Step CfiRows::advance(std::uint64_t units) noexcept {
  const std::uint64_t distance = units * fde_.code_alignment;
  if (distance == 0) return Step::kContinue;
  if (distance > fde_.end - fde_.begin) return Step::kBad;
  target_ = location_ + distance;
  return Step::kAdvance;
}

CfiRows::Slot* CfiRows::slot(std::uint64_t number) noexcept {
  if (number == fp_register_) return &state_.fp;
  if (number == fde_.return_register) return &state_.ra;
  return nullptr;
}

void CfiRows::set_slot(std::uint64_t number, Where where, std::int64_t offset) noexcept {
  if (Slot* changed = slot(number)) *changed = {where, offset};
}

void CfiRows::restore_slot(std::uint64_t number) noexcept {
  if (number == fp_register_) state_.fp = initial_.fp;
  if (number == fde_.return_register) state_.ra = initial_.ra;
}

CfiRows::Step CfiRows::execute(DwarfCursor& cursor) noexcept {
  const auto opcode = cursor.fixed<std::uint8_t>();
  const unsigned low = opcode & 0x3fU;
  switch (opcode >> 6) {
    case 1: return advance(low);  // advance_loc
    case 2:
      set_slot(low, Where::kAtCfa, multiply(cursor.uleb(), fde_.data_alignment));
      return Step::kContinue;                           // offset
    case 3: restore_slot(low); return Step::kContinue;  // restore
    default: break;
  }
  return opcode >= 0x0c && opcode <= 0x13 && opcode != 0x10 && opcode != 0x11 ? execute_cfa(opcode, cursor)
                                                                              : execute_extended(opcode, cursor);
}

// Instructions that define the CFA.
CfiRows::Step CfiRows::execute_cfa(unsigned opcode, DwarfCursor& cursor) noexcept {
  const bool names_register = opcode == 0x0c || opcode == 0x0d || opcode == 0x12;
  if (opcode == 0x0f) {  // def_cfa_expression
    set_cfa_expression(cursor.take(cursor.uleb()));
    return Step::kContinue;
  }
  if (!names_register && state_.cfa != Cfa::kRegister) return Step::kBad;
  if (names_register) {  // def_cfa, def_cfa_register, def_cfa_sf
    if (opcode == 0x0d && state_.cfa != Cfa::kRegister) return Step::kBad;
    state_.cfa = Cfa::kRegister;
    state_.cfa_register = cursor.uleb();
  }
  if (opcode == 0x0c || opcode == 0x0e) state_.cfa_offset = static_cast<std::int64_t>(cursor.uleb());
  if (opcode == 0x12 || opcode == 0x13)
    state_.cfa_offset = multiply(static_cast<std::uint64_t>(cursor.sleb()), fde_.data_alignment);
  return Step::kContinue;
}

CfiRows::Step CfiRows::execute_extended(unsigned opcode, DwarfCursor& cursor) noexcept {
  // Operands are read in their order; these two are most instructions'.
  const auto number = [&cursor] { return cursor.uleb(); };
  const auto skip = [&cursor] { return cursor.take(cursor.uleb()); };
  switch (opcode) {
    case 0x00: break;  // nop
    case 0x01: {       // set_loc
      const std::uint64_t to = cursor.pointer(fde_.pointer_encoding, 0);
      if (to < location_ || to > fde_.end) return Step::kBad;
      if (to == location_) break;
      target_ = to;
      return Step::kAdvance;
    }
    case 0x02: return advance(cursor.fixed<std::uint8_t>());
    case 0x03: return advance(cursor.fixed<std::uint16_t>());
    case 0x04: return advance(cursor.fixed<std::uint32_t>());
    case 0x05: {  // offset_extended
      const std::uint64_t which = number();
      set_slot(which, Where::kAtCfa, multiply(cursor.uleb(), fde_.data_alignment));
      break;
    }
    case 0x06: restore_slot(number()); break;
    case 0x07: set_slot(number(), Where::kUndefined, 0); break;
    case 0x08: set_slot(number(), Where::kSame, 0); break;
    case 0x09: {  // register
      const std::uint64_t which = number();
      const std::uint64_t in = number();
      set_slot(which, in == which ? Where::kSame : Where::kUnknown, 0);
      break;
    }
    case 0x0a:  // remember_state
      if (remembered_count_ == kMaxRemembered) return Step::kBad;
      remembered_[remembered_count_++] = state_;
      break;
    case 0x0b:  // restore_state
      if (remembered_count_ == 0) return Step::kBad;
      state_ = remembered_[--remembered_count_];
      break;
    case 0x10: {  // expression
      const std::uint64_t which = number();
      set_slot_expression(which, skip());
      break;
    }
    case 0x11: {  // offset_extended_sf
      const std::uint64_t which = number();
      set_slot(which, Where::kAtCfa, multiply(static_cast<std::uint64_t>(cursor.sleb()), fde_.data_alignment));
      break;
    }
    case 0x14:    // val_offset
    case 0x15: {  // val_offset_sf
      set_slot(number(), Where::kUnknown, 0);
      cursor.uleb();
      break;
    }
    case 0x16: {  // val_expression
      set_slot(number(), Where::kUnknown, 0);
      skip();
      break;
    }
    case 0x2d: break;                 // aarch64: the return address is signed from here on; every walk strips it anyway
    case 0x2e: cursor.uleb(); break;  // GNU_args_size
    case 0x2f: {                      // GNU_negative_offset_extended
      const std::uint64_t which = number();
      set_slot(which, Where::kAtCfa, negate(multiply(cursor.uleb(), fde_.data_alignment)));
      break;
    }
    default: return Step::kBad;  // its operands are unknown, so nothing after it can be read
  }
  return Step::kContinue;
}

void CfiRows::set_cfa_expression(Bytes expression) noexcept {
  const RegisterPlus simple = register_plus(expression);
  const int threshold = plt_threshold(expression);
  state_.cfa = Cfa::kUnknown;
  state_.cfa_offset = simple.offset;
  if (machine_ == Machine::kX86_64 && threshold >= 0) {
    state_.cfa = Cfa::kPlt;
    state_.cfa_offset = threshold;
  } else if (simple.dereferenced && simple.number == fp_register_) {
    state_.cfa = Cfa::kFpDeref;
  } else if (simple.dereferenced && simple.number == sp_register_) {
    state_.cfa = Cfa::kSpDeref;
  } else if (!simple.dereferenced && simple.number <= 31) {
    state_.cfa = Cfa::kRegister;
    state_.cfa_register = simple.number;
  }
}

void CfiRows::set_slot_expression(std::uint64_t number, Bytes expression) noexcept {
  const RegisterPlus simple = register_plus(expression);
  Where where = Where::kUnknown;
  if (!simple.dereferenced && simple.number == fp_register_) where = Where::kAtFp;
  if (!simple.dereferenced && simple.number == sp_register_) where = Where::kAtSp;
  set_slot(number, where, simple.offset);
}

UnwindRule CfiRows::rule() const noexcept {
  UnwindRule made;
  made.cfa = CfaKind::kUnsupported;
  if (bad_) return made;
  if (fde_.is_signal_frame) return signal_rule();
  if (state_.ra.where == Where::kUndefined) {
    made.cfa = CfaKind::kEnd;
    return made;
  }
  const bool in_register = machine_ == Machine::kAarch64 && state_.ra.where == Where::kSame;
  const bool ra_known = in_register || (state_.ra.where == Where::kAtCfa && fits(state_.ra.offset));
  const bool ra_fixed = machine_ == Machine::kAarch64 || state_.ra.offset == -8;  // x86-64: where `call` pushed it
  const Where fp = state_.fp.where;
  const bool fp_known = (fp == Where::kSame || fp == Where::kAtCfa || fp == Where::kAtFp || fp == Where::kUndefined) &&
                        fits(state_.fp.offset);
  if (!ra_known || !ra_fixed || !fp_known || !fits(state_.cfa_offset)) return made;

  CfaKind kind = CfaKind::kUnsupported;
  if (state_.cfa == Cfa::kRegister && machine_ == Machine::kX86_64) kind = rare_base(state_.cfa_register);
  if (state_.cfa == Cfa::kRegister && state_.cfa_register == sp_register_) kind = CfaKind::kSp;
  if (state_.cfa == Cfa::kRegister && state_.cfa_register == fp_register_) kind = CfaKind::kFp;
  if (state_.cfa == Cfa::kFpDeref) kind = CfaKind::kFpDeref;
  if (state_.cfa == Cfa::kPlt) kind = CfaKind::kPlt;
  if (kind == CfaKind::kUnsupported) return made;
  made.cfa = kind;
  made.cfa_offset = static_cast<std::int32_t>(state_.cfa_offset);
  made.ra = in_register ? SlotKind::kSame : SlotKind::kAtCfa;
  made.ra_offset = in_register ? 0 : static_cast<std::int32_t>(state_.ra.offset);
  if (fp == Where::kAtCfa || fp == Where::kAtFp) {
    made.fp = fp == Where::kAtCfa ? SlotKind::kAtCfa : SlotKind::kAtFp;
    made.fp_offset = static_cast<std::int32_t>(state_.fp.offset);
  }
  return made;
}

// On x86-64 the instructions must say what the kernel's layout is: other functions marked as signal frames exist. The
// aarch64 kernel's own give a frame record only, so there the mark is enough.
UnwindRule CfiRows::signal_rule() const noexcept {
  const auto at_sp = [](const Slot& slot, std::int64_t offset) {
    return slot.where == Where::kAtSp && slot.offset == offset;
  };
  const bool is_kernels =
      machine_ == Machine::kAarch64 || (state_.cfa == Cfa::kSpDeref && state_.cfa_offset == kX86SignalSp &&
                                        at_sp(state_.fp, kX86SignalFp) && at_sp(state_.ra, kX86SignalPc));
  UnwindRule made;
  made.cfa = is_kernels ? CfaKind::kSignalFrame : CfaKind::kUnsupported;
  return made;
}

}  // namespace synctrace::capture
