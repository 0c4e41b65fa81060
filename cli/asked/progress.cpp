// SPDX-License-Identifier: Apache-2.0
#include "asked/progress.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "run/trace_manifest.h"

namespace synctrace::cli {
namespace {

constexpr std::int64_t kPatienceNs = 1'000'000'000;
constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.@";

}  // namespace

Progress::Progress(bool wanted, std::size_t count)
    : shown_(wanted && ::isatty(STDERR_FILENO) == 1), count_(count), begin_ns_(monotonic_ns()) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::next(std::string_view what, std::string_view path) {
  ++number_;
  again(what, path);
}

void Progress::again(std::string_view what, std::string_view path) {
  if (!shown_ || monotonic_ns() - begin_ns_ < kPatienceNs) return;
  const std::string name = std::string(path.substr(path.rfind('/') + 1)).substr(0, 40);
  std::fprintf(stderr, "\r\x1b[Ksynctrace: %.*s %zu of %zu", static_cast<int>(what.size()), what.data(), number_,
               count_);
  if (name.find_first_not_of(kPlain) == std::string::npos) std::fprintf(stderr, " (%s)", name.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace synctrace::cli
