// SPDX-License-Identifier: Apache-2.0
// The records of a trace: one struct per kind, with its fields in file order. Texts are views: of the caller's memory
// when writing, of the reader's current chunk when reading. Adding a field at the end or a kind is a minor version.
//
// with_fields(visitor) returns visitor(field...). It is a template, and makes no tuple, because every file that knows a
// trace includes this one: with a tuple of each record's fields that took three quarters of a second of each compile.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "base/ids.h"
#include "format/trace_format.h"

namespace synctrace::format {

// ApiId = domain * 2^24 + CUPTI's callback id. The trace defines the name and category of each id that it uses.
enum class ApiDomain : std::uint8_t { kDriver = 1, kRuntime = 2 };  // the values of CUpti_CallbackDomain
constexpr ApiId make_api_id(ApiDomain domain, std::uint32_t callback_id) noexcept {
  return static_cast<ApiId>((static_cast<std::uint32_t>(domain) << 24) | callback_id);
}

// What a CUDA call is for. Decides which record it becomes and how the offline half judges it.
enum class ApiCategory : std::uint8_t {
  kOther = 0,
  kStreamSync = 1,
  kDeviceSync = 2,
  kEventSync = 3,
  kPoll = 4,       // stream or event query
  kCopy = 5,       // synchronous form
  kCopyAsync = 6,  // ...Async form
  kMemset = 7,
  kAlloc = 8,  // device memory
  kFree = 9,
  kHostAlloc = 10,  // page-locked memory, registering included
  kHostFree = 11,
  kPoolAlloc = 12,  // stream-ordered
  kPoolFree = 13,
  kLaunch = 14,
  kGraphLaunch = 15,
  kHostFunction = 16,
  kGraph = 17,        // instantiate, update, destroy
  kModule = 18,       // load, unload, link
  kContext = 19,      // reset, destroy
  kStreamEvent = 20,  // record, wait on the device, create, destroy
  kProfiler = 21,     // profiler start and stop
};

// Memory kinds and copy kinds carry CUPTI's numbers (CUpti_ActivityMemoryKind, CUpti_ActivityMemcpyKind).
enum class MemoryKind : std::uint8_t {
  kUnknown = 0,
  kPageable = 1,
  kPinned = 2,
  kDevice = 3,
  kArray = 4,
  kManaged = 5,
  kDeviceStatic = 6,
  kManagedStatic = 7,
};
enum class CopyKind : std::uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kHostToArray = 3,
  kArrayToHost = 4,
  kArrayToArray = 5,
  kArrayToDevice = 6,
  kDeviceToArray = 7,
  kDeviceToDevice = 8,
  kHostToHost = 9,
  kPeerToPeer = 10,
};

// Layout of one kind, written once in the first chunk. `fields` is "name:encoding name:encoding ...".
struct Schema {
  static constexpr RecordKind kKind = RecordKind::kSchema;
  static constexpr std::string_view kName = "schema";
  std::uint32_t kind = 0;
  std::string_view name;
  std::string_view field_list;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"kind", Encoding::kUnsigned, &Schema::kind}, Field{"name", Encoding::kText, &Schema::name},
                   Field{"field_list", Encoding::kText, &Schema::field_list});
  }
};

// One fact about the process, the machine or the recording: "command_line", "rank", "gpu.0.name"... A later fact with
// the same key replaces the earlier one. The keys are listed in docs/trace-format.md.
struct Fact {
  static constexpr RecordKind kKind = RecordKind::kFact;
  static constexpr std::string_view kName = "fact";
  std::string_view key;
  std::string_view value;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"key", Encoding::kText, &Fact::key}, Field{"value", Encoding::kText, &Fact::value});
  }
};

// The same instant on two clocks: CLOCK_MONOTONIC, the axis of every other time here, and wall time. The recorder
// writes one at the start and then about every half second.
struct Clock {
  static constexpr RecordKind kKind = RecordKind::kClock;
  static constexpr std::string_view kName = "clock";
  std::int64_t monotonic_ns = 0;
  std::int64_t realtime_ns = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"monotonic_ns", Encoding::kDelta, &Clock::monotonic_ns},
                   Field{"realtime_ns", Encoding::kDelta, &Clock::realtime_ns});
  }
};

// A text used by other records. Defined before its first use.
struct String {
  static constexpr RecordKind kKind = RecordKind::kString;
  static constexpr std::string_view kName = "string";
  StringId id{};
  std::string_view text;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"id", Encoding::kUnsigned, &String::id}, Field{"text", Encoding::kText, &String::text});
  }
};

struct ApiName {
  static constexpr RecordKind kKind = RecordKind::kApiName;
  static constexpr std::string_view kName = "api_name";
  ApiId api{};
  ApiCategory category = ApiCategory::kOther;
  std::string_view name;  // in the spelling of CUDA's documentation, without CUPTI's version suffix
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"api", Encoding::kUnsigned, &ApiName::api},
                   Field{"category", Encoding::kUnsigned, &ApiName::category},
                   Field{"name", Encoding::kText, &ApiName::name});
  }
};

