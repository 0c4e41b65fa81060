// SPDX-License-Identifier: Apache-2.0
// What a C++ program knows of its own phases, told as truth.py does.
#pragma once

#include <chrono>
#include <cstdio>
#include <vector>

class Phase {
 public:
  Phase(const char* name, const char* file) : name_(name), file_(file) { all().push_back(this); }
  Phase(const Phase&) = delete;

  // On the line above the loop.
  void begin(int line) {
    first_ = line + 1;
    mark_ = std::chrono::steady_clock::now();
  }
  // At the end of the loop's body, which is at `line`.
  void step(int line) {
    ++steps_;
    last_ = line;
    const auto now = std::chrono::steady_clock::now();
    time_ns_ += std::chrono::duration_cast<std::chrono::nanoseconds>(now - mark_).count();
    mark_ = now;
  }

  static void tell() {
    std::printf("{\"phases\": [");
    for (std::size_t i = 0; i < all().size(); ++i) {
      const Phase& phase = *all()[i];
      std::printf(
          "%s{\"name\": \"%s\", \"steps\": %d, \"time_ns\": %lld, \"optional\": false, \"micro_steps\": 1, "
          "\"places\": [{\"file\": \"%s\", \"first\": %d, \"last\": %d}]}",
          i > 0 ? ", " : "", phase.name_, phase.steps_, phase.time_ns_, phase.file_, phase.first_, phase.last_);
    }
    std::printf("]}\n");
  }

 private:
  static std::vector<Phase*>& all() {
    static std::vector<Phase*> phases;
    return phases;
  }

  const char* name_;
  const char* file_;
  int first_ = 0;
  int last_ = 0;
  int steps_ = 0;
  long long time_ns_ = 0;
  std::chrono::steady_clock::time_point mark_;
};
