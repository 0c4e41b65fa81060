// SPDX-License-Identifier: Apache-2.0
#include "doctor/loader_probe.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

#include "base/end_with_parent.h"

namespace synctrace::cli {
namespace {

[[noreturn]] void become(pid_t parent, const std::string& program, const std::vector<std::string>& arguments,
                         int output) {
  end_with_parent(parent);
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  dup2(output, STDOUT_FILENO);
  execv(program.c_str(), words.data());
  _exit(1);
}

std::string output_of(const std::string& program, const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) become(parent, program, arguments, ends[1]);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got = 1; child > 0 && got != 0;) {
    got = read(ends[0], buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error("the probe failed");
  return text;
}

}  // namespace

ProbeAnswer ask_probe(const Installation& installation, const std::vector<std::string>& arguments, int limit_ms) {
  return run_guarded([&] { return output_of(installation.probe.string(), arguments); }, limit_ms);
}

}  // namespace synctrace::cli
