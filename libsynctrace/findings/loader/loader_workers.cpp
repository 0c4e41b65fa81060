// SPDX-License-Identifier: Apache-2.0
#include "findings/loader/loader_workers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace synctrace {
namespace {

constexpr std::string_view kWorkerName = "pt_data_worker";

// A process that does less in all the time that it is seen is no worker, if it is the only such.
constexpr Nanoseconds kLeastWorkNs = 20'000'000;

// Workers of one loader begin one after the other without a longer pause.
constexpr Nanoseconds kStartedTogetherNs = 500'000'000;

struct Child {
  Nanoseconds started_ns = 0;
  const ChildLook* first = nullptr;
  const ChildLook* last = nullptr;
  std::size_t looks = 0;
  std::size_t in_storage = 0;

  Nanoseconds cpu_ns() const noexcept { return std::max<Nanoseconds>(0, last->cpu_ns - first->cpu_ns); }
};

std::string_view text_of(const Trace& trace, StringId id) {
  const auto text = trace.strings.find(id);
  return text == trace.strings.end() ? std::string_view() : std::string_view(text->second);
}

bool waits_for_storage(const Trace& trace, const ChildLook& look) {
  if (look.state == format::ChildLook::State::kDisk) return true;
  constexpr std::string_view kPlaces[] = {"folio_wait", "wait_on_page", "io_schedule", "filemap_",
                                          "nfs",        "rpc_",         "fuse_",       "request_wait_answer"};
  const std::string_view channel = text_of(trace, look.channel);
  return std::any_of(std::begin(kPlaces), std::end(kPlaces),
                     [&](std::string_view place) { return channel.starts_with(place); });
}

// The children of a name that were looked at in the span, by when they began.
std::vector<Child> children_named(const Trace& trace, TimeSpan span, std::string_view name) {
  std::map<std::pair<Nanoseconds, std::uint32_t>, Child> children;
  for (const ChildLook& look : trace.child_looks) {
    if (!span.contains(look.time_ns) || text_of(trace, look.name) != name) continue;
    if (look.state == format::ChildLook::State::kEnded) continue;
    Child& child = children[{look.started_ns, look.process}];
    child.started_ns = look.started_ns;
    if (child.first == nullptr) child.first = &look;
    child.last = &look;
    ++child.looks;
    if (waits_for_storage(trace, look)) ++child.in_storage;
  }
  std::vector<Child> result;
  for (const auto& [key, child] : children) {
    if (child.looks >= 2 && child.last->time_ns > child.first->time_ns) result.push_back(child);
  }
  return result;
}

std::vector<Child> likely_workers(const Trace& trace, TimeSpan span) {
  std::vector<Child> named = children_named(trace, span, kWorkerName);
  const auto own = trace.threads.find(ThreadId{trace.process_id});
  if (!named.empty() || own == trace.threads.end()) return named;
  std::vector<Child> children = children_named(trace, span, own->second);
  const auto is_idle = [](const Child& child) { return child.cpu_ns() < kLeastWorkNs; };
  if (std::count_if(children.begin(), children.end(), is_idle) == 1)
    children.erase(std::find_if(children.begin(), children.end(), is_idle));
  return children;
}

// `children` by when they began.
std::vector<Child> of_busiest_loader(const std::vector<Child>& children) {
  std::vector<Child> best;
  double best_ns = -1;
  for (auto begin = children.begin(); begin != children.end();) {
    auto end = std::next(begin);
    while (end != children.end() && end->started_ns - std::prev(end)->started_ns <= kStartedTogetherNs) ++end;
    double cpu_ns = 0;
    for (auto child = begin; child != end; ++child) cpu_ns += static_cast<double>(child->cpu_ns());
    if (cpu_ns > best_ns) best.assign(begin, end);
    best_ns = std::max(best_ns, cpu_ns);
    begin = end;
  }
  return best;
}

LoaderWorker worker_of(const Child& child) {
  LoaderWorker worker;
  worker.seen_ns = child.last->time_ns - child.first->time_ns;
  const auto share = [&](Nanoseconds ns) {
    return std::clamp(static_cast<double>(ns) / static_cast<double>(worker.seen_ns), 0.0, 1.0);
  };
  worker.computing = share(child.cpu_ns());
  worker.processors = static_cast<double>(child.cpu_ns()) / static_cast<double>(worker.seen_ns);
  worker.ready = share(child.last->ready_ns - child.first->ready_ns);
  worker.storage = static_cast<double>(child.in_storage) / static_cast<double>(child.looks);
  worker.looks = child.looks;
  return worker;
}

// How often a program started workers.
struct LoaderStarts {
  std::size_t all = 0;      // started in the span
  std::size_t at_once = 0;  // the most that lived at one time
};

LoaderStarts find_loader_starts(const Trace& trace, TimeSpan span) {
  struct Life {
    Nanoseconds started_ns;
    Nanoseconds seen_ns;
  };
  std::map<std::pair<Nanoseconds, std::uint32_t>, Life> lives;
  for (const ChildLook& look : trace.child_looks) {
    if (text_of(trace, look.name) != kWorkerName || !span.contains(look.time_ns)) continue;
    const std::pair key(look.started_ns, look.process);
    Life& life = lives.try_emplace(key, Life{look.started_ns, look.time_ns}).first->second;
    life.seen_ns = std::max(life.seen_ns, look.time_ns);
  }
  LoaderStarts starts;
  std::multiset<Nanoseconds> last_seen;    // when workers that live are seen for the last time
  for (const auto& [key, life] : lives) {  // by when they began
    if (span.contains(life.started_ns)) ++starts.all;
    last_seen.erase(last_seen.begin(), last_seen.upper_bound(life.started_ns));
    last_seen.insert(life.seen_ns);
    starts.at_once = std::max(starts.at_once, last_seen.size());
  }
  return starts;
}

}  // namespace

LoaderWorkers find_loader_workers(const Trace& trace, TimeSpan span) {
  LoaderWorkers found;
  for (const Child& child : of_busiest_loader(likely_workers(trace, span))) {
    found.workers.push_back(worker_of(child));
    found.seen_ns = add_saturated(found.seen_ns, found.workers.back().seen_ns);
  }
  std::stable_sort(found.workers.begin(), found.workers.end(),
                   [](const LoaderWorker& a, const LoaderWorker& b) { return a.loaded() > b.loaded(); });
  return found;
}

bool starts_workers_again(const Trace& trace, const Steps& steps) {
  constexpr std::size_t kManyTimes = 3;
  if (steps.steps.empty()) return false;
  const LoaderStarts starts =
      find_loader_starts(trace, {steps.steps.front().host.begin_ns, steps.steps.back().host.end_ns});
  return starts.at_once > 0 && starts.all >= kManyTimes * starts.at_once;
}

}  // namespace synctrace
