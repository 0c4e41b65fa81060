// SPDX-License-Identifier: Apache-2.0
#include "names/dwarf_frames.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "names/symbol_table.h"

namespace synctrace {
namespace {

constexpr int kDeepestContainer = 32;  // namespaces and classes around a function
constexpr int kDeepestScope = 256;     // blocks and inlined functions inside one
constexpr int kMostRanges = 4096;      // for one function or unit
constexpr std::size_t kLongestPath = 4096;

bool holds_functions(int tag) noexcept {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_union_type;
}

std::string name_of(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (const char* linkage = dwarf_formstring(dwarf_attr_integrate(&die, name, &attribute))) return demangled(linkage);
  }
  const char* name = dwarf_diename(&die);
  return name == nullptr ? std::string() : std::string(name, ::strnlen(name, kLongestName));
}

std::string full_path(const std::string& folder, const char* file) {
  if (file == nullptr || std::strcmp(file, "???") == 0) return {};
  const std::string_view name(file, ::strnlen(file, kLongestPath));
  const std::filesystem::path path =
      name.starts_with('/') || folder.empty() ? std::filesystem::path(name) : std::filesystem::path(folder) / name;
  return path.lexically_normal().string();
}

std::uint32_t number_of(Dwarf_Die& die, unsigned name) noexcept {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(&die, name, &attribute), &value) != 0) return 0;
  return value > 0x7fffffff ? 0 : static_cast<std::uint32_t>(value);
}

std::uint32_t natural(int value) noexcept { return value < 0 ? 0 : static_cast<std::uint32_t>(value); }

template <class Range, class Add>
void each_range(Dwarf_Die& die, std::vector<Range>& ranges, Add add) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  std::ptrdiff_t offset = 0;
  for (int i = 0; i < kMostRanges && (offset = dwarf_ranges(&die, offset, &base, &begin, &end)) > 0; ++i) {
    // Functions that the linker threw away are left at or near zero.
    if (begin < end && begin != 0) ranges.push_back(add(begin, end));
  }
}

template <class Range>
void sort_ranges(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

template <class Range>
Range* range_at(std::vector<Range>& ranges, Dwarf_Addr address) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                [](Dwarf_Addr value, const Range& range) { return value < range.begin; });
  if (after == ranges.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

}  // namespace

std::vector<ResolvedFrame> DwarfFrames::frames_at(std::uint64_t absolute) {
  Dwarf_Addr bias = 0;
  const Dwarf_Die* found = find_unit(absolute, bias);
  if (found == nullptr) return {};
  const Dwarf_Addr address = absolute - bias;
  Unit& unit = unit_of(*found);
  Position position = line_at(unit, address);
  std::vector<Dwarf_Die> chain;  // outermost first
  if (Function* function = range_at(unit.functions, address)) {
    chain = inlined_at(function->die, address);
    chain.insert(chain.begin(), function->die);
  }
  std::vector<ResolvedFrame> frames;
  for (auto die = chain.rbegin(); die != chain.rend(); ++die) {
    ResolvedFrame& frame = frames.emplace_back();
    frame.inlined = die + 1 != chain.rend();
    frame.function = name_of(*die);
    frame.file = std::exchange(position.file, {});
    frame.line = position.line;
    frame.column = position.column;
    if (frame.inlined) position = call_position(unit, *die);
  }
  if (frames.empty() && !position.file.empty()) {
    ResolvedFrame& frame = frames.emplace_back();
    frame.file = std::move(position.file);
    frame.line = position.line;
    frame.column = position.column;
  }
  return frames;
}

Dwarf_Die* DwarfFrames::find_unit(Dwarf_Addr address, Dwarf_Addr& bias) {
  if (Dwarf_Die* unit = dwfl_module_addrdie(module_, address, &bias)) return unit;
  if (!units_indexed_) index_units();
  bias = unit_bias_;
  UnitRange* range = range_at(unit_ranges_, address - bias);
  return range == nullptr ? nullptr : &range->unit;
}

