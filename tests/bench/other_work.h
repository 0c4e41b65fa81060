// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace synctrace::bench {

// What lies between the callbacks of an eager program: an interpreter and a framework, which leave nothing of ours in
// the first level of the caches. `bytes` of data and as many of code are touched.
class OtherWork {
 public:
  explicit OtherWork(std::size_t bytes) : bytes_(bytes), data_(map()), code_(map()) {
#if defined(__x86_64__)
    constexpr std::uint32_t kReturn = 0xc3c3c3c3;
#elif defined(__aarch64__)
    constexpr std::uint32_t kReturn = 0xd65f03c0;
#endif
    for (std::size_t i = 0; i < bytes_; i += sizeof kReturn) std::memcpy(code_ + i, &kReturn, sizeof kReturn);
    if (mprotect(code_, bytes_, PROT_READ | PROT_EXEC) != 0) std::abort();
    __builtin___clear_cache(reinterpret_cast<char*>(code_), reinterpret_cast<char*>(code_ + bytes_));
  }
  ~OtherWork() {
    munmap(data_, bytes_);
    munmap(code_, bytes_);
  }
  OtherWork(const OtherWork&) = delete;
  OtherWork& operator=(const OtherWork&) = delete;

  void run() const noexcept {
    for (std::size_t line = 0; line < bytes_; line += 64) {
      data_[line] = std::byte{1};
      reinterpret_cast<void (*)()>(code_ + line)();
    }
  }

 private:
  std::byte* map() const {
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::abort();
    return static_cast<std::byte*>(at);
  }
  const std::size_t bytes_;
  std::byte* data_;
  std::byte* code_;
};

}  // namespace synctrace::bench
