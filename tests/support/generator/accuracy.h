// SPDX-License-Identifier: Apache-2.0
// How much of a run's idle and copy-only time an analysis explains as it truly was: cause and place, weighted by time.
#pragma once

#include <map>
#include <string>

#include "attribution/attribute.h"
#include "support/generator/run.h"

namespace synctrace::testing::generator {

struct Accuracy {
  Nanoseconds total_ns = 0;
  Nanoseconds right_ns = 0;
  Nanoseconds sure_ns = 0;        // named with high confidence
  Nanoseconds sure_wrong_ns = 0;  // and wrong
  // "truth -> answer" of what was wrong, by time; and of that of high confidence.
  std::map<std::string, Nanoseconds> confusion;
  std::map<std::string, Nanoseconds> sure_confusion;

  double percent() const { return 100.0 * static_cast<double>(right_ns) / static_cast<double>(total_ns); }
  void add(const Accuracy& other);
  std::string worst(std::size_t rows) const { return worst_of(confusion, rows); }
  std::string worst_sure(std::size_t rows) const { return worst_of(sure_confusion, rows); }

 private:
  static std::string worst_of(const std::map<std::string, Nanoseconds>& pairs, std::size_t rows);
};

// The stack of a record; none of a stretch, which is between two.
StackId stack_of(const Trace& trace, Owner owner);

// `shift_ns` is that of the recording: truth is compared after moving it.
Accuracy accuracy_of(const Program& program, const Run& run, const Trace& trace, const Attribution& attribution,
                     Nanoseconds shift_ns = 0);

}  // namespace synctrace::testing::generator
