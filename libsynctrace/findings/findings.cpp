// SPDX-License-Identifier: Apache-2.0
#include "findings/findings.h"

#include <utility>

#include "attribution/attribute.h"
#include "findings/build_report.h"
#include "findings/weigh_stacks.h"

namespace synctrace {
namespace {

Attribution explained(const Trace& trace, const FindingsOptions& options, std::optional<Joins> joins) {
  AttributeOptions how;
  how.steps = options.steps;
  how.keep_parts = options.keeps_timeline;
  return attribute(trace, how, std::move(joins));
}

}  // namespace

Findings::Findings(const Trace& trace, FindingsOptions options, std::optional<Joins> joins)
    : trace_(trace),
      options_(std::move(options)),
      attribution_(std::make_unique<const Attribution>(explained(trace, options_, std::move(joins)))) {}

Findings::~Findings() = default;

Report Findings::report(bool all, const WhatIfQuestion& question) const {
  return build_report(trace_, *attribution_, {all, options_.user_code, question});
}

RunHistory Findings::history(const Report& report, HistoryOptions options) const {
  if (options.job == nullptr && !attribution_->collectives.empty())
    options.exchanges = exchanges_of(summarize_rank(trace_, *attribution_));
  return build_history(trace_, *attribution_, report, options_.user_code, options);
}

WaitSites Findings::wait_sites(const WaitSitesOptions& options) const {
  return find_wait_sites(trace_, *attribution_, options_.user_code, options);
}

StackProfile Findings::stack_profile(std::string name) const {
  return weigh_stacks(trace_, *attribution_, std::move(name));
}

}  // namespace synctrace
