// SPDX-License-Identifier: Apache-2.0
#include "live/attach.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <thread>

#include "base/format_text.h"
#include "contract/live_messages.h"
#include "live/dormant_processes.h"
#include "live/stopped_thread.h"
#include "live/target_process.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 20;
constexpr std::chrono::milliseconds kBetweenRounds{50};
constexpr std::chrono::seconds kPatience{20};

// A name of the recorder by which it knows that it was brought in: a link in the socket folder of the program's user.
class AttachedName {
 public:
  AttachedName(int pid, uid_t user, const std::string& library)
      : folder_(format::temporary_socket_folder(user)), place_(fs::path(folder_.path.data()) / std::to_string(pid)) {
    std::error_code failed;
    if (mkdir(folder_.path.data(), 0700) == 0) {
      if (chown(folder_.path.data(), user, static_cast<gid_t>(-1)) != 0) problem_ = "it cannot be given to its user";
    }
    if (const char* reason = format::refuse_socket_folder(folder_, user)) problem_ = reason;
    if (!problem_.empty()) return;
    fs::create_directory(place_, failed);
    fs::remove(path(), failed);
    fs::create_symlink(library, path(), failed);
    if (failed) problem_ = failed.message();
  }
  ~AttachedName() {
    std::error_code ignored;
    fs::remove(path(), ignored);
    fs::remove(place_, ignored);
  }
  AttachedName(const AttachedName&) = delete;
  AttachedName& operator=(const AttachedName&) = delete;

  fs::path path() const { return place_ / format::kAttachedName; }
  std::string problem() const { return problem_.empty() ? "" : format_text("{}: {}", folder_.path.data(), problem_); }

 private:
  format::SocketFolder folder_;
  fs::path place_;
  std::string problem_;
};

bool is_dormant(int pid) {
  const std::vector<DormantProcess> all = dormant_processes();
  return std::any_of(all.begin(), all.end(),
                     [&](const DormantProcess& one) { return one.pid == pid && !one.status.empty(); });
}

bool await_recorder(int pid) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (is_dormant(pid)) return true;
    if (has_ended(pid)) return false;
    std::this_thread::sleep_for(kBetweenRounds);
  }
  return false;
}

std::string most_frequent(const std::map<std::string, int>& reasons) {
  const auto most = std::max_element(reasons.begin(), reasons.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == reasons.end() ? "it has no thread" : most->first;
}

// The thread that was sent; else why none was.
Result<int> send_a_thread(const TargetProcess& target, const std::string& library) {
  std::map<std::string, int> reasons;
  for (int round = 0; round < kRounds; ++round) {
    for (const int thread : threads_of(target.pid)) {
      StoppedThread stopped(target, thread);
      if (stopped.may_not()) return Error{format_text("process {}: {}", target.pid, stopped.problem())};
      const std::string reason = stopped.problem().empty() ? stopped.refuse_call() : stopped.problem();
      if (reason.empty() && stopped.call_on_resume(target.dlopen, library, RTLD_NOW | RTLD_LOCAL)) return thread;
      ++reasons[reason.empty() ? "its memory cannot be written" : reason];
    }
    std::this_thread::sleep_for(kBetweenRounds);
  }
  return Error{
      format_text("process {}: no thread of it is at rest where a function can be called (mostly: {}); nothing "
                  "was changed. Try again, or start it with synctrace run --dormant",
                  target.pid, most_frequent(reasons))};
}

}  // namespace

Result<std::string> attach_to(int pid, const std::string& library) {
  if (is_dormant(pid)) return format_text("process {} can be recorded already", pid);
  Result<TargetProcess> target = look_at_process(pid);
  if (!target) return target.error();
  if (target.value().has_recorder)
    return Error{format_text("process {}: the recorder is in it already, and records, or was switched off", pid)};
  struct stat owner {};
  if (stat(format_text("/proc/{}", pid).c_str(), &owner) != 0) return Error{format_text("process {} has ended", pid)};
  const AttachedName name(pid, owner.st_uid, library);
  if (!name.problem().empty()) return Error{name.problem()};
  const Result<int> thread = send_a_thread(target.value(), name.path().string());
  if (!thread) return thread.error();
  if (!await_recorder(pid)) {
    if (has_ended(pid)) return Error{format_text("process {} has ended meanwhile", pid)};
    return Error{
        format_text("process {}: its thread {} was sent to load {}, and no recorder answers after {} s; the "
                    "loader may have refused it",
                    pid, thread.value(), library, kPatience.count())};
  }
  return format_text("process {}: its thread {}, which was at rest, has loaded {}; it lies dormant", pid,
                     thread.value(), library);
}

}  // namespace synctrace::cli
