// SPDX-License-Identifier: Apache-2.0
// The ranked table of causes. Each opens to what is behind it: what to do, the stack with its source lines, how long
// the stretches and the waits were.
#include <algorithm>
#include <string>
#include <vector>

#include "base/format_text.h"
#include "base/name_text.h"
#include "base/quantity_text.h"
#include "findings/cause_split.h"
#include "findings/fix_words.h"
#include "render/columns.h"
#include "render/page/section_parts.h"
#include "render/words.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kRowsInSight = 8;  // the others open
constexpr Nanoseconds kSmallShare = 50;  // a table of less than one part in so many of the time opens

// Computing, copying, and idle time by cause, in the order of the table: of the whole run.
void device_bar(const Report& report, const DeviceReport& device, HtmlOut& out) {
  const DeviceState& state = device.state;
  const std::string name = device.name.empty() ? "" : ", " + device.name + (report.simulated ? " (simulated)" : "");
  out.add(
      "<figure class=\"device\"><figcaption><b>GPU {}</b>{}, in the whole run: busy {}, copying only {}, idle "
      "{}</figcaption>\n",
      device.id, name, share_text(state.compute_ns, state.window_ns), share_text(state.copy_only_ns, state.window_ns),
      share_text(state.idle_ns, state.window_ns));
  out.add("<svg class=\"bar\" role=\"img\" aria-label=\"GPU {}: busy {}, idle {}\">", device.id,
          share_text(state.compute_ns, state.window_ns), share_text(state.idle_ns, state.window_ns));
  double at = percent(state.compute_ns, state.window_ns);
  bar_part(0, at, "busy", "busy " + share_text(state.compute_ns, state.window_ns), out);
  const double copying = percent(state.copy_only_ns, state.window_ns);
  bar_part(at, copying, "copying", "copying only " + share_text(state.copy_only_ns, state.window_ns), out);
  at += copying;
  for (std::size_t row = 0; row < device.causes.size(); ++row) {
    const IdleCause& cause = device.causes[row];
    const double width = percent(cause.idle_ns, state.window_ns);
    bar_part(
        at, width, is_edge(cause.kind) ? std::string("edge") : cause_colour(row),
        cause.name + " " + place_text(report, cause.where) + ": " + duration_text(cause.idle_ns) + " in the whole run",
        out);
    at += width;
  }
  out.add_markup("</svg></figure>\n");
}

class CauseTable {
 public:
  CauseTable(const Report& report, const DeviceReport& device, const Limits& limits, const std::string& id,
             HtmlOut& out)
      : report_(report), device_(device), limits_(limits), id_(id), out_(out) {}

  void table(std::string_view kind, const std::vector<IdleCause>& causes,
             const std::vector<CauseOccurrences>& occurrences, Nanoseconds whole_ns) {
    if (causes.empty() || whole_ns == 0) return;
    kind_ = kind;
    first_ = causes.data();
    occurrences_ = &occurrences;
    const CauseSplit split = split_causes(report_, causes);
    choose_scale(split.rows);
    const bool small = whole_ns < device_.state.window_ns / kSmallShare;
    if (small) out_.add_markup("<details class=\"table\"><summary>");
    out_.add("<h3>Why GPU {} {} <small>{}</small></h3>\n", device_.id, kind_ == "idle" ? "was idle" : "only copied",
             extent_words(report_, split, device_.state.window_ns));
    if (small) out_.add_markup("</summary>\n");
    const std::size_t shown = std::min(split.rows.size(), limits_.causes);
    open_table();
    for (std::size_t i = 0; i < std::min(shown, kRowsInSight); ++i) row(*split.rows[i], i + 1, split.shown_ns);
    if (shown > kRowsInSight) {
      out_.add("</table>\n<details class=\"rest\"><summary>{} more causes</summary>\n", shown - kRowsInSight);
      open_table();
      for (std::size_t i = kRowsInSight; i < shown; ++i) row(*split.rows[i], i + 1, split.shown_ns);
      out_.add_markup("</table></details>\n<table class=\"causes\">\n");
    }
    Nanoseconds rest_ns = 0;
    for (std::size_t i = shown; i < split.rows.size(); ++i) rest_ns += counted_ns(report_, *split.rows[i]);
    out_.add_markup("<tbody class=\"sums\">\n");
    if (rest_ns > 0) sum_row(format_text("{} smaller causes", split.rows.size() - shown), rest_ns);
    if (split.irregular_ns > 0) sum_row("irregular steps", split.irregular_ns);
    if (split.outside_ns > 0) sum_row("outside of steps", split.outside_ns);
    for (const IdleCause* edge : split.edges) sum_row(edge->name, edge->idle_ns);
    out_.add_markup("</tbody></table>\n");
    if (small) out_.add_markup("</details>\n");
  }

