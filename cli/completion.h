// SPDX-License-Identifier: Apache-2.0
// What a shell offers behind a half-typed command line. The scripts in completions/ ask `synctrace complete-words
// WORD...`, so that they say nothing of verbs and options themselves.
//
// Answer: lines "word<TAB>help", or one line that begins with ':' and says what else fits: ":files", ":folders", or
// ":program N", where the word of number N (the verb has number 0) begins another program's command line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace synctrace::cli {

// What main() hands to a verb as its first argument; the other words follow.
inline constexpr std::string_view kCompleteWords = "--complete-words";

// Likewise, with the name of an option: the status says whether the verb has it.
inline constexpr std::string_view kHasOption = "--has-option";

struct OptionWords {
  std::vector<std::string> names;  // "--output", "-o"; none: a positional
  std::vector<std::string> values;
  std::string placeholder;  // "FILE"
  std::string help;
  bool takes_value = false;
};

struct VerbWords {
  std::string name;
  std::string help;
  std::vector<OptionWords> options;
  std::vector<VerbWords> verbs;
  bool ends_at_program = false;
};

// `words` are those behind the verb; the last one is being typed and may be empty.
std::string completions(const VerbWords& verb, std::span<const std::string> words);

// "word<TAB>help" where the word begins so.
void offer(std::string_view begun, std::string_view word, std::string_view help, std::string& answer);

}  // namespace synctrace::cli
