// SPDX-License-Identifier: Apache-2.0
// What is said of a data loader, by hand-made traces: steps of 10 ms that would take 4 ms if batches were there,
// workers that are looked at twice a second, threads that are sampled each 10 ms. Each verdict, and where nothing is
// said.
#include "findings/loader/loader_advice.h"
#include "attribution/attribute.h"
#include "attribution/evidence.h"
#include "model/trace.h"
#include "steps/steps.h"

#include <memory>
#include <string>

#include "support/catch.h"

namespace synctrace::testing::loader_advice_test {
namespace {

constexpr Nanoseconds kMs = 1'000'000;
constexpr Nanoseconds kStepNs = 10 * kMs;
constexpr Nanoseconds kWithoutWaitNs = 4 * kMs;
constexpr std::size_t kSteps = 1'000;
constexpr ThreadId kMain{42};
constexpr ThreadId kPin{43};
constexpr StringId kWorkerName{1};
constexpr StringId kProgramName{2};
constexpr StringId kPagePlace{3};
constexpr StackId kInLoader{1};
constexpr StackId kInProgram{2};
constexpr StackId kInPinThread{3};
using State = format::ChildLook::State;
using SampleState = format::Sample::State;

// How a worker spends its time.
struct Worker {
  double computing = 0;
  double ready = 0;
  double storage = 0;
  StringId name = kWorkerName;
  Nanoseconds started_ns = 0;
  StringId channel{};
};

class Loader {
 public:
  Loader() {
    trace_.process_id = number(kMain);
    trace_.facts = {{"processors", "16"}, {"children.looks", "21"}};
    trace_.strings = {
        {kWorkerName, "pt_data_worker"}, {kProgramName, "python3"}, {kPagePlace, "folio_wait_bit_common"}};
    trace_.threads = {{kMain, "python3"}, {kPin, "pt_data_pin"}};
    add_stack(kInLoader, "/lib/torch/utils/data/dataloader.py");
    add_stack(kInProgram, "/home/me/train.py");
    add_stack(kInPinThread, "/lib/torch/utils/data/_utils/pin_memory.py");
    main(0.6, 0);
  }

  Loader& worker(const Worker& worker) {
    const auto process = static_cast<std::uint32_t>(100 + workers_++);
    for (int i = 0; i <= kLooks; ++i) {
      ChildLook look;
      look.time_ns = i * kLookNs;
      look.started_ns = worker.started_ns + workers_ * 20 * kMs;
      look.process = process;
      look.parent = trace_.process_id;
      look.name = worker.name;
      look.channel = worker.channel;
      look.cpu_ns = static_cast<Nanoseconds>(worker.computing * static_cast<double>(look.time_ns));
      look.ready_ns = static_cast<Nanoseconds>(worker.ready * static_cast<double>(look.time_ns));
      look.state = i < worker.storage * kLooks ? State::kDisk : State::kSleeping;
      trace_.child_looks.push_back(look);
    }
    return *this;
  }

  Loader& workers(int count, const Worker& all) {
    for (int i = 0; i < count; ++i) worker(all);
    return *this;
  }

  // So many workers in each epoch, of three looks each.
  Loader& workers_of_epochs(int epochs, int count) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (int worker = 0; worker < count; ++worker) {
        for (int i = 0; i < 3; ++i) {
          ChildLook look;
          look.started_ns = 3 * epoch * kLookNs + 1;
          look.time_ns = look.started_ns + i * (kLookNs - 1);
          look.process = static_cast<std::uint32_t>(1000 + epoch * count + worker);
          look.parent = trace_.process_id;
          look.name = kWorkerName;
          look.cpu_ns = look.time_ns / 5;
          look.state = State::kSleeping;
          trace_.child_looks.push_back(look);
        }
      }
    }
    return *this;
  }
  // One step in five takes all the time of the wait.
  Loader& uneven() {
    uneven_ = true;
    return *this;
  }

