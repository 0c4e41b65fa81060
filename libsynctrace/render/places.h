// SPDX-License-Identifier: Apache-2.0
// Places in the source, as each output has room for them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "findings/report/report.h"

namespace synctrace {

// " (through barrier, util.h:12)" where a helper waits for the line that calls it, ":12" in the same file. Else
// nothing.
std::string through_words(const SourceLine& where);
// The text of the line and the helper, cut to fit: "r = read(x) (through read, util.h:12)".
std::string source_words(const SourceLine& where, std::size_t columns);
// "src/train.py:88", from the folder that the program was started in; where no file is known, the function.
std::string place_text(const Report& report, const SourceLine& where);
// "src/train.py:88 in train_step", the path cut from the left to fit. The helper stands behind it where there is room.
std::string place_words(const Report& report, const SourceLine& where, std::size_t columns);
// "train.py:88 in train_step", for several programs in several folders; empty: not known.
std::string job_place(const SourceLine& where);

// Paths as a first screen shows them: relative to the folder of the program's own script, where that is known, or else
// to the one that it was started in.
class ScreenPlaces {
 public:
  explicit ScreenPlaces(const Report& report);

  // "train.py:88", the path shortened in its middle; where no file is known, the function.
  std::string of(const SourceLine& where, std::size_t columns) const;
  std::string of(const ShownFix& fix, std::size_t columns) const;
  std::string file(std::string_view path) const;
  std::string moved_to(std::string_view place) const;  // `place`: SavingReport::moves_to

 private:
  std::string working_folder_;
  std::string script_folder_;
};

}  // namespace synctrace
