// SPDX-License-Identifier: Apache-2.0
// hostile_traces FIRST COUNT TRACE...: mutants of the traces (*.synctrace, *.trace.txt), numbered from FIRST, each
// through every command and format. Says on stdout what took too long, took too much memory or threw, and the worst of
// all; ends with 1 then. A crash says first which mutant it was. In the environment: FLOOD=BYTES, for floods in the
// mutants' place; KEEP=FILE, to keep the last mutant there, and ONLY_KEEP, to run no command.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/time.h>
#include <unistd.h>

#include "damage/every_command.h"
#include "format/trace_text.h"
#include "support/sanitizers.h"
#include "support/temporary_folder.h"
#include "support/trace_mutator.h"

using namespace synctrace;
using namespace synctrace::testing;

namespace {

constexpr double kMostSeconds = 10;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

char under_way[512];  // for a handler: what runs now
int say_to = 1;       // stdout as it was

void say_under_way(const char* what) {
  char line[640];
  const int length = std::snprintf(line, sizeof(line), "%s: %s\n", what, under_way);
  if (length > 0 && write(say_to, line, static_cast<std::size_t>(length)) < 0) _exit(4);
}

extern "C" void on_time_out(int) {
  say_under_way("too long");
  _exit(3);
}

extern "C" void on_abort(int) {
  say_under_way("aborted");
  _exit(3);
}

#if SYNCTRACE_UNDER_ASAN
extern "C" void __sanitizer_set_death_callback(void (*callback)());
void on_death() { say_under_way("crashed"); }
#endif

void limit_time(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  setitimer(ITIMER_PROF, &timer, nullptr);
}

std::vector<std::byte> bytes_of(const std::string& path) {
  const std::string content = read_file(path);
  const auto* data = reinterpret_cast<const std::byte*>(content.data());
  std::vector<std::byte> bytes(data, data + content.size());
  if (!path.ends_with(".trace.txt")) return bytes;
  Result<std::vector<std::byte>> assembled = format::assemble_text(content, path);
  if (!assembled) throw std::runtime_error(assembled.error().message);
  return std::move(assembled).value();
}

struct Worst {
  double seconds = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::string slow, large, long_output;
};

void keep(const Cost& cost, const std::string& mutant, Worst& worst) {
  if (cost.cpu_seconds > worst.seconds) worst.seconds = cost.cpu_seconds, worst.slow = mutant + " " + cost.command;
  if (cost.peak_bytes > worst.peak_bytes) worst.peak_bytes = cost.peak_bytes, worst.large = mutant + " " + cost.command;
  if (cost.output_bytes > worst.output_bytes)
    worst.output_bytes = cost.output_bytes, worst.long_output = mutant + " " + cost.command;
}

// What is wrong with it, or nothing.
const char* complaint(const Cost& cost) {
  if (cost.status == 255) return "threw";
  if (cost.status == 2) return "was refused as a usage";
  if (cost.cpu_seconds > kMostSeconds) return "took too long";
  return cost.peak_bytes > kMostBytes ? "took too much memory" : nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fputs("hostile_traces FIRST COUNT TRACE...\n", stderr), 2;
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const std::vector<std::string> paths(argv + 3, argv + argc);
  std::vector<TraceParts> traces;
  const TraceParts* donor = nullptr;
  for (const std::string& path : paths) traces.push_back(take_apart(bytes_of(path)));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].find("all_kinds") != std::string::npos) donor = &traces[i];
  }
  if (donor == nullptr) return std::fputs("one of the traces must be all_kinds_*\n", stderr), 2;

  say_to = dup(STDOUT_FILENO);
  if (std::freopen("/dev/null", "w", stdout) == nullptr) return 2;
  if (std::getenv("KEEP") == nullptr && std::freopen("/dev/null", "w", stderr) == nullptr) return 2;
  std::signal(SIGPROF, on_time_out);
  std::signal(SIGABRT, on_abort);
#if SYNCTRACE_UNDER_ASAN
  __sanitizer_set_death_callback(on_death);
#endif
  std::FILE* out = fdopen(dup(say_to), "w");
  std::setvbuf(out, nullptr, _IOLBF, 0);

  const TemporaryFolder folder;
  Worst worst;
  std::uint64_t commands = 0;
  std::map<std::string, double> seconds_of;
  bool bad = false;
  for (std::uint64_t number = first; number < first + count; ++number) {
    const std::size_t trace = number % traces.size();
    const char* flood = std::getenv("FLOOD");
    const std::vector<std::byte> bytes =
        flood != nullptr ? flood_of(traces[trace], *donor, number, std::strtoull(flood, nullptr, 10))
                         : mutant_of(traces[trace], *donor, number);
    const std::string path = folder.write("mutant.synctrace", bytes);
    const std::string mutant =
        "mutant " + std::to_string(number) + " of " + paths[trace].substr(paths[trace].rfind('/') + 1);
    if (const char* kept = std::getenv("KEEP"))
      std::filesystem::copy_file(path, kept, std::filesystem::copy_options::overwrite_existing);
    if (std::getenv("ONLY_KEEP") != nullptr) continue;
    for (const std::vector<std::string>& words : every_command()) {
      std::snprintf(under_way, sizeof(under_way), "%s: %s %s", mutant.c_str(), words[0].c_str(),
                    words[words[0] == "report" || words[0] == "gate" ? 3 : 2].c_str());
      limit_time(2 * kMostSeconds);
      const Cost cost = run_command(words, path, folder.path(""));
      ++commands;
      keep(cost, mutant, worst);
      seconds_of[cost.command] += cost.cpu_seconds;
      if (const char* what = complaint(cost)) {
        bad = true;
        std::fprintf(out, "%s: %s: %s (%.1f s, %llu MiB)\n", what, mutant.c_str(), cost.command.c_str(),
                     cost.cpu_seconds, static_cast<unsigned long long>(cost.peak_bytes >> 20));
      }
    }
    if ((number + 1 - first) % 500 == 0)
      std::fprintf(out, "%llu mutants\n", static_cast<unsigned long long>(number + 1 - first));
  }
  std::fprintf(
      out,
      "%llu mutants, %llu commands\nslowest: %.2f s, %s\nmost memory: %llu MiB, %s\nlongest output: %llu KiB, %s\n",
      static_cast<unsigned long long>(count), static_cast<unsigned long long>(commands), worst.seconds,
      worst.slow.c_str(), static_cast<unsigned long long>(worst.peak_bytes >> 20), worst.large.c_str(),
      static_cast<unsigned long long>(worst.output_bytes >> 10), worst.long_output.c_str());
  for (const auto& [command, seconds] : seconds_of) std::fprintf(out, "%9.2f s  %s\n", seconds, command.c_str());
  return bad ? 1 : 0;
}
