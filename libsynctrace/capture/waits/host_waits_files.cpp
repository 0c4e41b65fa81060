// SPDX-License-Identifier: Apache-2.0
// Interposed: waits for descriptors and for time, and the unmapping of memory, which waits for other threads' page
// faults. Compiled into the library alone, not into tests: whatever links this file is interposed.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include <csignal>

#include "capture/waits/host_waits_bind.h"
#include "capture/waits/host_waits_versions.h"

namespace synctrace::capture {
namespace {

// record_wait() looks into the list for the first descriptor, once the call has read it.
std::uint64_t polled(const pollfd* files, nfds_t count) noexcept { return count == 0 ? 0 : as_object(files); }

}  // namespace

SYNCTRACE_NEXT_KERNEL(read, "read", "@@", SYNCTRACE_V2_2_5, SYS_read, ssize_t, int, void*, std::size_t)
SYNCTRACE_DOOR(read, "read", "@@", SYNCTRACE_V2_2_5, ssize_t, int descriptor, void* room, std::size_t bytes) {
  return timed<HostCall::kRead>(next_read, as_object(descriptor), descriptor, room, bytes);
}
// What programs compiled with -D_FORTIFY_SOURCE call.
SYNCTRACE_NEXT(read_chk, "__read_chk", "@@", SYNCTRACE_V2_4, kMinusOne, ssize_t, int, void*, std::size_t, std::size_t)
SYNCTRACE_DOOR(read_chk, "__read_chk", "@@", SYNCTRACE_V2_4, ssize_t, int descriptor, void* room, std::size_t bytes,
               std::size_t room_bytes) {
  return timed<HostCall::kRead>(next_read_chk, as_object(descriptor), descriptor, room, bytes, room_bytes);
}

SYNCTRACE_NEXT_KERNEL(munmap, "munmap", "@@", SYNCTRACE_V2_2_5, SYS_munmap, int, void*, std::size_t)
SYNCTRACE_DOOR(munmap, "munmap", "@@", SYNCTRACE_V2_2_5, int, void* address, std::size_t bytes) {
  return timed<HostCall::kMunmap>(next_munmap, as_object(address), address, bytes);
}

SYNCTRACE_NEXT(poll, "poll", "@@", SYNCTRACE_V2_2_5, kMinusOne, int, pollfd*, nfds_t, int)
SYNCTRACE_DOOR(poll, "poll", "@@", SYNCTRACE_V2_2_5, int, pollfd* files, nfds_t count, int timeout_ms) {
  return timed<HostCall::kPoll>(next_poll, polled(files, count), files, count, timeout_ms);
}
SYNCTRACE_NEXT(poll_chk, "__poll_chk", "@@", SYNCTRACE_V2_16, kMinusOne, int, pollfd*, nfds_t, int, std::size_t)
SYNCTRACE_DOOR(poll_chk, "__poll_chk", "@@", SYNCTRACE_V2_16, int, pollfd* files, nfds_t count, int timeout_ms,
               std::size_t room_bytes) {
  return timed<HostCall::kPoll>(next_poll_chk, polled(files, count), files, count, timeout_ms, room_bytes);
}
SYNCTRACE_NEXT(ppoll, "ppoll", "@@", SYNCTRACE_V2_4, kMinusOne, int, pollfd*, nfds_t, const timespec*, const sigset_t*)
SYNCTRACE_DOOR(ppoll, "ppoll", "@@", SYNCTRACE_V2_4, int, pollfd* files, nfds_t count, const timespec* timeout,
               const sigset_t* signals) {
  return timed<HostCall::kPoll>(next_ppoll, polled(files, count), files, count, timeout, signals);
}
SYNCTRACE_NEXT(ppoll_chk, "__ppoll_chk", "@@", SYNCTRACE_V2_16, kMinusOne, int, pollfd*, nfds_t, const timespec*,
               const sigset_t*, std::size_t)
SYNCTRACE_DOOR(ppoll_chk, "__ppoll_chk", "@@", SYNCTRACE_V2_16, int, pollfd* files, nfds_t count,
               const timespec* timeout, const sigset_t* signals, std::size_t room_bytes) {
  return timed<HostCall::kPoll>(next_ppoll_chk, polled(files, count), files, count, timeout, signals, room_bytes);
}

SYNCTRACE_NEXT(epoll_wait, "epoll_wait", "@@", SYNCTRACE_V2_3_2, kMinusOne, int, int, epoll_event*, int, int)
SYNCTRACE_DOOR(epoll_wait, "epoll_wait", "@@", SYNCTRACE_V2_3_2, int, int descriptor, epoll_event* events, int room,
               int timeout_ms) {
  return timed<HostCall::kEpoll>(next_epoll_wait, as_object(descriptor), descriptor, events, room, timeout_ms);
}
SYNCTRACE_NEXT(epoll_pwait, "epoll_pwait", "@@", SYNCTRACE_V2_6, kMinusOne, int, int, epoll_event*, int, int,
               const sigset_t*)
SYNCTRACE_DOOR(epoll_pwait, "epoll_pwait", "@@", SYNCTRACE_V2_6, int, int descriptor, epoll_event* events, int room,
               int timeout_ms, const sigset_t* signals) {
  return timed<HostCall::kEpoll>(next_epoll_pwait, as_object(descriptor), descriptor, events, room, timeout_ms,
                                 signals);
}
// Before glibc 2.35 there is none, and "not supported" is also what an older kernel answers.
SYNCTRACE_NEXT(epoll_pwait2, "epoll_pwait2", "@@", SYNCTRACE_V2_35, kMinusOne, int, int, epoll_event*, int,
               const timespec*, const sigset_t*)
SYNCTRACE_DOOR(epoll_pwait2, "epoll_pwait2", "@@", SYNCTRACE_V2_35, int, int descriptor, epoll_event* events, int room,
               const timespec* timeout, const sigset_t* signals) {
  return timed<HostCall::kEpoll>(next_epoll_pwait2, as_object(descriptor), descriptor, events, room, timeout, signals);
}

SYNCTRACE_NEXT(select, "select", "@@", SYNCTRACE_V2_2_5, kMinusOne, int, int, fd_set*, fd_set*, fd_set*, timeval*)
SYNCTRACE_DOOR(select, "select", "@@", SYNCTRACE_V2_2_5, int, int count, fd_set* in, fd_set* out, fd_set* bad,
               timeval* timeout) {
  return timed<HostCall::kSelect>(next_select, 0, count, in, out, bad, timeout);
}
SYNCTRACE_NEXT(pselect, "pselect", "@@", SYNCTRACE_V2_2_5, kMinusOne, int, int, fd_set*, fd_set*, fd_set*,
               const timespec*, const sigset_t*)
SYNCTRACE_DOOR(pselect, "pselect", "@@", SYNCTRACE_V2_2_5, int, int count, fd_set* in, fd_set* out, fd_set* bad,
               const timespec* timeout, const sigset_t* signals) {
  return timed<HostCall::kSelect>(next_pselect, 0, count, in, out, bad, timeout, signals);
}

SYNCTRACE_NEXT(nanosleep, "nanosleep", "@@", SYNCTRACE_V2_2_5, kMinusOne, int, const timespec*, timespec*)
SYNCTRACE_DOOR(nanosleep, "nanosleep", "@@", SYNCTRACE_V2_2_5, int, const timespec* span, timespec* left) {
  return timed<HostCall::kSleep>(next_nanosleep, 0, span, left);
}
SYNCTRACE_NEXT(clock_nanosleep, "clock_nanosleep", "@@", SYNCTRACE_V2_17, kErrorNumber, int, clockid_t, int,
               const timespec*, timespec*)
SYNCTRACE_DOOR(clock_nanosleep, "clock_nanosleep", "@@", SYNCTRACE_V2_17, int, clockid_t clock, int flags,
               const timespec* span, timespec* left) {
  return timed<HostCall::kSleep>(next_clock_nanosleep, 0, clock, flags, span, left);
}
#if defined(__x86_64__)
SYNCTRACE_NEXT(clock_nanosleep_2_2_5, "clock_nanosleep", "@", SYNCTRACE_V2_2_5, kErrorNumber, int, clockid_t, int,
               const timespec*, timespec*)
SYNCTRACE_DOOR(clock_nanosleep_2_2_5, "clock_nanosleep", "@", SYNCTRACE_V2_2_5, int, clockid_t clock, int flags,
               const timespec* span, timespec* left) {
  return timed<HostCall::kSleep>(next_clock_nanosleep_2_2_5, 0, clock, flags, span, left);
}
#endif
SYNCTRACE_NEXT(usleep, "usleep", "@@", SYNCTRACE_V2_2_5, kMinusOne, int, useconds_t)
SYNCTRACE_DOOR(usleep, "usleep", "@@", SYNCTRACE_V2_2_5, int, useconds_t span_us) {
  return timed<HostCall::kSleep>(next_usleep, 0, span_us);
}
SYNCTRACE_NEXT(sleep, "sleep", "@@", SYNCTRACE_V2_2_5, kMinusOne, unsigned, unsigned)
SYNCTRACE_DOOR(sleep, "sleep", "@@", SYNCTRACE_V2_2_5, unsigned, unsigned span_s) {
  return timed<HostCall::kSleep>(next_sleep, 0, span_s);
}

void bind_file_calls() noexcept {
  const auto bind = [](auto&... next) { (next.bind(), ...); };
  bind(next_read, next_read_chk, next_munmap, next_poll, next_poll_chk, next_ppoll, next_ppoll_chk, next_epoll_wait,
       next_epoll_pwait, next_epoll_pwait2, next_select, next_pselect, next_nanosleep, next_clock_nanosleep,
       next_usleep, next_sleep);
#if defined(__x86_64__)
  next_clock_nanosleep_2_2_5.bind();
#endif
}

}  // namespace synctrace::capture
