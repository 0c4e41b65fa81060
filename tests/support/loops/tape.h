// SPDX-License-Identifier: Apache-2.0
// Writes the trace of a program with known loops while the program is played: where its code is, what it issues, when a
// step begins. A machine with one GPU, one stream, a main thread, and one for the backward pass where the program wants
// it. What is recorded is what the recorder records: stacks at calls, at a few launches, at none of the other thread's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/trace.h"

namespace synctrace::testing::loops {

// The same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0xd1b54a32d192ed03U) { state_ = next(); }
  std::uint64_t next();
  std::size_t between(std::size_t least, std::size_t most) { return least + next() % (most - least + 1); }
  double share() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }
  bool chance(double probability) { return share() < probability; }

 private:
  std::uint64_t state_;
};

// What of the program is recorded, and how evenly it runs.
struct Conditions {
  enum class Stacks : std::uint8_t { kPython, kNative, kAddresses, kNone };  // kAddresses: native, without names
  Stacks stacks = Stacks::kPython;
  bool launch_stacks = false;  // at a few launches: behind pauses, by chance, and where the last stack is 250 us old
  double jitter = 0;           // share by which host times vary
  double other_names = 0;      // the share of launches whose kernel has another name this time
  double lost = 0;             // the share of launches or operations that are missing
  bool lost_at_once = false;   // in one hole, else at random
  double long_hole = 0;        // the share of steps in which the host does something else for a long time
};
using Stacks = Conditions::Stacks;

// Rows [first, last) of a table.
struct Rows {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct Phase {
  std::string name;
  std::size_t micro_steps = 1;
  std::vector<TimeSpan> steps;          // on the host
  std::vector<Nanoseconds> middles_ns;  // when each issued the middle piece of its work
  std::vector<Rows> operations;         // each step's
  std::vector<Rows> launches;
  std::size_t lost_steps = 0;  // more than half of their launches or operations are missing
  Nanoseconds time_ns = 0;     // from the end of the last step's work to the end of its own, summed up
};

class Tape {
 public:
  Tape(const Conditions& conditions, std::uint64_t seed);

  // A function runs as long as this lives. `at`: which of its lines, from 0.
  class Frame {
   public:
    Frame(Tape& tape, std::string_view file, std::string_view function) : tape_(tape), depth_(tape.frames_.size()) {
      tape.enter(file, function);
    }
    ~Frame() { tape_.frames_.pop_back(); }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    void at(std::uint32_t line) { tape_.frames_[depth_].line = line; }

   private:
    Tape& tape_;
    std::size_t depth_;
  };

  void host(Nanoseconds ns) { now_ns_ += jittered(ns); }
  void sleep(Nanoseconds ns, format::HostCall call);  // seen where it is long
  void kernel(std::string_view name, Nanoseconds gpu_ns, bool may_vary = true);
  void graph(std::uint32_t id, Nanoseconds gpu_ns);
  void to_device(std::uint64_t bytes);
  void to_host(std::uint64_t bytes);  // waits
  // From a thread that prefetches, while this one is `launches` further.
  void to_device_later(std::uint64_t bytes, std::size_t launches);
  void sync();
  void load_module();
  void on_device(std::size_t device);  // from here on; 0 at first

  // What is issued in between comes from another thread, without Python frames, while this one sleeps.
  void begin_other_thread();
  void end_other_thread();

  std::size_t phase(std::string_view name, std::size_t micro_steps = 1);
  void begin_step(std::size_t phase);
  void end_step(std::size_t phase);

  Random& random() noexcept { return random_; }

  // The trace and its phases; nothing may be played after it.
  Trace finish();
  const std::vector<Phase>& phases() const noexcept { return phases_; }

 private:
  struct Place {
    std::uint32_t function = 0;
    std::uint32_t line = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  struct Site {  // where calls come from
    Nanoseconds last_length_ns = 0;
    Nanoseconds last_stack_ns = -1'000'000'000;
  };

  void prefetch();
  void enter(std::string_view file, std::string_view function);
  Nanoseconds jittered(Nanoseconds ns);
  StackId stack(bool python_only);
  StackId launch_stack();
  bool affords_stack(ApiCategory category, Nanoseconds ns);
  CorrelationId launch();
  Operation& work(CorrelationId correlation, Nanoseconds gpu_ns);
  Call& call(ApiCategory category, Nanoseconds ns);
  StringId name_of(std::string_view name);
  void lose_records();

  const Conditions conditions_;
  Random random_;
  Trace trace_;
  std::vector<Place> frames_;  // outermost first
  std::map<std::string, std::uint32_t, std::less<>> functions_;
  std::map<std::string, StringId, std::less<>> names_;
  std::map<std::vector<Place>, StackId> stacks_;
  std::vector<Phase> phases_;
  Nanoseconds now_ns_ = 5'000'000;
  Nanoseconds gpu_free_ns_ = 0;                 // the current device
  std::vector<Nanoseconds> others_free_ns_{0};  // by device
  std::size_t device_ = 0;
  Nanoseconds last_call_ns_ = 0;   // the end of the main thread's last call
  Nanoseconds last_stack_ns_ = 0;  // when the main thread last had a stack
  Nanoseconds last_done_ns_ = 0;
  std::map<std::vector<Place>, Site> sites_;
  double saved_ns_ = 0;  // for stacks
  Nanoseconds saved_until_ns_ = 0;
  Nanoseconds asleep_ns_ = 0;           // since when the main thread sleeps; 0: it does not
  std::vector<Nanoseconds> issued_ns_;  // when each operation was issued
  std::size_t first_issued_ = 0;        // the step's first row there
  std::size_t first_launch_ = 0;
  std::size_t to_next_stack_ = 64;
  bool holds_ = false;  // after the next launch, for long
  std::vector<Operation> prefetched_;
  std::uint64_t later_bytes_ = 0;  // to copy
  std::size_t later_launches_ = 0;
  std::uint32_t next_correlation_ = 1;
};

}  // namespace synctrace::testing::loops
