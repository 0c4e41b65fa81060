// SPDX-License-Identifier: Apache-2.0
// The two states of a repository that a trial runs in: worktrees in a temporary folder. The user's own tree and its
// index are only read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "try/timed_runs.h"

namespace synctrace::cli {

struct WantedStates {
  std::vector<std::string> refs;  // one, or two
  std::string patch;              // or this
};

struct Checkout {
  std::string folder;  // where the command runs: as deep in the worktree as the user stands in the repository
  std::string state;   // "HEAD with fix.diff"
};

class Checkouts {
 public:
  explicit Checkouts(TimedRuns& runs) : runs_(runs) {}
  ~Checkouts() { remove(); }
  Checkouts(const Checkouts&) = delete;
  Checkouts& operator=(const Checkouts&) = delete;

  // The error, if there was one: a sentence. An end by the user is none.
  std::optional<Error> make(const WantedStates& wanted);
  // The error where something stays behind.
  std::optional<Error> remove();

  const Checkout& before() const noexcept { return sides_[0]; }
  const Checkout& after() const noexcept { return sides_[1]; }
  const std::string& top() const noexcept { return top_; }                   // the user's tree
  const std::vector<std::string>& notes() const noexcept { return notes_; }  // sentences

  // Files that the program left in a worktree, by its first names; empty: none.
  std::string new_files(std::size_t side);

 private:
  struct Answer {
    ProgramEnd end;
    std::string out;
    std::string err;
    std::string first_error() const;
  };
  Answer git(const std::vector<std::string>& words, const std::string& folder = {});
  void remove_left();
  std::optional<Error> find_repository();
  std::optional<Error> find_commits(const WantedStates& wanted);
  std::optional<Error> look_at_changes(const WantedStates& wanted);
  std::optional<Error> check_out(std::size_t side);
  std::optional<Error> apply_changes(std::size_t side);
  std::optional<Error> apply_patch(const std::string& patch);
  bool applies(std::size_t side, const std::string& file, bool backwards, Answer& last);
  std::string tree(std::size_t side) const { return folder_ + (side == 0 ? "/a" : "/b"); }

  TimedRuns& runs_;
  std::string top_;
  std::string prefix_;  // "sub/folder", or empty
  std::string folder_;  // ours; empty: not made
  std::string commits_[2];
  std::string changes_;  // uncommitted ones, as a patch
  bool has_changes_[2] = {false, false};
  bool is_added_[2] = {false, false};
  Checkout sides_[2];
  std::vector<std::string> notes_;
};

// Our environment without what git sets for its hooks.
std::vector<std::string> environment_without_git();

}  // namespace synctrace::cli
