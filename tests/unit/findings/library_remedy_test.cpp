// SPDX-License-Identifier: Apache-2.0
// A wait inside of a library is answered by the library's own switch, and by no other's.
#include "findings/libraries/library_remedy.h"

#include <set>
#include <string>

#include "library_examples/cupy.h"
#include "library_examples/huggingface.h"
#include "library_examples/jax.h"
#include "library_examples/models.h"
#include "library_examples/native.h"
#include "library_examples/torch_functions.h"
#include "library_examples/torch_training.h"
#include "library_examples/training_loops.h"
#include "library_examples/transformers.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

std::vector<LibraryExample> all_examples() {
  std::vector<LibraryExample> all;
  for (const auto* each :
       {&kHuggingFaceExamples, &kTransformersExamples, &kTrainingLoopsExamples, &kModelsExamples, &kJaxExamples,
        &kCupyExamples, &kNativeExamples, &kTorchTrainingExamples, &kTorchFunctionsExamples})
    all.insert(all.end(), each->begin(), each->end());
  return all;
}

// The first frame is the user's.
SourceLine stack_of(const LibraryExample& example) {
  SourceLine where;
  for (auto frame = example.frames.rbegin(); frame != example.frames.rend(); ++frame) {
    ShownFrame shown;
    const bool is_python = frame->file.ends_with(".py");
    shown.frame.kind = is_python ? FrameKind::kPython : FrameKind::kNative;
    shown.frame.function = frame->function;
    (frame->file.find(".so") == std::string_view::npos ? shown.frame.file : shown.frame.module) = frame->file;
    shown.frame.line = static_cast<std::uint32_t>(where.stack.size() + 10);
    shown.source = frame->source;
    where.stack.push_back(shown);
  }
  const ShownFrame user = where.stack.back();
  where.file = user.frame.file;
  where.line = user.frame.line;
  where.function = user.frame.function;
  where.source = user.source;
  return where;
}

std::string_view framework_of(const LibraryRemedy& row) { return row.library == "cupy" ? "cupy" : "torch"; }

const LibraryRemedy& row_of(std::string_view title) {
  for (const auto& library : library_remedies()) {
    for (const LibraryRemedy& row : library) {
      if (row.title == title) return row;
    }
  }
  FAIL(title);
  return library_remedies().front().front();
}

}  // namespace

TEST_CASE("each library's row is found by a stack that leads there, and by no wait of another kind") {
  std::set<std::string_view> shown;
  for (const LibraryExample& example : all_examples()) {
    INFO(example.title);
    const LibraryRemedy& row = row_of(example.title);
    const SourceLine where = stack_of(example);
    const LibraryRemedy* found = library_remedy(where, example.at, framework_of(row));
    REQUIRE(found != nullptr);
    CHECK(found->title == example.title);
    shown.insert(example.title);
    // The user's line alone, without the library's frames, is no evidence.
    SourceLine alone = where;
    alone.stack = {where.stack.back()};
    const LibraryRemedy* by_line = library_remedy(alone, example.at, framework_of(row));
    CHECK((by_line == nullptr || by_line->file.empty()));
  }
  std::size_t rows = 0;
  for (const auto& library : library_remedies()) {
    for (const LibraryRemedy& row : library) {
      INFO(row.title);
      CHECK(shown.contains(row.title));
      CHECK(!(row.versions.empty() || row.library.empty() || row.to_type.empty()));
      CHECK(row.title.size() <= 60);
      CHECK(row.to_type.size() <= 96);
      ++rows;
    }
  }
  CHECK(rows == all_examples().size());
  CHECK(rows >= 60);
}

TEST_CASE("a switch that the user's line shows already is not advised") {
  SourceLine where;
  where.file = "/home/user/train.py";
  where.source = "x = x.repeat_interleave(counts, output_size=total)";
  CHECK(library_remedy(where, At::kRead, "torch") == nullptr);
  where.source = "x = torch.repeat_interleave(x, counts)";
  CHECK(library_remedy(where, At::kRead, "torch") != nullptr);
  CHECK(library_remedy(where, At::kRead, "jax") == nullptr);
}

TEST_CASE("a library that calls the user's function does not wait there") {
  SourceLine where = stack_of({"",
                               At::kRead,
                               {{"/site-packages/torch/amp/grad_scaler.py", "GradScaler._maybe_opt_step", ".item()"},
                                {"/home/user/model.py", "Net.forward", "n = x.max().item()"}}});
  const ShownFrame user = where.stack.front();
  where.file = user.frame.file;
  where.line = user.frame.line;
  where.source = user.source;
  CHECK(library_remedy(where, At::kRead, "torch") == nullptr);
}

TEST_CASE("a library whose loader is asked for workers has a row that keeps those it has") {
  const auto kept_by = [](std::string_view library) -> std::string_view {
    for (const auto rows : library_remedies()) {
      for (const LibraryRemedy& row : rows) {
        if (row.library != library || row.to_type.find("num_workers=N") == std::string_view::npos) continue;
        const LibraryRemedy* keeps = keeps_workers(row);
        return keeps == nullptr ? "none" : keeps->to_type;
      }
    }
    return "no such row";
  };
  CHECK(kept_by("accelerate") == "DataLoader(..., persistent_workers=True)");
  CHECK(kept_by("lightning") == "DataLoader(..., persistent_workers=True)");
  CHECK(kept_by("transformers") == "none");
}

}  // namespace synctrace::testing
