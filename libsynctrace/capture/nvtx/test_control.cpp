// SPDX-License-Identifier: Apache-2.0
#include "capture/nvtx/test_control.h"

#include <atomic>

#include "capture/cupti/cupti_switch.h"
#include "capture/samples/sampler.h"
#include "capture/stacks/stack_table.h"
#include "capture/waits/host_waits.h"

namespace synctrace::capture {
namespace {

std::atomic<bool> is_allowed{false};
StackKinds usual_stacks{};
bool usual_host_waits = false;

std::string_view take_word(std::string_view& text) noexcept {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

void switch_sources_to(std::string_view word) noexcept {
  if (word == "off") switch_sources(Sources::kNone);
  if (word == "syncs") switch_sources(Sources::kSyncs);
  if (word == "timeline") switch_sources(Sources::kTimeline);
  if (word == "cupti-only") switch_sources(Sources::kRecordsOnly);
}

}  // namespace

void allow_test_control(const Settings& settings) noexcept {
  usual_stacks = settings.stacks;
  usual_host_waits = settings.host_waits && is_preloaded();
  is_allowed.store(true, std::memory_order_release);
}

void apply_test_control(std::string_view mark) noexcept {
  constexpr std::string_view kPrefix = "synctrace:";
  if (!is_allowed.load(std::memory_order_acquire) || !mark.starts_with(kPrefix)) return;
  mark.remove_prefix(kPrefix.size());
  const std::string_view sources = take_word(mark);
  StackKinds stacks = usual_stacks;
  bool host_waits = usual_host_waits;
  bool samples = true;
  while (!mark.empty()) {
    const std::string_view part = take_word(mark);
    if (part == "-stacks") stacks = StackKinds::kNone;
    if (part == "-native" && format::includes(stacks, StackKinds::kPython)) stacks = StackKinds::kPython;
    if (part == "-waits") host_waits = false;
    if (part == "-samples") samples = false;
  }
  switch_stacks(stacks);
  switch_host_waits(host_waits);
  pause_samples(!samples);
  switch_sources_to(sources);
}

}  // namespace synctrace::capture
