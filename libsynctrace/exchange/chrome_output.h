// SPDX-License-Identifier: Apache-2.0
// Events as text: one a line, times in microseconds with three decimals, as Kineto writes them. Names and values of
// arguments that these functions take are JSON already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/format_text.h"
#include "base/time_span.h"
#include "exchange/chrome_trace.h"
#include "exchange/result_axis.h"

namespace synctrace::chrome {

// Text on its way to the sink, in blocks.
class TextBlocks {
 public:
  explicit TextBlocks(TextSink sink) : sink_(std::move(sink)) {}

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    append_text(text_, format, std::forward<Args>(args)...);
    if (text_.size() >= kBlockBytes) flush();
  }
  void flush() {
    if (!text_.empty()) sink_(text_);
    text_.clear();
  }

 private:
  static constexpr std::size_t kBlockBytes = 64 << 10;
  TextSink sink_;
  std::string text_;
};

// A row of the viewer.
struct Place {
  std::int64_t process = 0;
  std::int64_t thread = 0;
};

class EventOutput {
 public:
  explicit EventOutput(TextBlocks& out) : out_(out) {}

  // Where every time from now on lies.
  void set_axis(const ResultAxis& axis) noexcept { axis_ = axis; }

  void metadata(std::string_view what, Place place, std::string_view key, std::string_view value) {
    begin();
    out_.add(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "ts": 0.000, "args": {{"{}": {}}}}})", what,
             place.process, place.thread, key, value);
  }

  // `args` is the inside of an object.
  void slice(std::string_view category, std::string_view name, Place place, TimeSpan span, std::string_view args) {
    const Nanoseconds begin_ns = axis_.of(span.begin_ns);
    begin();
    out_.add(R"({{"ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
             category, name, place.process, place.thread, time_text(begin_ns),
             time_text(axis_.of(span.end_ns) - begin_ns), args);
  }

  // `scope`: t of the row, p of the process.
  void instant(std::string_view name, Place place, Nanoseconds t, char scope) {
    begin();
    out_.add(R"({{"ph": "i", "s": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}}})", scope, name, place.process,
             place.thread, time_text(axis_.of(t)));
  }

  // A range that may overlap any other: two events joined by `id`.
  void async_range(std::string_view category, std::string_view name, std::uint64_t id, Place place, TimeSpan span,
                   std::string_view args) {
    begin();
    out_.add(R"({{"ph": "b", "cat": "{}", "name": {}, "id": {}, "pid": {}, "tid": {}, "ts": {}, "args": {{{}}}}})",
             category, name, id, place.process, place.thread, time_text(axis_.of(span.begin_ns)), args);
    begin();
    out_.add(R"({{"ph": "e", "cat": "{}", "name": {}, "id": {}, "pid": {}, "tid": {}, "ts": {}}})", category, name, id,
             place.process, place.thread, time_text(axis_.of(span.end_ns)));
  }

  // The two ends of an arrow from a call to its work. Each lies at the begin of the slice that it belongs to.
  void arrow_begin(std::uint64_t id, Place place, Nanoseconds t) {
    begin();
    out_.add(R"({{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": {}, "pid": {}, "tid": {}, "ts": {}}})", id,
             place.process, place.thread, time_text(axis_.of(t)));
  }
  void arrow_end(std::uint64_t id, Place place, Nanoseconds t) {
    begin();
    out_.add(R"({{"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": {}, "pid": {}, "tid": {}, "ts": {}}})", id,
             place.process, place.thread, time_text(axis_.of(t)));
  }

  // One of the ends of an arrow through the same operation on several ranks: "s", "t", "f" as ranks come to it.
  void meeting_arrow(char end, std::uint64_t id, Place place, Nanoseconds t) {
    begin();
    out_.add(R"({{"ph": "{}", "bp": "e", "cat": "ranks", "name": "ranks", "id": {}, "pid": {}, "tid": {}, "ts": {}}})",
             end, id, place.process, place.thread, time_text(axis_.of(t)));
  }

 private:
  void begin() {
    if (any_) out_.add(",\n");
    any_ = true;
  }
  static std::string time_text(Nanoseconds ns) { return format_text("{}.{:03}", ns / 1000, ns % 1000); }

  TextBlocks& out_;
  ResultAxis axis_;
  bool any_ = false;
};

}  // namespace synctrace::chrome
