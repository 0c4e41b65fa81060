// SPDX-License-Identifier: Apache-2.0
// What a loaded module exports, by its own hash table (DT_GNU_HASH, which every linker has written since 2006), read
// through the kernel. dlsym would wait for the loader's lock, which a program holds for as long as a constructor runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capture/unwind/module_image.h"

namespace synctrace::capture {

class ModuleSymbols {
 public:
  struct Symbol {
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
  };

  // False when the module has no such table, or is being unmapped. `module` must live as long as this does.
  bool open(const ModuleImage& module) noexcept;

  // A function or variable that the module defines; versions are not looked at. Off the event path.
  bool find(const char* name, Symbol& symbol) const noexcept;

 private:
  bool is_named(std::uint32_t name_at, const char* name) const noexcept;
  std::uintptr_t address_of(std::uint64_t value) const noexcept;

  const ModuleImage* module_ = nullptr;
  std::uintptr_t symbols_ = 0;
  std::uintptr_t names_ = 0;
  std::uintptr_t buckets_ = 0;
  std::uintptr_t chains_ = 0;
  std::uint32_t bucket_count_ = 0;
  std::uint32_t first_symbol_ = 0;  // the symbols before it are not hashed
};

}  // namespace synctrace::capture
