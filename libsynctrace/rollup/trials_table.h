// SPDX-License-Identifier: Apache-2.0
// The table `trials` of a dataset: what trials of `synctrace try` found, beside what was predicted.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "rollup/parquet_writer.h"
#include "trial/trial_record.h"

namespace synctrace {

// Where it lies, relative to the dataset. It follows from the first row, so that a record which has grown takes its own
// file's place. There is a row at least.
std::string trials_path(std::span<const TrialRow> rows, std::string_view job);

void write_trials(std::span<const TrialRow> rows, const ByteSink& sink);

}  // namespace synctrace
