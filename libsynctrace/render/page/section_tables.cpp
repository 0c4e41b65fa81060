// SPDX-License-Identifier: Apache-2.0
// The folded tables: calls that waited, ranges, CUDA functions, work of the GPU, sleeping threads. Below them the
// notes: what could not be known, and what was recorded.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "render/answer_words.h"
#include "render/kernel_words.h"
#include "render/page/section_parts.h"
#include "render/words.h"

namespace synctrace::page {
namespace {

struct Column {
  std::string_view name;
  bool is_number = true;
};

Markup text_cell(std::string_view text) { return {html_text(text)}; }
Markup code_cell(std::string_view text) { return {"<code>" + html_text(text) + "</code>"}; }
Markup count_cell(std::uint64_t count) {
  return {format_text("<data value=\"{}\">{}</data>", count, count_text(count))};
}
Markup bytes_cell(std::uint64_t bytes) {
  return bytes == 0 ? Markup{"<span class=\"none\">–</span>"} : Markup{html_text(bytes_text(bytes))};
}

// A table that opens; `cells(row)` gives the cells of a row.
template <class Row, class Cells>
void table(std::string_view title, const std::vector<Column>& columns, const std::vector<Row>& rows, std::size_t most,
           HtmlOut& out, const Cells& cells) {
  if (rows.empty()) return;
  out.add("<details class=\"table\"><summary><h3>{} <small>{}</small></h3></summary>\n<table>\n<thead><tr>", title,
          rows.size());
  for (const Column& column : columns)
    out.add("<th scope=\"col\"{}>{}</th>", Markup{column.is_number ? " class=\"num\"" : ""}, column.name);
  out.add_markup("</tr></thead>\n<tbody>\n");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    out.add_markup("<tr>");
    const std::vector<Markup> row = cells(rows[i]);
    for (std::size_t k = 0; k < row.size(); ++k)
      out.add("<td{}>{}</td>", Markup{columns[k].is_number ? " class=\"num\"" : ""}, row[k]);
    out.add_markup("</tr>\n");
  }
  out.add_markup("</tbody></table>\n");
  if (rows.size() > most) out.add("<p class=\"none\">and {} more</p>\n", rows.size() - most);
  out.add_markup("</details>\n");
}

Markup place_cell(const Report& report, const SourceLine& where) {
  if (!where.known()) return {"<span class=\"none\">not known</span>"};
  const std::string source =
      where.source.empty() ? "" : "<code class=\"source\">" + html_text(where.source, 100) + "</code>";
  return {"<code class=\"place\">" + html_text(place_text(report, where)) + "</code>" + source};
}

std::string thread_words(const HostThread& thread) {
  if (thread.id == 0) return "–";
  return thread.name.empty() ? std::to_string(thread.id) : format_text("{} ({})", thread.name, thread.id);
}

void waits(const Report& report, const Limits& limits, HtmlOut& out) {
  table("Calls that can wait for the GPU",
        {{"rule", false},
         {"line", false},
         {"call", false},
         {"count"},
         {"waited"},
         {"waiting"},
         {"in call"},
         {"bytes"},
         {"verdict", false}},
        report.waits, limits.rows, out, [&](const CallSite& site) {
          const WaitFigures& figures = site.figures;
          return std::vector<Markup>{text_cell(site.rule() == nullptr ? "–" : site.rule()->id),
                                     place_cell(report, site.where),
                                     code_cell(call_words(site)),
                                     count_cell(figures.calls),
                                     count_cell(figures.waited),
                                     time_or_dash(figures.host_blocked_ns),
                                     time_cell(figures.host_ns),
                                     bytes_cell(figures.bytes),
                                     text_cell(verdict_word(site.verdict))};
        });
}

void polls(const Report& report, const Limits& limits, HtmlOut& out) {
  table("Polling", {{"line", false}, {"call", false}, {"queries"}, {"not ready"}, {"waits"}, {"waiting"}}, report.polls,
        limits.rows, out, [&](const CallSite& poll) {
          const WaitFigures& figures = poll.figures;
          return std::vector<Markup>{place_cell(report, poll.where), code_cell(poll.function()),
                                     count_cell(figures.calls),      count_cell(figures.not_ready),
                                     count_cell(figures.waited),     time_or_dash(figures.host_blocked_ns)};
        });
}

void ranges(const Report& report, const Limits& limits, HtmlOut& out) {
  table("NVTX ranges, and what the GPUs did while one was open",
        {{"range", false}, {"count"}, {"length"}, {"host blocked"}, {"issued"}, {"GPU busy"}, {"GPU idle"}},
        report.ranges, limits.rows, out, [](const RangeReport& row) {
          const std::string name = row.domain.empty() ? row.name : row.domain + ": " + row.name;
          return std::vector<Markup>{code_cell(name),
                                     count_cell(row.count),
                                     time_cell(row.host_ns),
                                     time_or_dash(row.host_blocked_ns),
                                     time_or_dash(row.issued_ns),
                                     time_or_dash(row.busy_ns),
                                     time_or_dash(row.idle_ns)};
        });
}

void apis(const Report& report, const Limits& limits, HtmlOut& out) {
  table("CUDA functions", {{"function", false}, {"count"}, {"in call"}, {"waiting"}, {"median"}, {"p99"}, {"longest"}},
        report.apis, limits.rows, out, [](const ApiReport& row) {
          const WaitFigures& figures = row.figures;
          return std::vector<Markup>{code_cell(row.function),      count_cell(figures.calls),
                                     time_cell(figures.host_ns),   time_or_dash(figures.host_blocked_ns),
                                     time_cell(row.p50_ns),        time_cell(row.p99_ns),
                                     time_cell(figures.longest_ns)};
        });
}

void work(const Report& report, const Limits& limits, HtmlOut& out) {
  table("On the GPU", {{"work", false}, {"count"}, {"time"}, {"bytes"}, {"bandwidth"}}, report.work, limits.rows, out,
        [](const WorkReport& row) {
          return std::vector<Markup>{text_cell(row.what), count_cell(row.count), time_cell(row.device_ns),
                                     bytes_cell(row.bytes), text_cell(bandwidth_text(row.bytes, row.device_ns))};
        });
  table("Kernels, without templates and parameters",
        {{"kernel", false}, {"class", false}, {"precision", false}, {"count"}, {"time"}, {"mean"}},
        report.kernel_families, limits.rows, out, [](const KernelFamily& row) {
          return std::vector<Markup>{
              code_cell(row.name),
              text_cell(class_words(row)),
              text_cell(row.precision),
              count_cell(row.count),
              time_cell(row.device_ns),
              time_cell(row.device_ns / static_cast<Nanoseconds>(std::max<std::uint64_t>(1, row.count)))};
        });
}

void memory(const Report& report, const Limits& limits, HtmlOut& out) {
  table("Memory taken and given back in the steps",
        {{"line", false}, {"call", false}, {"count"}, {"bytes"}, {"in call"}}, report.step_allocations, limits.rows,
        out, [&](const CallSite& row) {
          return std::vector<Markup>{place_cell(report, row.where), code_cell(row.function()),
                                     count_cell(row.figures.calls), bytes_cell(row.figures.bytes),
                                     time_cell(row.figures.host_ns)};
        });
  table("Copies with pageable memory",
        {{"line", false}, {"call", false}, {"count"}, {"bytes"}, {"in call"}, {"transfer"}}, report.pageable_copies,
        limits.rows, out, [&](const CallSite& row) {
          const WaitFigures& figures = row.figures;
          return std::vector<Markup>{place_cell(report, row.where), code_cell(call_words(row)),
                                     count_cell(figures.calls),     bytes_cell(figures.bytes),
                                     time_cell(figures.host_ns),    time_or_dash(figures.device_ns)};
        });
}

void host_threads(const Report& report, const Limits& limits, HtmlOut& out) {
  table("Where threads slept outside of CUDA",
        {{"line", false}, {"thread", false}, {"in", false}, {"count"}, {"slept"}, {"longest"}, {"woken by", false}},
        report.host_waits, limits.rows, out, [&](const HostCallSite& site) {
          return std::vector<Markup>{place_cell(report, site.where),
                                     text_cell(thread_words(site.thread)),
                                     text_cell(site.call),
                                     count_cell(site.count),
                                     time_cell(site.slept_ns),
                                     time_cell(site.longest_ns),
                                     text_cell(thread_words(site.waker))};
        });
  table("Where samples found threads",
        {{"line", false}, {"thread", false}, {"samples"}, {"state", false}, {"in the kernel", false}}, report.samples,
        limits.rows, out, [&](const SampledLine& site) {
          return std::vector<Markup>{place_cell(report, site.where), text_cell(thread_words(site.thread)),
                                     count_cell(site.count), text_cell(site.state), code_cell(site.channel)};
        });
}

}  // namespace

