// SPDX-License-Identifier: Apache-2.0
#include "findings/loader/loader_advice.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "attribution/attribute.h"
#include "base/shares.h"
#include "findings/loader/loader_threads.h"
#include "findings/loader/loader_workers.h"
#include "findings/report/trace_words.h"
#include "steps/step_lengths.h"

namespace synctrace {
namespace {

// Below this nothing is said.
constexpr std::size_t kFewestToAdvise = 8;
constexpr std::size_t kFewestLoaderSamples = 50;
constexpr Nanoseconds kShortestSeenNs = 1'000'000'000;  // for all workers together
constexpr double kLeastWait = 0.03;                     // share of a step
constexpr Share kMostIrregular = percent(10);           // share of the ordinary steps in a row

// From the moment at which a worker is busy for three quarters of the time, more than the wait for its turn is missing:
// the number advised leaves as much room, for batches that take longer and hosts that are slower on another day.
constexpr double kBusy = 0.75;
constexpr double kIdler = 0.3;       // by how much less the others are busy, where some are slower than they
constexpr double kMuch = 0.4;        // share of the workers' time in waits for files
constexpr double kStarved = 0.2;     // likewise, for a CPU
constexpr double kPinsAlways = 0.6;  // share of the pin thread's time
constexpr double kMostOfWait = 0.5;
constexpr double kManyThreads = 1.4;  // processors that a worker computes on
constexpr double kAllInUse = 0.8;     // share of the processors that workers compute on
constexpr double kMostNeeded = 1024;  // beyond this it is no advice

struct Measured {
  LoaderWorkers workers;
  LoaderThreads threads;
  std::size_t looks = 0;
};

// Ordinary steps in a row, from the first one's begin to the last one's end.
struct SteadyRow {
  std::size_t steps = 0;
  TimeSpan span;
  Nanoseconds ordinary_ns = 0;
};

// The longest such row. In a hole, or in the validation between two epochs, workers rest that are busy in the steps; a
// step that is a little longer than others is no such hole.
SteadyRow longest_row(const std::vector<Step>& steps) {
  SteadyRow best;
  SteadyRow row;
  Nanoseconds held_ns = 0;  // time in the row's other steps
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const TimeSpan& host = steps[i].host;
    const bool is_ordinary = steps[i].kind == StepKind::kSteady;
    if (!is_ordinary) held_ns = add_saturated(held_ns, host.length_ns());
    if (begins_anew(steps, i) || held_ns > kMostIrregular.of(row.ordinary_ns)) row = {}, held_ns = 0;
    if (!is_ordinary) continue;
    if (row.steps == 0) row.span.begin_ns = host.begin_ns, held_ns = 0;
    ++row.steps;
    row.span.end_ns = host.end_ns;
    row.ordinary_ns = add_saturated(row.ordinary_ns, host.length_ns());
    if (row.steps > best.steps) best = row;
  }
  return best;
}

std::size_t workers_for(double busy_ns, Nanoseconds step_ns) {
  const double exact = std::ceil(busy_ns / (kBusy * static_cast<double>(step_ns)));
  return exact > kMostNeeded ? 0 : static_cast<std::size_t>(std::max(exact, 1.0));
}

// How many of the workers, busiest first, are busy while the others are clearly less so; 0: no such split, or the busy
// ones are more than half.
std::size_t slower_workers(const std::vector<LoaderWorker>& workers) {
  std::size_t busy = 0;
  while (busy < workers.size() && workers[busy].loaded() >= kBusy) ++busy;
  if (busy == 0 || 2 * busy > workers.size()) return 0;
  return workers[busy].loaded() <= workers[busy - 1].loaded() - kIdler ? busy : 0;
}

// Without workers the batches are made where they are waited for.
bool advise_first_workers(const Measured& measured, LoaderAdvice& advice) {
  const bool makes_them = measured.threads.working * static_cast<double>(advice.step_ns) >=
                          kMostOfWait * static_cast<double>(advice.step_ns - advice.step_without_wait_ns);
  if (measured.looks == 0 || !makes_them || measured.threads.working <= measured.threads.waiting) return false;
  advice.busy_ns = static_cast<Nanoseconds>(measured.threads.working * static_cast<double>(advice.step_ns));
  advice.limit = LoaderLimit::kTooFewWorkers;
  return true;
}

// The order counts: what binds the workers comes before what they are too few for.
bool find_limit(const Measured& measured, LoaderAdvice& advice) {
  const double work = measured.threads.working * static_cast<double>(advice.step_ns);
  const double wait = static_cast<double>(advice.step_ns - advice.step_without_wait_ns);
  const auto is = [&](LoaderLimit limit) {
    advice.limit = limit;
    return true;
  };
  const double loaded = measured.workers.mean(&LoaderWorker::loaded);
  if (advice.waits_for_cpu >= kStarved && loaded >= kBusy) return is(LoaderLimit::kProcessors);
  if (advice.waits_for_storage >= kMuch) return is(LoaderLimit::kStorage);
  if (loaded >= kBusy) return is(LoaderLimit::kTooFewWorkers);
  if (slower_workers(measured.workers.workers) > 0) return is(LoaderLimit::kOneWorker);
  if (measured.threads.samples < kFewestLoaderSamples) return false;
  if (measured.threads.pinning >= kPinsAlways) return is(LoaderLimit::kPinThread);
  if (work >= kMostOfWait * wait) return is(LoaderLimit::kMainProcess);
  return false;
}

bool measure_workers(const Measured& measured, LoaderAdvice& advice) {
  const LoaderWorkers& seen = measured.workers;
  if (seen.seen_ns < kShortestSeenNs) return false;
  advice.workers = seen.workers.size();
  advice.utilisation = seen.mean(&LoaderWorker::occupied);
  advice.busiest = seen.workers.front().occupied();
  advice.idlest = seen.workers.back().occupied();
  advice.waits_for_cpu = seen.mean(&LoaderWorker::ready);
  advice.waits_for_storage = seen.mean(&LoaderWorker::storage);
  advice.busy_ns = static_cast<Nanoseconds>(advice.utilisation * static_cast<double>(advice.workers) *
                                            static_cast<double>(advice.step_ns));
  return true;
}

// False where the number found contradicts what was seen.
bool find_number(LoaderAdvice& advice) {
  if (advice.limit != LoaderLimit::kTooFewWorkers) return true;
  const std::size_t most = advice.processors > 1 ? advice.processors - 1 : advice.processors;
  const std::size_t needed = workers_for(static_cast<double>(advice.busy_ns), advice.step_without_wait_ns);
  if (needed == 0 || needed <= advice.workers) return false;
  if (most != 0 && most <= advice.workers) {
    advice.limit = LoaderLimit::kProcessors;
    return true;
  }
  // Were each of them busy all the time, as many as there are processors for would do less than half of the work. The
  // first worker helps in any case.
  if (advice.workers > 0 && most != 0 && kBusy * static_cast<double>(needed) > 2 * static_cast<double>(most)) {
    advice.limit = LoaderLimit::kProcessors;
    advice.needed = needed;
    return true;
  }
  advice.needed = most == 0 ? needed : std::min(needed, most);
  advice.more_workers_help = true;
  return true;
}

// Whether workers start again and again, and the wait is in few of the steps, those behind such a start.
bool waits_for_starts(const Trace& trace, const Steps& steps, LoaderAdvice& advice) {
  if (!starts_workers_again(trace, steps)) return false;
  std::vector<Nanoseconds> lengths;
  Nanoseconds sum_ns = 0;
  for (const Step& step : steps.steps) {
    if (step.kind == StepKind::kWarmUp) continue;
    lengths.push_back(step.host.length_ns());
    sum_ns = add_saturated(sum_ns, step.host.length_ns());
  }
  if (lengths.size() < kFewestToAdvise) return false;
  const Nanoseconds mean_ns = sum_ns / static_cast<Nanoseconds>(lengths.size());
  const Nanoseconds wait_ns = mean_ns - advice.step_without_wait_ns;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  if (static_cast<double>(wait_ns) < kLeastWait * static_cast<double>(mean_ns) || *middle >= mean_ns - wait_ns / 2)
    return false;
  advice.steps = lengths.size();
  advice.step_ns = mean_ns;
  advice.workers =
      find_loader_workers(trace, {steps.steps.front().host.begin_ns, steps.steps.back().host.end_ns}).workers.size();
  advice.limit = LoaderLimit::kRestarted;
  return true;
}

// Workers leave no processor to the program, as each of them computes on several: then all of it is slow, not only its
// waits for batches.
bool has_many_threads(const LoaderWorkers& seen, std::size_t processors) {
  const double each = seen.mean(&LoaderWorker::processors);
  const double all = each * static_cast<double>(seen.workers.size());
  return seen.seen_ns >= kShortestSeenNs && processors > 0 && each >= kManyThreads &&
         all >= kAllInUse * static_cast<double>(processors);
}

void add_words(LoaderAdvice& advice) {
  constexpr std::string_view kNoHelp = "More workers will not help: ";
  const auto say = [&](std::string why, std::string_view type) {
    advice.title = std::string(kNoHelp) + std::move(why);
    advice.type = type;
  };
  switch (advice.limit) {
    case LoaderLimit::kTooFewWorkers: {
      const std::string number = std::to_string(advice.needed);
      advice.title = (advice.workers == 0 ? "DataLoader workers: " : "More DataLoader workers: ") +
                     std::to_string(advice.workers) + " -> " + number;
      advice.type = "num_workers=" + number + ", persistent_workers=True";
      return;
    }
    case LoaderLimit::kProcessors:
      if (advice.needed > 0) {
        advice.title = "Do less for each sample: " + std::to_string(advice.needed) + " loader workers would be needed";
        advice.type = "crop and sample before other transforms, store decoded data, or transform on the GPU; " +
                      std::to_string(advice.processors) + " processors are too few";
        return;
      }
      return say(advice.processors == 0 ? "there is no processor left for them"
                                        : "all " + std::to_string(advice.processors) + " processors are in use",
                 "do less for each sample: store it decoded, or move transforms to the GPU");
    case LoaderLimit::kOneWorker:
      return say("some workers are slower than the others, which wait for their turn",
                 "give each worker the same work: more and smaller shards");
    case LoaderLimit::kPinThread:
      return say("workers are idle, the pin-memory thread is slow",
                 "return few large tensors for each batch, and keep its pin_memory() short");
    case LoaderLimit::kMainProcess:
      return say("workers are idle, taking a batch is slow in the main process",
                 "collate in the workers: collate_fn that returns few plain tensors");
    case LoaderLimit::kRestarted:
      advice.title = "Keep the loader's workers from epoch to epoch";
      advice.type = "DataLoader(..., persistent_workers=True)";
      return;
    case LoaderLimit::kThreads:
      advice.title = "Give each of the " + std::to_string(advice.workers) + " loader workers one thread";
      advice.type = "DataLoader(..., worker_init_fn=lambda worker: torch.set_num_threads(1)); or OMP_NUM_THREADS=1";
      return;
    case LoaderLimit::kStorage:
      return say("workers wait for storage", "keep the data in memory or on a local disk, in fewer and larger files");
  }
}

}  // namespace

