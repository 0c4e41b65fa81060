// SPDX-License-Identifier: Apache-2.0
#include "exchange/nsys_database.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/shown_text.h"
#include "exchange/chrome_names.h"
#include "exchange/nsys_schema.h"
#include "exchange/sqlite.h"
#include "exchange/timeline_rows.h"
#include "model/wall_clock.h"
#include "names/resolve_stack.h"
#include "timeline/rows.h"

namespace synctrace {
namespace {

using timeline::Row;
using timeline::SliceKind;
using timeline::SliceName;
using timeline::Table;

std::string insertion(std::string_view table, int columns) {
  std::string sql = "INSERT INTO " + std::string(table) + " VALUES (?";
  for (int i = 1; i < columns; ++i) sql += ",?";
  return sql + ")";
}

// "void at::native::fill<float>(int)" -> "fill": without result, scope, template and parameters.
std::string short_name(std::string_view name) {
  std::string plain;
  std::size_t depth = 0;
  for (const char c : name) {
    if (c == '>' && depth > 0)
      --depth;
    else if (c == '<')
      ++depth;
    else if (depth == 0)
      plain += c;
  }
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t at = plain.find(kAnonymous); at != std::string::npos; at = plain.find(kAnonymous))
    plain.erase(at, kAnonymous.size());
  plain.resize(std::min(plain.find('('), plain.size()));
  const std::size_t last = plain.find_last_of(": ");
  if (last != std::string::npos) plain.erase(0, last + 1);
  return plain.empty() ? std::string(name) : plain;
}

struct NsysState {
  NsysState(ExportOptions with, const std::string& path)
      : options(std::move(with)), database(path, Sqlite::Access::kCreate) {}
  ExportOptions options;
  Sqlite database;
  std::unordered_map<std::string, std::int64_t> strings;
  std::int64_t stacks = 0;  // written so far
  NumberPool processes;
};

// The rows of one process.
class ProcessRows {
 public:
  ProcessRows(const Trace& trace, NsysState& state)
      : trace_(trace),
        state_(state),
        database_(state.database),
        rows_(trace),
        shift_ns_(clock_lead_ns(trace) - state.options.base_ns),
        pid_(static_cast<std::uint32_t>(state.processes.claim(trace.process_id))),
        process_(nsys::global_process(pid_)) {}

  void write() {
    facts();
    places();
    for (const auto& [id, name] : trace_.nvtx_domains)
      add_range({trace_.first_ns, std::nullopt, nsys::kDomainCreate, std::nullopt, ThreadId{}, id}, name);
    rows_.for_each([this](const Row& row) { write(row); });
  }

 private:
  struct Range {
    Nanoseconds begin_ns = 0;
    std::optional<Nanoseconds> end_ns;
    std::int64_t type = 0;
    std::optional<std::uint64_t> id;
    ThreadId thread{};
    NvtxDomainId domain{};
  };

  void facts();
  void places();
  void write(const Row& row);
  void add_range(const Range& range, std::string_view text);
  void add_range(const Row& row);
  void add_call(const Row& row, CorrelationId correlation, std::uint32_t status, StackId stack);
  void add_operation(const Row& row, const Operation& one);

  Nanoseconds at(Nanoseconds t) const noexcept { return t + shift_ns_; }
  std::int64_t thread(ThreadId id) const noexcept { return nsys::global_thread(pid_, id); }
  std::int64_t thread(const Row& row) const noexcept { return thread(ThreadId{row.lane.owner}); }
  std::int64_t string_id(std::string_view text);
  std::int64_t name_id(SliceName name);
  void call_about_events(const Call& call);
  std::optional<std::int64_t> event_id(std::uint64_t handle);
  std::optional<std::int64_t> callchain(StackId stack);

  struct KernelNames {
    std::int64_t full = 0;
    std::int64_t brief = 0;
    std::int64_t mangled = 0;
  };
  const KernelNames& names_of(const Operation& kernel, SliceName name);

