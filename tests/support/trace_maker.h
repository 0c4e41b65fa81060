// SPDX-License-Identifier: Apache-2.0
// Traces for tests of the offline half, made of records and loaded through the real writer and reader. One process, one
// thread, one device, one context with the legacy default stream 7.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "attribution/attribute.h"
#include "format/records.h"
#include "model/load_trace.h"
#include "support/trace_builder.h"

namespace synctrace::testing {

inline constexpr ThreadId kThread{100};
inline constexpr ContextId kContext{1};
inline constexpr StreamId kNullStream{7};
inline constexpr StreamId kStream{13};

// CUDA's name and category of a function, and its number in these tests.
struct TestApi {
  ApiId id{};
  format::ApiCategory category{};
  std::string_view name;
};

class TraceMaker {
 public:
  TraceMaker() {
    builder_.schemas();
    add(format::Context{kContext, DeviceId{0}, kNullStream});
    add(format::Stream{kContext, kNullStream, format::Stream::kDefault, 0});
  }

  template <class Record>
  void add(const Record& record) {
    builder_.add(record);
  }

  void add_stream(StreamId stream, std::uint32_t flags) { add(format::Stream{kContext, stream, flags, 0}); }
  void add_api(const TestApi& api) { add(format::ApiName{api.id, api.category, api.name}); }
  void add_window(Nanoseconds begin_ns, Nanoseconds end_ns, std::string_view reason = "start") {
    add(format::Window{begin_ns, 1, reason});
    add(format::Window{end_ns, 0, "exit"});
  }

  // A launch and the kernel that comes of it.
  void add_kernel(TimeSpan kernel, StreamId stream, Nanoseconds issued_ns, std::uint32_t correlation) {
    format::Launch launch;
    launch.thread = kThread;
    launch.begin_ns = issued_ns;
    launch.duration_ns = 4'000;
    launch.correlation = CorrelationId{correlation};
    add(launch);
    format::Kernel record;
    record.begin_ns = kernel.begin_ns;
    record.duration_ns = static_cast<std::uint64_t>(kernel.length_ns());
    record.context = kContext;
    record.stream = stream;
    record.correlation = CorrelationId{correlation};
    add(record);
  }

  format::Call make_call(const TestApi& api, TimeSpan span, StreamId stream, std::uint32_t correlation) const {
    format::Call call;
    call.thread = kThread;
    call.begin_ns = span.begin_ns;
    call.duration_ns = static_cast<std::uint64_t>(span.length_ns());
    call.api = api.id;
    call.correlation = CorrelationId{correlation};
    call.context = kContext;
    call.stream = stream;
    return call;
  }

  // The trace so far as tables.
  Trace load() {
    Result<Trace> loaded = load_trace_bytes(builder_.bytes(), "test.synctrace");
    if (!loaded) throw std::runtime_error(loaded.error().message);
    return std::move(loaded).value();
  }

 private:
  TraceBuilder builder_;
};

// The parts of the window that a device's states make up add up to the window, and the causes to the idle time,
// whatever the trace.
inline bool adds_up(const Attribution& attribution) {
  if (!attribution.breaches.empty()) return false;
  for (const auto& [id, state] : attribution.devices) {
    if (state.compute_ns + state.copy_only_ns + state.idle_ns != state.window_ns) return false;
    if (state.compute_ns < 0 || state.copy_only_ns < 0 || state.idle_ns < 0) return false;
  }
  return true;
}

}  // namespace synctrace::testing
