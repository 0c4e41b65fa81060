// SPDX-License-Identifier: Apache-2.0
// Starts other programs while CUDA is up, by every way that skips or shortcuts fork: posix_spawn, vfork, system, popen.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "example.h"
#include "spin.h"

extern char** environ;

namespace {

int spawn_status(const char* command) {
  char shell[] = "sh";
  char option[] = "-c";
  char* const arguments[] = {shell, option, const_cast<char*>(command), nullptr};
  pid_t pid = 0;
  if (posix_spawnp(&pid, "sh", nullptr, nullptr, arguments, environ) != 0) return -1;
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

int vfork_status() {
  const pid_t pid = vfork();
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", "exit 32", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

void print_popen() {
  char line[64] = "";
  FILE* pipe = popen("echo from popen", "r");
  if (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) std::printf("%s", line);
  if (pipe != nullptr) pclose(pipe);
}

}  // namespace

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int round = 0; round < 5; ++round) {
    spin_ns<<<1, 1, 0, stream>>>(2 * kMillisecond);
    std::printf("posix_spawn %d\n", spawn_status("exit 31"));
    std::printf("vfork %d\n", vfork_status());
    std::printf("system %d\n", WEXITSTATUS(std::system("exit 33")));
    print_popen();
    CHECK(cudaStreamSynchronize(stream));
  }
  return 0;
}
