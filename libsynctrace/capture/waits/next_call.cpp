// SPDX-License-Identifier: Apache-2.0
#include "capture/waits/next_call.h"

#include <dlfcn.h>

namespace synctrace::capture {
namespace {

thread_local __attribute__((tls_model("initial-exec"))) bool is_searching = false;

bool are_of_one_library(void* a, void* b) noexcept {
  Dl_info library_of_a;
  Dl_info library_of_b;
  return dladdr(a, &library_of_a) != 0 && dladdr(b, &library_of_b) != 0 &&
         library_of_a.dli_fbase == library_of_b.dli_fbase;
}

// The program's call would go to the first library that defines the name, in this version or without versions. The
// loader offers no such question: one look-up knows only exact versions, the other takes the default version of a
// library or a definition without one. Where they differ, the library that is not the C library stands before it.
void* search(const NextSymbol& symbol) noexcept {
  void* exact = dlvsym(RTLD_NEXT, symbol.name, symbol.version);
  if (exact != nullptr && symbol.use == VersionUse::kOldPrograms) return exact;
  void* first = dlsym(RTLD_NEXT, symbol.name);
  // An older C library had the function under another version. That a look-up failed must not be what the program's
  // next dlerror() says.
  if (exact == nullptr) dlerror();
  if (exact == nullptr || first == nullptr || first == exact) return first == nullptr ? exact : first;
  return are_of_one_library(first, exact) ? exact : first;
}

}  // namespace

void* find_next(NextSymbol& symbol) noexcept {
  void* known = symbol.address.load(std::memory_order_relaxed);
  if (known != nullptr || is_searching) return known;
  is_searching = true;
  const int saved_errno = errno;
  void* found = search(symbol);
  errno = saved_errno;
  is_searching = false;
  symbol.address.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace synctrace::capture