  const Trace& trace_;
  NsysState& state_;
  Sqlite& database_;
  timeline::Rows rows_;
  Nanoseconds shift_ns_ = 0;
  std::uint32_t pid_ = 0;  // another one where two traces have the same
  std::int64_t process_ = 0;
  std::uint64_t free_ranges_ = 0;
  SqliteStatement string_{database_, insertion("StringIds", 2)};
  SqliteStatement call_{database_, insertion("CUPTI_ACTIVITY_KIND_RUNTIME", 8)};
  SqliteStatement frame_{database_, insertion("CUDA_CALLCHAINS", 10)};
  SqliteStatement sync_{database_, insertion("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", 12)};
  SqliteStatement event_{database_, insertion("CUPTI_ACTIVITY_KIND_CUDA_EVENT", 7)};
  SqliteStatement wait_{database_, insertion("OSRT_API", 9)};
  SqliteStatement overhead_{database_, insertion("PROFILER_OVERHEAD", 6)};
  SqliteStatement kernel_{database_, insertion("CUPTI_ACTIVITY_KIND_KERNEL", 28)};
  SqliteStatement copy_{database_, insertion("CUPTI_ACTIVITY_KIND_MEMCPY", 21)};
  SqliteStatement memset_{database_, insertion("CUPTI_ACTIVITY_KIND_MEMSET", 12)};
  SqliteStatement graph_{database_, insertion("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", 10)};
  SqliteStatement range_{database_, insertion("NVTX_EVENTS", 20)};
  std::unordered_map<SliceName, std::int64_t> names_;
  std::unordered_map<StringId, KernelNames> kernels_;
  std::unordered_map<StackId, std::int64_t> stacks_;
  std::unordered_map<std::uint64_t, std::int64_t> events_;
};

std::int64_t ProcessRows::string_id(std::string_view text) {
  const auto [entry, is_new] =
      state_.strings.try_emplace(std::string(text), static_cast<std::int64_t>(state_.strings.size() + 1));
  if (is_new) string_.insert(entry->second, valid_text(text));
  return entry->second;
}

std::int64_t ProcessRows::name_id(SliceName name) {
  const auto [entry, is_new] = names_.try_emplace(name, 0);
  if (is_new) entry->second = string_id(chrome::kineto_name(trace_, name));
  return entry->second;
}

const ProcessRows::KernelNames& ProcessRows::names_of(const Operation& kernel, SliceName name) {
  const auto [entry, is_new] = kernels_.try_emplace(kernel.name);
  if (is_new) {
    const std::string full = chrome::kineto_name(trace_, name);
    // A mangled name that is missing reads as a range's would.
    entry->second = {string_id(full), string_id(short_name(full)),
                     name_id(timeline::slice_name(SliceKind::kRange, number(kernel.name)))};
  }
  return entry->second;
}

void ProcessRows::facts() {
  SqliteStatement capture(database_, insertion("META_DATA_CAPTURE", 2));
  for (const auto& [key, value] : trace_.facts) capture.insert(valid_text(key), valid_text(value));
  SqliteStatement process(database_, insertion("PROCESSES", 3));
  process.insert(process_, pid_, valid_text(fact(trace_, "program")));
  SqliteStatement named(database_, insertion("ThreadNames", 3));
  for (const auto& [id, name] : trace_.threads) {
    if (!name.empty()) named.insert(string_id(name), SqlNull{}, thread(id));
  }
}

void ProcessRows::places() {
  SqliteStatement gpu(database_, insertion("TARGET_INFO_GPU", 9));
  SqliteStatement device_row(database_, insertion("TARGET_INFO_CUDA_DEVICE", 5));
  for (const auto& [id, device] : trace_.devices) {
    const std::string name = valid_text(device.name);
    const std::string uuid = valid_text(device.uuid);
    gpu.insert(0, number(id), name, device.memory_bytes, device.multiprocessors, uuid, number(id),
               device.capability_major, device.capability_minor);
    device_row.insert(number(id), number(id), pid_, uuid, device.multiprocessors);
  }
  SqliteStatement context_row(database_, insertion("TARGET_INFO_CUDA_CONTEXT_INFO", 6));
  for (const auto& [id, context] : trace_.contexts) {
    context_row.insert(number(context.null_stream), 0, 0, pid_, number(context.device), number(id));
  }
  SqliteStatement stream_row(database_, insertion("TARGET_INFO_CUDA_STREAM", 7));
  for (const auto& [key, stream] : trace_.streams) {
    const bool non_blocking = (stream.flags & format::Stream::kNonBlocking) != 0;
    stream_row.insert(number(key.stream), 0, 0, pid_, number(key.context), stream.priority, non_blocking ? 1 : 0);
  }
}

std::optional<std::int64_t> ProcessRows::callchain(StackId stack) {
  if (!state_.options.stacks || number(stack) == 0) return std::nullopt;
  const auto [entry, is_new] = stacks_.try_emplace(stack, 0);
  if (!is_new) return entry->second;
  entry->second = ++state_.stacks;
  std::int64_t depth = 0;
  for (const ResolvedFrame& frame : resolve_stack(trace_, stack)) {
    const std::string place = frame.file.empty() ? frame.module : frame.file + ":" + std::to_string(frame.line);
    const std::string_view function = frame.kind == FrameKind::kMissing ? ".." : std::string_view(frame.function);
    frame_.insert(entry->second, string_id(function), string_id(place), 0, 0, frame.named ? 0 : 1, 0, 0, SqlNull{},
                  depth++);
  }
  return entry->second;
}

std::optional<std::int64_t> ProcessRows::event_id(std::uint64_t handle) {
  if (handle == 0) return std::nullopt;
  return events_.try_emplace(handle, static_cast<std::int64_t>(events_.size() + 1)).first->second;
}

void ProcessRows::call_about_events(const Call& call) {
  constexpr SqlNull kNone{};
  const auto found = trace_.contexts.find(call.context);
  const std::uint32_t device = found == trace_.contexts.end() ? 0 : number(found->second.device);
  const auto context = number(call.context);
  const auto stream = number(call.stream);
  const auto correlation = number(call.correlation);
  const auto wait = [&](std::int64_t kind, std::optional<std::int64_t> id) {
    sync_.insert(at(call.span.begin_ns), at(call.span.end_ns), device, context, kNone, stream, correlation, process_,
                 kind, kind, id, kNone);
  };
  switch (call.category) {
    case ApiCategory::kStreamSync: return wait(nsys::kStreamSync, std::nullopt);
    case ApiCategory::kDeviceSync: return wait(nsys::kContextSync, std::nullopt);
    case ApiCategory::kEventSync: return wait(nsys::kEventSync, event_id(call.object));
    case ApiCategory::kStreamEvent:
      if (const auto id = event_id(call.object))
        event_.insert(device, context, kNone, stream, correlation, process_, *id);
      return;
    default: return;
  }
}

void ProcessRows::write(const Row& row) {
  constexpr std::int64_t kOsrtClass = 27;
  const Nanoseconds begin = at(row.span.begin_ns);
  const Nanoseconds end = at(row.span.end_ns);
  switch (row.table) {
    case Table::kExchanges:
    case Table::kWindows: return;
    case Table::kRanges:
    case Table::kMarks: return add_range(row);
    case Table::kCalls: {
      const Call& call = trace_.calls[row.index];
      add_call(row, call.correlation, call.status, call.stack);
      return call_about_events(call);
    }
    case Table::kLaunches: {
      const Launch& launch = trace_.launches[row.index];
      return add_call(row, launch.correlation, status_of(trace_, launch), launch.stack);
    }
    case Table::kPolls: return add_call(row, CorrelationId{}, 0, trace_.polls[row.index].stack);
    case Table::kHostWaits:
      wait_.insert(begin, end, kOsrtClass, thread(row), SqlNull{}, name_id(row.name), 0, 0,
                   callchain(trace_.host_waits[row.index].stack));
      return;
    case Table::kOverheads: overhead_.insert(begin, end, thread(row), SqlNull{}, name_id(row.name), 0); return;
    case Table::kOperations: return add_operation(row, trace_.operations[row.index]);
  }
}

void ProcessRows::add_call(const Row& row, CorrelationId correlation, std::uint32_t status, StackId stack) {
  const bool is_driver = timeline::number_of(row.name) >> 24 == static_cast<std::uint32_t>(format::ApiDomain::kDriver);
  call_.insert(at(row.span.begin_ns), at(row.span.end_ns), is_driver ? nsys::kDriverClass : nsys::kRuntimeClass,
               thread(row), number(correlation), name_id(row.name), status, callchain(stack));
}

void ProcessRows::add_operation(const Row& row, const Operation& one) {
  constexpr SqlNull kNone{};
  const Nanoseconds begin = at(one.span.begin_ns);
  const Nanoseconds end = at(one.span.end_ns);
  const auto device = number(one.device);
  const auto context = number(one.context);
  const auto stream = number(one.stream);
  const auto correlation = number(one.correlation);
  const SqlUnlessZero node{number(one.graph)};
  switch (one.kind) {
    case OperationKind::kKernel: {
      const KernelNames& names = names_of(one, row.name);
      kernel_.insert(begin, end, device, context, kNone, stream, correlation, process_, names.full, names.brief,
                     names.mangled, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone,
                     kNone, kNone, kNone, node, kNone);
      break;
    }
    case OperationKind::kCopy:
      copy_.insert(begin, end, device, context, kNone, stream, correlation, process_, one.bytes, number(one.copy_kind),
                   kNone, nsys::memory_number(one.source_memory), nsys::memory_number(one.target_memory), kNone, kNone,
                   kNone, kNone, kNone, node, kNone, 1);
      break;
    case OperationKind::kMemset:
      memset_.insert(begin, end, device, context, kNone, stream, correlation, process_, kNone, one.bytes, node,
                     nsys::memory_number(one.target_memory));
      break;
    case OperationKind::kGraph:
      graph_.insert(begin, end, device, context, kNone, stream, correlation, process_, number(one.graph),
                    number(one.graph));
      break;
  }
}

// The text is there twice, because scripts look for it in either column.
void ProcessRows::add_range(const Range& range, std::string_view text) {
  constexpr SqlNull kNone{};
  std::optional<Nanoseconds> end = range.end_ns;
  if (end) end = at(*end);
  range_.insert(at(range.begin_ns), end, range.type, range.id, kNone, kNone, valid_text(text), thread(range.thread),
                kNone, string_id(text), number(range.domain), kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone,
                kNone);
}

void ProcessRows::add_range(const Row& row) {
  const std::string text = timeline::slice_text(trace_, row.name);
  const ThreadId owner{row.lane.owner};
  if (row.table == Table::kMarks)
    return add_range(
        {row.span.begin_ns, std::nullopt, nsys::kMark, std::nullopt, owner, trace_.nvtx_events[row.index].domain},
        text);
  const NvtxRange& range = rows_.ranges()[row.index];
  const std::optional<Nanoseconds> end = range.open ? std::nullopt : std::optional(range.span.end_ns);
  if (range.pushed)
    add_range({range.span.begin_ns, end, nsys::kPushPop, std::nullopt, owner, range.domain}, text);
  else
    add_range({range.span.begin_ns, end, nsys::kStartEnd, ++free_ranges_, owner, range.domain}, text);
}

}  // namespace

