// SPDX-License-Identifier: Apache-2.0
// All entries that allow a wait, of whatever origin, while a gate looks at one trace after the other; and who used
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gate/allow_list.h"

namespace synctrace {

inline constexpr std::size_t kNotAllowed = std::numeric_limits<std::size_t>::max();

class AllowBook {
 public:
  AllowBook(std::vector<AllowEntry> of_config, toml::Date today)
      : entries_(std::move(of_config)), today_(today), used_(entries_.size()) {
    of_config_ = entries_.size();
  }

  const std::vector<AllowEntry>& entries() const noexcept { return entries_; }
  std::size_t of_config() const noexcept { return of_config_; }  // the first so many
  bool is_expired(std::size_t entry) const noexcept {
    return entries_[entry].expires && *entries_[entry].expires < today_;
  }
  bool is_used(std::size_t entry) const noexcept { return used_[entry]; }
  void use(std::size_t entry) { used_[entry] = true; }

  // The first entry of the configuration that covers it and has not expired, or kNotAllowed. Marks what it would have
  // used.
  std::size_t find(const AllowQuestion& question) {
    for (std::size_t i = 0; i < of_config_; ++i) {
      if (!covers(entries_[i], question)) continue;
      used_[i] = true;
      if (!is_expired(i)) return i;
    }
    return kNotAllowed;
  }

  // An entry that a comment or a range makes; the same one each time it is met.
  std::size_t add(AllowEntry entry) {
    const auto [known, is_new] = others_.try_emplace({entry.file, entry.line}, entries_.size());
    if (is_new) {
      entries_.push_back(std::move(entry));
      used_.push_back(false);
    }
    return known->second;
  }

 private:
  std::vector<AllowEntry> entries_;
  toml::Date today_;
  std::vector<bool> used_;
  std::size_t of_config_ = 0;
  std::map<std::pair<std::string, std::uint32_t>, std::size_t> others_;
};

}  // namespace synctrace
