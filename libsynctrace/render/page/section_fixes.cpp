// SPDX-License-Identifier: Apache-2.0
// What to change: each change with what to write, what it saves and the lines that it sets right. Behind
// it, folded, every fix by itself.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "findings/cause_split.h"
#include "findings/fix_words.h"
#include "render/answer_words.h"
#include "render/columns.h"
#include "render/kernel_words.h"
#include "render/page/section_parts.h"
#include "render/places.h"
#include "render/screen_lines.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kLinesInSight = 5;  // per change; the others open
constexpr std::size_t kPlaceColumns = 60;

class Changes {
 public:
  Changes(const Report& report, const Limits& limits, const std::string& id, HtmlOut& out)
      : report_(report), savings_(report.savings), limits_(limits), id_(id), places_(report), out_(out) {}

  void run() {
    std::vector<const Remedy*> shown;
    std::vector<const Remedy*> left;
    for (const Remedy& remedy : savings_.remedies)
      (is_worth_showing(report_, remedy) ? shown : left).push_back(&remedy);
    while (shown.size() > limits_.rows) {
      left.insert(left.begin(), shown.back());
      shown.pop_back();
    }
    const std::string left_out = shown.empty() ? std::string() : left_out_sentence(report_, left, places_);
    if (!shown.empty()) choose_scale(shown);
    out_.add("<section class=\"changes\"{}>\n<h3>{}</h3>\n",
             Markup{switches(shown, left_out.empty() ? std::vector<const Remedy*>() : left)}, changes_heading(shown));
    sentence(gpu_work_sentence(report_));
    if (shown.empty()) {
      sentence(host_sentence(savings_));
      sentence(kernels_sentence(savings_));
    } else {
      out_.add_markup("<ol class=\"remedies\">\n");
      for (std::size_t i = 0; i < shown.size(); ++i) change(*shown[i], i);
      out_.add_markup("</ol>\n");
      write_sentence("basis left", left_out, out_);
    }
    sentence(host_code_sentence(report_));
    sentence(no_graph_sentence(report_, places_));
    sentence(beyond_sentence(report_, places_));
    sentence(irregular_sentence(report_, places_));
    sentence(not_counted_sentence(report_));
    sentence(basis_sentence(report_));
    out_.add_markup("</section>\n");
  }

 private:
  std::string share(Nanoseconds ns) const { return saved_share(savings_, ns); }

  void sentence(std::string_view text) { write_sentence("basis", text, out_); }

  void choose_scale(const std::vector<const Remedy*>& shown) {
    double most = 0;
    for (const Remedy* remedy : shown) most = std::max(most, percent(remedy->cumulative.hi_ns, savings_.base_ns));
    scale_percent_ = scale_of(most);
  }

  std::string switches(const std::vector<const Remedy*>& shown, const std::vector<const Remedy*>& last) const {
    if (shown.empty() || whole_gain(savings_) == nullptr) return {};
    return format_text(" data-scale=\"{}\"", scale_percent_) + switches_markup(savings_, shown, last);
  }

  void change(const Remedy& remedy, std::size_t place) {
    const Interval& so_far = remedy.cumulative;
    const std::string late = place > 0 && pays_only_after(remedy) ? "pays only after the above" : "";
    const std::string id = format_text("{}-change-{}", id_, place + 1);
    out_.add("<li class=\"remedy\" id=\"{}\">\n<div class=\"head\"><h4>{}</h4>", id, remedy.title);
    write_anchor(id, "this change", out_);
    if (remedy.rule != nullptr)
      out_.add(" <span class=\"rule\" title=\"synctrace explain {}\">{} {}</span>", remedy.rule->id, remedy.rule->id,
               remedy.rule->name);
    if (!late.empty()) out_.add(" <span class=\"note\">{}</span>", late);
    out_.add(
        "<div class=\"gain\"><span class=\"saves\">saves <b><data value=\"{}\">{}</data></b></span> <span "
        "class=\"so-far\">{} so far ({} %)</span>",
        remedy.marginal.ns, share(remedy.marginal.ns), share(so_far.ns), range_words(so_far, savings_.base_ns));
    interval_picture(
        so_far, savings_.base_ns * scale_percent_ / 100,
        format_text("so far {} to {}, on a scale to {} %", share(so_far.lo_ns), share(so_far.hi_ns), scale_percent_),
        out_);
    out_.add_markup("</div></div>\n");
    write_to_type(remedy.to_type, out_);
    lines(remedy);
    moment(remedy);
    if (remedy.rule != nullptr) write_rule(rule_text(*remedy.rule), out_);
    out_.add_markup("</li>\n");
  }

