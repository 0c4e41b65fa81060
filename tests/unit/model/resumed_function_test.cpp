// SPDX-License-Identifier: Apache-2.0
// The name of a function that torch.compile resumes behind a graph break is that of the function in the source.
#include "model/resumed_function.h"

#include "support/catch.h"

namespace synctrace::testing {

TEST_CASE("a resumed function has the name of the function that it resumes") {
  CHECK(resumed_function("torch_dynamo_resume_in_forward_at_25") == "forward");
  CHECK(resumed_function("Net.torch_dynamo_resume_in_forward_at_25") == "Net.forward");
  CHECK(resumed_function("torch_dynamo_resume_in_look_at_3_at_25") == "look_at_3");
  CHECK(resumed_function("torch_dynamo_resume_in_torch_dynamo_resume_in_f_at_2_at_25") == "f");
}

TEST_CASE("any other name stays as it is") {
  for (const char* name :
       {"", "forward", "look_at_25", "torch_dynamo_resume_in_", "torch_dynamo_resume_in_forward",
        "torch_dynamo_resume_in_forward_at_", "torch_dynamo_resume_in_forward_at_x", "torch_dynamo_resume_in_at_2"}) {
    CAPTURE(name);
    CHECK(resumed_function(name) == name);
  }
}

}  // namespace synctrace::testing
