// SPDX-License-Identifier: Apache-2.0
// The folders whose files a trace may have shown, without being asked for one by one.
#pragma once

#include <optional>
#include <string>

namespace synctrace::cli {

// The current folder, or "." when it is gone.
std::string current_folder();

// The nearest folder with .git, from the current one up.
std::optional<std::string> folder_with_git();

// Whether the folder holds more than a project does: it is /, a home folder, or above one.
bool holds_a_home(const std::string& folder);

// That with .git, or else the current one; none where that holds a home.
std::optional<std::string> usual_source_root();

}  // namespace synctrace::cli
