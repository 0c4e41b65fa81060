// SPDX-License-Identifier: Apache-2.0
#include "support/loops/tape.h"

#include <algorithm>
#include <utility>

namespace synctrace::testing::loops {
namespace {

constexpr ThreadId kMain{100};
constexpr ThreadId kOther{101};
constexpr ThreadId kPrefetch{102};
constexpr ContextId kContext{1};  // the first device's
constexpr StreamId kStream{7};
constexpr std::uint32_t kProgram = 1;  // modules
constexpr std::uint32_t kFramework = 2;
constexpr std::size_t kMostQueued = 1000;  // pieces of work; then a launch waits

ContextId context_of(std::size_t device) { return ContextId{number(kContext) + static_cast<std::uint32_t>(device)}; }

template <class Row>
void sort_rows(std::vector<Row>& rows) {
  const auto earlier = [](const Row& a, const Row& b) { return a.span.begin_ns < b.span.begin_ns; };
  if (!std::is_sorted(rows.begin(), rows.end(), earlier)) std::stable_sort(rows.begin(), rows.end(), earlier);
}

// Each line of a function has eight instructions; the first line holds its name.
std::string line_table() {
  std::string table;
  for (int line = 0; line < 64; ++line) table += "\xef\x02";
  return table;
}

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t mixed = (state_ += 0x9e3779b97f4a7c15U);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

Tape::Tape(const Conditions& conditions, std::uint64_t seed) : conditions_(conditions), random_(seed) {
  const bool python = conditions.stacks == Stacks::kPython;
  trace_.facts["executable"] = python ? "/usr/bin/python3.12" : "/home/user/program";
  trace_.operations.reserve(1U << 15);
  trace_.launches.reserve(1U << 15);
  trace_.contexts[kContext] = {DeviceId{0}, kStream};
  trace_.threads = {{kMain, "main"}};
  trace_.modules[kProgram] = Module{trace_.facts["executable"], "", 0, 0x1000, 0x1000000, 0, 0};
  trace_.modules[kFramework] =
      Module{"/usr/lib/python3/site-packages/torch/lib/libtorch_cuda.so", "", 0, 0x2000000, 0x3000000, 0, 0};
}

void Tape::enter(std::string_view file, std::string_view function) {
  const std::string key = std::string(file) + ':' + std::string(function);
  const auto [entry, is_new] = functions_.try_emplace(key, static_cast<std::uint32_t>(functions_.size()) + 1);
  if (is_new) {
    static const std::string kLines = line_table();
    const auto first_line = static_cast<std::int32_t>(entry->second * 70);
    trace_.codes[entry->second] = Code{std::string(file), std::string(function), kLines, first_line, 0x030c0000};
  }
  frames_.push_back({entry->second, 0});
}

Nanoseconds Tape::jittered(Nanoseconds ns) {
  double factor = 1 + conditions_.jitter * (2 * random_.share() - 1);
  if (conditions_.jitter > 0 && random_.chance(0.01)) factor *= 3;
  return static_cast<Nanoseconds>(static_cast<double>(ns) * factor);
}

StackId Tape::stack(bool python_only) {
  if (conditions_.stacks == Stacks::kNone || asleep_ns_ != 0) return {};
  last_stack_ns_ = now_ns_;
  std::vector<Place> key = frames_;
  key.push_back({python_only ? 1U : 0U, 0});
  const auto [entry, is_new] = stacks_.try_emplace(key, StackId{static_cast<std::uint32_t>(stacks_.size()) + 1});
  if (!is_new) return entry->second;
  std::vector<StackFrame>& frames = trace_.stacks[entry->second];
  StackFrame frame;
  if (conditions_.stacks == Stacks::kPython && !python_only) {
    frame.kind = StackFrame::Kind::kNative;
    frame.native = {kFramework, 0x2000010 + frames_.size() * 16, false};
    frames.push_back(frame);
  }
  for (auto place = frames_.rbegin(); place != frames_.rend(); ++place) {
    frame = {};
    frame.code = place->function;
    frame.offset_bytes = static_cast<std::int32_t>(place->line * 16 + 6);
    if (conditions_.stacks != Stacks::kPython) {
      frame.kind = StackFrame::Kind::kNative;
      frame.native = {kProgram, 0x1000 + place->function * 0x1000ULL + place->line * 32ULL, false};
      ResolvedFrame named;
      named.named = true;
      named.function = trace_.codes[place->function].function;
      named.file = "/home/user/program.cpp";
      named.line = static_cast<std::uint32_t>(trace_.codes[place->function].first_line) + place->line + 1;
      if (conditions_.stacks == Stacks::kNative) trace_.symbols[frame.native] = {named};
    }
    frames.push_back(frame);
  }
  return entry->second;
}

// The recorder's rules: a launch that ends a pause has all frames; one in some 64, and one where the last stack is old,
// has those of Python.
StackId Tape::launch_stack() {
  if (!conditions_.launch_stacks || conditions_.stacks == Stacks::kNone || asleep_ns_ != 0) return {};
  if (now_ns_ - last_call_ns_ > 50'000) return stack(false);
  if (conditions_.stacks != Stacks::kPython) return {};
  if (--to_next_stack_ != 0 && now_ns_ - last_stack_ns_ < 250'000) return {};
  to_next_stack_ = random_.between(1, 127);
  return stack(true);
}

// The recorder's rules: of calls that do not wait, 2 % of the time go into stacks; a site has one each 100 ms at least.
bool Tape::affords_stack(ApiCategory category, Nanoseconds ns) {
  constexpr double kCostNs = 1'000;
  saved_ns_ = std::min(1e7, saved_ns_ + 0.02 * static_cast<double>(now_ns_ - std::exchange(saved_until_ns_, now_ns_)));
  std::vector<Place> key = frames_;
  key.push_back({number(category), 0});
  Site& site = sites_[key];
  const bool is_free = std::exchange(site.last_length_ns, ns) >= 30'000 || now_ns_ - site.last_stack_ns >= 100'000'000;
  if (!is_free && saved_ns_ < kCostNs) return false;
  if (!is_free) saved_ns_ -= kCostNs;
  site.last_stack_ns = now_ns_;
  return true;
}

CorrelationId Tape::launch() {
  if (trace_.operations.size() >= kMostQueued) {
    now_ns_ = std::max(now_ns_, trace_.operations[trace_.operations.size() - kMostQueued].span.end_ns);
  }
  Launch row;
  row.thread = asleep_ns_ != 0 ? kOther : kMain;
  row.stack = launch_stack();
  row.correlation = CorrelationId{next_correlation_++};
  row.span = {now_ns_, now_ns_ + 2'500};
  trace_.launches.push_back(row);
  if (asleep_ns_ == 0) last_call_ns_ = row.span.end_ns;
  now_ns_ += 2'500 + jittered(2'500);
  if (std::exchange(holds_, false)) now_ns_ += static_cast<Nanoseconds>(random_.between(20, 200)) * 1'000'000;
  if (later_launches_ > 0 && --later_launches_ == 0) prefetch();
  return row.correlation;
}

Operation& Tape::work(CorrelationId correlation, Nanoseconds gpu_ns) {
  Operation row;
  issued_ns_.push_back(now_ns_);
  const Nanoseconds begin_ns = std::max(now_ns_ + 2'000, gpu_free_ns_ + 1'000);
  gpu_free_ns_ = begin_ns + gpu_ns;
  row.span = {begin_ns, gpu_free_ns_};
  row.context = context_of(device_);
  row.stream = kStream;
  row.correlation = correlation;
  trace_.operations.push_back(row);
  return trace_.operations.back();
}

StringId Tape::name_of(std::string_view name) {
  const auto [entry, is_new] = names_.try_emplace(std::string(name), static_cast<StringId>(names_.size() + 1));
  if (is_new) trace_.strings[entry->second] = entry->first;
  return entry->second;
}

void Tape::kernel(std::string_view name, Nanoseconds gpu_ns, bool may_vary) {
  const bool varies = may_vary && random_.chance(conditions_.other_names);
  const StringId id = name_of(varies ? std::string(name) + "_tile" + std::to_string(random_.between(1, 3)) : name);
  work(launch(), gpu_ns).name = id;
}

void Tape::graph(std::uint32_t id, Nanoseconds gpu_ns) {
  Operation& row = work(launch(), gpu_ns);
  row.kind = OperationKind::kGraph;
  row.graph = GraphId{id};
}

Call& Tape::call(ApiCategory category, Nanoseconds ns) {
  Call row;
  row.span = {now_ns_, now_ns_ + ns};
  row.thread = asleep_ns_ != 0 ? kOther : kMain;
  row.category = category;
  row.api = ApiId{number(category) + 1U};
  trace_.apis[row.api].category = category;
  row.context = context_of(device_);
  row.stream = kStream;
  row.correlation = CorrelationId{next_correlation_++};
  if (affords_stack(category, ns)) row.stack = stack(false);
  trace_.calls.push_back(row);
  now_ns_ += ns;
  last_call_ns_ = now_ns_;
  return trace_.calls.back();
}

void Tape::to_device(std::uint64_t bytes) {
  Call& row = call(ApiCategory::kCopyAsync, 6'000);
  Operation& copy = work(row.correlation, 1'500 + static_cast<Nanoseconds>(bytes / 40));
  row.bytes = copy.bytes = bytes;
  row.copy_kind = copy.copy_kind = CopyKind::kHostToDevice;
  row.source_memory = copy.source_memory = MemoryKind::kPinned;
  row.target_memory = copy.target_memory = MemoryKind::kDevice;
  copy.kind = OperationKind::kCopy;
}

void Tape::to_device_later(std::uint64_t bytes, std::size_t launches) {
  trace_.threads[kPrefetch] = "prefetch";
  later_bytes_ = bytes;
  later_launches_ = launches;
}

// On a stream of its own.
void Tape::prefetch() {
  Call row;
  row.span = {now_ns_ - 1'000, now_ns_ + 4'000};
  row.thread = kPrefetch;
  row.category = ApiCategory::kCopyAsync;
  row.api = ApiId{number(row.category) + 1U};
  row.context = kContext;
  row.stream = StreamId{13};
  row.correlation = CorrelationId{next_correlation_++};
  row.bytes = later_bytes_;
  row.copy_kind = CopyKind::kHostToDevice;
  trace_.calls.push_back(row);
  Operation copy;
  copy.span = {now_ns_ + 2'000, now_ns_ + 3'500 + static_cast<Nanoseconds>(later_bytes_ / 40)};
  copy.context = kContext;
  copy.stream = row.stream;
  copy.correlation = row.correlation;
  copy.kind = OperationKind::kCopy;
  copy.copy_kind = row.copy_kind;
  copy.bytes = row.bytes;
  prefetched_.push_back(copy);
}

void Tape::to_host(std::uint64_t bytes) {
  Call& row = call(ApiCategory::kCopyAsync, 5'000);
  Operation& copy = work(row.correlation, 1'500 + static_cast<Nanoseconds>(bytes / 40));
  row.bytes = copy.bytes = bytes;
  row.copy_kind = copy.copy_kind = CopyKind::kDeviceToHost;
  row.source_memory = copy.source_memory = MemoryKind::kDevice;
  row.target_memory = copy.target_memory = MemoryKind::kPageable;
  copy.kind = OperationKind::kCopy;
  sync();
}

void Tape::sync() { call(ApiCategory::kStreamSync, std::max<Nanoseconds>(2'000, gpu_free_ns_ + 6'000 - now_ns_)); }
void Tape::load_module() { call(ApiCategory::kModule, 3'000'000); }

void Tape::on_device(std::size_t device) {
  others_free_ns_[device_] = gpu_free_ns_;
  if (device >= others_free_ns_.size()) others_free_ns_.resize(device + 1);
  device_ = device;
  gpu_free_ns_ = others_free_ns_[device];
  trace_.contexts[context_of(device)] = {DeviceId{static_cast<std::uint32_t>(device)}, kStream};
}

void Tape::sleep(Nanoseconds ns, format::HostCall host_call) {
  HostWait row;
  row.span = {now_ns_, now_ns_ + jittered(ns)};
  row.thread = kMain;
  row.call = host_call;
  row.object = 0x7000;
  if (row.span.length_ns() > 50'000) {
    row.stack = stack(false);
    trace_.host_waits.push_back(row);
  }
  now_ns_ = row.span.end_ns;
}

void Tape::begin_other_thread() {
  stack(false);
  asleep_ns_ = now_ns_;
  trace_.threads[kOther] = "pt_autograd_0";
}

void Tape::end_other_thread() {
  HostWait row;
  row.span = {asleep_ns_, now_ns_};
  row.thread = kMain;
  row.waker = kOther;
  row.wake_ns = now_ns_ - 2'000;
  row.call = format::HostCall::kCondition;
  row.object = 0x7100;
  asleep_ns_ = 0;
  row.stack = stack(false);
  if (row.span.length_ns() > 50'000) trace_.host_waits.push_back(row);
}

std::size_t Tape::phase(std::string_view name, std::size_t micro_steps) {
  phases_.push_back({std::string(name), micro_steps, {}, {}, {}, {}, 0, 0});
  return phases_.size() - 1;
}

void Tape::begin_step(std::size_t phase) {
  phases_[phase].steps.push_back({now_ns_, now_ns_});
  first_issued_ = issued_ns_.size();
  first_launch_ = trace_.launches.size();
  holds_ = random_.chance(conditions_.long_hole);
}

void Tape::end_step(std::size_t phase) {
  TimeSpan& step = phases_[phase].steps.back();
  step.end_ns = now_ns_;
  phases_[phase].operations.push_back({first_issued_, issued_ns_.size()});
  phases_[phase].launches.push_back({first_launch_, trace_.launches.size()});
  phases_[phase].middles_ns.push_back(issued_ns_[(first_issued_ + issued_ns_.size()) / 2]);
  // What the host does behind a step's last work delays the next step, if that is of the same loop.
  const std::vector<TimeSpan>& steps = phases_[phase].steps;
  const bool follows = steps.size() > 1 && steps[steps.size() - 2].end_ns == step.begin_ns;
  const Nanoseconds from_ns = follows ? last_done_ns_ : std::max(last_done_ns_, step.begin_ns);
  const Nanoseconds done_ns = std::max(gpu_free_ns_, from_ns);
  phases_[phase].time_ns += done_ns - from_ns;
  last_done_ns_ = std::max(last_done_ns_, done_ns);
}

// Launches, operations or both, at random or all of one stretch.
void Tape::lose_records() {
  const std::size_t what = random_.between(0, 2);
  const double hole = random_.share() * (1 - conditions_.lost);
  const auto lose = [&](auto& rows) {
    std::vector<std::size_t> lost_before = {0};
    const auto count = static_cast<double>(rows.size());
    std::erase_if(rows, [&](const auto&) {
      const double place = static_cast<double>(lost_before.size() - 1) / count;
      const bool is_lost = conditions_.lost_at_once ? place >= hole && place < hole + conditions_.lost
                                                    : random_.chance(conditions_.lost);
      lost_before.push_back(lost_before.back() + (is_lost ? 1 : 0));
      return is_lost;
    });
    return lost_before;
  };
  using Counts = std::vector<std::size_t>;
  const Counts lost_launches = what != 1 ? lose(trace_.launches) : Counts(trace_.launches.size() + 1);
  const Counts lost_operations = what != 0 ? lose(trace_.operations) : Counts(trace_.operations.size() + 1);
  const auto most = [](const Counts& lost, Rows rows) {
    return (lost[rows.last] - lost[rows.first]) * 2 > rows.last - rows.first;
  };
  for (Phase& phase : phases_) {
    for (std::size_t i = 0; i < phase.steps.size(); ++i) {
      if (most(lost_launches, phase.launches[i]) || most(lost_operations, phase.operations[i])) ++phase.lost_steps;
    }
  }
}

Trace Tape::finish() {
  trace_.first_ns = 0;
  const Nanoseconds others_ns = *std::max_element(others_free_ns_.begin(), others_free_ns_.end());
  trace_.last_ns = std::max({now_ns_, gpu_free_ns_, others_ns}) + 1'000'000;
  trace_.windows.push_back({{0, trace_.last_ns}, "start"});
  if (conditions_.lost > 0) {
    lose_records();
    trace_.lossy.push_back({0, trace_.last_ns});
  }
  trace_.operations.insert(trace_.operations.end(), prefetched_.begin(), prefetched_.end());
  sort_rows(trace_.calls);
  sort_rows(trace_.launches);
  sort_rows(trace_.operations);
  sort_rows(trace_.host_waits);
  return std::move(trace_);
}

}  // namespace synctrace::testing::loops
