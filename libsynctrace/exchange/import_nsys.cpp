// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "contract/recording_limits.h"
#include "exchange/import_trace.h"
#include "exchange/nsys_schema.h"
#include "exchange/sqlite.h"
#include "exchange/sqlite_layout.h"
#include "exchange/trace_draft.h"

namespace synctrace {
namespace {

template <class Id>
Id id_of(std::int64_t value) noexcept {
  return value >= 0 && value <= std::numeric_limits<std::uint32_t>::max() ? static_cast<Id>(value) : Id{};
}

std::uint32_t process_of(std::int64_t global) noexcept { return static_cast<std::uint32_t>(global >> 24 & 0xff'ffff); }
ThreadId thread_of(std::int64_t global) noexcept { return static_cast<ThreadId>(global & 0xff'ffff); }

HostCall host_call(std::string_view name) noexcept {
  using Entry = std::pair<std::string_view, HostCall>;
  constexpr std::array kCalls = {
      Entry{"pthread_cond_", HostCall::kCondition},
      Entry{"sem_", HostCall::kSemaphore},
      Entry{"futex", HostCall::kFutex},
      Entry{"poll", HostCall::kPoll},
      Entry{"ppoll", HostCall::kPoll},
      Entry{"epoll_", HostCall::kEpoll},
      Entry{"read", HostCall::kRead},
      Entry{"munmap", HostCall::kMunmap},
      Entry{"pthread_join", HostCall::kJoin},
      Entry{"nanosleep", HostCall::kSleep},
      Entry{"usleep", HostCall::kSleep},
      Entry{"sleep", HostCall::kSleep},
      Entry{"clock_nanosleep", HostCall::kSleep},
      Entry{"select", HostCall::kSelect},
      Entry{"pselect", HostCall::kSelect},
      Entry{"pthread_mutex_", HostCall::kMutex},
  };
  const auto* const found =
      std::find_if(kCalls.begin(), kCalls.end(), [&](const Entry& entry) { return name.starts_with(entry.first); });
  return found == kCalls.end() ? HostCall::kUnknown : found->second;
}

class NsysImport {
 public:
  NsysImport(const std::string& path, std::optional<std::uint32_t> process)
      : path_(path), wanted_(process), database_(path, Sqlite::Access::kRead), layout_(database_) {}

  Result<Trace> run();

 private:
  std::optional<Error> choose_process();
  void read_names();
  void read_places();
  void read_chains();
  void read_calls();
  void read_targets();
  void read_work();
  void read_ranges();
  void read_host_waits();
  void state_what_is_missing();

  // The rows of a table, until there are too many of all.
  template <class Visit>
  void each(const std::string& table, std::initializer_list<std::string_view> columns, const Visit& visit) {
    if (!layout_.has(table)) return;
    SqliteStatement rows(database_, layout_.selection(table, columns));
    while (rows_ <= kMostImportedRows && rows.next()) {
      ++rows_;
      visit(rows);
    }
  }

  // Columns 0 and 1; nothing, and a count, where no clock can have shown them.
  std::optional<TimeSpan> span_of(const SqliteStatement& row) {
    const TimeSpan span{row.number(0), row.number(1)};
    const bool possible = -TraceDraft::kFarthestTime <= span.begin_ns && span.begin_ns <= span.end_ns &&
                          span.end_ns <= TraceDraft::kFarthestTime;
    if (possible) return span;
    draft_.lose(kLossImportBadEvents);
    return std::nullopt;
  }
  bool is_ours(const SqliteStatement& row, int column) const {
    return !row.has(column) || process_of(row.number(column)) == process_;
  }
  std::string_view string(std::int64_t id) const {
    const auto found = strings_.find(id);
    return found == strings_.end() ? std::string_view() : std::string_view(found->second);
  }

  const std::string& path_;
  std::optional<std::uint32_t> wanted_;
  Sqlite database_;
  SqliteLayout layout_;
  TraceDraft draft_;
  std::uint32_t process_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t calls_ = 0;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::unordered_map<std::int64_t, StackId> chains_;
  Nanoseconds session_start_ns_ = 0;
};

// One trace is of one process.
std::optional<Error> NsysImport::choose_process() {
  std::set<std::uint32_t> processes;
  for (const auto& [table, column] :
       {std::pair("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid"), std::pair("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid")}) {
    if (!layout_.has(table)) continue;
    const std::string& global = layout_.column(table, column);
    std::string query = "SELECT DISTINCT (";
    query.append(global).append(" >> 24) & 16777215 FROM ").append(table);
    query.append(" WHERE ").append(global).append(" IS NOT NULL LIMIT 64");
    SqliteStatement rows(database_, query);
    while (rows.next()) processes.insert(static_cast<std::uint32_t>(rows.number(0)));
  }
  if (wanted_ && !processes.contains(*wanted_))
    return Error{path_ + " holds no CUDA calls of process " + std::to_string(*wanted_)};
  if (!wanted_ && processes.size() > 1) {
    std::string list;
    for (const std::uint32_t process : processes) list += (list.empty() ? "" : ", ") + std::to_string(process);
    return Error{path_ + " holds CUDA calls of several processes (" + list + "): name one with --process"};
  }
  process_ = wanted_.value_or(processes.empty() ? 0 : *processes.begin());
  return std::nullopt;
}

void NsysImport::read_names() {
  each("StringIds", {"id", "value"},
       [&](const SqliteStatement& row) { strings_.insert_or_assign(row.number(0), std::string(row.text(1))); });
  Trace& trace = draft_.trace();
  trace.process_id = process_;
  trace.facts["pid"] = std::to_string(process_);
  trace.facts["level"] = "timeline";
  trace.facts["imported_from"] = "nsys";
  trace.facts["names"] = "stored";  // there is nothing to look up
  each("PROCESSES", {"pid", "name"}, [&](const SqliteStatement& row) {
    if (row.number(0) != process_ || row.text(1).empty()) return;
    const std::string_view name = row.text(1);
    trace.facts["program"] = name.substr(name.rfind('/') + 1);
    trace.facts["command_line"] = name;
  });
  each("ThreadNames", {"globalTid", "nameId"}, [&](const SqliteStatement& row) {
    if (is_ours(row, 0)) trace.threads[thread_of(row.number(0))] = string(row.number(1));
  });
  each("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"},
       [&](const SqliteStatement& row) { session_start_ns_ = row.number(0); });
}

void NsysImport::read_places() {
  Trace& trace = draft_.trace();
  const auto small = [](std::int64_t value) {
    return value < 0 || value > 1 << 30 ? 0U : static_cast<std::uint32_t>(value);
  };
  std::map<std::int64_t, Device> gpus;
  each("TARGET_INFO_GPU", {"id", "name", "uuid", "computeMajor", "computeMinor", "smCount", "totalMemory"},
       [&](const SqliteStatement& row) {
         gpus[row.number(0)] = {
             std::string(row.text(1)), std::string(row.text(2)),
             small(row.number(3)),     small(row.number(4)),
             small(row.number(5)),     static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.number(6)))};
       });
  // The number of a device in its process, where the file has it; else its number in the machine.
  each("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"}, [&](const SqliteStatement& row) {
    const auto gpu = gpus.find(row.number(0));
    if (row.number(2) == process_ && gpu != gpus.end()) trace.devices[id_of<DeviceId>(row.number(1))] = gpu->second;
  });
  if (trace.devices.empty()) {
    for (const auto& [id, gpu] : gpus) trace.devices[id_of<DeviceId>(id)] = gpu;
  }
  each("TARGET_INFO_CUDA_CONTEXT_INFO", {"contextId", "deviceId", "nullStreamId", "processId"},
       [&](const SqliteStatement& row) {
         if (!row.has(3) || row.number(3) == process_)
           trace.contexts[id_of<ContextId>(row.number(0))] = {id_of<DeviceId>(row.number(1)),
                                                              id_of<StreamId>(row.number(2))};
       });
  each("TARGET_INFO_CUDA_STREAM", {"contextId", "streamId", "flag", "priority", "processId"},
       [&](const SqliteStatement& row) {
         if (row.has(4) && row.number(4) != process_) return;
         const ContextId context = id_of<ContextId>(row.number(0));
         const StreamId stream = id_of<StreamId>(row.number(1));
         const auto known = trace.contexts.find(context);
         const bool is_default = known != trace.contexts.end() && known->second.null_stream == stream;
         const std::uint32_t flags =
             (row.number(2) == 1 ? format::Stream::kNonBlocking : 0) | (is_default ? format::Stream::kDefault : 0);
         trace.streams[{context, stream}] = {
             flags, static_cast<std::int32_t>(std::clamp<std::int64_t>(row.number(3), -1000, 1000))};
       });
}

// Frames come innermost first. A function of Python has its file, and perhaps a line behind it, for a module.
void NsysImport::read_chains() {
  std::map<std::int64_t, std::map<std::int64_t, std::uint32_t>> chains;
  each("CUDA_CALLCHAINS", {"id", "stackDepth", "symbol", "module"}, [&](const SqliteStatement& row) {
    const std::string_view module = string(row.number(3));
    const std::string_view function = string(row.number(2));
    const std::size_t colon = module.rfind(':');
    std::int32_t line = 0;
    if (colon != std::string_view::npos)
      std::from_chars(module.data() + colon + 1, module.data() + module.size(), line);
    const std::string_view file = line > 0 ? module.substr(0, colon) : module;
    const bool is_python = file.ends_with(".py");
    DraftStacks& stacks = draft_.stacks();
    chains[row.number(0)][row.number(1)] =
        is_python ? stacks.python_frame(file, line, function) : stacks.native_frame(function, file);
  });
  for (const auto& [id, frames] : chains) {
    std::vector<std::uint32_t> stack;
    for (const auto& [depth, frame] : frames) stack.push_back(frame);
    chains_[id] = draft_.stacks().stack_of(stack);
  }
}

void NsysImport::read_calls() {
  each("CUPTI_ACTIVITY_KIND_RUNTIME",
       {"start", "end", "globalTid", "correlationId", "nameId", "returnValue", "callchainId", "eventClass"},
       [&](const SqliteStatement& row) {
         const auto span = span_of(row);
         if (!span || !is_ours(row, 2)) return;
         const std::string_view name = string(row.number(4));
         const bool is_driver = row.number(7) == nsys::kDriverClass || !name.starts_with("cuda");
         Call call;
         call.span = *span;
         call.thread = thread_of(row.number(2));
         call.api = draft_.api(is_driver ? format::ApiDomain::kDriver : format::ApiDomain::kRuntime, 0, name);
         call.correlation = id_of<CorrelationId>(row.number(3));
         call.status = id_of<std::uint32_t>(row.number(5));
         if (const auto chain = chains_.find(row.number(6)); row.has(6) && chain != chains_.end())
           call.stack = chain->second;
         draft_.add_call(call);
         ++calls_;
       });
}

// What calls about events and streams are about.
void NsysImport::read_targets() {
  const auto take = [&](const SqliteStatement& row) {
    if (!is_ours(row, 4)) return;
    const StreamKey stream{id_of<ContextId>(row.number(1)), id_of<StreamId>(row.number(2))};
    draft_.set_target(id_of<CorrelationId>(row.number(0)), stream, static_cast<std::uint64_t>(row.number(3)));
  };
  each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"correlationId", "contextId", "streamId", "eventId", "globalPid"}, take);
  each("CUPTI_ACTIVITY_KIND_CUDA_EVENT", {"correlationId", "contextId", "streamId", "eventId", "globalPid"}, take);
}

