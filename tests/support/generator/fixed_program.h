// SPDX-License-Identifier: Apache-2.0
// A program with one of its lines fixed: played, it shows what the fix truly saves.
#pragma once

#include "support/generator/program.h"

namespace synctrace::testing::generator {

enum class LineFix : std::uint8_t {
  kRemoveWaits,  // waits of every kind
  kDeferWaits,   // to the same line of the next step
  kAsyncCopies,  // from pinned memory
  kCacheMemory,
  kFeedInput,  // batches are there when asked for
  kHalveHost,  // host code takes half its time
  kNoCollection,
  kPreload,
  kDropDependency,  // nobody waits for an event recorded there
  kGraph,           // a run of launches becomes one
};

Program fixed(const Program& program, LineFix fix, std::uint32_t place);

}  // namespace synctrace::testing::generator
