// SPDX-License-Identifier: Apache-2.0
// A process without CUDA: like true(1). With --threads it says how many threads it has, so that a test can see that a
// preloaded library started none.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--threads") == 0) {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    std::printf("%d\n", static_cast<int>(std::distance(begin(tasks), end(tasks))));
  }
  return 0;
}
