// SPDX-License-Identifier: Apache-2.0
#include "render/gpu_use_words.h"

#include <algorithm>
#include <string_view>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "render/answer_words.h"

namespace synctrace {
namespace {

// The device with the largest share of those that `is_said` of, and how many these are.
struct Concerned {
  const DeviceReport* most = nullptr;
  std::size_t count = 0;
};

Concerned concerned(const Report& report, bool (DeviceUse::*is_said)() const noexcept, Nanoseconds DeviceUse::*part) {
  const auto share = [&](const DeviceReport& device) {
    return static_cast<double>(device.use.*part) / static_cast<double>(device.use.looked_ns);
  };
  Concerned result;
  for (const DeviceReport& device : report.devices) {
    if (!(device.use.*is_said)()) continue;
    ++result.count;
    if (result.most == nullptr || share(device) > share(*result.most)) result.most = &device;
  }
  return result;
}

std::string gpu_words(const Report& report, const Concerned& gpus) {
  if (report.devices.size() == 1) return "this GPU";
  return format_text("GPU {}{}", gpus.most->id, gpus.count > 1 ? format_text(" (and {} more)", gpus.count - 1) : "");
}

// "62.1 % of the time of the steps"
std::string share_words(const Report& report, const DeviceUse& use, Nanoseconds ns) {
  const std::string_view time = !is_by_steps(report)                 ? "the time from its first to its last work"
                                : report.steps.figures.irregular > 0 ? "the time of the ordinary steps"
                                                                     : "the time of the steps";
  return format_text("{} of {}", share_text(ns, use.looked_ns), time);
}

}  // namespace

bool is_gpu_shared(const Report& report) noexcept {
  return std::any_of(report.devices.begin(), report.devices.end(),
                     [](const DeviceReport& device) { return device.use.is_shared(); });
}

std::vector<std::string> gpu_use_sentences(const Report& report) {
  std::vector<std::string> sentences;
  const auto say = [&](auto is_said, auto part, const auto& sentence_of) {
    const Concerned gpus = concerned(report, is_said, part);
    if (gpus.most == nullptr) return;
    const DeviceUse& use = gpus.most->use;
    sentences.push_back(sentence_of(use, gpu_words(report, gpus), share_words(report, use, use.*part)));
  };
  say(&DeviceUse::is_shared, &DeviceUse::others_ns,
      [](const DeviceUse& use, const std::string& gpu, const std::string& share) {
        return format_text(
            "{} used {} for {} [{}]. Run it alone, or on another GPU (CUDA_VISIBLE_DEVICES): times and savings hold "
            "only "
            "beside {}.",
            use.others > 1 ? format_text("Up to {} other processes", use.others) : "Another process", gpu, share,
            kSharedGpuRule.id, use.others > 1 ? "them" : "the other");
      });
  say(&DeviceUse::is_too_hot, &DeviceUse::thermal_ns,
      [](const DeviceUse&, const std::string& gpu, const std::string& share) {
        return format_text("The clocks of {} were held down for {}, because it was hot.", gpu, share);
      });
  say(&DeviceUse::is_power_limited, &DeviceUse::power_ns,
      [](const DeviceUse&, const std::string& gpu, const std::string& share) {
        return format_text("The clocks of {} were held down for {}, to limit its power.", gpu, share);
      });
  return sentences;
}

}  // namespace synctrace
