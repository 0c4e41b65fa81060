// SPDX-License-Identifier: Apache-2.0
// Report -> Markdown as code hosts show it, for issues and reviews: verdict, one row for each cause, the waits, and
// what could not be known. Texts of the program stand in code spans, where nothing in them is markup, a link or a
// mention.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "findings/report/report.h"

namespace synctrace {

std::string render_markdown(std::span<const Report> reports);

// A sentence of ours, which may quote what the program says.
std::string markdown_text(std::string_view sentence);

// A text as a code span that is safe in a table; nothing for an empty one.
std::string markdown_code(std::string_view text);
// Likewise, and nothing of it is cut: what is to be pasted.
std::string markdown_whole_code(std::string_view text);

}  // namespace synctrace
