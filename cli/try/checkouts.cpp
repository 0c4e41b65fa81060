// SPDX-License-Identifier: Apache-2.0
#include "try/checkouts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/format_text.h"
#include "base/name_text.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 1U << 30;  // git may print so much
constexpr std::size_t kNamedFiles = 3;

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

std::vector<std::string> parts_of(const std::string& text, char end) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t stop = std::min(text.find(end, begin), text.size());
    parts.push_back(text.substr(begin, stop - begin));
    begin = stop + 1;
  }
  return parts;
}

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

// "synctrace-try-PID-XXXXXX": the process tells what was left by one that was killed.
constexpr std::string_view kFolderName = "synctrace-try-";

std::vector<std::string> temporary_parents() {
  std::vector<std::string> parents;
  if (const char* preferred = std::getenv("TMPDIR"); preferred != nullptr && *preferred != '\0')
    parents.emplace_back(preferred);
  parents.emplace_back("/tmp");
  return parents;
}

std::string temporary_folder() {
  for (const std::string& parent : temporary_parents()) {
    std::error_code failed;
    std::string path = fs::absolute(format_text("{}/{}{}-XXXXXX", parent, kFolderName, getpid()), failed).string();
    if (!failed && mkdtemp(path.data()) != nullptr) return path;
  }
  return {};
}

// Folders of ours whose process is gone.
std::vector<std::string> left_folders() {
  std::vector<std::string> left;
  for (const std::string& parent : temporary_parents()) {
    std::error_code failed;
    for (const fs::directory_entry& entry : fs::directory_iterator(parent, failed)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kFolderName)) continue;
      const std::string_view rest = std::string_view(name).substr(kFolderName.size());
      int process = 0;
      std::from_chars(rest.data(), rest.data() + rest.size(), process);
      struct stat owner {};
      if (process > 1 && kill(process, 0) != 0 && errno == ESRCH && lstat(entry.path().c_str(), &owner) == 0 &&
          S_ISDIR(owner.st_mode) && owner.st_uid == geteuid())
        left.push_back(entry.path().string());
    }
  }
  return left;
}

}  // namespace

std::vector<std::string> environment_without_git() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool is_gits = text.starts_with("GIT_DIR=") || text.starts_with("GIT_INDEX_FILE=") ||
                         text.starts_with("GIT_WORK_TREE=") || text.starts_with("GIT_PREFIX=");
    if (!is_gits) entries.emplace_back(text);
  }
  return entries;
}

std::string Checkouts::Answer::first_error() const {
  const std::string line = err.substr(0, err.find('\n'));
  for (const std::string_view lead : {"error: ", "fatal: "}) {
    if (line.starts_with(lead)) return line.substr(lead.size());
  }
  return line.empty() ? "git ended with status " + std::to_string(end.exit_status) : line;
}

