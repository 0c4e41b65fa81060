// SPDX-License-Identifier: Apache-2.0
#include "attribution/usual_launches.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/shares.h"
#include "model/stream_order.h"

namespace synctrace {
namespace {

constexpr std::uint32_t kFewestWithStack = 3;  // launches with a stack
constexpr Share kAgree = percent(90);

// What launches have in common that come from one line.
struct Position {
  StackId before{};  // the calls with a stack around it, of its thread
  StackId after{};
  StringId kernel{};
  std::uint32_t ordinal = 0;  // among launches of that kernel between these two, from 1; 0: any
  friend bool operator==(const Position&, const Position&) = default;
};

struct PositionHash {
  std::size_t operator()(const Position& of) const noexcept {
    std::uint64_t hash = (std::uint64_t{number(of.before)} << 32 | number(of.after)) * 0x9e3779b97f4a7c15U;
    hash = (hash ^ (std::uint64_t{number(of.kernel)} << 32 | of.ordinal)) * 0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(hash ^ hash >> 29);
  }
};

// The lines from which launches at a position were seen to come. Only the first line is counted: it has nearly all, or
// nothing is said.
struct Seen {
  std::uint64_t line = 0;
  std::uint32_t row = kNoRow;  // a launch from that line
  std::uint32_t there = 0;
  std::uint32_t all = 0;

  bool agrees() const { return all >= kFewestWithStack && ratio(there, all) >= kAgree; }
};

struct CallsOfThread {
  std::vector<std::pair<Nanoseconds, StackId>> calls;  // with a stack, by begin
  std::size_t next = 0;                                // the first one behind the last launch
  std::uint32_t stretch = 0;                           // counts the stretches between calls that hold launches
};

class Finder {
 public:
  Finder(const Trace& trace, const Correlation& correlation, const StackReader& stacks)
      : trace_(trace), correlation_(correlation), stacks_(stacks) {
    for (const Call& call : trace.calls) {
      if (number(call.stack) != 0) threads_[call.thread].calls.emplace_back(call.span.begin_ns, call.stack);
    }
    for (auto& [thread, of_thread] : threads_) std::sort(of_thread.calls.begin(), of_thread.calls.end());
  }

  std::vector<std::uint32_t> run() {
    std::vector<Position> positions;
    positions.reserve(trace_.launches.size());
    for (std::uint32_t row = 0; row < trace_.launches.size(); ++row) {
      positions.push_back(position_of(row));
      if (number(trace_.launches[row].stack) != 0) see(row, positions.back());
    }
    std::vector<std::uint32_t> stands_for(positions.size());
    for (std::uint32_t row = 0; row < positions.size(); ++row)
      stands_for[row] = number(trace_.launches[row].stack) != 0 ? row : usual_at(row, positions[row]);
    return stands_for;
  }

 private:
  struct Count {
    std::uint32_t stretch = 0;
    std::uint32_t launches = 0;
  };

  Position position_of(std::uint32_t row) {
    const Launch& launch = trace_.launches[row];
    CallsOfThread& thread = threads_[launch.thread];
    const auto begins_before = [&](std::size_t i) { return thread.calls[i].first <= launch.span.begin_ns; };
    const std::size_t was = thread.next;
    while (thread.next < thread.calls.size() && begins_before(thread.next)) ++thread.next;
    while (thread.next > 0 && !begins_before(thread.next - 1)) --thread.next;
    if (thread.next != was) ++thread.stretch;
    Position position;
    if (thread.next > 0) position.before = thread.calls[thread.next - 1].second;
    if (thread.next < thread.calls.size()) position.after = thread.calls[thread.next].second;
    const auto work = correlation_.first_work_of({true, row});
    if (work) position.kernel = trace_.operations[*work].name;
    const std::uint64_t key = std::uint64_t{number(launch.thread)} << 32 ^ number(position.kernel);
    Count& count = counts_[key];
    if (count.stretch != thread.stretch) count = {thread.stretch, 0};
    position.ordinal = ++count.launches;
    return position;
  }

  void see(std::uint32_t row, Position position) {
    const StackTraits traits = stacks_.traits(trace_.launches[row].stack);
    for (int either = 0; either < 2; ++either, position.ordinal = 0) {
      Seen& seen = seen_[position];
      if (seen.row == kNoRow && traits.user) seen = {traits.user_line, row, 0, seen.all};
      ++seen.all;
      if (traits.user && traits.user_line == seen.line) ++seen.there;
    }
  }

  std::uint32_t usual_at(std::uint32_t row, Position position) const {
    for (int either = 0; either < 2; ++either, position.ordinal = 0) {
      const auto found = seen_.find(position);
      if (found != seen_.end() && found->second.row != kNoRow && found->second.agrees()) return found->second.row;
    }
    return row;
  }

  const Trace& trace_;
  const Correlation& correlation_;
  const StackReader& stacks_;
  std::unordered_map<ThreadId, CallsOfThread> threads_;
  std::unordered_map<std::uint64_t, Count> counts_;  // by thread and kernel
  std::unordered_map<Position, Seen, PositionHash> seen_;
};

}  // namespace

UsualLaunches::UsualLaunches(const Trace& trace, const Correlation& correlation, const StackReader& stacks) {
  const auto has_stack = [](const Launch& launch) { return number(launch.stack) != 0; };
  const auto with_stack = std::count_if(trace.launches.begin(), trace.launches.end(), has_stack);
  if (with_stack == 0 || static_cast<std::size_t>(with_stack) == trace.launches.size()) return;
  stands_for_ = Finder(trace, correlation, stacks).run();
}

}  // namespace synctrace
