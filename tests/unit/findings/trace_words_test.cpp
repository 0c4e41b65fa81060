// SPDX-License-Identifier: Apache-2.0
// A trace may have any number where a kind belongs: each has a word.
#include "findings/report/trace_words.h"

#include "attribution/cause.h"
#include "support/catch.h"

namespace synctrace {

TEST_CASE("numbers beyond the kinds that are known are unknown") {
  for (int number = 0; number < 256; ++number) {
    CAPTURE(number);
    const auto call = static_cast<HostCall>(number);
    CHECK((host_call_word(call) == "unknown") == (number == 0 || call > HostCall::kSelect));
    CHECK(!sample_state_word(static_cast<format::Sample::State>(number)).empty());
    CHECK(!cause_name(static_cast<CauseKind>(number)).empty());
  }
  CHECK(host_call_word(HostCall::kSelect) == "select");
}

TEST_CASE("directions and memory have the words of the tables") {
  CHECK(direction_word(CopyKind::kArrayToHost) == "D2H");
  CHECK(direction_word(CopyKind::kHostToArray) == "H2D");
  CHECK(direction_word(CopyKind::kArrayToDevice) == "D2D");
  CHECK(direction_word(static_cast<CopyKind>(255)).empty());
  CHECK(memory_word(MemoryKind::kManagedStatic) == "managed");
  CHECK(memory_word(MemoryKind::kDeviceStatic) == "device");
  CHECK(memory_word(static_cast<MemoryKind>(255)).empty());
}

}  // namespace synctrace