void NsysImport::read_work() {
  const auto begin = [&](const SqliteStatement& row) -> std::optional<Operation> {
    const auto span = span_of(row);
    if (!span || !is_ours(row, 6)) return std::nullopt;
    Operation one;
    one.span = *span;
    one.device = id_of<DeviceId>(row.number(2));
    one.context = row.has(3) ? id_of<ContextId>(row.number(3)) : static_cast<ContextId>(number(one.device) + 1);
    one.stream = id_of<StreamId>(row.number(4));
    one.correlation = id_of<CorrelationId>(row.number(5));
    return one;
  };
  each("CUPTI_ACTIVITY_KIND_KERNEL",
       {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "mangledName",
        "demangledName", "shortName"},
       [&](const SqliteStatement& row) {
         auto one = begin(row);
         if (!one) return;
         for (int column = 7; column <= 9 && number(one->name) == 0; ++column) {
           if (const std::string_view name = string(row.number(column)); !name.empty()) one->name = draft_.text(name);
         }
         draft_.add_operation(*one);
       });
  each("CUPTI_ACTIVITY_KIND_MEMCPY",
       {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes", "copyKind",
        "srcKind", "dstKind"},
       [&](const SqliteStatement& row) {
         auto one = begin(row);
         if (!one) return;
         one->kind = OperationKind::kCopy;
         one->bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.number(7)));
         if (row.number(8) > 0 && row.number(8) <= 10) one->copy_kind = static_cast<CopyKind>(row.number(8));
         one->source_memory = row.has(9) ? nsys::memory_kind(row.number(9)) : MemoryKind::kUnknown;
         one->target_memory = row.has(10) ? nsys::memory_kind(row.number(10)) : MemoryKind::kUnknown;
         draft_.add_operation(*one);
       });
  each("CUPTI_ACTIVITY_KIND_MEMSET",
       {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes", "memKind"},
       [&](const SqliteStatement& row) {
         auto one = begin(row);
         if (!one) return;
         one->kind = OperationKind::kMemset;
         one->bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.number(7)));
         one->target_memory = row.has(8) ? nsys::memory_kind(row.number(8)) : MemoryKind::kUnknown;
         draft_.add_operation(*one);
       });
  each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
       {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId"},
       [&](const SqliteStatement& row) {
         auto one = begin(row);
         if (!one) return;
         one->kind = OperationKind::kGraph;
         one->graph = id_of<GraphId>(row.number(7));
         draft_.add_operation(*one);
       });
}

