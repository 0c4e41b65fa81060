// SPDX-License-Identifier: Apache-2.0
#include "model/loss_spans.h"

#include <algorithm>
#include <iterator>

#include "base/merged_spans.h"

namespace synctrace {
namespace {

constexpr TimeSpan kAlways{0, kLatestTime + 1};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

// Records may say any time; those behind kLatestTime stand for it.
void LossSpans::clock(Nanoseconds monotonic_ns) {
  monotonic_ns = std::min(monotonic_ns, kLatestTime);
  if (open_) add({open_since_ns_, std::max(open_since_ns_, monotonic_ns) + 1});
  open_ = false;
  clocks_ = {std::max(monotonic_ns, clocks_[0]), clocks_[0], clocks_[1]};
}

void LossSpans::loss(std::string_view name, Nanoseconds time_ns) {
  time_ns = std::min(time_ns, kLatestTime);
  if (name == "ring-full") {
    add({clocks_[0], std::max(clocks_[0], time_ns) + 1});
  } else if (is_one_of(name, {"cupti-dropped", "buffer-refused", "cupti-untimed"})) {
    // GPU records are counted at every clock record, after it.
    add({clocks_[2], std::max(clocks_[2], time_ns) + 1});
  } else if (name == "cupti-error") {
    add({clocks_[2], kAlways.end_ns});
  } else if (name == "file-error") {
    hole();
  }
}

void LossSpans::hole() {
  if (open_) return;
  open_ = true;
  open_since_ns_ = clocks_[1];
}

void LossSpans::anytime() {
  if (!anytime_) add(kAlways);
  anytime_ = true;
}

std::vector<TimeSpan> LossSpans::finish(bool closed) {
  if (!closed) hole();
  if (open_) add({open_since_ns_, kAlways.end_ns});
  return merged(spans_);
}

bool may_lack_records(const std::vector<TimeSpan>& lossy, TimeSpan span) noexcept {
  const auto after = std::lower_bound(lossy.begin(), lossy.end(), span.end_ns,
                                      [](TimeSpan stretch, Nanoseconds t) { return stretch.begin_ns < t; });
  return after != lossy.begin() && std::prev(after)->end_ns > span.begin_ns;
}

}  // namespace synctrace
