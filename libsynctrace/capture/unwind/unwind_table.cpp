// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/unwind_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "capture/process/copy_memory.h"
#include "capture/process/intern_table.h"
#include "capture/process/mapped_array.h"

namespace synctrace::capture {
namespace {

constexpr UnwindRule kNothing{};
constexpr std::uint16_t kNoRuleNumber = 0;  // rules_[0] is kNothing
constexpr std::size_t kMaxRules = 1U << 16;
constexpr std::size_t kMaxRows = 16U << 20;  // for one module; the largest libraries have some 2 million
constexpr std::size_t kMaxSectionBytes = 256U << 20;
constexpr unsigned kPageBits = 12;  // some hundred rows a page

struct Row {
  std::uint32_t pc = 0;
  std::uint16_t rule = kNoRuleNumber;
  std::uint16_t begins = 0;  // 0: a function's end, which yields to another one's beginning at the same pc
};

}  // namespace

class UnwindTable::Builder {
 public:
  explicit Builder(const Source& source) noexcept : source_(source) {}

  bool read() noexcept {
    if (!slots_.reserve(2 * kMaxRules) || rule_number(kNothing) != kNoRuleNumber) return false;
    EhFrameHeader header;
    const bool has_table = !source_.header.bytes.empty() && header.parse(source_.header) && header.fde_count() != 0;
    EhFrame frames(source_.eh_frame);
    Fde fde;
    if (has_table) {
      for (std::uint64_t i = 0; i < header.fde_count(); ++i) {
        if (!take(frames.fde_at(header.fde_address(i), fde), fde)) return false;
      }
      return true;
    }
    for (EhFrame::Entry entry = frames.next(fde); entry != EhFrame::Entry::kEnd; entry = frames.next(fde)) {
      if (!take(entry, fde)) return false;
    }
    return true;
  }

  // Sorted, and without rows that say what the one before says.
  void finish() noexcept {
    const auto before = [](const Row& a, const Row& b) { return a.pc != b.pc ? a.pc < b.pc : a.begins < b.begins; };
    if (!std::is_sorted(rows_.data(), rows_.data() + rows_.size(), before))
      std::sort(rows_.data(), rows_.data() + rows_.size(), before);
    std::size_t used = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i + 1 < rows_.size() && rows_[i + 1].pc == rows_[i].pc) continue;
      if (used != 0 && rows_[used - 1].rule == rows_[i].rule) continue;
      rows_[used++] = rows_[i];
    }
    rows_.resize(used);
  }

  const UnwindTable* publish() const noexcept {
    const std::size_t rule_bytes = rules_.size() * sizeof(UnwindRule);
    const std::size_t pc_bytes = rows_.size() * sizeof(std::uint32_t);
    const std::size_t pages = rows_.size() == 0 ? 0 : (rows_[rows_.size() - 1].pc >> kPageBits) + 2;
    const std::size_t page_bytes = pages * sizeof(std::uint32_t);
    const std::size_t bytes =
        sizeof(UnwindTable) + rule_bytes + pc_bytes + page_bytes + rows_.size() * sizeof(std::uint16_t);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* table = new (memory) UnwindTable;
    auto* rules = reinterpret_cast<UnwindRule*>(table + 1);
    auto* pcs = reinterpret_cast<std::uint32_t*>(rules + rules_.size());
    auto* first_of_page = pcs + rows_.size();
    auto* numbers = reinterpret_cast<std::uint16_t*>(first_of_page + pages);
    std::copy_n(rules_.data(), rules_.size(), rules);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      pcs[i] = rows_[i].pc;
      numbers[i] = rows_[i].rule;
    }
    std::uint32_t row = 0;
    for (std::size_t page = 0; page < pages; ++page) {
      while (row + 1 < rows_.size() && pcs[row + 1] <= page << kPageBits) ++row;
      first_of_page[page] = row;
    }
    table->base_ = source_.base;
    table->row_count_ = static_cast<std::uint32_t>(rows_.size());
    table->page_count_ = static_cast<std::uint32_t>(pages);
    table->pcs_ = pcs;
    table->first_of_page_ = first_of_page;
    table->rule_numbers_ = numbers;
    table->rules_ = rules;
    table->counts_ = counts_;
    table->counts_.rows = rows_.size();
    table->counts_.rules = rules_.size();
    table->counts_.bytes = bytes;
    mprotect(memory, bytes, PROT_READ);
    return table;
  }

 private:
  // False when there is no memory.
  bool take(EhFrame::Entry entry, const Fde& fde) noexcept {
    if (entry != EhFrame::Entry::kFde || !is_code(fde)) {
      ++counts_.damaged_functions;
      return true;
    }
    // Real functions share their CIE's few instructions and have their own once: a header that names one long entry
    // again and again would keep us busy for hours.
    instruction_bytes_ += fde.initial_instructions.size() + fde.instructions.size();
    if (instruction_bytes_ > 4 * source_.eh_frame.bytes.size() || rows_.size() >= kMaxRows) {
      ++counts_.damaged_functions;
      return true;
    }
    ++counts_.functions;
    CfiRows rows(fde, source_.machine);
    for (CfiRow row; rows.next(row);) {
      counts_.unsupported_rows += row.rule.cfa == CfaKind::kUnsupported ? 1 : 0;
      if (!rows_.add({relative(row.begin), rule_number(row.rule), 1})) return false;
    }
    return rows_.add({relative(fde.end), kNoRuleNumber, 0});
  }

  bool is_code(const Fde& fde) const noexcept {
    const auto holds = [&](const ModuleSegment& code) { return fde.begin >= code.begin && fde.end <= code.end; };
    return std::any_of(source_.code.begin(), source_.code.end(), holds) && fde.begin >= source_.base &&
           fde.end - source_.base <= std::numeric_limits<std::uint32_t>::max();
  }

  std::uint32_t relative(std::uint64_t pc) const noexcept { return static_cast<std::uint32_t>(pc - source_.base); }

  // The number of an equal rule, or a new one. When 65,536 are not enough, the rest is "no rule".
  std::uint16_t rule_number(const UnwindRule& rule) noexcept {
    constexpr std::size_t kSlots = 2 * kMaxRules;
    for (std::size_t slot = hash_bytes(&rule, sizeof(rule)) % kSlots;; slot = (slot + 1) % kSlots) {
      const std::uint32_t taken = slots_.data()[slot];
      if (taken != 0 && rules_[taken - 1] == rule) return static_cast<std::uint16_t>(taken - 1);
      if (taken != 0) continue;
      if (rules_.size() == kMaxRules || !rules_.add(rule)) return kNoRuleNumber;
      slots_.data()[slot] = static_cast<std::uint32_t>(rules_.size());
      return static_cast<std::uint16_t>(rules_.size() - 1);
    }
  }

  const Source& source_;
  MappedArray<Row> rows_;
  MappedArray<UnwindRule> rules_;
  MappedArray<std::uint32_t> slots_;  // open addressing: rule number + 1
  std::uint64_t instruction_bytes_ = 0;
  Counts counts_;
};