  // A link to where its dearest line costs something on the timeline: of the first line that has idle time there.
  void moment(const Remedy& remedy) {
    if (remedy.fix == Fix::kKernels) return;  // the GPU is busy with them
    const IdleCause* found = nullptr;
    std::size_t place = 0;
    std::string_view kind;
    const auto look = [&](const ShownFix& fix, std::size_t device, std::string_view of,
                          const std::vector<IdleCause>& causes) {
      for (const IdleCause& cause : causes) {
        if (cause.fix_key != fix.key || (found != nullptr && counted_ns(report_, cause) <= counted_ns(report_, *found)))
          continue;
        found = &cause;
        place = device;
        kind = of;
      }
    };
    for (std::size_t i = 0; i < remedy.fixes.size() && found == nullptr; ++i) {
      for (std::size_t device = 0; device < report_.devices.size(); ++device) {
        look(remedy.fixes[i], device, "idle", report_.devices[device].causes);
        look(remedy.fixes[i], device, "copying", report_.devices[device].copy_causes);
      }
    }
    if (found == nullptr) return;
    const DeviceReport& device = report_.devices[place];
    const IdleCause* first = kind == "idle" ? device.causes.data() : device.copy_causes.data();
    out_.add(
        "<p class=\"moment\"><a class=\"to-timeline\" href=\"#{}-timeline\" data-device=\"{}\" data-kind=\"{}\" "
        "data-row=\"{}\">a typical moment on the timeline</a></p>\n",
        id_, place, kind, found - first);
  }

  void lines(const Remedy& remedy) {
    const std::size_t count = std::min(remedy.fixes.size(), limits_.rows);
    const std::size_t in_sight = std::min(count, kLinesInSight);
    const bool one_of_many = remedy.fixes.size() + remedy.more_fixes > 1;
    table(remedy, 0, in_sight, one_of_many);
    if (!one_of_many) {
      if (const std::string evidence = evidence_of(report_, remedy.fixes.front()); !evidence.empty())
        out_.add("<p class=\"note\">{}</p>\n", evidence);
    }
    const std::size_t more = remedy.fixes.size() + remedy.more_fixes - in_sight;
    if (more == 0) return;
    out_.add("<details><summary>and {} more place{}</summary>\n", more, more == 1 ? "" : "s");
    table(remedy, in_sight, count, one_of_many);
    if (more > count - in_sight) out_.add("<p class=\"none\">and {} more</p>\n", more - (count - in_sight));
    out_.add_markup("</details>\n");
  }

  void table(const Remedy& remedy, std::size_t from, std::size_t to, bool one_of_many) {
    if (from == to) return;
    out_.add_markup("<table class=\"lines\"><tbody>\n");
    for (std::size_t i = from; i < to; ++i) {
      const ShownFix& fix = remedy.fixes[i];
      out_.add("<tr><td><code class=\"place\">{}</code></td><td><code class=\"code\">{}</code>",
               places_.of(fix, kPlaceColumns), fitted(fix.where.source, kSourceColumns));
      const bool moves = !is_at_least(fix.saving.alone.ns, remedy.marginal.ns, 3) && !fix.saving.moves_to.empty();
      if (moves)
        out_.add(" <span class=\"note\">alone its wait moves to {}</span>", places_.moved_to(fix.saving.moves_to));
      const std::string alone =
          one_of_many ? share(std::max<Nanoseconds>(0, fix.saving.alone.ns)) + " alone" : std::string();
      out_.add("</td><td class=\"num\">{}</td></tr>\n", alone);
    }
    out_.add_markup("</tbody></table>\n");
  }

