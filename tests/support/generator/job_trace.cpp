// SPDX-License-Identifier: Apache-2.0
#include "support/generator/job_trace.h"

#include <iterator>
#include <string>
#include <string_view>

namespace synctrace::testing::generator {
namespace {

using format::ApiCategory;

constexpr ThreadId kHost{100};
constexpr ContextId kOnly{1};
constexpr std::uint32_t kCompute = 13;
constexpr std::uint32_t kExchange = 14;
enum Api : std::uint32_t { kLaunchApi = 1, kSyncApi, kAllocApi };
enum Text : std::uint32_t { kStepText = 1, kNcclText, kAllReduceText, kKernelTexts };
constexpr std::string_view kKernels[] = {"gemm", "norm", "softmax", "copy_rows"};

ApiId api_of(std::uint32_t api) { return format::make_api_id(format::ApiDomain::kRuntime, api); }
StackId stack_of(std::uint32_t line) { return StackId{line}; }

}  // namespace

JobTrace::JobTrace(const JobProgram& program, std::uint32_t rank, JobClock clock) : clock_(clock) {
  builder_.schemas();
  builder_.add(format::Fact{"command_line", "python3 train.py"});
  builder_.add(format::Fact{"host", "node" + std::to_string(rank / 8)});
  builder_.add(format::Fact{"rank", std::to_string(rank)});
  builder_.add(format::Fact{"level", "timeline"});
  builder_.add(format::Fact{"nccl_version", "2.28.9"});
  builder_.add(format::ApiName{api_of(kLaunchApi), ApiCategory::kLaunch, "cudaLaunchKernel"});
  builder_.add(format::ApiName{api_of(kSyncApi), ApiCategory::kStreamSync, "cudaStreamSynchronize"});
  builder_.add(format::ApiName{api_of(kAllocApi), ApiCategory::kAlloc, "cudaMalloc"});
  builder_.add(format::String{StringId{kStepText}, "step"});
  for (std::uint32_t i = 0; i < std::size(kKernels); ++i)
    builder_.add(format::String{StringId{kKernelTexts + i}, kKernels[i]});
  builder_.add(format::String{StringId{kNcclText}, "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLv"});
  builder_.add(format::String{StringId{kAllReduceText}, "AllReduce"});
  builder_.add(format::Context{kOnly, DeviceId{0}, StreamId{7}});
  builder_.add(format::Stream{kOnly, StreamId{kCompute}, format::Stream::kNonBlocking, 0});
  builder_.add(format::Stream{kOnly, StreamId{kExchange}, format::Stream::kNonBlocking, 0});
  constexpr std::uint32_t kVersion = 0x030c0000;
  constexpr std::string_view kNextLine = "\xe9\x02";  // a line table: all of it lies on the line after the first
  for (std::uint32_t line = 30; line < 100; ++line) {
    const bool collects = line == line_of(Fault::What::kCollector);
    const bool loads = line == line_of(Fault::What::kLoader);
    builder_.add(
        format::Code{line, kVersion, static_cast<std::int32_t>(line) - 1,
                     loads ? "/usr/lib/python3/site-packages/torch/utils/data/dataloader.py" : "/home/user/train.py",
                     loads      ? "_BaseDataLoaderIter.__next__"
                     : collects ? "gc_collect_main"
                                : "train_step",
                     kNextLine});
    const std::string frames = "p" + std::to_string(line) + ":0";
    builder_.add(format::Stack{stack_of(line), loads ? frames + " p70:0" : frames});
  }
  const Nanoseconds begin_ns = clock_.of(1'000'000);
  const std::uint32_t group = program.tensor_ranks;
  builder_.add(format::Communicator{CommunicatorId{1}, begin_ns, 0xa11, program.ranks, rank, 0});
  if (group > 1) {
    const std::uint32_t first = rank / group * group;
    builder_.add(format::Communicator{CommunicatorId{2}, begin_ns, 0x7e00 + first,
                                      std::min(group, program.ranks - first), rank - first, 0xa11});
  }
  numbers_.resize(3, 0);
  builder_.add(format::Window{begin_ns, 1, "start"});
  begin_ns_ = begin_ns;
}

std::uint64_t JobTrace::length_of(TimeSpan span) const {
  return static_cast<std::uint64_t>(clock_.of(span.end_ns) - clock_.of(span.begin_ns));
}

void JobTrace::step(Nanoseconds t) {
  if (stepping_) builder_.add(format::NvtxPop{kHost, clock_.of(t), {}});
  builder_.add(format::NvtxPush{kHost, clock_.of(t), {}, StringId{kStepText}});
  stepping_ = true;
}

void JobTrace::work(TimeSpan span, std::uint32_t stream, std::uint32_t name) {
  format::Kernel kernel;
  kernel.begin_ns = clock_.of(span.begin_ns);
  kernel.duration_ns = length_of(span);
  kernel.context = kOnly;
  kernel.stream = StreamId{stream};
  kernel.correlation = CorrelationId{correlation_};
  kernel.name = StringId{name};
  builder_.add(kernel);
}

void JobTrace::kernel(Nanoseconds launched_ns, Nanoseconds call_ns, TimeSpan span, std::uint32_t line) {
  ++correlation_;
  builder_.add(format::Launch{kHost, clock_.of(launched_ns), static_cast<std::uint64_t>(call_ns), api_of(kLaunchApi),
                              CorrelationId{correlation_}, 0, stack_of(line)});
  // A line launches several kernels in turn.
  work(span, kCompute, kKernelTexts + (line + correlation_) % std::size(kKernels));
}

void JobTrace::collective(Nanoseconds asked_ns, Nanoseconds call_ns, TimeSpan span, std::uint64_t communicator,
                          std::uint64_t turn, std::uint64_t bytes) {
  ++correlation_;
  ++groups_;
  const CommunicatorId id{communicator == 0xa11 ? 1U : 2U};
  format::Collective one;
  one.thread = kHost;
  one.time_ns = clock_.of(asked_ns);
  one.communicator = id;
  one.number = one.turn = turn;
  one.operation = StringId{kAllReduceText};
  one.bytes = bytes;
  one.group = groups_;
  builder_.add(one);
  builder_.add(format::Launch{kHost, clock_.of(asked_ns), static_cast<std::uint64_t>(call_ns), api_of(kLaunchApi),
                              CorrelationId{correlation_}, 0, stack_of(45)});
  format::CollectiveLaunch launch;
  launch.thread = kHost;
  launch.begin_ns = clock_.of(asked_ns);
  launch.duration_ns = static_cast<std::uint64_t>(call_ns);
  launch.group = groups_;
  launch.first_launch = launch.last_launch = CorrelationId{correlation_};
  launch.launches = 1;
  builder_.add(launch);
  work(span, kExchange, kNcclText);
}

void JobTrace::call(TimeSpan span, std::uint32_t line, std::uint32_t api) {
  format::Call call;
  call.thread = kHost;
  call.begin_ns = clock_.of(span.begin_ns);
  call.duration_ns = length_of(span);
  call.api = api_of(api);
  call.correlation = CorrelationId{++correlation_};
  call.context = kOnly;
  call.stream = StreamId{kCompute};
  call.stack = stack_of(line);
  builder_.add(call);
}

void JobTrace::sync(TimeSpan span, std::uint32_t line) { call(span, line, kSyncApi); }
void JobTrace::allocate(TimeSpan span, std::uint32_t line) { call(span, line, kAllocApi); }

void JobTrace::sleep(TimeSpan span, std::uint32_t line, format::HostCall call) {
  format::HostWait wait;
  wait.thread = kHost;
  wait.begin_ns = clock_.of(span.begin_ns);
  wait.duration_ns = length_of(span);
  wait.call = call;
  wait.object = 0x7000;
  wait.stack = stack_of(line);
  builder_.add(wait);
}

void JobTrace::compute(TimeSpan span, std::uint32_t line, format::Sample::State state) {
  format::Sample sample;
  sample.thread = kHost;
  sample.begin_ns = clock_.of(span.begin_ns);
  sample.duration_ns = length_of(span);
  sample.count = 3;
  sample.state = state;
  sample.stack = stack_of(line);
  builder_.add(sample);
}

std::vector<std::byte> JobTrace::finish(Nanoseconds end_ns) {
  const Nanoseconds t = clock_.of(end_ns) + 1'000'000;
  if (stepping_) builder_.add(format::NvtxPop{kHost, clock_.of(end_ns), {}});
  // The wall clock is wrong by as much.
  builder_.add(format::Clock{begin_ns_, static_cast<Nanoseconds>(TraceBuilder::kStartRealtimeNs) + begin_ns_});
  builder_.add(format::Window{t, 0, "exit"});
  builder_.add(format::End{t, 0, "exit"});
  return builder_.bytes();
}

}  // namespace synctrace::testing::generator
