// SPDX-License-Identifier: Apache-2.0
// The programs on this machine that were started with `run --dormant` by this user, and what is said to them
// (contract/live_messages.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace::cli {

struct DormantProcess {
  int pid = 0;
  std::string socket;
  std::string status;  // its answer to "status"

  std::string value(std::string_view key) const;
};

// In order of their numbers. The names of sockets whose processes are gone are removed. A process that does not answer
// within two seconds is there with an empty status.
std::vector<DormantProcess> dormant_processes();

bool is_living_process(const std::string& who);

// Whether it is one that was started dormant, and so will wait for requests once it uses a GPU.
bool is_started_dormant(const std::string& who);

// The processes that `who` means: a process, all below a launcher, or all of a job by the name that its launcher gave.
// Empty, with a sentence that says what to do, where there is none.
std::vector<DormantProcess> named_processes(const std::string& who, std::string& problem);

// Sends to each at once what `request` makes for it, and waits for all answers; one that did not come is empty.
std::vector<std::string> ask_all(std::span<const DormantProcess> processes, std::string_view request, int patience_ms);

// "key value" lines for a request.
std::string line_of(std::string_view key, std::string_view value);

}  // namespace synctrace::cli
