// SPDX-License-Identifier: Apache-2.0
#include "attribution/graph_breaks.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "attribution/wait_table.h"
#include "code/compiler_code.h"

namespace synctrace {
namespace {

// What the graph's own launch takes on the host, in or out of a larger graph (measured: 8 to 28 us between two kernels
// of one graph, H200, PyTorch 2.11).
constexpr Nanoseconds kOwnTimeNs = 15'000;

// What a function of Python is to torch.compile. Names read in PyTorch 2.11.
enum class Role : std::uint8_t {
  kProgram,   // the program's, or another library's
  kPyTorch,   // one of PyTorch's own, none of the below
  kWrapper,   // calls a compiled function or module
  kResumed,   // the rest of a function behind a break
  kGraph,     // generated code that launches the kernels of a graph
  kBackward,  // runs the graph of a backward pass
  kCompiler,  // compiles
};

Role role_of(const Code& code) {
  const std::string_view file = code.file;
  const std::string_view function = code.function;
  const auto in = [](std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  if (is_compiler_code(file, function)) return Role::kCompiler;
  if (in(file, "torchinductor_")) return Role::kGraph;
  if (code.is_resumed) return Role::kResumed;
  if (!in(file, "/torch/")) return Role::kProgram;
  if (file.ends_with("/torch/_dynamo/eval_frame.py") && in(function, "compile_wrapper")) return Role::kWrapper;
  if (in(file, "/torch/_functorch/") && in(function, "CompiledFunction.") && in(function, "backward"))
    return Role::kBackward;
  return Role::kPyTorch;
}

// What a stack says of it.
struct Place {
  bool has_python = false;
  bool is_compiled = false;  // inside a compiled function or module
  bool is_backward = false;
  bool is_resumed = false;
  std::uint32_t program_frames = 0;  // in it, and outside of its graph
  std::uint32_t graph = 0;           // the generated code; 0: none
  std::int32_t offset_bytes = 0;     // where in it
};

// A launch or call with a stack.
struct Seen {
  Nanoseconds begin_ns = 0;
  ThreadId thread{};
  Owner owner;
  StackId stack{};
  Nanoseconds from_ns = 0;  // the end of the thread's launch before
};

class Search {
 public:
  explicit Search(const Trace& trace) : trace_(trace) {}

  struct Found {
    ThreadId thread{};
    TimeSpan span;
    Owner line;
  };
  std::vector<Found> run() {
    find_roles();
    if (!any_graph_ || !any_wrapper_) return {};
    look();
    for (const Seen& each : seen_) take(each);
    for (Found& each : found_) {
      if (each.line.table == OwnerTable::kNone) each.line = usual_.table != OwnerTable::kNone ? usual_ : first_;
    }
    return std::move(found_);
  }

 private:
  enum class Pass : std::uint8_t { kNone, kForward, kBackward };

  void find_roles();
  void look();
  Place find_place(StackId stack) const;
  const Place& place_of(StackId stack);
  void take(const Seen& each);
  void take_entry(const Seen& each, const Place& place);
  void count_line(const Seen& each);

  const Trace& trace_;
  std::unordered_map<std::uint32_t, Role> roles_;  // by code
  bool any_graph_ = false;
  bool any_wrapper_ = false;
  std::unordered_map<StackId, Place> places_;
  std::unordered_map<std::uint32_t, std::int32_t> entries_;  // the offset of each graph's first launch
  std::vector<Seen> seen_;
  std::vector<Found> found_;
  Pass last_ = Pass::kNone;     // that a graph was entered in
  std::size_t in_forward_ = 0;  // breaks of the last forward pass, no more of which are in backward
  std::unordered_map<StackId, std::size_t> lines_;
  std::size_t most_ = 0;
  Owner usual_;  // at the line that breaks most often
  Owner first_;
};

void Search::find_roles() {
  for (const auto& [id, code] : trace_.codes) {
    const Role role = role_of(code);
    roles_[id] = role;
    any_graph_ = any_graph_ || role == Role::kGraph;
    any_wrapper_ = any_wrapper_ || role == Role::kWrapper;
  }
}

Place Search::find_place(StackId stack) const {
  Place place;
  const auto frames = trace_.stacks.find(stack);
  if (frames == trace_.stacks.end()) return place;
  for (const StackFrame& frame : frames->second) {
    if (frame.kind != StackFrame::Kind::kPython) continue;
    place.has_python = true;
    const auto role = roles_.find(frame.code);
    switch (role == roles_.end() ? Role::kProgram : role->second) {
      case Role::kProgram: ++place.program_frames; break;
      case Role::kResumed:
        ++place.program_frames;
        place.is_resumed = true;
        break;
      case Role::kGraph:
        place.graph = frame.code;
        place.offset_bytes = frame.offset_bytes;
        place.program_frames = 0;
        break;
      case Role::kBackward: place.is_backward = true; break;
      case Role::kWrapper: place.is_compiled = true; return place;
      case Role::kCompiler: return {.has_python = true};
      case Role::kPyTorch: break;
    }
  }
  place.program_frames = 0;
  return place;
}

const Place& Search::place_of(StackId stack) {
  const auto known = places_.find(stack);
  return known != places_.end() ? known->second : places_.emplace(stack, find_place(stack)).first->second;
}

void Search::look() {
  std::unordered_map<ThreadId, Nanoseconds> ends;
  for (std::uint32_t row = 0; row < trace_.launches.size(); ++row) {
    const Launch& launch = trace_.launches[row];
    const auto [end, is_new] = ends.try_emplace(launch.thread, launch.span.begin_ns);
    if (number(launch.stack) != 0) {
      seen_.push_back({launch.span.begin_ns, launch.thread, {row, OwnerTable::kLaunch}, launch.stack, end->second});
      const Place& place = place_of(launch.stack);
      if (place.graph != 0) {
        const auto entry = entries_.try_emplace(place.graph, place.offset_bytes).first;
        entry->second = std::min(entry->second, place.offset_bytes);
      }
    }
    end->second = std::max(end->second, launch.span.end_ns);
  }
  for (std::uint32_t row = 0; row < trace_.calls.size(); ++row) {
    const Call& call = trace_.calls[row];
    if (number(call.stack) != 0)
      seen_.push_back({call.span.begin_ns, call.thread, {row, OwnerTable::kCall}, call.stack, 0});
  }
  std::stable_sort(seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) { return a.begin_ns < b.begin_ns; });
}

void Search::count_line(const Seen& each) {
  const std::size_t count = ++lines_[each.stack];
  if (count <= most_) return;
  most_ = count;
  usual_ = each.owner;
}

void Search::take(const Seen& each) {
  const Place& place = place_of(each.stack);
  const bool is_launch = each.owner.table == OwnerTable::kLaunch;
  if (place.graph != 0) {
    if (is_launch && place.offset_bytes == entries_[place.graph]) take_entry(each, place);
  } else if (place.is_compiled) {
    if (!is_launch && fits_no_graph(trace_.calls[each.owner.row])) count_line(each);
  } else if (place.has_python && !place.is_backward) {
    last_ = Pass::kNone;  // the loop's own code: the next graph belongs to another pass
  }
}

void Search::take_entry(const Seen& each, const Place& place) {
  const Pass pass = place.is_backward ? Pass::kBackward : Pass::kForward;
  const bool goes_on = std::exchange(last_, pass) == pass;
  if (pass == Pass::kForward && !goes_on) in_forward_ = 0;
  // A graph of the whole function has one function of the program around it: what it calls is in the graph.
  const bool is_broken = pass == Pass::kForward ? place.program_frames >= 2 : in_forward_ > 0;
  if (is_broken && place.is_resumed) count_line(each);
  if (!goes_on || !is_broken) return;
  if (first_.table == OwnerTable::kNone) first_ = each.owner;
  in_forward_ += pass == Pass::kForward ? 1 : 0;
  in_forward_ -= pass == Pass::kBackward ? 1 : 0;
  const Nanoseconds end_ns = each.begin_ns - kOwnTimeNs;
  if (end_ns > each.from_ns)
    found_.push_back({each.thread, {each.from_ns, end_ns}, place.is_resumed ? each.owner : Owner{}});
}

}  // namespace

GraphBreaks::GraphBreaks(const Trace& trace, const HostTimeline& host) {
  for (const Search::Found& each : Search(trace).run()) {
    const HostTimeline::Index thread = host.index_of(each.thread);
    if (thread == HostTimeline::kNoThread) continue;
    found_.resize(host.threads());
    found_[thread].push_back({each.span, each.line});
  }
}

GraphBreaks::Answer GraphBreaks::at(HostTimeline::Index thread, Nanoseconds t) const {
  Answer answer;
  if (found_.empty()) return answer;
  const std::vector<Between>& spans = found_[thread];
  const auto next = std::lower_bound(spans.begin(), spans.end(), t,
                                     [](const Between& each, Nanoseconds time) { return each.span.end_ns < time; });
  if (next != spans.end() && next->span.begin_ns < t) return {next->span.begin_ns, next->line};
  if (next != spans.begin()) answer.begin_ns = std::prev(next)->span.end_ns;
  return answer;
}

}  // namespace synctrace
