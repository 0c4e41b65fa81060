// SPDX-License-Identifier: Apache-2.0
// Writes a trace as large as asked for, shaped like an eager training loop under the recorder: in each step a batch
// from a loader, two uploads on a stream of their own, a forward pass, `.item()`, a backward pass launched by another
// thread while the first one sleeps, an optimizer of short kernels; a sample of each thread every 2 ms, a stack on
// calls, waits, samples and some launches. Records lie in the file as the recorder leaves them: thread by thread, then
// the GPU's. Memory is that of one step.
//
//   training_trace RECORDS FILE          launches, GPU work, calls, waits, samples and ranges together
//   training_trace RECORDS FILE bare     without the ranges: the steps have to be found
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "format/trace_writer.h"

namespace synctrace {
namespace {

using namespace format;

constexpr ThreadId kMain{100};
constexpr ThreadId kEngine{101};
constexpr ContextId kContext{1};
constexpr StreamId kCompute{7};
constexpr StreamId kUpload{13};
constexpr ApiId kLaunchApi{make_api_id(ApiDomain::kRuntime, 211)};
constexpr ApiId kCopyApi{make_api_id(ApiDomain::kRuntime, 41)};
constexpr ApiId kSyncApi{make_api_id(ApiDomain::kRuntime, 131)};
constexpr ApiId kRecordApi{make_api_id(ApiDomain::kRuntime, 135)};
constexpr ApiId kWaitApi{make_api_id(ApiDomain::kRuntime, 147)};

constexpr std::uint32_t kFunctions = 120;
constexpr std::uint32_t kStacks = 400;
constexpr std::uint32_t kStackDepth = 24;
constexpr std::uint32_t kKernelNames = 60;
constexpr std::uint32_t kStackEvery = 32;  // launches
constexpr std::int64_t kSamplePeriodNs = 2'000'000;

class Output {
 public:
  explicit Output(const char* path) : file_(std::fopen(path, "wb")), buffer_(256U << 10), writer_(buffer_) {
    if (file_ == nullptr) fail(path);
    const FileHeader header = make_file_header(1'700'000'000'000'000'000, 42);
    put(std::as_bytes(std::span(&header, 1)));
  }

  template <class Record>
  void add(const Record& record) {
    if (writer_.add(record)) return;
    put(writer_.finish());
    if (!writer_.add(record)) std::abort();
  }

  void close() {
    put(writer_.finish());
    if (std::fclose(file_) != 0) fail("close");
  }

 private:
  void put(std::span<const std::byte> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail("write");
  }
  [[noreturn]] static void fail(const char* what) {
    std::perror(what);
    std::exit(1);
  }

  std::FILE* file_;
  std::vector<std::byte> buffer_;
  ChunkWriter writer_;
};

// One host thread: its clock, and what it did in this step.
struct HostThread {
  ThreadId id{};
  std::int64_t now_ns = 0;
  std::int64_t next_sample_ns = 0;
  std::vector<Launch> launches;
  std::vector<Call> calls;
  std::vector<HostWait> waits;
  std::vector<Sample> samples;
};

class Loop {
 public:
  explicit Loop(const char* path) : out_(path) {
    main_.id = kMain;
    engine_.id = kEngine;
    describe();
  }

  void run(std::uint64_t records, bool is_bare) {
    for (std::uint64_t step = 0; written_ < records; ++step) {
      if (!is_bare) out_.add(NvtxPush{kMain, main_.now_ns, {}, StringId{1}});
      play_step(step);
      write_step();
      if (!is_bare) out_.add(NvtxPop{kMain, main_.now_ns, {}});
      written_ += is_bare ? 0 : 2;
    }
    const std::int64_t end_ns = std::max(main_.now_ns, compute_ns_) + 10'000;
    out_.add(Window{end_ns, 0, "exit"});
    out_.add(End{end_ns, 0, "exit"});
    out_.close();
  }

 private:
  std::uint32_t random(std::uint32_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state_ >> 33) % bound;
  }
  StackId stack(std::uint32_t place) const { return StackId{1 + place % kStacks}; }
  std::uint64_t length(std::int64_t begin_ns, std::int64_t end_ns) const {
    return static_cast<std::uint64_t>(end_ns - begin_ns);
  }

  void describe();
  void play_step(std::uint64_t step);
  void write_step();
  void compute(HostThread& thread, std::int64_t ns, std::uint32_t place, Sample::State state = Sample::State::kRunning);
  void launch(HostThread& thread, std::uint32_t place, std::int64_t gpu_ns);
  void upload(std::uint64_t bytes, std::uint32_t place);
  void read_scalar(std::uint32_t place);
  void sleep(HostThread& thread, std::int64_t until_ns, std::uint32_t place, HostCall call, ThreadId waker);
  Call& call(HostThread& thread, ApiId api, std::int64_t end_ns, std::uint32_t place);