void NsysImport::read_ranges() {
  each("NVTX_EVENTS", {"start", "end", "eventType", "globalTid", "domainId", "text", "textId"},
       [&](const SqliteStatement& row) {
         if (!is_ours(row, 3)) return;
         const NvtxDomainId domain = id_of<NvtxDomainId>(row.number(4));
         const std::string_view text = row.has(5) ? row.text(5) : string(row.number(6));
         const std::int64_t type = row.number(2);
         if (type == nsys::kDomainCreate) draft_.trace().nvtx_domains[domain] = text;
         if (type == nsys::kMark && -TraceDraft::kFarthestTime <= row.number(0) &&
             row.number(0) <= TraceDraft::kFarthestTime)
           draft_.add_mark(thread_of(row.number(3)), row.number(0), draft_.text(text), domain);
         if ((type != nsys::kPushPop && type != nsys::kStartEnd) || !row.has(1)) return;
         if (const auto span = span_of(row))
           draft_.add_range(thread_of(row.number(3)), *span, draft_.text(text), domain, type == nsys::kPushPop);
       });
}

void NsysImport::read_host_waits() {
  each("OSRT_API", {"start", "end", "globalTid", "nameId", "callchainId"}, [&](const SqliteStatement& row) {
    const auto span = span_of(row);
    const HostCall call = host_call(string(row.number(3)));
    if (!span || !is_ours(row, 2) || call == HostCall::kUnknown || span->length_ns() < format::kShortestHostWaitNs)
      return;
    HostWait wait;
    wait.span = *span;
    wait.thread = thread_of(row.number(2));
    wait.call = call;
    draft_.add_host_wait(wait);
  });
}