// A thread and its name; repeated when the name changed (frameworks name threads late).
struct Thread {
  static constexpr RecordKind kKind = RecordKind::kThread;
  static constexpr std::string_view kName = "thread";
  ThreadId thread{};
  std::string_view name;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"thread", Encoding::kUnsigned, &Thread::thread},
                   Field{"name", Encoding::kText, &Thread::name});
  }
};

struct Device {
  static constexpr RecordKind kKind = RecordKind::kDevice;
  static constexpr std::string_view kName = "device";
  DeviceId device{};
  std::string_view name;
  std::string_view uuid;
  std::uint32_t capability_major = 0;
  std::uint32_t capability_minor = 0;
  std::uint32_t multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"device", Encoding::kUnsigned, &Device::device}, Field{"name", Encoding::kText, &Device::name},
                   Field{"uuid", Encoding::kText, &Device::uuid},
                   Field{"capability_major", Encoding::kUnsigned, &Device::capability_major},
                   Field{"capability_minor", Encoding::kUnsigned, &Device::capability_minor},
                   Field{"multiprocessors", Encoding::kUnsigned, &Device::multiprocessors},
                   Field{"memory_bytes", Encoding::kUnsigned, &Device::memory_bytes});
  }
};

struct Context {
  static constexpr RecordKind kKind = RecordKind::kContext;
  static constexpr std::string_view kName = "context";
  ContextId context{};
  DeviceId device{};
  StreamId null_stream{};
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"context", Encoding::kUnsigned, &Context::context},
                   Field{"device", Encoding::kUnsigned, &Context::device},
                   Field{"null_stream", Encoding::kUnsigned, &Context::null_stream});
  }
};

struct Stream {
  static constexpr RecordKind kKind = RecordKind::kStream;
  static constexpr std::string_view kName = "stream";
  static constexpr std::uint32_t kNonBlocking = 1;  // does not synchronise with the legacy default stream
  static constexpr std::uint32_t kDefault = 2;      // the legacy default stream of its context
  ContextId context{};
  StreamId stream{};
  std::uint32_t flags = 0;
  std::int32_t priority = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"context", Encoding::kUnsigned, &Stream::context}, Field{"stream", Encoding::kUnsigned, &Stream::stream},
        Field{"flags", Encoding::kUnsigned, &Stream::flags}, Field{"priority", Encoding::kSigned, &Stream::priority});
  }
};

// A launch configuration, defined before its first use.
struct LaunchShape {
  static constexpr RecordKind kKind = RecordKind::kLaunchShape;
  static constexpr std::string_view kName = "launch_shape";
  ShapeId id{};
  std::uint32_t grid_x = 0, grid_y = 0, grid_z = 0;
  std::uint32_t block_x = 0, block_y = 0, block_z = 0;
  std::uint32_t registers_per_thread = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"id", Encoding::kUnsigned, &LaunchShape::id},
                   Field{"grid_x", Encoding::kUnsigned, &LaunchShape::grid_x},
                   Field{"grid_y", Encoding::kUnsigned, &LaunchShape::grid_y},
                   Field{"grid_z", Encoding::kUnsigned, &LaunchShape::grid_z},
                   Field{"block_x", Encoding::kUnsigned, &LaunchShape::block_x},
                   Field{"block_y", Encoding::kUnsigned, &LaunchShape::block_y},
                   Field{"block_z", Encoding::kUnsigned, &LaunchShape::block_z},
                   Field{"registers_per_thread", Encoding::kUnsigned, &LaunchShape::registers_per_thread},
                   Field{"static_shared_bytes", Encoding::kUnsigned, &LaunchShape::static_shared_bytes},
                   Field{"dynamic_shared_bytes", Encoding::kUnsigned, &LaunchShape::dynamic_shared_bytes});
  }
};

// A function of Python, defined before the first stack that names it. Its line table is the interpreter's own, as it
// was; names/python_lines decodes it.
struct Code {
  static constexpr RecordKind kKind = RecordKind::kCode;
  static constexpr std::string_view kName = "code";
  std::uint32_t id = 0;
  std::uint32_t python_version = 0;  // PY_VERSION_HEX
  std::int32_t first_line = 0;
  std::string_view file;
  std::string_view function;  // qualified from 3.11 on
  std::string_view line_table;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"id", Encoding::kUnsigned, &Code::id},
                   Field{"python_version", Encoding::kUnsigned, &Code::python_version},
                   Field{"first_line", Encoding::kSigned, &Code::first_line},
                   Field{"file", Encoding::kText, &Code::file}, Field{"function", Encoding::kText, &Code::function},
                   Field{"line_table", Encoding::kText, &Code::line_table});
  }
};

// A file whose code is mapped into the process, defined before the first stack that names it. A file that comes back
// elsewhere is another module.
struct Module {
  static constexpr RecordKind kKind = RecordKind::kModule;
  static constexpr std::string_view kName = "module";
  std::uint32_t id = 0;      // from 1
  std::int64_t time_ns = 0;  // when it was first seen
  std::uint64_t bias = 0;    // address in memory - ELF virtual address
  std::uint64_t begin = 0;   // its code in memory, [begin, end)
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;  // where `begin` is in the file
  std::string_view path;
  std::string_view build_id;  // lower-case hexadecimal; empty when the file has none
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"id", Encoding::kUnsigned, &Module::id}, Field{"time_ns", Encoding::kDelta, &Module::time_ns},
                   Field{"bias", Encoding::kUnsigned, &Module::bias},
                   Field{"begin", Encoding::kUnsigned, &Module::begin}, Field{"end", Encoding::kUnsigned, &Module::end},
                   Field{"file_offset", Encoding::kUnsigned, &Module::file_offset},
                   Field{"path", Encoding::kText, &Module::path},
                   Field{"build_id", Encoding::kText, &Module::build_id});
  }
};

