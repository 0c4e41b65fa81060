// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/name_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "render/answer_words.h"
#include "render/columns.h"
#include "render/places.h"
#include "render/screen_lines.h"

namespace synctrace {
namespace {

constexpr std::size_t kWaitFigureColumns = 24;
constexpr std::size_t kShareColumns = 10;
constexpr std::size_t kMostSampled = 3;         // lines
constexpr std::uint64_t kFewestSamples = 10;    // fewer of the thread say nothing
constexpr Nanoseconds kLeastSampledShare = 20;  // one in so many of its samples

using LineKey = std::pair<std::string, std::uint32_t>;

LineKey key_of(const SourceLine& where) { return {where.file, where.line}; }

std::string place_and_source(const ScreenPlaces& places, const SourceLine& where, std::size_t width,
                             const std::string& behind = "") {
  const std::string text = format_text("  {:<{}} {}", places.of(where, kPlaceColumns), kPlaceColumns,
                                       source_words(where, width - kPlaceColumns - 4 - columns_of(behind)));
  std::string line = fitted(text, width - columns_of(behind)).append(behind);
  return line + std::string(width - std::min(width, columns_of(line)), ' ');
}

// What samples found one thread at, by line of the program.
struct SampledThread {
  std::uint64_t all = 0;
  std::map<LineKey, std::pair<const SourceLine*, std::uint64_t>> lines;

  std::uint64_t with_line() const {
    std::uint64_t count = 0;
    for (const auto& [key, line] : lines) count += line.second;
    return count;
  }
};

// The thread that uses CUDA and was seen most in lines of the program.
std::optional<SampledThread> busiest_thread(const Report& report) {
  std::map<std::uint32_t, SampledThread> threads;
  for (const SampledLine& sample : report.samples) {
    if (!sample.thread.uses_cuda) continue;
    SampledThread& thread = threads[sample.thread.id];
    thread.all += sample.count;
    if (sample.where.file.empty()) continue;
    auto& line = thread.lines[key_of(sample.where)];
    line.first = &sample.where;
    line.second += sample.count;
  }
  const auto most = std::max_element(threads.begin(), threads.end(), [](const auto& a, const auto& b) {
    return a.second.with_line() < b.second.with_line();
  });
  if (most == threads.end() || most->second.all < kFewestSamples) return std::nullopt;
  return std::move(most->second);
}

// Lines where it waits for the GPU have been told.
void write_sampled(const Report& report, const std::set<LineKey>& told, std::size_t most_lines, ScreenLines& out) {
  const std::optional<SampledThread> thread = busiest_thread(report);
  if (!thread || most_lines < 2) return;
  std::vector<std::pair<const SourceLine*, std::uint64_t>> rows;
  for (const auto& [key, line] : thread->lines) {
    if (!told.contains(key) && line.second * kLeastSampledShare >= thread->all) rows.push_back(line);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  rows.resize(std::min({rows.size(), kMostSampled, most_lines - 1}));
  if (rows.empty()) return;
  const ScreenPlaces places(report);
  const std::size_t width = out.columns() - kShareColumns;
  out.add(format_text("{:<{}}{:>{}}", format_text("What else the host did, in {} samples", count_text(thread->all)),
                      width, "share", kShareColumns),
          Tint::kBold);
  for (const auto& [where, count] : rows) {
    const std::string share = share_text(static_cast<Nanoseconds>(count), static_cast<Nanoseconds>(thread->all));
    out.add(format_text("{}{:>{}}", place_and_source(places, *where, width), share, kShareColumns));
  }
}

std::vector<const CallSite*> waiting_sites(const Report& report) {
  std::vector<const CallSite*> rows;
  for (const CallSite& site : report.waits) {
    if (site.figures.waited > 0) rows.push_back(&site);
  }
  return rows;
}

}  // namespace

void write_waits(const Report& report, std::size_t most_lines, ScreenLines& out) {
  if (lost_all_calls(report)) return;  // the verdict has said it
  const std::vector<const CallSite*> rows = waiting_sites(report);
  const std::size_t before = out.count();
  std::set<LineKey> told;
  if (rows.empty()) {
    out.add("No call made the host wait for the GPU.");
  } else {
    const ScreenPlaces places(report);
    const std::size_t width = out.columns() - kWaitFigureColumns;
    out.add(format_text("{:<{}}{:>10}{:>14}", "What made the host wait, longest first", width, "waited", "calls"),
            Tint::kBold);
    const std::size_t room = report.samples.empty() ? 2 : 3 + kMostSampled;
    const std::size_t limit = std::min(rows.size(), most_lines > room ? most_lines - room : 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const CallSite& site = *rows[i];
      told.insert(key_of(site.where));
      if (i >= limit) continue;
      const std::string rule = site.rule() == nullptr ? "" : format_text(" [{}]", site.rule()->id);
      std::string left =
          site.where.known()
              ? place_and_source(places, site.where, width, rule)
              : fitted(format_text("  {:<{}} ", site.function(), kPlaceColumns), width - columns_of(rule)).append(rule);
      left += std::string(width - std::min(width, columns_of(left)), ' ');
      out.add(format_text("{}{:>10}{:>14}", left, duration_text(site.figures.host_blocked_ns),
                          format_text("{} of {}", count_text(site.figures.waited), count_text(site.figures.calls))));
    }
    if (rows.size() > limit) out.add(format_text("  and {} more (--full)", rows.size() - limit));
  }
  const std::size_t used = out.count() - before;
  write_sampled(report, told, most_lines > used ? most_lines - used : 0, out);
}

}  // namespace synctrace