// Without the repository's hooks, without locks of its index, and with words that we know.
Checkouts::Answer Checkouts::git(const std::vector<std::string>& words, const std::string& folder) {
  Answer answer;
  ProgramCall call;
  call.words = {"git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"};
  call.words.insert(call.words.end(), words.begin(), words.end());
  call.folder = folder;
  call.environment = environment_without_git();
  for (const char* entry : {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"})
    call.environment.insert(call.environment.begin(), entry);
  call.take = [&](std::size_t stream, std::string_view bytes) {
    std::string& text = stream == 0 ? answer.out : answer.err;
    if (text.size() + bytes.size() <= kMostBytes) text.append(bytes);
  };
  answer.end = runs_.run({&call, 1}, 0).front();
  return answer;
}

std::optional<Error> Checkouts::find_repository() {
  const Answer found = git({"rev-parse", "--show-toplevel", "--show-prefix"});
  if (found.end.was_stopped) return std::nullopt;
  if (found.end.start_error != 0)
    return Error{"--patch and --ref need git, and there is none here; install it, or give two commands."};
  const std::vector<std::string> lines = parts_of(found.out, '\n');
  if (!found.end.is_good() || lines.empty())
    return Error{
        "--patch and --ref need a git repository, and this folder is in none; go to one, or give two commands."};
  top_ = lines[0];
  prefix_ = lines.size() > 1 ? lines[1] : "";
  while (prefix_.ends_with('/')) prefix_.pop_back();
  return std::nullopt;
}

std::optional<Error> Checkouts::find_commits(const WantedStates& wanted) {
  const std::vector<std::string> refs = wanted.refs.empty() ? std::vector<std::string>{"HEAD"} : wanted.refs;
  for (std::size_t side = 0; side < 2; ++side) {
    const std::string ref = side < refs.size() ? refs[side] : "HEAD";
    sides_[side].state = ref;
    const Answer found = ref.starts_with('-') ? Answer{{.exit_status = 1}, {}, {}}
                                              : git({"rev-parse", "--verify", "--quiet", ref + "^{commit}"});
    if (found.end.was_stopped) return std::nullopt;
    if (!found.end.is_good() && ref == "HEAD") return Error{"this repository has no commit yet; make one first."};
    if (!found.end.is_good())
      return Error{"--ref " + ref + ": there is no such commit here; fetch it first, or name another."};
    commits_[side] = without_line_end(found.out);
    const Answer files = git({"ls-tree", "-r", "-z", commits_[side]}, top_);
    for (const std::string& file : parts_of(files.out, '\0')) {
      if (!file.starts_with("160000 ")) continue;
      return Error{"this repository has a submodule (" + file.substr(file.find('\t') + 1) +
                   "), which a second checkout would lack; check out both states yourself and give two commands: "
                   "synctrace try -- 'cd A && COMMAND' -- 'cd B && COMMAND'"};
    }
  }
  return std::nullopt;
}

// With a patch both sides stand on the tree as it is; with one ref the second side does; with two refs none does.
std::optional<Error> Checkouts::look_at_changes(const WantedStates& wanted) {
  const Answer status = git({"status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames"}, top_);
  if (status.end.was_stopped) return std::nullopt;
  std::size_t changed = 0;
  std::size_t untracked = 0;
  for (const std::string& file : parts_of(status.out, '\0')) ++(file.starts_with("??") ? untracked : changed);
  has_changes_[0] = changed > 0 && wanted.refs.empty();
  has_changes_[1] = changed > 0 && wanted.refs.size() < 2;
  const std::string where = wanted.refs.empty() ? "both sides" : "the second side";
  if (changed > 0 && !has_changes_[1]) notes_.push_back("Uncommitted changes of the working tree are on neither side.");
  if (has_changes_[1])
    notes_.push_back(
        format_text("Uncommitted changes of {} file{} are on {}.", changed, changed == 1 ? "" : "s", where));
  if (untracked > 0 && wanted.refs.size() < 2)
    notes_.push_back("Untracked files are on neither side: git add what belongs to the program.");
  if (commits_[0] == commits_[1] && has_changes_[0] == has_changes_[1] && wanted.patch.empty())
    notes_.push_back("Both sides are the same commit without a change, so no difference is to be expected.");
  for (const std::size_t side : {0U, 1U}) {
    if (has_changes_[side]) sides_[side].state += " and uncommitted changes";
  }
  if (!has_changes_[1]) return std::nullopt;
  const Answer diff = git({"diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color",
                           "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", "HEAD"},
                          top_);
  if (diff.end.was_stopped) return std::nullopt;
  if (!diff.end.is_good()) return Error{"the uncommitted changes cannot be read: " + diff.first_error()};
  changes_ = diff.out;
  return std::nullopt;
}

std::optional<Error> Checkouts::check_out(std::size_t side) {
  is_added_[side] = true;
  const Answer added = git({"worktree", "add", "--detach", "--quiet", tree(side), commits_[side]}, top_);
  if (added.end.was_stopped) return std::nullopt;
  if (!added.end.is_good()) return Error{"no worktree can be made: " + added.first_error()};
  std::error_code failed;
  if (!prefix_.empty() && !fs::is_directory(tree(side) + "/" + prefix_, failed))
    return Error{"the folder " + prefix_ + " is not in " + sides_[side].state +
                 "; start synctrace try in another one."};
  sides_[side].folder = prefix_.empty() ? tree(side) : tree(side) + "/" + prefix_;
  return std::nullopt;
}

bool Checkouts::applies(std::size_t side, const std::string& file, bool backwards, Answer& last) {
  for (const char* strip : {"-p1", "-p0"}) {
    std::vector<std::string> words = {"apply", "--whitespace=nowarn", strip};
    if (backwards) words.insert(words.end(), {"--reverse", "--check"});
    words.push_back(file);
    Answer tried = git(words, tree(side));
    const bool is_good = tried.end.is_good();
    if (is_good || strip[2] == '1') last = std::move(tried);
    if (is_good) return true;
  }
  return false;
}

std::optional<Error> Checkouts::apply_changes(std::size_t side) {
  const std::string file = folder_ + "/changes.diff";
  std::ofstream(file, std::ios::binary) << changes_;
  Answer last;
  if (applies(side, file, false, last) || last.end.was_stopped) return std::nullopt;
  return Error{"the uncommitted changes cannot be carried over: " + last.first_error() + "; commit them first."};
}

std::optional<Error> Checkouts::apply_patch(const std::string& patch) {
  const std::string file = fs::absolute(patch).string();
  Answer last;
  sides_[1].state += " with " + file_name(patch);
  if (applies(1, file, false, last) || last.end.was_stopped) return std::nullopt;
  Answer ignored;
  if (applies(0, file, true, ignored)) {
    return Error{patch +
                 " is in the working tree already; time the tree against its last commit: synctrace try --ref "
                 "HEAD -- COMMAND"};
  }
  return Error{patch + " does not apply to " + sides_[0].state + ": " + last.first_error()};
}

std::optional<Error> Checkouts::make(const WantedStates& wanted) {
  if (!wanted.patch.empty() && access(wanted.patch.c_str(), R_OK) != 0)
    return Error{"--patch " + wanted.patch + " cannot be read; name a file that git diff wrote."};
  const auto is_over = [&] { return runs_.ended_by() != 0; };
  if (auto wrong = find_repository(); wrong || is_over()) return wrong;
  if (auto wrong = find_commits(wanted); wrong || is_over()) return wrong;
  if (auto wrong = look_at_changes(wanted); wrong || is_over()) return wrong;
  remove_left();
  folder_ = temporary_folder();
  if (folder_.empty()) return Error{"no temporary folder can be made; set TMPDIR."};
  for (const std::size_t side : {0U, 1U}) {
    if (auto wrong = check_out(side); wrong || is_over()) return wrong;
    if (!has_changes_[side]) continue;
    if (auto wrong = apply_changes(side); wrong || is_over()) return wrong;
  }
  return wanted.patch.empty() ? std::nullopt : apply_patch(wanted.patch);
}

// Only checkouts of this repository: git refuses others, and these wait for a trial of theirs.
void Checkouts::remove_left() {
  for (const std::string& folder : left_folders()) {
    bool is_ours = false;
    for (const char* side : {"/a", "/b"})
      is_ours |= git({"worktree", "remove", "--force", "--force", folder + side}, top_).end.is_good();
    std::error_code ignored;
    if (is_ours) fs::remove_all(folder, ignored);
  }
}

std::optional<Error> Checkouts::remove() {
  if (folder_.empty()) return std::nullopt;
  runs_.go_on_anyway();
  std::error_code failed;
  // Twice forced, since one that git was ended in the middle of is locked. Where that does not do, it does as soon as
  // the folder is gone.
  for (const bool is_gone : {false, true}) {
    for (const std::size_t side : {0U, 1U}) {
      if (is_added_[side] && git({"worktree", "remove", "--force", "--force", tree(side)}, top_).end.is_good())
        is_added_[side] = false;
    }
    if (!is_gone) fs::remove_all(folder_, failed);
  }
  const std::string folder = std::exchange(folder_, {});
  return failed ? std::optional<Error>(Error{"cannot remove " + folder + ": " + failed.message()}) : std::nullopt;
}

std::string Checkouts::new_files(std::size_t side) {
  const Answer status = git({"status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames"}, tree(side));
  std::string names;
  std::size_t count = 0;
  for (const std::string& file : parts_of(status.out, '\0')) {
    if (!file.starts_with("?? ") || file.find("__pycache__") != std::string::npos) continue;
    if (count++ < kNamedFiles) names += (names.empty() ? "" : ", ") + file.substr(3);
  }
  return count > kNamedFiles ? names + format_text(" and {} more", count - kNamedFiles) : names;
}

}  // namespace synctrace::cli