  Output out_;
  HostThread main_;
  HostThread engine_;
  std::vector<Kernel> kernels_;
  std::vector<Copy> copies_;
  std::int64_t compute_ns_ = 0;  // when each stream is done
  std::int64_t upload_ns_ = 0;
  std::uint32_t correlation_ = 0;
  std::uint64_t state_ = 1;
  std::uint64_t written_ = 0;
};

void Loop::describe() {
  for_each_schema([&](const Schema& schema) { out_.add(schema); });
  out_.add(Fact{"command_line", "python3 train.py"});
  out_.add(Device{DeviceId{0}, "a GPU", "", 9, 0, 132, 0});
  out_.add(format::Context{kContext, DeviceId{0}, StreamId{0}});
  out_.add(format::Stream{kContext, kCompute, format::Stream::kNonBlocking, 0});
  out_.add(format::Stream{kContext, kUpload, format::Stream::kNonBlocking, 0});
  out_.add(ApiName{kLaunchApi, ApiCategory::kLaunch, "cudaLaunchKernel"});
  out_.add(ApiName{kCopyApi, ApiCategory::kCopyAsync, "cudaMemcpyAsync"});
  out_.add(ApiName{kSyncApi, ApiCategory::kStreamSync, "cudaStreamSynchronize"});
  out_.add(ApiName{kRecordApi, ApiCategory::kStreamEvent, "cudaEventRecord"});
  out_.add(ApiName{kWaitApi, ApiCategory::kStreamEvent, "cudaStreamWaitEvent"});
  out_.add(String{StringId{1}, "step"});
  for (std::uint32_t i = 0; i < kKernelNames; ++i) {
    out_.add(String{StringId{10 + i},
                    "_Z" + std::to_string(std::to_string(i).size() + 7) + "kernel_" + std::to_string(i) + "v"});
  }
  for (std::uint32_t i = 0; i < kFunctions; ++i) {
    const bool library = i % 4 != 0;
    const std::string file =
        library ? "/usr/lib/python3/dist-packages/torch/nn/m" + std::to_string(i) + ".py" : "/home/u/train.py";
    out_.add(Code{i + 1, 0x030b0000, static_cast<std::int32_t>(10 * i + 1), file, "function_" + std::to_string(i), ""});
  }
  for (std::uint32_t i = 0; i < kStacks; ++i) {
    std::string frames;
    for (std::uint32_t depth = 0; depth < kStackDepth; ++depth) {
      const std::uint32_t function = depth + 1 == kStackDepth ? 0 : (i * 7 + depth * 5) % kFunctions;
      frames += (depth == 0 ? "p" : " p") + std::to_string(function + 1) + ":0";
    }
    out_.add(format::Stack{StackId{i + 1}, frames});
  }
  main_.now_ns = engine_.now_ns = compute_ns_ = upload_ns_ = 1'000'000'000;
  out_.add(Window{main_.now_ns, 1, "start"});
}

// Host time of a thread, with the samples that fall into it.
void Loop::compute(HostThread& thread, std::int64_t ns, std::uint32_t place, Sample::State state) {
  thread.now_ns += ns;
  if (thread.next_sample_ns < thread.now_ns - ns) thread.next_sample_ns = thread.now_ns - ns / 2;
  for (; thread.next_sample_ns < thread.now_ns; thread.next_sample_ns += kSamplePeriodNs) {
    thread.samples.push_back({thread.id, thread.next_sample_ns, 0, 1, state, {}, stack(place)});
  }
}

void Loop::launch(HostThread& thread, std::uint32_t place, std::int64_t gpu_ns) {
  const std::int64_t begin_ns = thread.now_ns;
  thread.now_ns += 3'500 + random(1'500);
  const StackId where = random(kStackEvery) == 0 ? stack(place) : StackId{};
  thread.launches.push_back(
      {thread.id, begin_ns, length(begin_ns, thread.now_ns), kLaunchApi, CorrelationId{++correlation_}, 0, where});
  const std::int64_t start_ns = std::max(begin_ns + 6'000 + random(800), compute_ns_ + 900 + random(200));
  compute_ns_ = start_ns + gpu_ns;
  kernels_.push_back({start_ns,
                      length(start_ns, compute_ns_),
                      {},
                      kContext,
                      kCompute,
                      CorrelationId{correlation_},
                      StringId{10 + place % kKernelNames},
                      ShapeId{1 + place % 30},
                      {},
                      0});
}

Call& Loop::call(HostThread& thread, ApiId api, std::int64_t end_ns, std::uint32_t place) {
  Call& row = thread.calls.emplace_back();
  row.thread = thread.id;
  row.begin_ns = thread.now_ns;
  row.duration_ns = length(thread.now_ns, end_ns);
  row.api = api;
  row.correlation = CorrelationId{++correlation_};
  row.context = kContext;
  row.stream = kCompute;
  row.stack = stack(place);
  thread.now_ns = end_ns;
  return row;
}

void Loop::upload(std::uint64_t bytes, std::uint32_t place) {
  const std::int64_t start_ns = std::max(main_.now_ns + 5'000, upload_ns_ + 1'000);
  upload_ns_ = start_ns + static_cast<std::int64_t>(bytes / 50);
  Call& row = call(main_, kCopyApi, main_.now_ns + 4'000, place);
  row.stream = kUpload;
  row.bytes = bytes;
  row.copy_kind = CopyKind::kHostToDevice;
  row.source_memory = MemoryKind::kPinned;
  row.target_memory = MemoryKind::kDevice;
  copies_.push_back({start_ns,
                     length(start_ns, upload_ns_),
                     {},
                     kContext,
                     kUpload,
                     CorrelationId{correlation_},
                     bytes,
                     CopyKind::kHostToDevice,
                     MemoryKind::kPinned,
                     MemoryKind::kDevice,
                     Copy::kAsync,
                     {},
                     0});
}

// A copy of 4 bytes behind all the work, and the wait for it.
void Loop::read_scalar(std::uint32_t place) {
  const std::int64_t start_ns = std::max(main_.now_ns + 6'000, compute_ns_ + 1'500);
  compute_ns_ = start_ns + 1'200;
  Call& copy = call(main_, kCopyApi, compute_ns_ + 5'000, place);
  copy.bytes = 4;
  copy.copy_kind = CopyKind::kDeviceToHost;
  copy.source_memory = MemoryKind::kDevice;
  copy.target_memory = MemoryKind::kPageable;
  copies_.push_back({start_ns,
                     1'200,
                     {},
                     kContext,
                     kCompute,
                     CorrelationId{correlation_},
                     4,
                     CopyKind::kDeviceToHost,
                     MemoryKind::kDevice,
                     MemoryKind::kPageable,
                     Copy::kAsync,
                     {},
                     0});
  main_.now_ns += 500;
  call(main_, kSyncApi, main_.now_ns + 1'500, place);
}

void Loop::sleep(HostThread& thread, std::int64_t until_ns, std::uint32_t place, HostCall how, ThreadId waker) {
  const std::int64_t begin_ns = thread.now_ns;
  if (until_ns - begin_ns > kSamplePeriodNs) {
    const std::uint64_t count = length(begin_ns, until_ns) / static_cast<std::uint64_t>(kSamplePeriodNs);
    thread.samples.push_back({thread.id,
                              begin_ns + kSamplePeriodNs / 2,
                              (count - 1) * static_cast<std::uint64_t>(kSamplePeriodNs),
                              count,
                              Sample::State::kBlocked,
                              {},
                              stack(place)});
  }
  thread.now_ns = until_ns;
  thread.waits.push_back({thread.id, begin_ns, length(begin_ns, until_ns), how, 0x7000, 0, waker,
                          number(waker) == 0 ? 0 : until_ns - 6'000, stack(place)});
}

void Loop::play_step(std::uint64_t step) {
  if (step % 4 == 0) sleep(main_, main_.now_ns + 400'000 + random(600'000), 3, HostCall::kSemaphore, {});
  for (std::uint32_t i = 0; i < 2; ++i) upload(2'000'000, 8 + i * 4);
  call(main_, kRecordApi, main_.now_ns + 1'200, 16).stream = kUpload;
  main_.calls.back().object = 0x900;
  call(main_, kWaitApi, main_.now_ns + 1'200, 20).object = 0x900;
  for (std::uint32_t i = 0; i < 240; ++i) {  // forward
    launch(main_, 24 + i, 4'000 + random(40'000));
    compute(main_, 9'000 + random(9'000), 24 + i);
  }
  read_scalar(300);
  compute(main_, 150'000, 304);
  sleep(engine_, main_.now_ns + 6'000, 312, HostCall::kCondition, kMain);
  for (std::uint32_t i = 0; i < 420; ++i) {  // backward
    launch(engine_, 40 + i, 4'000 + random(60'000));
    compute(engine_, 7'000 + random(6'000), 40 + i);
  }
  sleep(main_, engine_.now_ns + 10'000, 308, HostCall::kCondition, kEngine);
  for (std::uint32_t i = 0; i < 60; ++i) {  // optimizer
    launch(main_, 60 + i, 2'000 + random(3'000));
    compute(main_, 8'000 + random(4'000), 60 + i);
  }
}

void Loop::write_step() {
  const auto write = [&](auto& rows) {
    for (const auto& row : rows) out_.add(row);
    written_ += rows.size();
    rows.clear();
  };
  for (HostThread* thread : {&main_, &engine_}) {
    write(thread->launches);
    write(thread->calls);
    write(thread->waits);
  }
  for (HostThread* thread : {&main_, &engine_}) write(thread->samples);
  write(copies_);
  write(kernels_);
}

}  // namespace
}  // namespace synctrace

int main(int argc, char** argv) {
  const bool is_bare = argc == 4 && std::string_view(argv[3]) == "bare";
  if (argc != 3 && !is_bare) {
    std::fputs("usage: training_trace RECORDS FILE [bare]\n", stderr);
    return 2;
  }
  synctrace::Loop(argv[2]).run(std::strtoull(argv[1], nullptr, 10), is_bare);
  return 0;
}
