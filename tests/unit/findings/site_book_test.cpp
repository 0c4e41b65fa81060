// SPDX-License-Identifier: Apache-2.0
// What makes two places one site, and what number each gets.
#include "findings/history/site_book.h"

#include <utility>

#include "findings/calls/sites.h"
#include "findings/history/build_history.h"
#include "support/catch.h"

using namespace synctrace;

namespace {

SourceLine at(std::uint32_t line, std::string source, std::string file = "/home/ada/train.py") {
  SourceLine where;
  where.file = std::move(file);
  where.line = line;
  where.function = "step";
  where.source = std::move(source);
  return where;
}

}  // namespace

TEST_CASE("equal lines of a function are numbered from above, in whatever order they come") {
  SiteBook book({}, "/home/ada");
  book.row_of(&kScalarReadRule, "", at(20, "loss.item()"), "cudaMemcpyAsync + sync");
  book.row_of(&kScalarReadRule, "", at(10, "loss.item()"), "cudaMemcpyAsync + sync");
  book.row_of(&kPollingRule, "", at(5, "loss.item()"), "cudaEventQuery");
  const std::vector<HistorySite> sites = book.take();
  REQUIRE(sites.size() == 3);
  CHECK(sites[0].fingerprint == Fingerprint{"ST020", "train.py", "step", line_text_hash("loss.item()"), 2});
  CHECK(sites[1].fingerprint == Fingerprint{"ST020", "train.py", "step", line_text_hash("loss.item()"), 1});
  CHECK(sites[2].fingerprint.ordinal == 1);
  CHECK(sites[0].name == "scalar-read");
}

TEST_CASE("a line is one site with a rule, whichever call cost the time") {
  SiteBook book({}, {});
  const std::uint32_t row = book.row_of(&kScalarReadRule, "", at(20, ""), "cudaMemcpyAsync + sync");
  CHECK(book.row_of(&kScalarReadRule, "", at(20, ""), "cudaStreamSynchronize") == row);
  CHECK(book.row_of(nullptr, "host-compute", at(20, ""), "") != row);
  CHECK(book.take()[row].fingerprint.text_hash == line_text_hash("cudaMemcpyAsync + sync"));
}

TEST_CASE("a wait in a helper is known by its own line, whoever calls it") {
  SiteBook book({}, "/home/ada");
  const auto through = [](std::uint32_t line) {
    SourceLine where = at(line, "a = to_host(x)");
    where.through = {"/home/ada/utils.py", 7, "to_host", "return x.cpu()"};
    return where;
  };
  const std::uint32_t row = book.row_of(&kScalarReadRule, "", through(20), "cudaMemcpyAsync");
  CHECK(book.row_of(&kScalarReadRule, "", through(30), "cudaMemcpyAsync") == row);
  const HistorySite site = book.take().at(0);
  CHECK(site.fingerprint == Fingerprint{"ST020", "utils.py", "to_host", line_text_hash("return x.cpu()"), 1});
  CHECK(site.line == 7);
}

TEST_CASE("without a line the call tells sites apart, and without both the name") {
  SiteBook book({}, {});
  const std::uint32_t one = book.row_of(&kStreamSyncRule, "", {}, "cudaStreamSynchronize");
  CHECK(book.row_of(&kStreamSyncRule, "", {}, "cuStreamSynchronize") != one);
  CHECK(book.row_of(nullptr, "unknown", {}, "") != book.row_of(nullptr, "startup", {}, ""));
  CHECK(book.take().size() == 4);
}

TEST_CASE("a copy and its synchronisation are named both, by the one that comes first") {
  CallSite site;
  site.calls.resize(1);
  site.calls[0].function = "cudaMemcpyAsync";
  site.calls[0].direction = "D2H";
  CHECK(called_there(site) == "cudaMemcpyAsync");
  site.calls.resize(2);
  CHECK(called_there(site) == "cudaMemcpyAsync + sync");
  std::swap(site.calls[0], site.calls[1]);
  site.calls[0].function = "cudaStreamSynchronize";
  CHECK(called_there(site) == "cudaStreamSynchronize + copy");
}

TEST_CASE("a repository's root comes before the working folder") {
  SiteBook book("/home/ada", "/home/ada/examples");
  book.row_of(nullptr, "x", at(1, "a", "/home/ada/examples/train.py"), "");
  CHECK(book.take().front().fingerprint.file == "examples/train.py");
}

TEST_CASE("windows are minutes, and longer for recordings of months") {
  constexpr Nanoseconds kMinuteNs = 60'000'000'000;
  CHECK(window_length_ns(0, 0) == kMinuteNs);
  CHECK(window_length_ns(30 * 24 * 60 * kMinuteNs, 8) == kMinuteNs);
  CHECK(kLatestTime / window_length_ns(kLatestTime, 1) <= 500'000);
  CHECK(kLatestTime / window_length_ns(kLatestTime, 2'000'000'000) <= 1);
}
