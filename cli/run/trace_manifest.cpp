// SPDX-License-Identifier: Apache-2.0
#include "run/trace_manifest.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <string_view>

#include "base/regular_file.h"
#include "contract/launch_contract.h"
#include "format/trace_format.h"

namespace synctrace::cli {
namespace {

// The process that wrote the header; 0 when the file does not tell.
pid_t writer_of(const std::string& partial) {
  format::FileHeader header{};
  const Result<RegularFile> file = RegularFile::open(partial, kAnySize);
  const bool is_read = file && file.value().read(reinterpret_cast<char*>(&header), sizeof header) == sizeof header;
  return is_read ? static_cast<pid_t>(header.process_id) : 0;
}

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

bool lists(const std::string& descriptors, const struct stat& wanted) {
  const Folder folder(opendir(descriptors.c_str()), closedir);
  if (!folder) return false;
  while (const dirent* entry = readdir(folder.get())) {
    struct stat found {};
    if (fstatat(dirfd(folder.get()), entry->d_name, &found, 0) != 0) continue;
    if (found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino) return true;
  }
  return false;
}

// Whether `process` has `file` open: being alive is not enough, since pids are used again. The recorder's thread has
// descriptors of its own, so each thread is asked.
bool has_open(pid_t process, const std::string& file) {
  struct stat wanted {};
  if (stat(file.c_str(), &wanted) != 0) return false;
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  const Folder folder(opendir(tasks.c_str()), closedir);
  if (!folder) return false;
  while (const dirent* task = readdir(folder.get())) {
    if (task->d_name[0] != '.' && lists(tasks + "/" + task->d_name + "/fd", wanted)) return true;
  }
  return false;
}

// True when the process has ended, or does so before the deadline.
bool await_end(pid_t process, std::int64_t deadline_ns) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0U));
  if (descriptor < 0) return errno == ESRCH;
  pollfd ended{descriptor, POLLIN, 0};
  const std::int64_t left_ns = std::max<std::int64_t>(0, deadline_ns - monotonic_ns());
  const int answer = poll(&ended, 1, static_cast<int>((left_ns + 999'999) / 1'000'000));
  close(descriptor);
  return answer > 0;
}

bool is_growing(const std::string& file, std::int64_t deadline_ns) {
  const pid_t writer = writer_of(file);
  return writer > 0 && has_open(writer, file) && !await_end(writer, deadline_ns);
}

bool exists(const std::string& path) {
  struct stat ignored {};
  return lstat(path.c_str(), &ignored) == 0;
}

}  // namespace

TraceManifest::TraceManifest() {
  const char* preferred = std::getenv("TMPDIR");
  for (const char* folder : {preferred, "/tmp", "."}) {
    if (folder == nullptr || *folder == '\0') continue;
    std::string path = std::string(folder) + "/synctrace-manifest-XXXXXX";
    const int descriptor = mkostemp(path.data(), O_CLOEXEC);
    if (descriptor < 0) continue;
    close(descriptor);
    const std::unique_ptr<char, void (*)(void*)> absolute(realpath(path.c_str(), nullptr), std::free);
    path_ = absolute ? absolute.get() : path;
    return;
  }
}

TraceManifest::~TraceManifest() {
  if (!path_.empty()) unlink(path_.c_str());
}

std::vector<std::string> TraceManifest::traces() const {
  std::vector<std::string> traces;
  std::ifstream file(path_);
  std::string line;
  while (std::getline(file, line) && !file.eof()) {
    if (!line.empty() && std::find(traces.begin(), traces.end(), line) == traces.end()) traces.push_back(line);
  }
  return traces;
}

// A recorder that keeps to plain system calls writes under the final name.
TraceState settle_trace(const std::string& path, std::int64_t deadline_ns) {
  const std::string partial = path + std::string(format::kPartialSuffix);
  if (is_growing(exists(partial) ? partial : path, deadline_ns)) return TraceState::kGrowing;
  if (exists(partial)) {
    return std::rename(partial.c_str(), path.c_str()) == 0 ? TraceState::kCutShort : TraceState::kGrowing;
  }
  return exists(path) ? TraceState::kClosed : TraceState::kMissing;
}

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace synctrace::cli
