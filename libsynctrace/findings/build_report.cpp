// SPDX-License-Identifier: Apache-2.0
#include "findings/build_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "attribution/attribute.h"
#include "attribution/evidence.h"
#include "attribution/wait_table.h"
#include "base/in_background.h"
#include "base/shown_text.h"
#include "findings/calls/call_tables.h"
#include "findings/calls/sites.h"
#include "findings/calls/stack_places.h"
#include "findings/loader/loader_advice.h"
#include "findings/phases/phases.h"
#include "findings/remedies/remedy_details.h"
#include "findings/remedy_sets.h"
#include "findings/report/trace_words.h"
#include "findings/report_parts.h"

namespace synctrace {
namespace {

// torch.profiler has stacks where it was told so, and many files are made without them.
std::string why_no_lines(const Trace& trace) {
  if (fact(trace, "imported_from") != "torch.profiler") return "";
  if (trace.stats.count(kLossImportOperatorsOnly) > 0)
    return "the profile was made without with_stack=True, so rows name operators of PyTorch";
  if (trace.stats.count(kLossImportNoStacks) > 0)
    return "the profile has no stacks (with_stack=True adds them), so rows name CUDA calls";
  return "";
}

// A native program without line tables has functions where its lines would be, or not even these.
std::string why_only_functions(const Trace& trace, const Report& report) {
  if (trace.symbols.empty() || !fact(trace, "imported_from").empty()) return "";
  const SourceLine* named = nullptr;
  for (const CallSite& site : report.waits) {
    if (site.where.line != 0) return "";
    if (named == nullptr && !site.where.function.empty()) named = &site.where;
  }
  if (named == nullptr) return "";
  const bool is_stripped = named->function.find("+0x") != std::string::npos;
  return is_stripped ? "the program has no symbols; build with -g, and do not strip it"
                     : "only function names are known; build with -g, which makes nothing slower";
}

void add_head(const Trace& trace, Report& report) {
  report.path = printable(trace.path);
  report.program = printable(fact(trace, "command_line"));
  report.executable = printable(fact(trace, "executable"));
  report.folder = printable(fact(trace, "working_folder"));
  report.host = printable(fact(trace, "host"));
  report.boot_id = printable(fact(trace, "boot_id"));
  report.rank = printable(fact(trace, "rank"));
  report.nccl = printable(fact(trace, "nccl_version"));
  report.level = printable(fact(trace, "level", trace.has_timeline() ? "timeline" : "syncs"));
  report.driver = printable(fact(trace, "driver_version"));
  report.realtime_ns = trace.start_realtime_ns;
  report.process_id = trace.process_id;
  report.simulated = fact(trace, "simulated") == "1";
  report.only_windows = fact(trace, "only_windows") == "1";
  report.is_live = fact(trace, "live_window") == "1";
  report.recorded_ns = trace.last_ns - trace.first_ns;
  for (const TimeSpan span : trace.lossy)
    report.lossy_ns += intersect(span, {trace.first_ns, trace.last_ns}).length_ns();
  report.has_timeline = trace.has_timeline();
  report.no_lines = why_no_lines(trace);
  for (const Window& window : trace.windows) {
    report.windows.push_back(window.span);
    report.window_reasons.push_back(printable(window.open_reason));
  }
}

// Sends and receives have turns of their own, and what is captured runs later.
void add_collective_calls(const Trace& trace, Report& report) {
  for (const Collective& one : trace.collectives) {
    const auto known = trace.communicators.find(one.communicator);
    if (one.peer >= 0 || one.captured || known == trace.communicators.end() || known->second.hash == 0) continue;
    if (report.collective_calls.size() == kMostCollectiveCalls) return;
    report.collective_calls.push_back({known->second.hash, one.turn, known->second.ranks, one.time_ns});
  }
}

void count_pieces(const Trace& trace, std::vector<DeviceReport>& devices) {
  for (const Operation& operation : trace.operations) {
    const auto device = std::find_if(devices.begin(), devices.end(),
                                     [&](const DeviceReport& one) { return DeviceId{one.id} == operation.device; });
    if (device != devices.end()) ++device->pieces;
  }
}

void add_devices(const Trace& trace, const Attribution& attribution, Report& report) {
  const auto name_of = [&](DeviceId id) {
    const auto device = trace.devices.find(id);
    const std::string key = "gpu." + std::to_string(number(id)) + ".name";
    return printable(device != trace.devices.end() ? std::string_view(device->second.name) : fact(trace, key));
  };
  const auto collectives_of = [&](DeviceId id) {
    const auto found = attribution.collectives.find(id);
    return found == attribution.collectives.end() ? CollectiveTime{} : found->second;
  };
  const auto use_of = [&](DeviceId id) {
    const auto found = attribution.uses.find(id);
    return found == attribution.uses.end() ? DeviceUse{} : found->second;
  };
  for (const auto& [id, state] : attribution.devices)
    report.devices.push_back({number(id), name_of(id), state, collectives_of(id), use_of(id), 0, {}, {}});
  count_pieces(trace, report.devices);
  if (!report.devices.empty()) return;
  std::set<DeviceId> used;
  for (const auto& [id, context] : trace.contexts) used.insert(context.device);
  for (const DeviceId id : used) report.devices.push_back({number(id), name_of(id), {}, {}, use_of(id), 0, {}, {}});
}

std::string copy_words(const Operation& copy) {
  const std::string_view direction = direction_word(copy.copy_kind);
  const std::string_view memory = memory_word(host_memory(copy.copy_kind, copy.source_memory, copy.target_memory));
  std::string words = "copies";
  if (!direction.empty()) words += ' ' + std::string(direction);
  if (!memory.empty()) words += ' ' + std::string(memory);
  return words;
}

void add_work(const Trace& trace, Report& report) {
  using Sort = std::tuple<int, CopyKind, MemoryKind>;
  std::map<Sort, WorkReport> by_sort;  // in the order of the report
  auto last = by_sort.end();
  for (const Operation& operation : trace.operations) {
    const bool is_copy_operation = operation.kind == OperationKind::kCopy;
    const MemoryKind memory = host_memory(operation.copy_kind, operation.source_memory, operation.target_memory);
    const Sort sort{static_cast<int>(operation.kind), is_copy_operation ? operation.copy_kind : CopyKind{},
                    is_copy_operation ? memory : MemoryKind{}};
    if (last == by_sort.end() || last->first != sort) last = by_sort.try_emplace(sort).first;
    WorkReport& work = last->second;
    if (work.count == 0) {
      switch (operation.kind) {
        case OperationKind::kKernel: work.what = "kernels"; break;
        case OperationKind::kCopy: work.what = copy_words(operation); break;
        case OperationKind::kMemset: work.what = "memsets"; break;
        case OperationKind::kGraph: work.what = "graph launches"; break;
      }
    }
    count_work(work, operation);
  }
  for (auto& [key, work] : by_sort) report.work.push_back(std::move(work));
}

void add_launches_and_overhead(const Trace& trace, Report& report) {
  report.launch_count = trace.launches.size();
  report.collective_count = trace.collectives.size();
  if (!report.has_timeline) add_collective_calls(trace, report);
  for (const Launch& launch : trace.launches) {
    report.launch_host_ns = add_saturated(report.launch_host_ns, launch.span.length_ns());
  }
  report.overhead_count = trace.overheads.size();
  for (const Overhead& overhead : trace.overheads) {
    report.overhead_ns = add_saturated(report.overhead_ns, overhead.span.length_ns());
  }
}

// A step's time if each batch were there when it is asked for, by the replay; 0 where it has no answer. The same wait
// may stand in several rows, each of which would save it, so the largest saving counts.
Nanoseconds step_without_input_wait(const SavingsReport& savings, const std::vector<DeviceReport>& devices) {
  if (!savings.by_steps || savings.steps == 0) return 0;
  Nanoseconds saved_ns = 0;
  for (const DeviceReport& device : devices) {
    for (const IdleCause& cause : device.causes) {
      if (cause.saving && cause.saving->fix == Fix::kFeedInput) saved_ns = std::max(saved_ns, cause.saving->alone.ns);
    }
  }
  const Nanoseconds ordinary_ns = savings.base_ns - savings.slow_ns;
  if (saved_ns <= 0 || saved_ns >= ordinary_ns) return 0;
  return (ordinary_ns - saved_ns) / static_cast<Nanoseconds>(savings.steps);
}

}  // namespace

Report build_report(const Trace& trace, const Attribution& attribution, const ReportOptions& options) {
  Report report;
  add_head(trace, report);
  report.covers_all = options.all || !trace.has_timeline();
  add_devices(trace, attribution, report);
  // These go through all rows and need no lines: they fill fields that nothing else here looks at.
  auto tables = in_background(trace.operations.size(), [&] {
    add_work(trace, report);
    add_kernels(trace, report);
    add_ranges(trace, attribution, report);
    add_launches_and_overhead(trace, report);
  });
  StackPlaces places(trace, options.user_code);
  places.tell_apart_inside_of(attribution.steps.where.file, attribution.steps.name);
  const LineRules rules(trace, attribution.evidence->stacks, places);
  add_sites(Waits(trace, attribution, places), rules, places, report);
  add_idle_causes(trace, attribution, rules, places, report);
  add_phases(attribution, report);
  add_savings(trace, attribution, places, options.question, report);
  report.loader = loader_advice(trace, attribution, step_without_input_wait(report.savings, report.devices));
  add_host_threads(trace, places, report);
  add_details(number_fact(trace, "processors"), report);
  if (options.question.with_sets) settle_sets(report.savings);
  add_call_tables(trace, attribution, places, report);
  tables.get();
  add_limits(trace, attribution, report);
  if (report.no_lines.empty()) report.no_lines = why_only_functions(trace, report);
  return report;
}

}  // namespace synctrace
