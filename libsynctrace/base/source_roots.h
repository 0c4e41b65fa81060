// SPDX-License-Identifier: Apache-2.0
// Which files of this machine may be read because a trace names them. A trace is somebody's text: it can name a
// password as source, and a report of it can be passed on (docs/decisions/0021).
#pragma once

#include <string>
#include <vector>

namespace synctrace {

class SourceRoots {
 public:
  SourceRoots() = default;  // none

  // Every file: for a trace that was made here and now, by the one who reads it.
  static SourceRoots everywhere();

  // Allows all that lies below the folder; false, and nothing changes, when there is no such folder.
  bool add(const std::string& folder);

  // Allows all that the other allows.
  void add(const SourceRoots& other);

  bool is_everywhere() const noexcept { return everywhere_; }

  // The path by which to open the file, with all links followed, so that none leads out; empty when it is not allowed.
  // Below a folder no hidden file, and none in a hidden folder, is: those hold keys and tokens, and no code.
  std::string allowed(const std::string& path) const;

 private:
  bool everywhere_ = false;
  std::vector<std::string> folders_;  // real paths that end in '/'
};

}  // namespace synctrace
