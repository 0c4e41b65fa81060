// SPDX-License-Identifier: Apache-2.0
#include "contract/option_values.h"

#include <string_view>

#include "support/catch.h"

namespace synctrace::format {
namespace {

std::int64_t duration(std::string_view text) {
  std::int64_t result = -1;
  CHECK(parse_duration(text, result));
  return result;
}

std::uint64_t size(std::string_view text) {
  std::uint64_t result = ~std::uint64_t{0};
  CHECK(parse_size(text, result));
  return result;
}

TEST_CASE("durations of every unit") {
  CHECK(duration("10") == 10'000'000'000);
  CHECK(duration("10s") == 10'000'000'000);
  CHECK(duration("10sec") == 10'000'000'000);
  CHECK(duration("1.5m") == 90'000'000'000);
  CHECK(duration("2min") == 120'000'000'000);
  CHECK(duration("1h") == 3'600'000'000'000);
  CHECK(duration("500ms") == 500'000'000);
  CHECK(duration("200us") == 200'000);
  CHECK(duration("7ns") == 7);
  CHECK(duration("0") == 0);
  CHECK(duration(".5") == 500'000'000);
  CHECK(duration("87600h") == std::int64_t{87600} * 3600 * 1'000'000'000);
}

TEST_CASE("what is no duration leaves the target alone") {
  for (const std::string_view text :
       {"", ".", "s", "-1", "+1", "1.2.3", "1 s", "1e9", "inf", "nan", "0x10", "1S", "99999999999999999999h"}) {
    std::int64_t result = 5;
    INFO(text);
    CHECK_FALSE(parse_duration(text, result));
    CHECK(result == 5);
  }
}

TEST_CASE("sizes of every unit, in powers of 1024") {
  CHECK(size("4096") == 4096);
  CHECK(size("1B") == 1);
  CHECK(size("100kB") == 102'400);
  CHECK(size("2K") == 2048);
  CHECK(size("64M") == 64U << 20);
  CHECK(size("1.5G") == std::uint64_t{3} << 29);
  CHECK(size("1GiB") == 1U << 30);
}

TEST_CASE("what is no size leaves the target alone") {
  for (const std::string_view text : {"", "-1", "M", "1 M", "1T", "1mb", "lots", "99999999999999999999"}) {
    std::uint64_t result = 5;
    INFO(text);
    CHECK_FALSE(parse_size(text, result));
    CHECK(result == 5);
  }
}

TEST_CASE("capture ranges") {
  CaptureRange range;
  CHECK(parse_capture_range("cudaProfilerApi", range));
  CHECK(range.kind == RangeKind::kProfilerApi);
  CHECK(parse_capture_range("nvtx:a:b", range));
  CHECK(range.kind == RangeKind::kNvtx);
  CHECK(range.name == "a:b");
  CHECK(parse_capture_range("steps:0-18446744073709551615", range));
  CHECK(range.kind == RangeKind::kSteps);
  CHECK(range.first_step == 0);
  CHECK(range.last_step == 18'446'744'073'709'551'615U);
  CHECK(parse_capture_range("steps:4", range));
  CHECK(range.first_step == 4);
  CHECK(range.last_step == 4);
  for (const std::string_view text : {"", "nvtx", "nvtx:", "steps:", "steps:-1", "steps:2-1", "steps:1-2-3",
                                      "steps:1 -2", "steps:18446744073709551616", "cudaProfilerApi "}) {
    INFO(text);
    CHECK_FALSE(parse_capture_range(text, range));
  }
}

TEST_CASE("duty cycles") {
  DutyCycle duty;
  CHECK(parse_duty("10s/1m", duty));
  CHECK(duty.on_ns == 10'000'000'000);
  CHECK(duty.period_ns == 60'000'000'000);
  CHECK(parse_duty("5/5", duty));
  for (const std::string_view text : {"", "/", "10", "10/", "/10", "0/10", "11/10", "1/2/3"}) {
    INFO(text);
    CHECK_FALSE(parse_duty(text, duty));
  }
}

TEST_CASE("a buffer has from 4M to 4G") {
  std::uint64_t bytes = 0;
  CHECK((parse_buffer_size("4M", bytes) && bytes == std::uint64_t{4} << 20));
  CHECK((parse_buffer_size("4G", bytes) && bytes == std::uint64_t{4} << 30));
  for (const char* text : {"4194303", "4294967297", "0", "", "M"}) CHECK_FALSE(parse_buffer_size(text, bytes));
}

TEST_CASE("flags and levels are words, and a wrong one changes nothing") {
  bool flag = false;
  CHECK((parse_flag("1", flag) && flag));
  for (const char* text : {"", "2", "01", "yes"}) CHECK_FALSE(parse_flag(text, flag));
  CHECK(flag);
  CHECK((parse_flag("0", flag) && !flag));
  CHECK((parse_switch("on", flag) && flag));
  for (const char* text : {"", "1", "On", "offf"}) CHECK_FALSE(parse_switch(text, flag));
  CHECK(flag);
  CHECK((parse_switch("off", flag) && !flag));
  Level level = Level::kTimeline;
  CHECK((parse_level("syncs", level) && level == Level::kSyncs));
  for (const char* text : {"", "sync", "timelines"}) CHECK_FALSE(parse_level(text, level));
  CHECK(level == Level::kSyncs);
  CHECK((parse_level("timeline", level) && level == Level::kTimeline));
}

}  // namespace
}  // namespace synctrace::format
