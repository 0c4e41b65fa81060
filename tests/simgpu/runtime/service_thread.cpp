// SPDX-License-Identifier: Apache-2.0
//
// The timeline's one thread. It runs host functions, asks open work for its end, and applies results that a host thread
// may be polling for in memory. It exists only in processes that need it, sleeps until the next deadline, and is never
// joined: a process may exit with work in flight.
#include <pthread.h>
#include <csignal>
#include <thread>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "runtime/timeline.h"

namespace synctrace::simgpu {
namespace {

constexpr std::chrono::milliseconds kIdle{200};
constexpr Nanoseconds kOpenPeriod = 50 * kMicrosecond;  // how often work that others end is asked for its end
constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

std::chrono::steady_clock::time_point to_time_point(Nanoseconds ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

}  // namespace

void Timeline::start_service() {
  if (service_running_) {
    service_wanted_.notify_one();
    return;
  }
  service_running_ = true;
  // Signals belong to the program's threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] { serve(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Nanoseconds Timeline::next_service_time() const {
  Nanoseconds next = kNever;
  if (!host_calls_.empty()) next = std::min(next, host_calls_.top().start);
  if (!visible_ends_.empty()) next = std::min(next, visible_ends_.top());
  if (!open_.empty()) next = std::min(next, now_ns() + kOpenPeriod);
  return next;
}

void Timeline::serve() {
  Lock held = lock();
  for (;;) {
    close_open();
    const Nanoseconds next = next_service_time();
    if (next == kNever) {
      // Idle, it ends: it must not keep a process alive whose main thread has gone.
      if (service_wanted_.wait_for(held, kIdle) == std::cv_status::no_timeout || next_service_time() != kNever)
        continue;
      service_running_ = false;
      return;
    }
    if (next > now_ns()) {
      service_wanted_.wait_until(held, to_time_point(next));
      continue;
    }
    std::vector<Ended> ended;
    collect(now_ns(), ended);
    while (!visible_ends_.empty() && visible_ends_.top() <= next) visible_ends_.pop();
    HostCall call{};
    if (!host_calls_.empty() && host_calls_.top().start <= next) {
      call = host_calls_.top();
      host_calls_.pop();
    }
    held.unlock();
    report(ended);
    if (call.function) call.function();
    held.lock();
    if (call.milestone == nullptr) continue;
    call.milestone->at = now_ns();
    call.milestone->reached = true;
    resolve_deferred();
  }
}

}  // namespace synctrace::simgpu
