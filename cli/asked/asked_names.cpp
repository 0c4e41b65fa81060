// SPDX-License-Identifier: Apache-2.0
#include "asked/asked_names.h"

#include <optional>

#include "asked/progress.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

// Calls `name` with the options that say what is under way.
template <class Name>
auto spoken(const AskedNames& asked, Name name) {
  std::optional<Progress> progress;
  NameOptions how = asked.how;
  how.next_file = [&](const std::string& path, std::size_t of) {
    if (!progress) progress.emplace(asked.progress, of);
    progress->next("looking up names, file", path);
  };
  how.lacks = [](const std::string& path, std::string_view loss) {
    say::debug("synctrace", path + ": " + std::string(loss) + ".");
  };
  return name(how);
}

}  // namespace

void AskedNames::add_to(Trace& trace) const {
  if (!none) spoken(*this, [&](const NameOptions& options) { return add_names(trace, options); });
}

Result<NamesStored> AskedNames::store_in(const std::string& path) const {
  return spoken(*this, [&](const NameOptions& options) { return store_names(path, options); });
}

}  // namespace synctrace::cli
