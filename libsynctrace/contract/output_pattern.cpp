// SPDX-License-Identifier: Apache-2.0
#include "contract/output_pattern.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <string_view>

#include "contract/launch_contract.h"

namespace synctrace::format {
const char* find_variable(const char* const* environment, std::string_view name) noexcept {
  if (environment == nullptr) return nullptr;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return *environment + name.size() + 1;
    }
  }
  return nullptr;
}

namespace {

constexpr std::string_view kRankInsert = ".rank%r";

// -1 when unset or not a non-negative number.
int number_variable(const char* const* environment, const char* name) noexcept {
  const char* text = name == nullptr ? nullptr : find_variable(environment, name);
  if (text == nullptr) return -1;
  const char* end = text + std::strlen(text);
  int value = -1;
  const auto [rest, error] = std::from_chars(text, end, value);
  return error == std::errc{} && rest == end && value >= 0 ? value : -1;
}

struct Launcher {
  RankSource source;
  const char* rank;
  const char* local_rank;
  const char* world_size;
};

// In order: under Slurm, torchrun's variables count per process and Slurm's per node, so torchrun comes first. RANK
// alone is a common name; only together with WORLD_SIZE is it torchrun's.
constexpr Launcher kLaunchers[] = {
    {RankSource::kTorchrun, "RANK", "LOCAL_RANK", "WORLD_SIZE"},
    {RankSource::kOpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    {RankSource::kPmi, "PMIX_RANK", "PMIX_LOCAL_RANK", "PMIX_SIZE"},
    {RankSource::kPmi, "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
    {RankSource::kMvapich2, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"},
    {RankSource::kHorovod, "HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_SIZE"},
    {RankSource::kSlurm, "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
};

// A launcher may tell no number of ranks. Then another one counts that gave the same rank, or else WORLD_SIZE, by which
// programs say that they are alone.
int size_by_others(const char* const* environment, int rank) noexcept {
  for (const Launcher& launcher : kLaunchers) {
    const int size = number_variable(environment, launcher.world_size);
    if (size >= 0 && number_variable(environment, launcher.rank) == rank) return size;
  }
  return number_variable(environment, "WORLD_SIZE");
}

Rank detect_launcher(const char* const* environment) noexcept {
  for (const Launcher& launcher : kLaunchers) {
    const int rank = number_variable(environment, launcher.rank);
    const int world_size = number_variable(environment, launcher.world_size);
    if (rank < 0 || (launcher.source == RankSource::kTorchrun && world_size < 0)) continue;
    return {rank, number_variable(environment, launcher.local_rank),
            world_size < 0 ? size_by_others(environment, rank) : world_size, launcher.source};
  }
  return {};
}

// substr() without its exception, which would tie the injected library to the C++ runtime. `from` is within the text.
std::string_view part(std::string_view text, std::size_t from, std::size_t length = std::string_view::npos) noexcept {
  text.remove_prefix(from);
  if (length < text.size()) text.remove_suffix(text.size() - length);
  return text;
}

std::string_view file_name(std::string_view path) noexcept { return part(path, path.rfind('/') + 1); }

bool is_python(std::string_view name) noexcept {
  for (const std::string_view interpreter : {std::string_view("python"), std::string_view("pypy")}) {
    if (!name.starts_with(interpreter)) continue;
    if (name.find_first_not_of("0123456789.", interpreter.size()) == std::string_view::npos) return true;
  }
  return false;
}

// Takes one argument after the other off a NUL-separated command line.
class Arguments {
 public:
  explicit Arguments(std::span<const char> text) noexcept : rest_(text.data(), text.size()) {}
  bool done() const noexcept { return rest_.empty(); }
  std::string_view take() noexcept {
    const std::size_t end = rest_.find('\0');
    const std::string_view argument = part(rest_, 0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : part(rest_, end + 1);
    return argument;
  }

 private:
  std::string_view rest_;
};

// The script or module that the interpreter was asked to run; empty for -c, standard input and the prompt.
std::string_view python_program(Arguments arguments) noexcept {
  while (!arguments.done()) {
    const std::string_view argument = arguments.take();
    if (argument.empty() || argument == "-") return {};
    if (argument[0] != '-') {
      std::string_view script = argument;
      while (script.size() > 1 && script.ends_with('/')) script.remove_suffix(1);
      script = file_name(script);
      if (script.size() > 3 && script.ends_with(".py")) script.remove_suffix(3);
      return script;
    }
    if (argument == "--check-hash-based-pycs") arguments.take();
    if (argument.starts_with("--")) continue;
    for (std::size_t i = 1; i < argument.size(); ++i) {  // "-um train": letters may share one dash
      const std::string_view attached = part(argument, i + 1);
      if (argument[i] == 'c') return {};
      if (argument[i] == 'm') return attached.empty() ? arguments.take() : attached;
      if (argument[i] != 'X' && argument[i] != 'W') continue;
      if (attached.empty()) arguments.take();
      break;
    }
  }
  return {};
}

// Appends to OutputName::path; remembers when it did not fit.
class PathText {
 public:
  explicit PathText(OutputName& name) noexcept : name_(name) {}
  bool fits() const noexcept { return fits_; }

  void add(char character) noexcept {
    if (name_.length + 1 >= sizeof name_.path) {
      fits_ = false;
      return;
    }
    name_.path[name_.length++] = character;
    name_.path[name_.length] = '\0';
  }
  void add(std::string_view text) noexcept {
    for (const char character : text) add(character);
  }
  void add_number(std::uint64_t number) noexcept {
    char digits[20];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
    if (error == std::errc{}) add(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }
  // A value that the user did not write as a path.
  void add_value(std::string_view value) noexcept {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto character = static_cast<unsigned char>(value[i]);
      const bool harmless = character != '/' && character >= 0x20 && character != 0x7f && (i > 0 || character != '.');
      add(harmless ? value[i] : '_');
    }
  }

 private:
  OutputName& name_;
  bool fits_ = true;
};

void note_unset(std::string_view variable, OutputName& out) noexcept {
  if (out.unset_variable[0] != '\0') return;
  const std::size_t length =
      variable.size() < sizeof out.unset_variable - 1 ? variable.size() : sizeof out.unset_variable - 1;
  std::memcpy(out.unset_variable, variable.data(), length);
  out.unset_variable[length] = '\0';
}

// Expands the pattern at `position`, which is behind the '%', and moves `position` behind it.
PatternStatus expand_one(std::string_view pattern, std::size_t& position, const ProcessFacts& facts, PathText& text,
                         OutputName& out) noexcept {
  const auto or_else = [](int number, int fallback) {
    return static_cast<std::uint64_t>(number < 0 ? fallback : number);
  };
  switch (position < pattern.size() ? pattern[position++] : '\0') {
    case 'p': text.add_number(facts.process_id); return PatternStatus::kOk;
    case 'h': text.add_value(facts.host); return PatternStatus::kOk;
    case 'e': text.add_value(facts.program); return PatternStatus::kOk;
    case 'r': text.add_number(or_else(facts.rank.rank, 0)); return PatternStatus::kOk;
    case 'l': text.add_number(or_else(facts.rank.local_rank, 0)); return PatternStatus::kOk;
    case 'w': text.add_number(or_else(facts.rank.world_size, 1)); return PatternStatus::kOk;
    case '%': text.add('%'); return PatternStatus::kOk;
    case 'q': break;
    default: return PatternStatus::kUnknownPattern;
  }
  const std::size_t close = pattern.find('}', position);
  if (position >= pattern.size() || pattern[position] != '{' || close == std::string_view::npos ||
      close == position + 1) {
    return PatternStatus::kUnclosedBrace;
  }
  const std::string_view variable = part(pattern, position + 1, close - position - 1);
  position = close + 1;
  const char* value = find_variable(facts.environment, variable);
  if (value == nullptr) {
    note_unset(variable, out);
  } else {
    text.add_value(value);
  }
  return PatternStatus::kOk;
}

PatternStatus expand_text(std::string_view pattern, const ProcessFacts& facts, PathText& text,
                          OutputName& out) noexcept {
  for (std::size_t position = 0; position < pattern.size();) {
    out.error_at = position;
    if (pattern[position] != '%') {
      text.add(pattern[position++]);
      continue;
    }
    const PatternStatus status = expand_one(pattern, ++position, facts, text, out);
    if (status != PatternStatus::kOk) return status;
  }
  return PatternStatus::kOk;
}

// Whether processes of one job get different names. Does not mistake "%%p" for "%p".
bool names_differ(std::string_view pattern) noexcept {
  for (std::size_t position = pattern.find('%'); position < pattern.size();
       position = pattern.find('%', position + 2)) {
    const char letter = position + 1 < pattern.size() ? pattern[position + 1] : '\0';
    if (letter == 'p' || letter == 'r' || letter == 'h') return true;
  }
  return false;
}

}  // namespace

Rank detect_rank(const char* const* environment) noexcept {
  Rank rank = detect_launcher(environment);
  const int given = number_variable(environment, kEnvRank);
  if (given < 0) return rank;
  rank.rank = given;
  rank.source = RankSource::kUser;
  return rank;
}

const char* describe(RankSource source) noexcept {
  switch (source) {
    case RankSource::kUser: return "the user (SYNCTRACE_RANK)";
    case RankSource::kTorchrun: return "torchrun (RANK)";
    case RankSource::kOpenMpi: return "Open MPI (OMPI_COMM_WORLD_RANK)";
    case RankSource::kPmi: return "PMI (PMIX_RANK or PMI_RANK)";
    case RankSource::kMvapich2: return "MVAPICH2 (MV2_COMM_WORLD_RANK)";
    case RankSource::kSlurm: return "Slurm (SLURM_PROCID)";
    case RankSource::kHorovod: return "Horovod (HOROVOD_RANK)";
    case RankSource::kNone: break;
  }
  return "no launcher";
}

ProgramName program_name(std::span<const char> command_line) noexcept {
  Arguments arguments(command_line);
  std::string_view name = file_name(arguments.take());
  if (is_python(name)) {
    const std::string_view program = python_program(arguments);
    if (!program.empty()) name = program;
  }
  if (name.empty()) name = "program";
  ProgramName result{};
  name = part(name, 0, sizeof result.text - 1);
  std::memcpy(result.text, name.data(), name.size());
  return result;
}

PatternStatus expand_output_pattern(const char* pattern, const ProcessFacts& facts, OutputName& out) noexcept {
  out.path[0] = out.unset_variable[0] = '\0';
  out.length = out.error_at = 0;
  out.rank_added = false;

  std::string_view head = pattern == nullptr ? kDefaultOutputPattern : pattern;
  if (head.empty()) return PatternStatus::kEmpty;
  std::string_view tail = head.ends_with('/') ? std::string_view(kDefaultOutputPattern) : std::string_view{};
  if (head.ends_with(kTraceSuffix)) head.remove_suffix(kTraceSuffix.size());
  if (const std::string_view usual = kDefaultOutputPattern; tail.empty() && file_name(head) == usual) {
    head.remove_suffix(usual.size());
    tail = usual;
  }
  if (!tail.empty() && facts.rank.one_of_many()) tail = kDefaultRankPattern;

  PathText text(out);
  PatternStatus status = expand_text(head, facts, text, out);
  if (status == PatternStatus::kOk && !tail.empty()) status = expand_text(tail, facts, text, out);
  if (status == PatternStatus::kOk && (out.length == 0 || out.path[out.length - 1] == '/')) {
    status = PatternStatus::kEmpty;
  }
  if (status == PatternStatus::kOk && facts.rank.one_of_many() && !names_differ(head) && !names_differ(tail)) {
    out.rank_added = true;
    status = expand_text(kRankInsert, facts, text, out);
  }
  if (status == PatternStatus::kOk) {
    text.add(kTraceSuffix);
    // Room for ".partial" is part of the bargain: the file is written under that name first.
    if (!text.fits() || out.length + kPartialSuffix.size() >= PATH_MAX) status = PatternStatus::kTooLong;
  }
  if (status != PatternStatus::kOk) out.path[out.length = 0] = '\0';
  return status;
}

bool add_number(OutputName& name, std::uint32_t number) noexcept {
  const std::string_view whole(name.path, name.length);
  if (whole.ends_with(kTraceSuffix)) name.length -= kTraceSuffix.size();
  PathText text(name);
  text.add('.');
  text.add_number(number);
  text.add(kTraceSuffix);
  return text.fits() && name.length + kPartialSuffix.size() < PATH_MAX;
}

bool has_number(const OutputName& name, std::uint32_t number) noexcept {
  char digits[16];
  digits[0] = '.';
  char* end = std::to_chars(digits + 1, digits + sizeof digits - 1, number).ptr;
  *end++ = '.';
  return file_name({name.path, name.length}).find({digits, static_cast<std::size_t>(end - digits)}) !=
         std::string_view::npos;
}

bool make_parent_folders(const char* path) noexcept {
  char folder[PATH_MAX];
  const std::size_t length = std::strlen(path);
  if (length >= sizeof folder) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(folder, path, length + 1);
  for (std::size_t i = 1; i < length; ++i) {
    if (folder[i] != '/') continue;
    folder[i] = '\0';
    if (::mkdir(folder, 0777) != 0 && errno != EEXIST) {
      // A folder that exists may refuse for another reason first (read-only file system, missing right to look).
      struct stat status {};
      const int reason = errno;
      if (::stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) {
        errno = reason;
        return false;
      }
    }
    folder[i] = '/';
  }
  return true;
}

}  // namespace synctrace::format
