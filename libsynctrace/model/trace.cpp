// SPDX-License-Identifier: Apache-2.0
#include "model/trace.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace synctrace {
namespace {

bool is_before(const LaunchFailure& a, const LaunchFailure& b) noexcept {
  return std::tie(a.begin_ns, a.thread, a.correlation) < std::tie(b.begin_ns, b.thread, b.correlation);
}

}  // namespace

std::string_view fact(const Trace& trace, std::string_view key, std::string_view otherwise) noexcept {
  const auto found = trace.facts.find(key);
  return found == trace.facts.end() ? otherwise : std::string_view(found->second);
}

std::string_view source_text(const Trace& trace, const ResolvedFrame& frame) {
  if (frame.file.empty() || frame.line == 0) return {};
  const auto found = trace.source_lines.find({frame.file, frame.line});
  return found == trace.source_lines.end() ? std::string_view() : std::string_view(found->second);
}

std::string api_name(const Trace& trace, ApiId api) {
  const auto found = trace.apis.find(api);
  if (found != trace.apis.end() && !found->second.name.empty()) return found->second.name;
  return "api " + std::to_string(number(api));
}

bool in_window(const Trace& trace, TimeSpan span) noexcept {
  const auto after = std::upper_bound(trace.windows.begin(), trace.windows.end(), span.begin_ns,
                                      [](Nanoseconds t, const Window& window) { return t < window.span.begin_ns; });
  return after != trace.windows.begin() && span.end_ns <= std::prev(after)->span.end_ns;
}

std::uint32_t status_of(const Trace& trace, const Launch& launch) noexcept {
  const LaunchFailure wanted{launch.span.begin_ns, launch.thread, launch.correlation, 0};
  const auto found = std::lower_bound(trace.launch_failures.begin(), trace.launch_failures.end(), wanted, is_before);
  return found == trace.launch_failures.end() || is_before(wanted, *found) ? 0 : found->status;
}

void sort_failures(Trace& trace) {
  std::stable_sort(trace.launch_failures.begin(), trace.launch_failures.end(), is_before);
}

StreamRole role_of(const Trace& trace, StreamKey key) noexcept {
  StreamRole role;
  const auto stream = trace.streams.find(key);
  const auto context = trace.contexts.find(key.context);
  if (stream != trace.streams.end()) {
    role.legacy_default = (stream->second.flags & format::Stream::kDefault) != 0;
    role.blocking = (stream->second.flags & format::Stream::kNonBlocking) == 0;
  }
  if (context != trace.contexts.end() && number(key.stream) != 0 && context->second.null_stream == key.stream) {
    role.legacy_default = true;
  }
  return role;
}

}  // namespace synctrace
