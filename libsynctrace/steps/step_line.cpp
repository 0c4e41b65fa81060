// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>
#include <string>

#include "steps/step_candidates.h"
#include "steps/step_events.h"

namespace synctrace {
namespace {

bool is_file(std::string_view path, std::string_view file) {
  if (!path.ends_with(file)) return false;
  return path.size() == file.size() || path[path.size() - file.size() - 1] == '/';
}

}  // namespace

Steps steps_by_line(const Trace& trace, std::string_view file, std::uint32_t line) {
  StepEvents events(trace);
  std::map<StackId, std::optional<std::size_t>> depths;  // at which a stack is at the line
  const auto depth_of = [&](StackId stack) {
    const auto [entry, is_new] = depths.try_emplace(stack);
    for (std::size_t depth = 0; is_new && depth < events.spots(stack).size() && !entry->second; ++depth) {
      const ResolvedFrame frame = events.frame(stack, depth);
      if (frame.line == line && is_file(frame.file, file)) entry->second = depth;
    }
    return entry->second;
  };
  Steps result;
  std::vector<Nanoseconds> begins_ns;
  StackId first{};  // at the begin of the visit that is under way
  StackId last{};
  for (const StepEvents::Event& event : events.all()) {
    const auto depth = depth_of(event.stack);
    if (!depth) {
      // Away from the line, unless the function is only deeper in what it calls there.
      last = {};
      continue;
    }
    const auto& spots = events.spots(event.stack);
    const bool goes_on = number(last) != 0 && event.stack != first && depth_of(last) == depth &&
                         events.spots(last)[*depth].position <= spots[*depth].position;
    if (!goes_on) {
      begins_ns.push_back(event.time_ns);
      first = event.stack;
      if (result.name.empty()) {
        const ResolvedFrame frame = events.frame(event.stack, *depth);
        result.name = frame.function;
        result.where = {frame.file, line};
      }
    }
    last = event.stack;
  }
  if (begins_ns.size() < 2) return {};
  result.source = StepSource::kLine;
  for (std::size_t i = 0; i + 1 < begins_ns.size(); ++i) {
    if (begins_ns[i] < begins_ns[i + 1]) result.steps.push_back({{begins_ns[i], begins_ns[i + 1]}});
  }
  if (begins_ns.back() < trace.last_ns) result.steps.push_back({{begins_ns.back(), trace.last_ns}});
  return result;
}

}  // namespace synctrace
