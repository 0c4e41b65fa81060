// SPDX-License-Identifier: Apache-2.0
// What a command asks of every recording that it opens, and whom the room tells meanwhile. What is told is told on the
// thread that asked; functions may be empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "findings/findings.h"

namespace synctrace {

enum class Stage : std::uint8_t { kReading, kExplaining, kPredicting, kDrawing };

struct Asking {
  UserCode user_code;
  StepQuestion steps;
  std::function<void(Trace&)> add_names;  // empty: none are asked for

  std::function<void(std::size_t count)> begins;  // so many recordings are opened one after the other
  std::function<void(Stage stage, const std::string& path)> is_at;
  std::function<void()> ended;
  std::function<void(const std::string& path, const Error& error)> cannot_read;

  void tell(Stage stage, const std::string& path) const {
    if (is_at) is_at(stage, path);
  }
};

}  // namespace synctrace
