// SPDX-License-Identifier: Apache-2.0
// The options of a verb, by CLI11. Only command_line.cpp includes CLI11's headers: they take seconds of each compile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace synctrace::cli {

// A value that an option does not take, and what to type for it.
struct Instead {
  std::string value;
  std::string way_out;
};

// A handle: copies are the same option.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CommandOption required() const;
  CommandOption one_of(const std::vector<std::string>& values, const std::vector<Instead>& instead = {}) const;
  CommandOption suggests(const std::vector<std::string>& values) const;  // to shells; whoever takes the value checks it
  CommandOption is_file_line() const;                                    // "train.py:88"
  CommandOption one_value_each() const;  // what follows the value of a list is not another one
  CommandOption excludes(const CommandOption& other) const;
  CommandOption needs(const CommandOption& other) const;

 private:
  CLI::Option* option_;
};

// A handle: copies are the same command line. Names are "-o,--output", or "TRACE" of what needs no dash; `placeholder`
// stands for the value in the help.
class CommandLine {
 public:
  CommandLine(const std::string& purpose, const std::string& name);

  CommandOption add(const std::string& names, std::string& value, const std::string& help,
                    const std::string& placeholder) const;
  CommandOption add(const std::string& names, std::optional<std::string>& value, const std::string& help,
                    const std::string& placeholder) const;
  CommandOption add(const std::string& names, std::vector<std::string>& values, const std::string& help,
                    const std::string& placeholder) const;
  CommandOption add(const std::string& names, std::optional<std::uint32_t>& value, const std::string& help,
                    const std::string& placeholder) const;
  CommandOption add_number(const std::string& names, std::optional<int>& value, int least, int most,
                           const std::string& help, const std::string& placeholder) const;
  // A number of bytes, with or without k, M or G.
  CommandOption add_size(const std::string& names, std::uint64_t& value, std::uint64_t least, std::uint64_t most,
                         const std::string& help, const std::string& placeholder) const;
  CommandOption add_flag(const std::string& names, bool& value, const std::string& help) const;

  // A second word, with options of its own. Where there are some, one is required.
  CommandLine add_verb(const std::string& name, const std::string& help) const;

  // What follows the options is not for us, from the first word that is none of them: see rest().
  void end_at_program(const std::string& usage, const std::string& footer) const;

  // Fills what was told to be filled: help goes to stdout, a mistake to stderr in one line. A value is the exit status
  // with which to end at once.
  std::optional<int> parse(int argc, char** argv) const;

  // After parse().
  bool was_chosen() const;  // a verb
  bool has(const std::string& name) const;
  std::vector<std::string> rest() const;
  // Says what is wrong where the first word of rest() looks like an option.
  std::optional<std::string> mistyped_option() const;

 private:
  explicit CommandLine(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}
  std::shared_ptr<CLI::App> app_;
};

}  // namespace synctrace::cli
