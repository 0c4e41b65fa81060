// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/rule_texts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attribution/cause.h"
#include "findings/remedies/rule_pages.h"
#include "model/check.h"

namespace synctrace {
namespace {

constexpr std::string_view kCodeMark = "```";

// Links show their words, and emphasis goes: a terminal has neither.
std::string without_links(std::string_view text) {
  std::string out;
  bool in_code = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') in_code = !in_code;
    const std::size_t middle = !in_code && text[i] == '[' ? text.find("](", i) : std::string_view::npos;
    const std::size_t end = middle == std::string_view::npos ? middle : text.find(')', middle);
    if (end != std::string_view::npos) {
      out += text.substr(i + 1, middle - i - 1);
      i = end;
    } else if (in_code || text[i] != '*') {
      out += text[i];
    }
  }
  return out;
}

// Goes through the lines of a page: "## ST020 scalar-read", then paragraphs that begin with the bold name of their
// part, and code under the name of its framework.
class PageReader {
 public:
  void take(std::string_view line);
  std::vector<RuleText> sections() { return std::move(sections_); }

 private:
  void begin_section(std::string_view title);
  void take_code(std::string_view line);
  void take_prose(std::string_view line);
  std::string* part_of(std::string_view name);

  std::vector<RuleText> sections_;
  std::string* part_ = nullptr;  // that the lines of this paragraph go on with
  std::string_view framework_;
  bool in_code_ = false;
};

void PageReader::begin_section(std::string_view title) {
  RuleText section;
  const std::size_t blank = title.find(' ');
  if (blank != std::string_view::npos) section.id = title.substr(0, blank);
  section.name = blank == std::string_view::npos ? title : title.substr(blank + 1);
  sections_.push_back(std::move(section));
}

std::string* PageReader::part_of(std::string_view name) {
  RuleText& section = sections_.back();
  if (name == "What.") return &section.what;
  if (name == "Recognised.") return &section.recognised;
  if (name == "Fix.") return &section.fix;
  if (name == "Fine.") return &section.fine;
  return nullptr;
}

void PageReader::take_code(std::string_view line) {
  FixCode& block = sections_.back().code.back();
  if (line == kCodeMark)
    in_code_ = false;
  else if (block.code.empty())
    block.code = {line.data(), line.size() + 1};
  else
    block.code = {block.code.data(), block.code.size() + line.size() + 1};
}

void PageReader::take_prose(std::string_view line) {
  const std::size_t bold_end = line.starts_with("**") ? line.find("**", 2) : std::string_view::npos;
  if (line.empty()) {
    part_ = nullptr;
  } else if (bold_end != std::string_view::npos) {
    part_ = part_of(line.substr(2, bold_end - 2));
    if (part_ != nullptr) *part_ = line.substr(std::min(bold_end + 3, line.size()));
  } else if (part_ != nullptr) {
    *part_ += ' ';
    *part_ += line;
  } else if (line.starts_with(kCodeMark)) {
    in_code_ = true;
    sections_.back().code.push_back({framework_, line.substr(kCodeMark.size()), {}});
  } else if (line.ends_with(':')) {
    framework_ = line.substr(0, line.size() - 1);
  }
}

void PageReader::take(std::string_view line) {
  constexpr std::string_view kSection = "## ";
  if (!in_code_ && line.starts_with(kSection))
    begin_section(line.substr(kSection.size()));
  else if (!sections_.empty())
    in_code_ ? take_code(line) : take_prose(line);
}

std::vector<RuleText> read_page(std::string_view page) {
  PageReader reader;
  while (!page.empty()) {
    const std::size_t end = std::min(page.find('\n'), page.size() - 1);
    reader.take(page.substr(0, page[end] == '\n' ? end : end + 1));
    page.remove_prefix(end + 1);
  }
  std::vector<RuleText> sections = reader.sections();
  for (RuleText& section : sections) {
    for (std::string* part : {&section.what, &section.recognised, &section.fix, &section.fine})
      *part = without_links(*part);
  }
  return sections;
}

template <class Field>
const RuleText* find(std::span<const RuleText> texts, Field field, std::string_view wanted) {
  const auto found =
      std::find_if(texts.begin(), texts.end(), [&](const RuleText& text) { return text.*field == wanted; });
  return found == texts.end() ? nullptr : &*found;
}

}  // namespace

std::string RuleText::title() const { return (id.empty() ? "" : std::string(id) + ' ') + std::string(name); }

std::span<const RuleText> rule_texts() {
  static const std::vector<RuleText> texts = read_page(rules_page());
  return texts;
}

std::span<const RuleText> verdict_texts() {
  static const std::vector<RuleText> texts = read_page(verdicts_page());
  return texts;
}

const RuleText* rule_text(std::string_view id) { return find(rule_texts(), &RuleText::id, id); }

const RuleText& rule_text(const Rule& rule) {
  const RuleText* text = rule_text(rule.id);
  SYNCTRACE_CHECK(text != nullptr);
  return *text;
}

const RuleText* verdict_text(std::string_view word) { return find(verdict_texts(), &RuleText::name, word); }

bool names_a_cause(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kCauseKinds; ++i) {
    if (name == cause_name(static_cast<CauseKind>(i))) return true;
  }
  return false;
}

std::string first_sentence(std::string_view text) {
  bool in_code = false;
  std::size_t end = 0;
  while (end < text.size()) {
    if (text[end] == '`') in_code = !in_code;
    const bool ends_here = !in_code && text[end] == '.' && (end + 1 == text.size() || text[end + 1] == ' ');
    ++end;
    if (ends_here) break;
  }
  return plain_text(text.substr(0, end));
}

std::string plain_text(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '`');
  return plain;
}

}  // namespace synctrace
