// SPDX-License-Identifier: Apache-2.0
#include "trial/program_output.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <regex>

namespace synctrace {
namespace {

constexpr std::size_t kLongestLine = 2'000;  // the library's search needs stack for each character of a line
constexpr std::size_t kMostLastLines = 8;
constexpr std::size_t kMostSteps = 1'000'000;
constexpr double kLeastStep = 1e-100;  // its reciprocal is a number too
constexpr double kMostStep = 1e100;

}  // namespace

struct OutputPattern::Compiled {
  std::regex regex;
};

Result<OutputPattern> OutputPattern::make(const std::string& text, const std::string& option) try {
  OutputPattern pattern;
  pattern.text_ = text;
  pattern.compiled_ = std::make_shared<Compiled>(Compiled{std::regex(text, std::regex::ECMAScript)});
  if (text.empty()) return Error{option + " is empty; give a pattern such as 'ms/step ([0-9.]+)'."};
  return pattern;
} catch (const std::regex_error& error) {
  return Error{option + " '" + text + "' is no regular expression (" + error.what() +
               "); give one such as 'ms/step ([0-9.]+)'."};
}

std::optional<std::string> OutputPattern::in(const std::string& line) const try {
  std::smatch match;
  if (!std::regex_search(line, match, compiled_->regex)) return std::nullopt;
  return match.str(match.size() > 1 ? 1 : 0);
} catch (const std::regex_error&) {  // the line is too much for it
  return std::nullopt;
}

std::optional<double> number_of(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end == text.data() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// A progress bar ends its lines by carriage returns.
void ProgramOutput::take(std::size_t stream, std::string_view bytes) {
  std::string& open = open_[stream];
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view part = bytes.substr(0, end);
    open.append(part.substr(0, kLongestLine - std::min(kLongestLine, open.size())));
    if (end == std::string_view::npos) return;
    take_line(open);
    open.clear();
    bytes.remove_prefix(end + 1);
  }
}

void ProgramOutput::end() {
  for (std::string& open : open_) {
    if (!open.empty()) take_line(open);
    open.clear();
  }
}

void ProgramOutput::take_line(const std::string& line) {
  if (line.empty()) return;
  lines_.push_back(line);
  if (lines_.size() > kMostLastLines) lines_.pop_front();
  if (step_ != nullptr && steps_.size() < kMostSteps) {
    const auto found = step_->in(line);
    const auto value = found ? number_of(*found) : std::nullopt;
    if (value && *value > kLeastStep && *value < kMostStep) steps_.push_back(*value);
  }
  if (same_ == nullptr) return;
  if (auto found = same_->in(line)) last_same_ = std::move(*found);
}

std::optional<double> ProgramOutput::step() const {
  if (steps_.empty()) return std::nullopt;
  const std::size_t warm_up = (steps_.size() + 4) / 5;
  std::vector<double> counted(steps_.begin() + static_cast<std::ptrdiff_t>(steps_.size() > 1 ? warm_up : 0),
                              steps_.end());
  std::sort(counted.begin(), counted.end());
  return counted[counted.size() / 2];
}

bool are_alike(const std::string& before, const std::string& after, double tolerance) {
  if (before == after) return true;
  const auto first = number_of(before);
  const auto second = number_of(after);
  return first && second && std::fabs(*first - *second) <= tolerance * std::fabs(*first);
}

}  // namespace synctrace
