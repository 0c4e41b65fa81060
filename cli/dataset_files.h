// SPDX-License-Identifier: Apache-2.0
// The files of a dataset of `rollup`, for the verbs that read one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace::cli {

inline constexpr std::uint64_t kMostTableBytes = std::uint64_t{1} << 30;  // of one recording

// The files below DATASET/TABLE, by name.
std::vector<std::string> files_of_table(const std::string& dataset, std::string_view table);

}  // namespace synctrace::cli
