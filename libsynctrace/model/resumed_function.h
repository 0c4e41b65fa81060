// SPDX-License-Identifier: Apache-2.0
// torch.compile runs the rest of a function behind a graph break as a function of its own, with the file and lines of
// the first: torch_dynamo_resume_in_forward_at_25. A reader knows it by the name in their source.
#pragma once

#include <string>
#include <string_view>

namespace synctrace {

// "Net.forward" for "Net.torch_dynamo_resume_in_forward_at_25", and any other name as it is. Named so since
// PyTorch 2.0.
std::string resumed_function(std::string_view function);

}  // namespace synctrace
