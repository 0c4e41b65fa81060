// SPDX-License-Identifier: Apache-2.0
// Gives the stacks of a trace their names and source text, on the machine that has the files, and writes them down as
// records, so that the trace needs neither afterwards. In two halves: what is asked of one file is a value, and so is
// the answer, because files that nobody has checked are read in a process of their own (add_names.cpp).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/source_roots.h"
#include "format/record_buffer.h"
#include "model/load_stats.h"
#include "model/trace.h"
#include "names/symbolize.h"

namespace synctrace {

// The addresses without a name in one file; a file that was mapped several times is several modules.
struct ModuleQuestions {
  NativeModule module;
  std::vector<CodeAddress> addresses;  // each once
};

// All files that some stack goes through, by path.
std::vector<ModuleQuestions> unnamed_addresses(const Trace& trace);

// Reads the file. The answer is a trace of symbol and loss records; total on hostile files, as far as elfutils is.
std::vector<std::byte> look_up(const ModuleQuestions& questions, const SymbolizeOptions& options);

// Takes an answer over into the trace, and what it lacks into `losses`. False when it is no answer.
bool take_answer(std::vector<std::byte> answer, const ModuleQuestions& questions, Trace& trace, LoadStats& losses);

// Reads the text of every source line that a frame of a stack names, at most kMostSourceLines of them, in files that
// `roots` allow.
void read_source_lines_of(Trace& trace, const SourceRoots& roots, LoadStats& losses);
inline constexpr std::size_t kMostSourceLines = 100'000;

// Whether the trace has been through all this before it was stored.
bool has_names(const Trace& trace) noexcept;

// The records that make a trace without names equal to this one: symbols, source lines, `losses`, and the mark that
// has_names() looks for.
void write_names(const Trace& trace, const LoadStats& losses, format::RecordBuffer& out);

}  // namespace synctrace
