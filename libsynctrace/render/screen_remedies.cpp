// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/name_text.h"
#include "base/quantity_text.h"
#include "base/shares.h"
#include "render/answer_words.h"
#include "render/columns.h"
#include "render/kernel_words.h"
#include "render/places.h"
#include "render/screen_lines.h"

namespace synctrace {
namespace {

constexpr std::size_t kSavesColumns = 9;     // "saves"
constexpr std::size_t kSoFarColumns = 19;    // "all so far"
constexpr std::size_t kNumberColumns = 4;    // before a title
constexpr std::size_t kMostLines = 3;        // per remedy
constexpr std::size_t kMostKernelLines = 1;  // likewise: no line of the program is to be changed there
constexpr std::size_t kLeftLines = 2;
constexpr Nanoseconds kLeastWorth = 100;  // one in so many of the time: what saves less is not shown
constexpr std::size_t kMostNumbers = 8;   // line numbers in a list

class RemedyTable {
 public:
  RemedyTable(const Report& report, ScreenLines& out)
      : report_(report),
        savings_(report.savings),
        places_(report),
        out_(out),
        width_(out.columns() - kSavesColumns - kSoFarColumns) {}

  void run(std::size_t most_lines) {
    std::vector<const Remedy*> shown;
    std::vector<const Remedy*> left;
    for (const Remedy& remedy : savings_.remedies) {
      if (is_worth_showing(report_, remedy))
        shown.push_back(&remedy);
      else if (is_worth_a_word(report_, remedy))
        left.push_back(&remedy);
    }
    if (shown.empty()) return nothing();
    const auto is_of_kernels = [](const Remedy* each) { return each->fix == Fix::kKernels; };
    if (std::all_of(shown.begin(), shown.end(), is_of_kernels) && !may_host_save(savings_)) {
      if (const std::string sentence = host_sentence(savings_); !sentence.empty()) {
        const std::size_t before = out_.count();
        out_.wrapped("", sentence);
        out_.empty();
        most_lines -= std::min(most_lines, out_.count() - before);
      }
    }
    out_.add(format_text("{:<{}}{:>{}}  {}", changes_heading(shown), width_, "saves", kSavesColumns, "all so far"),
             Tint::kBold);
    // The last two lines are for what is left out, if anything is.
    const std::size_t room = most_lines > kLeftLines + 1 ? most_lines - kLeftLines - 1 : 0;
    Laid best = laid_out(shown, kMostLines, room, left.empty());
    // A change is worth more than a third line of another one.
    for (std::size_t most = kMostLines; --most > 0 && best.changes < shown.size();) {
      Laid tighter = laid_out(shown, most, room, left.empty());
      if (tighter.changes > best.changes) best = std::move(tighter);
    }
    out_.append(best.lines);
    const std::size_t used = 1 + best.lines.count();
    rest(shown, best.changes, left, used + 1 < most_lines ? most_lines - used : 1);
  }

 private:
  struct Laid {
    ScreenLines lines;
    std::size_t changes = 0;
  };

  // The changes that have room, each with at most `most` of its places.
  Laid laid_out(std::span<const Remedy* const> shown, std::size_t most, std::size_t room, bool is_all) const {
    Laid laid{out_};
    laid.lines.clear();
    for (const Remedy* remedy : shown) {
      const std::size_t number = laid.changes;
      std::size_t lines = std::min(most, worth_naming(*remedy));
      ScreenLines block = block_of(shown, number, lines);
      const std::size_t own_room = room + (number + 1 == shown.size() && is_all ? kLeftLines : 0);
      while (block.count() > own_room && lines > 1) block = block_of(shown, number, --lines);
      if (block.count() > own_room && number > 0) break;
      laid.lines.append(block);
      room -= std::min(room, block.count());
      ++laid.changes;
    }
    return laid;
  }

