// SPDX-License-Identifier: Apache-2.0
#include "capture/process/environment_copy.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <functional>

namespace synctrace::capture {

void EnvironmentCopy::take(char** environment) noexcept {
  originals_ = environment;
  std::size_t count = 0;
  std::size_t text_bytes = 0;
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry, ++count)
    text_bytes += std::strlen(*entry) + 1;
  if (count == 0) return;
  const std::size_t pointer_bytes = (count + 1) * sizeof(const char*);
  void* memory = mmap(nullptr, pointer_bytes + text_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  copies_ = static_cast<const char**>(memory);
  char* text = static_cast<char*>(memory) + pointer_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = std::strlen(environment[i]) + 1;
    std::memcpy(text, environment[i], bytes);
    copies_[i] = text;
    text += bytes;
  }
}

// Right behind take(): the originals are as they were.
const char* EnvironmentCopy::kept(const char* text) const noexcept {
  for (std::size_t i = 0; copies_ != nullptr && copies_[i] != nullptr; ++i) {
    const char* begin = originals_[i];
    const std::size_t bytes = std::strlen(copies_[i]) + 1;
    if (std::greater_equal<>{}(text, begin) && std::less<>{}(text, begin + bytes)) return copies_[i] + (text - begin);
  }
  return text;
}

}  // namespace synctrace::capture
