// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/needless_calls.h"

#include <array>
#include <string>

#include "findings/libraries/library_remedy.h"

namespace synctrace {
namespace {

constexpr std::array<NeedlessCall, 5> kNeedless = {{
    {"gc.collect(", "gc.collect()", "delete gc.collect(), or call it every 1000 steps"},
    {"cuda.empty_cache(", "torch.cuda.empty_cache()",
     "delete torch.cuda.empty_cache(): PyTorch keeps the memory for the next step"},
    {"free_all_blocks(", "free_all_blocks()", "delete free_all_blocks(): CuPy keeps the memory for the next step"},
    {"time.sleep(", "time.sleep()", "delete time.sleep()"},
    {"cuda.memory_summary(", "torch.cuda.memory_summary()",
     "delete torch.cuda.memory_summary(), or call it every 1000 steps"},
}};

}  // namespace

std::vector<NeedlessCall> needless_calls(const SourceLine& where) {
  std::vector<NeedlessCall> found;
  const std::string& source = where.through.is_users() ? where.through.source : where.source;
  const std::string_view code = std::string_view(source).substr(0, source.find('#'));
  for (const NeedlessCall& each : kNeedless) {
    if (has_call(code, each.call)) found.push_back(each);
  }
  return found;
}

}  // namespace synctrace