struct NsysDatabase::State : NsysState {
  using NsysState::NsysState;
};

NsysDatabase::NsysDatabase(ExportOptions options, const std::string& path)
    : state_(std::make_unique<State>(std::move(options), path)) {
  Sqlite& database = state_->database;
  // A file that was not finished is thrown away: nothing needs to survive a crash.
  database.run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA encoding='UTF-8'; BEGIN");
  database.run(nsys::kTables);
  SqliteStatement meta(database, insertion("META_DATA_EXPORT", 2));
  const auto say = [&](std::string_view name, std::string_view value) { meta.insert(name, value); };
  say("EXPORT_PRODUCT_NAME", "synctrace");
  say("EXPORT_SCHEMA_VERSION", "3.15.0");
  say("EXPORT_NAME", state_->options.name);
  SqliteStatement start(database, insertion("TARGET_INFO_SESSION_START_TIME", 3));
  start.insert(state_->options.base_ns, SqlNull{}, SqlNull{});
}

NsysDatabase::~NsysDatabase() = default;

void NsysDatabase::add(const Trace& trace, const RankLane*) { ProcessRows(trace, *state_).write(); }

std::optional<Error> NsysDatabase::finish() {
  state_->database.run("COMMIT");
  return state_->database.error();
}

}  // namespace synctrace
