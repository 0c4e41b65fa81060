// SPDX-License-Identifier: Apache-2.0
// What a command says of a file that it has written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace synctrace::cli {

// "wrote page.html (1.2 MiB); open it in a browser." Says nothing of stdout, pipes and devices.
void say_written(std::string_view who, const std::vector<std::string>& paths, std::string_view then = {});

}  // namespace synctrace::cli