void NsysImport::state_what_is_missing() {
  std::string missing;
  std::uint64_t count = 0;
  for (const char* const table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS",
                                  "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"}) {
    if (layout_.has(table)) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(table);
    ++count;
  }
  if (count > 0) draft_.trace().facts["import_missing_tables"] = missing;
  draft_.lose(kLossImportNoTable, count);
  if (!layout_.has("OSRT_API")) draft_.lose(kLossImportNoHostWaits);
  if (!layout_.has("CUPTI_ACTIVITY_KIND_CUDA_EVENT")) draft_.lose(kLossImportNoWaitedObjects);
  if (chains_.empty()) draft_.lose(kLossImportNoStacks, calls_);
}

Result<Trace> NsysImport::run() {
  if (database_.failed()) return *database_.error();
  if (const auto error = choose_process()) return *error;
  read_names();
  read_places();
  read_chains();
  read_calls();
  read_targets();
  read_work();
  read_ranges();
  read_host_waits();
  if (database_.failed()) return *database_.error();
  if (rows_ > kMostImportedRows)
    return Error{path_ + " holds more than " + std::to_string(kMostImportedRows) + " rows; record less"};
  if (!draft_.has_cuda()) {
    return Error{
        path_ +
        " holds no CUDA calls and no GPU work (table CUPTI_ACTIVITY_KIND_RUNTIME): was it recorded with --trace=cuda?"};
  }
  state_what_is_missing();
  TraceDraft::Known known;
  known.realtime_ns = session_start_ns_;
  known.has_stacks = true;
  known.has_answers = true;
  return draft_.finish(known);
}

}  // namespace

Result<Trace> import_nsys(const std::string& path, std::optional<std::uint32_t> process) {
  return NsysImport(path, process).run();
}

}  // namespace synctrace
