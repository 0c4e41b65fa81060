// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/remedy_details.h"

#include <algorithm>
#include <utility>

#include "base/format_text.h"

namespace synctrace {
namespace {

constexpr std::uint64_t kFewestOfLine = 10;
constexpr std::size_t kMostLines = 3;

// The line before which the stretch of host code ends, where that is a later one of the same file; else 0.
std::uint32_t end_of_stretch(const Report& report, const ShownFix& fix) {
  const IdleCause* dearest = nullptr;
  for (const DeviceReport& device : report.devices) {
    for (const IdleCause& cause : device.causes) {
      const bool is_range = cause.fix_key == fix.key && cause.until.known() && cause.until.file == cause.where.file &&
                            cause.where.line != 0 && cause.until.line > cause.where.line;
      if (is_range && (dearest == nullptr || cause.idle_ns > dearest->idle_ns)) dearest = &cause;
    }
  }
  return dearest == nullptr ? 0 : dearest->until.line;
}

// "busiest lines: 301 (61 %), 317 (20 %)"; empty where samples say too little.
std::string busiest_lines(const Report& report, const ShownFix& fix) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> lines;
  std::uint64_t all = 0;
  for (const SampledLine& sample : report.samples) {
    const SourceLine& where = sample.where;
    const bool is_inside = fix.until_line != 0 ? where.line >= fix.where.line && where.line <= fix.until_line
                                               : where.function == fix.where.function;
    if (sample.state != "running" || where.line == 0 || where.file != fix.where.file || !is_inside) continue;
    const auto known =
        std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.second == where.line; });
    if (known == lines.end())
      lines.emplace_back(sample.count, where.line);
    else
      known->first += sample.count;
    all += sample.count;
  }
  const bool is_known = lines.size() == 1 && lines.front().second == fix.where.line;  // the line itself
  if (all < kFewestOfLine || is_known) return {};
  std::sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string words = "busiest lines there:";
  for (std::size_t i = 0; i < std::min(kMostLines, lines.size()); ++i) {
    const double share = 100.0 * static_cast<double>(lines[i].first) / static_cast<double>(all);
    words += format_text("{} {} ({:.0f} %)", i == 0 ? "" : ",", lines[i].second, share);
  }
  return words;
}

}  // namespace

void add_details(Report& report) {
  for (Remedy& remedy : report.savings.remedies) {
    if (remedy.fix == Fix::kFeedInput && report.loader) {
      remedy.title = report.loader->title;
      remedy.to_type = {report.loader->type};
    }
    if (remedy.fix != Fix::kSpeedUp) continue;
    ShownFix& fix = remedy.fixes.front();
    fix.until_line = end_of_stretch(report, fix);
    if (std::string busiest = busiest_lines(report, fix); !busiest.empty())
      remedy.to_type.insert(remedy.to_type.begin(), std::move(busiest));
  }
}

}  // namespace synctrace