// What an address of a module is called; written behind the recording by whoever has the module's file. One record for
// each function at the address: `depth` 0 is the innermost, those above it had it compiled into them.
struct Symbol {
  static constexpr RecordKind kKind = RecordKind::kSymbol;
  static constexpr std::string_view kName = "symbol";
  static constexpr std::uint32_t kInlined = 1;      // compiled into the next function
  static constexpr std::uint32_t kNamed = 2;        // `function` is a name, not "module+0xoffset"
  static constexpr std::uint32_t kInterrupted = 4;  // an "i" frame: exactly this instruction, not the call before it
  std::uint32_t module = 0;
  std::uint64_t address = 0;  // the one in the stack that asks
  std::uint32_t depth = 0;
  std::uint32_t flags = 0;
  std::uint32_t line = 0;    // from 1; 0: not known
  std::uint32_t column = 0;  // from 1; 0: not known
  std::string_view function;
  std::string_view file;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"module", Encoding::kUnsigned, &Symbol::module}, Field{"address", Encoding::kUnsigned, &Symbol::address},
        Field{"depth", Encoding::kUnsigned, &Symbol::depth}, Field{"flags", Encoding::kUnsigned, &Symbol::flags},
        Field{"line", Encoding::kUnsigned, &Symbol::line}, Field{"column", Encoding::kUnsigned, &Symbol::column},
        Field{"function", Encoding::kText, &Symbol::function}, Field{"file", Encoding::kText, &Symbol::file});
  }
};

// The text of a line of source that a stack names, without indentation; written behind the recording.
struct SourceLine {
  static constexpr RecordKind kKind = RecordKind::kSourceLine;
  static constexpr std::string_view kName = "source_line";
  std::uint32_t line = 0;  // from 1
  std::string_view file;   // the frame's name of it
  std::string_view text;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"line", Encoding::kUnsigned, &SourceLine::line},
                   Field{"file", Encoding::kText, &SourceLine::file},
                   Field{"text", Encoding::kText, &SourceLine::text});
  }
};

// A host stack, defined before its first use. `frames`, innermost first, separated by spaces:
//   p<code>:<offset>    a Python frame at an offset in bytes of its bytecode; with "!" behind it when C code called it:
//                       then the next native frame of the text, if any, is the eval loop that runs it
//   n<module>:<hex>     a native frame at its return address, an ELF virtual address of the module; module 0: an
//   address
//                       in memory that no known module holds
//   i<module>:<hex>     the same, interrupted at exactly this instruction
//   ~                   frames are missing here: no room, or the walk ended before the thread's first frame
//   |                   both kinds were taken, but their order is not known: Python before it, native behind it
struct Stack {
  static constexpr RecordKind kKind = RecordKind::kStack;
  static constexpr std::string_view kName = "stack";
  StackId id{};
  std::string_view frames;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"id", Encoding::kUnsigned, &Stack::id}, Field{"frames", Encoding::kText, &Stack::frames});
  }
};

// One CUDA call on the host, other than a launch: outermost entry to outermost exit (a driver call nested in a
// runtime call is part of it).
struct Call {
  static constexpr RecordKind kKind = RecordKind::kCall;
  static constexpr std::string_view kName = "call";
  static constexpr std::uint32_t kKindsFromRanges = 1;  // memory kinds judged from the allocations seen, not by CUPTI
  static constexpr std::uint32_t kLegacyStream = 2;     // issued to the legacy default stream
  ThreadId thread{};
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  ApiId api{};
  CorrelationId correlation{};
  ContextId context{};
  StreamId stream{};
  std::uint64_t object = 0;  // event handle of an event call, address of an allocation; else 0
  std::uint64_t bytes = 0;
  CopyKind copy_kind = CopyKind::kUnknown;
  MemoryKind source_memory = MemoryKind::kUnknown;
  MemoryKind target_memory = MemoryKind::kUnknown;
  std::uint32_t flags = 0;
  std::uint32_t status = 0;  // cudaError_t or CUresult; zero is success
  StackId stack{};
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"thread", Encoding::kDelta, &Call::thread}, Field{"begin_ns", Encoding::kDelta, &Call::begin_ns},
        Field{"duration_ns", Encoding::kUnsigned, &Call::duration_ns}, Field{"api", Encoding::kUnsigned, &Call::api},
        Field{"correlation", Encoding::kDelta, &Call::correlation},
        Field{"context", Encoding::kUnsigned, &Call::context}, Field{"stream", Encoding::kUnsigned, &Call::stream},
        Field{"object", Encoding::kDelta, &Call::object}, Field{"bytes", Encoding::kUnsigned, &Call::bytes},
        Field{"copy_kind", Encoding::kUnsigned, &Call::copy_kind},
        Field{"source_memory", Encoding::kUnsigned, &Call::source_memory},
        Field{"target_memory", Encoding::kUnsigned, &Call::target_memory},
        Field{"flags", Encoding::kUnsigned, &Call::flags}, Field{"status", Encoding::kUnsigned, &Call::status},
        Field{"stack", Encoding::kUnsigned, &Call::stack});
  }
};

