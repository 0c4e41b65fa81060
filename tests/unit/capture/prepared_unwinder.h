// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "capture/unwind/native_unwind.h"
#include "capture/unwind/unwind_table.h"

namespace synctrace::test {

// The calling thread can walk while this lives. Once a test.
struct PreparedUnwinder {
  PreparedUnwinder() {
    capture::prepare_fallback();
    capture::module_map.refresh();
    capture::build_missing_tables(capture::module_map);
    unwinder->prepare_here();
  }
  ~PreparedUnwinder() { capture::ThreadUnwinder::forget_here(); }
  std::unique_ptr<capture::ThreadUnwinder> unwinder = std::make_unique<capture::ThreadUnwinder>();
};

}  // namespace synctrace::test
