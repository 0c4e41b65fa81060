// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/host_data.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "base/shares.h"
#include "findings/remedies/model_frames.h"

namespace synctrace {
namespace {

// A function that copies in every second step, or more often, makes the data of the steps.
constexpr std::uint64_t kStepsOfACopy = 2;
constexpr Share kMostlyOfData = percent(90);
constexpr double kMakesMoreThanCopies = 1;  // times the time of the copies
constexpr std::uint32_t kAnyLine = std::numeric_limits<std::uint32_t>::max();

bool is_in(const ResolvedFrame& frame, std::string_view folder) {
  return frame.file.find(folder) != std::string_view::npos;
}

bool runs_samples(const ResolvedFrame& frame) { return is_in(frame, "/torch/utils/data/"); }
bool runs_module(const ResolvedFrame& frame) { return is_in(frame, "/torch/nn/modules/module.py"); }

// The numbers that JAX copies there become constants of compiled code.
bool compiles(const ResolvedFrame& frame) {
  return is_in(frame, "/jax/_src/compiler.py") || is_in(frame, "/jax/_src/pjit.py");
}

bool hands_over(const ResolvedFrame& frame) {
  return frame.function.ends_with("asarray") || frame.function.ends_with("device_put");
}

DataOfHost::Made made_in(const StackFrames& frames, StackFrames::const_iterator own) {
  if (std::any_of(own, frames.end(), runs_samples)) return DataOfHost::Made::kInLoader;
  return std::any_of(own, frames.end(), runs_module) ? DataOfHost::Made::kInForward : DataOfHost::Made::kInStep;
}

bool is_named_for_data(std::string_view function) {
  constexpr std::array<std::string_view, 8> kNames = {"batch",   "sample", "load",  "collate",
                                                      "augment", "data",   "fetch", "prepare"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return function.find(name) != std::string_view::npos; });
}

bool is_loop_of_steps(const ResolvedFrame& frame, const StepsReport& steps) {
  return frame.function == "<module>" || frame.function == "main" ||
         (frame.function == steps.name && frame.file == steps.where.file);
}

double sampled_ns(std::uint64_t samples, const DoneInRun& run) {
  return static_cast<double>(samples) * static_cast<double>(run.a_sample_ns);
}

bool half_of_steps(std::uint64_t samples, const DoneInRun& run, const StepsReport& steps) {
  return 2 * sampled_ns(samples, run) > static_cast<double>(add_saturated(steps.ordinary_ns, steps.irregular_ns));
}

}  // namespace

HostData::HostData(const DoneInRun& run, const CpuWork& on_cpu, const StackPlaces& places, const StepsReport& steps) {
  if (steps.figures.count == 0) return;
  find_copying(run, on_cpu, places, steps);
  find_called(run, places, steps);
  if (!functions_.empty()) find_places(run, on_cpu);
}

// A function that copies what others made has nothing of its own to make ready: a faster copy is another change.
void HostData::find_copying(const DoneInRun& run, const CpuWork& on_cpu, const StackPlaces& places,
                            const StepsReport& steps) {
  struct Done {
    std::uint64_t uploads = 0;
    Nanoseconds uploading_ns = 0;
    std::uint64_t samples = 0;
  };
  std::map<FunctionOfFile, Done> done;
  for (const DoneOnStack& each : run.stacks) {
    const auto own = users_frame(each.frames.begin(), each.frames, places);
    if (each.uploads == 0 || own == each.frames.end() || is_loop_of_steps(*own, steps)) continue;
    const auto any_inside = [&](auto&& is) { return std::any_of(each.frames.begin(), own, is); };
    if (any_inside(runs_a_model) || (any_inside(compiles) && !any_inside(hands_over))) continue;
    if (on_cpu.has(own->file, own->function)) continue;
    Done& copied = done[{own->file, own->function}];
    copied.uploads += each.uploads;
    copied.uploading_ns = add_saturated(copied.uploading_ns, each.uploading_ns);
    const DataOfHost named{own->file, own->function, 0, made_in(each.frames, own)};
    DataOfHost& data = functions_.try_emplace({own->file, own->function}, named).first->second;
    data.line = std::max(data.line, own->line);
  }
  for (const DoneOnStack& each : run.stacks) {
    const auto model = std::find_if(each.frames.begin(), each.frames.end(), runs_a_model);
    for (auto frame = model; frame != each.frames.end(); ++frame) {
      const auto caller = functions_.find({frame->file, frame->function});
      // A step that calls the model copies a batch, and makes none.
      if (caller != functions_.end() && caller->second.made == DataOfHost::Made::kInStep) functions_.erase(caller);
    }
  }
  for (const DoneOnStack& each : run.stacks) {
    if (const DataOfHost* data = data_on(each.frames, on_cpu))
      done[{data->file, data->function}].samples += each.samples;
  }
  std::erase_if(functions_, [&](const auto& each) {
    const Done& of = done.at(each.first);
    const double making_ns = sampled_ns(of.samples, run);
    return of.uploads * kStepsOfACopy < steps.figures.count || !takes_a_share(of.samples, run) ||
           making_ns < kMakesMoreThanCopies * static_cast<double>(of.uploading_ns);
  });
  for (auto& [function, data] : functions_)
    data.takes_half_of_steps = half_of_steps(done.at(function).samples, run, steps);
}