// One call that launches GPU work (kernel, graph, host function). Its stream is known from the work's own record.
struct Launch {
  static constexpr RecordKind kKind = RecordKind::kLaunch;
  static constexpr std::string_view kName = "launch";
  ThreadId thread{};
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  ApiId api{};
  CorrelationId correlation{};
  std::uint32_t status = 0;
  StackId stack{};
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"thread", Encoding::kDelta, &Launch::thread}, Field{"begin_ns", Encoding::kDelta, &Launch::begin_ns},
        Field{"duration_ns", Encoding::kUnsigned, &Launch::duration_ns}, Field{"api", Encoding::kDelta, &Launch::api},
        Field{"correlation", Encoding::kDelta, &Launch::correlation},
        Field{"status", Encoding::kUnsigned, &Launch::status}, Field{"stack", Encoding::kUnsigned, &Launch::stack});
  }
};

// A run of queries by one thread on one object with less than 50 us between them.
struct Poll {
  static constexpr RecordKind kKind = RecordKind::kPoll;
  static constexpr std::string_view kName = "poll";
  ThreadId thread{};
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;  // first entry to last exit
  ApiId api{};
  std::uint64_t object = 0;  // stream or event handle
  std::uint64_t count = 0;
  std::uint64_t not_ready_count = 0;  // how many answered "not ready"
  StackId stack{};
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"thread", Encoding::kDelta, &Poll::thread}, Field{"begin_ns", Encoding::kDelta, &Poll::begin_ns},
        Field{"duration_ns", Encoding::kUnsigned, &Poll::duration_ns}, Field{"api", Encoding::kUnsigned, &Poll::api},
        Field{"object", Encoding::kDelta, &Poll::object}, Field{"count", Encoding::kUnsigned, &Poll::count},
        Field{"not_ready_count", Encoding::kUnsigned, &Poll::not_ready_count},
        Field{"stack", Encoding::kUnsigned, &Poll::stack});
  }
};

// One kernel on the GPU. A kernel of a graph carries the graph launch's correlation.
struct Kernel {
  static constexpr RecordKind kKind = RecordKind::kKernel;
  static constexpr std::string_view kName = "kernel";
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  DeviceId device{};
  ContextId context{};
  StreamId stream{};
  CorrelationId correlation{};
  StringId name{};  // mangled
  ShapeId shape{};
  GraphId graph{};
  std::uint64_t graph_node = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"begin_ns", Encoding::kDelta, &Kernel::begin_ns},
        Field{"duration_ns", Encoding::kUnsigned, &Kernel::duration_ns},
        Field{"device", Encoding::kUnsigned, &Kernel::device}, Field{"context", Encoding::kUnsigned, &Kernel::context},
        Field{"stream", Encoding::kUnsigned, &Kernel::stream},
        Field{"correlation", Encoding::kDelta, &Kernel::correlation}, Field{"name", Encoding::kUnsigned, &Kernel::name},
        Field{"shape", Encoding::kUnsigned, &Kernel::shape}, Field{"graph", Encoding::kUnsigned, &Kernel::graph},
        Field{"graph_node", Encoding::kDelta, &Kernel::graph_node});
  }
};

struct Copy {
  static constexpr RecordKind kKind = RecordKind::kCopy;
  static constexpr std::string_view kName = "copy";
  static constexpr std::uint32_t kAsync = 1;  // issued by an ...Async call
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  DeviceId device{};
  ContextId context{};
  StreamId stream{};
  CorrelationId correlation{};
  std::uint64_t bytes = 0;
  CopyKind copy_kind = CopyKind::kUnknown;
  MemoryKind source_memory = MemoryKind::kUnknown;
  MemoryKind target_memory = MemoryKind::kUnknown;
  std::uint32_t flags = 0;
  GraphId graph{};
  std::uint64_t graph_node = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"begin_ns", Encoding::kDelta, &Copy::begin_ns},
        Field{"duration_ns", Encoding::kUnsigned, &Copy::duration_ns},
        Field{"device", Encoding::kUnsigned, &Copy::device}, Field{"context", Encoding::kUnsigned, &Copy::context},
        Field{"stream", Encoding::kUnsigned, &Copy::stream}, Field{"correlation", Encoding::kDelta, &Copy::correlation},
        Field{"bytes", Encoding::kUnsigned, &Copy::bytes}, Field{"copy_kind", Encoding::kUnsigned, &Copy::copy_kind},
        Field{"source_memory", Encoding::kUnsigned, &Copy::source_memory},
        Field{"target_memory", Encoding::kUnsigned, &Copy::target_memory},
        Field{"flags", Encoding::kUnsigned, &Copy::flags}, Field{"graph", Encoding::kUnsigned, &Copy::graph},
        Field{"graph_node", Encoding::kDelta, &Copy::graph_node});
  }
};

