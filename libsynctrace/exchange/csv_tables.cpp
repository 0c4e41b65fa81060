// SPDX-License-Identifier: Apache-2.0
#include "exchange/csv_tables.h"

#include <optional>
#include <string>
#include <unordered_map>

#include "base/shown_text.h"
#include "exchange/chrome_names.h"
#include "exchange/row_stacks.h"
#include "model/correlate.h"
#include "model/nvtx_ranges.h"
#include "timeline/in_order.h"

namespace synctrace {
namespace {

std::string quoted(std::string_view text) {
  std::string field = valid_text(text);
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  for (std::size_t at = field.find('"'); at != std::string::npos; at = field.find('"', at + 2))
    field.insert(at, 1, '"');
  return '"' + field + '"';
}

// A line under way.
class Line {
 public:
  template <class Number>
  requires std::is_integral_v<Number> Line& add(Number number) { return put(std::to_string(number)); }
  template <class Number>
  Line& add(const std::optional<Number>& number) {
    return number ? add(*number) : put("");
  }
  Line& add(std::string_view text) { return put(quoted(text)); }
  Line& add_quoted(std::string_view text) { return put(text); }
  void end(const TextSink& sink) {
    sink(text_ += '\n');
    text_.clear();
  }

 private:
  Line& put(std::string_view field) {
    if (any_) text_ += ',';
    any_ = true;
    text_ += field;
    return *this;
  }
  std::string text_;
  bool any_ = false;
};

std::string_view memory_word(MemoryKind kind) noexcept {
  constexpr std::array<std::string_view, 8> kWords = {"",      "pageable", "pinned",        "device",
                                                      "array", "managed",  "device-static", "managed-static"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kWords.size() ? kWords[index] : kWords[0];
}

std::string_view copy_word(CopyKind kind) noexcept {
  constexpr std::array<std::string_view, 11> kWords = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                       "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kWords.size() ? kWords[index] : kWords[0];
}

class Rows {
 public:
  Rows(const Trace& trace, bool stacks, const TextSink& sink)
      : trace_(trace), with_stacks_(stacks), sink_(sink), stacks_(trace, &quoted) {}

  void kernels() {
    const Correlation correlation(trace_);
    for (std::size_t row = 0; row < trace_.operations.size(); ++row) {
      const Operation& one = trace_.operations[row];
      if (one.kind != OperationKind::kKernel && one.kind != OperationKind::kGraph) continue;
      std::optional<Nanoseconds> issued;
      if (correlation.issuer_of(static_cast<std::uint32_t>(row)))
        issued = correlation.issued_ns(static_cast<std::uint32_t>(row));
      Line line = begin(one);
      line.add(issued).add(number(one.graph)).add_quoted(name(one)).end(sink_);
    }
  }

  void copies() {
    for (const Operation& one : trace_.operations) {
      if (one.kind != OperationKind::kCopy && one.kind != OperationKind::kMemset) continue;
      Line line = begin(one);
      line.add(one.kind == OperationKind::kCopy ? "copy" : "memset")
          .add(copy_word(one.copy_kind))
          .add(memory_word(one.source_memory));
      line.add(memory_word(one.target_memory)).add(one.bytes).end(sink_);
    }
  }

  void calls() {
    in_order([this](const auto& call) { write(call); }, trace_.calls, trace_.launches, trace_.polls);
  }

  void ranges() {
    for (const NvtxRange& range : nvtx_ranges(trace_)) {
      const auto text = trace_.strings.find(range.text);
      const auto domain = trace_.nvtx_domains.find(range.domain);
      Line line;
      line.add(trace_.process_id)
          .add(number(range.thread))
          .add(range.span.begin_ns)
          .add(range.span.length_ns())
          .add(range.depth);
      line.add(range.pushed ? "pushed" : "started").add(range.open ? 0 : 1);
      line.add(domain == trace_.nvtx_domains.end() ? std::string_view() : std::string_view(domain->second));
      line.add(text == trace_.strings.end() ? std::string_view() : std::string_view(text->second)).end(sink_);
    }
  }

 private:
  Line begin(const Operation& one) const {
    Line line;
    line.add(trace_.process_id).add(number(one.device)).add(number(one.context)).add(number(one.stream));
    line.add(one.span.begin_ns).add(one.span.length_ns()).add(number(one.correlation));
    return line;
  }

  void write(const Call& call) { write(call, number(call.correlation), call.bytes, call.status, 1); }
  void write(const Launch& launch) {
    write(launch, number(launch.correlation), std::uint64_t{0}, status_of(trace_, launch), 1);
  }
  void write(const Poll& poll) { write(poll, 0U, std::uint64_t{0}, 0U, poll.count); }

  template <class Row>
  void write(const Row& row, std::uint32_t correlation, std::uint64_t bytes, std::uint32_t status,
             std::uint64_t count) {
    const auto thread = trace_.threads.find(row.thread);
    Line line;
    line.add(trace_.process_id)
        .add(number(row.thread))
        .add(thread == trace_.threads.end() ? std::string_view() : std::string_view(thread->second));
    line.add(row.span.begin_ns)
        .add(row.span.length_ns())
        .add(correlation)
        .add(bytes)
        .add(status)
        .add(count)
        .add(api_name(trace_, row.api));
    if (with_stacks_) line.add_quoted(stacks_.of(row.stack));
    line.end(sink_);
  }

  const std::string& name(const Operation& operation) {
    const auto [entry, is_new] = names_.try_emplace(timeline::slice_name(operation));
    if (is_new) entry->second = quoted(chrome::kineto_name(trace_, entry->first));
    return entry->second;
  }

  const Trace& trace_;
  const bool with_stacks_;
  const TextSink& sink_;
  std::unordered_map<timeline::SliceName, std::string> names_;
  RowStacks stacks_;
};

}  // namespace

void write_csv_head(CsvTable table, bool stacks, const TextSink& sink) {
  switch (table) {
    case CsvTable::kKernels:
      return sink("process,device,context,stream,begin_ns,duration_ns,correlation,issued_ns,graph,name\n");
    case CsvTable::kCopies:
      return sink("process,device,context,stream,begin_ns,duration_ns,correlation,what,kind,source,target,bytes\n");
    case CsvTable::kCalls:
      sink("process,thread,thread_name,begin_ns,duration_ns,correlation,bytes,status,count,function");
      return sink(stacks ? ",stack\n" : "\n");
    case CsvTable::kRanges: return sink("process,thread,begin_ns,duration_ns,depth,kind,ended,domain,text\n");
  }
}

void write_csv_rows(CsvTable table, const Trace& trace, bool stacks, const TextSink& sink) {
  Rows rows(trace, stacks, sink);
  switch (table) {
    case CsvTable::kKernels: return rows.kernels();
    case CsvTable::kCopies: return rows.copies();
    case CsvTable::kCalls: return rows.calls();
    case CsvTable::kRanges: return rows.ranges();
  }
}

}  // namespace synctrace
