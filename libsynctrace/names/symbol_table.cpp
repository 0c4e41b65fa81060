// SPDX-License-Identifier: Apache-2.0
#include "names/symbol_table.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <tuple>

namespace synctrace {
namespace {

constexpr int kMostSymbols = 16'000'000;
constexpr int kMostSteps = 64;  // back through nested symbols: real files nest two or three deep

// What is handed to the demangler. It has no limit of its own: its stack grows with the name, and its result threefold
// with every three references of a name back to its own parts.
constexpr std::size_t kLongestAccepted = 2048;
constexpr int kMostReferences = 40;

bool is_function(const GElf_Sym& symbol) noexcept {
  const int type = GELF_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) && symbol.st_size > 0;
}

// A function with several names shows the one that its users call it by: "read", not "__GI___libc_read".
int rank_of(const GElf_Sym& symbol, const char* name) noexcept {
  const int binding = GELF_ST_BIND(symbol.st_info);
  const int visible = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
  const bool mangled = std::strncmp(name, "_Z", 2) == 0;
  const int underscores = mangled || name[0] != '_' ? 0 : name[1] == '_' ? 2 : 1;
  return underscores * 4 + visible;
}

// Whether the name is short in words too. References look like S_, S0_, T_ and T0_.
bool is_harmless(std::string_view mangled) noexcept {
  int references = 0;
  for (std::size_t i = 0; i + 1 < mangled.size(); ++i) {
    const char next = mangled[i + 1];
    const bool numbered = next == '_' || (next >= '0' && next <= '9') || (next >= 'A' && next <= 'Z');
    if ((mangled[i] == 'S' || mangled[i] == 'T') && numbered) ++references;
  }
  return mangled.size() <= kLongestAccepted && references <= kMostReferences;
}

}  // namespace

SymbolTable::SymbolTable(Dwfl_Module* module) {
  const int count = std::clamp(dwfl_module_getsymtab(module), 0, kMostSymbols);
  for (int i = 1; i < count; ++i) {
    GElf_Sym symbol{};
    GElf_Addr address = 0;
    GElf_Word section = 0;
    const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
    if (name == nullptr || name[0] == '\0' || section == SHN_UNDEF || !is_function(symbol)) continue;
    if (symbol.st_size > std::numeric_limits<std::uint64_t>::max() - address) continue;
    symbols_.push_back({address, address + symbol.st_size, 0, rank_of(symbol, name), name});
  }
  // Best name last among equals: a search from behind meets it first; larger symbols come before what they enclose.
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    const auto key = std::tie(a.begin, b.end, b.rank);
    const auto other = std::tie(b.begin, a.end, a.rank);
    return key != other ? key < other : std::strcmp(a.name, b.name) > 0;
  });
  std::uint64_t latest_end = 0;
  for (Symbol& symbol : symbols_) symbol.latest_end = latest_end = std::max(latest_end, symbol.end);
}

const char* SymbolTable::name_at(std::uint64_t address) const noexcept {
  const auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                      [](std::uint64_t value, const Symbol& symbol) { return value < symbol.begin; });
  int steps = 0;
  for (auto symbol = after; symbol != symbols_.begin() && steps < kMostSteps; ++steps) {
    --symbol;
    if (symbol->end > address) return symbol->name;
    if (symbol->latest_end <= address) return nullptr;
  }
  return nullptr;
}

std::string demangled(const char* name) {
  const std::string_view text(name, ::strnlen(name, kLongestName));
  if (text.substr(0, 2) != "_Z" || !is_harmless(text)) return std::string(text);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> words(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                          &std::free);
  if (status != 0 || !words) return std::string(text);
  return std::string(words.get(), ::strnlen(words.get(), kLongestName));
}

}  // namespace synctrace
