// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string_view>

#include "base/file_line.h"
#include "base/name_text.h"
#include "base/quantity_text.h"
#include "commands.h"
#include "completion.h"
#include "contract/launch_contract.h"
#include "exit_status.h"
#include "messages.h"
#include "nearest_word.h"

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

// "text, json or md"
std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) list += i + 1 == words.size() ? " or " : ", ";
    list += words[i];
  }
  return list;
}

std::string nearest_of(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return nearest_word(word, views);
}

// The names are as they are typed, those of a verb's second word too.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  for (const CLI::App* verb : app.get_subcommands()) {
    const std::vector<std::string> more = option_names(*verb);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

bool looks_like_option(const std::string& word) { return word.size() > 1 && word[0] == '-' && word != "--"; }

std::string no_such_option(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (const std::string_view command = command_with(name); !command.empty())
    return "there is no option " + name + " here; synctrace " + std::string(command) + " has it.";
  const std::string nearest = nearest_of(name, option_names(app));
  return "there is no option " + name +
         (nearest.empty() ? "; see " + app.get_name() + " --help." : "; did you mean " + nearest + "?");
}

std::string placeholder_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

// What was given for an argument, or else what stands for it: "a.synctrace b.synctrace" or "TRACE...".
std::string shown_values(const CLI::Option& option) {
  if (option.count() == 0) return option.get_single_name() + (option.get_items_expected_max() > 1 ? "..." : "");
  std::string words;
  for (const std::string& value : option.results()) words += (words.empty() ? "" : " ") + shell_word(value);
  return words;
}

// What has to be typed at least: "synctrace import FILE --output TRACE".
std::string least_command(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  std::string text = app.get_name();
  if (!chosen.empty()) return text + " " + least_command(*chosen.front());
  const std::vector<const CLI::App*> verbs = app.get_subcommands([](const CLI::App*) { return true; });
  if (!verbs.empty()) {
    std::vector<std::string> names;
    for (const CLI::App* verb : verbs) names.push_back(verb->get_name());
    return text + " " + listed(names);
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional())
      text += " " + shown_values(*option);
    else if (option->get_required())
      text += " " + option->get_name() + " " + placeholder_of(*option);
  }
  return text;
}

// "--html took a.synctrace as its FILE": why an argument is missing that was typed.
std::string taken_by_option(const CLI::App& app) {
  const std::vector<CLI::Option*>& order = app.parse_order();
  if (order.empty() || order.back()->get_positional() || order.back()->count() == 0) return {};
  const CLI::Option& last = *order.back();
  const std::string& value = last.results().back();
  if (!value.ends_with(format::kTraceSuffix)) return {};
  const std::string name = last.get_name();
  const std::string placeholder = placeholder_of(last);
  return name + " took " + value + " as its " + placeholder + "; type " + app.get_name() + " " + name + " " +
         placeholder + " " + shell_word(value);
}

std::string missing_or_too_much(const CLI::App& app, const CLI::ParseError& error) {
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (!is_missing && dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return {};
  if (std::string taken = taken_by_option(app); is_missing && !taken.empty()) return taken;
  if (!is_missing) return app.remaining(true).front() + " is one too many; type " + least_command(app);
  const bool is_verb =
      !app.get_subcommands([](const CLI::App*) { return true; }).empty() && app.get_subcommands().empty();
  return (is_verb ? "what to do is missing" : std::string(error.what())) + "; type " + least_command(app);
}

std::string missing_value(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return {};
  const std::string sentence = error.what();
  const std::string name = sentence.substr(0, sentence.find(':'));
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr || option->get_items_expected_min() == 0) return {};
  return name + " needs a value; type " + app.get_name() + " " + name + " " + placeholder_of(*option);
}

