// SPDX-License-Identifier: Apache-2.0
// What happened in one process, as plain tables: the loaded form of one trace. All times are ns of the process's
// CLOCK_MONOTONIC; tables of timed rows are sorted by begin. load_trace() guarantees for every span that
// 0 <= begin <= end <= kLatestTime, so differences never overflow; sums over many rows still may (add_saturated).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file_line.h"
#include "base/ids.h"
#include "base/time_span.h"
#include "format/records.h"
#include "model/frames.h"
#include "model/load_stats.h"

namespace synctrace {

using format::ApiCategory;
using format::CopyKind;
using format::MemoryKind;

// One CUDA call on the host, launches included.
struct Call {
  TimeSpan span;
  ThreadId thread{};
  ApiId api{};
  CorrelationId correlation{};
  ContextId context{};
  StreamId stream{};
  StackId stack{};
  std::uint64_t object = 0;
  std::uint64_t bytes = 0;
  std::uint32_t status = 0;
  std::uint32_t flags = 0;
  ApiCategory category = ApiCategory::kOther;
  CopyKind copy_kind = CopyKind::kUnknown;
  MemoryKind source_memory = MemoryKind::kUnknown;
  MemoryKind target_memory = MemoryKind::kUnknown;
};

// One call that launches work: kept apart from calls, because there are a hundred times as many.
struct Launch {
  TimeSpan span;
  ThreadId thread{};
  ApiId api{};
  CorrelationId correlation{};
  StackId stack{};
};

// What a launch returned that did not return 0: so few that all others need no room for it.
struct LaunchFailure {
  Nanoseconds begin_ns = 0;  // with the two below: which launch
  ThreadId thread{};
  CorrelationId correlation{};
  std::uint32_t status = 0;
};

struct Poll {
  TimeSpan span;
  ThreadId thread{};
  ApiId api{};
  std::uint64_t object = 0;
  std::uint64_t count = 0;
  std::uint64_t not_ready_count = 0;
  StackId stack{};
};

enum class OperationKind : std::uint8_t { kKernel, kCopy, kMemset, kGraph };

// One piece of work on the GPU. With launches the largest table by far, so that eight bytes here are four for each
// record of a trace: what has few values shares a word.
struct Operation {
  static constexpr std::uint32_t kMostDevice = 0xffff;
  static constexpr std::uint8_t kMostKind = 15;  // copy kinds and memory kinds

