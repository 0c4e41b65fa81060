// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/break_words.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "code/compiler_code.h"

namespace synctrace {
namespace {

// The source without its reads, "scale = x.abs().max()"; empty where it has none.
std::string without_reads(std::string source) {
  bool any = false;
  for (const std::string_view call : {".item()", ".tolist()", ".cpu()", ".numpy()"}) {
    for (std::size_t at = source.find(call); at != std::string::npos; at = source.find(call, at)) {
      source.erase(at, call.size());
      any = true;
    }
  }
  return any ? source : std::string();
}

std::string to_type_at(const SourceLine& where) {
  const std::string& source = where.source;
  if (source.starts_with("if ") || source.starts_with("elif ") || source.starts_with("while ") ||
      source.starts_with("assert "))
    return "torch.where(condition, a, b) in place of a branch; delete an assert";
  if (source.find("print(") != std::string::npos) return "delete the print, or print after the model was called";
  if (const std::string kept = without_reads(source); !kept.empty()) return kept;
  return "delete " + source + ", or call it outside of the compiled model";
}

// A line that says nothing: the function's own, where only the part behind the break is known.
bool is_known(const SourceLine& where) {
  return !where.source.empty() && !where.source.starts_with("def ") && !where.source.starts_with("async def ");
}

}  // namespace

bool breaks_graph(const SourceLine& where) {
  const auto has = [&](std::string_view file, std::string_view function) {
    return std::any_of(where.stack.begin(), where.stack.end(), [&](const ShownFrame& each) {
      return each.frame.file.find(file) != std::string::npos && each.frame.function.find(function) != std::string::npos;
    });
  };
  const bool compiles = std::any_of(where.stack.begin(), where.stack.end(), [](const ShownFrame& each) {
    return is_compiler_code(each.frame.file, each.frame.function);
  });
  return has("/torch/_dynamo/eval_frame.py", "compile_wrapper") && !has("torchinductor_", "") && !compiles;
}

RemedyWords one_graph(const std::vector<SourceLine>& lines) {
  RemedyWords words{"Keep the compiled model in one graph", {}};
  const auto known = std::find_if(lines.begin(), lines.end(), is_known);
  if (known == lines.end()) {
    words.to_type.emplace_back("TORCH_LOGS=graph_breaks names the lines that break it");
    return words;
  }
  words.to_type.push_back(to_type_at(*known));
  words.to_type.emplace_back(without_reads(known->source).empty() ? "TORCH_LOGS=graph_breaks says why it breaks there"
                                                                  : "(it stays a tensor: read it after the step)");
  return words;
}

}  // namespace synctrace