struct Memset {
  static constexpr RecordKind kKind = RecordKind::kMemset;
  static constexpr std::string_view kName = "memset";
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  DeviceId device{};
  ContextId context{};
  StreamId stream{};
  CorrelationId correlation{};
  std::uint64_t bytes = 0;
  MemoryKind memory = MemoryKind::kUnknown;
  GraphId graph{};
  std::uint64_t graph_node = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"begin_ns", Encoding::kDelta, &Memset::begin_ns},
        Field{"duration_ns", Encoding::kUnsigned, &Memset::duration_ns},
        Field{"device", Encoding::kUnsigned, &Memset::device}, Field{"context", Encoding::kUnsigned, &Memset::context},
        Field{"stream", Encoding::kUnsigned, &Memset::stream},
        Field{"correlation", Encoding::kDelta, &Memset::correlation},
        Field{"bytes", Encoding::kUnsigned, &Memset::bytes}, Field{"memory", Encoding::kUnsigned, &Memset::memory},
        Field{"graph", Encoding::kUnsigned, &Memset::graph},
        Field{"graph_node", Encoding::kDelta, &Memset::graph_node});
  }
};

// One launch of a whole graph on the GPU, its nodes not recorded one by one.
struct Graph {
  static constexpr RecordKind kKind = RecordKind::kGraph;
  static constexpr std::string_view kName = "graph";
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  DeviceId device{};
  ContextId context{};
  StreamId stream{};
  CorrelationId correlation{};
  GraphId graph{};
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"begin_ns", Encoding::kDelta, &Graph::begin_ns},
                   Field{"duration_ns", Encoding::kUnsigned, &Graph::duration_ns},
                   Field{"device", Encoding::kUnsigned, &Graph::device},
                   Field{"context", Encoding::kUnsigned, &Graph::context},
                   Field{"stream", Encoding::kUnsigned, &Graph::stream},
                   Field{"correlation", Encoding::kDelta, &Graph::correlation},
                   Field{"graph", Encoding::kUnsigned, &Graph::graph});
  }
};

// Host time spent in the driver or in CUPTI itself, as CUPTI reports it.
struct Overhead {
  static constexpr RecordKind kKind = RecordKind::kOverhead;
  static constexpr std::string_view kName = "overhead";
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint32_t overhead_kind = 0;  // CUpti_ActivityOverheadKind
  ThreadId thread{};                // zero when CUPTI names no thread
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"begin_ns", Encoding::kDelta, &Overhead::begin_ns},
                   Field{"duration_ns", Encoding::kUnsigned, &Overhead::duration_ns},
                   Field{"overhead_kind", Encoding::kUnsigned, &Overhead::overhead_kind},
                   Field{"thread", Encoding::kUnsigned, &Overhead::thread});
  }
};

struct NvtxDomain {
  static constexpr RecordKind kKind = RecordKind::kNvtxDomain;
  static constexpr std::string_view kName = "nvtx_domain";
  NvtxDomainId domain{};
  std::string_view name;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"domain", Encoding::kUnsigned, &NvtxDomain::domain},
                   Field{"name", Encoding::kText, &NvtxDomain::name});
  }
};

// Push and pop are two records, so that a range still open when the process dies is not lost.
struct NvtxPush {
  static constexpr RecordKind kKind = RecordKind::kNvtxPush;
  static constexpr std::string_view kName = "nvtx_push";
  ThreadId thread{};
  std::int64_t time_ns = 0;
  NvtxDomainId domain{};
  StringId text{};
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"thread", Encoding::kDelta, &NvtxPush::thread}, Field{"time_ns", Encoding::kDelta, &NvtxPush::time_ns},
        Field{"domain", Encoding::kUnsigned, &NvtxPush::domain}, Field{"text", Encoding::kUnsigned, &NvtxPush::text});
  }
};

struct NvtxPop {
  static constexpr RecordKind kKind = RecordKind::kNvtxPop;
  static constexpr std::string_view kName = "nvtx_pop";
  ThreadId thread{};
  std::int64_t time_ns = 0;
  NvtxDomainId domain{};
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"thread", Encoding::kDelta, &NvtxPop::thread},
                   Field{"time_ns", Encoding::kDelta, &NvtxPop::time_ns},
                   Field{"domain", Encoding::kUnsigned, &NvtxPop::domain});
  }
};

// A range that may begin and end on different threads; `range` joins start and end.
struct NvtxStart {
  static constexpr RecordKind kKind = RecordKind::kNvtxStart;
  static constexpr std::string_view kName = "nvtx_start";
  ThreadId thread{};
  std::int64_t time_ns = 0;
  NvtxDomainId domain{};
  StringId text{};
  std::uint64_t range = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"thread", Encoding::kDelta, &NvtxStart::thread}, Field{"time_ns", Encoding::kDelta, &NvtxStart::time_ns},
        Field{"domain", Encoding::kUnsigned, &NvtxStart::domain}, Field{"text", Encoding::kUnsigned, &NvtxStart::text},
        Field{"range", Encoding::kDelta, &NvtxStart::range});
  }
};

