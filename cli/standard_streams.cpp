// SPDX-License-Identifier: Apache-2.0
#include "standard_streams.h"

#include <fcntl.h>

namespace synctrace::cli {

void reserve_standard_streams() noexcept {
  for (int stream = 0; stream <= 2; ++stream) {
    // open() takes the lowest number that is free, which is this one: those below it are taken by now.
    if (fcntl(stream, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDWR | O_CLOEXEC));
  }
}

}  // namespace synctrace::cli
