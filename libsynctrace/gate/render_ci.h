// SPDX-License-Identifier: Apache-2.0
// The gate's result in the formats of code hosts and build servers. Each function escapes every text for its format:
// names come from the program under test and may hold quotes, line ends, control characters and broken UTF-8.
#pragma once

#include <string>

#include "gate/gate.h"

namespace synctrace {

// SARIF 2.1.0, as GitHub's code scanning takes it. `all`: also what is allowed or in the baseline, as suppressed.
std::string render_sarif(const GateResult& result, bool all);

// JUnit XML: one test case for each place, failed, skipped (allowed, in the baseline) or passed.
std::string render_junit(const GateResult& result);

// GitLab's code quality report.
std::string render_gitlab(const GateResult& result);

// GitHub's workflow commands: the first ten of each level, since GitHub shows no more.
std::string render_github(const GateResult& result);

// For a step summary, or a comment on a pull request.
std::string render_gate_markdown(const GateResult& result);

// Everything, for scripts.
std::string render_gate_json(const GateResult& result);

}  // namespace synctrace
