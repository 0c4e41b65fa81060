// SPDX-License-Identifier: Apache-2.0
#include "attribution/cause.h"

namespace synctrace {

std::string_view reason_words(Reason reason) noexcept {
  switch (reason) {
    case Reason::kNone: return "";
    case Reason::kLateOnDevice: return "the work was queued in time but started late";
    case Reason::kSlowDispatch: return "the work started much later after its launch than others do";
    case Reason::kNoLaunch: return "the call that issued the work was not recorded";
    case Reason::kNoHostRecords: return "the thread left no records";
    case Reason::kTooManyJumps: return "threads woke each other in a circle";
    case Reason::kTooManySteps: return "more host records than one gap is explained by";
  }
  return "";
}

}  // namespace synctrace
