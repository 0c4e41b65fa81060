// SPDX-License-Identifier: Apache-2.0
// The functions of one ELF file by address: from .symtab, else .gnu_debugdata and .dynsym, whichever libdwfl finds.
// Kept sorted, because libdwfl itself looks at every symbol for every address.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <elfutils/libdwfl.h>

namespace synctrace {

class SymbolTable {
 public:
  // Names stay those of `module`, which must outlive the table.
  explicit SymbolTable(Dwfl_Module* module);

  // The mangled name of the innermost symbol that spans the address; null when none does.
  const char* name_at(std::uint64_t address) const noexcept;

 private:
  struct Symbol {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t latest_end = 0;  // the latest end of this and all symbols before
    int rank = 0;                  // among names of the same address: lower is better
    const char* name = nullptr;
  };
  std::vector<Symbol> symbols_;
};

// A C++ name in words; any other name as it is, cut at kLongestName bytes.
std::string demangled(const char* name);
inline constexpr std::size_t kLongestName = 4096;

}  // namespace synctrace
