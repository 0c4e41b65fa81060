// SPDX-License-Identifier: Apache-2.0
// What a finding is known by from one recording to the next: a baseline, code hosts and a fleet's tables mean the same
// line by it. It is told by what a line says, not by its number: an edit above it changes nothing, and a second such
// line in the same function is a new one.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace synctrace {

struct Fingerprint {
  std::string rule;
  std::string file;  // repository_path()
  std::string function;
  std::string text_hash;      // the hash of the line, or of the call where the line is not known
  std::uint32_t ordinal = 1;  // among equal lines of the function, from above

  // The same on every machine.
  std::uint64_t number() const;
  std::string digest() const;  // sixteen hexadecimal digits
  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

// White space does not count.
std::string line_text_hash(std::string_view line_text);

// The path of a file of the program as it is written in the repository, with '/'. `root`: of the repository, absolute
// and without a '/' at its end; empty: not known. What lies elsewhere keeps its path: if the program ran in another
// checkout, from its working folder on.
std::string repository_path(std::string_view file, std::string_view working_folder, const std::string& root);

}  // namespace synctrace
