// SPDX-License-Identifier: Apache-2.0
// The function that a program would have reached without us: the next one of the same name and version in the loader's
// search order, which is the C library's or another interposer's. All are looked up in our constructor. Calls from
// constructors that run before it look theirs up when they come.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <type_traits>

#include "capture/process/raw_syscall.h"

namespace synctrace::capture {

// Whether a version is the one that programs are linked to today. Another interposer defines names without versions,
// and means those.
enum class VersionUse : std::uint8_t { kDefault, kOldPrograms };

struct NextSymbol {
  const char* name;
  const char* version;
  VersionUse use;
  std::atomic<void*> address{nullptr};
};

// The symbol's address; nullptr while the thread is inside such a look-up already (an allocator that the loader calls),
// or when this C library has no such function. Not for signal handlers.
void* find_next(NextSymbol& symbol) noexcept;

template <class Signature>
class NextCall;

template <class Result, class... Arguments>
class NextCall<Result(Arguments...)> {
 public:
  using Function = Result (*)(Arguments...);

  // `first` serves until the symbol is found: first_call<this, ...>.
  constexpr NextCall(const char* name, const char* version, VersionUse use, Function first) noexcept
      : function_(first), symbol_{name, version, use} {}

  // No noexcept: cancellation unwinds through it.
  Result operator()(Arguments... arguments) const { return function_.load(std::memory_order_relaxed)(arguments...); }

  // nullptr when there is none.
  Function bind() noexcept {
    auto found = reinterpret_cast<Function>(find_next(symbol_));
    if (found != nullptr) function_.store(found, std::memory_order_relaxed);
    return found;
  }

 private:
  std::atomic<Function> function_;  // first member: host_waits_syscall.cpp jumps through it
  NextSymbol symbol_;
};

// What happens where there is no next function: its answer for "not supported".
enum class Missing : std::uint8_t { kMinusOne, kErrorNumber };

template <auto& next, Missing missing, class Result, class... Arguments>
Result first_call(Arguments... arguments) {
  if (auto function = next.bind()) return function(arguments...);
  if constexpr (missing == Missing::kErrorNumber) return ENOSYS;
  errno = ENOSYS;
  return static_cast<Result>(-1);
}

// The same for calls that the kernel takes as they are.
template <auto& next, long number, class Result, class... Arguments>
Result first_kernel_call(Arguments... arguments) {
  if (auto function = next.bind()) return function(arguments...);
  const long result = raw_syscall(number, to_word(arguments)...);
  if (result >= 0) return static_cast<Result>(result);
  errno = static_cast<int>(-result);
  return static_cast<Result>(-1);
}

}  // namespace synctrace::capture
