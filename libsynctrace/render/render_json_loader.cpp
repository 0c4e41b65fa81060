// SPDX-License-Identifier: Apache-2.0
#include "findings/loader/loader_advice.h"
#include "render/json_parts.h"

namespace synctrace::json {

Json loader_json(const Report& report) {
  if (!report.loader) return nullptr;
  const LoaderAdvice& advice = *report.loader;
  const auto known = [](std::size_t number) { return number == 0 ? Json(nullptr) : Json(number); };
  return {{"limit", loader_limit_name(advice.limit)},
          {"more_workers_help", advice.more_workers_help},
          {"workers", advice.workers},
          {"needed_workers", known(advice.needed)},
          {"processors", known(advice.processors)},
          {"steps", advice.steps},
          {"step_ns", advice.step_ns},
          {"step_without_wait_ns", advice.step_without_wait_ns},
          {"busy_ns_a_step", advice.busy_ns},
          {"utilisation", advice.utilisation},
          {"busiest", advice.busiest},
          {"idlest", advice.idlest},
          {"waits_for_cpu", advice.waits_for_cpu},
          {"waits_for_storage", advice.waits_for_storage},
          {"pin_thread", advice.pin_thread},
          {"main_process", advice.main_process},
          {"title", advice.title},
          {"type", advice.type}};
}

}  // namespace synctrace::json
