// SPDX-License-Identifier: Apache-2.0
// What a CUDA function is for, by its name alone: other tools' files give no more. The recorder knows it by callback id
// (capture/traced_calls), and both agree (tests/unit/capture/call_category_test).
#pragma once

#include <string_view>

#include "format/records.h"

namespace synctrace {

// The name that CUDA's documentation uses: without CUPTI's version ("_v3020", "_v2") and without "_ptsz" and "_ptds".
// A view of `name`.
std::string_view plain_call_name(std::string_view name) noexcept;

// kOther for functions that are none of ours, and for what is no name of CUDA's. `name` is plain.
format::ApiCategory call_category(std::string_view name) noexcept;

}  // namespace synctrace