void write_tables(const Report& report, const Limits& limits, HtmlOut& out) {
  waits(report, limits, out);
  polls(report, limits, out);
  ranges(report, limits, out);
  apis(report, limits, out);
  memory(report, limits, out);
  host_threads(report, limits, out);
  work(report, limits, out);
}

void write_losses(const Report& report, HtmlOut& out) {
  if (report.losses.empty()) return;
  out.add_markup("<h3>What could not be known</h3>\n<ul class=\"losses\">\n");
  for (const LossReport& loss : report.losses) {
    out.add("<li class=\"{}\"><b>{}</b>{}: {}</li>\n", severity_name(loss.severity), loss.name,
            loss.count == 1 ? std::string() : " (" + count_text(loss.count) + ")",
            Markup{html_text(loss.sentence, 600)});
  }
  out.add_markup("</ul>\n");
}

void write_foot(const Report& report, HtmlOut& out) {
  out.add("<p class=\"foot\">Trace <code>{}</code>, process {}", report.path, report.process_id);
  if (!report.rank.empty()) out.add(", rank {}", report.rank);
  if (!report.host.empty()) out.add(", on {}", report.host);
  out.add("; {}{}, level {}, {} window{} with a GPU timeline", recorded_text(report),
          report.recorded_ns > 0 ? " recorded" : "", report.level, report.windows.size(),
          report.windows.size() == 1 ? "" : "s");
  out.add("; {} pieces of overhead that CUPTI reports took {}", count_text(report.overhead_count),
          duration_text(report.overhead_ns));
  if (report.lossy_ns > 0) out.add("; {} may lack records", duration_text(report.lossy_ns));
  out.add_markup(".</p>\n");
}

}  // namespace synctrace::page
