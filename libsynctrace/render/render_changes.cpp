// SPDX-License-Identifier: Apache-2.0
#include "render/render_changes.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/shown_text.h"
#include "findings/fix_words.h"
#include "render/json_parts.h"

namespace synctrace {
namespace {

using json::array_of;
using json::line_or_null;
using json::rule_or_null;

struct Room {
  std::size_t changes;
  std::size_t places;  // each change's
  std::size_t left;
  std::size_t sentences;
  std::size_t text_bytes;
};

constexpr Room kRooms[] = {{8, 4, 4, 3, 300}, {6, 3, 3, 3, 300}, {5, 2, 3, 2, 300}, {4, 2, 2, 2, 300},
                           {3, 2, 2, 2, 250}, {3, 1, 2, 1, 200}, {2, 1, 1, 1, 200}, {1, 1, 1, 1, 150},
                           {1, 1, 0, 0, 60},  {1, 1, 0, 0, 20}};

template <class Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

class ChangesJson {
 public:
  ChangesJson(const ReportDigest& digest, const Room& room) : digest_(digest), room_(room) {}

  Json run() const {
    return {{"schema", "synctrace-changes"},
            {"schema_version", kChangesSchemaVersion},
            {"simulated", digest_.simulated},
            {"trace", text(digest_.trace)},
            {"program", text(digest_.program)},
            {"device", text(digest_.device)},
            {"processes", digest_.processes},
            {"ranks", digest_.ranks > 0 ? Json(digest_.ranks) : Json()},
            {"verdict", text(digest_.verdict)},
            {"verdict_sentence", text(digest_.sentence)},
            {"basis", digest_.by_steps ? "steps" : "recording"},
            {"steps", digest_.by_steps ? Json(digest_.steps) : Json()},
            {"base_ns", digest_.base_ns > 0 ? Json(digest_.base_ns) : Json()},
            {"recorded_ns", digest_.recorded_ns > 0 ? Json(digest_.recorded_ns) : Json()},
            {"lacked_work_ns", digest_.of_ns > 0 ? Json(digest_.lacked_ns) : Json()},
            {"lacked_work_of_ns", digest_.of_ns > 0 ? Json(digest_.of_ns) : Json()},
            {"changes", array_of(first(digest_.changes, room_.changes),
                                 [&](const DigestChange& change) { return change_json(change); })},
            {"more_changes", digest_.changes.size() - std::min(room_.changes, digest_.changes.size())},
            {"leave_alone",
             array_of(first(digest_.leave_alone, room_.left), [&](const DigestLeft& left) { return left_json(left); })},
            {"waits",
             array_of(first(digest_.waits, room_.places), [&](const DigestWait& wait) { return wait_json(wait); })},
            {"notes", texts(digest_.notes)},
            {"cannot_say", texts(digest_.cannot_say)},
            {"next", text(digest_.next)}};
  }

 private:
  template <class Row>
  static std::span<const Row> first(const std::vector<Row>& rows, std::size_t most) {
    return std::span(rows).first(std::min(most, rows.size()));
  }

  Json text(std::string_view value) const {
    if (value.empty()) return {};
    return value.size() <= room_.text_bytes ? Json(value) : Json(printable(value.substr(0, room_.text_bytes)) + "..");
  }
  Json texts(const std::vector<std::string>& values) const {
    return array_of(first(values, room_.sentences), [&](const std::string& value) { return text(value); });
  }

  Json place_json(const SourceLine& where) const {
    return {{"file", text(where.file)},
            {"line", line_or_null(where.line)},
            {"function", text(where.function)},
            {"source", text(where.source)}};
  }

  Json change_json(const DigestChange& change) const {
    Json places = array_of(first(change.places, room_.places), [&](const DigestPlace& place) {
      Json row = place_json(*place.where);
      row["alone_ns"] = value_or_null(place.alone_ns);
      return row;
    });
    const std::size_t all = change.places.size() + change.more_places;
    return {{"number", change.number},
            {"id", change.id},
            {"rule", rule_or_null(change.rule)},
            {"title", text(change.title)},
            {"to_type", array_of(change.to_type, [&](const std::string& typed) { return text(typed); })},
            {"must_hold", change.must_hold},
            {"places", std::move(places)},
            {"more_places", all - std::min(room_.places, change.places.size())},
            {"ranks", digest_.ranks > 0 ? array_of(first(change.ranks, 2 * room_.changes),
                                                   [&](const std::string& rank) { return text(rank); })
                                        : Json()},
            {"alone", interval(change.alone)},
            {"marginal_saving_ns", value_or_null(change.marginal_ns)},
            {"cumulative_saving_ns", value_or_null(change.cumulative_ns)},
            {"cumulative", interval(change.cumulative)}};
  }

  static Json interval(const std::optional<Interval>& saving) { return saving ? json::interval_json(*saving) : Json(); }

  Json left_json(const DigestLeft& left) const {
    Json row = place_json(*left.line.where);
    row["why"] = why_leave_name(left.line.why);
    row["moves_to"] = text(left.line.moves_to);
    row["host_blocked_ns"] = left.line.host_blocked_ns;
    return row;
  }

  Json wait_json(const DigestWait& wait) const {
    Json row = place_json(wait.site->where);
    row["rule"] = rule_or_null(wait.site->rule());
    row["api"] = text(wait.site->function());
    row["count"] = wait.site->figures.calls;
    row["blocked_count"] = wait.site->figures.waited;
    row["host_blocked_ns"] = wait.site->figures.host_blocked_ns;
    return row;
  }

  const ReportDigest& digest_;
  const Room& room_;
};

}  // namespace

std::string render_changes(const ReportDigest& digest) {
  std::string text;
  for (const Room& room : kRooms) {
    text = ChangesJson(digest, room).run().dump() + '\n';
    if (text.size() <= kMostChangesBytes) break;
  }
  return text;
}

}  // namespace synctrace
