// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/name_text.h"
#include "base/shown_text.h"
#include "findings/report_parts.h"
#include "kernels/kernel_class.h"
#include "model/demangle.h"

namespace synctrace {
namespace {

constexpr std::string_view kGraphs = "graph";
constexpr std::size_t kTopKernels = 5;
constexpr std::size_t kMostFamilies = 50;

template <class Row>
void add(Row& row, const WorkReport& kernel) {
  row.count += kernel.count;
  row.device_ns = add_saturated(row.device_ns, kernel.device_ns);
}

// Dearest first, and at most so many; `name` gives what orders equals.
template <class Row, class Name>
void keep_dearest(std::vector<Row>& rows, std::size_t most, Name name) {
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return std::make_tuple(b.device_ns, b.count, name(a)) < std::make_tuple(a.device_ns, a.count, name(b));
  });
  rows.resize(std::min(most, rows.size()));
}

// What all kernels of each name come to; `what` is the name in words.
std::vector<std::pair<WorkReport, KernelClass>> kernels_by_name(const Trace& trace) {
  std::unordered_map<StringId, WorkReport> by_name;
  for (const Operation& operation : trace.operations) {
    if (operation.kind == OperationKind::kKernel) count_work(by_name[operation.name], operation);
  }
  std::vector<std::pair<WorkReport, KernelClass>> kernels;
  kernels.reserve(by_name.size());
  for (auto& [name, work] : by_name) {
    const auto text = trace.strings.find(name);
    const std::string words = text == trace.strings.end() ? "" : demangled(text->second);
    work.what = words.empty() ? "kernel " + std::to_string(number(name)) : printable(words);
    kernels.emplace_back(std::move(work), kernel_class(words));
  }
  return kernels;
}

// Launches of graphs, whose kernels are not recorded one by one.
WorkReport graphs_of(const Trace& trace) {
  WorkReport graphs;
  for (const Operation& operation : trace.operations) {
    if (operation.kind == OperationKind::kGraph) count_work(graphs, operation);
  }
  return graphs;
}

}  // namespace

void count_work(WorkReport& work, const Operation& operation) {
  ++work.count;
  work.bytes += operation.bytes;
  work.device_ns = add_saturated(work.device_ns, operation.span.length_ns());
}

void add_kernels(const Trace& trace, Report& report) {
  using Words = std::tuple<std::string, std::string_view, std::string_view, std::string_view, std::string_view>;
  std::map<Words, KernelFamily> families;
  std::map<std::pair<std::string_view, std::string_view>, KernelShare> shares;
  for (auto& [kernel, what] : kernels_by_name(trace)) {
    const std::string_view kind = kernel_kind_name(what.kind);
    const std::string_view precision = kernel_precision_name(what.precision);
    add(families[{family_text(kernel.what), kind, precision, kernel_layout_name(what.layout),
                  kernel_library_name(what.library)}],
        kernel);
    add(shares[{kind, precision}], kernel);
    report.top_kernels.push_back(std::move(kernel));
  }
  if (const WorkReport graphs = graphs_of(trace); graphs.count > 0) add(shares[{kGraphs, ""}], graphs);
  for (auto& [words, family] : families) {
    std::tie(family.name, family.kind, family.precision, family.layout, family.library) = words;
    report.kernel_families.push_back(std::move(family));
  }
  for (auto& [words, share] : shares) {
    std::tie(share.kind, share.precision) = words;
    report.kernel_classes.push_back(share);
  }
  keep_dearest(report.top_kernels, kTopKernels, [](const WorkReport& row) { return std::tie(row.what); });
  keep_dearest(report.kernel_families, kMostFamilies,
               [](const KernelFamily& row) { return std::tie(row.name, row.kind, row.precision, row.layout); });
  keep_dearest(report.kernel_classes, report.kernel_classes.size(),
               [](const KernelShare& row) { return std::tie(row.kind, row.precision); });
}

}  // namespace synctrace
