// SPDX-License-Identifier: Apache-2.0
#include "base/name_text.h"

#include <algorithm>
#include <cstddef>

namespace synctrace {

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

std::string defined_name(std::string_view function) {
  constexpr std::string_view kLocals = ".<locals>.";
  std::string name = function_text(function);
  std::size_t at = name.rfind(kLocals);
  for (; at != std::string::npos && name.ends_with('>'); at = name.rfind(kLocals)) name.resize(at);
  return at == std::string::npos ? name : name.substr(at + kLocals.size());
}

std::string short_function_text(std::string_view function, std::size_t columns) {
  std::string name = function_text(function);
  if (name.size() <= columns) return name;
  constexpr std::string_view kLeftOut = "..";
  // From the first part on with which it fits; of a last part that is too long itself, the begin.
  const std::size_t part = name.find("::", name.size() - columns + kLeftOut.size());
  if (part != std::string::npos) return std::string(kLeftOut).append(name, part);
  std::size_t end = columns - kLeftOut.size();
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;  // not inside of a character
  return name.substr(0, end).append(kLeftOut);
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

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:@%,=";
  if (text.find_first_not_of(kPlain) == std::string::npos) return std::string(text);
  std::string quoted = "'";
  for (const char character : text) quoted += character == '\'' ? "'\\''" : std::string(1, character);
  return quoted + "'";
}

}  // namespace synctrace
