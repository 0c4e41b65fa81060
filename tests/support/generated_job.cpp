// SPDX-License-Identifier: Apache-2.0
// generated_job FOLDER RANKS STEPS KERNELS [FAULT_NS [read] [truth]]: writes the traces of a played job, rank by rank,
// for tests that are no C++ and for measurements. Rank 1 computes for FAULT_NS (2 ms) more in each step, or reads a
// value from its GPU; 0: it does what the others do. The same each time. With "truth" there is a truth.json beside
// them: who came to which operation when, in true time, and how long each GPU did nothing but wait.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "support/generator/job.h"

namespace {

using synctrace::testing::generator::JobRun;
using synctrace::testing::generator::TrueMeeting;

void write_truth(const JobRun& run, std::ostream& out) {
  out << "{\"waited_alone_ns\": [";
  for (std::size_t rank = 0; rank < run.waited_alone_ns.size(); ++rank)
    out << (rank == 0 ? "" : ", ") << run.waited_alone_ns[rank];
  out << "],\n\"meetings\": [";
  for (const TrueMeeting& one : run.meetings) {
    out << (&one == run.meetings.data() ? "\n" : ",\n") << "{\"communicator\": " << one.communicator
        << ", \"turn\": " << one.turn << ", \"step\": " << one.step << ", \"transfer_ns\": " << one.transfer_ns
        << ", \"arrivals\": {";
    for (std::size_t i = 0; i < one.ranks.size(); ++i)
      out << (i == 0 ? "" : ", ") << "\"" << one.ranks[i] << "\": " << one.arrivals[i];
    out << "}}";
  }
  out << "\n]}\n";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace synctrace::testing::generator;
  if (argc < 5)
    return std::fputs("usage: generated_job FOLDER RANKS STEPS KERNELS [FAULT_NS [read] [truth]]\n", stderr), 2;
  const auto number = [&](int at) { return static_cast<std::uint32_t>(std::strtoul(argv[at], nullptr, 10)); };
  JobProgram program;
  program.ranks = number(2);
  program.steps = number(3);
  program.kernels = number(4);
  program.kernel_ns = 20'000;
  program.clock_offset_ns = 3'000'000'000;
  program.drift_ppm = 20;
  const auto has = [&](std::string_view word) { return argc > 6 && std::count(argv + 6, argv + argc, word) > 0; };
  const Fault::What what = has("read") ? Fault::What::kRead : Fault::What::kHostCode;
  const std::uint32_t fault_ns = argc > 5 ? number(5) : 2'000'000;
  if (fault_ns > 0) program.faults.push_back({what, 1 % program.ranks, fault_ns, 1});
  constexpr std::uint32_t kAtOnce = 16;  // traces in memory; the whole job is played for each lot of them
  for (std::uint32_t first = 0; first < program.ranks; first += kAtOnce) {
    const JobRun run = play_job(program, 1, first, first + kAtOnce);
    if (first == 0 && has("truth")) {
      std::ofstream truth(std::string(argv[1]) + "/truth.json");
      write_truth(run, truth);
    }
    for (std::size_t i = 0; i < run.traces.size(); ++i) {
      std::ofstream file(std::string(argv[1]) + "/rank-" + std::to_string(first + i) + ".synctrace", std::ios::binary);
      file.write(reinterpret_cast<const char*>(run.traces[i].data()),
                 static_cast<std::streamsize>(run.traces[i].size()));
      if (!file.flush()) return std::perror("generated_job"), 1;
    }
  }
  return 0;
}
