// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "render/columns.h"
#include "render/text_parts.h"

namespace synctrace {
namespace {

constexpr std::size_t kThreadColumns = 24;

std::string thread_words(const HostThread& thread) {
  if (thread.id == 0) return "-";
  return fitted(thread.name.empty() ? format_text("{}", thread.id) : format_text("{} ({})", thread.name, thread.id),
                kThreadColumns);
}

// Threads that never call CUDA sleep most of the time, and that is no news; but where none calls it, all are shown.
template <class Row>
std::vector<const Row*> worth_showing(const std::vector<Row>& all) {
  const auto uses_cuda = [](const Row& row) { return row.thread.uses_cuda; };
  const bool some = std::any_of(all.begin(), all.end(), uses_cuda);
  std::vector<const Row*> rows;
  for (const Row& row : all) {
    if (!some || uses_cuda(row)) rows.push_back(&row);
  }
  return rows;
}

}  // namespace

void render_host_threads(const Report& report, TextPage& page) {
  const std::vector<const HostCallSite*> rows = worth_showing(report.host_waits);
  if (rows.empty()) return;
  page.title("Where threads that use CUDA slept outside of it");
  page.line("        {:<24} {:<18} {:>7} {:>9} {:>9}  {}", "thread", "in", "count", "slept", "longest", "woken by");
  page.first_rows(rows, [&](const HostCallSite* row) {
    const HostCallSite& site = *row;
    page.place_line("", site.where);
    page.line("        {:<24} {:<18} {:>7} {:>9} {:>9}  {}", thread_words(site.thread), site.call, site.count,
              duration_text(site.slept_ns), duration_text(site.longest_ns), fitted(thread_words(site.waker), 18));
    page.stack_lines(site.where);
  });
}

void render_samples(const Report& report, TextPage& page) {
  const std::vector<const SampledLine*> rows = worth_showing(report.samples);
  if (rows.empty()) return;
  page.title("Where samples found threads that use CUDA");
  page.line("        {:<24} {:>7}  {:<9} {}", "thread", "samples", "state", "in the kernel");
  page.first_rows(rows, [&](const SampledLine* row) {
    const SampledLine& site = *row;
    page.place_line("", site.where);
    page.line("        {:<24} {:>7}  {:<9} {}", thread_words(site.thread), site.count, site.state,
              fitted(site.channel, 40));
    page.stack_lines(site.where);
  });
}

}  // namespace synctrace
