// SPDX-License-Identifier: Apache-2.0
// The names behind NVTX's handles: domains and registered strings. Kept in an arena that lives as long as the process,
// because the program may use a handle at any time. Creating takes a spin lock and is rare; looking up takes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.h"

struct nvtxDomainRegistration_st;
struct nvtxStringRegistration_st;

namespace synctrace::capture {

// One handle a name; a table that is full answers the default domain's null handle.
nvtxDomainRegistration_st* create_domain(std::string_view name) noexcept;
NvtxDomainId domain_id(nvtxDomainRegistration_st* handle) noexcept;

// A null handle, whose text is empty, when the arena is full.
nvtxStringRegistration_st* register_text(std::string_view text) noexcept;
std::string_view registered_text(nvtxStringRegistration_st* handle) noexcept;

// UTF-32 to UTF-8: the number of bytes written to `out`, at most `room`, whole characters only.
std::size_t to_utf8(const wchar_t* text, char* out, std::size_t room) noexcept;

}  // namespace synctrace::capture
