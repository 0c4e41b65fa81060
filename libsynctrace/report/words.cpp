// SPDX-License-Identifier: Apache-2.0
#include "report/words.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format_text.h"

namespace synctrace {
namespace {

bool is_character_start(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

std::string_view direction_word(CopyKind kind) noexcept {
  switch (kind) {
    case CopyKind::kHostToDevice:
    case CopyKind::kHostToArray:
      return "H2D";
    case CopyKind::kDeviceToHost:
    case CopyKind::kArrayToHost:
      return "D2H";
    case CopyKind::kDeviceToDevice:
    case CopyKind::kArrayToArray:
    case CopyKind::kArrayToDevice:
    case CopyKind::kDeviceToArray:
      return "D2D";
    case CopyKind::kHostToHost:
      return "H2H";
    case CopyKind::kPeerToPeer:
      return "P2P";
    default:
      return "";
  }
}

std::string_view memory_word(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::kPageable:
      return "pageable";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kManaged:
    case MemoryKind::kManagedStatic:
      return "managed";
    case MemoryKind::kDevice:
    case MemoryKind::kDeviceStatic:
      return "device";
    case MemoryKind::kArray:
      return "array";
    default:
      return "";
  }
}

std::string_view verdict_word(SiteVerdict verdict) noexcept {
  switch (verdict) {
    case SiteVerdict::kWaits:
      return "waits";
    case SiteVerdict::kSometimes:
      return "sometimes";
    case SiteVerdict::kRedundant:
      return "redundant";
    case SiteVerdict::kOwnCopy:
      return "own copy only";
    case SiteVerdict::kNoWait:
      return "no wait";
    case SiteVerdict::kUnclear:
      return "unclear";
  }
  return "unclear";
}

std::string_view verdict_token(SiteVerdict verdict) noexcept {
  switch (verdict) {
    case SiteVerdict::kWaits:
      return "waits";
    case SiteVerdict::kSometimes:
      return "sometimes-waits";
    case SiteVerdict::kRedundant:
      return "redundant";
    case SiteVerdict::kOwnCopy:
      return "own-copy";
    case SiteVerdict::kNoWait:
      return "no-wait";
    case SiteVerdict::kUnclear:
      return "unclear";
  }
  return "unclear";
}

std::string_view host_call_word(HostCall call) noexcept {
  constexpr std::array<std::string_view, 12> kWords = {"unknown",   "condition variable",
                                                       "semaphore", "futex",
                                                       "poll",      "epoll",
                                                       "read",      "munmap",
                                                       "join",      "sleep",
                                                       "mutex",     "select"};
  const auto index = static_cast<std::size_t>(call);
  return index < kWords.size() ? kWords[index] : kWords[0];
}

std::string_view sample_state_word(format::Sample::State state) noexcept {
  switch (state) {
    case format::Sample::State::kRunning:
      return "running";
    case format::Sample::State::kRunnable:
      return "runnable";
    case format::Sample::State::kBlocked:
      return "blocked";
    case format::Sample::State::kUnknown:
      break;
  }
  return "unknown";
}

std::string call_words(const SiteCalls& calls) {
  std::string words = calls.function;
  if (!calls.direction.empty()) words += ' ' + calls.direction;
  if (!calls.memory.empty()) words += ' ' + calls.memory;
  return words;
}

std::string call_words(const CallSite& site) {
  std::string words = call_words(site.calls.front());
  if (site.calls.size() > 1) words += site.calls.front().direction.empty() ? " + copy" : " + sync";
  return words;
}

std::string duration_text(Nanoseconds ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1'000) return format_text("{} ns", ns);
  if (ns < 999'950) return format_text("{:.1f} us", value / 1e3);
  if (ns < 999'950'000) return format_text("{:.1f} ms", value / 1e6);
  return format_text("{:.3f} s", value / 1e9);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return format_text("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return format_text("{:.1f} {}", value, kUnits[unit]);
}

std::string count_text(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string share_text(Nanoseconds part, Nanoseconds whole) {
  if (whole <= 0) return "-";
  if (part == whole) return "100.0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return format_text("{:.1f} %", std::min(percent, 99.9));
}

std::string bandwidth_text(std::uint64_t bytes, Nanoseconds ns) {
  if (ns <= 0 || bytes == 0) return "-";
  return format_text("{:.1f} GB/s", static_cast<double>(bytes) / static_cast<double>(ns));
}

std::string function_text(std::string_view function) {
  // Only C++ names have parameters; any other is a name as it is.
  if (function.find('(') == std::string_view::npos) return std::string(function);
  std::string out;
  int templates = 0;
  for (std::size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    const std::string_view rest = function.substr(i);
    const bool is_operator = out.ends_with("operator") || out.ends_with("operator<") || out.ends_with("operator>") ||
                             out.ends_with("operator-");
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    if (rest.starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (rest.starts_with("operator()") || c == '{') {
      const std::size_t end = std::min(rest.find(c == '{' ? '}' : ')'), rest.size() - 1);
      if (templates == 0) out += rest.substr(0, end + 1);
      i += end;
    } else if (templates == 0 && is_operator && c != '(') {
      out += c;
    } else if (c == '<') {
      if (templates++ == 0) out += "<..>";
    } else if (c == '>' && templates > 0) {
      --templates;
    } else if (templates == 0 && c == '(') {
      break;
    } else if (templates == 0 && c == ' ') {
      if (!rest.starts_with(" <")) out.clear();  // that was the type which a template returns
    } else if (templates == 0) {
      out += c;
    }
  }
  return out.empty() ? std::string(function) : out;
}

std::string family_text(std::string_view function) {
  constexpr std::string_view kArguments = "<..>";
  std::string name = function_text(function);
  for (std::size_t at = name.find(kArguments); at != std::string::npos; at = name.find(kArguments, at)) {
    name.erase(at, kArguments.size());
  }
  return name;
}

std::string path_text(std::string_view path, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  const bool inside =
      !folder.empty() && path.size() > folder.size() + 1 && path.starts_with(folder) && path[folder.size()] == '/';
  return std::string(inside ? path.substr(folder.size() + 1) : path);
}

std::size_t columns_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_character_start));
}

std::string fitted(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t cut = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_character_start(text[i])) continue;
    if (used == columns - 2) cut = i;
    ++used;
  }
  return used <= columns ? std::string(text) : std::string(text.substr(0, cut)) + "..";
}

std::string fitted_tail(std::string_view text, std::size_t columns) {
  const std::size_t all = columns_of(text);
  if (all <= columns) return std::string(text);
  std::size_t over = all - (columns - 2);
  std::size_t cut = 0;
  while (over > 0 || !is_character_start(text[cut])) over -= is_character_start(text[cut++]) ? 1 : 0;
  return ".." + std::string(text.substr(cut));
}

}  // namespace synctrace