 private:
  void sum_row(std::string_view name, Nanoseconds idle_ns) {
    out_.add("<tr class=\"sum\"><td></td><td>{}</td><td class=\"num\">{}</td><td colspan=\"4\"></td></tr>\n", name,
             time_cell(idle_ns));
  }

  void open_table() {
    out_.add_markup(
        "<table class=\"causes\">\n<thead><tr><th scope=\"col\">#</th><th scope=\"col\">cause, and where</th>"
        "<th scope=\"col\" class=\"num\">idle</th><th scope=\"col\" class=\"num\">a step</th><th scope=\"col\" "
        "class=\"num\">count</th>"
        "<th scope=\"col\" class=\"num\">host waited</th>");
    const std::string scale = scale_percent_ == 0 ? std::string() : format_text("scale 0 to {} %", scale_percent_);
    out_.add("<th scope=\"col\" class=\"num\">its fix saves<small>{}</small></th></tr></thead>\n", scale);
  }

  void choose_scale(const std::vector<const IdleCause*>& rows) {
    double most = 0;
    for (const IdleCause* cause : rows) {
      if (cause->saving && cause->saving->alone.grade != Grade::kNone)
        most = std::max(most, percent(cause->saving->alone.hi_ns, report_.savings.base_ns));
    }
    scale_percent_ = most <= 0 ? 0 : scale_of(most);
  }

  void row(const IdleCause& cause, std::size_t rank, Nanoseconds whole_ns) {
    const Nanoseconds idle_ns = counted_ns(report_, cause);
    const auto place = static_cast<std::size_t>(&cause - first_);
    out_.add("<tbody class=\"cause {}\" id=\"{}-{}-{}\" data-device=\"{}\" data-kind=\"{}\" data-row=\"{}\">\n<tr>",
             cause_colour(place), id_, kind_, place, id_.substr(id_.rfind('d') + 1), kind_, place);
    out_.add("<td class=\"rank\"><span>{}</span>", rank);
    write_anchor(format_text("{}-{}-{}", id_, kind_, place), "this row", out_);
    out_.add_markup("</td><td class=\"what\">");
    what(cause);
    out_.add(
        "</td><td class=\"num idle\">{}<span class=\"share\">{}</span><svg class=\"meter\" aria-hidden=\"true\"><rect "
        "class=\"{}\" width=\"{:.2f}%\" height=\"100%\"/></svg></td>",
        time_cell(idle_ns), share_text(idle_ns, whole_ns), cause_colour(place), percent(idle_ns, whole_ns));
    const std::size_t steps = report_.steps.figures.count - report_.steps.figures.irregular;
    out_.add("<td class=\"num step\">{}</td>", steps == 0
                                                   ? Markup{"<span class=\"none\">–</span>"}
                                                   : time_cell(cause.steady_ns / static_cast<Nanoseconds>(steps)));
    out_.add(
        "<td class=\"num count\"><data value=\"{}\">{}</data></td><td class=\"num waited\">{}</td><td class=\"num "
        "saves\">",
        cause.count, count_text(cause.count), time_or_dash(cause.host_blocked_ns));
    saving(cause);
    out_.add_markup("</td></tr>\n<tr class=\"more\"><td></td><td colspan=\"6\"><details><summary>");
    if (cause.saving) out_.add("<span class=\"fix\">{}</span> ", fix_note(*cause.saving));
    out_.add_markup("evidence</summary>\n");
    details(cause, place);
    out_.add_markup("</details></td></tr>\n</tbody>\n");
  }

