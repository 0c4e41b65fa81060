// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/read_words.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "base/format_text.h"

namespace synctrace {
namespace {

using Lines = std::vector<SourceLine>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "loss" of "total += loss.item()"; empty where no name stands before the call.
std::string name_before(const std::string& source, std::string_view call) {
  const std::size_t end = source.find(call);
  if (end == std::string::npos) return {};
  std::size_t begin = end;
  while (begin > 0 && is_word(source[begin - 1])) --begin;
  const bool is_whole = begin == 0 || source[begin - 1] != '.';
  return is_whole ? source.substr(begin, end - begin) : std::string();
}

bool is_condition(const SourceLine& where) {
  const std::string_view source = where.source;
  return source.starts_with("if ") || source.starts_with("elif ") || source.starts_with("while ") ||
         source.starts_with("assert ");
}

// A size: what is read becomes an int.
bool is_size(const SourceLine& where) {
  const std::size_t at = where.source.find("int(");
  const bool is_int = at != std::string::npos && (at == 0 || !is_word(where.source[at - 1]));
  return is_int || has_text(where, "range(");
}

// How a line reads a value: "loss" and "loss.item()" of "total += loss.item()".
struct ValueRead {
  std::string name;  // empty: no variable stands there
  std::string call;
};

ValueRead value_read(const std::string& source) {
  for (const std::string_view call : {".item()", ".tolist()", ".cpu()", ".numpy()", ".get()"}) {
    const std::string name = name_before(source, call);
    if (!name.empty()) return {name, std::string(call)};
    if (source.find(call) != std::string::npos) return {{}, std::string(call)};
  }
  for (const std::string_view call : {"float(", "bool(", "int("}) {
    const std::size_t at = source.find(call);
    if (at == std::string::npos || (at > 0 && is_word(source[at - 1]))) continue;
    const std::size_t begin = at + call.size();
    std::size_t end = begin;
    while (end < source.size() && is_word(source[end])) ++end;
    const bool is_name = end > begin && end < source.size() && source[end] == ')';
    return {is_name ? source.substr(begin, end - begin) : std::string(), std::string(call) + ")"};
  }
  return {};
}

// The variables that lines read, "loss" and "mse", each once; nothing where one of the reads has no name.
std::vector<std::string> names_read(const Lines& lines) {
  std::vector<std::string> names;
  for (const SourceLine& each : lines) {
    std::size_t from = 0;
    for (std::size_t at = each.source.find(".item()"); at != std::string::npos;
         at = each.source.find(".item()", from)) {
      std::string name = name_before(each.source.substr(from), ".item()");
      if (name.empty()) return {};
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
      from = at + 1;
    }
  }
  return names;
}

constexpr std::size_t kMostNames = 6;

// "torch.stack((loss, mse)).tolist()"; empty where there are not several.
std::string one_read(const Lines& lines) {
  const std::vector<std::string> names = names_read(lines);
  if (names.size() < 2 || names.size() > kMostNames) return {};
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return format_text("torch.stack(({})).tolist()", list);
}

bool is_loop_test(const SourceLine& where) { return where.source.starts_with("while "); }

std::string value_name(const Lines& lines) {
  std::string name = lines.size() == 1 ? value_read(lines.front().source).name : std::string();
  if (!name.empty()) return name;
  return lines.size() == 1 ? "the value" : "the values";
}

// Not ".item() of the step before": its copy is in the stream behind the newest kernels, and waits for them, too.
RemedyWords read_later_torch(const Lines& lines) {
  if (std::all_of(lines.begin(), lines.end(), is_loop_test)) {
    return {"Test " + value_name(lines) + " every 20 iterations",
            {"count the iterations; evaluate the condition of the while in each 20th, not in each",
             "(the loop may run up to 19 iterations longer)"}};
  }
  RemedyWords words{"Read " + value_name(lines) + " every 50 steps", {}};
  const ValueRead read = value_read(lines.front().source);
  const bool reads = std::any_of(lines.begin(), lines.end(), [](const SourceLine& each) {
    return !is_condition(each) && !is_size(each) && !has_text(each, "print(");
  });
  if (reads) {
    const std::string call = read.call.empty() ? ".item()" : read.call;
    words.to_type.push_back(format_text("keep {}; call {} every 50 steps, not in each",
                                        read.name.empty() ? "the tensor" : read.name + ".detach()", call));
  }
  if (const std::string all = one_read(lines); !all.empty())
    words.to_type.push_back("or, in each step, one read for all at its end: " + all);
  const auto size = std::find_if(lines.begin(), lines.end(), is_size);
  if (size != lines.end()) words.to_type.emplace_back("use a fixed upper bound in place of a size read from the GPU");
  if (std::any_of(lines.begin(), lines.end(), is_condition))
    words.to_type.emplace_back("replace `if tensor:` by torch.where(tensor, a, b), or test it every 50 steps");
  if (any_has_text(lines, "print(")) words.to_type.emplace_back("print the tensor every 50 steps, not in each");
  return words;
}

std::string kept_array(const Lines& lines) {
  const std::string name = lines.size() == 1 ? value_read(lines.front().source).name : std::string();
  return name.empty() ? "the array" : name;
}

}  // namespace

RemedyWords read_later(Framework framework, const Lines& lines) {
  switch (framework) {
    case Framework::kPyTorch: return read_later_torch(lines);
    case Framework::kJax:
      return {
          "Read " + value_name(lines) + " one step later",
          {format_text("keep {}; call float() on the one of the step before, or every 50 steps", kept_array(lines))}};
    case Framework::kCupy:
      if (std::all_of(lines.begin(), lines.end(), is_condition)) {
        return {"Test the value every 10 iterations",
                {"count the iterations; read the value in each 10th, not in each",
                 "(the loop may run up to 9 iterations longer)"}};
      }
      return {"Read " + value_name(lines) + " every 50 steps",
              {format_text("keep {}; call float() or .get() every 50 steps, not in each", kept_array(lines))}};
    case Framework::kCuda: break;
  }
  return {"Read the value one step later",
          {"cudaMemcpyAsync to pinned memory, cudaEventRecord(done, stream); read it in the next step"}};
}

}  // namespace synctrace
