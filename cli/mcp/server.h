// SPDX-License-Identifier: Apache-2.0
// Lines of a client in, answers out, one tool at a time. A tool is a child, so that what a hostile file does to it
// ends with it; meanwhile other lines are answered. One thread.
#pragma once

#include <string>

namespace synctrace::cli {

// Until the client closes its end and all that it asked is answered. The exit status. `executable`: of this command;
// `folder`: as in Session.
int serve(const std::string& executable, const std::string& folder, int in, int out);

}  // namespace synctrace::cli
