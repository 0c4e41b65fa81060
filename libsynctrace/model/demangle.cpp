// SPDX-License-Identifier: Apache-2.0
#include "model/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

namespace synctrace {
namespace {

using Size = std::uint64_t;

constexpr std::size_t kLongestMangled = 4096;  // the demangler's stack grows with the name
constexpr int kFewReferences = 32;             // three of them at most triple a name: no need to measure
constexpr Size kWord = 96;                     // a builtin type, an operator, an abbreviation of the standard library
constexpr Size kTooLong = std::numeric_limits<Size>::max() / 4096;

// Sizes are upper bounds. Parts that can be referred to are numbered as the grammar says; what it does not know, it
// refuses.
class Ruler {
 public:
  explicit Ruler(std::string_view text) : text_(text) {}

  Size measure() {
    if (!skip("_Z")) return kTooLong;
    Size size = name();
    while (!failed_ && at_ < text_.size() && text_[at_] != '.') size += type() + 2;  // parameters; ".suffix" of a clone
    return failed_ ? kTooLong : std::min(size + text_.size(), kTooLong);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool skip(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  Size fail() {
    failed_ = true;
    return kTooLong;
  }
  // A part that may be referred to.
  Size numbered(Size size) {
    parts_.push_back(size);
    return capped(size);
  }
  Size capped(Size size) {
    if (size > kLongestWords) failed_ = true;
    return std::min(size, kTooLong);
  }

  Size source_name() {
    std::size_t length = 0;
    while (is_digit(peek()) && length < text_.size())
      length = length * 10 + static_cast<std::size_t>(text_[at_++] - '0');
    if (length == 0 || length > text_.size() - at_) return fail();
    at_ += length;
    return length + kWord;  // "(anonymous namespace)" is longer than what stands for it
  }

  // S_, S0_, SZ_, S10_: or one of the standard library's abbreviations.
  Size reference() {
    ++at_;
    if (peek() >= 'a' && peek() <= 'z') return ++at_, kWord;
    std::size_t number = 0;
    if (peek() != '_') {
      for (; is_digit(peek()) || (peek() >= 'A' && peek() <= 'Z'); ++at_) {
        number = std::min<std::size_t>(
            number * 36 + static_cast<std::size_t>(is_digit(peek()) ? peek() - '0' : peek() - 'A' + 10), 1U << 16);
      }
      ++number;
    }
    if (!skip("_")) return fail();
    return number < parts_.size() ? parts_[number] : fail();
  }

  Size template_parameter() {
    ++at_;
    while (is_digit(peek()) || (peek() >= 'A' && peek() <= 'Z')) ++at_;
    return skip("_") ? longest_argument_ + kWord : fail();
  }

  Size template_arguments() {
    ++at_;  // I or J
    Size size = 4;
    while (!failed_ && peek() != 'E' && peek() != '\0') {
      Size one = 2;
      if (peek() == 'L')
        one += literal();
      else if (peek() == 'J' || peek() == 'I')
        one += template_arguments();
      else
        one += type();
      longest_argument_ = std::max(longest_argument_, one);
      size = capped(size + one);
    }
    return skip("E") ? size : fail();
  }

  Size literal() {
    ++at_;
    if (peek() == '_') return fail();
    Size size = type() + 4;
    while (peek() != 'E' && peek() != '\0') ++at_, ++size;
    return skip("E") ? size : fail();
  }

  // N ... E: of each prefix it is known that it can be referred to as soon as another part follows.
  Size nested_name() {
    ++at_;
    while (peek() == 'r' || peek() == 'V' || peek() == 'K' || peek() == 'R' || peek() == 'O') ++at_;
    Size size = 0;
    bool is_new = false;
    for (bool first = true; !failed_ && peek() != 'E' && peek() != '\0'; first = false) {
      if (is_new) numbered(size);
      is_new = true;
      if (first && peek() == 'S') {
        size += reference();
        is_new = false;
      } else if (first && peek() == 'T') {
        size += template_parameter();
      } else if (peek() == 'I') {
        size += template_arguments();
      } else if (is_digit(peek()) || (peek() == 'L' && is_digit(peek(1)))) {
        skip("L");
        size += source_name() + 2;
      } else if (peek() >= 'a' && peek() <= 'z' && peek(1) >= 'a' && peek(1) <= 'z') {
        at_ += 2;  // an operator
        if (text_.substr(at_ - 2, 2) == "cv") return fail();
        size += kWord;
      } else {
        return fail();
      }
      size = capped(size);
    }
    return skip("E") ? size : fail();
  }

  Size name() {
    if (peek() == 'N') return nested_name();
    Size size = 0;
    const bool is_known = peek() == 'S' && peek(1) != 't';
    if (peek() == 'S') {
      size += reference();
      if (!is_known) size += source_name();
    } else if (is_digit(peek())) {
      size += source_name();
    } else {
      return fail();
    }
    if (peek() == 'I') {
      if (!is_known) numbered(size);
      size += template_arguments();
    }
    return capped(size);
  }

  Size type() {
    if (++depth_ > 256) return fail();
    const Size size = type_inside();
    --depth_;
    return size;
  }

  Size type_inside() {
    switch (const char c = peek()) {
      case 'r':
      case 'V':
      case 'K':
        while (peek() == 'r' || peek() == 'V' || peek() == 'K') ++at_;
        return numbered(type() + 24);
      case 'P':
      case 'R':
      case 'O': ++at_; return numbered(type() + 4);
      case 'A':
        ++at_;
        while (is_digit(peek())) ++at_;
        return skip("_") ? numbered(type() + 24) : fail();
      case 'N': return numbered(nested_name());
      case 'T': {
        Size size = numbered(template_parameter());
        if (peek() == 'I') size = numbered(size + template_arguments());
        return size;
      }
      case 'S': {
        const bool in_std = peek(1) == 't';
        Size size = reference();
        if (in_std) size = numbered(size + source_name());
        if (peek() == 'I') size = numbered(size + template_arguments());
        return size;
      }
      case 'D':
        if (peek(1) == 'p') return fail();
        at_ += 2;
        return at_ <= text_.size() && text_[at_ - 1] >= 'a' && text_[at_ - 1] != 't' ? kWord : fail();
      default:
        if (is_digit(c)) {
          Size size = numbered(source_name());
          if (peek() == 'I') size = numbered(size + template_arguments());
          return size;
        }
        if (c < 'a' || c > 'z' || c == 'u') return fail();
        ++at_;
        return kWord;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
  Size longest_argument_ = 0;
  std::vector<Size> parts_;  // by number
};

int references_in(std::string_view mangled) {
  int references = 0;
  for (std::size_t i = 0; i + 1 < mangled.size(); ++i) {
    const char next = mangled[i + 1];
    const bool numbered = next == '_' || (next >= '0' && next <= '9') || (next >= 'A' && next <= 'Z');
    if ((mangled[i] == 'S' || mangled[i] == 'T') && numbered) ++references;
  }
  return references;
}

}  // namespace

std::uint64_t measure_words(std::string_view mangled) { return Ruler(mangled).measure(); }

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kLongestMangled) return name;
  if (references_in(name) > kFewReferences && measure_words(name) > kLongestWords) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> words(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                          &std::free);
  return status == 0 && words != nullptr ? std::string(words.get()) : name;
}

}  // namespace synctrace
