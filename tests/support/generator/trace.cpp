// SPDX-License-Identifier: Apache-2.0
#include "support/generator/trace.h"

#include <algorithm>
#include <string_view>

#include "support/trace_builder.h"

namespace synctrace::testing::generator {
namespace {

using format::ApiCategory;

struct TracedApi {
  Act act;
  ApiCategory category;
  std::string_view name;
};

constexpr TracedApi kApis[] = {
    {Act::kLaunch, ApiCategory::kLaunch, "cudaLaunchKernel"},
    {Act::kBurstLaunch, ApiCategory::kLaunch, "cudaLaunchKernel"},
    {Act::kGraph, ApiCategory::kGraphLaunch, "cudaGraphLaunch"},
    {Act::kCopy, ApiCategory::kCopyAsync, "cudaMemcpyAsync"},
    {Act::kPageableCopy, ApiCategory::kCopyAsync, "cudaMemcpyAsync"},
    {Act::kRecord, ApiCategory::kStreamEvent, "cudaEventRecord"},
    {Act::kWaitEvent, ApiCategory::kStreamEvent, "cudaStreamWaitEvent"},
    {Act::kStreamSync, ApiCategory::kStreamSync, "cudaStreamSynchronize"},
    {Act::kDeviceSync, ApiCategory::kDeviceSync, "cudaDeviceSynchronize"},
    {Act::kEventSync, ApiCategory::kEventSync, "cudaEventSynchronize"},
    {Act::kPoll, ApiCategory::kPoll, "cudaStreamQuery"},
    {Act::kAllocate, ApiCategory::kAlloc, "cudaMalloc"},
    {Act::kFree, ApiCategory::kFree, "cudaFree"},
    {Act::kModule, ApiCategory::kModule, "cuModuleLoadData"},
    {Act::kOtherCall, ApiCategory::kPoolAlloc, "cudaMallocAsync"},
};

// Functions of one name share an id.
ApiId api_of(Act act) {
  const auto* found =
      std::find_if(std::begin(kApis), std::end(kApis), [&](const TracedApi& api) { return api.act == act; });
  const auto* first =
      std::find_if(std::begin(kApis), std::end(kApis), [&](const TracedApi& api) { return api.name == found->name; });
  return format::make_api_id(format::ApiDomain::kRuntime, static_cast<std::uint32_t>(first - std::begin(kApis)) + 1);
}

class Recorder {
 public:
  Recorder(const Program& program, const Run& run, const Recording& recording)
      : program_(program), run_(run), recording_(recording) {}

  std::vector<std::byte> bytes() {
    builder_.schemas();
    describe();
    if (recording_.round_ns > 0) return in_rounds();
    for (const HostEvent& event : run_.host) add_host(event);
    if (stepping_) builder_.add(format::NvtxPop{stepper_, shifted(run_.end_ns), {}});
    for (const DeviceEvent& event : run_.device) add_device(event);
    if (recording_.samples == Recording::Samples::kPeriodic) add_periodic_samples();
    builder_.add(format::Window{shifted(kRunBeginNs), 1, "start"});
    builder_.add(format::Window{shifted(run_.end_ns), 0, "exit"});
    builder_.add(format::End{shifted(run_.end_ns), 0, "exit"});
    return builder_.bytes();
  }

 private:
  std::vector<std::byte> in_rounds();
  Nanoseconds shifted(Nanoseconds t) const { return t + recording_.shift_ns; }
  Nanoseconds device_clock(Nanoseconds t) const {
    return shifted(t) + recording_.skew_ns + recording_.drift_ns_per_ms * ((t - kRunBeginNs) / 1'000'000);
  }
  ThreadId thread(std::uint32_t index) const { return ThreadId{100 + index + recording_.rename}; }
  ContextId context(std::uint32_t device) const { return ContextId{device + 1 + recording_.rename}; }
  StreamId stream(std::uint32_t index) const { return StreamId{13 + index + recording_.rename}; }

  void describe();
  void add_host(const HostEvent& event);
  void add_step(const HostEvent& event);
  void add_wait(const HostEvent& event);
  void add_sample(const HostEvent& event, TimeSpan span, std::uint64_t count);
  void add_periodic_samples();
  void add_device(const DeviceEvent& event);

