// SPDX-License-Identifier: Apache-2.0
#include "completion.h"

#include <algorithm>
#include <cstddef>

namespace synctrace::cli {
namespace {

const OptionWords* find_option(const VerbWords& verb, std::string_view name) {
  for (const OptionWords& option : verb.options) {
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return &option;
  }
  return nullptr;
}

const VerbWords* find_verb(const VerbWords& verb, std::string_view name) {
  for (const VerbWords& inner : verb.verbs) {
    if (inner.name == name) return &inner;
  }
  return nullptr;
}

// bash takes a word apart at '='. What was typed behind it is a value then, not "--format=js".
struct Words {
  std::vector<std::string> whole;
  std::vector<std::size_t> numbers;  // beside them: of the first part
  bool value_alone = false;          // whether the last one is only a value
};

Words joined(std::span<const std::string> words) {
  Words result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool goes_on = i > 0 && words[i] == "=" && result.whole.back().starts_with("--");
    if (!goes_on) {
      result.whole.push_back(words[i]);
      result.numbers.push_back(i);
      continue;
    }
    result.whole.back() += '=';
    result.value_alone = i + 2 >= words.size();
    if (i + 1 < words.size()) result.whole.back() += words[++i];
  }
  return result;
}

std::string offer_values(const OptionWords* option, std::string_view before, std::string_view begun) {
  std::string answer;
  if (option == nullptr) return ":files\n";
  for (const std::string& value : option->values) offer(begun, std::string(before) + value, {}, answer);
  if (!option->values.empty()) return answer;
  if (option->placeholder == "FOLDER") return ":folders\n";
  const bool is_file = option->names.empty() || option->placeholder == "FILE" || option->placeholder == "PATH" ||
                       option->placeholder == "PATTERN" || option->placeholder == "TEXT";
  return is_file ? ":files\n" : "";
}

std::string offer_options(const VerbWords& verb, std::string_view begun) {
  std::string answer;
  for (const OptionWords& option : verb.options) {
    for (const std::string& name : option.names) offer(begun, name, option.help, answer);
  }
  return answer;
}

const OptionWords* positional(const VerbWords& verb) {
  const auto found = std::find_if(verb.options.begin(), verb.options.end(),
                                  [](const OptionWords& option) { return option.names.empty(); });
  return found == verb.options.end() ? nullptr : &*found;
}

std::string offer_word(const VerbWords& verb, std::string_view begun, bool value_alone) {
  const std::size_t equals = begun.find('=');
  if (begun.starts_with("--") && equals != std::string_view::npos) {
    const std::string_view value = begun.substr(equals + 1);
    const OptionWords* option = find_option(verb, begun.substr(0, equals));
    return value_alone ? offer_values(option, {}, value) : offer_values(option, begun.substr(0, equals + 1), begun);
  }
  if (begun.starts_with('-')) return offer_options(verb, begun);
  if (verb.verbs.empty()) return offer_values(positional(verb), {}, begun);
  std::string answer;
  for (const VerbWords& inner : verb.verbs) offer(begun, inner.name, inner.help, answer);
  return answer;
}

}  // namespace

void offer(std::string_view begun, std::string_view word, std::string_view help, std::string& answer) {
  if (word.starts_with(begun)) answer.append(word).append("\t").append(help.substr(0, help.find('\n'))).append("\n");
}

std::string completions(const VerbWords& verb, std::span<const std::string> words) {
  const Words typed = joined(words);
  if (typed.whole.empty()) return offer_word(verb, {}, false);
  const VerbWords* inner = &verb;
  const OptionWords* waiting = nullptr;  // for its value
  for (std::size_t i = 0; i < typed.whole.size(); ++i) {
    const std::string& word = typed.whole[i];
    const bool is_last = i + 1 == typed.whole.size();
    const bool is_option = word.starts_with('-') && word != "-";
    if (waiting != nullptr) {
      if (is_last) return offer_values(waiting, {}, word);
      waiting = nullptr;
    } else if (word == "--" && !is_last) {
      return inner->ends_at_program ? ":program " + std::to_string(typed.numbers[i] + 2) + "\n" : ":files\n";
    } else if (!is_option && inner->ends_at_program) {
      return ":program " + std::to_string(typed.numbers[i] + 1) + "\n";
    } else if (is_last) {
      return offer_word(*inner, word, typed.value_alone);
    } else if (is_option) {
      const OptionWords* option = find_option(*inner, word);
      if (option != nullptr && option->takes_value) waiting = option;
    } else if (const VerbWords* chosen = find_verb(*inner, word)) {
      inner = chosen;
    }
  }
  return {};
}

}  // namespace synctrace::cli
