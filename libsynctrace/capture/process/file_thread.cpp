// SPDX-License-Identifier: Apache-2.0
#include "capture/process/file_thread.h"

#include <cerrno>

#include "capture/process/own_descriptors.h"

namespace synctrace::capture {

void FileThread::start() noexcept {
  if (!helper_threads.start(helper_)) return;
  wait_while(State::kStarting);
  is_running_ = state() == State::kIdle;
}

void FileThread::run(Work work) noexcept {
  if (!is_running_) return work.call(work.context);
  work_ = work;
  set(State::kAsked);
  wait_while(State::kAsked);
  errno = error_;
}

void FileThread::stop() noexcept {
  if (!is_running_) return;
  is_running_ = false;
  set(State::kStopping);
}

void FileThread::serve() noexcept {
  if (!has_own_descriptors()) return set(State::kRefused);
  set(State::kIdle);
  for (;;) {
    wait_while(State::kIdle);
    if (state() == State::kStopping) return;
    errno = 0;
    work_.call(work_.context);
    error_ = errno;
    set(State::kIdle);
  }
}

void FileThread::set(State state) noexcept {
  state_.store(static_cast<std::uint32_t>(state), std::memory_order_release);
  futex_wake(state_);
}

void FileThread::wait_while(State state) noexcept {
  constexpr std::int64_t kLongNs = 3'600'000'000'000;  // it is woken
  while (this->state() == state) futex_wait(state_, static_cast<std::uint32_t>(state), kLongNs);
}

}  // namespace synctrace::capture
