// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/fingerprint.h"

#include <filesystem>

#include "base/digest.h"

namespace synctrace {
namespace {

namespace fs = std::filesystem;

Digest digest_of(const Fingerprint& print) {
  Digest digest;
  for (const std::string* part : {&print.rule, &print.file, &print.function, &print.text_hash}) digest.add(*part);
  digest.add(std::to_string(print.ordinal));
  return digest;
}

// The rest of `path` below `folder`; empty when it lies elsewhere.
std::string below(const std::string& path, std::string folder) {
  if (folder.empty()) return {};
  if (folder.back() != '/') folder += '/';
  return path.size() > folder.size() && path.starts_with(folder) ? path.substr(folder.size()) : std::string();
}

}  // namespace

std::uint64_t Fingerprint::number() const { return digest_of(*this).number(); }

std::string Fingerprint::digest() const { return digest_of(*this).hex(); }

std::string line_text_hash(std::string_view line_text) {
  std::string plain;
  for (const char c : line_text) {
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') plain += c;
  }
  Digest digest;
  digest.add(plain);
  return digest.hex();
}

std::string repository_path(std::string_view file, std::string_view working_folder, const std::string& root) {
  if (file.empty() || file.front() == '<') return std::string(file);
  fs::path whole(file);
  if (whole.is_relative()) whole = fs::path(working_folder) / whole;
  std::string path = whole.lexically_normal().generic_string();
  if (std::string inside = below(path, root); !inside.empty()) return inside;
  const std::string folder = fs::path(working_folder).lexically_normal().generic_string();
  if (std::string inside = below(path, folder); !inside.empty()) return inside;
  return path;
}

}  // namespace synctrace
