// SPDX-License-Identifier: Apache-2.0
#include "steps/step_items.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "names/resolve_stack.h"
#include "steps/compile_time.h"
#include "steps/graph_turns.h"
#include "steps/step_events.h"
#include "steps/step_limits.h"

namespace synctrace {
namespace {

using Trait = StepItems::Trait;

// Parts of the names of an optimizer's kernels.
constexpr std::array<std::string_view, 8> kOptimizerKernels = {
    "adam", "sgd", "adagrad", "adadelta", "rmsprop", "adafactor", "optimizer", "multi_tensor_apply"};

constexpr std::uint64_t kRareGraph = std::uint64_t{14} << 60;  // a token
constexpr std::uint64_t kGivenStep = std::uint64_t{15} << 60;  // a token

bool has_any(std::string_view text, auto const& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool is_optimizer_kernel(std::string_view mangled) {
  std::string name(mangled.substr(0, 4096));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return has_any(name, kOptimizerKernels);
}

// Whose code a stack is in, by the innermost function that tells. A model that computes, its gradients included, takes
// no step of the program.
enum class StackPlace : std::uint8_t { kElsewhere, kModel, kOptimizer };

class StackLook {
 public:
  explicit StackLook(const Trace& trace) : trace_(trace) {}
  // Whether a thread without frames of Python is there, in a program of Python.
  bool is_native(StackId stack) const {
    const auto frames = trace_.stacks.find(stack);
    return !trace_.codes.empty() && frames != trace_.stacks.end() &&
           std::none_of(frames->second.begin(), frames->second.end(),
                        [](const StackFrame& frame) { return frame.kind == StackFrame::Kind::kPython; });
  }
  StackPlace of(StackId stack) {
    const auto [entry, is_new] = known_.try_emplace(stack, StackPlace::kElsewhere);
    if (is_new) entry->second = look_at(stack);
    return entry->second;
  }

 private:
  StackPlace look_at(StackId stack) const {
    for (const ResolvedFrame& frame : resolve_stack(trace_, stack)) {
      if (frame.kind != FrameKind::kPython) continue;
      if (is_model_code(frame.file, frame.function)) return StackPlace::kModel;
      if (is_optimizer_code(frame.file)) return StackPlace::kOptimizer;
    }
    return is_called_back(trace_, stack) ? StackPlace::kModel : StackPlace::kElsewhere;
  }

  const Trace& trace_;
  std::unordered_map<StackId, StackPlace> known_;
};

std::uint64_t size_class(std::uint64_t bytes) {
  std::uint64_t result = 0;
  for (; bytes > 3; bytes /= 4) ++result;
  return result;
}

// Without the shape of a launch: shapes vary from step to step.
std::uint64_t token_of(const Operation& work) {
  const std::uint64_t what = work.kind == OperationKind::kKernel
                                 ? number(work.name)
                                 : static_cast<std::uint64_t>(number(work.copy_kind)) << 8 | size_class(work.bytes);
  return static_cast<std::uint64_t>(work.kind) << 60 | what;
}

std::uint64_t token_of(const Call& call) {
  return std::uint64_t{7} << 60 | static_cast<std::uint64_t>(number(call.api)) << 16 |
         static_cast<std::uint64_t>(number(call.copy_kind)) << 8 | size_class(call.bytes);
}

bool is_wait(const Call& call) {
  return call.category == ApiCategory::kStreamSync || call.category == ApiCategory::kDeviceSync ||
         call.category == ApiCategory::kEventSync;
}

bool is_exchange(CopyKind kind) { return kind == CopyKind::kHostToDevice || kind == CopyKind::kDeviceToHost; }

class Builder {
 public:
  Builder(const Trace& trace, const Correlation& correlation)
      : trace_(trace),
        correlation_(correlation),
        look_(trace),
        first_graphs_(first_graphs(trace, correlation)),
        compiling_(trace) {
    for (const Operation& work : trace.operations) {
      if (work.kind == OperationKind::kGraph) ++graph_launches_[first_graph(work.graph)];
    }
  }

  StepItems run(const std::vector<Step>& given) {
    Nanoseconds begin_ns = kNeverNs;
    for (const Step& step : given) {
      add_between({begin_ns, step.host.begin_ns}, true);
      begin_ns = step.host.end_ns;
    }
    add_between({begin_ns, kLatestTime + 1}, false);
    mark_unseen_exchanges();
    if (!trace_.operations.empty()) mark_optimizers();
    items_.kind_count = numbers_.size();
    add_sums();
    return std::move(items_);
  }

 private:
  void add(std::uint64_t token, TimeSpan call, Nanoseconds busy_ns, std::uint8_t traits) {
    const auto [entry, is_new] = numbers_.try_emplace(token, static_cast<std::uint32_t>(numbers_.size()));
    items_.kinds.push_back(entry->second);
    items_.times_ns.push_back(call.begin_ns);
    items_.lasted_ns.push_back(static_cast<std::uint32_t>(std::min<Nanoseconds>(call.length_ns(), UINT32_MAX)));
    items_.busy_ns.push_back(static_cast<float>(busy_ns));
    items_.traits.push_back(traits);
  }

  void add_call(const Call& call) {
    if (call.category == ApiCategory::kPoll || call.category == ApiCategory::kStreamEvent) return;
    if (compiling_.has(call.thread, call.span.begin_ns)) return;
    add(token_of(call), call.span, 0, 0);
    if (is_wait(call) || is_exchange(call.copy_kind)) add_exchange(call.stack, call.copy_kind, call.bytes);
  }

  void add_work(std::uint32_t row) {
    const Operation& work = trace_.operations[row];
    const Nanoseconds issued_ns = correlation_.issued_ns(row);
    TimeSpan call{issued_ns, issued_ns};
    StackId stack{};
    bool is_aside = false;
    bool is_compilers = false;
    if (const auto issuer = correlation_.issuer_of(row)) {
      const auto take = [&](const auto& issued_by) {
        call.end_ns = std::max(issued_ns, issued_by.span.end_ns);
        stack = issued_by.stack;
        is_aside = number(issued_by.thread) != trace_.process_id;
        is_compilers = compiling_.has(issued_by.thread, issued_ns);
      };
      if (issuer->is_launch)
        take(trace_.launches[issuer->row]);
      else
        take(trace_.calls[issuer->row]);
    }
    if (is_compilers) return;
    std::uint8_t traits = 0;
    if (work.kind == OperationKind::kKernel) traits = Trait::kWork;
    if (work.kind == OperationKind::kGraph) traits = Trait::kWork | Trait::kGraph;
    if (is_aside) traits |= Trait::kAside;
    add(token(work), call, work.span.length_ns(), traits);
    if (work.kind == OperationKind::kCopy && is_exchange(work.copy_kind))
      add_exchange(stack, work.copy_kind, work.bytes);
    if ((traits & Trait::kWork) != 0) last_work_ = items_.kinds.back();
    if (work.kind != OperationKind::kKernel || number(stack) == 0) return;
    const std::uint32_t kind = items_.kinds.back();
    if (kind >= stacks_.size()) stacks_.resize(kind + 1);
    ++stacks_[kind].seen;
    const StackPlace place = look_.of(stack);
    if (place == StackPlace::kOptimizer) ++stacks_[kind].in_optimizer;
    if (place == StackPlace::kModel) ++stacks_[kind].in_model;
  }

  // A program that is compiled anew for each shape has a graph for each: they are launched once or twice, for the same.
  bool is_rare_graph(const Operation& work) const {
    return work.kind == OperationKind::kGraph && graph_launches_.at(first_graph(work.graph)) <= kLaunchesOfRareGraph;
  }

  GraphId first_graph(GraphId graph) const {
    const auto first = first_graphs_.find(graph);
    return first == first_graphs_.end() ? graph : first->second;
  }

  std::uint64_t token(const Operation& work) const {
    if (is_rare_graph(work)) return kRareGraph;
    if (work.kind != OperationKind::kGraph) return token_of(work);
    return static_cast<std::uint64_t>(OperationKind::kGraph) << 60 | number(first_graph(work.graph));
  }

  // The item added last is an exchange. Without a stack, it is of the kind of most others behind the same kernel.
  void add_exchange(StackId stack, CopyKind copy_kind, std::uint64_t bytes) {
    const bool is_constant = copy_kind == CopyKind::kHostToDevice && bytes <= kConstantBytes && look_.is_native(stack);
    if (is_constant) {
      items_.traits.back() |= Trait::kOfModel;
      return;
    }
    if (copy_kind == CopyKind::kHostToDevice) items_.traits.back() |= Trait::kGiven;
    const std::uint64_t place = static_cast<std::uint64_t>(last_work_) << 32 | items_.kinds.back();
    if (number(stack) == 0) {
      unseen_.push_back({items_.size() - 1, place});
      return;
    }
    const bool in_model = look_.of(stack) == StackPlace::kModel;
    ++exchanges_[place].seen;
    if (in_model) ++exchanges_[place].in_model;
    items_.traits.back() |= in_model ? Trait::kOfModel : Trait::kExchange;
  }

  void mark_unseen_exchanges() {
    for (const Unseen& one : unseen_) {
      const auto others = exchanges_.find(one.place);
      const bool in_model =
          others != exchanges_.end() && ratio(others->second.in_model, others->second.seen) > kAtLeastHalf;
      items_.traits[one.item] |= in_model ? Trait::kOfModel : Trait::kExchange;
    }
  }

  // Adds the work and the waits of this time, in order; one item stands for all of the given step that follows.
  void add_between(TimeSpan time, bool ends_with_step) {
    const std::size_t begin = items_.size();
    if (trace_.operations.empty())
      add_calls(time);
    else
      add_work_and_waits(time);
    if (items_.size() == begin) return;
    add_ranges(begin);
    if (ends_with_step) add(kGivenStep, {time.end_ns, time.end_ns}, 0, Trait::kWork | Trait::kExchange);
  }

  void add_calls(TimeSpan time) {
    for (const Call& call : calls_in(time)) add_call(call);
  }

  void add_work_and_waits(TimeSpan time) {
    const std::span<const Call> calls = calls_in(time);
    auto call = calls.begin();
    const auto add_waits_before = [&](Nanoseconds time_ns) {
      for (; call != calls.end() && call->span.begin_ns < time_ns; ++call) {
        if (is_wait(*call) && (!trace_.has_timeline() || in_window(trace_, call->span))) add_call(*call);
      }
    };
    const std::span<const std::uint32_t> rows = correlation_.by_issue();
    auto row = std::lower_bound(rows.begin(), rows.end(), time.begin_ns,
                                [&](std::uint32_t each, Nanoseconds t) { return correlation_.issued_ns(each) < t; });
    for (; row != rows.end(); ++row) {
      const Nanoseconds issued_ns = correlation_.issued_ns(*row);
      if (issued_ns >= time.end_ns) break;
      add_waits_before(issued_ns);
      add_work(*row);
    }
    add_waits_before(time.end_ns);
  }

  std::span<const Call> calls_in(TimeSpan time) const {
    const auto at = [&](Nanoseconds t) {
      return std::lower_bound(trace_.calls.begin(), trace_.calls.end(), t,
                              [](const Call& call, Nanoseconds begin_ns) { return call.span.begin_ns < begin_ns; });
    };
    return {at(time.begin_ns), at(time.end_ns)};
  }

  // Whose kernels these are: by their name, or by the stacks of such kernels.
  enum class Whose : std::uint8_t { kUnknown, kOptimizers, kOptimizersByName, kOthers };

  std::vector<Whose> whose_kinds() const {
    std::vector<Whose> result(numbers_.size());
    for (const auto& [token, kind] : numbers_) {
      if (kind < stacks_.size() && stacks_[kind].seen > 0) {
        if (stacks_[kind].in_optimizer == 0) result[kind] = Whose::kOthers;
        if (ratio(stacks_[kind].in_optimizer, stacks_[kind].seen) >= kNearlyAllStacks)
          result[kind] = Whose::kOptimizers;
      }
      // Whatever its name: a model's parts are gathered by a kernel for many tensors too.
      const bool is_models = kind < stacks_.size() && ratio(stacks_[kind].in_model, stacks_[kind].seen) > kAtLeastHalf;
      if (token >> 60 != 0 || is_models) continue;
      const auto text = trace_.strings.find(StringId{static_cast<std::uint32_t>(token)});
      if (text != trace_.strings.end() && is_optimizer_kernel(text->second)) result[kind] = Whose::kOptimizersByName;
    }
    return result;
  }

  // An optimizer's kernels for many tensors at once stand close together. Where it does them one by one, others that
  // are not only its own stand between.
  void mark_optimizers() {
    constexpr std::size_t kFar = kEpisodeGap + 1;
    constexpr std::uint8_t kBetween = Trait::kExchange | Trait::kOfModel | Trait::kGraph;
    const std::vector<Whose> whose = whose_kinds();
    std::size_t since = kFar;  // items since its last work
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const Whose one = whose[items_.kinds[i]];
      const bool is_optimizers = one == Whose::kOptimizers || one == Whose::kOptimizersByName;
      const bool ends = one == Whose::kOthers || (items_.traits[i] & kBetween) != 0;
      since = ends ? kFar : since + 1;
      if (!is_optimizers) continue;
      const bool begins = since > (one == Whose::kOptimizersByName ? kEpisodeGapByName : kEpisodeGap);
      if (begins) items_.traits[i] |= Trait::kOptimizer;
      for (std::size_t k = begins ? i : i + 1 - since; k <= i; ++k) items_.traits[k] |= Trait::kUpdate;
      since = 0;
    }
  }

  void add_sums() {
    items_.sums.reserve(items_.size() + 1);
    items_.sums.push_back(0);
    for (const std::uint32_t kind : items_.kinds) {
      std::uint64_t mix = (kind + 1) * 0x9e3779b97f4a7c15U;
      mix = (mix ^ mix >> 30) * 0xbf58476d1ce4e5b9U;
      mix = (mix ^ mix >> 27) * 0x94d049bb133111ebU;
      items_.sums.push_back(items_.sums.back() + static_cast<std::uint32_t>((mix ^ mix >> 31) >> 32));
    }
  }

  // Adds the ranges of the items from `begin` on.
  void add_ranges(std::size_t begin) {
    const std::vector<Nanoseconds>& times = items_.times_ns;
    while (begin < times.size()) {
      const bool is_last = window_ + 1 >= trace_.windows.size();
      const Nanoseconds end_ns = is_last ? kLatestTime + 1 : trace_.windows[window_].span.end_ns;
      const auto from = times.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto end = static_cast<std::size_t>(std::lower_bound(from, times.end(), end_ns) - times.begin());
      if (end > begin) items_.ranges.push_back({begin, end});
      if (end < times.size()) ++window_;
      begin = end;
    }
  }

  struct Stacks {
    std::size_t seen = 0;
    std::size_t in_optimizer = 0;
    std::size_t in_model = 0;
  };

  struct Seen {
    std::size_t seen = 0;
    std::size_t in_model = 0;
  };
  struct Unseen {
    std::size_t item = 0;
    std::uint64_t place = 0;
  };

  const Trace& trace_;
  const Correlation& correlation_;
  std::size_t window_ = 0;  // that the row has come to
  StackLook look_;
  std::unordered_map<GraphId, GraphId> first_graphs_;
  std::unordered_map<GraphId, std::size_t> graph_launches_;
  CompileTime compiling_;
  StepItems items_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::vector<Stacks> stacks_;                         // stacks of launches, by kind
  std::unordered_map<std::uint64_t, Seen> exchanges_;  // by what they are, and the kernel before
  std::vector<Unseen> unseen_;                         // exchanges without a stack
  std::uint32_t last_work_ = 0;
};

}  // namespace

std::size_t StepItems::count(ItemRange range, std::uint8_t trait) const noexcept {
  std::size_t result = 0;
  for (std::size_t i = range.begin; i < range.end; ++i) result += (traits[i] & trait) != 0 ? 1U : 0U;
  return result;
}

StepItems step_items(const Trace& trace, const Correlation& correlation, const std::vector<Step>& given) {
  return Builder(trace, correlation).run(given);
}

}  // namespace synctrace
