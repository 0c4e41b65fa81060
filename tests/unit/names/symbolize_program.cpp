// SPDX-License-Identifier: Apache-2.0
// A library with known functions at known lines, for symbolize_test; built with -g and with optimisation. Each function
// answers with its own return address in its caller, which the test then asks for.
#include <cstdint>

namespace shapes {

using Address = const void*;

[[gnu::noinline]] Address where() { return __builtin_return_address(0); }

struct Site {
  template <class T>
  [[gnu::always_inline]] inline Address innermost(T) {
    Address here = where();  // line 15
    return keep(here);
  }
  [[gnu::noinline]] Address keep(Address here) { return here; }
  [[gnu::always_inline]] inline Address middle(int value) {
    return innermost(value);  // line 20
  }
};

}  // namespace shapes

extern "C" {

[[gnu::noinline]] const void* plain_site() {
  const void* here = shapes::where();  // line 29
  asm volatile("" ::: "memory");
  return here;
}

[[gnu::noinline]] const void* inlined_site() {
  shapes::Site site;
  const void* here = site.middle(3);  // line 36
  asm volatile("" ::: "memory");
  return here;
}
}
