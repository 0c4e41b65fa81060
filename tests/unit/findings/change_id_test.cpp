// SPDX-License-Identifier: Apache-2.0
// Ids of changes: the same on the next recording, different from each other; and each fix says what must stay true.
#include "findings/changes/change_id.h"

#include <algorithm>
#include <set>

#include "findings/changes/must_hold.h"
#include "support/catch.h"

namespace synctrace::testing {
namespace {

ShownFix fix_at(const std::string& function, std::uint32_t line, Nanoseconds alone_ns) {
  ShownFix fix;
  fix.where.file = "/home/user/job/train.py";
  fix.where.line = line;
  fix.where.function = function;
  fix.saving.alone.ns = alone_ns;
  return fix;
}

Remedy remedy(std::vector<ShownFix> fixes, Fix fix = Fix::kDeferRead, const Rule* rule = &kScalarReadRule) {
  Remedy remedy;
  remedy.rule = rule;
  remedy.fix = fix;
  remedy.fixes = std::move(fixes);
  return remedy;
}

std::vector<std::string> ids_of(std::vector<Remedy> remedies) {
  Report report;
  report.savings.remedies = std::move(remedies);
  return change_ids(report);
}

}  // namespace

TEST_CASE("an id is its rule and six digits") {
  const std::string id = ids_of({remedy({fix_at("step", 88, 5)})}).front();
  CHECK(id.starts_with("ST020-"));
  CHECK(id.size() == 12);
  CHECK(id.find_first_not_of("0123456789abcdef", 6) == std::string::npos);
}

TEST_CASE("another recording gives a change the same id") {
  const std::string id = ids_of({remedy({fix_at("step", 88, 5)})}).front();
  SECTION("whatever it saves, and wherever in its function the line stands") {
    CHECK(ids_of({remedy({fix_at("step", 91, 7)})}).front() == id);
  }
  SECTION("with its title and place in the order changed") {
    Remedy same = remedy({fix_at("step", 88, 5)});
    same.title = "other";
    CHECK(ids_of({remedy({fix_at("load", 3, 9)}, Fix::kFeedInput, &kInputBoundRule), same})[1] == id);
  }
  SECTION("in another checkout, started from another folder") {
    Remedy other = remedy({fix_at("step", 88, 5)});
    other.fixes.front().where.file = "/ci/42/src/train.py";
    CHECK(ids_of({other}).front() == id);
  }
  SECTION("with another one of two equal lines in front") {
    const auto of_two = [](Nanoseconds one_ns, Nanoseconds other_ns) {
      std::vector<ShownFix> fixes = {fix_at("backward", 90, one_ns), fix_at("forward", 20, other_ns)};
      std::sort(fixes.begin(), fixes.end(),
                [](const ShownFix& a, const ShownFix& b) { return a.saving.alone.ns > b.saving.alone.ns; });
      return ids_of({remedy(fixes, Fix::kGraph, &kLaunchBoundRule)}).front();
    };
    CHECK(of_two(100, 99) == of_two(99, 100));
  }
  SECTION("kernels are the program's, whichever line launches most of them") {
    CHECK(ids_of({remedy({fix_at("a", 1, 5)}, Fix::kKernels, &kUnfusedRule)}) ==
          ids_of({remedy({fix_at("b", 9, 5)}, Fix::kKernels, &kUnfusedRule)}));
  }
}

TEST_CASE("other changes have other ids") {
  const std::vector<std::string> ids = ids_of({
      remedy({fix_at("step", 88, 5)}),
      remedy({fix_at("step", 90, 5)}),
      remedy({fix_at("load", 88, 5)}),
      remedy({fix_at("step", 88, 5)}, Fix::kGraph),
      remedy({fix_at("step", 88, 5)}, Fix::kDeferRead, &kStreamSyncRule),
      remedy({fix_at("step", 88, 5)}, Fix::kDeferRead, nullptr),
      remedy({fix_at("step", 88, 5)}),  // the same once more: kept apart all the same
      remedy({}, Fix::kKernels, nullptr),
  });
  CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == ids.size());
  CHECK(ids[5].starts_with("change-"));
  CHECK(ids_of({}).empty());
}

TEST_CASE("causes and patterns of a job have ids of their own") {
  JobReport job;
  job.causes.resize(2);
  job.causes[0].name = "scalar-read";
  job.causes[0].rule = &kScalarReadRule;
  job.causes[1].name = "slow-kernel";
  job.patterns.resize(1);
  job.patterns[0].rule = &kSmallCollectivesRule;
  const std::vector<std::string> ids = change_ids(job);
  REQUIRE(ids.size() == 3);
  CHECK(ids[0].starts_with("ST020-"));
  CHECK(ids[1].starts_with("ST060-"));
  CHECK(ids[2].starts_with("ST061-"));
}

TEST_CASE("each fix says what must stay true") {
  for (int fix = 0; fix <= static_cast<int>(Fix::kKernels); ++fix) {
    for (const Rule* rule : {&kFloat32MatmulRule, &kNoAutocastRule, &kChannelsFirstRule, &kUnfusedRule,
                             &kUnfusedOptimizerRule, &kSlowGradientsRule, static_cast<const Rule*>(nullptr)})
      CHECK(must_hold(remedy({}, static_cast<Fix>(fix), rule)).ends_with('.'));
  }
  Remedy graph = remedy({}, Fix::kGraph);
  graph.to_type = {"torch.optim.SGD(params, lr=lr, fused=True)"};
  CHECK(must_hold(graph) == "The same tensors get the same values. Rounding may differ.");
  graph.to_type = {"above forward of Net: @torch.compile"};
  CHECK(must_hold(graph).starts_with("Shapes stay"));
  graph.by_library = true;
  CHECK(must_hold(graph) == "The program does not need what the switch turns off.");
  graph.to_type.emplace_back("(the progress bar no longer shows it)");
  CHECK(must_hold(graph) == "What the line in brackets says is fine for this program.");
  CHECK(must_hold(remedy({}, Fix::kGraph)) != must_hold(remedy({}, Fix::kDeferRead)));
  JobCause read;
  read.rule = &kScalarReadRule;
  CHECK(must_hold(read) == must_hold(remedy({}, Fix::kDeferRead)));
}

}  // namespace synctrace::testing
