// SPDX-License-Identifier: Apache-2.0
#include "capture/cupti/traced_calls.h"

#include <cupti.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "support/catch.h"

namespace synctrace::capture {
namespace {

using format::ApiCategory;
using format::ApiDomain;

TEST_CASE("every entry is found by its id, and no id is there twice") {
  std::set<std::pair<ApiDomain, std::uint32_t>> seen;
  for (const TracedCall& call : traced_calls()) {
    INFO(call.cupti_name);
    CHECK(seen.emplace(call.domain, call.callback_id).second);
    CHECK(find_traced_call(call.domain, call.callback_id) == &call);
  }
  CHECK(seen.size() >= 250);
}

TEST_CASE("an id that is not in the table is no call") {
  CHECK(find_traced_call(ApiDomain::kRuntime, 0) == nullptr);
  CHECK(find_traced_call(ApiDomain::kDriver, 1023) == nullptr);
  CHECK(find_traced_call(ApiDomain::kDriver, 1024) == nullptr);
  CHECK(find_traced_call(ApiDomain::kRuntime, ~0U) == nullptr);
  CHECK(find_traced_call(ApiDomain::kRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020) == nullptr);
}

TEST_CASE("names are as CUDA's documentation spells them") {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync"},
      {"cudaMemcpy3D_v3020", "cudaMemcpy3D"},
      {"cudaMemcpy_ptds_v7000", "cudaMemcpy"},
      {"__cudaLaunchKernel_ptsz_v13000", "cudaLaunchKernel"},
      {"cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"},
      {"cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync"},
      {"cuMemAlloc_v2", "cuMemAlloc"},
      {"cuMemcpy", "cuMemcpy"},
      {"cuMemsetD32", "cuMemsetD32"},
      {"cuMemsetD2D8_v2_ptds", "cuMemsetD2D8"},
      {"cuCtxSynchronize_v2", "cuCtxSynchronize"},
      {"", ""},
      {"12", "12"},
      {"v2", "v2"},
  };
  for (const auto& [cupti_name, expected] : cases) CHECK(documented_name(cupti_name) == expected);
  for (const TracedCall& call : traced_calls()) {
    const std::string_view name = documented_name(call.cupti_name);
    INFO(call.cupti_name);
    CHECK(name.starts_with(call.domain == ApiDomain::kRuntime ? "cuda" : "cu"));
    CHECK(name.find('_') == std::string_view::npos);
  }
}

TEST_CASE("the twins of per-thread default streams are marked, and treated as their originals") {
  std::uint64_t twins = 0;
  for (const TracedCall& call : traced_calls()) {
    INFO(call.cupti_name);
    if (call.arguments == nullptr) continue;  // no stream to read: whose the null stream is does not matter
    const bool is_twin = call.cupti_name.find("_pt") != std::string_view::npos;
    CHECK(call.per_thread_stream == is_twin);
    if (!is_twin) continue;
    ++twins;
    bool has_original = false;
    for (const TracedCall& other : traced_calls()) {
      if (other.per_thread_stream || other.domain != call.domain) continue;
      if (documented_name(other.cupti_name) != documented_name(call.cupti_name)) continue;
      has_original = true;
      CHECK(other.category == call.category);
      CHECK(other.scope == call.scope);
      CHECK(other.effect == call.effect);
    }
    CHECK(has_original);
  }
  CHECK(twins > 80);
}

TEST_CASE("launches are traced in the driver's domain alone, which every runtime launch passes through") {
  std::uint64_t launches = 0;
  for (const TracedCall& call : traced_calls()) {
    if (!is_launch(call.category)) continue;
    INFO(call.cupti_name);
    CHECK(call.domain == ApiDomain::kDriver);
    CHECK(call.scope == Scope::kTimeline);
    ++launches;
  }
  CHECK(launches >= 11);
}

TEST_CASE("what adds or removes memory has an address to read") {
  for (const TracedCall& call : traced_calls()) {
    INFO(call.cupti_name);
    if (call.effect != MemoryEffect::kNone) CHECK(call.arguments != nullptr);
    if (call.arguments != nullptr) {
      const CallArguments nothing = call.arguments(nullptr);
      CHECK(nothing.bytes == 0);
      CHECK(nothing.address == 0);
      CHECK_FALSE(nothing.has_stream);
    }
  }
}

// The calls that can hold the host, move data, or change what memory is: each must be in the table with its category.
struct Expected {
  ApiDomain domain;
  ApiCategory category;
  std::initializer_list<std::uint32_t> ids;  // CUPTI's, of CUDA 13
};

TEST_CASE("no call that the recorder is there for is missing") {
  using enum ApiCategory;
  constexpr ApiDomain kRuntime = ApiDomain::kRuntime;
  constexpr ApiDomain kDriver = ApiDomain::kDriver;
  const Expected expected[] = {
      {kRuntime, kDeviceSync, {165, 126}},
      {kRuntime, kStreamSync, {131, 239}},
      {kRuntime, kEventSync, {137}},
      {kDriver, kDeviceSync, {17, 800}},
      {kDriver, kStreamSync, {126, 440}},
      {kDriver, kEventSync, {121}},
      {kRuntime, kPoll, {132, 240, 138}},
      {kDriver, kPoll, {125, 439, 120}},
      {kRuntime, kCopy, {31, 215, 32, 216, 144, 245, 39, 223, 40, 224, 160, 162, 249}},
      {kRuntime, kCopyAsync, {41,  225, 44,  228, 145, 246, 47,  231, 48,  232, 161,
                              163, 250, 482, 483, 484, 485, 509, 510, 511, 512}},
      {kDriver, kCopy, {305, 408, 276, 397, 278, 398, 280, 399, 287, 405, 288, 406, 290, 407, 318, 409}},
      {kDriver, kCopyAsync, {306, 418, 277, 421, 279, 422, 281, 423, 289, 424, 291,
                             425, 319, 426, 776, 777, 778, 779, 796, 797, 798, 799}},
      {kRuntime, kMemset, {49, 51, 233, 235, 50, 52, 142, 143}},
      {kDriver, kMemset, {249, 250, 251, 411, 412, 413, 216, 218, 220, 428, 429, 430}},
      {kRuntime, kAlloc, {20, 21, 140, 206}},
      {kRuntime, kFree, {22, 24}},
      {kRuntime, kHostAlloc, {25, 27, 152}},
      {kRuntime, kHostFree, {26, 153}},
      {kRuntime, kPoolAlloc, {373, 374, 391, 392}},
      {kRuntime, kPoolFree, {375, 376, 377}},
      {kDriver, kAlloc, {243, 371, 549, 551, 553}},
      {kDriver, kFree, {245, 550, 552}},
      {kDriver, kHostAlloc, {39, 294, 379}},
      {kDriver, kHostFree, {38, 302}},
      {kDriver, kPoolAlloc, {598, 599}},
      {kDriver, kPoolFree, {600, 601, 602}},
      {kDriver, kLaunch, {307, 442, 652, 653, 477, 478}},
      {kDriver, kGraphLaunch, {514, 515}},
      {kDriver, kHostFunction, {527, 528}},
      {kDriver, kModule, {18, 19, 20, 21, 22, 678, 679, 680, 742, 365}},
      {kDriver, kGraph, {643, 656, 657, 696, 516}},
      {kRuntime, kGraph, {443, 418, 335, 313}},
      {kDriver, kStreamEvent, {326, 325}},
      {kRuntime, kStreamEvent, {201}},
      {kDriver, kContext, {322, 545}},
      {kRuntime, kContext, {164}},
  };
  for (const Expected& group : expected) {
    for (const std::uint32_t id : group.ids) {
      INFO((group.domain == kRuntime ? "runtime " : "driver ") << id);
      const TracedCall* call = find_traced_call(group.domain, id);
      CHECK(call != nullptr);
      if (call != nullptr) CHECK(number(call->category) == number(group.category));
    }
  }
}

TEST_CASE("the runtime's launches are left out: 211 214 269 270 284 285 311 312 430 431 505 506") {
  for (const std::uint32_t id : {211U, 214U, 269U, 270U, 284U, 285U, 311U, 312U, 430U, 431U, 505U, 506U}) {
    INFO(id);
    CHECK(find_traced_call(ApiDomain::kRuntime, id) == nullptr);
  }
}

}  // namespace
}  // namespace synctrace::capture
