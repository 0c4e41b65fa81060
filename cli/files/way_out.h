// SPDX-License-Identifier: Apache-2.0
// What to type for a file that a command cannot take: the file itself tells what it is, and so which command it is for.
#pragma once

#include <string>

namespace synctrace::cli {

// Appended to a sentence that names the file: "; it is a program: synctrace run -- python3 train.py".
std::string way_out(const std::string& path);

// The same for a file that is no program, and nothing where the file does not tell: "; it is a trace: ...".
std::string what_it_is(const std::string& path);

// Whether the file is a recording of ours.
bool is_recording(const std::string& path);

// The file of the same folder and ending whose name is nearest; empty: none is near.
std::string nearest_file(const std::string& path);

// "no *.synctrace file in results; ...": where a folder stands for its traces.
std::string no_traces_in(const std::string& folder);

// "no tables in data; ...": where a folder stands for a dataset.
std::string no_tables_in(const std::string& dataset);

}  // namespace synctrace::cli
