// SPDX-License-Identifier: Apache-2.0
// Compares our unwind tables with what elfutils reads out of the same files, row by row of every function:
//   unwind_oracle [--every N] FILE...     N: every Nth function only, for the largest libraries
// Prints a line for each file and the first differences; exit status 1 when less than 99.9 % of a file's rows agree.
// Files are read, not loaded, so any library of any machine will do; x86-64 only.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/unwind/eh_frame.h"
#include "capture/unwind/unwind_table.h"

namespace {

using namespace synctrace::capture;

constexpr double kWantedShare = 0.999;
constexpr int kShownDifferences = 5;
constexpr int kRbx = 3;  // DWARF's numbers
constexpr int kFp = 6;
constexpr int kSp = 7;
constexpr int kR10 = 10;
constexpr int kR13 = 13;
constexpr int kPc = 16;

std::string with_offset(const char* base, std::int64_t offset) {
  return std::string(base) + (offset < 0 ? "" : "+") + std::to_string(offset);
}

// A rule in words; "unsupported" for all that our tables do not hold, whichever side says it.
std::string in_words(const UnwindRule& rule) {
  switch (rule.cfa) {
    case CfaKind::kNoRule: return "none";
    case CfaKind::kEnd: return "end";
    case CfaKind::kSignalFrame: return "signal";
    case CfaKind::kUnsupported: return "unsupported";
    default: break;
  }
  std::string cfa;
  if (rule.cfa == CfaKind::kSp) cfa = with_offset("sp", rule.cfa_offset);
  if (rule.cfa == CfaKind::kFp) cfa = with_offset("fp", rule.cfa_offset);
  if (rule.cfa == CfaKind::kFpDeref) cfa = "*" + with_offset("fp", rule.cfa_offset);
  if (rule.cfa == CfaKind::kRbx) cfa = with_offset("rbx", rule.cfa_offset);
  if (rule.cfa == CfaKind::kR10) cfa = with_offset("r10", rule.cfa_offset);
  if (rule.cfa == CfaKind::kR13) cfa = with_offset("r13", rule.cfa_offset);
  if (rule.cfa == CfaKind::kPlt) cfa = "plt " + std::to_string(rule.cfa_offset);
  std::string fp = "same";
  if (rule.fp == SlotKind::kAtCfa) fp = with_offset("cfa", rule.fp_offset);
  if (rule.fp == SlotKind::kAtFp) fp = with_offset("fp", rule.fp_offset);
  return cfa + ", fp " + fp + ", pc " + with_offset("cfa", rule.ra_offset);
}

// "fp+8" of an operation that adds to a register; empty for others.
std::string register_plus(const Dwarf_Op& op) {
  const bool indexed = op.atom == DW_OP_bregx;
  const auto number = indexed ? static_cast<int>(op.number) : op.atom - DW_OP_breg0;
  const auto offset = static_cast<std::int64_t>(indexed ? op.number2 : op.number);
  if (number == kSp) return with_offset("sp", offset);
  if (number == kFp) return with_offset("fp", offset);
  if (number == kRbx) return with_offset("rbx", offset);
  if (number == kR10) return with_offset("r10", offset);
  if (number == kR13) return with_offset("r13", offset);
  return {};
}

// sp + 8 + (((pc & 15) >= N) << 3): what linkers write for the PLT.
std::string plt_words(const Dwarf_Op* ops, std::size_t count) {
  const int atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, -1,
                       DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
  if (count != std::size(atoms) || ops[0].number != 8 || ops[1].number != 0) return {};
  for (std::size_t i = 0; i < count; ++i) {
    if (atoms[i] != -1 && ops[i].atom != atoms[i]) return {};
  }
  return ops[4].atom >= DW_OP_lit0 && ops[4].atom <= DW_OP_lit31 ? "plt " + std::to_string(ops[4].atom - DW_OP_lit0)
                                                                 : "";
}

std::string cfa_words(Dwarf_Frame* frame) {
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0) return {};
  if (count == 1) return register_plus(ops[0]);
  if (count == 2 && ops[1].atom == DW_OP_deref && register_plus(ops[0]).starts_with("fp"))
    return "*" + register_plus(ops[0]);
  return plt_words(ops, count);
}

// Where a register of the caller is: "same", "undefined", "cfa-16", "fp-16"; empty for anything else.
std::string slot_words(Dwarf_Frame* frame, int number) {
  Dwarf_Op memory[3];
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0) return {};
  if (count == 0) return ops == nullptr ? "same" : "undefined";
  if (ops[0].atom != DW_OP_call_frame_cfa) return {};
  if (count == 1) return with_offset("cfa", 0);
  if (count == 2 && ops[1].atom == DW_OP_plus_uconst)
    return with_offset("cfa", static_cast<std::int64_t>(ops[1].number));
  if (count == 2) return register_plus(ops[1]).starts_with("fp") ? register_plus(ops[1]) : "";
  return {};
}

std::string in_words(Dwarf_Frame* frame, bool is_signal) {
  if (is_signal) return "signal";
  const std::string pc = slot_words(frame, kPc);
  if (pc == "undefined") return "end";
  const std::string cfa = cfa_words(frame);
  std::string fp = slot_words(frame, kFp);
  if (fp == "undefined") fp = "same";  // nobody's frame pointer: what it holds does not matter
  if (cfa.empty() || fp.empty() || pc != "cfa-8") return "unsupported";
  return cfa + ", fp " + fp + ", pc " + pc;
}

