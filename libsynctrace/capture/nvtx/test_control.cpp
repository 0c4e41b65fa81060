// SPDX-License-Identifier: Apache-2.0
#include "capture/nvtx/test_control.h"

#include "capture/cupti/cupti_switch.h"
#include "capture/samples/sample_queue.h"
#include "capture/stacks/stack_table.h"
#include "capture/waits/host_waits.h"

namespace synctrace::capture {
namespace {

std::string_view take_word(std::string_view& text) noexcept {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

void switch_sources_to(std::string_view word) noexcept {
  cupti_switch.set_records(word == "timeline" || word == "cupti-only");
  if (word == "off") cupti_switch.switch_to(Sources::kNone);
  if (word == "syncs") cupti_switch.switch_to(Sources::kSyncs);
  if (word == "timeline") cupti_switch.switch_to(Sources::kTimeline);
  if (word == "cupti-only") cupti_switch.switch_to(Sources::kRecordsOnly);
}

}  // namespace

void TestControl::allow(const Settings& settings) noexcept {
  usual_stacks_ = settings.stacks;
  usual_host_waits_ = settings.host_waits && is_preloaded();
  is_allowed_.store(true, std::memory_order_release);
}

void TestControl::obey(std::string_view mark) noexcept {
  constexpr std::string_view kPrefix = "synctrace:";
  if (!mark.starts_with(kPrefix)) return;
  mark.remove_prefix(kPrefix.size());
  const std::string_view sources = take_word(mark);
  StackKinds stacks = usual_stacks_;
  bool waits = usual_host_waits_;
  bool samples = true;
  while (!mark.empty()) {
    const std::string_view part = take_word(mark);
    if (part == "-stacks") stacks = StackKinds::kNone;
    if (part == "-native" && format::includes(stacks, StackKinds::kPython)) stacks = StackKinds::kPython;
    if (part == "-waits") waits = false;
    if (part == "-samples") samples = false;
  }
  switch_stacks(stacks);
  switch_host_waits(waits);
  sample_queue.pause(!samples);
  switch_sources_to(sources);
}

}  // namespace synctrace::capture