std::string_view loader_limit_name(LoaderLimit limit) noexcept {
  constexpr std::array<std::string_view, 8> kNames = {"too-few-workers", "processors", "one-worker", "pin-thread",
                                                      "main-process",    "storage",    "restarted",  "threads"};
  return kNames[static_cast<std::size_t>(limit)];
}

std::optional<LoaderAdvice> loader_advice(const Trace& trace, const Attribution& attribution,
                                          Nanoseconds step_without_wait_ns) {
  LoaderAdvice advice;
  advice.processors = number_fact(trace, "processors");
  advice.step_without_wait_ns = step_without_wait_ns;
  if (step_without_wait_ns > 0 && waits_for_starts(trace, attribution.steps, advice)) {
    add_words(advice);
    return advice;
  }
  const SteadyRow row = longest_row(attribution.steps.steps);
  advice.steps = row.steps;
  if (advice.steps < kFewestToAdvise) return std::nullopt;
  advice.step_ns = row.ordinary_ns / static_cast<Nanoseconds>(advice.steps);
  LoaderWorkers workers = find_loader_workers(trace, row.span);
  if (has_many_threads(workers, advice.processors)) {
    advice.workers = workers.workers.size();
    advice.utilisation = workers.mean(&LoaderWorker::occupied);
    advice.waits_for_cpu = workers.mean(&LoaderWorker::ready);
    advice.limit = LoaderLimit::kThreads;
    add_words(advice);
    return advice;
  }
  if (step_without_wait_ns <= 0) return std::nullopt;
  const double wait =
      1 - static_cast<double>(step_without_wait_ns) / static_cast<double>(std::max<Nanoseconds>(advice.step_ns, 1));
  if (wait < kLeastWait) return std::nullopt;

  const Measured measured{std::move(workers), find_loader_threads(trace, attribution.evidence->stacks, row.span),
                          number_fact(trace, "children.looks")};
  advice.pin_thread = measured.threads.pinning;
  advice.main_process = measured.threads.working;
  const bool in_loader = measured.threads.waiting + measured.threads.working >= kLeastWait;
  if (!in_loader || measured.threads.samples < kFewestLoaderSamples) return std::nullopt;
  const bool is_known = measured.workers.workers.empty()
                            ? advise_first_workers(measured, advice)
                            : measure_workers(measured, advice) && find_limit(measured, advice);
  if (!is_known || !find_number(advice)) return std::nullopt;
  add_words(advice);
  return advice;
}

}  // namespace synctrace
