// SPDX-License-Identifier: Apache-2.0
// The traces of the golden folders: NAME.trace.txt, written by hand, and NAME.synctrace, recorded on a real GPU.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/trace_text.h"
#include "model/load_trace.h"
#include "support/effort.h"

namespace synctrace::testing {

struct GoldenTrace {
  std::filesystem::path path;
  std::string name;  // the file's, without the ending
};

inline std::vector<GoldenTrace> golden_traces(const std::string& folder) {
  std::vector<GoldenTrace> result;
  std::vector<std::string> parts = {"/report", "/h200", "/torch"};
  if (is_whole_effort()) parts.insert(parts.end(), {"/frameworks", "/studies"});  // large
  for (const std::string& part : parts) {
    for (const auto& entry : std::filesystem::directory_iterator(folder + part)) {
      const std::string file = entry.path().filename().string();
      for (const std::string_view ending : {".trace.txt", ".synctrace"}) {
        if (file.ends_with(ending)) result.push_back({entry.path(), file.substr(0, file.size() - ending.size())});
      }
    }
  }
  std::sort(result.begin(), result.end(), [](const GoldenTrace& a, const GoldenTrace& b) { return a.path < b.path; });
  return result;
}

// Named after its file, so that no path of the machine gets into what is made of it.
inline Trace load_golden(const GoldenTrace& golden) {
  std::ifstream file(golden.path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto* data = reinterpret_cast<const std::byte*>(content.data());
  std::vector<std::byte> bytes(data, data + content.size());
  if (golden.path.extension() == ".txt") {
    Result<std::vector<std::byte>> assembled = format::assemble_text(content, golden.path.filename().string());
    if (!assembled) throw std::runtime_error(assembled.error().message);
    bytes = std::move(assembled).value();
  }
  Result<Trace> trace = load_trace_bytes(bytes, golden.name + ".synctrace");
  if (!trace) throw std::runtime_error(trace.error().message);
  return std::move(trace).value();
}

}  // namespace synctrace::testing
