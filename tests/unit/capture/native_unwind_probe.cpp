// SPDX-License-Identifier: Apache-2.0
// A module to load at run time: calls back for native_unwind_test.cpp, and compares stacks inside python3 by ctypes.
#include "native_unwind_oracle.h"

#include "capture/unwind/unwind_table.h"

using namespace synctrace;

extern "C" {

__attribute__((visibility("default"))) int probe_call(int (*function)(void*), void* argument) {
  return function(argument) + 1;
}

__attribute__((visibility("default"))) void probe_prepare() {
  capture::module_map.refresh();
  capture::build_missing_tables(capture::module_map);
  static capture::ThreadUnwinder unwinder;
  unwinder.prepare_here();
}

// The number of frames, or minus the index of the first that differs from libgcc's, or -1000 when the root is not
// reached.
__attribute__((visibility("default"))) int probe_compare() {
  static test::Comparison comparison;
  test::compare_here(comparison);
  if (!comparison.all_equal()) return -static_cast<int>(comparison.equal) - 1;
  return comparison.walk.end == capture::WalkEnd::kRoot ? static_cast<int>(comparison.equal) : -1000;
}
}
