// SPDX-License-Identifier: Apache-2.0
// What a call is for, by its name as other tools write it: the same that the recorder knows by its callback id.
#include "exchange/call_category.h"

#include <string>

#include "capture/cupti/traced_calls.h"
#include "support/catch.h"

using namespace synctrace;

TEST_CASE("by name a call is for what it is by its callback id") {
  for (const capture::TracedCall& call : capture::traced_calls()) {
    const std::string_view name = plain_call_name(call.cupti_name);
    CAPTURE(std::string(call.cupti_name));
    CHECK(name == capture::documented_name(call.cupti_name));
    CHECK(call_category(name) == call.category);
  }
}

TEST_CASE("the runtime's launches, which the recorder does not trace, are launches") {
  CHECK(call_category(plain_call_name("cudaLaunchKernel_v7000")) == format::ApiCategory::kLaunch);
  CHECK(call_category(plain_call_name("cudaLaunchKernelExC_ptsz_v11060")) == format::ApiCategory::kLaunch);
  CHECK(call_category("cudaGraphLaunch") == format::ApiCategory::kGraphLaunch);
}

TEST_CASE("what is no function of CUDA's is for nothing known") {
  for (const std::string_view name : {"", "cu", "cuda", "_v", "_v3", "memcpy", "cudaFoo", "Memcpy"}) {
    CHECK(call_category(plain_call_name(name)) == format::ApiCategory::kOther);
  }
}
