// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/api_names.h"

#include "capture/cupti/traced_calls.h"

namespace synctrace::capture {

void ApiNames::define(ApiId api) noexcept {
  const std::uint32_t domain = number(api) >> 24;
  const std::uint32_t callback_id = number(api) & 0xffffff;
  if (domain - 1 >= is_defined_.size() || callback_id >= is_defined_[0].size()) return;
  if (is_defined_[domain - 1][callback_id]) return;
  is_defined_[domain - 1].set(callback_id);
  if (const TracedCall* call = find_traced_call(static_cast<format::ApiDomain>(domain), callback_id)) {
    out_.add(format::ApiName{api, call->category, documented_name(call->cupti_name)});
  }
}

}  // namespace synctrace::capture