struct NvtxEnd {
  static constexpr RecordKind kKind = RecordKind::kNvtxEnd;
  static constexpr std::string_view kName = "nvtx_end";
  ThreadId thread{};
  std::int64_t time_ns = 0;
  std::uint64_t range = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"thread", Encoding::kDelta, &NvtxEnd::thread},
                   Field{"time_ns", Encoding::kDelta, &NvtxEnd::time_ns},
                   Field{"range", Encoding::kDelta, &NvtxEnd::range});
  }
};

struct NvtxMark {
  static constexpr RecordKind kKind = RecordKind::kNvtxMark;
  static constexpr std::string_view kName = "nvtx_mark";
  ThreadId thread{};
  std::int64_t time_ns = 0;
  NvtxDomainId domain{};
  StringId text{};
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"thread", Encoding::kDelta, &NvtxMark::thread}, Field{"time_ns", Encoding::kDelta, &NvtxMark::time_ns},
        Field{"domain", Encoding::kUnsigned, &NvtxMark::domain}, Field{"text", Encoding::kUnsigned, &NvtxMark::text});
  }
};

// Something came to be or went: CUPTI's resource callbacks tell. Now only contexts; earlier recorders wrote the rest,
// which nobody reads.
struct Resource {
  static constexpr RecordKind kKind = RecordKind::kResource;
  static constexpr std::string_view kName = "resource";
  enum class What : std::uint8_t {
    kContextCreated = 1,
    kContextDestroyed = 2,
    kStreamCreated = 3,
    kModuleLoaded = 4,
    kGraphExecCreated = 5
  };
  ThreadId thread{};
  std::int64_t time_ns = 0;
  What what{};
  std::uint64_t id = 0;     // context, stream, module or executable graph id
  std::uint64_t bytes = 0;  // size of a module's image
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"thread", Encoding::kDelta, &Resource::thread},
                   Field{"time_ns", Encoding::kDelta, &Resource::time_ns},
                   Field{"what", Encoding::kUnsigned, &Resource::what}, Field{"id", Encoding::kUnsigned, &Resource::id},
                   Field{"bytes", Encoding::kUnsigned, &Resource::bytes});
  }
};

// The timeline (launches and GPU records) is recorded from here on, or no longer. Waits, copies, allocations and NVTX
// ranges are always recorded. A trace without any Window record holds no timeline at all (level "syncs").
struct Window {
  static constexpr RecordKind kKind = RecordKind::kWindow;
  static constexpr std::string_view kName = "window";
  std::int64_t time_ns = 0;
  std::uint32_t open = 0;   // 1: begins, 0: ends
  std::string_view reason;  // "start", "delay", "duration", "capture-range", "duty", "max-size", "exit"
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"time_ns", Encoding::kDelta, &Window::time_ns},
                   Field{"open", Encoding::kUnsigned, &Window::open},
                   Field{"reason", Encoding::kText, &Window::reason});
  }
};

// How a host thread slept: which of the C library's blocking calls.
enum class HostCall : std::uint8_t {
  kUnknown = 0,
  kCondition = 1,
  kSemaphore = 2,
  kFutex = 3,
  kPoll = 4,
  kEpoll = 5,
  kRead = 6,
  kMunmap = 7,
  kJoin = 8,
  kSleep = 9,
  kMutex = 10,
  kSelect = 11,
};

// A blocking call of the C library that took longer than 50 us.
struct HostWait {
  static constexpr RecordKind kKind = RecordKind::kHostWait;
  static constexpr std::string_view kName = "host_wait";
  static constexpr std::uint32_t kTimedOut = 1;
  static constexpr std::uint32_t kInterrupted = 2;  // by a signal
  ThreadId thread{};
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  HostCall call{};
  std::uint64_t object = 0;  // address waited on, or file descriptor
  std::uint32_t flags = 0;
  ThreadId waker{};          // the last that signalled the object before the wait ended; zero: not seen
  std::int64_t wake_ns = 0;  // when it did; 0: not seen
  StackId stack{};
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"thread", Encoding::kDelta, &HostWait::thread}, Field{"begin_ns", Encoding::kDelta, &HostWait::begin_ns},
        Field{"duration_ns", Encoding::kUnsigned, &HostWait::duration_ns},
        Field{"call", Encoding::kUnsigned, &HostWait::call}, Field{"object", Encoding::kDelta, &HostWait::object},
        Field{"flags", Encoding::kUnsigned, &HostWait::flags}, Field{"waker", Encoding::kDelta, &HostWait::waker},
        Field{"wake_ns", Encoding::kDelta, &HostWait::wake_ns}, Field{"stack", Encoding::kUnsigned, &HostWait::stack});
  }
};

