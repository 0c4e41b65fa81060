// SPDX-License-Identifier: Apache-2.0
// In whose terms a line of the program is to be changed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "findings/report/savings.h"
#include "model/trace.h"

namespace synctrace {

// Whether the line's stack has a frame of a file with that part in its path.
// A frame of Python is on its stack.
bool has_python(const SourceLine& where);
bool has_file(const SourceLine& where, std::string_view part);

// Whether a frame is of a module of torch.nn that is called.
bool is_module_call(const ShownFrame& frame);
// torch.nn.LSTMCell and its like: one step of a sequence.
bool is_recurrent_cell(const ShownFrame& frame);

// Whether PyTorch's optimizer itself launches there. What a training step launches inside of optimizer.step(closure) is
// not the optimizer's: a module, or code of others, is further inside.
bool is_of_optimizer(const std::vector<ShownFrame>& stack);

enum class Framework : std::uint8_t { kCuda, kPyTorch, kJax, kCupy };

// The path behind the folder of Python's packages, with its slash: an environment may be called "torch". Else all of
// it.
std::string_view within_packages(std::string_view path) noexcept;

// "torch", as its package is called; empty for kCuda.
std::string_view package_of(Framework framework) noexcept;

class Frameworks {
 public:
  explicit Frameworks(const Trace& trace);

  // By the libraries on the stacks of the lines; where there are none by that on most stacks of the program, and in a
  // program without stacks by what the process loaded.
  Framework of(const std::vector<const SourceLine*>& lines) const;
  Framework of(const std::vector<ShownFix>& fixes) const;

 private:
  Framework usual_ = Framework::kCuda;
};

}  // namespace synctrace