// A mistyped option is said before what is missing because of it.
std::string mistake_of(const CLI::App& app, const CLI::ParseError& error) {
  for (const std::string& word : app.remaining(true)) {
    if (looks_like_option(word)) return no_such_option(app, word);
  }
  if (std::string sentence = missing_or_too_much(app, error); !sentence.empty()) return sentence;
  if (std::string sentence = missing_value(app, error); !sentence.empty()) return sentence;
  const std::string sentence = error.what();
  const bool has_way_out = sentence.ends_with('.') || sentence.ends_with('?');
  return has_way_out ? sentence : sentence + "; see " + app.get_name() + " --help.";
}

// CLI11 keeps what stands for a value and what a check allows in one text: "FORMAT:{text,json}".
OptionWords words_of(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  words.takes_value = option.get_items_expected_max() > 0;
  words.help = option.get_description();
  words.placeholder = placeholder_of(option);
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  if (open != std::string::npos && close != std::string::npos)
    words.values = CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
  return words;
}

VerbWords words_of(const CLI::App& app) {
  VerbWords words{app.get_name(), app.get_description(), {}, {}, app.get_prefix_command()};
  for (const CLI::Option* option : app.get_options()) words.options.push_back(words_of(*option));
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    words.verbs.push_back(words_of(*verb));
  return words;
}

}  // namespace

CommandOption CommandOption::required() const {
  option_->required();
  return *this;
}

CommandOption CommandOption::one_of(const std::vector<std::string>& values, const std::vector<Instead>& instead) const {
  const auto refusal = [values, instead](const std::string& value) {
    if (std::find(values.begin(), values.end(), value) != values.end()) return std::string();
    std::string sentence = value + " is none of " + listed(values);
    for (const Instead& one : instead) {
      if (one.value == value) return sentence + "; " + one.way_out;
    }
    const std::string nearest = nearest_of(value, values);
    return nearest.empty() ? sentence : sentence + "; did you mean " + nearest + "?";
  };
  option_->check(CLI::Validator(refusal, CLI::detail::generate_set(values)));
  return *this;
}

CommandOption CommandOption::suggests(const std::vector<std::string>& values) const {
  option_->check(CLI::Validator([](const std::string&) { return std::string(); }, CLI::detail::generate_set(values)));
  return *this;
}

CommandOption CommandOption::is_file_line() const {
  option_->check(CLI::Validator(
      [](const std::string& value) {
        return parse_file_line(value) ? std::string() : value + " is not of the form " + kExpectedFileLine;
      },
      ""));
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
  const auto size = [least, most](std::string& text) {
    const std::string given = text;
    try {
      const std::string refused = CLI::AsSizeValue(true)(text);
      if (refused.empty() && CLI::Range(least, most)(text).empty()) return std::string();
    } catch (const CLI::Error&) {  // no number
    }
    return given + " is no size from " + bytes_text(least) + " to " + bytes_text(most) + ", as 5M";
  };
  CLI::Option* option = app_->add_option(names, value, help)->transform(CLI::Validator(size, ""));
  return CommandOption(option->type_name(placeholder));
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
  if (argc > 1 && argv[1] == kCompleteWords) {
    const std::vector<std::string> words(argv + 2, argv + argc);
    std::fputs(completions(words_of(*app_), words).c_str(), stdout);
    return kExitOk;
  }
  if (argc > 2 && argv[1] == kHasOption) {
    const std::vector<std::string> names = option_names(*app_);
    return std::find(names.begin(), names.end(), argv[2]) != names.end() ? kExitOk : kExitNegative;
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app_->help().c_str(), stdout);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    say::error(app_->get_name(), mistake_of(*app_, error));
    return kExitUsage;
  }
  return std::nullopt;
}

bool CommandLine::was_chosen() const { return app_->parsed(); }

bool CommandLine::has(const std::string& name) const { return app_->count(name) > 0; }

std::vector<std::string> CommandLine::rest() const { return app_->remaining(); }

std::optional<std::string> CommandLine::mistyped_option() const {
  const std::vector<std::string> words = rest();
  if (words.empty() || !looks_like_option(words.front())) return std::nullopt;
  return no_such_option(*app_, words.front());
}

}  // namespace synctrace::cli
