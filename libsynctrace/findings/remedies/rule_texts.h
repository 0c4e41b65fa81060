// SPDX-License-Identifier: Apache-2.0
// What each rule and each verdict means, and what to write instead: the sections of docs/rules.md and docs/verdicts.md,
// which are built in, so that no output says other things than the documentation does. Texts are paragraphs of Markdown
// with `code` and nothing else in them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "findings/report/rules.h"

namespace synctrace {

struct FixCode {
  std::string_view framework;  // "PyTorch", "JAX", "CuPy", "CUDA C++"
  std::string_view language;   // the code's: "python", "cpp"
  std::string_view code;       // one to four lines, each with its end
};

struct RuleText {
  std::string_view id;    // "ST020"; empty: a verdict
  std::string_view name;  // "scalar-read"
  std::string what;
  std::string recognised;
  std::string fix;
  std::vector<FixCode> code;  // a rule has one for each framework, a verdict none
  std::string fine;           // when nothing has to be done

  std::string title() const;  // "ST020 scalar-read"
};

// All of a page, in its order. Made once, for good.
std::span<const RuleText> rule_texts();
std::span<const RuleText> verdict_texts();

const RuleText& rule_text(const Rule& rule);
// Null: there is none of this id, or word.
const RuleText* rule_text(std::string_view id);
const RuleText* verdict_text(std::string_view word);

// Whether reports show a cause of this name, which may be no rule's.
bool names_a_cause(std::string_view name) noexcept;

// The first sentence of `what` or `fix`, which stands alone, without the marks of Markdown.
std::string first_sentence(std::string_view text);
// All of a text without these marks.
std::string plain_text(std::string_view text);

}  // namespace synctrace
