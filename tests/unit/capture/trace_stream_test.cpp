// SPDX-License-Identifier: Apache-2.0
#include "capture/events/trace_stream.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <type_traits>

#include "capture/cupti/api_names.h"
#include "capture_support.h"

namespace synctrace::capture {
namespace {

using testing::CapturedStderr;
using testing::Ending;
using testing::FileSizeLimit;
using testing::OpenTrace;
using testing::read_ending;
using testing::read_trace;
using testing::TemporaryFolder;

constexpr std::uint32_t kLaunchKernelEx = 652;  // cuLaunchKernelEx

// A kernel and its launch, as the drain thread writes them.
void add_pair(TraceStream& out, ApiNames& names, std::uint32_t i) {
  format::Launch launch;
  launch.begin_ns = i * 1000;
  launch.api = format::make_api_id(format::ApiDomain::kDriver, kLaunchKernelEx);
  launch.correlation = CorrelationId{i};
  names.define(launch.api);
  out.add(launch);
  format::Kernel kernel;
  kernel.begin_ns = i * 1000 + 500;
  kernel.name = out.string_id("kernel " + std::to_string(i % 100));
  format::LaunchShape shape;
  shape.grid_x = i % 30;
  kernel.shape = out.shape_id(shape);
  out.add(kernel);
}

TEST_CASE("every name, shape and call is defined once, before its first use") {
  OpenTrace trace;
  ApiNames names(*trace.stream);
  for (std::uint32_t i = 0; i < 60'000; ++i) add_pair(*trace.stream, names, i);  // several chunks
  trace.stream->end("exit");
  std::set<std::uint32_t> strings;
  std::set<std::uint32_t> shapes;
  std::set<std::uint32_t> apis;
  std::uint64_t twice = 0;
  std::uint64_t undefined = 0;
  std::uint64_t kernels = 0;
  std::uint64_t wrong_text = 0;
  std::map<std::uint32_t, std::string> texts;
  const format::Damage damage = read_trace(trace.path(), [&](const auto& record) {
    using Record = std::remove_cvref_t<decltype(record)>;
    if constexpr (std::is_same_v<Record, format::String>) {
      twice += strings.insert(number(record.id)).second ? 0 : 1;
      texts[number(record.id)] = record.text;
    } else if constexpr (std::is_same_v<Record, format::LaunchShape>) {
      twice += shapes.insert(number(record.id)).second ? 0 : 1;
    } else if constexpr (std::is_same_v<Record, format::ApiName>) {
      twice += apis.insert(number(record.api)).second ? 0 : 1;
      CHECK(record.name == "cuLaunchKernelEx");
      CHECK(record.category == format::ApiCategory::kLaunch);
    } else if constexpr (std::is_same_v<Record, format::Launch>) {
      undefined += 1 - apis.count(number(record.api));
    } else if constexpr (std::is_same_v<Record, format::Kernel>) {
      undefined += 2 - strings.count(number(record.name)) - shapes.count(number(record.shape));
      wrong_text += texts[number(record.name)] == "kernel " + std::to_string(kernels % 100) ? 0 : 1;
      ++kernels;
    }
  });
  CHECK(damage.none());
  CHECK(kernels == 60'000);
  CHECK(strings.size() == 100);
  CHECK(shapes.size() == 30);
  CHECK(twice == 0);
  CHECK(undefined == 0);
  CHECK(wrong_text == 0);
}

TEST_CASE("the empty text has the id 0 and no definition") {
  OpenTrace trace;
  CHECK(trace.stream->string_id("") == StringId{0});
  CHECK(trace.stream->string_id("a") == StringId{1});
  trace.stream->end("exit");
  read_trace(trace.path(), [&](const format::String& record) { CHECK(record.text == "a"); });
}

TEST_CASE("an id that is no traced call is not defined, and does no harm") {
  OpenTrace trace;
  ApiNames calls(*trace.stream);
  calls.define(ApiId{});
  calls.define(ApiId{0xffffffff});
  calls.define(format::make_api_id(format::ApiDomain::kRuntime, 1023));
  calls.define(format::make_api_id(format::ApiDomain::kRuntime, 1024));
  trace.stream->end("exit");
  std::uint64_t names = 0;
  read_trace(trace.path(), [&](const format::ApiName&) { ++names; });
  CHECK(names == 0);
}

TEST_CASE("a loss of nothing is no record") {
  OpenTrace trace;
  trace.stream->add_loss("ring-full", 0);
  trace.stream->add_loss("ring-full", 3);
  trace.stream->add_loss("ring-full", 4);
  trace.stream->end("exit");
  const Ending ending = read_ending(trace.path());
  CHECK(ending.losses == std::map<std::string, std::uint64_t>{{"ring-full", 7}});
  CHECK(ending.reason == "exit");
  CHECK(ending.promised_records == ending.records);
}

TEST_CASE("a trace never exceeds its limit; what did not fit is counted and what is there is whole") {
  for (const std::uint64_t limit : {std::uint64_t{20'000}, std::uint64_t{300'000}, std::uint64_t{1'000'000}}) {
    OpenTrace trace;
    trace.stream->set_limit(limit);
    ApiNames names(*trace.stream);
    std::mt19937_64 random(3);
    for (std::uint32_t i = 0; i < 60'000; ++i) {
      add_pair(*trace.stream, names, i);
      // Short chunks between long ones: those that would fit must not refer to what was lost.
      if (random() % 5000 == 0) trace.stream->flush();
    }
    trace.stream->end("exit");
    CHECK(std::filesystem::file_size(trace.path()) <= limit);
    const Ending ending = read_ending(trace.path());
    CHECK(ending.reason == "exit");
    REQUIRE(ending.losses.count("max-size") == 1);
    CHECK(ending.records + ending.losses.at("max-size") == ending.promised_records);
    std::set<std::uint32_t> strings;
    std::uint64_t undefined = 0;
    const format::Damage damage = read_trace(trace.path(), [&](const auto& record) {
      using Record = std::remove_cvref_t<decltype(record)>;
      if constexpr (std::is_same_v<Record, format::String>) strings.insert(number(record.id));
      if constexpr (std::is_same_v<Record, format::Kernel>) undefined += 1 - strings.count(number(record.name));
    });
    CHECK(undefined == 0);
    CHECK(damage.none());
  }
}

TEST_CASE("a full disk is told once, counted, and the trace says why it ends") {
  OpenTrace trace;
  std::string said;
  bool failed = false;
  {
    CapturedStderr captured;
    FileSizeLimit full(500'000);
    ApiNames names(*trace.stream);
    for (std::uint32_t i = 0; i < 60'000; ++i) add_pair(*trace.stream, names, i);
    failed = trace.stream->failed();
    trace.stream->end("exit");
    said = captured.stop();
  }
  CHECK(failed);
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  CHECK(said.find("cannot write " + trace.path() + ".partial: File too large") != std::string::npos);
  const Ending ending = read_ending(trace.path());
  CHECK(ending.reason == "file-error");
  REQUIRE(ending.losses.count("file-error") == 1);
  CHECK(ending.records > 10'000);
  CHECK(ending.records + ending.losses.at("file-error") == ending.promised_records);
}

TEST_CASE("a disk that is full at the very end is told too") {
  OpenTrace trace;
  trace.stream->flush();
  std::string said;
  {
    CapturedStderr captured;
    FileSizeLimit full(trace.sink.written_bytes());
    trace.stream->end("exit");
    said = captured.stop();
  }
  CHECK(said.find("cannot write ") != std::string::npos);
  CHECK(read_ending(trace.path()).reason.empty());
}

// What the opener of a stream has been asked, and answers.
struct Door {
  FileSink* sink = nullptr;
  std::string path;
  int asked = 0;
  bool opens = true;
};
Door door;

bool open_door() noexcept {
  ++door.asked;
  return door.opens && door.sink->open(testing::output_name(door.path), 1, false);
}

TEST_CASE("the file is made when there is something to tell, with all that came before") {
  const TemporaryFolder folder;
  FileThread files;
  FileSink sink(files);
  door = {&sink, folder.path("x.synctrace")};
  const auto stream = std::make_unique<TraceStream>(sink, &open_door);
  stream->begin(1);
  stream->add(format::Fact{"early", "1"});
  stream->flush();
  CHECK(door.asked == 0);
  CHECK(std::filesystem::is_empty(folder.path(".")));
  stream->want_file();
  stream->flush();
  stream->add(format::Fact{"late", "1"});
  stream->end("exit");
  CHECK(door.asked == 1);
  std::string keys;
  const format::Damage damage = read_trace(folder.path("x.synctrace"), [&](const auto& record) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(record)>, format::Fact>) keys += record.key;
  });
  CHECK(damage.none());
  CHECK(keys == "earlylate");
}

TEST_CASE("a stream with nothing to tell leaves no file, one that is full does not wait") {
  const TemporaryFolder folder;
  FileThread files;
  FileSink sink(files);
  door = {&sink, folder.path("x.synctrace")};
  {
    const auto stream = std::make_unique<TraceStream>(sink, &open_door);
    stream->begin(1);
    CHECK(stream->has_room_to_wait());
    stream->end("exit");
    CHECK(std::filesystem::is_empty(folder.path(".")));
  }
  const auto stream = std::make_unique<TraceStream>(sink, &open_door);
  stream->begin(1);
  bool had_no_room = false;
  while (door.asked == 0) {
    stream->add(format::Fact{"much", "of the same"});
    had_no_room = had_no_room || !stream->has_room_to_wait();
  }
  CHECK(had_no_room);
  CHECK(stream->has_room_to_wait());
  stream->end("exit");
  CHECK(read_ending(folder.path("x.synctrace")).reason == "exit");
}

TEST_CASE("where the file cannot be made, that is asked once and nothing is written") {
  const TemporaryFolder folder;
  FileThread files;
  FileSink sink(files);
  door = {&sink, folder.path("x.synctrace")};
  door.opens = false;
  const auto stream = std::make_unique<TraceStream>(sink, &open_door);
  stream->begin(1);
  stream->want_file();
  stream->flush();
  CHECK(stream->failed());
  stream->add(format::Fact{"more", "1"});
  stream->end("exit");
  CHECK(door.asked == 1);
  CHECK(std::filesystem::is_empty(folder.path(".")));
}

}  // namespace
}  // namespace synctrace::capture