  void what(const IdleCause& cause) {
    const std::string place = place_text(report_, cause.where);
    out_.add("<span class=\"rule\">{}</span> <b>{}</b>", cause.rule == nullptr ? "–" : cause.rule->id, cause.name);
    if (!place.empty()) out_.add(" <code class=\"place\">{}</code>", place);
    if (const std::string note = note_of(cause); !note.empty()) out_.add(" <span class=\"note\">{}</span>", note);
    if (!cause.where.source.empty())
      out_.add("<code class=\"source\">{}</code>", fitted(cause.where.source, kSourceColumns));
  }

  static std::string fix_note(const SavingReport& saving) {
    const std::string words = "fix: " + std::string(fix_words(saving.fix));
    return saving.moves_to.empty() ? words : words + "; the wait moves to " + saving.moves_to;
  }

  // The share that fixing it saves, and the interval in which that lies on the scale of the column.
  void saving(const IdleCause& cause) {
    if (!cause.saving) return out_.add_markup("<span class=\"none\">–</span>");
    const Nanoseconds base_ns = report_.savings.base_ns;
    const Interval& alone = cause.saving->alone;
    out_.add("<data value=\"{}\">{}</data>", alone.ns, saving_word(report_, cause));
    if (alone.grade == Grade::kNone) return;
    const std::string lo = share_text(alone.lo_ns, base_ns);
    const std::string hi = share_text(alone.hi_ns, base_ns);
    out_.add("<span class=\"share\">{} – {}</span>", lo, hi);
    interval_picture(alone, base_ns * scale_percent_ / 100, format_text("between {} and {} of the time", lo, hi), out_);
  }

  void details(const IdleCause& cause, std::size_t place) {
    facts(cause);
    out_.add_markup("<div class=\"evidence-grid\">\n");
    stack(cause.where);
    if (place < occurrences_->size()) {
      out_.add_markup("<div class=\"histograms\">\n");
      histogram("Stretches of idle time", (*occurrences_)[place].idle);
      histogram("Waits behind them", (*occurrences_)[place].calls);
      out_.add_markup("</div>\n");
    }
    out_.add_markup("</div>\n");
  }

