// SPDX-License-Identifier: Apache-2.0
// Whether and how a command gives names to stacks, with what it says meanwhile.
#pragma once

#include <string>

#include "names/add_names.h"

namespace synctrace::cli {

struct AskedNames {
  bool none = false;     // --no-symbols
  bool progress = true;  // a line on a terminal when it takes more than a second
  NameOptions how;

  void add_to(Trace& trace) const;
  Result<NamesStored> store_in(const std::string& path) const;
};

}  // namespace synctrace::cli
