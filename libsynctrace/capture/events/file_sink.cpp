// SPDX-License-Identifier: Apache-2.0
#include "capture/events/file_sink.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "capture/process/file_size_limit.h"
#include "capture/process/own_descriptors.h"
#include "capture/process/plain_syscalls.h"
#include "contract/launch_contract.h"

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

constexpr mode_t kAnyone = 0666;  // less what the umask takes away

// Nothing that is opened may make us wait, lead elsewhere or become the program's terminal.
constexpr int kCarefully = O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;

// Moves a descriptor of the program's table out of the way: its lowest free number is what it would be without us.
int move_up(int descriptor) noexcept {
  constexpr rlim_t kHighEnough = 1000;  // below what select() takes, and what makes the kernel's table grow much
  constexpr rlim_t kRoom = 8;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= kRoom) return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(std::min(kHighEnough, limit.rlim_cur - kRoom)));
  if (moved < 0) return descriptor;
  ::close(descriptor);
  return moved;
}

}  // namespace

void FileSink::adopt(int descriptor) noexcept {
  struct stat about {};
  descriptor_ = has_own_descriptors() ? descriptor : move_up(descriptor);
  if (fstat(descriptor_, &about) != 0) return;
  device_ = about.st_dev;
  inode_ = about.st_ino;
}

// Says that the file is being written; ends with the process. Where it cannot be had, nothing is lost but that.
void FileSink::lock() const noexcept {
  if (!plain_syscalls_only()) static_cast<void>(flock(descriptor_, LOCK_EX | LOCK_NB));
}

// The size too: a file system gives the number of a removed file to the next one.
bool FileSink::is_ours(int descriptor, std::uint64_t bytes) const noexcept {
  struct stat about {};
  return descriptor >= 0 && fstat(descriptor, &about) == 0 && about.st_dev == device_ && about.st_ino == inode_ &&
         static_cast<std::uint64_t>(about.st_size) == bytes;
}

// The descriptor again, when the program has closed it; false, with EBADF, when the file is gone too.
bool FileSink::regain() noexcept {
  if (is_ours(descriptor_, written_bytes_)) return true;
  const int descriptor = ::open(partial_path_, O_WRONLY | kCarefully);
  const bool is_found = is_ours(descriptor, written_bytes_);
  if (is_found) {
    adopt(descriptor);
    lock();
  } else if (descriptor >= 0) {
    ::close(descriptor);
  }
  errno = EBADF;
  return is_found;
}

// Forced: takes an old trace's rights over and the remains of an unfinished one away. False, with errno, when another
// process is writing it, or what has the name is no file.
bool FileSink::take_old_name(mode_t& mode) noexcept {
  struct stat about {};
  if (lstat(name_.path, &about) == 0) {
    if (S_ISDIR(about.st_mode)) return errno = EISDIR, false;
    if (S_ISREG(about.st_mode)) mode &= about.st_mode;
  }
  if (lstat(partial_path_, &about) != 0) return true;
  // A pipe that is opened, if only for a moment, may end whoever writes to it.
  const int old = S_ISREG(about.st_mode) ? ::open(partial_path_, O_RDONLY | kCarefully) : -1;
  if (old < 0) return errno = EEXIST, false;
  // A file system without locks is trusted.
  const bool is_free = plain_syscalls_only() || flock(old, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  ::close(old);
  if (is_free && unlink(partial_path_) == 0) return true;
  return errno = EEXIST, false;
}

bool FileSink::create(bool force_overwrite) noexcept {
  const std::string_view suffix = plain_syscalls_only() ? std::string_view{} : format::kPartialSuffix;
  std::snprintf(partial_path_, sizeof(partial_path_), "%s%.*s", name_.path, static_cast<int>(suffix.size()),
                suffix.data());
  mode_t mode = kAnyone;
  if (force_overwrite && !take_old_name(mode)) return false;
  const auto is_taken = [&] {
    struct stat about {};
    return !force_overwrite && lstat(name_.path, &about) == 0;
  };
  if (is_taken()) return errno = EEXIST, false;
  const int descriptor = ::open(partial_path_, O_WRONLY | O_CREAT | O_EXCL | kCarefully, mode);
  if (descriptor < 0) return false;
  adopt(descriptor);
  lock();
  // Whoever was writing under this name may have finished since the first look. Nobody else can from here on.
  if (suffix.empty() || !is_taken()) return true;
  unlink(partial_path_);
  ::close(descriptor_);
  descriptor_ = -1;
  return errno = EEXIST, false;
}

bool FileSink::open_some_name(const format::OutputName& name, std::uint32_t process_id) noexcept {
  format::OutputName base = name;
  if (!make_absolute(base) || !format::make_parent_folders(base.path)) return false;
  name_ = base;
  if (create(force_overwrite_)) return true;
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

bool FileSink::open(const format::OutputName& name, std::uint32_t process_id, bool force_overwrite) noexcept {
  force_overwrite_ = force_overwrite;
  bool is_made = false;
  files_.run([&] { is_made = open_some_name(name, process_id); });
  return is_made;
}

bool FileSink::append_here(std::span<const std::byte> chunk) noexcept {
  if (!regain() || !is_within_size_limit(written_bytes_ + chunk.size())) return false;
  std::size_t done = 0;
  lseek(descriptor_, static_cast<off_t>(written_bytes_), SEEK_SET);
  while (done < chunk.size()) {
    const ssize_t written = ::write(descriptor_, chunk.data() + done, chunk.size() - done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    const int saved_errno = written == 0 ? ENOSPC : errno;
    // The bytes cut off here leave room for the short chunk that says so.
    const bool is_cut =
        is_ours(descriptor_, written_bytes_ + done) && ftruncate(descriptor_, static_cast<off_t>(written_bytes_)) == 0;
    static_cast<void>(is_cut);  // else the next append finds it of another size, and gives it up
    errno = saved_errno;
    return false;
  }
  written_bytes_ += chunk.size();
  return true;
}

bool FileSink::append(std::span<const std::byte> chunk) noexcept {
  bool is_whole = false;
  files_.run([&] { is_whole = append_here(chunk); });
  return is_whole;
}

// Under either name there may be another file by now, which stays what it is. Some file systems cannot promise that.
bool FileSink::give_final_name() noexcept {
  struct stat about {};
  if (lstat(partial_path_, &about) != 0) return false;
  if (about.st_dev != device_ || about.st_ino != inode_) return errno = EBADF, false;
  if (!force_overwrite_) {
    constexpr unsigned kKeepWhatIsThere = 1;
    if (syscall(SYS_renameat2, AT_FDCWD, partial_path_, AT_FDCWD, name_.path, kKeepWhatIsThere) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
  }
  return std::rename(partial_path_, name_.path) == 0;
}

bool FileSink::close_here() noexcept {
  const bool is_kept = regain();
  if (is_kept) ::close(descriptor_);
  descriptor_ = -1;
  return is_kept && (plain_syscalls_only() || give_final_name());
}

bool FileSink::close() noexcept {
  if (!is_open()) return true;
  bool is_named = false;
  files_.run([&] { is_named = close_here(); });
  return is_named;
}

// A descriptor of the file thread's is not in the child at all.
void FileSink::abandon_after_fork() noexcept {
  if (is_open() && !files_.is_running() && is_ours(descriptor_, written_bytes_)) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace synctrace::capture