  // Shares of the main thread's time in the loader: asleep, and at work.
  Loader& main(double waiting, double working) {
    trace_.samples.clear();
    for (int i = 0; i < 1'000; ++i) {
      const bool waits = i < waiting * 1'000;
      const bool works = !waits && i < (waiting + working) * 1'000;
      sample(i, kMain, waits || works ? kInLoader : kInProgram, waits ? SampleState::kBlocked : SampleState::kRunning);
    }
    return *this;
  }

  Loader& pin_thread(double working) {
    for (int i = 0; i < 1'000; ++i)
      sample(i, kPin, kInPinThread, i < working * 1'000 ? SampleState::kRunning : SampleState::kBlocked);
    return *this;
  }

  Loader& fact(const std::string& key, const std::string& value) {
    trace_.facts[key] = value;
    return *this;
  }
  Loader& without_fact(const std::string& key) {
    trace_.facts.erase(key);
    return *this;
  }
  Loader& steps(std::size_t count) {
    steps_ = count;
    return *this;
  }

  Loader& irregular(std::size_t step, Nanoseconds length_ns) {
    irregular_ = step;
    irregular_ns_ = length_ns;
    return *this;
  }
  Loader& gap_before(std::size_t step) {
    gap_ = step;
    return *this;
  }

  std::optional<LoaderAdvice> advice(Nanoseconds without_wait_ns = kWithoutWaitNs) const {
    Attribution attribution;
    attribution.evidence = std::make_unique<Evidence>(trace_);
    Nanoseconds begin_ns = 0;
    for (std::size_t i = 0; i < steps_; ++i) {
      Step step;
      const Nanoseconds usual_ns = !uneven_ ? kStepNs : i % 5 == 0 ? 3 * kStepNs : kStepNs / 2;
      step.host = {begin_ns, begin_ns + (i == irregular_ ? irregular_ns_ : usual_ns)};
      begin_ns = step.host.end_ns;
      if (i == irregular_) step.kind = StepKind::kIrregular;
      if (i + 1 == gap_) step.host.end_ns -= kMs;
      attribution.steps.steps.push_back(step);
    }
    return loader_advice(trace_, attribution, without_wait_ns);
  }

  // "" where nothing is said.
  std::string limit() const {
    const auto said = advice();
    if (!said) return "";
    CHECK(said->more_workers_help == (said->limit == LoaderLimit::kTooFewWorkers));
    CHECK((said->needed > 0) == said->more_workers_help);
    return std::string(loader_limit_name(said->limit));
  }

 private:
  static constexpr int kLooks = 18;
  static constexpr Nanoseconds kLookNs = 500 * kMs;

  void add_stack(StackId stack, const std::string& file) {
    trace_.codes[number(stack)] = Code{file, "f", "", 1, 0};
    StackFrame frame;
    frame.code = number(stack);
    trace_.stacks[stack] = {frame};
  }
  void sample(int at, ThreadId thread, StackId stack, SampleState state) {
    Sample sample;
    sample.span = {at * kStepNs, at * kStepNs};
    sample.thread = thread;
    sample.count = 1;
    sample.stack = stack;
    sample.state = state;
    trace_.samples.push_back(sample);
  }

  Trace trace_;
  std::size_t steps_ = kSteps;
  std::size_t irregular_ = kSteps;
  Nanoseconds irregular_ns_ = kStepNs;
  std::size_t gap_ = 0;
  bool uneven_ = false;
  int workers_ = 0;
};

}  // namespace

TEST_CASE("the most ordinary steps in a row count, without a hole or what lies between two phases") {
  const auto hole = Loader().workers(4, {.computing = 0.95}).irregular(kSteps / 4, 40 * kStepNs).advice();
  REQUIRE(hole);
  CHECK(hole->steps == kSteps - kSteps / 4 - 1);
  CHECK(hole->step_ns == kStepNs);
  CHECK(hole->needed == 13);
  const auto gap = Loader().workers(4, {.computing = 0.95}).gap_before(kSteps / 4).advice();
  REQUIRE(gap);
  CHECK(gap->steps == kSteps - kSteps / 4);
  CHECK(gap->needed == 13);
}

TEST_CASE("a step that is a little longer than the others does not end a row of them") {
  const auto advice = Loader().workers(4, {.computing = 0.95}).irregular(kSteps / 4, 4 * kStepNs).advice();
  REQUIRE(advice);
  CHECK(advice->steps == kSteps - 1);
  CHECK(advice->step_ns == kStepNs);
}

TEST_CASE("busy workers are too few, and the observed times say how many are enough") {
  const auto advice = Loader().workers(4, {.computing = 0.95}).advice();
  REQUIRE(advice);
  CHECK(advice->limit == LoaderLimit::kTooFewWorkers);
  CHECK(advice->workers == 4);
  CHECK(advice->busy_ns == 38 * kMs);  // 4 x 95 % of 10 ms
  CHECK(advice->needed == 13);         // 38 / 4, and a third more
  CHECK(advice->steps == kSteps);
  CHECK(advice->step_ns == kStepNs);
  CHECK(advice->title == "More DataLoader workers: 4 -> 13");
  CHECK(advice->type == "num_workers=13, persistent_workers=True");
}

TEST_CASE("a worker that waits for files at times is as busy as one that computes") {
  const auto advice = Loader().workers(4, {.computing = 0.7, .storage = 0.3}).advice();
  REQUIRE(advice);
  CHECK(advice->limit == LoaderLimit::kTooFewWorkers);
  CHECK(advice->busy_ns > 38 * kMs);
}

TEST_CASE("no more workers are advised than the program has processors for") {
  CHECK(Loader().workers(4, {.computing = 0.95}).fact("processors", "8").advice()->needed == 7);
  const auto full = Loader().workers(7, {.computing = 0.95}).fact("processors", "8").advice();
  REQUIRE(full);
  CHECK(full->limit == LoaderLimit::kProcessors);
  CHECK(full->needed == 0);
  CHECK(full->title == "More workers will not help: all 8 processors are in use");
  CHECK(Loader().workers(4, {.computing = 0.95}).without_fact("processors").advice()->needed == 13);
  const auto few = Loader().workers(3, {.computing = 1.0}).fact("processors", "4").advice();
  REQUIRE(few);
  CHECK(few->limit == LoaderLimit::kProcessors);
}

TEST_CASE("where all processors would do less than half of the work, samples must take less") {
  const auto advice = Loader().workers(4, {.computing = 1.0}).fact("processors", "6").advice();
  REQUIRE(advice);
  CHECK(advice->limit == LoaderLimit::kProcessors);
  CHECK(advice->needed == 14);
  CHECK_FALSE(advice->more_workers_help);
  CHECK(advice->title == "Do less for each sample: 14 loader workers would be needed");
  CHECK(Loader().workers(4, {.computing = 1.0}).fact("processors", "7").advice()->needed == 6);
  const auto first = Loader().main(0, 0.9).fact("processors", "2").advice();
  REQUIRE(first);
  CHECK(first->limit == LoaderLimit::kTooFewWorkers);
  CHECK(first->needed == 1);
}

TEST_CASE("workers that wait for a CPU do not need more of them") {
  CHECK(Loader().workers(4, {.computing = 0.6, .ready = 0.3}).limit() == "processors");
  CHECK(Loader().workers(4, {.computing = 0.85, .ready = 0.1}).limit() == "too-few-workers");
}

TEST_CASE("without workers the thread that waits makes the batches, and that is what workers would do") {
  const auto advice = Loader().main(0, 0.6).advice();
  REQUIRE(advice);
  CHECK(advice->workers == 0);
  CHECK(advice->busy_ns == 6 * kMs);
  CHECK(advice->needed == 2);  // 6 / 4, and a third more
  CHECK(advice->title == "DataLoader workers: 0 -> 2");
}

TEST_CASE("without workers nothing is said when nobody looked, or when the thread sleeps in the loader") {
  CHECK(Loader().main(0, 0.6).without_fact("children.looks").limit().empty());
  CHECK(Loader().main(0.6, 0).limit().empty());
  CHECK(Loader().main(0.35, 0.25).limit().empty());
}

TEST_CASE("some busy workers among idle ones are slower than the others") {
  CHECK(Loader().worker({.computing = 0.97}).workers(3, {.computing = 0.1}).limit() == "one-worker");
  CHECK(Loader().worker({.computing = 0.6, .ready = 0.3}).workers(3, {.computing = 0.1}).limit() == "one-worker");
  CHECK(Loader().workers(2, {.computing = 0.9}).workers(2, {.computing = 0.2}).limit() == "one-worker");
  CHECK(Loader().workers(3, {.computing = 0.9}).worker({.computing = 0.1}).limit().empty());
  CHECK(Loader().worker({.computing = 0.8}).workers(3, {.computing = 0.6}).limit().empty());
}

TEST_CASE("idle workers and a busy pin-memory thread") {
  const auto advice = Loader().workers(4, {.computing = 0.2}).pin_thread(0.9).advice();
  REQUIRE(advice);
  CHECK(advice->limit == LoaderLimit::kPinThread);
  CHECK(advice->title == "More workers will not help: workers are idle, the pin-memory thread is slow");
  CHECK(Loader().workers(4, {.computing = 0.2}).pin_thread(0.3).limit().empty());
}

TEST_CASE("idle workers and a main process that is slow at taking a batch") {
  CHECK(Loader().workers(4, {.computing = 0.2}).main(0.1, 0.5).limit() == "main-process");
  CHECK(Loader().workers(4, {.computing = 0.2}).main(0.5, 0.1).limit().empty());
}

TEST_CASE("workers that wait for files") {
  CHECK(Loader().workers(4, {.computing = 0.2, .storage = 0.7}).limit() == "storage");
  CHECK(Loader().workers(4, {.computing = 0.2, .channel = kPagePlace}).limit() == "storage");
  CHECK(Loader().workers(4, {.computing = 0.2, .storage = 0.2}).limit().empty());
}

TEST_CASE("nothing is said of too little: few steps, no wait, no samples of a loader, workers hardly seen") {
  const auto busy = [] { return Loader().workers(4, {.computing = 0.95}); };
  CHECK(busy().steps(20).limit().empty());  // one look
  CHECK(busy().steps(7).limit().empty());
  CHECK(busy().main(0, 0).limit().empty());
  CHECK(!busy().advice(98 * kStepNs / 100));
  CHECK(!busy().advice(0));
  CHECK(!busy().advice(2 * kStepNs));
}

TEST_CASE("workers without a name of their own are children with the program's") {
  const Worker worker{.computing = 0.95, .name = kProgramName};
  CHECK(Loader().workers(4, worker).advice()->workers == 4);
  CHECK(Loader().worker({.name = kProgramName}).workers(4, worker).advice()->workers == 4);  // a helper that idles
  CHECK(Loader().workers(2, {.name = kProgramName}).worker(worker).limit() == "one-worker");
}

TEST_CASE("workers that leave no processor to the program compute on one thread each") {
  const auto advice = Loader().workers(8, {.computing = 1.9, .ready = 0.5}).advice();
  REQUIRE(advice);
  CHECK(loader_limit_name(advice->limit) == "threads");
  CHECK(advice->title == "Give each of the 8 loader workers one thread");
  CHECK(Loader().workers(4, {.computing = 1.9, .ready = 0.5}).limit() != "threads");
}

TEST_CASE("workers that start anew in each epoch are kept, where the wait is in few steps") {
  CHECK(Loader().workers_of_epochs(5, 4).uneven().limit() == "restarted");
  CHECK(Loader().workers_of_epochs(5, 4).limit() != "restarted");
  CHECK(Loader().workers_of_epochs(2, 4).uneven().limit() != "restarted");
}

TEST_CASE("of two loaders the one whose workers compute counts") {
  const auto advice = Loader().workers(4, {.computing = 0.95}).workers(4, {.started_ns = 9'000 * kMs}).advice();
  REQUIRE(advice);
  CHECK(advice->workers == 4);
  CHECK(advice->needed == 13);
}

}  // namespace synctrace::testing::loader_advice_test
