// SPDX-License-Identifier: Apache-2.0
// Numbers and enumerators as a reader sees them. Nothing here is localised; a share is never rounded up to 100 %.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/shown_text.h"
#include "base/time_span.h"
#include "model/trace.h"
#include "report/report.h"

namespace synctrace {

std::string_view direction_word(CopyKind kind) noexcept;       // "H2D"; empty when unknown
std::string_view memory_word(MemoryKind kind) noexcept;        // "pageable"; empty when unknown
std::string_view verdict_word(SiteVerdict verdict) noexcept;   // for people
std::string_view verdict_token(SiteVerdict verdict) noexcept;  // for programs

std::string_view host_call_word(HostCall call) noexcept;  // "semaphore"
std::string_view sample_state_word(format::Sample::State state) noexcept;

std::string call_words(const SiteCalls& calls);  // "cudaMemcpyAsync D2H pageable"
std::string call_words(const CallSite& site);    // "cudaMemcpyAsync D2H pageable + sync", "cudaStreamSynchronize + copy"

std::string duration_text(Nanoseconds ns);                        // "12.3 ms"
std::string bytes_text(std::uint64_t bytes);                      // "8.0 MiB"
std::string count_text(std::uint64_t count);                      // "1,204"
std::string share_text(Nanoseconds part, Nanoseconds whole);      // "61.2 %"
std::string bandwidth_text(std::uint64_t bytes, Nanoseconds ns);  // "24.1 GB/s"

// The name of a function without its parameters, the arguments of its templates, and "(anonymous namespace)::":
// "ns::step<..>" for "void ns::(anonymous namespace)::step<float, 4>(float*)".
std::string function_text(std::string_view function);

// The same without any trace of its templates: kernels of one family share it.
std::string family_text(std::string_view function);

// A path as the program's user would write it: relative to its working folder where it lies inside.
std::string path_text(std::string_view path, std::string_view folder);

// Cuts a printable text to so many columns, with two dots for what was cut off its end, or its begin. Every character
// counts as one column.
std::string fitted(std::string_view text, std::size_t columns);
std::string fitted_tail(std::string_view text, std::size_t columns);
std::size_t columns_of(std::string_view text) noexcept;

}  // namespace synctrace
