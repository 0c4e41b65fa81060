// SPDX-License-Identifier: Apache-2.0
// The files of a dataset of `rollup`, for the verbs that read one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace::cli {

inline constexpr std::uint64_t kMostTableBytes = std::uint64_t{512} << 20;  // for one recording

struct TableFiles {
  std::vector<std::string> files;       // by name
  std::vector<std::string> unreadable;  // a sentence for each folder that could not be read
};

// The files below DATASET/TABLE. Links are followed, and what several of them lead to is taken once.
TableFiles files_of_table(const std::string& dataset, std::string_view table);

}  // namespace synctrace::cli
