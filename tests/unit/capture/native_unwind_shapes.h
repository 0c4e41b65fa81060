// SPDX-License-Identifier: Apache-2.0
// Stack shapes by which unwinders are compared: native_unwind_shapes.cpp, once per optimization level.
#pragma once

namespace synctrace::test {

// Called in every shape.
class Visit {
 public:
  virtual ~Visit() = default;
  virtual void operator()() = 0;
};

namespace shapes_o0 {
void all(Visit& visit);
}
namespace shapes_o2 {
void all(Visit& visit);
}
namespace shapes_o3 {
void all(Visit& visit);
}

}  // namespace synctrace::test