  const Program& program_;
  const Run& run_;
  const Recording& recording_;
  TraceBuilder builder_;
  bool stepping_ = false;
  ThreadId stepper_{};
};

void Recorder::describe() {
  for (const TracedApi& api : kApis) builder_.add(format::ApiName{api_of(api.act), api.category, api.name});
  std::uint32_t devices = 0;
  for (std::uint32_t i = 0; i < program_.stream_devices.size(); ++i)
    devices = std::max(devices, program_.stream_devices[i] + 1);
  for (std::uint32_t device = 0; device < devices; ++device) {
    builder_.add(format::Context{context(device), DeviceId{device}, StreamId{7 + recording_.rename}});
  }
  for (std::uint32_t i = 0; i < program_.stream_devices.size(); ++i) {
    builder_.add(format::Stream{context(program_.stream_devices[i]), stream(i), format::Stream::kNonBlocking, 0});
  }
  constexpr std::uint32_t kVersion = 0x030c0000;
  constexpr std::string_view kNextLine = "\xe9\x02";  // a line table: all of it lies on the line after the first
  const std::uint32_t outermost = static_cast<std::uint32_t>(program_.places.size()) + 1;
  builder_.add(format::Code{outermost, kVersion, 1, "/home/user/train.py", "<module>", ""});
  for (std::uint32_t place = 0; place < program_.places.size(); ++place) {
    const Place& where = program_.places[place];
    std::string function = "f" + std::to_string(where.function);
    std::string_view file = "/home/user/train.py";
    if (where.loader) {
      function = "_BaseDataLoaderIter.__next__";
      file = "/usr/lib/python3/site-packages/torch/utils/data/dataloader.py";
    } else if (where.collector) {
      function = "gc_collect_main";
    }
    builder_.add(
        format::Code{place + 1, kVersion, static_cast<std::int32_t>(where.line) - 1, file, function, kNextLine});
    const std::string frames = "p" + std::to_string(place + 1) + ":0 p" + std::to_string(outermost) + ":0";
    builder_.add(format::Stack{stack_of_place(place), frames});
  }
}

std::vector<std::byte> Recorder::in_rounds() {
  std::vector<HostEvent> host = run_.host;
  std::vector<DeviceEvent> device = run_.device;
  const auto by_end = [](const auto& a, const auto& b) { return a.span.end_ns < b.span.end_ns; };
  std::stable_sort(host.begin(), host.end(), by_end);
  std::stable_sort(device.begin(), device.end(), by_end);
  auto next_host = host.begin();
  auto next_device = device.begin();
  builder_.add(format::Window{shifted(kRunBeginNs), 1, "start"}).end_chunk();
  for (Nanoseconds t = kRunBeginNs; t < run_.end_ns;) {
    t = std::min(t + recording_.round_ns, run_.end_ns);
    std::uint64_t dropped = 0;
    for (; next_host != host.end() && next_host->span.end_ns <= t; ++next_host) {
      const bool drops = recording_.drops_host && recording_.drops_host(*next_host);
      dropped += drops ? 1 : 0;
      if (!drops) add_host(*next_host);
    }
    if (dropped > 0) builder_.add(format::Loss{shifted(t), "ring-full", dropped});
    std::uint64_t dropped_work = 0;
    for (; next_device != device.end() && next_device->span.end_ns <= t; ++next_device) {
      const bool drops = recording_.drops_device && recording_.drops_device(*next_device);
      dropped_work += drops ? 1 : 0;
      if (!drops) add_device(*next_device);
    }
    builder_.add(format::Clock{shifted(t), shifted(t)});
    if (dropped_work > 0) builder_.add(format::Loss{shifted(t), "cupti-dropped", dropped_work});
    if (t < run_.end_ns) builder_.end_chunk();
  }
  if (stepping_) builder_.add(format::NvtxPop{stepper_, shifted(run_.end_ns), {}});
  builder_.add(format::Window{shifted(run_.end_ns), 0, "exit"});
  builder_.add(format::End{shifted(run_.end_ns), 0, "exit"});
  return builder_.bytes();
}

void Recorder::add_wait(const HostEvent& event) {
  constexpr Nanoseconds kShortestKeptNs = 50'000;
  if (!recording_.host_waits || event.span.length_ns() <= kShortestKeptNs) return;
  format::HostWait wait;
  wait.thread = thread(event.thread);
  wait.begin_ns = shifted(event.span.begin_ns);
  wait.duration_ns = static_cast<std::uint64_t>(event.span.length_ns());
  wait.call = event.act == Act::kBlock  ? format::HostCall::kCondition
              : event.act == Act::kLoad ? format::HostCall::kSemaphore
                                        : format::HostCall::kFutex;
  wait.object = 0x7000 + event.object;
  wait.stack = stack_of_place(event.place);
  if (recording_.wakers && event.waker != 0) {
    wait.waker = thread(event.waker - 1);
    wait.wake_ns = shifted(event.wake_ns);
  }
  builder_.add(wait);
}

void Recorder::add_sample(const HostEvent& event, TimeSpan span, std::uint64_t count) {
  const bool computes = event.act == Act::kCompute || event.act == Act::kCollect || event.act == Act::kBurstLaunch;
  format::Sample sample;
  sample.thread = thread(event.thread);
  sample.begin_ns = shifted(span.begin_ns);
  sample.duration_ns = static_cast<std::uint64_t>(span.length_ns());
  sample.count = count;
  sample.state = computes ? format::Sample::State::kRunning : format::Sample::State::kBlocked;
  sample.stack = stack_of_place(event.place);
  builder_.add(sample);
}

void Recorder::add_periodic_samples() {
  constexpr Nanoseconds kPeriodNs = 2'000'000;
  for (const HostEvent& event : run_.host) {
    const Nanoseconds phase_ns = 137'000 * (event.thread + 1);
    const Nanoseconds first = (event.span.begin_ns - phase_ns + kPeriodNs - 1) / kPeriodNs * kPeriodNs + phase_ns;
    for (Nanoseconds t = first; t < event.span.end_ns; t += kPeriodNs) add_sample(event, {t, t}, 1);
  }
}

void Recorder::add_step(const HostEvent& event) {
  constexpr StringId kText{1};
  stepper_ = thread(event.thread);
  if (stepping_)
    builder_.add(format::NvtxPop{stepper_, shifted(event.span.begin_ns), {}});
  else
    builder_.add(format::String{kText, "step"});
  builder_.add(format::NvtxPush{stepper_, shifted(event.span.begin_ns), {}, kText});
  stepping_ = true;
}

void Recorder::add_host(const HostEvent& event) {
  const std::uint64_t length = static_cast<std::uint64_t>(event.span.length_ns());
  const Nanoseconds begin_ns = shifted(event.span.begin_ns);
  switch (event.act) {
    case Act::kCompute:
    case Act::kCollect:
      if (recording_.samples == Recording::Samples::kDense && length > 0) add_sample(event, event.span, 3);
      return;
    case Act::kStep: return add_step(event);
    case Act::kBlock:
    case Act::kLoad:
    case Act::kGpuSleep: return add_wait(event);
    case Act::kLaunch:
    case Act::kBurstLaunch:
    case Act::kGraph: {
      const StackId stack = recording_.launch_stacks ? stack_of_place(event.place) : StackId{};
      builder_.add(format::Launch{thread(event.thread), begin_ns, length, api_of(event.act),
                                  CorrelationId{event.correlation}, 0, stack});
      return;
    }
    case Act::kPoll: {
      const std::uint64_t queries = std::max<std::uint64_t>(1, length / 2'000);
      builder_.add(format::Poll{thread(event.thread), begin_ns, length, api_of(event.act), event.stream, queries,
                                queries - 1, stack_of_place(event.place)});
      return;
    }
    default: break;
  }
  format::Call call;
  call.thread = thread(event.thread);
  call.begin_ns = begin_ns;
  call.duration_ns = length;
  call.api = api_of(event.act);
  call.correlation = CorrelationId{event.correlation};
  call.context = context(program_.stream_devices[event.stream]);
  call.stream = stream(event.stream);
  call.stack = stack_of_place(event.place);
  if (event.act == Act::kRecord || event.act == Act::kWaitEvent || event.act == Act::kEventSync)
    call.object = 0x900 + event.object;
  if (event.act == Act::kFree || event.act == Act::kAllocate) call.object = 0x5000;
  if (event.act == Act::kCopy || event.act == Act::kPageableCopy) {
    call.bytes = 8U << 20;
    call.copy_kind = format::CopyKind::kHostToDevice;
    call.source_memory = event.act == Act::kCopy ? format::MemoryKind::kPinned : format::MemoryKind::kPageable;
    call.target_memory = format::MemoryKind::kDevice;
  }
  builder_.add(call);
}

void Recorder::add_device(const DeviceEvent& event) {
  const Nanoseconds begin_ns = device_clock(event.span.begin_ns);
  const std::uint64_t length = static_cast<std::uint64_t>(event.span.length_ns());
  if (event.act == Act::kCopy || event.act == Act::kPageableCopy) {
    format::Copy copy;
    copy.begin_ns = begin_ns;
    copy.duration_ns = length;
    copy.device = DeviceId{event.device};
    copy.context = context(event.device);
    copy.stream = stream(event.stream);
    copy.correlation = CorrelationId{event.correlation};
    copy.bytes = 8U << 20;
    copy.copy_kind = format::CopyKind::kHostToDevice;
    copy.source_memory = event.act == Act::kCopy ? format::MemoryKind::kPinned : format::MemoryKind::kPageable;
    copy.target_memory = format::MemoryKind::kDevice;
    builder_.add(copy);
    return;
  }
  format::Kernel kernel;
  kernel.begin_ns = begin_ns;
  kernel.duration_ns = length;
  kernel.device = DeviceId{event.device};
  kernel.context = context(event.device);
  kernel.stream = stream(event.stream);
  kernel.correlation = CorrelationId{event.correlation};
  kernel.graph = GraphId{event.graph};
  builder_.add(kernel);
}

}  // namespace

std::vector<std::byte> trace_of(const Program& program, const Run& run, const Recording& recording) {
  return Recorder(program, run, recording).bytes();
}

}  // namespace synctrace::testing::generator
