// SPDX-License-Identifier: Apache-2.0
#include "model/refused_stacks.h"

#include <map>
#include <utility>

namespace synctrace {
namespace {

// So many calls have shown that they always come from one place.
constexpr std::uint32_t kFewestSeen = 8;

struct Follower {
  StackId stack{};
  std::uint32_t seen = 0;
  bool differs = false;
};

// The stack of a call, and the function of the one behind it.
using Pair = std::pair<StackId, ApiId>;

// visit(before, call) for each call right behind one with a stack, in order of time.
template <class Visit>
void for_each_pair(Trace& trace, Visit&& visit) {
  std::map<ThreadId, const Call*> last;   // null: a launch
  const Launch* before_launch = nullptr;  // the last of launches in a row, which are many
  auto launch = trace.launches.begin();
  for (Call& call : trace.calls) {
    for (; launch != trace.launches.end() && launch->span.begin_ns <= call.span.begin_ns; ++launch) {
      if (before_launch == nullptr || before_launch->thread != launch->thread) last[launch->thread] = nullptr;
      before_launch = &*launch;
    }
    const Call*& before = last[call.thread];
    if (before != nullptr && before->stack != StackId{}) visit(*before, call);
    before = &call;
    before_launch = nullptr;
  }
}

}  // namespace

std::uint64_t give_refused_stacks(Trace& trace) {
  if (trace.stats.count("stack-budget") == 0) return 0;
  std::map<Pair, Follower> followers;
  for_each_pair(trace, [&](const Call& before, const Call& call) {
    if (call.stack == StackId{}) return;
    Follower& follower = followers[{before.stack, call.api}];
    follower.differs |= follower.seen != 0 && follower.stack != call.stack;
    follower.stack = call.stack;
    ++follower.seen;
  });
  std::uint64_t given = 0;
  for_each_pair(trace, [&](const Call& before, Call& call) {
    if (call.stack != StackId{}) return;
    const auto found = followers.find({before.stack, call.api});
    if (found == followers.end() || found->second.differs || found->second.seen < kFewestSeen) return;
    call.stack = found->second.stack;
    ++given;
  });
  return given;
}

}  // namespace synctrace
