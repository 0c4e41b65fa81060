// SPDX-License-Identifier: Apache-2.0
// What timelines of other tools say of a row beside its time: category, arguments, and the arrow from a call to its
// work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/exporter.h"
#include "model/correlate.h"
#include "timeline/rows.h"

namespace synctrace {

// Takes the arguments of a row in turn.
class ArgSink {
 public:
  virtual ~ArgSink() = default;
  virtual void number(std::string_view key, std::uint64_t value) = 0;
  virtual void text(std::string_view key, std::string_view value) = 0;
  virtual void flag(std::string_view key) = 0;
  virtual void stack(StackId id) = 0;  // never 0
};

class RowFacts {
 public:
  // `rows` must outlive the object. `first_id` is added to ids that are unique in one trace only.
  RowFacts(const timeline::Rows& rows, bool stacks, std::uint64_t first_id)
      : rows_(rows), trace_(rows.trace()), stacks_(stacks), first_id_(first_id), correlation_(trace_) {}

  // The words that Kineto uses, which other tools look for: "kernel", "cuda_runtime".
  static std::string_view category(const timeline::Row& row) noexcept;
  static std::string_view part_category(timeline::SliceName part) noexcept {
    return timeline::kind_of(part) == timeline::SliceKind::kRankWait ? "rank_wait" : "transfer";
  }
  // "Memcpy HtoD (Pageable -> Device)", a kernel's demangled name, "waiting for rank 1".
  std::string name(timeline::SliceName name) const;
  void args(const timeline::Row& row, ArgSink& sink) const;

  // Arrows lead from a call to the first work that it issued; none where the clocks disagree so much that it would lead
  // back in time.
  bool begins_arrow(const timeline::Row& row) const;
  bool ends_arrow(const timeline::Row& row) const;
  std::uint64_t arrow(const timeline::Row& row) const;

 private:
  void call_args(ApiId api, CorrelationId correlation, StackId stack, std::uint32_t status, ArgSink& sink) const;
  void stack_arg(StackId stack, ArgSink& sink) const;
  bool has_arrow(std::uint32_t operation) const;
  CorrelationId correlation_of(const timeline::Row& row) const;

  const timeline::Rows& rows_;
  const Trace& trace_;
  const bool stacks_;
  const std::uint64_t first_id_;
  Correlation correlation_;
};

// "stream 7 (default)".
std::string stream_name(const Trace& trace, const timeline::LaneKey& key);
// The program without its folders; may be empty.
std::string_view program_name(const Trace& trace);
// Which rank it was, on which host, how well its clock is aligned: in the order in which viewers show them.
std::vector<std::string> process_labels(const Trace& trace, const RankLane* rank);

}  // namespace synctrace
