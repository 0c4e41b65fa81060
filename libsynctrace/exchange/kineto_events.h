// SPDX-License-Identifier: Apache-2.0
// The JSON of Chrome's trace viewer as PyTorch's Kineto writes it, event by event: text -> values, without a judgement.
// Any JSON will do; what has another type than it should is as if it were not there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "exchange/text_input.h"
#include "model/trace.h"

namespace synctrace {

// One entry of traceEvents. Times are ns from the file's base on.
struct KinetoEvent {
  std::string phase;
  std::string category;
  std::string name;
  std::optional<std::int64_t> process;
  std::optional<std::int64_t> thread;
  std::optional<Nanoseconds> begin_ns;
  std::optional<Nanoseconds> duration_ns;
  std::optional<std::int64_t> id;
  // From the args of the event.
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> device;
  std::optional<std::int64_t> context;
  std::optional<std::int64_t> stream;
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> graph;
  std::optional<std::int64_t> callback_id;
  std::string label;  // the name that a metadata event gives
};

// What the file says of itself.
struct KinetoHead {
  std::optional<Nanoseconds> base_ns;            // wall-clock time of its 0
  std::optional<Nanoseconds> base_monotonic_ns;  // the same on the clock of the trace: our own exports
  std::map<std::string, std::string> facts;      // rank, world_size, simulated
  std::map<DeviceId, Device> devices;
  std::uint64_t events = 0;
  std::uint64_t events_left_out = 0;  // with times that cannot be
};

// `take` gets the events in file order and may stop the reading with an Error. `name` stands for the file in messages.
using KinetoSink = std::function<std::optional<Error>(const KinetoEvent&)>;
std::optional<Error> read_kineto(TextInput& input, const std::string& name, KinetoHead& head, const KinetoSink& take);

}  // namespace synctrace
