// SPDX-License-Identifier: Apache-2.0
#include "standard_streams.h"

#include <fcntl.h>

#include <cstdio>

namespace synctrace::cli {

void reserve_standard_streams() noexcept {
  for (int stream = 0; stream <= 2; ++stream) {
    // open() takes the lowest number that is free, which is this one: those below it are taken by now.
    if (fcntl(stream, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDWR | O_CLOEXEC));
  }
}

void say(std::string_view who, std::string_view sentence) noexcept {
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(who.size()), who.data(), static_cast<int>(sentence.size()),
               sentence.data());
}

}  // namespace synctrace::cli
