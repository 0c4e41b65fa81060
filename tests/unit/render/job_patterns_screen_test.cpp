// SPDX-License-Identifier: Apache-2.0
// What the first screen of a job, its page and its JSON say of the way in which ranks exchange data.
#include "render/render_job.h"

#include <string>

#include "render/page/render_page.h"
#include "render/render_json.h"
#include "support/catch.h"
#include "support/job_report_support.h"

namespace synctrace::testing::generator {
namespace {

JobProgram small_exchanges() {
  JobProgram program;
  program.ranks = 4;
  program.steps = 20;
  program.small_exchanges = 40;
  return program;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a way of exchanging data is a row with its saving and what to type") {
  const JobReport report = report_of(play_job(small_exchanges(), 5));
  const std::string screen = render_job(report, {});
  INFO(screen);
  CHECK(has(screen, "Exchange this in fewer, larger pieces [ST061], all ranks"));
  CHECK(has(screen, "40 AllReduce of 64.0 KiB a step"));
  CHECK(has(screen, "bucket_cap_mb=100"));
  CHECK(has(screen, "Changing one thing on all ranks saves "));
  const std::string page = render_page({}, &report);
  CHECK(has(page, "How all ranks exchange data"));
  CHECK(has(page, "<h4>Exchange this in fewer, larger pieces [ST061], all ranks</h4>"));
  CHECK(has(page, "bucket_cap_mb=100"));
  const std::string json = render_json({}, &report);
  CHECK(has(json, "\"small-collectives\""));
  CHECK(has(json, "\"not_predicted\": null"));
}

TEST_CASE("a saving that is not predicted is said to be none") {
  JobProgram program = small_exchanges();
  program.one_size = true;
  const JobReport report = report_of(play_job(program, 5));
  const std::string screen = render_job(report, {});
  INFO(screen);
  CHECK(has(screen, "unknown"));
  CHECK(has(screen, "not predicted: all of them are of one size"));
  CHECK_FALSE(has(screen, "Changing one thing on all ranks"));
}

TEST_CASE("where ranks exchange data as they should there is no such table") {
  JobProgram program = small_exchanges();
  program.small_exchanges = 0;
  const JobReport report = report_of(play_job(program, 5));
  CHECK_FALSE(has(render_job(report, {}), "How all ranks exchange data"));
  CHECK_FALSE(has(render_page({}, &report), "How all ranks exchange data"));
}

}  // namespace synctrace::testing::generator