  TimeSpan span;
  DeviceId device : 16 = DeviceId{};
  OperationKind kind : 4 = OperationKind::kKernel;
  CopyKind copy_kind : 4 = CopyKind::kUnknown;          // only for a copy
  MemoryKind source_memory : 4 = MemoryKind::kUnknown;  // only for a copy
  MemoryKind target_memory : 4 = MemoryKind::kUnknown;  // only for a copy or memset
  ContextId context{};
  StreamId stream{};
  CorrelationId correlation{};
  StringId name{};          // a kernel's, mangled
  GraphId graph{};          // zero: not part of a graph
  std::uint64_t bytes = 0;  // only for a copy or memset
};
static_assert(sizeof(Operation) == 48);

struct Overhead {
  TimeSpan span;
  std::uint32_t kind = 0;
  ThreadId thread{};
};

struct NvtxEvent {
  enum class What : std::uint8_t { kPush, kPop, kStart, kEnd, kMark };
  Nanoseconds time_ns = 0;
  ThreadId thread{};
  NvtxDomainId domain{};
  StringId text{};
  std::uint64_t range = 0;
  What what = What::kMark;
};

struct Resource {
  Nanoseconds time_ns = 0;
  ThreadId thread{};
  format::Resource::What what{};
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
};

using format::HostCall;

// A blocking call of the C library.
struct HostWait {
  TimeSpan span;
  ThreadId thread{};
  ThreadId waker{};         // zero: not seen
  Nanoseconds wake_ns = 0;  // 0: not seen
  std::uint64_t object = 0;
  std::uint32_t flags = 0;  // HostWait::flags of the format
  StackId stack{};
  HostCall call = HostCall::kUnknown;
};

// A run of samples in a row of one thread that found the same.
struct Sample {
  TimeSpan span;  // first to last
  ThreadId thread{};
  std::uint64_t count = 0;
  StringId channel{};
  StackId stack{};
  format::Sample::State state{};
};

// What a look found a child process at. Times and bytes are totals since the child began.
struct ChildLook {
  Nanoseconds time_ns = 0;
  Nanoseconds started_ns = 0;  // on another clock; with `process`: which child
  Nanoseconds cpu_ns = 0;
  Nanoseconds ready_ns = 0;  // its first thread waited for a CPU
  std::uint64_t read_bytes = 0;
  std::uint32_t process = 0;
  std::uint32_t parent = 0;
  StringId name{};
  StringId channel{};  // where in the kernel its first thread sleeps; zero: not known
  format::ChildLook::State state{};
};

// A communicator of NCCL, as this process sees it. Any value in any field: it is as the file says.
struct Communicator {
  Nanoseconds time_ns = 0;        // when it was first seen
  std::uint64_t hash = 0;         // the same on all its ranks; 0: not known
  std::uint64_t parent_hash = 0;  // 0: none
  std::uint32_t ranks = 0;        // 0: not known, nor is `rank`
  std::uint32_t rank = 0;
};

// An operation that the process asked NCCL for. The fields are those of format::Collective.
struct Collective {
  Nanoseconds time_ns = 0;
  std::uint64_t number = 0;
  std::uint64_t turn = 0;
  std::uint64_t bytes = 0;
  std::uint64_t group = 0;
  ThreadId thread{};
  CommunicatorId communicator{};
  StringId operation{};
  std::int32_t peer = -1;
  bool captured = false;
};

// The stretch in which a group's operations were given to the GPU, and the thread's launches and copies therein.
struct CollectiveLaunch {
  TimeSpan span;
  std::uint64_t group = 0;
  std::uint64_t launches = 0;  // 0: another thread makes them, or they were not recorded
  ThreadId thread{};
  CorrelationId first_launch{};
  CorrelationId last_launch{};
};

// What NVML said of a GPU for a stretch of the run, beside the recording: no part of it is longer than the stretch.
struct GpuUse {
  TimeSpan span;  // may reach beyond Trace::first_ns and last_ns
  DeviceId device{};
  std::uint32_t others = 0;    // processes that are not of the run whose kernels ran
  Nanoseconds busy_ns = 0;     // kernels of any process ran
  Nanoseconds others_ns = 0;   // kernels of other processes ran
  Nanoseconds power_ns = 0;    // clocks were held down to limit power
  Nanoseconds thermal_ns = 0;  // clocks were held down because of the temperature
};

// A stretch of time whose timeline was recorded.
struct Window {
  TimeSpan span;
  std::string open_reason;
};

struct Clock {
  Nanoseconds monotonic_ns = 0;
  Nanoseconds realtime_ns = 0;
};

struct Api {
  ApiCategory category = ApiCategory::kOther;
  std::string name;
};

struct Device {
  std::string name;
  std::string uuid;
  std::uint32_t capability_major = 0;
  std::uint32_t capability_minor = 0;
  std::uint32_t multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
};

struct Context {
  DeviceId device{};
  StreamId null_stream{};
};

// A stream is named by its context and its id.
struct StreamKey {
  ContextId context{};
  StreamId stream{};
  friend bool operator==(const StreamKey&, const StreamKey&) = default;
};

struct StreamKeyHash {
  std::size_t operator()(const StreamKey& key) const noexcept {
    const std::uint64_t both = (static_cast<std::uint64_t>(number(key.context)) << 32) | number(key.stream);
    return static_cast<std::size_t>(both * 0x9e3779b97f4a7c15U >> 7);
  }
};

struct Stream {
  std::uint32_t flags = 0;  // Stream::flags of the format
  std::int32_t priority = 0;
};

// What a stream has to do with the legacy default stream of its context.
struct StreamRole {
  bool legacy_default = false;  // it is that stream
  bool blocking = false;        // known to synchronise with it
};

// A function of Python as it describes itself; names/python_lines decodes the table.
struct Code {
  std::string file;
  std::string function;
  std::string line_table;
  std::int32_t first_line = 0;
  std::uint32_t python_version = 0;
  bool is_resumed = false;  // the rest of `function` behind a graph break (resumed_function.h)
};

// A file whose code was mapped into the process.
struct Module {
  std::string path;
  std::string build_id;  // lower-case hexadecimal; empty: it has none
  std::uint64_t bias = 0;
  std::uint64_t begin = 0;  // its code in memory, [begin, end)
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  Nanoseconds time_ns = 0;  // when it was first seen
};

// A place in a module's code, as a stack names it.
struct CodeAddress {
  std::uint32_t module = 0;  // key of Trace::modules; zero: none, the address is one in memory
  std::uint64_t address = 0;
  bool interrupted = false;  // exactly this instruction; else the call before it
  friend auto operator<=>(const CodeAddress&, const CodeAddress&) = default;
};

struct CodeAddressHash {
  std::size_t operator()(const CodeAddress& key) const noexcept {
    const std::uint64_t mix = key.address * 2 + (key.interrupted ? 1 : 0) + (std::uint64_t{key.module} << 48);
    return static_cast<std::size_t>((mix * 0x9e3779b97f4a7c15U) >> 7);
  }
};

// One frame of a host stack, unresolved.
struct StackFrame {
  enum class Kind : std::uint8_t {
    kPython,
    kNative,
    kMissing,    // frames are missing here
    kUnordered,  // no frame: what follows is native, and its order with the Python frames before is not known
  };
  Kind kind = Kind::kPython;
  bool is_entry = false;  // Python: called by C code; the next native frame is the eval loop
  std::int32_t offset_bytes = 0;
  std::uint32_t code = 0;  // key of Trace::codes
  CodeAddress native;
};

struct Trace {
  std::string path;
  std::uint32_t process_id = 0;
  std::uint64_t start_realtime_ns = 0;

