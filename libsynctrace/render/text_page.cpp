// SPDX-License-Identifier: Apache-2.0
#include "render/text_page.h"

#include "render/columns.h"
#include "render/places.h"

namespace synctrace {
namespace {

constexpr std::size_t kIndent = 8;       // for what stands below a rule's id
constexpr std::size_t kPlaceShare = 60;  // per cent of a line; the rest is for the source text

}  // namespace

void TextPage::title(std::string_view text) {
  text_ += '\n';
  if (options_.colour)
    line("\x1b[1m{}\x1b[0m", text);
  else
    line("{}", text);
}

void TextPage::field(std::string_view name, std::string_view value) {
  if (!value.empty()) line("  {:<9} {}", name, fitted(value, columns() - 12));
}

void TextPage::wrapped(std::string_view lead, std::string_view text) {
  const std::size_t width = columns() - lead.size();
  const std::string indent(lead.size(), ' ');
  while (text.size() > width) {
    const std::size_t space = text.rfind(' ', width);
    if (space == std::string_view::npos || space == 0) break;
    line("{}{}", lead, text.substr(0, space));
    text.remove_prefix(space + 1);
    lead = indent;
  }
  line("{}{}", lead, text);
}

bool TextPage::place_line(std::string_view id, const SourceLine& where) {
  if (!where.known()) return false;
  const std::size_t room = columns() - kIndent;
  const std::string place = place_words(report_, where, where.source.empty() ? room : columns() * kPlaceShare / 100);
  const std::string source = where.source.empty() ? "" : fitted(where.source, room - 2 - columns_of(place));
  line("  {:<5} {}  {}", id, place, source);
  return true;
}

std::string_view TextPage::place_line(const Rule* rule, const SourceLine& where) {
  const std::string_view id = rule == nullptr ? std::string_view("-") : rule->id;
  return place_line(id, where) ? std::string_view() : id;
}

void TextPage::stack_lines(const SourceLine& where) {
  if (!options_.stacks) return;
  for (const auto& [frame, source, hidden] : where.stack) {
    if (hidden) continue;
    if (frame.kind == FrameKind::kMissing) {
      line("          .. frames are missing here");
      continue;
    }
    line("          {}", place_words(report_, {frame.file, frame.line, frame.function, {}, {}}, columns() - 10));
  }
}

}  // namespace synctrace
