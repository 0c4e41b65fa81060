// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "exit_status.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

// CLI11 would write "[OPTIONS]" behind whatever name it is given.
class Usage : public CLI::Formatter {
 public:
  explicit Usage(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return usage_; }

 private:
  std::string usage_;
};

}  // namespace

CommandOption CommandOption::required() const {
  option_->required();
  return *this;
}

CommandOption CommandOption::one_of(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return *this;
}

CommandOption CommandOption::one_value_each() const {
  option_->allow_extra_args(false);
  return *this;
}

CommandOption CommandOption::excludes(const CommandOption& other) const {
  option_->excludes(other.option_);
  return *this;
}

CommandOption CommandOption::needs(const CommandOption& other) const {
  option_->needs(other.option_);
  return *this;
}

CommandLine::CommandLine(const std::string& purpose, const std::string& name)
    : app_(std::make_shared<CLI::App>(purpose, name)) {}

CommandOption CommandLine::add(const std::string& names, std::string& value, const std::string& help,
                               const std::string& placeholder) const {
  return CommandOption(app_->add_option(names, value, help)->type_name(placeholder));
}

CommandOption CommandLine::add(const std::string& names, std::optional<std::string>& value, const std::string& help,
                               const std::string& placeholder) const {
  return CommandOption(app_->add_option(names, value, help)->type_name(placeholder));
}

CommandOption CommandLine::add(const std::string& names, std::vector<std::string>& values, const std::string& help,
                               const std::string& placeholder) const {
  return CommandOption(app_->add_option(names, values, help)->type_name(placeholder));
}

CommandOption CommandLine::add(const std::string& names, std::optional<std::uint32_t>& value, const std::string& help,
                               const std::string& placeholder) const {
  return CommandOption(app_->add_option(names, value, help)->type_name(placeholder));
}

CommandOption CommandLine::add_number(const std::string& names, std::optional<int>& value, int least, int most,
                                      const std::string& help, const std::string& placeholder) const {
  return CommandOption(app_->add_option(names, value, help)->check(CLI::Range(least, most))->type_name(placeholder));
}

CommandOption CommandLine::add_size(const std::string& names, std::uint64_t& value, std::uint64_t least,
                                    std::uint64_t most, const std::string& help, const std::string& placeholder) const {
  CLI::Option* option = app_->add_option(names, value, help)->transform(CLI::AsSizeValue(true));
  return CommandOption(option->check(CLI::Range(least, most))->type_name(placeholder));
}

CommandOption CommandLine::add_flag(const std::string& names, bool& value, const std::string& help) const {
  return CommandOption(app_->add_flag(names, value, help));
}

CommandLine CommandLine::add_verb(const std::string& name, const std::string& help) const {
  app_->require_subcommand(1);
  return CommandLine(app_->get_subcommand_ptr(app_->add_subcommand(name, help)));
}

void CommandLine::end_at_program(const std::string& usage, const std::string& footer) const {
  app_->formatter(std::make_shared<Usage>(usage));
  app_->footer(footer);
  app_->prefix_command();
}

std::optional<int> CommandLine::parse(int argc, char** argv) const {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app_->help().c_str(), stdout);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    say::error(app_->get_name(), std::string(error.what()) + "; see " + app_->get_name() + " --help.");
    return kExitUsage;
  }
  return std::nullopt;
}

bool CommandLine::was_chosen() const { return app_->parsed(); }

bool CommandLine::has(const std::string& name) const { return app_->count(name) > 0; }

std::vector<std::string> CommandLine::rest() const { return app_->remaining(); }

std::vector<std::string> CommandLine::option_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) names.push_back(option->get_name());
  return names;
}

}  // namespace synctrace::cli
