// SPDX-License-Identifier: Apache-2.0
#include "capture/file_sink.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "format/launch_contract.h"

namespace synctrace::capture {
namespace {

// The program may change its folder before the trace is closed, so the path is made absolute at once.
bool make_absolute(format::OutputName& name) noexcept {
  if (name.path[0] == '/') return true;
  char folder[sizeof(name.path)];
  if (getcwd(folder, sizeof(folder)) == nullptr) return true;  // a deleted folder: the relative path still works
  const std::size_t folder_length = std::strlen(folder);
  if (folder_length + 1 + name.length + 1 > sizeof(name.path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memmove(name.path + folder_length + 1, name.path, name.length + 1);
  std::memcpy(name.path, folder, folder_length);
  name.path[folder_length] = '/';
  name.length += folder_length + 1;
  return true;
}

bool exists(const char* path) noexcept { return access(path, F_OK) == 0; }

}  // namespace

bool FileSink::create(bool force_overwrite) noexcept {
  std::snprintf(partial_path_, sizeof(partial_path_), "%s%.*s", name_.path,
                static_cast<int>(format::kPartialSuffix.size()), format::kPartialSuffix.data());
  if (!force_overwrite && exists(name_.path)) {
    errno = EEXIST;
    return false;
  }
  descriptor_ = ::open(partial_path_, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (force_overwrite ? 0 : O_EXCL), 0644);
  if (descriptor_ < 0) return false;
  // The lock says that the file is being written; it ends with the process. A file system without locks is trusted.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    descriptor_ = -1;
    errno = EEXIST;
    return false;
  }
  return !force_overwrite || ftruncate(descriptor_, 0) == 0;
}

bool FileSink::open(const format::OutputName& name, std::uint32_t process_id, bool force_overwrite) noexcept {
  format::OutputName base = name;
  if (!make_absolute(base) || !format::make_parent_folders(base.path)) return false;
  name_ = base;
  if (create(force_overwrite)) return true;
  // Another process of the run, or an earlier image of this one before exec, has the name.
  if (errno == EEXIST && !format::has_number(base, process_id)) {
    if (!format::add_number(base, process_id)) return false;
    name_ = base;
    if (create(false)) return true;
  }
  for (std::uint32_t counter = 2; errno == EEXIST && counter <= 999; ++counter) {
    name_ = base;
    if (!format::add_number(name_, counter)) return false;
    if (create(false)) return true;
  }
  return false;
}

bool FileSink::append(std::span<const std::byte> chunk) noexcept {
  std::size_t done = 0;
  while (done < chunk.size()) {
    const ssize_t written = ::write(descriptor_, chunk.data() + done, chunk.size() - done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    const int saved_errno = written == 0 ? ENOSPC : errno;
    // What is cut off here leaves room for the short chunk that says so.
    if (ftruncate(descriptor_, static_cast<off_t>(written_bytes_)) == 0) {
      lseek(descriptor_, static_cast<off_t>(written_bytes_), SEEK_SET);
    }
    errno = saved_errno;
    return false;
  }
  written_bytes_ += chunk.size();
  return true;
}

bool FileSink::close() noexcept {
  if (!is_open()) return true;
  ::close(descriptor_);
  descriptor_ = -1;
  return std::rename(partial_path_, name_.path) == 0;
}

void FileSink::abandon_after_fork() noexcept {
  if (is_open()) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace synctrace::capture
