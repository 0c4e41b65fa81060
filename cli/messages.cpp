// SPDX-License-Identifier: Apache-2.0
// The only file that sees spdlog: its templates cost seconds of compiling.
#include "messages.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/shown_text.h"

namespace synctrace::cli {
namespace {

spdlog::level::level_enum lowest_level = spdlog::level::info;

// Not spdlog's registry and its default logger: those would write to stdout.
const std::shared_ptr<spdlog::sinks::sink>& standard_error() {
  static const std::shared_ptr<spdlog::sinks::sink> sink = [] {
    auto made = std::make_shared<spdlog::sinks::stderr_sink_st>();
    made->set_pattern("%n: %v");
    return made;
  }();
  return sink;
}

// Paths, keys and names in a message are somebody's texts.
std::string shown_lines(std::string_view text) {
  std::string shown;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    shown += printable(text.substr(0, end)) + '\n';
    text.remove_prefix(end + 1);
  }
  return shown + printable(text);
}

void put(spdlog::level::level_enum level, std::string_view who, std::string_view sentence) noexcept {
  try {
    spdlog::logger speaker(std::string(who), standard_error());
    speaker.set_level(lowest_level);
    const std::string shown = shown_lines(sentence);
    speaker.log(level, spdlog::string_view_t(shown.data(), shown.size()));
  } catch (const std::exception&) {  // out of memory, which must be said all the same
    std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(who.size()), who.data(), static_cast<int>(sentence.size()),
                 sentence.data());
  }
}

}  // namespace

void set_verbosity(Verbosity verbosity) noexcept {
  switch (verbosity) {
    case Verbosity::kWarnings: lowest_level = spdlog::level::warn; break;
    case Verbosity::kNotes: lowest_level = spdlog::level::info; break;
    case Verbosity::kDetails: lowest_level = spdlog::level::debug; break;
  }
}

namespace say {

void error(std::string_view who, std::string_view sentence) noexcept { put(spdlog::level::err, who, sentence); }
void warn(std::string_view who, std::string_view sentence) noexcept { put(spdlog::level::warn, who, sentence); }
void info(std::string_view who, std::string_view sentence) noexcept { put(spdlog::level::info, who, sentence); }
void debug(std::string_view who, std::string_view sentence) noexcept { put(spdlog::level::debug, who, sentence); }

}  // namespace say
}  // namespace synctrace::cli