const UnwindTable* UnwindTable::build(const Source& source) noexcept {
  Builder builder(source);
  if (!builder.read()) return nullptr;
  builder.finish();
  return builder.publish();
}

void UnwindTable::destroy(const UnwindTable* table) noexcept {
  munmap(const_cast<UnwindTable*>(table), table->counts_.bytes);
}

const UnwindRule& UnwindTable::find(std::uintptr_t pc) const noexcept {
  const std::uintptr_t offset = pc - base_;
  if (row_count_ == 0 || offset < pcs_[0] || offset > std::numeric_limits<std::uint32_t>::max()) return kNothing;
  const std::size_t page = std::min<std::size_t>(offset >> kPageBits, page_count_ - 2);
  const std::uint32_t first = first_of_page_[page];
  const std::uint32_t* last = pcs_ + first;  // the last row at or before offset; without a branch to mispredict
  for (std::size_t left = first_of_page_[page + 1] - first + 1; left > 1;) {
    const std::size_t half = left / 2;
    last = last[half] <= offset ? last + half : last;
    left -= half;
  }
  return rules_[rule_numbers_[last - pcs_]];
}

namespace {

bool copy_section(std::uintptr_t begin, std::uintptr_t end, MappedArray<std::byte>& memory,
                  MappedBytes& section) noexcept {
  if (end <= begin || end - begin > kMaxSectionBytes) return false;
  const std::size_t bytes = end - begin;
  if (!memory.reserve(bytes) || !copy_memory(begin, memory.data(), bytes)) return false;
  section = {{memory.data(), bytes}, begin};
  return true;
}

// Null: not now. A module without frame information gets a table without rows.
const UnwindTable* table_of(const Module& module) noexcept {
  UnwindTable::Source source;
  source.base = module.begin;
  source.code = module.code();
  if (module.eh_frame_header == 0) return UnwindTable::build(source);

  MappedArray<std::byte> header_memory;
  MappedArray<std::byte> frame_memory;
  const std::uintptr_t header_end = module.eh_frame_header + module.eh_frame_header_bytes;
  if (!copy_section(module.eh_frame_header, header_end, header_memory, source.header)) return nullptr;
  // Another module may lie there by now; the next refresh tells.
  if (frame_header_fingerprint(source.header.bytes) != module.fingerprint) return nullptr;
  EhFrameHeader header;
  const std::uintptr_t begin = header.parse(source.header) ? header.eh_frame_address() : 0;
  // Its length is nowhere in memory; the table of the header, or the terminator, says where reading ends.
  if (begin >= module.frame_data_begin && begin < module.frame_data_end) {
    if (!copy_section(begin, module.frame_data_end, frame_memory, source.eh_frame)) return nullptr;
  }
  return UnwindTable::build(source);
}

}  // namespace

std::size_t build_missing_tables(const ModuleMap& modules) noexcept {
  std::size_t built = 0;
  for (const CodeMap::Range& range : modules.current().ranges()) {
    if (range.module->table.load(std::memory_order_relaxed) != nullptr) continue;
    const UnwindTable* table = table_of(*range.module);
    if (table == nullptr) continue;
    range.module->table.store(table, std::memory_order_release);
    ++built;
  }
  return built;
}

}  // namespace synctrace::capture