struct Counts {
  std::uint64_t functions = 0;
  std::uint64_t rows = 0;
  std::uint64_t equal = 0;        // and supported
  std::uint64_t unsupported = 0;  // both sides
  std::uint64_t different = 0;
  std::uint64_t unread = 0;  // elfutils gives no row
};

class File {
 public:
  explicit File(const char* path) : descriptor_(open(path, O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ >= 0) elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
    if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF) return;
    read_segments();
    read_sections();
    cfi_ = dwarf_getcfi_elf(elf_);
    table_ = UnwindTable::build(source_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (table_ != nullptr) UnwindTable::destroy(table_);
    if (cfi_ != nullptr) dwarf_cfi_end(cfi_);
    if (elf_ != nullptr) elf_end(elf_);
    if (descriptor_ >= 0) close(descriptor_);
  }

  bool is_usable() const { return table_ != nullptr && cfi_ != nullptr && !source_.eh_frame.bytes.empty(); }

  Counts compare(std::uint64_t every) const {
    Counts counts;
    EhFrame frames(source_.eh_frame);
    Fde fde;
    int shown = 0;
    std::uint64_t index = 0;
    for (auto entry = frames.next(fde); entry != EhFrame::Entry::kEnd; entry = frames.next(fde)) {
      if (entry != EhFrame::Entry::kFde || fde.begin == 0 || index++ % every != 0) continue;
      ++counts.functions;
      for (std::uint64_t pc = fde.begin; pc < fde.end;) pc = compare_row(pc, fde.end, counts, shown);
    }
    return counts;
  }

  const UnwindTable::Counts& table_counts() const { return table_->counts(); }

 private:
  // Returns where the next row begins.
  std::uint64_t compare_row(std::uint64_t pc, std::uint64_t function_end, Counts& counts, int& shown) const {
    ++counts.rows;
    Dwarf_Frame* read = nullptr;
    if (dwarf_cfi_addrframe(cfi_, pc, &read) != 0 || read == nullptr) {
      ++counts.unread;
      return function_end;
    }
    const std::unique_ptr<Dwarf_Frame, void (*)(void*)> frame(read, std::free);
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    bool is_signal = false;
    dwarf_frame_info(read, &begin, &end, &is_signal);
    if (end <= pc || end > function_end) end = function_end;
    const std::string wanted = in_words(read, is_signal);
    const std::string first = in_words(table_->find(pc));
    const std::string last = in_words(table_->find(end - 1));
    if (first == wanted && last == wanted) {
      ++(wanted == "unsupported" ? counts.unsupported : counts.equal);
    } else {
      ++counts.different;
      if (shown++ < kShownDifferences)
        std::printf("  %#llx-%#llx: elfutils \"%s\", ours \"%s\" to \"%s\"\n", static_cast<unsigned long long>(pc),
                    static_cast<unsigned long long>(end), wanted.c_str(), first.c_str(), last.c_str());
    }
    return end;
  }

  void read_segments() {
    std::size_t count = 0;
    elf_getphdrnum(elf_, &count);
    source_.base = ~std::uintptr_t{0};
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
      source_.base = std::min<std::uintptr_t>(source_.base, header.p_vaddr);
      if ((header.p_flags & PF_X) != 0)
        code_.push_back({header.p_vaddr, header.p_vaddr + header.p_memsz, header.p_offset});
    }
    source_.code = code_;
  }

  void read_sections() {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf_, &names) != 0) return;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
      const char* text = elf_strptr(elf_, names, header.sh_name);
      const std::string_view name = text == nullptr ? "" : text;
      if (name != ".eh_frame" && name != ".eh_frame_hdr") continue;
      const Elf_Data* data = elf_rawdata(section, nullptr);
      if (data == nullptr) continue;
      (name == ".eh_frame" ? source_.eh_frame : source_.header) = {
          {static_cast<const std::byte*>(data->d_buf), data->d_size}, header.sh_addr};
    }
  }

  int descriptor_;
  Elf* elf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
  std::vector<ModuleSegment> code_;
  UnwindTable::Source source_;
  const UnwindTable* table_ = nullptr;
};

bool check(const char* path, std::uint64_t every) {
  const auto begin = std::chrono::steady_clock::now();
  const File file(path);
  if (!file.is_usable()) {
    std::printf("%s: cannot be read, or has no .eh_frame\n", path);
    return false;
  }
  const Counts counts = file.compare(every);
  const double share = counts.rows == 0 ? 0 : static_cast<double>(counts.equal) / static_cast<double>(counts.rows);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%s: %llu functions, %llu rows, %.4f %% equal; %llu unsupported, %llu different, %llu unread; %.1f s\n",
              path, number(counts.functions), number(counts.rows), share * 100, number(counts.unsupported),
              number(counts.different), number(counts.unread), took.count());
  std::fflush(stdout);
  return share >= kWantedShare;
}

}  // namespace

int main(int argc, char** argv) {
  elf_version(EV_CURRENT);
  std::uint64_t every = 1;
  int first = 1;
  if (argc > 2 && std::string_view(argv[1]) == "--every") {
    every = std::strtoull(argv[2], nullptr, 10);
    first = 3;
  }
  if (first >= argc || every == 0) {
    std::fputs("usage: unwind_oracle [--every N] FILE...\n", stderr);
    return 2;
  }
  bool good = true;
  for (int i = first; i < argc; ++i) good = check(argv[i], every) && good;
  return good ? 0 : 1;
}
