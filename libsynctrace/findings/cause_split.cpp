// SPDX-License-Identifier: Apache-2.0
#include "findings/cause_split.h"

#include "base/format_text.h"
#include "base/name_text.h"

namespace synctrace {

Nanoseconds counted_ns(const Report& report, const IdleCause& cause) noexcept {
  return report.steps.figures.count > 0 ? cause.steady_ns : cause.idle_ns;
}

CauseSplit split_causes(const Report& report, const std::vector<IdleCause>& causes) {
  CauseSplit split;
  const bool has_steps = report.steps.figures.count > 0;
  for (const IdleCause& cause : causes) {
    split.all_ns += cause.idle_ns;
    if (is_edge(cause.kind)) {
      split.edges.push_back(&cause);
      continue;
    }
    const Nanoseconds counted = counted_ns(report, cause);
    split.counted_ns += counted;
    const Nanoseconds irregular_ns = has_steps ? cause.irregular_ns : 0;
    split.irregular_ns += irregular_ns;
    split.outside_ns += cause.idle_ns - counted - irregular_ns;
    if (counted > 0) split.rows.push_back(&cause);
  }
  split.shown_ns = has_steps ? split.counted_ns : split.all_ns;
  split.edges_of_ns = has_steps ? 0 : split.all_ns;
  return split;
}

std::string note_of(const IdleCause& cause) {
  if (!cause.reason.empty()) return cause.reason;
  if (cause.until.file.empty() && cause.until.known()) return "before " + function_text(cause.until.function);
  if (cause.until.known()) {
    const bool same_file = cause.until.file == cause.where.file;
    return format_text("before {}:{}", same_file ? "" : cause.until.file.substr(cause.until.file.rfind('/') + 1),
                       cause.until.line);
  }
  if (!cause.activities.empty()) {
    const IdleActivity& most = cause.activities.front();
    return format_text("most of it {}", most.name);
  }
  return cause.where.known() ? "" : cause.call;
}

}  // namespace synctrace
