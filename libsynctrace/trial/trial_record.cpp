// SPDX-License-Identifier: Apache-2.0
#include "trial/trial_record.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/format_text.h"
#include "base/json.h"
#include "trial/trial_words.h"

namespace synctrace {
namespace {

// The fields of a row by their names, for writing and for reading.
constexpr std::pair<const char*, std::int64_t TrialRow::*> kNumbers[] = {
    {"ended_ns", &TrialRow::ended_ns},
    {"change", &TrialRow::change},
    {"predicted_ppm", &TrialRow::predicted_ppm},
    {"predicted_lo_ppm", &TrialRow::predicted_lo_ppm},
    {"predicted_hi_ppm", &TrialRow::predicted_hi_ppm},
    {"timed_ppm", &TrialRow::timed_ppm},
    {"timed_lo_ppm", &TrialRow::timed_lo_ppm},
    {"timed_hi_ppm", &TrialRow::timed_hi_ppm},
    {"pairs", &TrialRow::pairs},
};
constexpr std::pair<const char*, std::string TrialRow::*> kTexts[] = {
    {"program", &TrialRow::program}, {"gpu", &TrialRow::gpu},         {"title", &TrialRow::title},
    {"of", &TrialRow::of},           {"verdict", &TrialRow::verdict}, {"answer", &TrialRow::answer},
};

std::int64_t millionths(double share) {
  constexpr double kMost = 1e15;
  return std::llround(std::fmin(kMost, std::fmax(-kMost, share * 1e6)));
}

bool read_row(std::string_view line, TrialRow& row) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || json.value("schema_version", nlohmann::json()) != nlohmann::json(1)) return false;
  for (const auto& [name, field] : kNumbers) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_integer()) return false;
    if (found->is_number_unsigned() && found->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
      return false;
    row.*field = found->get<std::int64_t>();
  }
  for (const auto& [name, field] : kTexts) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_string()) return false;
    row.*field = found->get<std::string>();
  }
  return true;
}

}  // namespace

bool has_row(const TimedTrial& result) { return result.pairs.size() >= kFewestPairs; }

TrialRow trial_row(const TimedTrial& result, Nanoseconds ended_ns) {
  const Effect effect = result.effect();
  TrialRow row;
  row.ended_ns = ended_ns;
  row.program = result.after.command;
  row.gpu = result.gpu;
  row.of = result.by_steps ? "step" : "run";
  row.timed_ppm = millionths(1.0 - effect.ratio);
  row.timed_lo_ppm = millionths(1.0 - effect.high);
  row.timed_hi_ppm = millionths(1.0 - effect.low);
  row.verdict = verdict_word(result.verdict());
  row.pairs = static_cast<std::int64_t>(result.pairs.size());
  if (!result.prediction) return row;
  const ComparedPrediction& prediction = *result.prediction;
  row.change = static_cast<std::int64_t>(prediction.saving.change);
  row.title = prediction.saving.title;
  row.predicted_ppm = millionths(prediction.gain);
  row.predicted_lo_ppm = millionths(prediction.low);
  row.predicted_hi_ppm = millionths(prediction.high);
  row.answer = answer_words(prediction);
  return row;
}

std::string row_text(const TrialRow& row) {
  std::string text(kTrialRowBegin);
  for (const auto& [name, field] : kNumbers) append_text(text, "\"{}\":{},", name, row.*field);
  for (const auto& [name, field] : kTexts) append_text(text, "\"{}\":{},", name, json_quoted(row.*field));
  text.back() = '}';
  return text + "\n";
}

Result<std::vector<TrialRow>> read_trial_rows(std::string_view text) {
  std::vector<TrialRow> rows;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    TrialRow row;
    if (!read_row(line, row)) return Error{format_text("line {} is no row of synctrace try --record", number)};
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace synctrace
