// SPDX-License-Identifier: Apache-2.0
// The functions behind interposed ones: found by exact version, found under another one, or missing.
#include "capture/waits/next_call.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "support/catch.h"

using namespace synctrace::capture;

namespace {

extern NextCall<int()> absent_number;
extern NextCall<long(int)> absent_errno;
extern NextCall<long()> absent_kernel_call;
constinit NextCall<int()> absent_number{"synctrace_no_such_function", "GLIBC_2.2.5", VersionUse::kDefault,
                                        &first_call<absent_number, Missing::kErrorNumber, int>};
constinit NextCall<long(int)> absent_errno{"synctrace_no_such_function", "GLIBC_2.2.5", VersionUse::kDefault,
                                           &first_call<absent_errno, Missing::kMinusOne, long, int>};
constinit NextCall<long()> absent_kernel_call{"synctrace_no_such_function", "GLIBC_2.2.5", VersionUse::kDefault,
                                              &first_kernel_call<absent_kernel_call, SYS_gettid, long>};

extern NextCall<ssize_t(int, void*, std::size_t)> next_read;
constinit NextCall<ssize_t(int, void*, std::size_t)> next_read{
    "read", "GLIBC_9.99", VersionUse::kDefault,
    &first_kernel_call<next_read, SYS_read, ssize_t, int, void*, std::size_t>};

#if defined(__x86_64__)
constexpr const char* kFirstVersion = "GLIBC_2.2.5";
#else
constexpr const char* kFirstVersion = "GLIBC_2.17";
#endif

}  // namespace

TEST_CASE("a symbol is found by its exact version") {
  NextSymbol symbol{"pthread_join", kFirstVersion, VersionUse::kOldPrograms};
  CHECK(find_next(symbol) == dlvsym(RTLD_DEFAULT, "pthread_join", kFirstVersion));
  CHECK(find_next(symbol) == symbol.address.load());
}

#if defined(__x86_64__)
TEST_CASE("the two generations of condition variables are two functions") {
  NextSymbol today{"pthread_cond_wait", "GLIBC_2.3.2", VersionUse::kDefault};
  NextSymbol old{"pthread_cond_wait", "GLIBC_2.2.5", VersionUse::kOldPrograms};
  REQUIRE(find_next(today) != nullptr);
  REQUIRE(find_next(old) != nullptr);
  CHECK(find_next(today) != find_next(old));
  CHECK(find_next(old) == dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.2.5"));
}
#endif

TEST_CASE("a version that this C library lacks is replaced by the one that it has") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  REQUIRE(write(ends[1], "ab", 2) == 2);
  char byte = 0;
  CHECK(next_read(ends[0], &byte, 1) == 1);
  CHECK(byte == 'a');
  CHECK(next_read.bind() == reinterpret_cast<ssize_t (*)(int, void*, std::size_t)>(dlsym(RTLD_NEXT, "read")));
  CHECK(next_read(ends[0], &byte, 1) == 1);
  CHECK(byte == 'b');
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a failed look-up leaves no trace in dlerror and errno") {
  dlerror();
  errno = 77;
  NextSymbol symbol{"synctrace_no_such_function", "GLIBC_2.2.5", VersionUse::kOldPrograms};
  CHECK(find_next(symbol) == nullptr);
  CHECK(errno == 77);
  CHECK(dlerror() == nullptr);
}

TEST_CASE("what is missing says so in the way of its kind") {
  CHECK(absent_number() == ENOSYS);
  errno = 0;
  CHECK(absent_errno(1) == -1);
  CHECK(errno == ENOSYS);
  CHECK(absent_kernel_call() == gettid());
}

TEST_CASE("calls of the kernel give back its error as errno") {
  CHECK(raw_syscall(SYS_gettid) == gettid());
  CHECK(raw_syscall(SYS_close, -1) == -EBADF);
}
