// SPDX-License-Identifier: Apache-2.0
// What the names of a stack's functions say about what its thread was doing.
#include <string>

#include "attribution/stack_traits.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

// The traits of a stack with one native frame of that name, called from Python code of that file, if any.
StackTraits traits_of(const std::string& function, const std::string& file = {}) {
  Trace trace;
  const CodeAddress address{1, 0x10, false};
  trace.modules[1] = Module{"/opt/torch/lib/libtorch_cuda.so", "", 0, 0, 0, 0, 0};
  ResolvedFrame frame;
  frame.function = function;
  frame.named = true;
  trace.symbols[address] = {frame};
  StackFrame native;
  native.kind = StackFrame::Kind::kNative;
  native.native = address;
  trace.stacks[StackId{1}] = {native};
  if (!file.empty()) {
    trace.codes[1] = Code{file, "f", "", 1, 0x030c0000};
    StackFrame python;
    python.code = 1;
    trace.stacks[StackId{1}].push_back(python);
  }
  return StackReader(trace).traits(StackId{1});
}

}  // namespace

TEST_CASE("operators whose result is as large as the data say") {
  for (const char* function :
       {"at::native::nonzero_out_cuda(at::Tensor const&, at::Tensor&)", "at::native::nonzero_cuda(at::Tensor const&)",
        "at::_ops::nonzero::call(at::Tensor const&)",
        "at::native::masked_select_cuda(at::Tensor const&, at::Tensor const&)",
        "void at::native::nonzero_cuda_out_impl<float>(at::Tensor const&, at::Tensor&)",
        "at::native::(anonymous namespace)::unique_cuda_template<long>(at::Tensor const&, bool, bool, bool)",
        "at::native::_unique2_cuda(at::Tensor const&, bool, bool, bool)", "at::_ops::argwhere::call(at::Tensor const&)",
        "at::native::repeat_interleave_cuda(at::Tensor const&, std::optional<long>)"}) {
    CAPTURE(function);
    CHECK(traits_of(function).dynamic_shape);
  }
}

TEST_CASE("other functions are none of these") {
  for (const char* function :
       {"at::native::_local_scalar_dense_cuda(at::Tensor const&)", "at::_ops::item::call(at::Tensor const&)", "nonzero",
        "my::nonzero_rows(int)", "void run(at::native::nonzero_helper const&)", "at::native::copy_kernel_cuda(bool)",
        "", "("}) {
    CAPTURE(function);
    CHECK_FALSE(traits_of(function).dynamic_shape);
  }
}

TEST_CASE("who takes the interpreter's lock, or gives it away, waits for that lock") {
  for (const char* function : {"take_gil", "PyEval_RestoreThread", "drop_gil", "PyEval_SaveThread"}) {
    CAPTURE(function);
    CHECK(traits_of(function).gil);
  }
  CHECK_FALSE(traits_of("PyThread_acquire_lock_timed").gil);
}

TEST_CASE("printing a tensor selects by masks and is no dynamic shape") {
  const char* function = "at::native::masked_select_cuda(at::Tensor const&, at::Tensor const&)";
  CHECK(traits_of(function, "/app/train.py").dynamic_shape);
  CHECK_FALSE(traits_of(function, "/usr/lib/python3/dist-packages/torch/_tensor_str.py").dynamic_shape);
}

TEST_CASE("collector and interpreter lock are known by their functions") {
  CHECK(traits_of("gc_collect_main").collector);
  CHECK(traits_of("take_gil").gil);
  CHECK_FALSE(traits_of("take_gil").collector);
}

TEST_CASE("a stack is incomplete where the trace lacks it, or the code of one of its Python frames") {
  CHECK_FALSE(traits_of("main").incomplete);
  CHECK_FALSE(traits_of("main", "/app/train.py").incomplete);
  Trace trace;
  StackFrame python;
  python.code = 1;
  trace.stacks[StackId{1}] = {python};
  CHECK(StackReader(trace).traits(StackId{1}).incomplete);
  CHECK(StackReader(trace).traits(StackId{2}).incomplete);
}

}  // namespace synctrace::testing
