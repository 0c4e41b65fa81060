// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "exchange/import_trace.h"
#include "exchange/kineto_events.h"
#include "exchange/trace_draft.h"

namespace synctrace {
namespace {

// Where the functions of a profile that are not Python's own belong.
constexpr std::string_view kOperators = "libtorch_cpu.so";
constexpr std::string_view kInterpreter = "libpython3.so";

enum class Kind : std::uint8_t {
  kElse,
  kRuntimeCall,
  kDriverCall,
  kKernel,
  kCopy,
  kMemset,
  kRange,
  kOperator,
  kPython,
  kSync,
  kOverhead,
  kWindow,
};

Kind kind_of(std::string_view category) noexcept {
  using Entry = std::pair<std::string_view, Kind>;
  // The words in capitals are those of PyTorch before 1.12.
  constexpr std::array kKinds = {
      Entry{"cpu_op", Kind::kOperator},
      Entry{"python_function", Kind::kPython},
      Entry{"cuda_runtime", Kind::kRuntimeCall},
      Entry{"kernel", Kind::kKernel},
      Entry{"cuda_driver", Kind::kDriverCall},
      Entry{"gpu_memcpy", Kind::kCopy},
      Entry{"gpu_memset", Kind::kMemset},
      Entry{"user_annotation", Kind::kRange},
      Entry{"cuda_sync", Kind::kSync},
      Entry{"overhead", Kind::kOverhead},
      Entry{"Operator", Kind::kOperator},
      Entry{"Runtime", Kind::kRuntimeCall},
      Entry{"Kernel", Kind::kKernel},
      Entry{"Memcpy", Kind::kCopy},
      Entry{"Memset", Kind::kMemset},
  };
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Entry& entry) { return entry.first == category; });
  return found == kKinds.end() ? Kind::kElse : found->second;
}

// Whose work Kineto's other categories are, as "mtia_runtime"; empty for those of CUDA and of the host.
std::string_view device_of(std::string_view category) noexcept {
  using Entry = std::pair<std::string_view, std::string_view>;
  constexpr std::array kDevices = {
      Entry{"mtia_", "MTIA"},
      Entry{"xpu_", "Intel's XPU"},
      Entry{"hpu_", "Gaudi"},
      Entry{"glow_", "Glow"},
      Entry{"privateuse1_", "an accelerator that is not CUDA's"},
  };
  const auto* const found = std::find_if(kDevices.begin(), kDevices.end(),
                                         [&](const Entry& entry) { return category.starts_with(entry.first); });
  return found == kDevices.end() ? std::string_view() : found->second;
}

template <class Enum, std::size_t count>
Enum find_word(const std::array<std::string_view, count>& words, std::string_view word) noexcept {
  const auto found = std::find(words.begin(), words.end(), word);
  return found == words.end() ? Enum{} : static_cast<Enum>(found - words.begin());
}

CopyKind copy_kind(std::string_view word) noexcept {
  constexpr std::array<std::string_view, 11> kWords = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                       "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  return find_word<CopyKind>(kWords, word);
}

MemoryKind memory_kind(std::string_view word) noexcept {
  constexpr std::array<std::string_view, 8> kWords = {"",      "Pageable", "Pinned",        "Device",
                                                      "Array", "Managed",  "Device Static", "Managed Static"};
  return find_word<MemoryKind>(kWords, word);
}

// "Memcpy HtoD (Pageable -> Device)"
void read_copy_name(std::string_view name, Operation& operation) {
  constexpr std::string_view kBegin = "Memcpy ";
  const std::size_t open = name.find(" (");
  const std::size_t arrow = name.find(" -> ");
  if (!name.starts_with(kBegin) || open == std::string_view::npos || open < kBegin.size()) return;
  operation.copy_kind = copy_kind(name.substr(kBegin.size(), open - kBegin.size()));
  if (arrow == std::string_view::npos || arrow < open + 2 || !name.ends_with(')')) return;
  operation.source_memory = memory_kind(name.substr(open + 2, arrow - open - 2));
  operation.target_memory = memory_kind(name.substr(arrow + 4, name.size() - arrow - 5));
}