// What a host thread did at some moments: a run of samples in a row that all found the same.
struct Sample {
  static constexpr RecordKind kKind = RecordKind::kSample;
  static constexpr std::string_view kName = "sample";
  enum class State : std::uint8_t {
    kUnknown = 0,
    kRunning = 1,
    kRunnable = 2,
    kBlocked = 3,
    kCollecting = 4,  // runs Python's garbage collector
  };
  ThreadId thread{};
  std::int64_t begin_ns = 0;      // time of the first sample
  std::uint64_t duration_ns = 0;  // from there to the last one
  std::uint64_t count = 0;
  State state{};
  StringId channel{};  // where in the kernel it sleeps; zero: not known
  StackId stack{};
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(
        Field{"thread", Encoding::kDelta, &Sample::thread}, Field{"begin_ns", Encoding::kDelta, &Sample::begin_ns},
        Field{"duration_ns", Encoding::kUnsigned, &Sample::duration_ns},
        Field{"count", Encoding::kUnsigned, &Sample::count}, Field{"state", Encoding::kUnsigned, &Sample::state},
        Field{"channel", Encoding::kUnsigned, &Sample::channel}, Field{"stack", Encoding::kUnsigned, &Sample::stack});
  }
};

// What one look found a child process of the program at, or a child of such a child: workers of a data loader live
// there. Times and bytes are totals since the child began; two looks tell what it did in between.
struct ChildLook {
  static constexpr RecordKind kKind = RecordKind::kChildLook;
  static constexpr std::string_view kName = "child_look";
  enum class State : std::uint8_t {
    kUnknown = 0,
    kRunning = 1,   // or ready to
    kSleeping = 2,  // waits for a pipe, a lock, a socket, a time
    kDisk = 3,      // waits for a file's data, and cannot be interrupted meanwhile
    kStopped = 4,
    kEnded = 5,
  };
  std::int64_t time_ns = 0;
  std::uint32_t process = 0;
  std::uint32_t parent = 0;
  std::int64_t started_ns = 0;   // since the machine's start: a number that is used again is another child
  StringId name{};               // the child's own name for itself
  State state{};                 // what its first thread does
  StringId channel{};            // where in the kernel that thread sleeps; zero: not known
  std::uint64_t cpu_ns = 0;      // used by all its threads
  std::uint64_t ready_ns = 0;    // in which its first thread waited for a CPU
  std::uint64_t read_bytes = 0;  // fetched from storage; 0 where the kernel does not say
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"time_ns", Encoding::kDelta, &ChildLook::time_ns},
                   Field{"process", Encoding::kDelta, &ChildLook::process},
                   Field{"parent", Encoding::kUnsigned, &ChildLook::parent},
                   Field{"started_ns", Encoding::kDelta, &ChildLook::started_ns},
                   Field{"name", Encoding::kUnsigned, &ChildLook::name},
                   Field{"state", Encoding::kUnsigned, &ChildLook::state},
                   Field{"channel", Encoding::kUnsigned, &ChildLook::channel},
                   Field{"cpu_ns", Encoding::kUnsigned, &ChildLook::cpu_ns},
                   Field{"ready_ns", Encoding::kUnsigned, &ChildLook::ready_ns},
                   Field{"read_bytes", Encoding::kUnsigned, &ChildLook::read_bytes});
  }
};

// A communicator of NCCL as this process sees it. Written again when more is known: the last one counts.
struct Communicator {
  static constexpr RecordKind kKind = RecordKind::kCommunicator;
  static constexpr std::string_view kName = "communicator";
  CommunicatorId communicator{};
  std::int64_t time_ns = 0;       // when it was first seen
  std::uint64_t hash = 0;         // the same on all its ranks; 0: NCCL before 2.25, whose operations name none
  std::uint32_t ranks = 0;        // how many it has; 0: not known, nor is `rank`
  std::uint32_t rank = 0;         // this process's, or the first of several that it is
  std::uint64_t parent_hash = 0;  // that it was split from; 0: none
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"communicator", Encoding::kUnsigned, &Communicator::communicator},
                   Field{"time_ns", Encoding::kDelta, &Communicator::time_ns},
                   Field{"hash", Encoding::kUnsigned, &Communicator::hash},
                   Field{"ranks", Encoding::kUnsigned, &Communicator::ranks},
                   Field{"rank", Encoding::kUnsigned, &Communicator::rank},
                   Field{"parent_hash", Encoding::kUnsigned, &Communicator::parent_hash});
  }
};

// An operation that the program asked NCCL for, collective or point to point. Numbers go on where nothing is recorded,
// so that the same ones mean the same operation on all ranks.
struct Collective {
  static constexpr RecordKind kKind = RecordKind::kCollective;
  static constexpr std::string_view kName = "collective";
  ThreadId thread{};
  std::int64_t time_ns = 0;  // when it was called
  CommunicatorId communicator{};
  std::uint64_t number = 0;  // 1, 2... of all operations of the communicator; 0: not counted
  StringId operation{};      // "AllReduce", "Send": NCCL's name of the function without "nccl"
  std::uint64_t bytes = 0;   // size of one message
  std::int32_t peer = -1;    // the root, or the other side of Send and Recv; -1: none
  std::uint64_t group = 0;   // 1, 2...: a process's outermost ncclGroupStart to End, or a call outside of any
  bool captured = false;     // a stream of the process was being captured into a CUDA graph meanwhile
  // 1, 2... of what it has to be matched by: of the communicator's collectives, or of its Sends to (or Recvs from)
  // `peer`. Where ranks send to different peers, `number` is not the same on all of them. 0: not counted.
  std::uint64_t turn = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"thread", Encoding::kDelta, &Collective::thread},
                   Field{"time_ns", Encoding::kDelta, &Collective::time_ns},
                   Field{"communicator", Encoding::kUnsigned, &Collective::communicator},
                   Field{"number", Encoding::kDelta, &Collective::number},
                   Field{"operation", Encoding::kUnsigned, &Collective::operation},
                   Field{"bytes", Encoding::kUnsigned, &Collective::bytes},
                   Field{"peer", Encoding::kSigned, &Collective::peer},
                   Field{"group", Encoding::kDelta, &Collective::group},
                   Field{"captured", Encoding::kUnsigned, &Collective::captured},
                   Field{"turn", Encoding::kDelta, &Collective::turn});
  }
};

