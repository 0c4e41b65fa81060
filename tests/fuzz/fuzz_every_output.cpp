// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace: loaded, explained, reported, judged and exported in every format. Not only a crash counts:
// whoever starts this limits the time and the memory of a run (-timeout, -rss_limit_mb), and both must suffice for any
// input.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/attribute.h"
#include "exchange/chrome_trace.h"
#include "exchange/csv_tables.h"
#include "exchange/perfetto_trace.h"
#include "findings/build_report.h"
#include "fuzz/repair_checksums.h"
#include "gate/gate.h"
#include "gate/observe.h"
#include "gate/render_ci.h"
#include "gate/render_gate_text.h"
#include "model/load_trace.h"
#include "render/first_screen.h"
#include "render/page/render_page.h"
#include "render/render_csv.h"
#include "render/render_json.h"
#include "render/render_markdown.h"
#include "render/render_text.h"

using namespace synctrace;

namespace {

std::size_t report_bytes(const Trace& trace, const Attribution& attribution) {
  ReportOptions options;
  options.question.with_sets = true;  // a page asks for them
  const std::vector<Report> reports = {build_report(trace, attribution, options)};
  std::size_t bytes = render_text(reports.front(), {100, false, true}).size() +
                      render_first_screen(reports.front(), {80}).size() + render_json(reports).size();
  bytes += render_markdown(reports).size() + render_csv(reports).size();
  const PageOptions how{kFewestPageBytes};
  const std::vector<PageSection> sections = {page_section(
      reports.front(), page_drawing(reports.front(), page::Timeline(trace, attribution, reports.front()), how), how)};
  return bytes + render_page(sections).size();
}

std::size_t gate_bytes(const Trace& trace, const Attribution& attribution) {
  const GateConfig config;
  const Repository repository("/nonexistent");
  AllowBook book({}, {2025, 1, 1});
  const std::vector<Observation> seen = {
      observe(find_wait_sites(trace, attribution, UserCode(), asked_of(config)), config, repository, book)};
  const GateResult result = judge(seen, config, book, nullptr, repository);
  return render_gate_text(result, {false, true}).size() + render_gate_json(result).size() +
         render_sarif(result, true).size() + render_junit(result).size() + render_github(result).size() +
         render_gitlab(result).size() + render_gate_markdown(result).size();
}

std::size_t export_bytes(const Trace& trace) {
  std::size_t bytes = 0;
  const TextSink sink = [&bytes](std::string_view piece) { bytes += piece.size(); };
  const ExportOptions options{"fuzz", 0, false, true};
  ChromeTrace chrome(options, sink);
  chrome.add(trace, nullptr);
  chrome.finish();
  PerfettoTrace perfetto(options, sink);
  perfetto.add(trace, nullptr);
  perfetto.finish();
  for (const CsvTable table : {CsvTable::kKernels, CsvTable::kCopies, CsvTable::kCalls, CsvTable::kRanges})
    write_csv_rows(table, trace, true, sink);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  std::optional<Result<Trace>> loaded(load_trace_bytes({input.begin(), input.end()}, "fuzz.synctrace"));
  if (!*loaded) return 0;
  const Trace& trace = loaded->value();
  AttributeOptions how;
  how.keep_parts = true;
  const Attribution attribution = attribute(trace, how);
  if (!attribution.breaches.empty()) std::abort();
  if (report_bytes(trace, attribution) + gate_bytes(trace, attribution) + export_bytes(trace) == 0) std::abort();
  return 0;
}
