// SPDX-License-Identifier: Apache-2.0
// The kernel's calls without the C library in between, whose functions we interpose ourselves: no cancellation, errno
// untouched, a negative result is the error. Safe in signal handlers and before the library is set up.
#pragma once

#include <cstdint>
#include <type_traits>

namespace synctrace::capture {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
#if defined(__x86_64__)
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "synctrace records on x86-64 and aarch64"
#endif
}

// An argument in the form that the kernel takes.
template <class Value>
long to_word(Value value) noexcept {
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<long>(value);
  } else {
    return static_cast<long>(value);
  }
}

}  // namespace synctrace::capture
