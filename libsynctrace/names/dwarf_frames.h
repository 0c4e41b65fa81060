// SPDX-License-Identifier: Apache-2.0
// Debugging information of one module -> source position of an address and the functions inlined there.
//
// Functions are indexed per compilation unit on first use, and the tree of scopes is walked here rather than by libdw's
// dwarf_getscopes, which reads the whole unit again for every address and has no limit on damaged input.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "model/frames.h"

namespace synctrace {

class DwarfFrames {
 public:
  // `module` must outlive the object. Its debugging information is looked for on the first question.
  explicit DwarfFrames(Dwfl_Module* module) : module_(module) {}

  // Innermost first, each but the last inlined into the next; function names may be empty. None when nothing is known.
  std::vector<ResolvedFrame> frames_at(std::uint64_t address);

 private:
  struct Function {
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    Dwarf_Die die{};
  };
  struct UnitRange {
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    Dwarf_Die unit{};
  };
  struct Unit {
    Dwarf_Die lines{};   // owner of the line table
    Dwarf_Die scopes{};  // owner of the functions: another one where the information is split off
    Dwarf_Files* files = nullptr;
    std::string folder;
    std::vector<Function> functions;  // sorted
  };
  struct Position {
    std::string file;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
  };

  Dwarf_Die* find_unit(Dwarf_Addr address, Dwarf_Addr& bias);
  void index_units();
  Unit& unit_of(Dwarf_Die die);
  void index_functions(Dwarf_Die parent, Unit& unit, int depth);
  std::vector<Dwarf_Die> inlined_at(Dwarf_Die function, Dwarf_Addr address);
  Position line_at(Unit& unit, Dwarf_Addr address);
  Position call_position(const Unit& unit, Dwarf_Die& inlined);

  Dwfl_Module* module_;
  std::unordered_map<void*, Unit> units_;  // by address of the unit's entry
  std::vector<UnitRange> unit_ranges_;     // only where the file has no address table of its own
  Dwarf_Addr unit_bias_ = 0;
  bool units_indexed_ = false;
  std::int64_t budget_ = 200'000'000;  // entries that may still be read: damaged files can go in circles
};

}  // namespace synctrace
