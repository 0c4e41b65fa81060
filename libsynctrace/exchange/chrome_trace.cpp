// SPDX-License-Identifier: Apache-2.0
#include "exchange/chrome_trace.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "exchange/chrome_events.h"
#include "exchange/chrome_names.h"
#include "exchange/chrome_rows.h"
#include "model/wall_clock.h"

namespace synctrace {
namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional(value) : std::nullopt;
}

void write_devices(const Trace& trace, chrome::TextBlocks& out) {
  out.add("\"deviceProperties\": [");
  bool first = true;
  for (const auto& [id, device] : trace.devices) {
    out.add(
        "{}\n  {{\"id\": {}, \"name\": {}, \"totalGlobalMem\": {}, \"computeMajor\": {}, \"computeMinor\": {}, "
        "\"numSms\": {}, \"uuid\": {}}}",
        first ? "" : ",", number(id), chrome::quoted(device.name), device.memory_bytes, device.capability_major,
        device.capability_minor, device.multiprocessors, chrome::quoted(device.uuid));
    first = false;
  }
  out.add("],\n");
}

// HTA finds the rank by a line with `"rank": N`, the blank included.
void write_rank(const Trace& trace, chrome::TextBlocks& out) {
  const auto rank = number_of(fact(trace, "rank"));
  if (!rank) return;
  const auto world_size = number_of(fact(trace, "world_size"));
  out.add("\"distributedInfo\": {{\"rank\": {}", *rank);
  if (world_size) out.add(", \"world_size\": {}", *world_size);
  if (!trace.collectives.empty()) out.add(", \"backend\": \"nccl\"");
  out.add("}},\n");
}

}  // namespace

struct ChromeTrace::State {
  State(ExportOptions with, TextSink sink) : options(std::move(with)), shared(std::move(sink)) {}
  ExportOptions options;
  chrome::Shared shared;
  bool begun = false;
  bool simulated = false;
};

ChromeTrace::ChromeTrace(ExportOptions options, TextSink sink)
    : state_(std::make_unique<State>(std::move(options), std::move(sink))) {}

ChromeTrace::~ChromeTrace() = default;

void ChromeTrace::add(const Trace& trace, const RankLane* rank) {
  chrome::TextBlocks& out = state_->shared.out;
  if (!state_->begun) {
    out.add("{{\n\"schemaVersion\": 1,\n");
    if (!state_->options.several) {
      write_devices(trace, out);
      write_rank(trace, out);
      // What the trace's own clock showed at zero: joins the result with a report of the same trace. Aligned with
      // another rank's clock there is no such moment: the two drift.
      if (rank == nullptr || rank->clock.is_identity())
        out.add("\"baseTimeMonotonicNanoseconds\": {},\n",
                state_->options.base_ns - (rank == nullptr ? clock_lead_ns(trace) : rank->lead_ns));
    }
    out.add("\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": {},\n\"traceEvents\": [\n",
            state_->options.base_ns);
    state_->begun = true;
  }
  state_->simulated = state_->simulated || fact(trace, "simulated") == "1";
  chrome::write_events(trace, rank, state_->options, state_->shared);
}

std::optional<Error> ChromeTrace::finish() {
  chrome::TextBlocks& out = state_->shared.out;
  out.add("\n],\n\"simulated\": {},\n\"recordedBy\": \"synctrace\",\n\"traceName\": {}\n}}\n", state_->simulated,
          chrome::quoted(state_->options.name));
  out.flush();
  return std::nullopt;
}

}  // namespace synctrace
