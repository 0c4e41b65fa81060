// SPDX-License-Identifier: Apache-2.0
#include "names/native_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "format/trace_writer.h"
#include "model/load_trace.h"
#include "model/stacks.h"
#include "names/resolve_stack.h"
#include "names/source_lines.h"

namespace synctrace {
namespace {

constexpr std::string_view kNamesFact = "names";
constexpr std::string_view kNamesStored = "stored";

void write_symbol(const CodeAddress& address, const std::vector<ResolvedFrame>& frames, format::RecordBuffer& out) {
  // Nothing is known beyond what the address says itself.
  if (!frames.front().named && frames.front().file.empty()) return;
  for (std::size_t depth = 0; depth < std::min(frames.size(), kMostInlined); ++depth) {
    const ResolvedFrame& frame = frames[depth];
    format::Symbol symbol;
    symbol.module = address.module;
    symbol.address = address.address;
    symbol.depth = static_cast<std::uint32_t>(depth);
    symbol.flags = (frame.inlined ? format::Symbol::kInlined : 0) | (frame.named ? format::Symbol::kNamed : 0) |
                   (address.interrupted ? format::Symbol::kInterrupted : 0);
    symbol.line = frame.line;
    symbol.column = frame.column;
    if (frame.named) symbol.function = frame.function;
    symbol.file = frame.file;
    out.add(symbol);
  }
}

void write_losses(const LoadStats& losses, Nanoseconds time_ns, format::RecordBuffer& out) {
  for (const LoadStats::Counter& counter : losses.counters())
    out.add(format::Loss{time_ns, counter.name, counter.count});
}

// Every frame of every stack, each place in the code once.
template <class Python, class Native>
void each_place(const Trace& trace, Python python, Native native) {
  std::set<std::pair<std::uint32_t, std::int32_t>> codes;
  std::set<CodeAddress> addresses;
  for (const auto& [id, frames] : trace.stacks) {
    for (const StackFrame& frame : frames) {
      if (frame.kind == StackFrame::Kind::kPython && codes.emplace(frame.code, frame.offset_bytes).second)
        python(frame.code, frame.offset_bytes);
      if (frame.kind == StackFrame::Kind::kNative && addresses.insert(frame.native).second) native(frame.native);
    }
  }
}

}  // namespace

std::vector<ModuleQuestions> unnamed_addresses(const Trace& trace) {
  std::map<std::pair<std::string, std::string>, ModuleQuestions> by_file;
  each_place(
      trace, [](std::uint32_t, std::int32_t) {},
      [&](const CodeAddress& address) {
        const auto module = trace.modules.find(address.module);
        if (module == trace.modules.end() || trace.symbols.contains(address)) return;
        const auto& [path, build_id, bias, begin, end, file_offset, time_ns] = module->second;
        ModuleQuestions& questions = by_file[{path, build_id}];
        questions.module = {path, build_id, bias, begin, end, file_offset};
        questions.addresses.push_back(address);
      });
  std::vector<ModuleQuestions> all;
  for (auto& [file, questions] : by_file) {
    std::sort(questions.addresses.begin(), questions.addresses.end());
    all.push_back(std::move(questions));
  }
  return all;
}

std::vector<std::byte> look_up(const ModuleQuestions& questions, const SymbolizeOptions& options) {
  std::vector<NativeAddress> addresses;
  for (const CodeAddress& asked : questions.addresses) addresses.push_back({asked.address, !asked.interrupted});
  Symbolizer symbolizer(options);
  const auto answers = symbolizer.resolve(questions.module, addresses);
  format::RecordBuffer records;
  format::for_each_schema([&](const format::Schema& schema) { records.add(schema); });
  for (std::size_t i = 0; i < answers.size(); ++i) write_symbol(questions.addresses[i], answers[i], records);
  write_losses(symbolizer.losses(), 0, records);
  records.add(format::End{});
  const format::FileHeader header = format::make_file_header(0, 0);
  const auto head = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> bytes(head.begin(), head.end());
  const std::vector<std::byte> chunks = records.take();
  bytes.insert(bytes.end(), chunks.begin(), chunks.end());
  return bytes;
}

bool take_answer(std::vector<std::byte> answer, const ModuleQuestions& questions, Trace& trace, LoadStats& losses) {
  Result<Trace> loaded = load_trace_bytes(std::move(answer), questions.module.path);
  if (!loaded || loaded.value().end_reason.empty()) return false;
  for (const CodeAddress& address : questions.addresses) {
    const auto known = loaded.value().symbols.find(address);
    if (known != loaded.value().symbols.end()) trace.symbols.insert_or_assign(address, std::move(known->second));
  }
  for (const std::string_view name :
       {kLossSymbolsMissing, kLossSymbolsChanged, kLossSymbolsUnusable, kLossSymbolsUnverified, kLossSymbolsOutside}) {
    losses.add(name, loaded.value().stats.count(name));
  }
  return true;
}

void read_source_lines_of(Trace& trace, const SourceRoots& roots, LoadStats& losses) {
  std::set<FileLine> wanted;
  const auto want = [&](const ResolvedFrame& frame) {
    if (!frame.file.empty() && frame.line > 0 && wanted.size() < kMostSourceLines)
      wanted.insert({frame.file, frame.line});
  };
  each_place(
      trace,
      [&](std::uint32_t code, std::int32_t offset_bytes) {
        const auto known = trace.codes.find(code);
        if (known != trace.codes.end()) want(resolve_code(known->second, offset_bytes));
      },
      [&](const CodeAddress& address) {
        const auto known = trace.symbols.find(address);
        if (known != trace.symbols.end()) std::for_each(known->second.begin(), known->second.end(), want);
      });
  const std::vector<FileLine> lines(wanted.begin(), wanted.end());
  SourceTexts found =
      read_source_lines(lines, {std::string(fact(trace, "working_folder")), trace.start_realtime_ns, roots});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!found.texts[i].empty()) trace.source_lines.insert_or_assign(lines[i], std::move(found.texts[i]));
  }
  losses.add(kLossSourceChanged, found.changed_files);
  losses.add(kLossSourceOutside, found.outside_files);
}

bool has_names(const Trace& trace) noexcept { return fact(trace, kNamesFact) == kNamesStored; }

void write_names(const Trace& trace, const LoadStats& losses, format::RecordBuffer& out) {
  out.add(format::Fact{kNamesFact, kNamesStored});
  std::vector<CodeAddress> addresses;
  for (const auto& [address, frames] : trace.symbols) addresses.push_back(address);
  std::sort(addresses.begin(), addresses.end());
  for (const CodeAddress& address : addresses) write_symbol(address, trace.symbols.at(address), out);
  for (const auto& [line, text] : trace.source_lines) out.add(format::SourceLine{line.line, line.file, text});
  write_losses(losses, trace.last_ns, out);
}

}  // namespace synctrace
