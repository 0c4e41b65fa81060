// SPDX-License-Identifier: Apache-2.0
// Under which sanitizer this is compiled, for gcc and clang: SYNCTRACE_UNDER_ASAN and SYNCTRACE_UNDER_TSAN are 0 or 1.
#pragma once

#if defined(__has_feature)
#define SYNCTRACE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define SYNCTRACE_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || SYNCTRACE_HAS_FEATURE(address_sanitizer)
#define SYNCTRACE_UNDER_ASAN 1
#else
#define SYNCTRACE_UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || SYNCTRACE_HAS_FEATURE(thread_sanitizer)
#define SYNCTRACE_UNDER_TSAN 1
#else
#define SYNCTRACE_UNDER_TSAN 0
#endif
