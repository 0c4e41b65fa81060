// SPDX-License-Identifier: Apache-2.0
// generated_traces FOLDER COUNT: writes that many random programs' traces, for tests that are no C++. The same each
// time.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "support/generator/random_program.h"
#include "support/generator/trace.h"

int main(int argc, char** argv) {
  using namespace synctrace::testing::generator;
  if (argc != 3) return std::fputs("usage: generated_traces FOLDER COUNT\n", stderr), 2;
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const Program program = random_program(seed);
    const std::vector<std::byte> bytes = trace_of(program, play(program, seed), {});
    std::ofstream file(std::string(argv[1]) + "/generated-" + std::to_string(seed) + ".synctrace", std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) return std::perror("generated_traces"), 1;
  }
  return 0;
}
