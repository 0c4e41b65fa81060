// SPDX-License-Identifier: Apache-2.0
// Reads what a program prints: the figures that the user named by a pattern, and its last lines.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace synctrace {

// A regular expression as JavaScript has them. Its first group is what counts, or else all of the match.
class OutputPattern {
 public:
  static Result<OutputPattern> make(const std::string& text, const std::string& option);

  const std::string& text() const noexcept { return text_; }
  std::optional<std::string> in(const std::string& line) const;

 private:
  struct Compiled;
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

// The number that the text begins with, behind blanks.
std::optional<double> number_of(std::string_view text) noexcept;

class ProgramOutput {
 public:
  // Null: not asked for. Both must outlive the object.
  ProgramOutput(const OutputPattern* step, const OutputPattern* same) : step_(step), same_(same) {}

  // Bytes of one of the program's two streams, as they come.
  void take(std::size_t stream, std::string_view bytes);
  void end();  // there are no more: a last line may have no end

  // The middle one of the values, without the first fifth of them; nothing where no positive number was printed.
  std::optional<double> step() const;
  const std::string& same() const noexcept { return last_same_; }  // empty: nothing matched
  std::vector<std::string> last_lines() const { return {lines_.begin(), lines_.end()}; }

 private:
  void take_line(const std::string& line);

  const OutputPattern* step_;
  const OutputPattern* same_;
  std::string open_[2];
  std::vector<double> steps_;
  std::string last_same_;
  std::deque<std::string> lines_;
};

// Whether both say the same: as texts, or as numbers that differ by no more than `tolerance` of the first.
bool are_alike(const std::string& before, const std::string& after, double tolerance);

}  // namespace synctrace
