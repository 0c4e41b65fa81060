// SPDX-License-Identifier: Apache-2.0
// What things cost, by the stack that they happened in: a plain table between those who know causes (findings) and the
// formats of flame graphs, which know none.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/time_span.h"

namespace synctrace {

enum class Measure : std::uint8_t { kGpuIdle, kHostBlocked, kWaits, kSamples };
inline constexpr std::size_t kMeasures = 4;

struct MeasureName {
  std::string_view name;   // in an option and in pprof
  std::string_view unit;   // "nanoseconds" or "count"
  std::string_view title;  // for people
};
inline constexpr std::array<MeasureName, kMeasures> kMeasureNames = {{
    {"gpu_idle", "nanoseconds", "GPU idle caused"},
    {"host_blocked", "nanoseconds", "Host blocked"},
    {"waits", "count", "Waits"},
    {"samples", "count", "Host samples"},
}};

struct ProfileFrame {
  std::string function;
  std::string file;        // empty: not known
  std::uint32_t line = 0;  // 0: not known
  friend auto operator<=>(const ProfileFrame&, const ProfileFrame&) = default;
};

struct WeightedStack {
  std::vector<std::uint32_t> frames;  // rows of StackProfile::frames, outermost first; never empty
  std::array<std::int64_t, kMeasures> weights{};
};

// The stacks of one process. Memory is for its different stacks; when the names of all of these, one after the other,
// come to more than kMostText bytes, further ones are their innermost frames alone, under "..".
class StackProfile {
 public:
  explicit StackProfile(std::string name) : name_(std::move(name)) {}

  // Adds to what the stack has; `frames` outermost first.
  void add(std::span<const ProfileFrame> frames, Measure measure, std::int64_t weight);
  static constexpr std::size_t kMostText = std::size_t{64} << 20;

  const std::string& name() const noexcept { return name_; }
  const std::vector<ProfileFrame>& frames() const noexcept { return frames_; }
  const std::vector<WeightedStack>& stacks() const noexcept { return stacks_; }
  std::int64_t total(Measure measure) const noexcept;

 private:
  std::string name_;
  std::uint32_t index_of(const ProfileFrame& frame);

  std::size_t text_bytes_ = 0;  // names in all stacks
  std::vector<ProfileFrame> frames_;
  std::map<ProfileFrame, std::uint32_t> frame_index_;
  std::vector<WeightedStack> stacks_;
  std::map<std::vector<std::uint32_t>, std::size_t> stack_index_;
};

}  // namespace synctrace
