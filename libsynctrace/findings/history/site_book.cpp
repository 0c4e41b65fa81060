// SPDX-License-Identifier: Apache-2.0
#include "findings/history/site_book.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/trace.h"

namespace synctrace {

void SiteFigures::add(const SiteFigures& other) noexcept {
  WaitFigures::add(other);
  idle_ns = add_saturated(idle_ns, other.idle_ns);
  uncertain_ns = add_saturated(uncertain_ns, other.uncertain_ns);
  copying_ns = add_saturated(copying_ns, other.copying_ns);
}

std::uint32_t SiteBook::row_of(const Rule* rule, std::string_view name, const SourceLine& where,
                               std::string_view call) {
  // By the wait's own line, whoever calls it: that is what other recordings know it by.
  const bool is_helper = where.through.is_users();
  const std::string& source = is_helper ? where.through.source : where.source;
  Key key{rule == nullptr ? name : rule->id,
          repository_path(is_helper ? where.through.file : where.file, working_folder_, root_),
          is_helper ? where.through.line : where.line, is_helper ? where.through.function : where.function,
          where.known() ? std::string_view() : call};
  const auto [found, is_new] = rows_.try_emplace(std::move(key), static_cast<std::uint32_t>(sites_.size()));
  if (is_new) {
    const auto& [id, file, line, function, unplaced] = found->first;
    HistorySite& site = sites_.emplace_back();
    site.fingerprint = {id, file, function, line_text_hash(source.empty() ? call : source), 1};
    if (rule != nullptr) site.rule = rule->id;
    site.name = rule == nullptr ? name : rule->name;
    site.line = line;
    site.source = source;
  }
  return found->second;
}

std::vector<HistorySite> SiteBook::take() {
  std::vector<std::uint32_t> by_line(sites_.size());
  std::iota(by_line.begin(), by_line.end(), 0U);
  std::stable_sort(by_line.begin(), by_line.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return sites_[a].line < sites_[b].line; });
  std::map<Fingerprint, std::uint32_t> numbers;
  for (const std::uint32_t row : by_line) {
    Fingerprint& print = sites_[row].fingerprint;
    print.ordinal = ++numbers[print];
  }
  return std::move(sites_);
}

}  // namespace synctrace
