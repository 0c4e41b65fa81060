// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "findings/fix_words.h"
#include "render/answer_words.h"
#include "render/columns.h"
#include "render/places.h"
#include "render/text_parts.h"
#include "render/words.h"

namespace synctrace {
namespace {

constexpr std::size_t kRows = 10;
constexpr double kMuchUnexplained = 0.05;

class SavingsText {
 public:
  SavingsText(const Report& report, TextPage& page) : report_(report), savings_(report.savings), page_(page) {}

  void run() {
    if (!savings_.refusal.empty()) {
      page_.title("What fixing it would save");
      return page_.wrapped("  ", "Not predicted: " + savings_.refusal + ".");
    }
    page_.title(format_text("What fixing it would save, of {}", base_words()));
    base_range();
    if (savings_.order.empty()) {
      nothing();
    } else {
      table();
      expectation();
    }
    in_vain();
    if (savings_.asked) answer(*savings_.asked);
  }

 private:
  std::string share(Nanoseconds ns) const { return share_text(ns, savings_.base_ns); }

  // Without the recorder; how long it took with it, where that is more.
  std::string base_words() const {
    const std::string recorded = duration_text(of_a_step(savings_, savings_.recorded_ns));
    if (!is_slowed(savings_)) return format_text("{} {}", recorded, savings_.by_steps ? "a step" : "recorded");
    return format_text("about {}{} without the recorder ({} with it)",
                       duration_text(of_a_step(savings_, savings_.base_ns)), savings_.by_steps ? " a step" : "",
                       recorded);
  }

  void base_range() {
    const std::string range = base_range_words(savings_);
    if (range.empty() || !is_slowed(savings_)) return;
    page_.wrapped("  ", format_text("Without the recorder {}: what it takes is known to a third.", range));
  }

  void lead(const ShownFix& fix, std::string_view number) {
    const std::string where = fix.where.known()  ? place_words(report_, fix.where, 60)
                              : fix.call.empty() ? "in no known line"
                                                 : fix.call;
    const std::string source =
        fix.where.source.empty() ? "" : fitted(fix.where.source, page_.columns() - 10 - columns_of(where));
    page_.line("  {:>3}   {}  {}", number, where, source);
  }

  void table() {
    page_.line("  {:<5} {:<33} {:>9} {:>9} {:>9}   {:<17} {}", "order", "fix", "alone", "added", "together", "between",
               "sure");
    for (std::size_t i = 0; i < std::min(kRows, savings_.order.size()); ++i) {
      const FixRow& row = savings_.order[i];
      for (std::size_t k = 0; k < row.fixes.size(); ++k) {
        const ShownFix& fix = row.fixes[k];
        lead(fix, k == 0 ? format_text("{}.", i + 1) : "and");
        const bool last = k + 1 == row.fixes.size();
        const std::string between =
            last ? format_text("{} and {}", share(row.cumulative.lo_ns), share(row.cumulative.hi_ns)) : "";
        page_.line("        {:<33} {:>9} {:>9} {:>9}   {:<17} {}", fix_words(fix.saving.fix),
                   share(fix.saving.alone.ns), last ? share(row.marginal.ns) : "", last ? share(row.cumulative.ns) : "",
                   between, last ? grade_name(row.cumulative.grade) : "");
      }
    }
    if (savings_.order.size() > kRows) page_.line("        and {} more", savings_.order.size() - kRows);
  }

  std::string basis() const {
    const std::string what =
        savings_.by_steps ? format_text("{} recorded steps", replayed_steps(report_)) : "the recording";
    return format_text("It rests on a replay of {} that gives every recorded time again", what);
  }

  std::string caveats() const {
    std::string words =
        "Do not believe it where the order of the work, the choice of kernels or the input would change with the fix";
    if (savings_.unexplained_share > kMuchUnexplained) {
      words +=
          format_text(", and the less as {:.0f} % of the time passed before work that started late for no known reason",
                      100 * savings_.unexplained_share);
    }
    return words;
  }

