// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/remedy_kinds.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "findings/remedies/break_words.h"
#include "findings/report/trace_words.h"

namespace synctrace {
namespace {

// A line that launches so often in each step is a loop of kernels, whatever is around it.
constexpr double kLaunchesOfALoop = 32;
// An optimizer with one kernel for many parameters launches fewer.
constexpr double kLaunchesOfFused = 8;
// A line that copies so often in each step copies piece by piece.
constexpr double kCopiesOfALoop = 8;
// Host code that saves less, if it were twice as fast, is one of many lines.
constexpr double kLeastHostShare = 0.1;
// A function that goes whole has a line that takes so much; its other lines go with it.
constexpr double kLeastShareOfFunction = 0.05;
constexpr double kLeastShareOfLibrary = 0.002;  // a library's switch is easily typed

// The turns of a loop touch a few items each; their kernels take the least time that a kernel can. One operation on all
// items took 2 to 20 % of it (docs/measurements/wild.md).
constexpr ShareRange kGpuOfOneOperation = {percent(20), percent(0), percent(70)};
// What computes on the GPU copies nothing to the host and back.
constexpr ShareRange kGpuOfCopies = {percent(10), percent(0), percent(60)};
// Data that is made ahead is still copied; what is kept on the GPU is not.
constexpr ShareRange kGpuOfData = {percent(0), percent(0), percent(100)};
// torch._foreach_norm and the like still look at each tensor.
constexpr ShareRange kHostOfForeach = {percent(25), percent(10), percent(40)};

// A line may hold both: "criterion(model(x), y).backward()".
bool is_backward(const SourceLine& where) {
  return has_file(where, "/torch/autograd/") ||
         (where.source.find(".backward(") != std::string::npos && !has_file(where, "/torch/nn/modules/module.py"));
}

bool is_optimizer(const SourceLine& where) { return is_of_optimizer(where.stack); }

// One launch for all parameters is what it has already.
bool is_fused(const SourceLine& where) {
  return std::any_of(where.stack.begin(), where.stack.end(),
                     [](const ShownFrame& each) { return each.frame.function.find("_fused_") != std::string::npos; });
}

// The user's line launches kernels itself, in no module of the framework.
bool launches_directly(const SourceLine& where) {
  for (const ShownFrame& each : where.stack) {
    if (each.frame.file == where.file && each.frame.line == where.line) return true;
    if (each.frame.file.find("/torch/nn/") != std::string::npos) return false;
  }
  return true;
}

bool is_forward(const SourceLine& where) {
  return where.function.ends_with("forward") || where.function.ends_with("__call__");
}

// A line like "float(jnp.array(values).mean())": what it computes comes from the host and returns there.
bool computes_for_host(const SourceLine& where) {
  const std::string_view text = where.source;
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  const bool makes = has("jnp.array(") || has("jnp.asarray(") || has("cupy.array(") || has("cp.array(") ||
                     (has("torch.tensor(") && has("device="));
  const bool reads = has("float(") || has("int(") || has(".item()") || has(".tolist()");
  return makes && reads;
}

std::optional<At> at_of(Fix fix) {
  switch (fix) {
    case Fix::kDeferRead:
    case Fix::kDeferWait: return At::kRead;
    case Fix::kRemoveWait: return At::kWait;
    case Fix::kAsyncCopy: return At::kCopy;
    case Fix::kFeedInput: return At::kInput;
    case Fix::kSpeedUp: return At::kHost;
    case Fix::kGraph: return At::kLaunch;
    case Fix::kCacheMemory: return At::kMemory;
    default: return std::nullopt;
  }
}

}  // namespace

bool allocates_managed_memory(const Trace& trace) {
  return std::any_of(trace.calls.begin(), trace.calls.end(), [&](const Call& call) {
    return call.category == ApiCategory::kAlloc &&
           std::string_view(api_name(trace, call.api)).find("Managed") != std::string_view::npos;
  });
}

const SourceLine& RemedyKinds::line_of(StackPlace place) {
  const auto known = lines_.find(place);
  return known != lines_.end() ? known->second : lines_.emplace(place, places_.line_of(place)).first->second;
}

std::string RemedyKinds::dispatched_at(const SourceLine& where) const {
  constexpr std::array<std::string_view, 4> kDispatch = {"/jax/_src/numpy/", "/jax/_src/random.py", "/jax/_src/lax/",
                                                         "/jax/_src/ops/"};
  const bool dispatches =
      std::any_of(kDispatch.begin(), kDispatch.end(), [&](std::string_view file) { return has_file(where, file); });
  const bool only_uploads = has_text(where, "asarray(") || has_text(where, "device_put(");
  if (!dispatches || only_uploads || frameworks_.of({&where}) != Framework::kJax) return {};
  const LaunchTarget target = targets_.of(where);
  return target.kind == LaunchTarget::Kind::kFunction ? target.name : std::string();
}

// Where the lines of a function dispatch operation by operation in each step, all of it is compiled.
void RemedyKinds::find_dispatched(const DoneInRun& run, const StepsReport& loop) {
  std::map<std::string, std::uint64_t> launches;
  for (const DoneOnStack& each : run.stacks) {
    const bool is_jaxs = std::any_of(each.frames.begin(), each.frames.end(), [](const ResolvedFrame& frame) {
      return frame.file.find("/jax/_src/") != std::string::npos;
    });
    if (number(each.place) == 0 || each.launches == 0 || !is_jaxs) continue;
    const std::string name = dispatched_at(line_of(each.place));
    if (!name.empty() && name != "main" && name != loop.name) launches[name] += each.launches;
  }
  for (const auto& [name, count] : launches) {
    if (count >= loop.figures.count) dispatched_.insert(name);
  }
}

std::string RemedyKinds::dispatched_in(const SourceLine& where) const {
  for (const ShownFrame& each : where.stack) {
    if (dispatched_.contains(each.frame.function)) return each.frame.function;
  }
  return {};
}

bool RemedyKinds::is_needless(StackPlace place) {
  const SourceLine& where = line_of(place);
  return !needless_calls(where).empty() || computes_for_host(where) || host_code_that_goes(where) != nullptr;
}

const CpuFunction* RemedyKinds::function_on_cpu(const SourceLine& where) const {
  const Framework framework = frameworks_.of({&where});
  const bool has_gpu_arrays = framework == Framework::kPyTorch || framework == Framework::kCupy;
  return has_gpu_arrays && !where.through.known() ? cpu_work_.of(where) : nullptr;
}

// The change by which all that is done at a place goes; kNone: there is none.
const RemedyGroup& RemedyKinds::whole_at(StackPlace place) {
  const auto [known, is_new] = wholes_.try_emplace(place);  // it is asked for each event
  return is_new ? known->second = find_whole(place) : known->second;
}

RemedyGroup RemedyKinds::find_whole(StackPlace place) {
  RemedyGroup whole;
  const SourceLine& where = line_of(place);
  const HostLoop* loop = loops_.at(place).loop;
  const CpuFunction* on_cpu = function_on_cpu(where);
  if (const LibraryRemedy* library = read_that_goes(where)) {
    whole.kind = RemedyKind::kLibrary;
    whole.library = library;
  } else if (loop != nullptr && (loop->kind != HostLoop::Turns::kRead || on_cpu == nullptr)) {
    // What reads values one by one reads them at once; what copies data computes with it.
    whole.kind = loop->kind == HostLoop::Turns::kTest ? RemedyKind::kTestLess : RemedyKind::kAllAtOnce;
    whole.function = loop->function;
    whole.loop = loop;
  } else if (on_cpu != nullptr) {
    whole.kind = RemedyKind::kOnGpu;
    whole.function = on_cpu->file + ":" + on_cpu->function;
    whole.on_cpu = on_cpu;
  } else if (const DataOfHost* data = data_.at(place)) {
    whole.kind = RemedyKind::kHostData;
    whole.function = data->file + ":" + data->function;
    whole.data = data;
  } else if (std::string function = dispatched_in(where); !function.empty()) {
    whole.kind = RemedyKind::kCompile;
    whole.function = std::move(function);
  }
  return whole;
}

Goes RemedyKinds::what_goes(StackPlace place) {
  if (whole_at(place).kind != RemedyKind::kNone) return Goes::kAll;
  const auto [known, is_new] = needless_.try_emplace(place, false);
  if (is_new) known->second = is_needless(place);
  return known->second ? Goes::kHostCode : Goes::kNothing;
}

WhatStays RemedyKinds::what_stays(StackPlace place) {
  const RemedyGroup& whole = whole_at(place);
  if (whole.on_cpu != nullptr) return {kNothingStays, kGpuOfCopies};
  if (whole.data != nullptr) return {kNothingStays, kGpuOfData};
  if (whole.library != nullptr)
    return {whole.library->stays, kNothingStays};  // its kernels are only for what is not asked for
  if (whole.loop == nullptr || whole.loop->kind == HostLoop::Turns::kRead) return {};
  const Share part = loops_.at(place).part;
  const ShareRange& gpu = whole.kind == RemedyKind::kTestLess ? kNothingStays : kGpuOfOneOperation;
  // A loop has only a part of backward.
  return {stays_with_part(part, whole.loop->of_parameters ? kHostOfForeach : kNothingStays),
          stays_with_part(part, gpu)};
}

const LibraryRemedy* RemedyKinds::read_that_goes(const SourceLine& where) const {
  if (where.through.is_users()) return nullptr;
  const LibraryRemedy* library = library_remedy(where, At::kRead, package_of(frameworks_.of({&where})));
  return library != nullptr && library->goes ? library : nullptr;
}

const LibraryRemedy* RemedyKinds::host_code_that_goes(const SourceLine& where) const {
  const LibraryRemedy* library = library_remedy(where, At::kHost, package_of(frameworks_.of({&where})));
  return library != nullptr && library->goes ? library : nullptr;
}

bool RemedyKinds::is_compiled(const FixSite& site) {
  const SourceLine& where = line_of(site.key.place);
  const bool is_range = number(site.key.place) == 0 && site.key.function != 0;  // captured by hand
  if (is_range || frameworks_.of({&where}) != Framework::kPyTorch || is_optimizer(where)) return false;
  return is_backward(where) || !has_python(where) || is_forward(where) || !launches_directly(where);
}

RemedyGroup RemedyKinds::launch_group(const FixSite& site, double each_step) {
  const SourceLine& where = line_of(site.key.place);
  const Framework framework = frameworks_.of({&where});
  if (framework == Framework::kCuda) return {RemedyKind::kGraph, {}, nullptr};
  if (framework == Framework::kPyTorch) {
    // Backward runs again what the modules did.
    const bool any_module = !targets_.modules().empty();
    const bool runs_backward = is_backward(where) || !has_python(where);
    if (runs_backward) return {any_module ? RemedyKind::kGraph : RemedyKind::kNone, {}, nullptr};
    if (is_optimizer(where) && each_step > kLaunchesOfFused && !is_fused(where))
      return {RemedyKind::kOptimizer, {}, nullptr};
    if (is_optimizer(where)) return {};
  }
  return has_python(where) ? python_launch_group(where, each_step) : RemedyGroup{};
}

RemedyGroup RemedyKinds::python_launch_group(const SourceLine& where, double each_step) {
  const bool loops = each_step >= kLaunchesOfALoop && !is_forward(where) && launches_directly(where);
  if (loops && targets_.can_be_compiled(where)) return {RemedyKind::kLoopOfKernels, where.function, nullptr};
  const LaunchTarget target = targets_.of(where);
  switch (target.kind) {
    case LaunchTarget::Kind::kModule: return {RemedyKind::kGraph, {}, nullptr};
    case LaunchTarget::Kind::kFunction: return {RemedyKind::kCompile, target.name, nullptr};
    case LaunchTarget::Kind::kLines:
      // Nobody knows whether lines of CuPy can be captured: an array that they make is memory of the graph.
      if (frameworks_.of({&where}) == Framework::kCupy) return {};
      return {RemedyKind::kCompile, {}, nullptr};
    case LaunchTarget::Kind::kNone: break;
  }
  if (!obstacle_.known()) obstacle_ = targets_.obstacle(where);
  return {};
}

bool RemedyKinds::is_query(const FixKey& key) {
  if (std::string_view(api_name(trace_, ApiId{key.function})).ends_with("Query")) return true;
  const SourceLine& where = line_of(key.place);
  const std::string& source = where.through.is_users() ? where.through.source : where.source;
  return source.find("Query(") != std::string::npos || source.find(".query(") != std::string::npos;
}

bool RemedyKinds::takes_from_pool(const FixKey& key) {
  const SourceLine& where = line_of(key.place);
  const bool is_pools = where.source.find("MallocAsync(") != std::string::npos ||
                        std::string_view(api_name(trace_, ApiId{key.function})).find("AllocAsync") != std::string::npos;
  return is_pools && frameworks_.of({&where}) == Framework::kCuda;
}

// A synchronisation; a copy brings what the host reads.
bool RemedyKinds::may_read_managed(const FixKey& key) {
  if (!has_managed_memory_ || frameworks_.of({&line_of(key.place)}) != Framework::kCuda) return false;
  const auto syncs = [](std::string_view text) { return text.find("ynchronize") != std::string_view::npos; };
  if (key.function != 0) return syncs(api_name(trace_, ApiId{key.function}));
  return syncs(line_of(key.place).source) || line_of(key.place).source.empty();
}

// Functions whose dearest line takes little are not told; with a dear line, their other lines are.
bool RemedyKinds::is_told(const RemedyGroup& whole, double alone_share) const {
  if (whole.on_cpu == nullptr && whole.data == nullptr && whole.library == nullptr) return true;
  return alone_share >= (whole.library == nullptr ? kLeastShareOfFunction : kLeastShareOfLibrary) ||
         std::any_of(groups_.begin(), groups_.end(), [&](const RemedyGroup& group) {
           return group.on_cpu == whole.on_cpu && group.data == whole.data && group.library == whole.library;
         });
}

RemedyGroup RemedyKinds::group_by_fix(const FixSite& site, double alone_share, double each_step) {
  const RemedyGroup& whole = whole_at(site.key.place);
  const bool is_whole = whole.kind != RemedyKind::kNone && site.key == key_of_all(site.key.place);
  if (is_whole && whole.kind != RemedyKind::kCompile) return is_told(whole, alone_share) ? whole : RemedyGroup{};
  const bool may_go = site.fix == Fix::kDeferRead || site.fix == Fix::kRemoveWait || site.fix == Fix::kSpeedUp ||
                      site.fix == Fix::kDropCall || site.fix == Fix::kGraph || site.fix == Fix::kAsyncCopy;
  if (may_go && computes_for_host(line_of(site.key.place))) return {RemedyKind::kOnHost, {}, nullptr};
  const bool waits = site.key.family == FixFamily::kWait && site.fix != Fix::kNone;
  if (waits && breaks_graph(line_of(site.key.place))) return {RemedyKind::kOneGraph, {}, nullptr};
  switch (site.fix) {
    case Fix::kNone:
    case Fix::kLikeOthers:
    case Fix::kKernels:
    case Fix::kNoProfiler: return {};
    case Fix::kRemoveWait:
      if (is_query(site.key)) return {RemedyKind::kStopPolling, {}, nullptr};
      return {may_read_managed(site.key) ? RemedyKind::kCopyManaged : RemedyKind::kRemoveWait, {}, nullptr};
    case Fix::kDeferRead: return {RemedyKind::kReadLater, {}, nullptr};
    case Fix::kDeferWait: return {RemedyKind::kWaitLater, {}, nullptr};
    case Fix::kAsyncCopy:
      return {each_step >= kCopiesOfALoop ? RemedyKind::kOneCopy : RemedyKind::kPinned, {}, nullptr};
    case Fix::kCacheMemory:
      if (is_needless(site.key.place)) return {RemedyKind::kDropCall, {}, nullptr};
      return {takes_from_pool(site.key) ? RemedyKind::kKeepPool : RemedyKind::kKeepMemory, {}, nullptr};
    case Fix::kGraph: return launch_group(site, each_step);
    case Fix::kFeedInput: return {targets_.loads_from_gpu() ? RemedyKind::kByIndex : RemedyKind::kFeed, {}, nullptr};
    case Fix::kNoCollection: return {RemedyKind::kNoCollection, {}, nullptr};
    case Fix::kPreload: return {RemedyKind::kPreload, {}, nullptr};
    case Fix::kDropDependency: return {RemedyKind::kDropDependency, {}, nullptr};
    case Fix::kDropCall:
      if (site.key.kind == CauseKind::kGraphBreak) return {RemedyKind::kOneGraph, {}, nullptr};
      if (const LibraryRemedy* library = host_code_that_goes(line_of(site.key.place))) {
        if (alone_share < kLeastHostShare) return {};
        return {RemedyKind::kLibrary, {}, library};
      }
      return is_whole ? whole : RemedyGroup{RemedyKind::kDropCall};
    case Fix::kSpeedUp:
      if (alone_share < kLeastHostShare || !line_of(site.key.place).known()) return {};
      return {RemedyKind::kHostCode, {}, nullptr};
  }
  return {};
}

GroupOfFix RemedyKinds::group_of(const FixSite& site, double alone_share, double each_step) {
  RemedyGroup group = group_by_fix(site, alone_share, each_step);
  const std::optional<At> at = at_of(site.fix);
  const bool may_be_a_librarys = at && group.kind != RemedyKind::kOnHost && number(site.key.place) != 0 &&
                                 group.kind != RemedyKind::kOneCopy && group.kind != RemedyKind::kDropCall &&
                                 (site.fix != Fix::kSpeedUp || group.kind != RemedyKind::kNone);
  if (may_be_a_librarys) {
    const SourceLine& where = line_of(site.key.place);
    if (const LibraryRemedy* library = library_remedy(where, *at, package_of(frameworks_.of({&where})))) {
      const LibraryRemedy* keeps = starts_workers_again_ ? keeps_workers(*library) : nullptr;
      group = {RemedyKind::kLibrary, {}, keeps != nullptr ? keeps : library};
    }
  }
  // Nobody makes a library's own code faster.
  if (group.kind == RemedyKind::kHostCode && line_of(site.key.place).through.is_library) return {};
  if (group.kind == RemedyKind::kNone) return {};
  std::uint32_t own = 0;  // lines that no change takes together
  if (group.kind == RemedyKind::kHostCode || group.kind == RemedyKind::kDropCall || group.kind == RemedyKind::kOnHost)
    own = number(site.key.place);
  if (group.kind == RemedyKind::kCompile && group.function.empty())
    own = 1 + targets_.of(line_of(site.key.place)).piece;
  std::string its_switch;  // a library may have several rows for it
  if (group.library != nullptr) its_switch.append(group.library->title).append(group.library->to_type);
  const auto [entry, is_new] =
      numbers_.try_emplace({group.kind, group.function, own, std::move(its_switch)}, groups_.size());
  if (is_new) groups_.push_back(group);
  of_keys_[site.key] = entry->second;
  const bool takes_all =
      group.kind == RemedyKind::kGraph || group.kind == RemedyKind::kLoopOfKernels ||
      group.kind == RemedyKind::kCompile || group.kind == RemedyKind::kFeed || group.kind == RemedyKind::kOptimizer ||
      group.kind == RemedyKind::kAllAtOnce || group.kind == RemedyKind::kTestLess || group.kind == RemedyKind::kOnGpu ||
      group.kind == RemedyKind::kHostData || group.kind == RemedyKind::kByIndex ||
      (group.library != nullptr && (group.library->at == At::kLaunch || group.library->at == At::kMemory));
  return {entry->second, takes_all};
}

std::uint32_t RemedyKinds::group_of_key(const FixKey& key) const {
  const auto found = of_keys_.find(key);
  return found == of_keys_.end() ? 0 : found->second;
}

}  // namespace synctrace
