// SPDX-License-Identifier: Apache-2.0
// Stack profiles in the formats of flame graphs. Names may hold any bytes; the results are valid all the same.
#pragma once

#include <span>
#include <string>

#include "exchange/exporter.h"
#include "model/stack_profile.h"

namespace synctrace {

// flamegraph.pl's lines, "outer;inner;leaf 123": one measure. With several processes each begins with its name.
void write_folded(std::span<const StackProfile> profiles, Measure measure, const TextSink& sink);

// speedscope's JSON: a profile for each process and each measure that has anything.
void write_speedscope(std::span<const StackProfile> profiles, const std::string& name, const TextSink& sink);

// pprof's protobuf, packed by gzip: all measures as values of one sample, the process as a label.
void write_pprof(std::span<const StackProfile> profiles, const TextSink& sink);

}  // namespace synctrace
