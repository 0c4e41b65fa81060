// SPDX-License-Identifier: Apache-2.0
// Which function or module can be compiled, or become one CUDA graph, so that it holds the launches of a line: the
// outermost one inside of the steps' loop in which the host neither waits for the GPU nor runs backward or an
// optimizer.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "code/user_frame.h"
#include "findings/report/source_line.h"
#include "findings/report/steps.h"
#include "model/trace.h"

namespace synctrace {

struct LaunchTarget {
  enum class Kind : std::uint8_t {
    kNone,      // the host waits inside of all that could be compiled, or nothing is known of it
    kModule,    // torch.nn.Module
    kFunction,  // a function of Python
    kLines,     // a part of the function that holds the steps' loop
  };
  Kind kind = Kind::kNone;
  std::string name;          // the function's; a module's variable, "model", or empty
  std::string class_name;    // a module's; empty: the class is PyTorch's own
  bool is_librarys = false;  // the class; or a library calls the module, which the user gave to it
  std::string called_at;     // a module, "train.py:47"
  std::uint32_t piece = 0;   // lines: which stretch between two waits
};

class LaunchTargets {
 public:
  // `loop`: where steps begin; its function may be empty.
  LaunchTargets(const Trace& trace, const StepsReport& loop, const UserCode& user_code);

  LaunchTarget of(const SourceLine& where) const;
  // The modules that hold launches, those that launch most first.
  const std::vector<LaunchTarget>& modules() const { return modules_; }
  // Some work is launched by autograd's backward.
  bool any_backward() const { return any_backward_; }
  // PyTorch's loader launches kernels in the steps' own process.
  bool loads_from_gpu() const { return loads_from_gpu_; }
  // The function of that line waits nowhere, and does not hold the steps' loop.
  bool can_be_compiled(const SourceLine& where) const;
  // A line that waits inside of the function that holds `where`, and keeps it from being compiled; else nothing known.
  SourceLine obstacle(const SourceLine& where) const;

 private:
  using Function = std::pair<std::string, std::string>;  // file, name
  struct Held {
    std::set<std::uint32_t> lines;  // where a piece of it must end
    SourceLine wait;                // one that waits for the GPU, without its stack
  };
  using CountedStack = std::pair<std::size_t, std::vector<ShownFrame>>;  // launches, frames
  void find_modules(std::vector<CountedStack> stacks, std::size_t least);
  void hold(const std::vector<ShownFrame>& stack, bool is_wait);
  bool is_held(const std::string& file, const std::string& function) const;

  bool is_users(const ResolvedFrame& frame) const { return user_code_.owner_of(frame) == CodeOwner::kUser; }

  const UserCode& user_code_;
  std::map<Function, Held> held_;
  Function loop_;
  std::vector<LaunchTarget> modules_;
  bool any_backward_ = false;
  bool loads_from_gpu_ = false;
};

// "model" of "loss = criterion(model(x), y)": the one variable that is called there and is none of the usual functions;
// empty where there is no such one.
std::string called_variable(const std::string& source);

}  // namespace synctrace
