// SPDX-License-Identifier: Apache-2.0
// How an interposed function gets its name. Programs ask for functions of the C library by name and version, and two
// versions of a name may be different functions (the condition variables of GLIBC_2.2.5 have another layout). So each
// version is defined by itself and goes on to the same version. The versions' nodes are in exports.map.
#pragma once

#include <sys/syscall.h>

#include <string_view>

#include "capture/waits/host_waits.h"
#include "capture/waits/next_call.h"

// aarch64 came with glibc 2.17: all that is older has that version there.
#if defined(__x86_64__)
#define SYNCTRACE_V2_2_5 "GLIBC_2.2.5"
#define SYNCTRACE_V2_3_2 "GLIBC_2.3.2"
#define SYNCTRACE_V2_3_3 "GLIBC_2.3.3"
#define SYNCTRACE_V2_4 "GLIBC_2.4"
#define SYNCTRACE_V2_6 "GLIBC_2.6"
#define SYNCTRACE_V2_16 "GLIBC_2.16"
#else
#define SYNCTRACE_V2_2_5 "GLIBC_2.17"
#define SYNCTRACE_V2_3_2 "GLIBC_2.17"
#define SYNCTRACE_V2_3_3 "GLIBC_2.17"
#define SYNCTRACE_V2_4 "GLIBC_2.17"
#define SYNCTRACE_V2_6 "GLIBC_2.17"
#define SYNCTRACE_V2_16 "GLIBC_2.17"
#endif
#define SYNCTRACE_V2_17 "GLIBC_2.17"
#define SYNCTRACE_V2_30 "GLIBC_2.30"
#define SYNCTRACE_V2_31 "GLIBC_2.31"
#define SYNCTRACE_V2_34 "GLIBC_2.34"
#define SYNCTRACE_V2_35 "GLIBC_2.35"

namespace synctrace::capture {
constexpr VersionUse use_of_version(std::string_view at) noexcept {
  return at == "@@" ? VersionUse::kDefault : VersionUse::kOldPrograms;
}
}  // namespace synctrace::capture

// A name is given to the assembler, so these are macros. `at` is "@@" for the version that programs are linked to today
// and "@" for one that only older programs ask for. `id` is unique in the library.
//   SYNCTRACE_NEXT         next_<id>, the function behind ours; `missing` is its answer where there is none
//   SYNCTRACE_NEXT_KERNEL  the same for a call that the kernel takes as it is
//   SYNCTRACE_DOOR         exports ours; its body follows
#define SYNCTRACE_NEXT(id, name, at, version, missing, result, ...)                                                 \
  namespace {                                                                                                       \
  extern NextCall<result(__VA_ARGS__)> next_##id;                                                                   \
  constinit NextCall<result(__VA_ARGS__)> next_##id{name, version, use_of_version(at),                              \
                                                    &first_call<next_##id, Missing::missing, result, __VA_ARGS__>}; \
  }
#define SYNCTRACE_NEXT_KERNEL(id, name, at, version, number, result, ...)                                        \
  namespace {                                                                                                    \
  extern NextCall<result(__VA_ARGS__)> next_##id;                                                                \
  constinit NextCall<result(__VA_ARGS__)> next_##id{name, version, use_of_version(at),                           \
                                                    &first_kernel_call<next_##id, number, result, __VA_ARGS__>}; \
  }
#define SYNCTRACE_DOOR(id, name, at, version, result, ...)                              \
  asm(".symver synctrace_" #id "," name at version);                                    \
  extern "C" __attribute__((visibility("default"))) result synctrace_##id(__VA_ARGS__); \
  extern "C" result synctrace_##id(__VA_ARGS__)