// clang writes no .debug_aranges, from which libdwfl knows the unit of an address.
void DwarfFrames::index_units() {
  units_indexed_ = true;
  Dwarf_Die* unit = nullptr;
  while ((unit = dwfl_module_nextcu(module_, unit, &unit_bias_)) != nullptr && --budget_ > 0) {
    each_range(*unit, unit_ranges_, [&](Dwarf_Addr begin, Dwarf_Addr end) { return UnitRange{begin, end, *unit}; });
  }
  sort_ranges(unit_ranges_);
}

DwarfFrames::Unit& DwarfFrames::unit_of(Dwarf_Die die) {
  const auto [place, is_new] = units_.try_emplace(die.addr);
  Unit& unit = place->second;
  if (!is_new) return unit;
  unit.lines = die;
  unit.scopes = die;
  std::uint8_t type = 0;
  Dwarf_Die split{};
  if (dwarf_cu_info(die.cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
      type == DW_UT_skeleton && split.addr != nullptr) {
    unit.scopes = split;
  }
  Dwarf_Attribute attribute;
  if (const char* folder = dwarf_formstring(dwarf_attr(&unit.lines, DW_AT_comp_dir, &attribute))) {
    unit.folder.assign(folder, ::strnlen(folder, kLongestPath));
  }
  std::size_t count = 0;
  if (dwarf_getsrcfiles(&unit.scopes, &unit.files, &count) != 0) unit.files = nullptr;
  index_functions(unit.scopes, unit, 0);
  sort_ranges(unit.functions);
  return unit;
}

void DwarfFrames::index_functions(Dwarf_Die parent, Unit& unit, int depth) {
  Dwarf_Die die;
  if (depth > kDeepestContainer || dwarf_child(&parent, &die) != 0) return;
  do {
    if (--budget_ < 0) return;
    const int tag = dwarf_tag(&die);
    if (tag == DW_TAG_subprogram) {
      each_range(die, unit.functions, [&](Dwarf_Addr begin, Dwarf_Addr end) { return Function{begin, end, die}; });
    } else if (holds_functions(tag)) {
      index_functions(die, unit, depth + 1);
    }
  } while (dwarf_siblingof(&die, &die) == 0);
}

// The calls inlined around `address`, outermost first.
std::vector<Dwarf_Die> DwarfFrames::inlined_at(Dwarf_Die scope, Dwarf_Addr address) {
  std::vector<Dwarf_Die> chain;
  for (int depth = 0; depth < kDeepestScope; ++depth) {
    Dwarf_Die die;
    bool inside = false;
    if (dwarf_child(&scope, &die) != 0) break;
    do {
      if (--budget_ < 0) return chain;
      const int tag = dwarf_tag(&die);
      inside = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
                tag == DW_TAG_catch_block) &&
               dwarf_haspc(&die, address) == 1;
      if (inside && tag == DW_TAG_inlined_subroutine) chain.push_back(die);
    } while (!inside && dwarf_siblingof(&die, &die) == 0);
    if (!inside) break;
    scope = die;
  }
  return chain;
}

DwarfFrames::Position DwarfFrames::line_at(Unit& unit, Dwarf_Addr address) {
  Position position;
  Dwarf_Line* line = dwarf_getsrc_die(&unit.lines, address);
  if (line == nullptr) return position;
  int number = 0;
  if (dwarf_lineno(line, &number) == 0) position.line = natural(number);
  if (dwarf_linecol(line, &number) == 0) position.column = natural(number);
  position.file = full_path(unit.folder, dwarf_linesrc(line, nullptr, nullptr));
  return position;
}

DwarfFrames::Position DwarfFrames::call_position(const Unit& unit, Dwarf_Die& inlined) {
  Position position;
  position.line = number_of(inlined, DW_AT_call_line);
  position.column = number_of(inlined, DW_AT_call_column);
  if (unit.files != nullptr) {
    position.file =
        full_path(unit.folder, dwarf_filesrc(unit.files, number_of(inlined, DW_AT_call_file), nullptr, nullptr));
  }
  return position;
}

}  // namespace synctrace
