// SPDX-License-Identifier: Apache-2.0
#include "render/kernel_words.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"

namespace synctrace {
namespace {

// One part in so many: smaller classes are counted together.
constexpr Nanoseconds kLeastShown = 200;
constexpr Nanoseconds kLeastOnScreen = 10;

struct Kind {
  std::string_view name;
  Nanoseconds device_ns = 0;
  std::vector<const KernelShare*> parts;  // by precision, the largest first
};

std::vector<Kind> kinds_of(const Report& report) {
  std::vector<Kind> kinds;
  for (const KernelShare& share : report.kernel_classes) {
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& one) { return one.name == share.kind; });
    if (kind == kinds.end()) kind = kinds.insert(kind, Kind{share.kind, 0, {}});
    kind->device_ns = add_saturated(kind->device_ns, share.device_ns);
    kind->parts.push_back(&share);
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return b.device_ns < a.device_ns; });
  return kinds;
}

// Nothing for a class whose kernels have no precision in their names.
std::string precision_words(const Kind& kind, Nanoseconds least_ns, Nanoseconds whole_ns) {
  std::string words;
  for (const KernelShare* part : kind.parts) {
    if (part->device_ns < least_ns || (kind.parts.size() == 1 && part->precision.empty())) continue;
    words += format_text("{}{} {}", words.empty() ? " (" : ", ",
                         part->precision.empty() ? std::string_view("not named") : part->precision,
                         share_text(part->device_ns, whole_ns));
  }
  return words.empty() ? words : words + ")";
}

Nanoseconds time_of(const std::vector<Kind>& kinds) {
  Nanoseconds whole_ns = 0;
  for (const Kind& kind : kinds) whole_ns = add_saturated(whole_ns, kind.device_ns);
  return whole_ns;
}

std::string shares_text(const std::vector<Kind>& kinds, Nanoseconds least_ns, Nanoseconds whole_ns) {
  std::string words;
  std::size_t more = 0;
  Nanoseconds more_ns = 0;
  for (const Kind& kind : kinds) {
    if (kind.device_ns < least_ns) {
      ++more;
      more_ns = add_saturated(more_ns, kind.device_ns);
      continue;
    }
    words += format_text("{}{} {}{}", words.empty() ? "" : ", ", kind.name, share_text(kind.device_ns, whole_ns),
                         precision_words(kind, least_ns, whole_ns));
  }
  if (more > 0) words += format_text(", and {} more {}", more, share_text(more_ns, whole_ns));
  return words;
}

}  // namespace

std::string class_words(const KernelFamily& family) {
  std::string words(family.kind);
  if (!family.layout.empty()) words.append(" ").append(family.layout);
  return words;
}

std::string kernel_class_words(const Report& report) {
  const std::vector<Kind> kinds = kinds_of(report);
  const Nanoseconds whole_ns = time_of(kinds);
  return whole_ns <= 0 ? std::string() : shares_text(kinds, whole_ns / kLeastShown, whole_ns);
}

std::string gpu_work_sentence(const Report& report) {
  if (report.verdict.word != "gpu-bound") return {};
  const std::vector<Kind> kinds = kinds_of(report);
  const Nanoseconds whole_ns = time_of(kinds);
  const bool is_known = !kinds.empty() && kinds.front().name != "other" && kinds.front().name != "graph";
  if (whole_ns <= 0 || !is_known) return {};
  return "The GPU computes: " + shares_text(kinds, whole_ns / kLeastOnScreen, whole_ns) + ".";
}
}  // namespace synctrace
