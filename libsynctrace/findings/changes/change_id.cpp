// SPDX-License-Identifier: Apache-2.0
#include "findings/changes/change_id.h"

#include <algorithm>
#include <string_view>

#include "base/digest.h"

namespace synctrace {
namespace {

constexpr std::size_t kDigits = 6;

struct Place {
  std::string file;
  std::string function;  // or the call, where no line is known
  std::uint32_t line = 0;

  friend auto operator<=>(const Place&, const Place&) = default;
};

struct Named {
  const Rule* rule = nullptr;
  std::string sort;  // what is done there, where two changes have one rule
  Place place;
};

// The number of the line and its text are left out: an edit above changes the one, and the other may not be readable.
std::string id_of(const Named& named, std::size_t ordinal) {
  Digest digest;
  const std::string_view rule = named.rule == nullptr ? std::string_view("change") : named.rule->id;
  for (const std::string_view part :
       {rule, std::string_view(named.sort), std::string_view(named.place.file), std::string_view(named.place.function)})
    digest.add(part);
  digest.add(std::to_string(ordinal));
  return std::string(rule) + "-" + digest.hex().substr(16 - kDigits);
}

// Changes of one sort in one function are counted from above.
std::vector<std::string> ids_of(const std::vector<Named>& all) {
  std::vector<std::string> ids;
  for (const Named& one : all) {
    const auto is_before = [&](const Named& other) {
      return &other != &one && other.rule == one.rule && other.sort == one.sort && other.place.file == one.place.file &&
             other.place.function == one.place.function &&
             (other.place.line < one.place.line || (other.place.line == one.place.line && &other < &one));
    };
    auto ordinal = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_before));
    std::string id = id_of(one, ordinal);
    while (std::find(ids.begin(), ids.end(), id) != ids.end()) id = id_of(one, ordinal += all.size());
    ids.push_back(std::move(id));
  }
  return ids;
}

// The file's name alone: another checkout, or a start from another folder, is the same program.
Place place_of(const SourceLine& where, const std::string& call) {
  if (!where.known()) return {{}, call, 0};
  return {where.file.substr(where.file.rfind('/') + 1), where.function, where.line};
}

// A change of kernels is one of the program. Else the place is the first by name among the dear ones: which of two
// equals is dearest changes from run to run.
Place place_of(const Remedy& remedy) {
  if (remedy.fix == Fix::kKernels || remedy.fixes.empty()) return {};
  const Nanoseconds dear_ns = remedy.fixes.front().saving.alone.ns / 2;
  Place first = place_of(remedy.fixes.front().where, remedy.fixes.front().call);
  for (const ShownFix& fix : remedy.fixes) {
    if (fix.saving.alone.ns < dear_ns || fix.saving.alone.ns <= 0) continue;
    first = std::min(first, place_of(fix.where, fix.call));
  }
  return first;
}

}  // namespace

std::vector<std::string> change_ids(const Report& report) {
  std::vector<Named> all;
  for (const Remedy& remedy : report.savings.remedies)
    all.push_back({remedy.rule, std::to_string(static_cast<unsigned>(remedy.fix)), place_of(remedy)});
  return ids_of(all);
}

std::vector<std::string> change_ids(const JobReport& report) {
  std::vector<Named> all;
  for (const JobCause& cause : report.causes) {
    const Rule* const rule = cause.rule == nullptr ? &kRankWaitRule : cause.rule;
    all.push_back({rule, cause.name, place_of(cause.where, cause.kernel)});
  }
  for (const JobPattern& pattern : report.patterns)
    all.push_back({pattern.rule, pattern.name, place_of(pattern.where, pattern.operation)});
  return ids_of(all);
}

}  // namespace synctrace
