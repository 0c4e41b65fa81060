// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_name.h"

#include "support/catch.h"

namespace synctrace::testing {
namespace {

void check(std::string_view text, std::string_view function, std::string_view details) {
  const KernelName name = kernel_name(text);
  CHECK(name.function == function);
  CHECK(name.details == details);
}

}  // namespace

TEST_CASE("a name in words is the function, and its arguments from the first bracket on") {
  check("void at::native::(anonymous namespace)::pool<float, 4>(float*)", "at::native::(anonymous namespace)::pool",
        "<float, 4>(float*)");
  check("spin_ns(long long)", "spin_ns", "(long long)");
  check("loop_add_fusion", "loop_add_fusion", "");
  check("(anonymous namespace)", "(anonymous namespace)", "");
  check("", "", "");
}

TEST_CASE("a mangled name is taken apart as far as its parts are plain") {
  check("_ZN2at6native13reduce_kernelILi512EEEvi", "at::native::reduce_kernel", "ILi512EEEvi");
  check("_ZN2at53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a4poolEPf", "at::(anonymous namespace)::pool",
        "EPf");
  check("_Z7spin_nsx", "spin_ns", "x");
  check("_ZL4stepPf", "step", "Pf");
}

TEST_CASE("lengths that a mangled name does not have end at its end") {
  check("_Z99spin", "spin", "");
  check("_ZN", "", "");
  check("_Z0", "", "0");
}

}  // namespace synctrace::testing