  // How much of loading falls into the steps depends on how long the run was, and on what the driver had compiled
  // before.
  bool preloads() const {
    const auto is_preload = [](const ShownFix& fix) { return fix.saving.fix == Fix::kPreload; };
    return std::any_of(savings_.order.begin(), savings_.order.end(),
                       [&](const FixRow& row) { return std::any_of(row.fixes.begin(), row.fixes.end(), is_preload); });
  }

  void expectation() {
    const Interval& done = savings_.order.back().cumulative;
    page_.wrapped("  ", format_text("With all of these expect {} less time, between {} and {}. {}. {}.{}",
                                    share(done.ns), share(done.lo_ns), share(done.hi_ns), basis(), caveats(),
                                    preloads() ? " Code is loaded at its first use: a longer run, or one that finds it "
                                                 "compiled in a cache, gains less of that."
                                               : ""));
  }

  std::string out_of_reach() const {
    const IdleCause* most = dearest_beyond(report_);
    if (most == nullptr) return {};
    const std::string where = most->where.known() ? place_words(report_, most->where, 60) : most->name;
    return format_text("What costs most needs another algorithm: without the wait at {} it would be {} less", where,
                       share(most->saving->ceiling_ns));
  }

  // Nothing is promised: either nothing is expected, or what the recording leaves open could undo it.
  void nothing() {
    const Interval& all = savings_.all;
    std::string words = "No line costs time that a fix could give back";
    if (is_at_least(all.ns, savings_.base_ns, 100)) {
      words = format_text(
          "No gain is promised: all fixes together would save {} if all goes as in the replay, but the recording also "
          "allows "
          "anything from nothing to {}",
          share(all.ns), share(all.hi_ns));
    } else if (all.hi_ns > 0) {
      words = format_text(
          "Expect no gain from fixing any line: all of them together would save {}, and {} if all went well",
          share(all.ns), share(all.hi_ns));
    }
    if (const std::string beyond = out_of_reach(); !beyond.empty()) words += ". " + beyond;
    page_.wrapped("  ", format_text("{}. {}. {}.", words, basis(), caveats()));
  }

  std::string expected(const Interval& saving, std::string_view begin) const {
    if (saving.grade != Grade::kNone)
      return format_text("{} {}, between {} and {}.", begin, share(saving.ns), share(saving.lo_ns),
                         share(saving.hi_ns));
    if (!is_at_least(saving.ns, savings_.base_ns, 100))
      return format_text("{} nothing that could be measured ({}).", begin, share(saving.ns));
    return format_text("{} {} if all goes as in the replay, but the recording allows anything from nothing to {}.",
                       begin, share(saving.ns), share(saving.hi_ns));
  }

  void answer(const AskedReport& asked) {
    page_.title("What you asked");
    for (const ShownFix& fix : asked.fixes) {
      lead(fix, "-");
      page_.line("        {:<33} {:>9}", fix_words(fix.saving.fix),
                 fix.saving.alone.ns == 0 ? "" : share(fix.saving.alone.ns));
    }
    if (!asked.fixes.empty())
      page_.wrapped("  ", expected(asked.saving, asked.fixes.size() > 1 ? "Together they save" : "That saves"));
    for (const std::string& note : asked.notes) page_.wrapped("  ", note);
  }

  void in_vain() {
    for (std::size_t i = 0; i < std::min(kRows, savings_.in_vain.size()); ++i) {
      const ShownFix& fix = savings_.in_vain[i];
      const std::string where = fix.where.known() ? place_words(report_, fix.where, 60) : fix.call;
      page_.wrapped("  ", format_text("{} alone saves {}: its wait moves to {}.", where, share(fix.saving.alone.ns),
                                      fix.saving.moves_to));
    }
  }

  const Report& report_;
  const SavingsReport& savings_;
  TextPage& page_;
};

}  // namespace

void render_savings(const Report& report, TextPage& page) {
  if (report.has_timeline) SavingsText(report, page).run();
}

}  // namespace synctrace
