// SPDX-License-Identifier: Apache-2.0
// Generated runs loaded and explained, for tests. Every explanation is checked for the invariants on the way.
#pragma once

#include <stdexcept>
#include <utility>

#include "attribution/attribute.h"
#include "model/load_trace.h"
#include "support/generator/accuracy.h"
#include "support/generator/trace.h"

namespace synctrace::testing::generator {

inline Trace load_generated(const Program& program, const Run& run, const Recording& recording = {}) {
  Result<Trace> loaded = load_trace_bytes(trace_of(program, run, recording), "generated.synctrace");
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return std::move(loaded).value();
}

// Makes the trace look recorded by CUPTI, which took a part of the time in it.
inline Trace of_real_recorder(Trace trace) {
  trace.facts["cupti_version"] = "130001";
  trace.facts.erase("simulated");
  return trace;
}

inline Attribution explain_generated(const Trace& trace) {
  AttributeOptions options;
  options.keep_parts = true;
  Attribution attribution = attribute(trace, options);
  if (!attribution.breaches.empty()) throw std::logic_error(attribution.breaches.front());
  return attribution;
}

}  // namespace synctrace::testing::generator
