// SPDX-License-Identifier: Apache-2.0
// From "-o pattern" to the name of a trace file. Runs in the recorded process, which alone knows its pid, program and
// rank; the command line uses the same code to refuse a bad pattern before anything starts. Allocates nothing, throws
// nothing, keeps no state: any thread may call it.
//
//   %p process id   %h host   %r rank   %l rank on this host   %w number of ranks   %e program   %q{NAME} environment
//   %% %
//
// A pattern that ends in '/' names a folder and gets the default pattern behind it; where a pattern ends in that, the
// name has the rank too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace synctrace::format {

inline constexpr const char* kDefaultOutputPattern = "%e.%p";
inline constexpr const char* kDefaultRankPattern = "%e.rank%r.%p";  // for one process of many
inline constexpr const char* kPatternHelp = "%p %h %r %l %w %e %q{NAME} %%";

enum class RankSource : std::uint8_t { kNone, kUser, kTorchrun, kOpenMpi, kPmi, kMvapich2, kSlurm, kHorovod };

// Place of a process in a job of many. Unknown numbers are -1.
struct Rank {
  int rank = -1;
  int local_rank = -1;
  int world_size = -1;
  RankSource source = RankSource::kNone;

  bool known() const noexcept { return source != RankSource::kNone; }
  // Rank 0 of nobody knows how many counts as alone: the others have their number in their names all the same. A rank
  // that the user gave is one of many.
  bool one_of_many() const noexcept {
    return known() && (world_size < 0 ? rank > 0 || source == RankSource::kUser : world_size > 1);
  }
};

// The value of a variable, null when unset. `environment` as execve takes it: "NAME=value" pointers, null at the end;
// may be null.
const char* find_variable(const char* const* environment, std::string_view name) noexcept;

// The first launcher whose rank variable holds a number wins; SYNCTRACE_RANK comes before all of them.
Rank detect_rank(const char* const* environment) noexcept;

// The launcher in words, e.g. "torchrun (RANK)".
const char* describe(RankSource source) noexcept;

// The name of the program of a NUL-separated command line (/proc/self/cmdline): the file name of the executable, or of
// a Python interpreter's script without ".py", or its -m module. Cut to fit and always terminated.
struct ProgramName {
  char text[128];
};
ProgramName program_name(std::span<const char> command_line) noexcept;

struct ProcessFacts {
  std::uint32_t process_id = 0;
  const char* host = "";
  const char* program = "";
  Rank rank;  // where unknown, the process counts as rank 0 of 1
  const char* const* environment = nullptr;
};

struct OutputName {
  char path[4096];           // with the suffix .synctrace
  std::size_t length;        // bytes of path
  std::size_t error_at;      // index into the pattern; only when the status says error
  bool rank_added;           // ".rank%r" was inserted, else the ranks would share one name
  char unset_variable[128];  // the first %q{NAME} that is not set (it expands to nothing); else empty
};

enum class [[nodiscard]] PatternStatus : std::uint8_t{kOk, kEmpty, kUnknownPattern, kUnclosedBrace, kTooLong};

// A null `pattern` is the default one. On error `out.path` is empty. Values of %q, %h and %e cannot leave their place
// in the path: '/' and control characters become '_', as does a leading '.'.
PatternStatus expand_output_pattern(const char* pattern, const ProcessFacts& facts, OutputName& out) noexcept;

// Inserts ".<number>" before the suffix, for when the name is taken. False when too long.
[[nodiscard]] bool add_number(OutputName& name, std::uint32_t number) noexcept;

// Whether ".<number>." stands in the file name, the suffix's dot included: "%e.%p" has the process id already.
bool has_number(const OutputName& name, std::uint32_t number) noexcept;

// Makes the folders that lead to `path`. False, with errno, when one of them could not be made.
[[nodiscard]] bool make_parent_folders(const char* path) noexcept;

}  // namespace synctrace::format
