// SPDX-License-Identifier: Apache-2.0
#include "findings/libraries/library_remedy.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "findings/libraries/cupy.h"
#include "findings/libraries/huggingface.h"
#include "findings/libraries/jax.h"
#include "findings/libraries/models.h"
#include "findings/libraries/native.h"
#include "findings/libraries/torch_functions.h"
#include "findings/libraries/torch_training.h"
#include "findings/libraries/training_loops.h"
#include "findings/libraries/transformers.h"

namespace synctrace {
namespace {

// What is built on PyTorch stands before it, and in a library the special before the general: the first row that fits
// counts.
constexpr std::array<std::span<const LibraryRemedy>, 9> kLibraries = {
    {kTransformersRemedies, kHuggingFaceRemedies, kTrainingLoopsRemedies, kModelsRemedies, kJaxRemedies, kCupyRemedies,
     kNativeRemedies, kTorchTrainingRemedies, kTorchFunctionsRemedies}};

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "Trainer.train" and "train" are the function "build.<locals>.Trainer.train"; a C++ name may go on behind it.
bool is_function(std::string_view name, const ResolvedFrame& frame) {
  if (name.empty()) return true;
  const std::string_view function = frame.function;
  if (frame.kind != FrameKind::kPython) return has(function, name);
  const std::size_t before = function.size() - std::min(function.size(), name.size());
  return function.ends_with(name) && (before == 0 || function[before - 1] == '.');
}

bool is_in_function(const LibraryRemedy& row, const ResolvedFrame& frame) {
  return !row.file.empty() && (has(frame.file, row.file) || has(frame.module, row.file)) &&
         is_function(row.function, frame);
}

bool is_of(const LibraryRemedy& row, const ShownFrame& frame) {
  return is_in_function(row, frame.frame) && (row.line.empty() || has_call(frame.source, row.line));
}

// The text of a line alone does not tell whose function it calls; the program's framework does.
bool is_of_line(const LibraryRemedy& row, const SourceLine& where, std::string_view framework) {
  const bool is_other = (row.library == "torch" || row.library == "cupy") && row.library != framework;
  return !is_other && row.file.empty() && !row.line.empty() && has_call(where.source, row.line);
}

bool is_done(const LibraryRemedy& row, const SourceLine& where) {
  return !row.unless.empty() && has(where.source, row.unless);
}

// The frames inside of the call in the user's line, innermost first. What calls that line waits for nothing itself.
std::span<const ShownFrame> inside_of(const SourceLine& where) {
  std::size_t count = 0;
  while (count < where.stack.size() &&
         (where.stack[count].frame.file != where.file || where.stack[count].frame.line != where.line))
    ++count;
  return std::span(where.stack).first(count);
}

}  // namespace

bool has_call(std::string_view source, std::string_view call) {
  for (std::size_t at = source.find(call); at != std::string_view::npos; at = source.find(call, at + 1)) {
    if (!is_word(call.front()) || at == 0 || !is_word(source[at - 1])) return true;
  }
  return false;
}

std::span<const std::span<const LibraryRemedy>> library_remedies() noexcept { return kLibraries; }

const LibraryRemedy* library_remedy(const SourceLine& where, At at, std::string_view framework) {
  const auto first = [&](const auto& is_there) -> const LibraryRemedy* {
    for (const std::span<const LibraryRemedy> library : kLibraries) {
      for (const LibraryRemedy& row : library) {
        if (row.at == at && !is_done(row, where) && is_there(row)) return &row;
      }
    }
    return nullptr;
  };
  const std::span<const ShownFrame> frames = inside_of(where);
  const auto is_inside = [&](const LibraryRemedy& row) {
    const auto is_there = [&](const ShownFrame& frame) { return is_of(row, frame); };
    return std::any_of(frames.begin(), frames.end(), is_there);
  };
  if (const LibraryRemedy* row = first(is_inside)) return row;
  return first([&](const LibraryRemedy& each) { return is_of_line(each, where, framework); });
}

const LibraryRemedy* keeps_workers(const LibraryRemedy& row) {
  if (!has(row.to_type, "num_workers=N")) return nullptr;
  for (const std::span<const LibraryRemedy> library : kLibraries) {
    for (const LibraryRemedy& one : library) {
      const bool keeps = has(one.to_type, "persistent_workers=True") && !has(one.to_type, "num_workers");
      if (one.library == row.library && one.at == At::kInput && keeps) return &one;
    }
  }
  return nullptr;
}

LibraryFrame library_frame(const ResolvedFrame& frame, const std::function<std::string_view()>& source) {
  LibraryFrame found = LibraryFrame::kOther;
  for (const std::span<const LibraryRemedy> library : kLibraries) {
    for (const LibraryRemedy& row : library) {
      if (row.at == At::kLaunch || !is_in_function(row, frame)) continue;
      if (row.line.empty())
        found = row.function.empty() ? LibraryFrame::kFile : LibraryFrame::kFunction;
      else if (has_call(source(), row.line))
        return LibraryFrame::kLine;
    }
  }
  return found;
}

}  // namespace synctrace
