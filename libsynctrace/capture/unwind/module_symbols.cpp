// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/module_symbols.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "capture/process/copy_memory.h"

namespace synctrace::capture {
namespace {

constexpr std::size_t kMaxEntries = 128;  // in the dynamic section; linkers make some 40
constexpr std::uint32_t kMaxChain = 4096;
constexpr std::size_t kMaxName = 128;

std::uint32_t gnu_hash(const char* name) noexcept {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

}  // namespace

// The loader turns these values into addresses, unless the section cannot be written; before that they are relative.
std::uintptr_t ModuleSymbols::address_of(std::uint64_t value) const noexcept {
  const bool is_address = value >= module_->begin && value < module_->end;
  const std::uintptr_t address = is_address ? value : value + module_->bias;
  return address >= module_->begin && address < module_->end ? address : 0;
}

bool ModuleSymbols::open(const ModuleImage& module) noexcept {
  *this = {};
  module_ = &module;
  std::array<ElfW(Dyn), kMaxEntries> entries;
  const std::size_t bytes = std::min(module.dynamic_section_bytes, sizeof(entries));
  if (module.dynamic_section == 0 || !copy_memory(module.dynamic_section, entries.data(), bytes)) return false;
  std::uintptr_t hash = 0;
  for (std::size_t i = 0; i < bytes / sizeof(ElfW(Dyn)) && entries[i].d_tag != DT_NULL; ++i) {
    if (entries[i].d_tag == DT_SYMTAB) symbols_ = address_of(entries[i].d_un.d_ptr);
    if (entries[i].d_tag == DT_STRTAB) names_ = address_of(entries[i].d_un.d_ptr);
    if (entries[i].d_tag == DT_GNU_HASH) hash = address_of(entries[i].d_un.d_ptr);
  }
  std::array<std::uint32_t, 4> head{};  // buckets, first symbol, words of the Bloom filter, its shift
  if (symbols_ == 0 || names_ == 0 || hash == 0 || !copy_value(hash, head)) return false;
  const std::uint64_t all = module.end - module.begin;
  bucket_count_ = head[0];
  first_symbol_ = head[1];
  if (bucket_count_ == 0 || bucket_count_ > all / 4 || head[2] > all / 8) return false;
  buckets_ = hash + sizeof(head) + std::uintptr_t{head[2]} * sizeof(ElfW(Addr));
  chains_ = buckets_ + std::uintptr_t{bucket_count_} * 4;
  return true;
}

bool ModuleSymbols::is_named(std::uint32_t name_at, const char* name) const noexcept {
  std::array<char, kMaxName> text{};
  const std::size_t bytes = std::strlen(name) + 1;
  return bytes <= text.size() && copy_memory(names_ + name_at, text.data(), bytes) &&
         std::memcmp(text.data(), name, bytes) == 0;
}

bool ModuleSymbols::find(const char* name, Symbol& symbol) const noexcept {
  if (buckets_ == 0) return false;
  const std::uint32_t hash = gnu_hash(name);
  std::uint32_t index = 0;
  if (!copy_value(buckets_ + std::uintptr_t{hash % bucket_count_} * 4, index) || index < first_symbol_) return false;
  for (std::uint32_t looks = 0; looks < kMaxChain; ++looks, ++index) {
    std::uint32_t link = 0;
    if (!copy_value(chains_ + std::uintptr_t{index - first_symbol_} * 4, link)) return false;
    ElfW(Sym) found{};
    if ((link | 1U) == (hash | 1U) && copy_value(symbols_ + std::uintptr_t{index} * sizeof(found), found) &&
        found.st_shndx != SHN_UNDEF && is_named(found.st_name, name)) {
      const auto type = found.st_info & 0xfU;
      symbol = {module_->bias + found.st_value, found.st_size};
      return type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE;
    }
    if ((link & 1U) != 0) return false;
  }
  return false;
}

}  // namespace synctrace::capture