  std::map<std::string, std::string, std::less<>> facts;
  std::vector<Clock> clocks;
  std::unordered_map<StringId, std::string> strings;
  std::unordered_map<std::uint32_t, Code> codes;
  std::unordered_map<StackId, std::vector<StackFrame>> stacks;  // innermost frame first
  std::unordered_map<std::uint32_t, Module> modules;
  std::unordered_map<CodeAddress, std::vector<ResolvedFrame>, CodeAddressHash>
      symbols;                                   // each innermost first, never none
  std::map<FileLine, std::string> source_lines;  // their texts
  std::unordered_map<ApiId, Api> apis;
  std::map<ThreadId, std::string> threads;  // last name of each
  std::map<DeviceId, Device> devices;
  std::map<ContextId, Context> contexts;
  std::unordered_map<StreamKey, Stream, StreamKeyHash> streams;
  std::unordered_map<NvtxDomainId, std::string> nvtx_domains;
  std::unordered_map<CommunicatorId, Communicator> communicators;

  std::vector<Call> calls;
  std::vector<Launch> launches;
  std::vector<LaunchFailure> launch_failures;  // sorted as sort_failures() does
  std::vector<Poll> polls;
  std::vector<Operation> operations;
  std::vector<Overhead> overheads;
  std::vector<NvtxEvent> nvtx_events;
  std::vector<Resource> resources;
  std::vector<HostWait> host_waits;
  std::vector<Sample> samples;
  std::vector<ChildLook> child_looks;
  std::vector<Collective> collectives;
  std::vector<CollectiveLaunch> collective_launches;
  std::vector<GpuUse> gpu_uses;
  std::vector<Window> windows;  // disjoint; empty: no timeline was recorded

  Nanoseconds first_ns = 0;  // earliest and latest time in any table
  Nanoseconds last_ns = 0;
  std::string end_reason;       // the end record's; empty when there is none
  std::vector<TimeSpan> lossy;  // when records may be missing: sorted, disjoint
  LoadStats stats;

  bool has_timeline() const noexcept { return !windows.empty(); }
};

// The value of a fact, or `otherwise`. The view is valid as long as the trace.
std::string_view fact(const Trace& trace, std::string_view key, std::string_view otherwise = {}) noexcept;

// The text of a source line, or empty. Valid as long as the trace.
std::string_view source_text(const Trace& trace, const ResolvedFrame& frame);

// The name of a function as the trace gives it, or "api <number>". Valid as long as the trace.
std::string api_name(const Trace& trace, ApiId api);

// What a launch returned.
std::uint32_t status_of(const Trace& trace, const Launch& launch) noexcept;
void sort_failures(Trace& trace);

StreamRole role_of(const Trace& trace, StreamKey key) noexcept;

// True when the span lies inside one recorded window.
bool in_window(const Trace& trace, TimeSpan span) noexcept;

}  // namespace synctrace
