// SPDX-License-Identifier: Apache-2.0
// Addresses in libraries and programs -> function, file, line and the chain of inlined functions, read offline from the
// files on disk (elfutils). Never a guess: a name is given only to an address inside that symbol's size, so libraries
// with few exported names (NVIDIA's) show module+0xoffset instead of a neighbour's name; and a file that is not the one
// that ran, by its build-id, is not used at all. A module without a build-id is opened only where `roots` allow it.
//
// One thread at a time. Total on hostile files: what cannot be used is counted, with a sentence, and leaves the
// addresses unnamed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/source_roots.h"
#include "model/frames.h"
#include "model/load_stats.h"

namespace synctrace {

// A file that was mapped into the process under test.
struct NativeModule {
  std::string path;
  std::string build_id;         // lower-case hexadecimal; empty: not known
  std::uint64_t load_bias = 0;  // absolute address - address in the file
  std::uint64_t begin = 0;      // absolute addresses [begin, end) of the executable mapping
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;  // where `begin` is in the file
};

// An absolute address as the module's own (an ELF virtual address).
inline std::uint64_t module_address(const NativeModule& module, std::uint64_t absolute) noexcept {
  return absolute - module.load_bias;
}

struct NativeAddress {
  std::uint64_t address = 0;       // ELF virtual address
  bool is_return_address = false;  // where a caller goes on: the call is the instruction before
};

struct SymbolizeOptions {
  bool debuginfod = false;                                // may ask the servers of DEBUGINFOD_URLS
  std::uint64_t max_file_bytes = std::uint64_t{8} << 30;  // larger files are not opened
  SourceRoots roots;                                      // for modules without a build-id
};

struct SymbolizeCounts {
  std::uint64_t addresses = 0;  // distinct ones
  std::uint64_t named = 0;
  std::uint64_t with_line = 0;
};

class Symbolizer {
 public:
  explicit Symbolizer(SymbolizeOptions options = {}) : options_(std::move(options)) {}

  // The frames at each address, innermost first, in the order asked; never none: the last is the function itself, the
  // ones before are inlined into it. The file is opened once for the call, so ask for all addresses of a module
  // together. While it runs and debuginfod is off, DEBUGINFOD_URLS is absent from the environment of this process.
  std::vector<std::vector<ResolvedFrame>> resolve(const NativeModule& module, std::span<const NativeAddress> addresses);

  // Under the names kLossSymbols... of load_stats.h, each once per module.
  const LoadStats& losses() const noexcept { return losses_; }
  const SymbolizeCounts& counts() const noexcept { return counts_; }

 private:
  void lose(std::string_view name, const NativeModule& module);

  SymbolizeOptions options_;
  LoadStats losses_;
  SymbolizeCounts counts_;
};

// Whether it is worth a search: a file is there that may be opened and looks like a program. Otherwise its loss is
// counted. Reads four bytes and never waits.
bool can_be_opened(const NativeModule& module, const SymbolizeOptions& options, LoadStats& losses);

}  // namespace synctrace