  // Changes that have no room for what to type keep a line with their place and their figures.
  void rest(const std::vector<const Remedy*>& shown, std::size_t number, std::vector<const Remedy*> left,
            std::size_t room) const {
    for (; number < shown.size(); ++number) {
      ScreenLines block = out_;
      block.clear();
      title(shown, number, " (" + places_.of(shown[number]->fixes.front(), kPlaceColumns) + ")", block);
      const bool is_last = number + 1 == shown.size() && left.empty();
      if (block.count() + (is_last ? 0 : 1) > room) break;
      out_.append(block);
      room -= block.count();
    }
    left.insert(left.begin(), shown.begin() + static_cast<std::ptrdiff_t>(number), shown.end());
    left_out(left, room);
  }

  std::string share(Nanoseconds ns) const { return saved_share(savings_, ns); }

  ScreenLines block_of(std::span<const Remedy* const> shown, std::size_t number, std::size_t lines) const {
    const Remedy& remedy = *shown[number];
    ScreenLines block = out_;
    block.clear();
    title(shown, number, "", block);
    std::size_t place = 0;
    for (std::size_t i = 0; i < lines; ++i)
      place = std::max(place, columns_of(places_.of(remedy.fixes[i], kPlaceColumns)));
    for (std::size_t i = 0; i < lines; ++i) fix_line(remedy, remedy.fixes[i], place, block);
    if (remedy.fixes.size() == 1) {
      const std::string evidence = evidence_of(report_, remedy.fixes.front());
      if (!evidence.empty()) block.add("        " + fitted(evidence, out_.columns() - 8), Tint::kDim);
    }
    if (!is_one_line(remedy) && remedy.fix != Fix::kKernels) more_lines(remedy, lines, block);
    bool first = true;
    for (const std::string& line : remedy.to_type) {
      block.wrapped(first ? "    -> " : "       ", line, Tint::kGreen);
      first = false;
    }
    return block;
  }

  void title(std::span<const Remedy* const> shown, std::size_t number, const std::string& place,
             ScreenLines& block) const {
    const Remedy& remedy = *shown[number];
    const std::string rule = remedy.rule == nullptr ? "" : format_text(" [{}]", remedy.rule->id);
    std::string note = number == 0 ? "" : why_behind(savings_, *shown[number - 1], remedy);
    if (!note.empty()) note.insert(0, "; ");
    const Interval& so_far = remedy.cumulative;
    const std::string range = format_text("{} ({})", share(so_far.ns), range_words(so_far, savings_.base_ns));
    // Nothing of a title is cut. Its figures stand behind its end.
    const auto same_title =
        std::count_if(shown.begin(), shown.end(), [&](const Remedy* each) { return each->title == remedy.title; });
    std::vector<std::string> lines =
        wrapped_text(remedy.title + (same_title > 1 ? place : "") + rule, width_ - kNumberColumns);
    // What else is said of it takes no line from others.
    for (const std::string& words : {remedy.title + place + rule, remedy.title + place + rule + note}) {
      std::vector<std::string> more = wrapped_text(words, width_ - kNumberColumns);
      if (more.size() <= lines.size()) lines = std::move(more);
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string left =
          (i == 0 ? format_text("{:>2}  ", number + 1) : std::string(kNumberColumns, ' ')) + lines[i];
      if (i + 1 < lines.size()) {
        block.add(left, Tint::kBold);
        continue;
      }
      block.add_raw(format_text("{}{}{:>{}}  {}", block.tinted(left, Tint::kBold),
                                std::string(width_ - std::min(width_, columns_of(left)), ' '),
                                share(remedy.marginal.ns), kSavesColumns, range));
    }
  }

  // A wait and the host code behind it can be two fixes of one line.
  static bool is_one_line(const Remedy& remedy) {
    const SourceLine& first = remedy.fixes.front().where;
    return remedy.more_fixes == 0 && first.line != 0 &&
           std::all_of(remedy.fixes.begin(), remedy.fixes.end(), [&](const ShownFix& each) {
             return each.where.file == first.file && each.where.line == first.line && !each.where.through.known() &&
                    !first.through.known();
           });
  }