// "Memset (Device)"
void read_memset_name(std::string_view name, Operation& operation) {
  const std::size_t open = name.find('(');
  if (open != std::string_view::npos && name.ends_with(')'))
    operation.target_memory = memory_kind(name.substr(open + 1, name.size() - open - 2));
}

// The values of CUpti_ActivityOverheadKind, by Kineto's words and ours.
std::uint32_t overhead_kind(std::string_view name) noexcept {
  using Entry = std::pair<std::string_view, std::uint32_t>;
  constexpr std::array kWords = {Entry{"compiler", 1},
                                 Entry{"Buffer Flush", 1U << 16},
                                 Entry{"buffer flush", 1U << 16},
                                 Entry{"Instrumentation", 2U << 16},
                                 Entry{"instrumentation", 2U << 16},
                                 Entry{"Module", 4U << 16},
                                 Entry{"Lazy", 5U << 16},
                                 Entry{"Command Buffer", 6U << 16},
                                 Entry{"Resource", 3U << 16},
                                 Entry{"resource", 3U << 16}};
  const auto* const found = std::find_if(kWords.begin(), kWords.end(), [&](const Entry& entry) {
    return name.find(entry.first) != std::string_view::npos;
  });
  return found == kWords.end() ? 0 : found->second;
}

template <class Id>
Id id_of(const std::optional<std::int64_t>& number) noexcept {
  const bool fits = number && *number >= 0 && *number <= std::numeric_limits<std::uint32_t>::max();
  return fits ? static_cast<Id>(*number) : Id{};
}

