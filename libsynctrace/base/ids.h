// SPDX-License-Identifier: Apache-2.0
// One type per kind of id. An id names something inside one trace (one process); ids of different kinds never mix
// by accident. Zero is "none" for every kind unless the comment says otherwise.
#pragma once

#include <cstdint>
#include <type_traits>

namespace synctrace {

enum class ThreadId : std::uint32_t {};        // the kernel's thread id (gettid)
enum class DeviceId : std::uint32_t {};        // CUDA ordinal in the process; zero is the first device
enum class ContextId : std::uint32_t {};       // CUPTI's context id
enum class StreamId : std::uint32_t {};        // CUPTI's stream id
enum class CorrelationId : std::uint32_t {};   // joins an API call with the GPU work that it issued
enum class ApiId : std::uint32_t {};           // callback domain and callback id: see format/records.h
enum class StringId : std::uint32_t {};        // a text, defined once
enum class StackId : std::uint32_t {};         // a host stack, defined once
enum class StackPlace : std::uint32_t {};      // a line of the user's: the first of the stacks that are at it
enum class ShapeId : std::uint32_t {};         // a launch configuration, defined once
enum class GraphId : std::uint32_t {};         // CUPTI's graph id
enum class NvtxDomainId : std::uint32_t {};    // zero is NVTX's default domain
enum class CommunicatorId : std::uint32_t {};  // NCCL's, defined once; zero: more of them than the recorder tells apart

// The plain number of an id (or of any enum), for arithmetic and printing.
template <class Id>
requires std::is_enum_v<Id>
constexpr auto number(Id id) noexcept { return static_cast<std::underlying_type_t<Id>>(id); }

}  // namespace synctrace
