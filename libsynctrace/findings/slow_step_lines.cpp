// SPDX-License-Identifier: Apache-2.0
#include "findings/slow_step_lines.h"

#include <algorithm>
#include <cstdint>

namespace synctrace {
namespace {

using Frames = std::vector<const ResolvedFrame*>;

// The frames of Python, outermost first.
Frames frames_of(const SourceLine& where) {
  Frames frames;
  for (auto shown = where.stack.rbegin(); shown != where.stack.rend(); ++shown) {
    if (shown->frame.kind == FrameKind::kPython) frames.push_back(&shown->frame);
  }
  return frames;
}

bool are_of_one_function(const ResolvedFrame& a, const ResolvedFrame& b) {
  return a.function == b.function && a.file == b.file;
}

// By how many lines a function of the loop's round that both are in is further on in `a`, where its callers are at the
// same lines.
std::int64_t lines_behind(const Frames& a, const Frames& b, std::size_t loop_depth) {
  for (std::size_t i = 0; i < a.size() && i < b.size() && are_of_one_function(*a[i], *b[i]); ++i) {
    if (a[i]->line == b[i]->line) continue;
    return i < loop_depth ? 0 : static_cast<std::int64_t>(a[i]->line) - static_cast<std::int64_t>(b[i]->line);
  }
  return 0;
}

bool lies_between(const SourceLine& code, const SourceLine& before, const SourceLine& behind, std::string_view loop) {
  const Frames frames = frames_of(code);
  const auto in_loop =
      std::find_if(frames.begin(), frames.end(), [&](const ResolvedFrame* frame) { return frame->function == loop; });
  if (in_loop == frames.end()) return false;
  const auto depth = static_cast<std::size_t>(in_loop - frames.begin());
  return lines_behind(frames, frames_of(before), depth) > 0 || lines_behind(frames, frames_of(behind), depth) < 0;
}

void move_to(const SlowDoing& other, SlowDoing& doing) {
  doing.cause.place = other.cause.place;
  doing.cause.where = other.cause.where;
  doing.cause.key = other.cause.key;
}

bool is_host_code(const SlowDoing& doing) { return doing.cause.kind == CauseKind::kHostCompute; }

}  // namespace

void move_to_rare_lines(const StackPlaces& places, const std::set<StackPlace>& usual, std::string_view loop,
                        std::vector<SlowDoing>& doings) {
  for (SlowDoing& doing : doings) {
    if (!is_host_code(doing) || !doing.is_extra || number(doing.until) == 0) continue;
    const SourceLine until = places.line_of(doing.until_stack);
    // What a library does for one line may be several places.
    const auto behind = std::find_if(doings.begin(), doings.end(), [&](const SlowDoing& one) {
      return until.line != 0 && one.cause.where.line == until.line && one.cause.where.file == until.file &&
             !usual.contains(one.cause.place);
    });
    if (behind != doings.end()) {
      move_to(*behind, doing);
      continue;
    }
    const auto inside = std::find_if(doings.begin(), doings.end(), [&](const SlowDoing& one) {
      return is_host_code(one) && number(one.until) == 0 && !usual.contains(one.cause.place) &&
             lies_between(one.cause.where, doing.cause.where, until, loop);
    });
    if (inside != doings.end()) move_to(*inside, doing);
  }
}

}  // namespace synctrace