  void facts(const IdleCause& cause) {
    std::string words;
    if (!cause.call.empty()) words += "In " + cause.call + ". ";
    if (cause.irregular_ns > 0) words += duration_text(cause.irregular_ns) + " more in irregular steps. ";
    if (cause.uncertain_ns > 0) words += duration_text(cause.uncertain_ns) + " of it is uncertain. ";
    if (cause.saving)
      words +=
          "Without it altogether: " + share_text(cause.saving->ceiling_ns, report_.savings.base_ns) + " less time. ";
    for (const IdleActivity& activity : cause.activities) {
      const std::string place = place_text(report_, activity.where);
      words += "Meanwhile the host: " + activity.name + (place.empty() ? "" : " at " + place) + ", " +
               duration_text(activity.idle_ns) + ". ";
    }
    if (!words.empty()) out_.add("<p>{}</p>\n", Markup{html_text(words, 1'000)});
  }

  void stack(const SourceLine& where) {
    if (where.stack.empty()) return out_.add_markup("<p class=\"none\">No stack was recorded.</p>\n");
    out_.add_markup("<div><p class=\"note\">Its most frequent stack, innermost first</p>\n<ol class=\"stack\">\n");
    std::size_t shown = 0;
    std::size_t hidden = 0;
    for (const auto& [frame, source, is_hidden] : where.stack) {
      if (is_hidden || shown == limits_.frames) {
        ++hidden;
        continue;
      }
      ++shown;
      const bool own = frame.file == where.file && frame.line == where.line && frame.function == where.function;
      const std::string file = frame.file.empty() ? frame.module : path_text(frame.file, report_.folder);
      out_.add("<li{}><b>{}</b> <span class=\"place\">{}{}</span>", Markup{own ? " class=\"own\"" : ""},
               frame.kind == FrameKind::kMissing ? "(frames are missing)" : frame.function, fitted_tail(file, 80),
               frame.line == 0 ? "" : ":" + std::to_string(frame.line));
      if (!source.empty()) out_.add("<code class=\"source\">{}</code>", fitted(source, kSourceColumns));
      out_.add_markup("</li>\n");
    }
    if (hidden > 0) out_.add("<li class=\"none\">{} more, of the interpreter or further out</li>\n", hidden);
    out_.add_markup("</ol></div>\n");
  }

  void histogram(std::string_view title, const DurationCounts& counts) {
    if (counts.total == 0) return;
    std::size_t first = 0;
    while (counts.by_width[first] == 0) ++first;
    std::size_t last = counts.by_width.size() - 1;
    while (counts.by_width[last] == 0) --last;
    const std::uint64_t most = *std::max_element(counts.by_width.begin(), counts.by_width.end());
    const std::size_t bins = std::max<std::size_t>(last - first + 1, 8);
    out_.add(
        "<figure><figcaption>{}: {}, the longest {}</figcaption><svg class=\"histogram\" role=\"img\" "
        "aria-label=\"{}\">",
        title, count_text(counts.total), duration_text(counts.longest_ns), title);
    for (std::size_t width = first; width <= last; ++width) {
      const double height =
          counts.by_width[width] == 0
              ? 0
              : std::max(2.0, 100.0 * static_cast<double>(counts.by_width[width]) / static_cast<double>(most));
      const Nanoseconds from = width == 0 ? 0 : Nanoseconds{1} << (width - 1);
      out_.add(
          "<rect x=\"{:.2f}%\" width=\"{:.2f}%\" y=\"{:.1f}%\" height=\"{:.1f}%\"><title>{} from {}</title></rect>",
          100.0 * static_cast<double>(width - first) / static_cast<double>(bins), 96.0 / static_cast<double>(bins),
          100 - height, height, count_text(counts.by_width[width]), duration_text(from));
    }
    out_.add("</svg><div class=\"axis\"><span>{}</span><span>{}</span></div></figure>\n",
             duration_text(first == 0 ? 0 : Nanoseconds{1} << (first - 1)),
             duration_text(Nanoseconds{1} << std::min<std::size_t>(first + bins - 1, 62)));
  }

  const Report& report_;
  const DeviceReport& device_;
  const Limits& limits_;
  const std::string& id_;
  HtmlOut& out_;
  std::string_view kind_;
  int scale_percent_ = 0;  // for the intervals; 0: there are none
  const IdleCause* first_ = nullptr;
  const std::vector<CauseOccurrences>* occurrences_ = nullptr;
};

}  // namespace

void write_causes(const Report& report, const std::vector<DeviceOccurrences>& occurrences, const Limits& limits,
                  const std::string& id, HtmlOut& out) {
  if (!report.has_timeline) return;
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const DeviceReport& device = report.devices[i];
    const std::string device_id = id + "-d" + std::to_string(i);
    device_bar(report, device, out);
    CauseTable table(report, device, limits, device_id, out);
    table.table("idle", device.causes, occurrences[i].idle, device.state.idle_ns);
    table.table("copying", device.copy_causes, occurrences[i].copying, device.state.copy_only_ns);
  }
}

}  // namespace synctrace::page