// NCCL gave the operations of a group to the GPU: the outermost ncclGroupEnd, or the one call that is the group. Its
// work is that of the thread's launches and copies from the first to the last correlation. Without any (`launches` 0)
// another thread makes them, as a nonblocking communicator's, or they were not recorded.
struct CollectiveLaunch {
  static constexpr RecordKind kKind = RecordKind::kCollectiveLaunch;
  static constexpr std::string_view kName = "collective_launch";
  ThreadId thread{};
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t group = 0;  // Collective::group
  CorrelationId first_launch{};
  CorrelationId last_launch{};
  std::uint64_t launches = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"thread", Encoding::kDelta, &CollectiveLaunch::thread},
                   Field{"begin_ns", Encoding::kDelta, &CollectiveLaunch::begin_ns},
                   Field{"duration_ns", Encoding::kUnsigned, &CollectiveLaunch::duration_ns},
                   Field{"group", Encoding::kDelta, &CollectiveLaunch::group},
                   Field{"first_launch", Encoding::kDelta, &CollectiveLaunch::first_launch},
                   Field{"last_launch", Encoding::kDelta, &CollectiveLaunch::last_launch},
                   Field{"launches", Encoding::kUnsigned, &CollectiveLaunch::launches});
  }
};

// What NVML said of a GPU for a stretch of the run: who else was on it, and whether its clocks were held down. Written
// behind the recording by whoever looked meanwhile. Times are shares of the stretch, so two of them add up.
struct GpuUse {
  static constexpr RecordKind kKind = RecordKind::kGpuUse;
  static constexpr std::string_view kName = "gpu_use";
  std::int64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  DeviceId device{};
  std::uint32_t others = 0;      // processes that are not of the run whose kernels ran
  std::uint64_t busy_ns = 0;     // kernels of any process ran
  std::uint64_t others_ns = 0;   // kernels of other processes ran
  std::uint64_t power_ns = 0;    // clocks were held down to limit power
  std::uint64_t thermal_ns = 0;  // clocks were held down because of the temperature
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"begin_ns", Encoding::kDelta, &GpuUse::begin_ns},
                   Field{"duration_ns", Encoding::kUnsigned, &GpuUse::duration_ns},
                   Field{"device", Encoding::kUnsigned, &GpuUse::device},
                   Field{"others", Encoding::kUnsigned, &GpuUse::others},
                   Field{"busy_ns", Encoding::kUnsigned, &GpuUse::busy_ns},
                   Field{"others_ns", Encoding::kUnsigned, &GpuUse::others_ns},
                   Field{"power_ns", Encoding::kUnsigned, &GpuUse::power_ns},
                   Field{"thermal_ns", Encoding::kUnsigned, &GpuUse::thermal_ns});
  }
};

// Something was lost. `name` is one of the losses of docs/trace-format.md; `count` adds up over the records of a name.
struct Loss {
  static constexpr RecordKind kKind = RecordKind::kLoss;
  static constexpr std::string_view kName = "loss";
  std::int64_t time_ns = 0;
  std::string_view name;
  std::uint64_t count = 0;
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"time_ns", Encoding::kDelta, &Loss::time_ns}, Field{"name", Encoding::kText, &Loss::name},
                   Field{"count", Encoding::kUnsigned, &Loss::count});
  }
};

// The recorder closed the trace in order. A trace without it ended with its process.
struct End {
  static constexpr RecordKind kKind = RecordKind::kEnd;
  static constexpr std::string_view kName = "end";
  std::int64_t time_ns = 0;
  std::uint64_t record_count = 0;  // records before this one, schemas included
  std::string_view reason;         // "exit", "max-size", "disabled"
  template <class Visitor>
  static constexpr auto with_fields(Visitor&& visitor) {
    return visitor(Field{"time_ns", Encoding::kDelta, &End::time_ns},
                   Field{"record_count", Encoding::kUnsigned, &End::record_count},
                   Field{"reason", Encoding::kText, &End::reason});
  }
};

// Every kind, once. Readers, the text form and the schema records are generated from this list.
using AllRecords =
    std::tuple<Schema, Fact, Clock, String, ApiName, Thread, Device, Context, Stream, LaunchShape, Module, Symbol,
               SourceLine, Code, Stack, Call, Launch, Poll, Kernel, Copy, Memset, Graph, Overhead, NvtxDomain, NvtxPush,
               NvtxPop, NvtxStart, NvtxEnd, NvtxMark, Resource, Window, HostWait, Sample, ChildLook, Communicator,
               Collective, CollectiveLaunch, GpuUse, Loss, End>;

}  // namespace synctrace::format
