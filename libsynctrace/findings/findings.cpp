// SPDX-License-Identifier: Apache-2.0
#include "findings/findings.h"

#include <utility>

#include "attribution/attribute.h"
#include "findings/build_report.h"
#include "findings/weigh_stacks.h"

namespace synctrace {
namespace {

Attribution explained(LoadedTrace& loaded, const FindingsOptions& options) {
  AttributeOptions how;
  how.steps = options.steps;
  how.keep_parts = options.keeps_timeline;
  return attribute(loaded, how);
}

}  // namespace

Findings::Findings(LoadedTrace loaded, FindingsOptions options)
    : loaded_(std::move(loaded)),
      options_(std::move(options)),
      attribution_(std::make_unique<const Attribution>(explained(loaded_, options_))) {}

Findings::~Findings() = default;

Report Findings::report(bool all, const WhatIfQuestion& question) const {
  return build_report(trace(), *attribution_, {all, options_.user_code, question});
}

HistoryDraft Findings::history(const Report& report, HistoryOptions options) const {
  if (!options.exchanges && !attribution_->collectives.empty())
    options.exchanges = exchanges_of(summarize_rank(trace(), *attribution_));
  return draft_history(trace(), *attribution_, report, options_.user_code, options);
}

WaitSites Findings::wait_sites(const WaitSitesOptions& options) const {
  return find_wait_sites(trace(), *attribution_, options_.user_code, options);
}

StackProfile Findings::stack_profile(std::string name) const {
  return weigh_stacks(trace(), *attribution_, std::move(name));
}

}  // namespace synctrace
