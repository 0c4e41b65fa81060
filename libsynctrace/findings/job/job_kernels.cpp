// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_kernels.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/time_span.h"
#include "kernels/kernel_class.h"

namespace synctrace {
namespace {

constexpr double kSlowGpu = 1.05;  // times the time of the same kernels on another GPU
// More work: so many times, in so many kinds of kernels, which make up so much of what the rank's kernels are longer.
constexpr double kLonger = 1.15;
constexpr std::size_t kFewestKinds = 3;
constexpr double kNearlyAllLonger = 0.8;

// By name, the late rank's time in a kernel and the usual one's.
using KernelTimes = std::map<std::uint32_t, std::pair<double, double>>;

KernelTimes kernel_times(const JobParts& names, const std::vector<StretchPart>& late,
                         const std::vector<StretchPart>& usual) {
  KernelTimes times;
  for (const StretchPart& part : late) {
    if (names[part.name].is_kernel) times[part.name].first += static_cast<double>(part.ns);
  }
  for (const StretchPart& part : usual) {
    if (names[part.name].is_kernel) times[part.name].second += static_cast<double>(part.ns);
  }
  return times;
}

// A line of a library's native code is no place to go to, so any line of a file comes first.
SourceLine most_of(const KernelLines::mapped_type& lines) {
  const auto rank_of = [](const auto& line) { return std::pair(line.second.second.line > 0, line.second.first); };
  const auto most = std::max_element(lines.begin(), lines.end(),
                                     [&](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
  return most == lines.end() ? SourceLine() : most->second.second;
}

}  // namespace

double slow_gpu_of(const JobParts& names, const std::vector<StretchPart>& late, const std::vector<StretchPart>& usual) {
  const KernelTimes times = kernel_times(names, late, usual);
  double late_ns = 0;
  double usual_ns = 0;
  for (const auto& [name, ns] : times) {
    late_ns += ns.first;
    usual_ns += ns.second;
  }
  if (usual_ns <= 0 || late_ns < kSlowGpu * usual_ns) return 0;
  const double ratio = late_ns / usual_ns;
  std::size_t kinds = 0;
  for (const auto& [name, ns] : times) {
    if (ns.second < usual_ns / 100) continue;
    const double more = ns.first / ns.second - 1;
    if (more < (ratio - 1) / 2 || more > (ratio - 1) * 2) return 0;
    ++kinds;
  }
  return kinds >= 2 ? ratio : 0;
}

void join_kernel_lines(const KernelsAsOne& as_one, std::uint32_t name, KernelLines& lines) {
  KernelLines::mapped_type joined;
  for (auto& [kernel, of_kernel] : lines) {
    if (kernel >= as_one.rows.size() || !as_one.rows[kernel]) continue;
    for (auto& [place, line] : of_kernel) {
      auto& [ns, where] = joined.try_emplace(place, 0, line.second).first->second;
      ns = add_saturated(ns, line.first);
    }
  }
  if (!joined.empty()) lines[name] = std::move(joined);
}

KernelsAsOne all_kernels_of(const JobParts& names) {
  KernelsAsOne found;
  for (std::uint32_t name = 0; name < names.size(); ++name) found.rows.push_back(names[name].is_kernel);
  return found;
}

KernelsAsOne more_work_of(const JobParts& names, const std::vector<StretchPart>& late,
                          const std::vector<StretchPart>& usual) {
  struct Sort {
    double late_ns = 0;
    double usual_ns = 0;
    std::vector<std::uint32_t> names;
  };
  // A library takes other kernels for another size.
  std::map<std::pair<KernelKind, std::uint32_t>, Sort> sorts;
  for (const auto& [name, ns] : kernel_times(names, late, usual)) {
    const KernelKind kind = kernel_class(names[name].name).kind;
    const bool is_known = kind != KernelKind::kOther;
    Sort& sort = sorts[{kind, is_known ? 0 : name}];
    sort.late_ns += ns.first;
    sort.usual_ns += ns.second;
    sort.names.push_back(name);
  }
  double all_ns = 0;
  double longer_ns = 0;
  std::size_t kinds = 0;
  KernelsAsOne found{"more-work", std::vector<bool>(names.size(), false)};
  for (const auto& [key, sort] : sorts) {
    const double more_ns = sort.late_ns - sort.usual_ns;
    all_ns += std::max(0.0, more_ns);
    if (sort.usual_ns <= 0 || sort.late_ns < kLonger * sort.usual_ns) continue;
    longer_ns += more_ns;
    for (const std::uint32_t name : sort.names) found.rows[name] = true;
    ++kinds;
  }
  if (kinds < kFewestKinds || longer_ns < kNearlyAllLonger * all_ns) found.rows.clear();
  return found;
}

SourceLine more_launched_at(const KernelLines::mapped_type& late, const KernelLines::mapped_type& usual) {
  KernelLines::mapped_type more;
  for (const auto& [place, line] : late) {
    const auto same = usual.find(place);
    const Nanoseconds more_ns = line.first - (same == usual.end() ? 0 : same->second.first);
    if (more_ns > 0) more.try_emplace(place, more_ns, line.second);
  }
  const SourceLine where = most_of(more);
  return where.line > 0 ? where : most_of(late.empty() ? usual : late);
}

}  // namespace synctrace
