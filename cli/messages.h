// SPDX-License-Identifier: Apache-2.0
// All that the command line says beside its results: lines on stderr, "who: sentence", where `who` is the command as
// typed ("synctrace report"). One level decides what is said. Used by the main thread alone; a closed, full or broken
// stderr loses the line and changes nothing else.
#pragma once

#include <cstdint>
#include <string_view>

namespace synctrace::cli {

enum class Verbosity : std::uint8_t {
  kWarnings,  // and errors
  kNotes,     // and where the trace is, what was done: the default
  kDetails,   // and what an expert wants to see when something does not work
};
void set_verbosity(Verbosity verbosity) noexcept;

namespace say {

void error(std::string_view who, std::string_view sentence) noexcept;  // cannot do what was asked
void warn(std::string_view who, std::string_view sentence) noexcept;   // does it, but not as one would expect
void info(std::string_view who, std::string_view sentence) noexcept;
void debug(std::string_view who, std::string_view sentence) noexcept;

}  // namespace say
}  // namespace synctrace::cli
