// SPDX-License-Identifier: Apache-2.0
#include "findings/gpu_work/launched_kernels.h"

#include <algorithm>
#include <utility>

namespace synctrace {
namespace {

constexpr Share kLeastGone = percent(1);  // share of the kernels' time

}  // namespace

LaunchedKernels::LaunchedKernels(const Trace& trace, const Correlation& correlation, const Frameworks& frameworks,
                                 StackPlaces& places)
    : times_(kernel_times(trace, correlation)), frameworks_(frameworks), places_(places) {
  find_backward();
}

const SourceLine& LaunchedKernels::line_of(StackId stack) {
  const auto [entry, is_new] = lines_.try_emplace(stack);
  if (is_new) entry->second = places_.line_of(stack);
  return entry->second;
}

// Threads of autograd have no frames of Python.
bool LaunchedKernels::is_of_autograds_thread(StackId stack) {
  const SourceLine& where = line_of(stack);
  return number(backward_) != 0 && number(stack) != 0 &&
         std::none_of(where.stack.begin(), where.stack.end(),
                      [](const ShownFrame& each) { return each.frame.kind == FrameKind::kPython; });
}

bool LaunchedKernels::is_in_backward(StackId stack) {
  return is_of_autograds_thread(stack) || has_file(line_of(stack), "/torch/autograd/");
}

// The line that calls backward(), which launches a few kernels itself.
void LaunchedKernels::find_backward() {
  std::unordered_map<StackPlace, Nanoseconds> by_place;
  for (const KernelTime& row : times_.rows) {
    if (!has_file(line_of(row.stack), "/torch/autograd/")) continue;
    Nanoseconds& ns = by_place[places_.place_of(row.stack)];
    ns = add_saturated(ns, row.device_ns);
  }
  const auto most = std::max_element(by_place.begin(), by_place.end(), [](const auto& a, const auto& b) {
    return std::make_pair(a.second, number(a.first)) < std::make_pair(b.second, number(b.first));
  });
  if (most != by_place.end()) backward_ = most->first;
}

CountedKernels LaunchedKernels::count(const KernelStays& stays) {
  CountedKernels counted;
  std::unordered_map<StackPlace, Nanoseconds> by_place;
  for (const KernelTime& row : times_.rows) {
    const Nanoseconds gone_ns = row.device_ns - stays(row.what).usual.of(row.device_ns);
    if (gone_ns <= 0) continue;
    counted.gone_ns = add_saturated(counted.gone_ns, gone_ns);
    if (number(row.stack) == 0) continue;  // most launches have none where the GPU is busy: the others stand for them
    Nanoseconds& ns = by_place[is_of_autograds_thread(row.stack) ? backward_ : places_.place_of(row.stack)];
    ns = add_saturated(ns, gone_ns);
  }
  for (const auto& [place, gone_ns] : by_place) {
    if (number(place) != 0) counted.lines.push_back({place, gone_ns});
  }
  std::sort(counted.lines.begin(), counted.lines.end(), [](const auto& a, const auto& b) {
    return a.gone_ns != b.gone_ns ? a.gone_ns > b.gone_ns : number(a.place) < number(b.place);
  });
  if (!counted.lines.empty()) {
    const SourceLine where = places_.line_of(counted.lines.front().place);
    counted.framework = frameworks_.of(std::vector<const SourceLine*>{&where});
  }
  return counted;
}

bool LaunchedKernels::is_worth_it(const CountedKernels& counted) const {
  return !counted.lines.empty() && is_most(counted.gone_ns, kLeastGone);
}

}  // namespace synctrace