// The function whose data is made on that stack; null: none, or it is past the last copy, or a model's.
const DataOfHost* HostData::data_on(const StackFrames& frames, const CpuWork& on_cpu) const {
  for (const ResolvedFrame& frame : frames) {
    if (runs_a_model(frame) || runs_samples(frame) || on_cpu.has(frame.file, frame.function)) return nullptr;
    const auto known = functions_.find({frame.file, frame.function});
    if (known == functions_.end()) continue;
    const bool in_loader = known->second.made == DataOfHost::Made::kInLoader;
    return in_loader || frame.line <= known->second.line ? &known->second : nullptr;
  }
  return nullptr;
}

// What the steps' loop calls for data, by its name, and which never comes near the GPU but to hand it over.
void HostData::find_called(const DoneInRun& run, const StackPlaces& places, const StepsReport& steps) {
  struct Done {
    std::uint64_t samples = 0;
    std::uint64_t others = 0;
  };
  std::map<FunctionOfFile, Done> called;
  for (const DoneOnStack& each : run.stacks) {
    auto function = each.frames.end();
    for (auto frame = users_frame(each.frames.begin(), each.frames, places);
         frame != each.frames.end() && !is_loop_of_steps(*frame, steps);
         frame = users_frame(frame + 1, each.frames, places))
      function = frame;
    if (function == each.frames.end() || !is_named_for_data(function->function)) continue;
    Done& done = called[{function->file, function->function}];
    done.samples += each.samples;
    const bool is_given = std::any_of(each.frames.begin(), function, hands_over);  // JAX copies on threads of its own
    if (!is_given) done.others += each.reads + each.issued();
  }
  for (const auto& [function, done] : called) {
    if (!takes_a_share(done.samples, run) || done.others > 0) continue;
    const bool is_half = half_of_steps(done.samples, run, steps);
    functions_.try_emplace(function,
                           DataOfHost{function.first, function.second, kAnyLine, DataOfHost::Made::kInStep, is_half});
  }
}

// What goes with the data: the host's time up to the last copy. What launches kernels there works for the model.
void HostData::find_places(const DoneInRun& run, const CpuWork& on_cpu) {
  struct AtPlace {
    std::uint64_t all = 0;
    std::uint64_t of_data = 0;
    const DataOfHost* data = nullptr;
  };
  std::map<StackPlace, AtPlace> found;
  for (const DoneOnStack& each : run.stacks) {
    AtPlace& there = found[each.place];
    there.all += each.all();
    const DataOfHost* data = data_on(each.frames, on_cpu);
    if (data == nullptr) continue;
    there.of_data += data->made == DataOfHost::Made::kInLoader ? each.all() : each.samples + each.uploads;
    there.data = data;
  }
  for (const auto& [place, there] : found) {
    if (number(place) != 0 && there.data != nullptr && ratio(there.of_data, there.all) >= kMostlyOfData)
      places_.emplace(place, there.data);
  }
}

const DataOfHost* HostData::at(StackPlace place) const {
  const auto found = places_.find(place);
  return found == places_.end() ? nullptr : found->second;
}

}  // namespace synctrace