  const Report& report_;
  const SavingsReport& savings_;
  const Limits& limits_;
  const std::string& id_;
  ScreenPlaces places_;
  HtmlOut& out_;
  int scale_percent_ = 100;  // for the ranges
};

Markup line_cell(const Report& report, const ShownFix& fix) {
  if (!fix.where.known()) return {html_text(fix.call.empty() ? "in no known line" : fix.call)};
  return {"<code class=\"place\">" + html_text(place_text(report, fix.where)) + "</code>"};
}

void fix_row(const Report& report, const FixRow& row, std::size_t number, HtmlOut& out) {
  const Nanoseconds base_ns = report.savings.base_ns;
  for (std::size_t k = 0; k < row.fixes.size(); ++k) {
    const ShownFix& fix = row.fixes[k];
    const bool last = k + 1 == row.fixes.size();
    out.add("<tr><td class=\"rank\">{}</td><td>{}</td><td>{}</td><td class=\"num\">{}</td>",
            k == 0 ? std::to_string(number) : std::string("and"), line_cell(report, fix), fix_words(fix.saving.fix),
            share_text(fix.saving.alone.ns, base_ns));
    out.add("<td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td></tr>\n",
            last ? share_text(row.cumulative.ns, base_ns) : std::string(),
            last ? share_text(row.cumulative.lo_ns, base_ns) + " to " + share_text(row.cumulative.hi_ns, base_ns)
                 : std::string(),
            last ? grade_name(row.cumulative.grade) : std::string_view());
  }
}

}  // namespace

void write_changes(const Report& report, const Limits& limits, const std::string& id, HtmlOut& out) {
  if (!report.has_timeline || report.verdict.word.empty()) return;
  Changes(report, limits, id, out).run();
}

void write_fixes_alone(const Report& report, const Limits& limits, HtmlOut& out) {
  const SavingsReport& savings = report.savings;
  if (!report.has_timeline || (savings.order.empty() && savings.in_vain.empty())) return;
  out.add("<details class=\"table\"><summary><h3>Every fix by itself <small>{}</small></h3></summary>\n",
          savings.order.size());
  if (!savings.order.empty()) {
    out.add_markup(
        "<div class=\"scroll\"><table class=\"fixes\"><thead><tr><th scope=\"col\">order</th><th "
        "scope=\"col\">line</th><th scope=\"col\">fix</th><th scope=\"col\" class=\"num\">saves alone</th>"
        "<th scope=\"col\" class=\"num\">all so far</th><th scope=\"col\" class=\"num\">range</th><th "
        "scope=\"col\">confidence</th></tr></thead>\n<tbody>\n");
    for (std::size_t i = 0; i < std::min(limits.rows, savings.order.size()); ++i)
      fix_row(report, savings.order[i], i + 1, out);
    out.add_markup("</tbody></table></div>\n");
    if (savings.order.size() > limits.rows)
      out.add("<p class=\"none\">and {} more</p>\n", savings.order.size() - limits.rows);
  }
  for (std::size_t i = 0; i < std::min(limits.rows, savings.in_vain.size()); ++i) {
    const ShownFix& fix = savings.in_vain[i];
    out.add("<p><code>{}</code> alone saves {}: its wait moves to <code>{}</code>.</p>\n",
            fix.where.known() ? place_text(report, fix.where) : fix.call,
            share_text(fix.saving.alone.ns, savings.base_ns), fix.saving.moves_to);
  }
  out.add_markup("</details>\n");
}

}  // namespace synctrace::page
