// SPDX-License-Identifier: Apache-2.0
#include "support/generator/accuracy.h"

#include <algorithm>
#include <vector>

#include "attribution/cause.h"
#include "names/resolve_stack.h"
#include "support/generator/trace.h"

namespace synctrace::testing::generator {

StackId stack_of(const Trace& trace, Owner owner) {
  switch (owner.table) {
    case OwnerTable::kCall: return trace.calls[owner.row].stack;
    case OwnerTable::kLaunch: return trace.launches[owner.row].stack;
    case OwnerTable::kPoll: return trace.polls[owner.row].stack;
    case OwnerTable::kHostWait: return trace.host_waits[owner.row].stack;
    case OwnerTable::kSample: return trace.samples[owner.row].stack;
    default: return {};
  }
}

namespace {

// What a truth names no place for: the device's own doing, and the edges.
bool has_place(std::string_view cause) {
  return cause != "device-dispatch" && cause != "startup" && cause != "shutdown" && cause != "capture-edge";
}

class Judge {
 public:
  Judge(const Program& program, const Trace& trace, const Attribution& attribution)
      : program_(program), trace_(trace), attribution_(attribution) {}

  bool is_right(const TruthPart& truth, const Part& part) const {
    if (cause_name(part.kind) != truth.cause || part.copying != truth.copying) return false;
    return !has_place(truth.cause) || names(part.owner, truth.place);
  }

 private:
  // A stretch is known by the stacks around it, one of which must be of the place's function.
  bool names(Owner owner, std::uint32_t place) const {
    if (owner.table != OwnerTable::kStretch) return stack_of(trace_, owner) == stack_of_place(place);
    const HostTimeline::Neighbours& around = attribution_.stretches[owner.row];
    const std::string function = "f" + std::to_string(program_.places[place].function);
    const auto in_function = [&](StackId stack) {
      const std::vector<ResolvedFrame> frames = resolve_stack(trace_, stack);
      return !frames.empty() && frames.front().function == function;
    };
    return in_function(around.before) || in_function(around.after);
  }

  const Program& program_;
  const Trace& trace_;
  const Attribution& attribution_;
};

}  // namespace

void Accuracy::add(const Accuracy& other) {
  total_ns += other.total_ns;
  right_ns += other.right_ns;
  sure_ns += other.sure_ns;
  sure_wrong_ns += other.sure_wrong_ns;
  for (const auto& [pair, ns] : other.confusion) confusion[pair] += ns;
  for (const auto& [pair, ns] : other.sure_confusion) sure_confusion[pair] += ns;
}

std::string Accuracy::worst_of(const std::map<std::string, Nanoseconds>& pairs, std::size_t rows) {
  std::vector<std::pair<Nanoseconds, std::string>> sorted;
  for (const auto& [pair, ns] : pairs) sorted.emplace_back(ns, pair);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (std::size_t i = 0; i < std::min(rows, sorted.size()); ++i) {
    text += std::to_string(sorted[i].first / 1000) + " us " + sorted[i].second + '\n';
  }
  return text;
}

Accuracy accuracy_of(const Program& program, const Run& run, const Trace& trace, const Attribution& attribution,
                     Nanoseconds shift_ns) {
  Accuracy accuracy;
  const Judge judge(program, trace, attribution);
  std::map<std::uint32_t, std::vector<TruthPart>> by_device;
  for (TruthPart truth : run.truth) {
    truth.span.begin_ns += shift_ns;
    truth.span.end_ns += shift_ns;
    by_device[truth.device].push_back(truth);
    accuracy.total_ns += truth.span.length_ns();
  }
  for (const auto& [device, truths] : by_device) {
    const auto found = attribution.parts.find(DeviceId{device});
    if (found == attribution.parts.end()) continue;
    auto part = found->second.begin();
    for (const TruthPart& truth : truths) {
      while (part != found->second.end() && part->span.end_ns <= truth.span.begin_ns) ++part;
      for (auto next = part; next != found->second.end() && next->span.begin_ns < truth.span.end_ns; ++next) {
        const Nanoseconds common_ns = intersect(next->span, truth.span).length_ns();
        const bool sure = next->confidence == Confidence::kHigh;
        accuracy.sure_ns += sure ? common_ns : 0;
        if (judge.is_right(truth, *next)) {
          accuracy.right_ns += common_ns;
          continue;
        }
        const std::string pair = std::string(truth.cause) + "/" + std::string(truth.activity) + " -> " +
                                 std::string(cause_name(next->kind)) + "/" +
                                 std::string(cause_name(next->activity_kind));
        accuracy.confusion[pair] += common_ns;
        if (!sure) continue;
        accuracy.sure_wrong_ns += common_ns;
        accuracy.sure_confusion[pair] += common_ns;
      }
    }
  }
  return accuracy;
}

}  // namespace synctrace::testing::generator