// Kineto makes numbers of threads positive, and other writers do not.
ThreadId thread_of(std::int64_t number) noexcept {
  const auto bits = static_cast<std::uint64_t>(number);
  return static_cast<ThreadId>((number < 0 ? 0 - bits : bits) & 0xffff'ffff);
}
ThreadId thread_of(const KinetoEvent& event) noexcept { return thread_of(event.thread.value_or(0)); }

class KinetoImport {
 public:
  explicit KinetoImport(const std::string& name) : name_(name) {}

  std::optional<Error> take(const KinetoEvent& event);
  Result<Trace> finish(const KinetoHead& head);

 private:
  void take_call(const KinetoEvent& event, TimeSpan span, format::ApiDomain domain);
  void take_work(const KinetoEvent& event, TimeSpan span, Kind kind);
  void take_async(const KinetoEvent& event);
  void take_name(const KinetoEvent& event);
  Error nothing_of_cuda(const KinetoHead& head) const;
  void describe(const KinetoHead& head);
  void state_what_is_missing();

  const std::string& name_;
  TraceDraft draft_;
  std::optional<std::int64_t> process_;  // the one that made the calls
  std::uint64_t rows_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t of_other_processes_ = 0;
  std::uint64_t hip_calls_ = 0;
  std::uint64_t host_rows_ = 0;    // what PyTorch did on the CPU
  std::string_view other_device_;  // whose work the file holds beside, or in place of, CUDA's
  bool has_python_ = false;
  bool has_operators_ = false;
  std::map<std::int64_t, std::string> process_names_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> thread_names_;
  std::unordered_map<std::int64_t, KinetoEvent> begun_;  // asynchronous ranges
};

std::optional<Error> KinetoImport::take(const KinetoEvent& event) {
  if (event.phase == "M") take_name(event);
  if (event.phase == "b" || event.phase == "e") take_async(event);
  if (event.phase != "X" || !event.begin_ns) return std::nullopt;
  if (++rows_ > kMostImportedRows)
    return Error{name_ + " holds more than " + std::to_string(kMostImportedRows) + " events; record fewer steps"};
  const TimeSpan span{*event.begin_ns, *event.begin_ns + event.duration_ns.value_or(0)};
  const Kind kind = kind_of(event.category);
  if (kind == Kind::kRange || kind == Kind::kOperator || kind == Kind::kPython) ++host_rows_;
  if (const std::string_view device = device_of(event.category); !device.empty()) other_device_ = device;
  switch (kind) {
    case Kind::kRuntimeCall: take_call(event, span, format::ApiDomain::kRuntime); break;
    case Kind::kDriverCall: take_call(event, span, format::ApiDomain::kDriver); break;
    case Kind::kKernel:
    case Kind::kCopy:
    case Kind::kMemset: take_work(event, span, kind); break;
    case Kind::kRange: draft_.add_range(thread_of(event), span, draft_.text(event.name), NvtxDomainId{}, true); break;
    case Kind::kOperator:
      has_operators_ = true;
      draft_.stacks().add(thread_of(event), span, draft_.stacks().native_frame(event.name, kOperators));
      break;
    case Kind::kPython:
      has_python_ = true;
      draft_.stacks().add(thread_of(event), span, draft_.stacks().frame(event.name, kInterpreter));
      break;
    case Kind::kSync:
      if (event.name == "Stream Sync" && event.correlation)
        draft_.set_target(id_of<CorrelationId>(event.correlation),
                          {id_of<ContextId>(event.context), id_of<StreamId>(event.stream)});
      break;
    case Kind::kOverhead: draft_.add_overhead({span, overhead_kind(event.name), thread_of(event)}); break;
    default: break;
  }
  return std::nullopt;
}

void KinetoImport::take_call(const KinetoEvent& event, TimeSpan span, format::ApiDomain domain) {
  if (!process_) process_ = event.process;
  if (event.process != process_) {
    ++of_other_processes_;
    return;
  }
  Call call;
  call.span = span;
  call.thread = thread_of(event);
  call.api = draft_.api(domain, number(id_of<ApiId>(event.callback_id)), event.name);
  call.correlation = id_of<CorrelationId>(event.correlation);
  draft_.add_call(call);
  ++calls_;
  if (event.name.starts_with("hip")) ++hip_calls_;
}

void KinetoImport::take_work(const KinetoEvent& event, TimeSpan span, Kind kind) {
  Operation operation;
  operation.span = span;
  operation.device = id_of<DeviceId>(event.device ? event.device : event.process);
  // Old files have no contexts: then each device is one.
  operation.context =
      event.context ? id_of<ContextId>(event.context) : static_cast<ContextId>(number(operation.device) + 1);
  operation.stream = id_of<StreamId>(event.stream ? event.stream : event.thread);
  operation.correlation = id_of<CorrelationId>(event.correlation);
  operation.bytes = event.bytes && *event.bytes > 0 ? static_cast<std::uint64_t>(*event.bytes) : 0;
  operation.graph = id_of<GraphId>(event.graph);
  if (kind == Kind::kKernel) {
    const bool is_graph =
        number(operation.graph) != 0 && event.name.starts_with("CUDA graph ");  // our own exports say so
    operation.kind = is_graph ? OperationKind::kGraph : OperationKind::kKernel;
    if (!is_graph) operation.name = draft_.text(event.name);
  } else if (kind == Kind::kCopy) {
    operation.kind = OperationKind::kCopy;
    read_copy_name(event.name, operation);
  } else {
    operation.kind = OperationKind::kMemset;
    read_memset_name(event.name, operation);
  }
  draft_.add_operation(operation);
}

// A range that may overlap any other: two events joined by their id.
void KinetoImport::take_async(const KinetoEvent& event) {
  if (event.category != "user_annotation" || !event.id || !event.begin_ns) return;
  if (event.phase == "b") {
    if (++rows_ <= kMostImportedRows) begun_.insert_or_assign(*event.id, event);
    return;
  }
  const auto begin = begun_.find(*event.id);
  if (begin == begun_.end()) return;
  if (*begin->second.begin_ns <= *event.begin_ns) {
    const TimeSpan span{*begin->second.begin_ns, *event.begin_ns};
    draft_.add_range(thread_of(begin->second), span, draft_.text(begin->second.name), NvtxDomainId{}, false);
  }
  begun_.erase(begin);
}

void KinetoImport::take_name(const KinetoEvent& event) {
  if (!event.process) return;
  if (event.name == "process_name") process_names_[*event.process] = event.label;
  if (event.name == "thread_name" && event.thread) thread_names_[{*event.process, *event.thread}] = event.label;
}

void KinetoImport::describe(const KinetoHead& head) {
  Trace& trace = draft_.trace();
  trace.facts.insert(head.facts.begin(), head.facts.end());
  trace.facts["level"] = "timeline";
  trace.facts["imported_from"] = "torch.profiler";
  trace.facts["names"] = "stored";  // there is nothing to look up
  trace.devices = head.devices;
  if (!process_) return;
  trace.process_id = static_cast<std::uint32_t>(*process_);
  trace.facts["pid"] = std::to_string(trace.process_id);
  if (const auto name = process_names_.find(*process_); name != process_names_.end()) {
    trace.facts["program"] = name->second;
    trace.facts["command_line"] = name->second;
  }
  for (const auto& [key, label] : thread_names_) {
    if (key.first != *process_) continue;
    // "thread 4711 (name)"
    const std::size_t open = label.find('(');
    const bool has_name = open != std::string::npos && label.ends_with(')');
    trace.threads[thread_of(key.second)] = has_name ? label.substr(open + 1, label.size() - open - 2) : "";
  }
}

void KinetoImport::state_what_is_missing() {
  draft_.lose(kLossImportNoHostWaits);
  draft_.lose(kLossImportNoWaitedObjects);
  if (!has_python_) draft_.lose(has_operators_ ? kLossImportOperatorsOnly : kLossImportNoStacks, calls_);
  if (has_python_) draft_.lose(kLossImportFunctionLines);
  draft_.lose(kLossImportOtherProcess, of_other_processes_);
}

// Why there is nothing to look at, as far as the file tells.
Error KinetoImport::nothing_of_cuda(const KinetoHead& head) const {
  if (!other_device_.empty())
    return Error{name_ + " holds work of " + std::string(other_device_) +
                 ", and none of CUDA, which alone is known here"};
  if (hip_calls_ > 0)
    return Error{name_ + " holds calls of AMD's HIP, not of CUDA: which of them wait is not known here"};
  if (host_rows_ > 0) {
    const std::string why = head.devices.empty()
                                ? "it was recorded without a GPU, or without ProfilerActivity.CUDA"
                                : "give torch.profiler ProfilerActivity.CUDA as well as ProfilerActivity.CPU";
    return Error{name_ + " holds what PyTorch did on the CPU, and no CUDA calls and no GPU work: " + why};
  }
  if (head.events > 0)
    return Error{name_ + " holds no CUDA calls, no GPU work and no operators: it is no trace of torch.profiler"};
  return Error{name_ + " holds no events, so no CUDA calls and no GPU work"};
}

Result<Trace> KinetoImport::finish(const KinetoHead& head) {
  const bool is_foreign = calls_ == 0 ? !other_device_.empty() : hip_calls_ * 2 > calls_;
  if (is_foreign || !draft_.has_cuda()) return nothing_of_cuda(head);
  describe(head);
  state_what_is_missing();
  draft_.lose(kLossImportBadEvents, head.events_left_out);
  TraceDraft::Known known;
  known.realtime_ns = head.base_ns.value_or(0);
  known.monotonic_ns = head.base_monotonic_ns;
  return draft_.finish(known);
}

}  // namespace

Result<Trace> import_kineto(TextInput& input, const std::string& name) {
  KinetoImport import(name);
  KinetoHead head;
  if (const auto error = read_kineto(input, name, head, [&](const KinetoEvent& event) { return import.take(event); }))
    return *error;
  return import.finish(head);
}

}  // namespace synctrace
