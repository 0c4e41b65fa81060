// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/format_text.h"
#include "base/name_text.h"
#include "base/quantity_text.h"
#include "findings/phases/slow_causes.h"
#include "render/columns.h"
#include "render/kernel_words.h"
#include "render/text_parts.h"
#include "render/words.h"

namespace synctrace {
namespace {

constexpr std::size_t kSlowCauses = 5;

std::string bytes_or_dash(std::uint64_t bytes) { return bytes == 0 ? "-" : bytes_text(bytes); }
std::string time_or_dash(Nanoseconds ns) { return ns == 0 ? "-" : duration_text(ns); }

}  // namespace

void render_irregular_steps(const Report& report, TextPage& page) {
  const StepsReport& steps = report.steps;
  if (steps.figures.irregular == 0) return;
  page.title(format_text("{} of {} steps were irregular: {} on the average, the others {}", steps.figures.irregular,
                         steps.figures.count, duration_text(steps.irregular_mean_ns),
                         duration_text(steps.ordinary_mean_ns)));
  std::string longest;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, steps.irregular.size()); ++i) {
    const IrregularStep& step = steps.irregular[i];
    longest +=
        format_text("{}number {} ({})", i == 0 ? "" : ", ", count_text(step.index + 1), duration_text(step.length_ns));
  }
  page.line("  the longest: {}", longest);
  const std::vector<SlowCause> rows = slow_causes(report, kSlowCauses);
  if (rows.empty()) return;
  page.line("  {:<5} {:<25} {:>16} {:>17}", "rule", "idle because of", "irregular step", "ordinary step");
  for (const SlowCause& row : rows) {
    const std::string_view lead = page.place_line(row.cause->rule, row.cause->where);
    page.line("  {:<5} {:<25} {:>16} {:>17}", lead, row.cause->name, duration_text(row.irregular_ns),
              duration_text(row.ordinary_ns));
  }
}

void render_ranges(const Report& report, TextPage& page) {
  if (report.ranges.empty()) return;
  page.title("NVTX ranges, and what the GPUs did while one was open");
  page.line("  {:<38} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}", "range", "count", "length", "blocked", "issued", "busy",
            "idle");
  page.first_rows(report.ranges, [&](const RangeReport& row) {
    const std::string name = row.domain.empty() ? row.name : row.domain + ": " + row.name;
    page.line("  {:<38} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}", fitted(name, 38), row.count, duration_text(row.host_ns),
              time_or_dash(row.host_blocked_ns), time_or_dash(row.issued_ns), time_or_dash(row.busy_ns),
              time_or_dash(row.idle_ns));
  });
}

void render_apis(const Report& report, TextPage& page) {
  if (report.apis.empty()) return;
  page.title("CUDA functions");
  page.line("  {:<33} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}", "function", "count", "in call", "waiting", "p50", "p99",
            "longest");
  page.first_rows(report.apis, [&](const ApiReport& row) {
    const WaitFigures& figures = row.figures;
    page.line("  {:<33} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}", fitted(row.function, 33), figures.calls,
              duration_text(figures.host_ns), time_or_dash(figures.host_blocked_ns), duration_text(row.p50_ns),
              duration_text(row.p99_ns), duration_text(figures.longest_ns));
  });
}

void render_pageable_copies(const Report& report, TextPage& page) {
  if (report.pageable_copies.empty()) return;
  page.title("Copies with pageable memory");
  page.line("        {:<33} {:>7} {:>9} {:>9} {:>9}  {}", "call", "count", "bytes", "in call", "transfer", "bandwidth");
  page.first_rows(report.pageable_copies, [&](const CallSite& row) {
    const WaitFigures& figures = row.figures;
    page.place_line("", row.where);
    const Nanoseconds timed_ns = figures.device_ns > 0 ? figures.device_ns : figures.host_ns;
    page.line("        {:<33} {:>7} {:>9} {:>9} {:>9}  {}", fitted(call_words(row), 33), figures.calls,
              bytes_or_dash(figures.bytes), duration_text(figures.host_ns), time_or_dash(figures.device_ns),
              bandwidth_text(figures.bytes, timed_ns));
  });
}

void render_step_allocations(const Report& report, TextPage& page) {
  if (report.step_allocations.empty()) return;
  page.title("Memory taken and given back in the steps");
  page.line("  {:<5} {:<33} {:>7} {:>9} {:>9} {:>9}", "rule", "call", "count", "a step", "bytes", "in call");
  page.first_rows(report.step_allocations, [&](const CallSite& row) {
    const WaitFigures& figures = row.figures;
    const std::string_view lead = page.place_line(row.rule(), row.where);
    const double per_step =
        static_cast<double>(figures.calls) / static_cast<double>(std::max<std::size_t>(1, report.steps.figures.count));
    page.line("  {:<5} {:<33} {:>7} {:>9.1f} {:>9} {:>9}", lead, fitted(row.function(), 33), figures.calls, per_step,
              bytes_or_dash(figures.bytes), duration_text(figures.host_ns));
  });
}

void render_kernel_families(const Report& report, TextPage& page) {
  if (report.kernel_families.empty()) return;
  page.title("Kernels by name, without templates and parameters");
  if (const std::string classes = kernel_class_words(report); !classes.empty()) page.wrapped("  by class: ", classes);
  page.line("  {:>9} {:>9} {:>9}  {:<18} {:<9} {}", "time", "count", "mean", "class", "precision", "kernel");
  page.first_rows(report.kernel_families, [&](const KernelFamily& row) {
    page.line("  {:>9} {:>9} {:>9}  {:<18} {:<9} {}", duration_text(row.device_ns), row.count,
              duration_text(row.device_ns / static_cast<Nanoseconds>(row.count)), class_words(row), row.precision,
              short_function_text(row.name, page.columns() - 63));
  });
}

}  // namespace synctrace
