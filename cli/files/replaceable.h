// SPDX-License-Identifier: Apache-2.0
// Which file an output may take the place of, for all verbs: one that is recognisably the same output of ours, one
// that is empty, and what is no regular file. Everything else stays, recordings first of all, unless the user says -f.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "command_line.h"

namespace synctrace::cli {

struct OutputFile {
  std::string path;         // empty or "-": stdout
  std::string kind;         // "report json", "gate sarif", "page": as in replaceable.cpp; of others nothing is replaced
  std::string_view option;  // that named it, for the sentence
};

void declare_force_overwrite(const CommandLine& app, bool& force);

// Why it must not be written, as a sentence. One of `inputs` is refused with `force` too.
std::optional<Error> refuse_to_replace(const OutputFile& output, bool force, std::span<const std::string> inputs = {});

}  // namespace synctrace::cli