  // If a change takes all lines of its sort, the lines that gain nothing by themselves are only counted as "more".
  std::size_t worth_naming(const Remedy& remedy) const {
    if (is_one_line(remedy)) return 1;
    if (remedy.fix == Fix::kKernels) return std::min(kMostKernelLines, remedy.fixes.size());
    if (remedy.fix != Fix::kGraph && remedy.fix != Fix::kFeedInput) return remedy.fixes.size();
    const auto counts = [&](const ShownFix& fix) { return is_at_least(fix.saving.alone.ns, savings_.base_ns, 200); };
    const auto end = std::find_if_not(remedy.fixes.begin(), remedy.fixes.end(), counts);
    return std::max<std::size_t>(1, static_cast<std::size_t>(end - remedy.fixes.begin()));
  }

  void fix_line(const Remedy& remedy, const ShownFix& fix, std::size_t place, ScreenLines& block) const {
    const std::string where = places_.of(fix, kPlaceColumns);
    const std::string lead = format_text("      {}{}   ", where, std::string(place - columns_of(where), ' '));
    const bool one_of_many = remedy.fixes.size() + remedy.more_fixes > 1 && !is_one_line(remedy);
    const std::size_t width = one_of_many ? width_ + kSavesColumns : out_.columns() - 2;
    std::string line = lead + source_words(fix.where, std::max<std::size_t>(width - columns_of(lead) - 1, 2));
    if (one_of_many) {
      line += std::string(width - std::min(width, columns_of(line)), ' ');
      line += format_text("  {} alone", share(std::max<Nanoseconds>(0, fix.saving.alone.ns)));
    }
    block.add(line);
    const bool moves = !is_at_least(fix.saving.alone.ns, remedy.marginal.ns, 3) && !fix.saving.moves_to.empty();
    if (moves)
      block.wrapped("        ", "alone its wait moves to " + fitted(places_.moved_to(fix.saving.moves_to), 50),
                    Tint::kDim);
  }

  // "and 5 lines of model.py: 27 88 90 104 105"
  void more_lines(const Remedy& remedy, std::size_t from, ScreenLines& block) const {
    const std::size_t all = remedy.fixes.size() + remedy.more_fixes;
    if (from >= all) return;
    std::map<std::string, std::vector<std::uint32_t>> files;
    for (std::size_t i = from; i < remedy.fixes.size(); ++i) {
      const SourceLine& where = remedy.fixes[i].where;
      if (where.line != 0) files[places_.file(where.file)].push_back(where.line);
    }
    const std::string words = format_text("and {} more place{}", all - from, all - from == 1 ? "" : "s");
    std::string numbers;
    if (files.size() == 1 && files.begin()->second.size() <= kMostNumbers) {
      numbers = format_text(" of {}:", fitted_path(files.begin()->first, 30));
      std::vector<std::uint32_t>& lines = files.begin()->second;
      std::sort(lines.begin(), lines.end());
      lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
      for (const std::uint32_t line : lines) numbers += format_text(" {}", line);
    }
    const bool has_room = columns_of(words) + columns_of(numbers) + 6 <= out_.columns();
    block.add("      " + words + (has_room ? numbers : ""));
  }

  void left_out(const std::vector<const Remedy*>& left, std::size_t most_lines) const {
    std::vector<std::string> lines;
    for (std::size_t named = kMostNamedLeft + 1; named-- > 0;) {
      lines = wrapped_text(left_out_sentence(report_, left, places_, named), out_.columns());
      if (lines.size() <= std::min(kLeftLines, most_lines)) break;
    }
    for (const std::string& line : lines) {
      if (!line.empty()) out_.add(line);
    }
  }

  void nothing() const {
    for (const std::string& sentence : {host_sentence(savings_), kernels_sentence(savings_)}) {
      if (!sentence.empty()) out_.wrapped("", sentence);
    }
  }

  const Report& report_;
  const SavingsReport& savings_;
  ScreenPlaces places_;
  ScreenLines& out_;
  std::size_t width_;  // columns of a line before its figures
};

}  // namespace

bool is_worth_showing(const Report& report, const Remedy& remedy) {
  return remedy.cumulative.grade != Grade::kNone &&
         is_at_least(remedy.marginal.ns, report.savings.base_ns, kLeastWorth);
}

void write_remedies(const Report& report, std::size_t most_lines, ScreenLines& out) {
  RemedyTable(report, out).run(most_lines);
}

}  // namespace synctrace
