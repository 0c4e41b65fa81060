// SPDX-License-Identifier: Apache-2.0
#include "files/standard_streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

namespace synctrace::cli {

void reserve_standard_streams() noexcept {
  for (int stream = 0; stream <= 2; ++stream) {
    // open() takes the lowest number that is free, which is this one: those below it are taken by now.
    if (fcntl(stream, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDWR | O_CLOEXEC));
  }
}

bool wants_colour(std::FILE* out) noexcept {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return isatty(fileno(out)) == 1 && (no_colour == nullptr || *no_colour == '\0') && !dumb;
}

std::size_t columns_of_terminal(std::FILE* out) noexcept {
  if (const char* set = std::getenv("COLUMNS"); set != nullptr) {
    std::size_t columns = 0;
    const char* end = set + std::strlen(set);
    if (const auto [stop, failed] = std::from_chars(set, end, columns);
        failed == std::errc{} && stop == end && columns > 0)
      return columns;
  }
  winsize size{};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kPlainColumns;
}

}  // namespace synctrace::cli
