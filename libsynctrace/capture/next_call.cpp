// SPDX-License-Identifier: Apache-2.0
#include "capture/next_call.h"

#include <dlfcn.h>

namespace synctrace::capture {
namespace {

thread_local __attribute__((tls_model("initial-exec"))) bool is_searching = false;

}  // namespace

void* find_next(NextSymbol& symbol) noexcept {
  void* known = symbol.address.load(std::memory_order_relaxed);
  if (known != nullptr || is_searching) return known;
  is_searching = true;
  const int saved_errno = errno;
  void* found = dlvsym(RTLD_NEXT, symbol.name, symbol.version);
  if (found == nullptr) {
    // An older C library had the function under another version. The program asked for no version of its own making:
    // the reason for the failure must not be what its next dlerror() says.
    found = dlsym(RTLD_NEXT, symbol.name);
    dlerror();
  }
  errno = saved_errno;
  is_searching = false;
  symbol.address.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace synctrace::capture
