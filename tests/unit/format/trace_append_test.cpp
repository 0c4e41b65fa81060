// SPDX-License-Identifier: Apache-2.0
#include "format/trace_append.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "format/trace_compress.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "support/trace_builder.h"

namespace synctrace::format {
namespace {

using namespace synctrace::testing;

Bytes recording() {
  TraceBuilder trace;
  trace.schemas().add(Fact{"rank", "0"}).end_chunk().add(Loss{1, "ring-full", 3}).add(End{2, 3, "exit"});
  return trace.bytes();
}

void add_fact(RecordBuffer& out) { out.add(Fact{"names", "stored"}); }

std::vector<std::string> records_of(const std::string& path) { return load(TraceReader::open(path)).records; }

}  // namespace

TEST_CASE("records are added behind the last one, and nothing before them changes") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.synctrace", recording());
  std::vector<std::string> expected = records_of(path);
  REQUIRE_FALSE(append_records(path, add_fact).has_value());
  expected.emplace_back("fact key=\"names\" value=\"stored\"");
  const Loaded loaded = load(TraceReader::open(path));
  CHECK(loaded.records == expected);
  CHECK(loaded.damage.none());
  const std::string before(reinterpret_cast<const char*>(recording().data()), recording().size());
  CHECK(read_file(path).starts_with(before));
}

TEST_CASE("a compressed trace is added to, and compressed again") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.synctrace", recording());
  REQUIRE(compress_trace(path));
  const std::size_t count = records_of(path).size();
  REQUIRE_FALSE(append_records(path, add_fact).has_value());
  REQUIRE(compress_trace(path));
  CHECK(records_of(path).size() == count + 1);
  CHECK(load(TraceReader::open(path)).damage.none());
}

TEST_CASE("more than one chunk can be added") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.synctrace", recording());
  const std::size_t count = records_of(path).size();
  const std::string text(kMaxTextBytes, 'x');
  REQUIRE_FALSE(append_records(path, [&](RecordBuffer& out) {
                  for (int i = 0; i < 500; ++i) out.add(Fact{std::to_string(i), text});
                }).has_value());
  const Loaded loaded = load(TraceReader::open(path));
  CHECK(loaded.records.size() == count + 500);
  CHECK(loaded.damage.none());
}

TEST_CASE("nothing to add leaves the file alone") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.synctrace", recording());
  REQUIRE_FALSE(append_records(path, [](RecordBuffer&) {}).has_value());
  CHECK(bytes_of(read_file(path)) == recording());
}

TEST_CASE("an addition that is cut short at any byte costs itself only") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.synctrace", recording());
  const std::vector<std::string> recorded = records_of(path);
  REQUIRE_FALSE(append_records(path, add_fact).has_value());
  const Bytes whole = bytes_of(read_file(path));
  for (std::size_t size = recording().size(); size < whole.size(); ++size) {
    const Loaded cut = load(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    if (cut.records != recorded) FAIL("cut to " << size << " bytes");
  }
}

TEST_CASE("a damaged, unfinished or foreign trace is left alone") {
  const TemporaryFolder folder;
  Bytes bytes = recording();
  const std::string partial = folder.write("a.synctrace.partial", bytes);
  CHECK(append_records(partial, add_fact)->message.find("has not closed it") != std::string::npos);

  TraceBuilder other;
  other.add(Schema{static_cast<std::uint32_t>(RecordKind::kSymbol), "symbol", "module:u address:u more:t"});
  const std::string foreign = folder.write("foreign.synctrace", other.bytes());
  CHECK(append_records(foreign, add_fact)->message.find("another version") != std::string::npos);

  bytes.pop_back();
  const std::string cut = folder.write("cut.synctrace", bytes);
  CHECK(append_records(cut, add_fact)->message.find("damaged") != std::string::npos);
  CHECK(bytes_of(read_file(cut)) == bytes);

  CHECK(append_records(folder.path("absent"), add_fact).has_value());
}

TEST_CASE("a full disk leaves the trace as it was") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.synctrace", recording());
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{recording().size() + 10, old.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto failed = append_records(path, add_fact);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  CHECK(failed.has_value());
  CHECK(bytes_of(read_file(path)) == recording());
}

}  // namespace synctrace::format
