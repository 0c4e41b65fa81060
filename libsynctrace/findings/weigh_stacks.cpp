// SPDX-License-Identifier: Apache-2.0
#include "findings/weigh_stacks.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attribution/attribute.h"
#include "code/user_frame.h"
#include "findings/report/trace_words.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

class Weigher {
 public:
  Weigher(const Trace& trace, std::string name) : trace_(trace), profile_(std::move(name)) {}

  // `leaves` come behind the stack's innermost frame; an empty one is none.
  void add(StackId stack, const std::string& function, const std::string& state, Measure measure, std::int64_t weight) {
    const auto [entry, is_new] = rows_.try_emplace({stack, function, state}, sums_.size());
    if (is_new) sums_.push_back({&entry->first, {}});
    std::int64_t& sum = sums_[entry->second].second[static_cast<std::size_t>(measure)];
    sum = add_saturated(sum, std::max<std::int64_t>(weight, 0));
  }

  // In the order in which they were met first, each stack put together once however many rows have it.
  StackProfile take() {
    for (const auto& [row, weights] : sums_) {
      const auto& [stack, function, state] = *row;
      std::vector<ProfileFrame> frames = frames_of(stack);
      for (const std::string& leaf : {function, state}) {
        if (!leaf.empty()) frames.push_back({leaf, {}, 0});
      }
      for (std::size_t measure = 0; measure < kMeasures; ++measure)
        profile_.add(frames, static_cast<Measure>(measure), weights[measure]);
    }
    return std::move(profile_);
  }

 private:
  const std::vector<ProfileFrame>& frames_of(StackId stack) {
    const auto [entry, is_new] = frames_.try_emplace(stack);
    if (!is_new || number(stack) == 0) return entry->second;
    const std::vector<ResolvedFrame> resolved = resolve_stack(trace_, stack);
    const std::vector<bool> hidden = interpreter_frames(resolved);
    for (std::size_t i = resolved.size(); i-- > 0;) {
      if (hidden[i]) continue;
      const bool missing = resolved[i].kind == FrameKind::kMissing;
      entry->second.push_back({missing ? ".." : resolved[i].function, resolved[i].file, resolved[i].line});
    }
    return entry->second;
  }

  using Row = std::tuple<StackId, std::string, std::string>;

  const Trace& trace_;
  StackProfile profile_;
  std::map<Row, std::size_t> rows_;
  std::vector<std::pair<const Row*, std::array<std::int64_t, kMeasures>>> sums_;  // the sums of rows_
  std::unordered_map<StackId, std::vector<ProfileFrame>> frames_;
};

std::string bracketed(std::string_view word) { return '[' + std::string(word) + ']'; }

bool is_cuda(OwnerTable table) noexcept {
  return table == OwnerTable::kCall || table == OwnerTable::kLaunch || table == OwnerTable::kPoll;
}

}  // namespace

StackProfile weigh_stacks(const Trace& trace, const Attribution& attribution, std::string name) {
  Weigher weigher(trace, std::move(name));
  for (const auto& [device, causes] : attribution.causes) {
    for (const Cause& cause : causes) {
      if (cause.key.copying) continue;
      const CallSiteKey& site = cause.key.site;
      weigher.add(site.stack, is_cuda(site.table) ? api_name(trace, site.api) : std::string(),
                  bracketed(cause_name(cause.key.kind)), Measure::kGpuIdle, cause.idle_ns);
    }
  }
  const auto waited = [&](const auto& row, Nanoseconds blocked_ns) {
    weigher.add(row.stack, api_name(trace, row.api), {}, Measure::kHostBlocked, blocked_ns);
    weigher.add(row.stack, api_name(trace, row.api), {}, Measure::kWaits, 1);
  };
  for (std::size_t row = 0; row < trace.calls.size(); ++row) {
    const Judgement& judgement = attribution.judgements[row];
    if (judgement.verdict == Verdict::kBlocked) waited(trace.calls[row], judgement.blocked_ns);
  }
  for (const Poll& poll : trace.polls) {
    if (is_wait(poll)) waited(poll, poll.span.length_ns());
  }
  for (const Sample& sample : trace.samples) {
    weigher.add(sample.stack, {}, bracketed(sample_state_word(sample.state)), Measure::kSamples,
                static_cast<std::int64_t>(std::min<std::uint64_t>(sample.count, std::uint64_t{1} << 40)));
  }
  return weigher.take();
}

}  // namespace synctrace
