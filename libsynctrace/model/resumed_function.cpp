// SPDX-License-Identifier: Apache-2.0
#include "model/resumed_function.h"

namespace synctrace {

std::string resumed_function(std::string_view function) {
  constexpr std::string_view kBegin = "torch_dynamo_resume_in_";
  constexpr std::string_view kEnd = "_at_";
  std::string name(function);
  for (std::size_t begin = name.find(kBegin); begin != std::string::npos; begin = name.find(kBegin)) {
    const std::size_t end = name.rfind(kEnd);
    const bool has_line = end != std::string::npos && end >= begin + kBegin.size() && end + kEnd.size() < name.size() &&
                          name.find_first_not_of("0123456789", end + kEnd.size()) == std::string::npos;
    if (!has_line) break;
    name.erase(end);
    name.erase(begin, kBegin.size());
  }
  return name;
}

}  // namespace synctrace
