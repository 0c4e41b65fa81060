// SPDX-License-Identifier: Apache-2.0
#include "attribution/device_gaps.h"

#include <algorithm>

namespace synctrace {
namespace {

class GapFinder {
 public:
  GapFinder(const Trace& trace, const Correlation& correlation, const DeviceRows& operations,
            const std::function<void(std::span<const Gap>)>& visit)
      : trace_(trace), correlation_(correlation), operations_(operations), visit_(visit) {}

  void run() {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const Operation& operation = trace_.operations[operations_[i]];
      settle(operation.span.begin_ns, opener_at(i));
      if (!is_transfer(operation)) close_group(operations_[i]);
      Nanoseconds& end_ns = is_transfer(operation) ? copy_end_ns_ : compute_end_ns_;
      end_ns = std::max(end_ns, operation.span.end_ns);
      any_ = true;
    }
    settle(kLatestTime, kNoRow);
    close_group(kNoRow);
  }

 private:
  // The operation that was issued first among those that begin with the i-th.
  std::uint32_t opener_at(std::size_t i) {
    const Nanoseconds begin_ns = trace_.operations[operations_[i]].span.begin_ns;
    if (i > 0 && trace_.operations[operations_[i - 1]].span.begin_ns == begin_ns) return operations_[i];
    std::uint32_t first = operations_[i];
    for (std::size_t j = i + 1; j < operations_.size(); ++j) {
      const std::uint32_t other = operations_[j];
      if (trace_.operations[other].span.begin_ns != begin_ns) break;
      if (correlation_.issued_ns(other) < correlation_.issued_ns(first)) first = other;
    }
    return first;
  }

  // [settled_ns_, until_ns) is compute up to the end of the last compute, then copy, then idle.
  void settle(Nanoseconds until_ns, std::uint32_t opener) {
    const Nanoseconds compute_ns = std::clamp(compute_end_ns_, settled_ns_, until_ns);
    const Nanoseconds copy_ns = std::clamp(copy_end_ns_, compute_ns, until_ns);
    add({compute_ns, copy_ns}, kNoRow, true);
    add({copy_ns, until_ns}, opener, false);
    settled_ns_ = until_ns;
  }

  void add(TimeSpan span, std::uint32_t opener, bool copying) {
    while (window_ < trace_.windows.size() && trace_.windows[window_].span.end_ns <= span.begin_ns) ++window_;
    for (std::size_t i = window_; i < trace_.windows.size() && trace_.windows[i].span.begin_ns < span.end_ns; ++i) {
      const TimeSpan window = trace_.windows[i].span;
      const TimeSpan part = intersect(span, window);
      if (part.empty()) continue;
      Gap gap{part, opener, copying, !any_, part.begin_ns == window.begin_ns, part.end_ns == window.end_ns};
      if (gap.at_window_end && part.end_ns < span.end_ns) gap.opener = kNoRow;
      gaps_.push_back(gap);
    }
  }

  void close_group(std::uint32_t opener) {
    for (Gap& gap : gaps_) {
      if (gap.copying) gap.opener = opener;
    }
    if (!gaps_.empty()) visit_(gaps_);
    gaps_.clear();
  }

  const Trace& trace_;
  const Correlation& correlation_;
  const DeviceRows& operations_;
  const std::function<void(std::span<const Gap>)>& visit_;
  std::vector<Gap> gaps_;  // since the last compute
  std::size_t window_ = 0;
  Nanoseconds settled_ns_ = 0;
  Nanoseconds compute_end_ns_ = 0;
  Nanoseconds copy_end_ns_ = 0;
  bool any_ = false;
};

}  // namespace

std::map<DeviceId, DeviceRows> operations_by_device(const Trace& trace) {
  std::map<DeviceId, DeviceRows> devices;
  for (const auto& [id, context] : trace.contexts) devices.try_emplace(context.device);
  const std::vector<Operation>& all = trace.operations;
  const auto for_each_run = [&](auto&& visit) {
    for (std::uint32_t end = 0; end < all.size();) {
      const std::uint32_t begin = end;
      while (end < all.size() && all[end].device == all[begin].device) ++end;
      visit(devices[all[begin].device], begin, end);
    }
  };
  for_each_run([](DeviceRows& rows, std::uint32_t begin, std::uint32_t end) { rows.count_ += end - begin; });
  const auto has_all = [&](const auto& device) { return device.second.count_ == all.size(); };
  if (std::any_of(devices.begin(), devices.end(), has_all)) return devices;
  for (auto& [device, rows] : devices) rows.rows_.reserve(rows.count_);
  for_each_run([](DeviceRows& rows, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t row = begin; row < end; ++row) rows.rows_.push_back(row);
  });
  return devices;
}

void for_each_gap_group(const Trace& trace, const Correlation& correlation, const DeviceRows& operations,
                        const std::function<void(std::span<const Gap>)>& visit) {
  GapFinder(trace, correlation, operations, visit).run();
}

}  // namespace synctrace
