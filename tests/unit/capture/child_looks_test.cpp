// SPDX-License-Identifier: Apache-2.0
// Looks at child processes: when one is due, and that children are found with the kernel's lists and without them.
#include "capture/samples/child_looks.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <thread>
#include <vector>

#include "capture/process/own_descriptors.h"
#include "support/catch.h"

namespace synctrace::capture::child_looks_test {
namespace {

using Child = ChildLooks::Child;
constexpr std::int64_t kMs = 1'000'000;

// A child that waits on a pipe until it is let go, with a child of its own that does the same.
class Family {
 public:
  Family() {
    REQUIRE(pipe(hold_) == 0);
    REQUIRE(pipe(tell_) == 0);
    child_ = fork();
    if (child_ == 0) {
      const pid_t grandchild = fork();
      if (grandchild != 0) tell(grandchild);
      prctl(PR_SET_NAME, "a (worker) x");
      tell(0);
      wait_and_leave(grandchild);
    }
    pid_t told = 0;
    for (int i = 0; i < 3; ++i) {
      REQUIRE(read(tell_[0], &told, sizeof(told)) == sizeof(told));
      if (told != 0) grandchild_ = told;
    }
  }
  ~Family() {
    close(hold_[1]);
    waitpid(child_, nullptr, 0);
    for (const int end : {hold_[0], tell_[0], tell_[1]}) close(end);
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  std::uint32_t child() const { return static_cast<std::uint32_t>(child_); }
  std::uint32_t grandchild() const { return static_cast<std::uint32_t>(grandchild_); }

 private:
  // A process that never slept yet has used no CPU time in the eyes of others, until it asks for its own.
  void tell(pid_t process) const {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    if (write(tell_[1], &process, sizeof(process)) != sizeof(process)) _exit(1);
  }
  [[noreturn]] void wait_and_leave(pid_t grandchild) const {
    close(hold_[1]);
    char none;
    if (read(hold_[0], &none, 1) != 0) _exit(1);
    if (grandchild != 0) waitpid(grandchild, nullptr, 0);
    _exit(0);
  }

  int hold_[2] = {};
  int tell_[2] = {};
  pid_t child_ = 0;
  pid_t grandchild_ = 0;
};

// On a thread with descriptors of its own, as the recorder looks.
std::vector<Child> look(ChildLooks& looks) {
  std::vector<Child> found;
  std::thread([&] {
    if (!take_own_descriptors()) return;
    looks.look();
    found.assign(looks.found().begin(), looks.found().end());
  }).join();
  return found;
}

const Child* find(const std::vector<Child>& children, std::uint32_t process) {
  const auto found =
      std::find_if(children.begin(), children.end(), [&](const Child& child) { return child.process == process; });
  return found == children.end() ? nullptr : &*found;
}

void check(const std::vector<Child>& found, const Family& family) {
  REQUIRE(found.size() == 2);
  const Child* child = find(found, family.child());
  const Child* grandchild = find(found, family.grandchild());
  REQUIRE(child != nullptr);
  REQUIRE(grandchild != nullptr);
  CHECK(child->parent == static_cast<std::uint32_t>(getpid()));
  CHECK(grandchild->parent == family.child());
  for (const Child* one : {child, grandchild}) {
    CHECK(std::string_view(one->name.data()) == "a (worker) x");
    CHECK(one->state != format::ChildLook::State::kUnknown);
    CHECK(one->state != format::ChildLook::State::kEnded);
    CHECK(one->cpu_ns > 0);
    CHECK(one->started_ns > 0);
    CHECK(one->time_ns > 0);
  }
}

}  // namespace

TEST_CASE("a child and its child are found, by the kernel's lists and among all processes") {
  const Family family;
  ChildLooks by_lists;
  check(look(by_lists), family);
  ChildLooks among_all;
  among_all.search_all_processes();
  check(look(among_all), family);
  CHECK(among_all.look_count() == 1);
}

TEST_CASE("a child that runs sleeps nowhere") {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // where the test ends before it ends the child
    volatile bool goes_on = true;
    while (goes_on) continue;
  }
  ChildLooks looks;
  const std::vector<Child> found = look(looks);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  REQUIRE(found.size() == 1);
  CHECK(found.front().state == format::ChildLook::State::kRunning);
  CHECK(std::string_view(found.front().channel.data()).empty());
}

TEST_CASE("without children nothing is found, and without descriptors of our own nobody looks") {
  ChildLooks looks;
  CHECK(look(looks).empty());
  CHECK(looks.look_count() == 1);
  const Family family;
  looks.look();
  CHECK(looks.found().empty());
  CHECK(looks.look_count() == 1);
}

TEST_CASE("a look is due when a window opens and closes, and each half second of it") {
  ChildLooks looks;
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  CHECK(!looks.is_due(now(), false));
  CHECK(looks.is_due(now(), true));
  looks.look();
  const std::int64_t after_ns = now();
  CHECK(!looks.is_due(after_ns + 300 * kMs, true));
  CHECK(looks.is_due(after_ns + 500 * kMs, true));
  CHECK(looks.is_due(after_ns + 300 * kMs, false));
  looks.look();
  CHECK(!looks.is_due(now() + 1'000 * kMs, false));
}

}  // namespace synctrace::capture::child_looks_test
