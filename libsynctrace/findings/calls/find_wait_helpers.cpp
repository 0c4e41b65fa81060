// SPDX-License-Identifier: Apache-2.0
#include "findings/calls/find_wait_helpers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "attribution/wait_table.h"
#include "names/resolve_stack.h"

namespace synctrace {
namespace {

using Kinds = std::unordered_map<StackId, std::uint8_t>;

std::uint8_t kind_of(ApiCategory category) {
  switch (category) {
    case ApiCategory::kStreamSync:
    case ApiCategory::kDeviceSync:
    case ApiCategory::kEventSync: return WaitHelpers::kWait;
    default: return is_copy(category) ? WaitHelpers::kCopy : std::uint8_t{0};
  }
}

Kinds stacks_of_waits(const Trace& trace) {
  Kinds kinds;
  for (const Call& call : trace.calls) {
    const std::uint8_t kind = number(call.stack) == 0 ? std::uint8_t{0} : kind_of(call.category);
    if (kind != 0) kinds[call.stack] |= kind;
  }
  for (const Poll& poll : trace.polls) {
    if (number(poll.stack) != 0) kinds[poll.stack] |= WaitHelpers::kWait;
  }
  return kinds;
}

// Whether a stack has a function in it that may still be a helper. One that was found to be none is not looked up
// again.
class Mentions {
 public:
  Mentions(const Trace& trace, const WaitHelpers& helpers) : trace_(trace), helpers_(helpers) {}

  bool in(StackId stack) {
    const auto found = trace_.stacks.find(stack);
    return found != trace_.stacks.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const StackFrame& frame) { return is(frame); });
  }

 private:
  bool is(const StackFrame& frame) {
    if (frame.kind == StackFrame::Kind::kPython) {
      bool& may_be = codes_.try_emplace(frame.code, true).first->second;
      if (!may_be) return false;
      const auto code = trace_.codes.find(frame.code);
      return may_be = code != trace_.codes.end() && helpers_.may_be_helper(code->second.file, code->second.function);
    }
    if (frame.kind != StackFrame::Kind::kNative) return false;
    bool& may_be = addresses_.try_emplace(frame.native, true).first->second;
    if (!may_be) return false;
    const auto symbol = trace_.symbols.find(frame.native);
    return may_be = symbol != trace_.symbols.end() &&
                    std::any_of(symbol->second.begin(), symbol->second.end(), [&](const ResolvedFrame& one) {
                      return helpers_.may_be_helper(one.file, one.function);
                    });
  }

  const Trace& trace_;
  const WaitHelpers& helpers_;
  std::unordered_map<std::uint32_t, bool> codes_;
  std::unordered_map<CodeAddress, bool, CodeAddressHash> addresses_;
};

}  // namespace

WaitHelpers find_wait_helpers(const Trace& trace, const UserCode& user_code) {
  WaitHelpers helpers(user_code);
  for (const auto& [stack, kinds] : stacks_of_waits(trace)) helpers.add_wait(resolve_stack(trace, stack), kinds);
  if (!helpers.any()) return WaitHelpers(user_code);
  std::unordered_set<StackId> launching;
  for (const Launch& launch : trace.launches) {
    if (number(launch.stack) != 0) launching.insert(launch.stack);
  }
  if (launching.empty()) return WaitHelpers(user_code);
  Mentions mentions(trace, helpers);
  for (const StackId stack : launching) {
    if (mentions.in(stack)) helpers.add_launch(resolve_stack(trace, stack));
  }
  return helpers;
}

}  // namespace synctrace
