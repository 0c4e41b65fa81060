// SPDX-License-Identifier: Apache-2.0
#include "run/gpu_watch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "base/end_with_parent.h"

namespace synctrace::cli {
namespace {

constexpr std::size_t kMostBytes = 64U << 20;  // all lines; a week of eight GPUs has half of it
constexpr int kPatienceMs = 1'000;

// Ours without what loads the recorder or another tool into a process.
std::vector<std::string> probe_environment(const std::string& libraries) {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool is_tool = text.starts_with("LD_PRELOAD=") || text.starts_with("LD_AUDIT=") ||
                         text.starts_with("CUDA_INJECTION") || text.starts_with("NVTX_INJECTION");
    const bool is_replaced = !libraries.empty() && text.starts_with("LD_LIBRARY_PATH=");
    if (!is_tool && !is_replaced) entries.emplace_back(text);
  }
  if (!libraries.empty()) entries.push_back("LD_LIBRARY_PATH=" + libraries);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// In a process group of its own, so that Ctrl-C is for the program alone, and with no descriptor but its streams.
[[noreturn]] void become(pid_t parent, char* const* words, char* const* environment, const int (&streams)[3]) {
  end_with_parent(parent);
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int stream = 0; stream < 3; ++stream) dup2(streams[stream], stream);
  syscall(SYS_close_range, 3U, ~0U, 0U);
  execve(words[0], words, environment);
  _exit(127);
}

std::string content_of(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return {};
  std::string text(std::min(kMostBytes, static_cast<std::size_t>(status.st_size)), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = pread(file, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

// A process inside of a driver's call dies when that returns. Then nobody waits for it.
void end_process(pid_t process) {
  kill(process, SIGKILL);
  for (int waited_ms = 0; waited_ms < kPatienceMs && waitpid(process, nullptr, WNOHANG) == 0; ++waited_ms) {
    const timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
}

}  // namespace

void GpuWatch::begin(const Installation& installation, const std::string& manifest, const std::string& libraries) {
  if (installation.probe.empty() || manifest.empty()) return;
  std::vector<std::string> words = {installation.probe.string(), "gpu-use", manifest};
  std::vector<std::string> environment = probe_environment(libraries);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);
  int ends[2];
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  lines_ = memfd_create("synctrace-gpu-use", MFD_CLOEXEC);
  if (nowhere >= 0 && lines_ >= 0 && pipe2(ends, O_CLOEXEC) == 0) {
    const pid_t parent = getpid();
    probe_ = fork();
    if (probe_ == 0) become(parent, argv.data(), envp.data(), {ends[0], lines_, nowhere});
    close(ends[0]);
    stdin_ = ends[1];
  }
  if (nowhere >= 0) close(nowhere);
}

std::string GpuWatch::end() {
  if (stdin_ >= 0) close(std::exchange(stdin_, -1));
  if (probe_ > 0) end_process(std::exchange(probe_, -1));
  if (lines_ < 0) return {};
  std::string lines = content_of(lines_);
  close(std::exchange(lines_, -1));
  return lines;
}

GpuWatch::~GpuWatch() { end(); }

}  // namespace synctrace::cli
