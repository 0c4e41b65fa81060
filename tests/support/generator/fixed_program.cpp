// SPDX-License-Identifier: Apache-2.0
#include "support/generator/fixed_program.h"

#include <utility>
#include <vector>

namespace synctrace::testing::generator {
namespace {

bool is_wait(Act act) {
  return act == Act::kStreamSync || act == Act::kDeviceSync || act == Act::kEventSync || act == Act::kPoll ||
         act == Act::kGpuSleep;
}

class Fixer {
 public:
  Fixer(Program& program, LineFix fix, std::uint32_t place) : program_(program), fix_(fix), place_(place) {}

  std::vector<Action> run(const std::vector<Action>& actions) {
    done_.clear();
    recorders_.assign(program_.events, 0);
    for (const Action& action : actions) {
      if (action.act == Act::kRecord) recorders_[action.object] = action.place;
      const bool depends = action.act == Act::kWaitEvent && recorders_[action.object] == place_;
      if (fix_ == LineFix::kDropDependency && depends) continue;
      if (action.place == place_ && fix_ != LineFix::kDropDependency)
        take(action);
      else
        done_.push_back(action);
    }
    return std::move(done_);
  }

 private:
  void take(Action action);
  void add_to_graph(const Action& launch);

  Program& program_;
  LineFix fix_;
  std::uint32_t place_;
  std::vector<std::uint32_t> recorders_;  // for each event the place of its last record
  std::vector<Action> done_;
};

// The launches of a run become the nodes of one graph.
void Fixer::add_to_graph(const Action& launch) {
  const bool goes_on = !done_.empty() && done_.back().act == Act::kGraph && done_.back().place == place_;
  if (goes_on) {
    ++done_.back().count;
    return;
  }
  Action graph = launch;
  graph.act = Act::kGraph;
  graph.ns = 0;
  done_.push_back(graph);
}

void Fixer::take(Action action) {
  // Whoever stops the thread does so whatever it does at that moment.
  if (action.held_ns > 0) done_.push_back({Act::kCompute, 0, std::exchange(action.held_ns, 0)});
  switch (fix_) {
    case LineFix::kRemoveWaits:
      if (is_wait(action.act)) return;
      break;
    case LineFix::kDeferWaits:
      if (!is_wait(action.act)) break;
      done_.push_back({Act::kEventSync, place_, 0, 0, action.stream, program_.events - 1});
      action = {Act::kRecord, place_, 0, 0, action.stream, program_.events - 1};
      break;
    case LineFix::kAsyncCopies:
      if (action.act == Act::kPageableCopy) action.act = Act::kCopy;
      break;
    case LineFix::kCacheMemory:
      if (action.act == Act::kFree || action.act == Act::kAllocate) action = {Act::kOtherCall, place_, 1'000};
      break;
    case LineFix::kFeedInput:
      if (action.act == Act::kLoad || action.act == Act::kCompute) return;
      break;
    case LineFix::kHalveHost:
      if (action.act == Act::kCompute) action.ns /= 2;
      break;
    case LineFix::kNoCollection:
      if (action.act == Act::kCollect) return;
      break;
    case LineFix::kPreload:
      if (action.act == Act::kModule) return;
      break;
    case LineFix::kGraph:
      if (action.act == Act::kBurstLaunch) return add_to_graph(action);
      break;
    case LineFix::kDropDependency: break;
  }
  done_.push_back(action);
}

}  // namespace

Program fixed(const Program& program, LineFix fix, std::uint32_t place) {
  Program result = program;
  if (fix == LineFix::kDeferWaits) ++result.events;
  for (std::vector<Action>& actions : result.threads) actions = Fixer(result, fix, place).run(actions);
  return result;
}

}  // namespace synctrace::testing::generator
