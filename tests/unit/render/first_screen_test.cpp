// SPDX-License-Identifier: Apache-2.0
// The first screen of made reports: what it shows, what it leaves out, and that it fits.
#include "render/first_screen.h"

#include <algorithm>

#include "render/columns.h"
#include "support/catch.h"

namespace synctrace::testing::first_screen_test {
namespace {

constexpr Nanoseconds kStep = 10'000'000;

ShownFix fix_at(const std::string& file, std::uint32_t line, const std::string& source, Nanoseconds alone_ns) {
  ShownFix fix;
  fix.where.file = file;
  fix.where.line = line;
  fix.where.function = "train";
  fix.where.source = source;
  fix.saving.fix = Fix::kDeferRead;
  fix.saving.alone = {alone_ns, alone_ns, alone_ns, Grade::kHigh};
  return fix;
}

Remedy remedy(const std::string& title, Nanoseconds marginal_ns, Nanoseconds cumulative_ns) {
  Remedy remedy;
  remedy.title = title;
  remedy.fix = Fix::kDeferRead;
  remedy.rule = &kScalarReadRule;
  remedy.to_type = {"write this for " + title};
  remedy.fixes = {fix_at("/home/user/job/train.py", 3, "total += loss.item()", marginal_ns)};
  remedy.alone = {marginal_ns, marginal_ns, marginal_ns, Grade::kHigh};
  remedy.marginal = remedy.alone;
  remedy.cumulative = {cumulative_ns, cumulative_ns - 10, cumulative_ns + 10, Grade::kHigh};
  return remedy;
}

Report report() {
  Report report;
  report.path = "/tmp/job.synctrace";
  report.program = "/usr/bin/python3 /home/user/job/train.py --epochs 3";
  report.folder = "/home/user/job";
  report.has_timeline = true;
  report.recorded_ns = 20 * kStep;
  report.devices.emplace_back().name = "NVIDIA H200";
  report.steps.figures.count = 10;
  report.steps.figures.mean_ns = kStep;
  report.steps.figures.p50_ns = kStep;
  report.steps.ordinary_ns = 10 * kStep;
  report.steps.ordinary_mean_ns = kStep;
  report.verdict = {"sync-bound", "", false, 0, 4 * kStep, 0, 0, {{"busy", 6 * kStep}, {"waits", 4 * kStep}},
                    10 * kStep};
  report.savings.by_steps = true;
  report.savings.steps = 10;
  report.savings.base_ns = 10 * kStep;
  report.savings.recorded_ns = 10 * kStep;
  return report;
}

PhaseReport phase(std::size_t number, const std::string& name, std::uint32_t line) {
  PhaseReport phase;
  phase.number = number;
  phase.source = "python-loop";
  phase.where.function = name;
  phase.where.file = "/home/user/job/train.py";
  phase.where.line = line;
  phase.figures.count = 10;
  phase.part.time_ns = 2 * kStep;
  phase.part.idle_ns = kStep / 2;
  phase.part.worst = {nullptr, "input-bound", fix_at("/home/user/job/train.py", 7, "", 0).where, kStep / 4};
  return phase;
}

// One blank between words, wherever its lines end.
std::string unwrapped(const std::string& screen) {
  std::string text;
  for (const char c : screen) {
    const bool is_blank = c == ' ' || c == '\n';
    if (!is_blank || !text.ends_with(' ')) text += is_blank ? ' ' : c;
  }
  return text;
}

bool shows(const std::string& screen, std::string_view text) { return screen.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("who else used the GPU and what held its clocks down stands below the verdict, with its share") {
  Report one = report();
  one.devices.front().use = {1'000, 0, 49, 49, 49, 1};
  CHECK_FALSE(shows(render_first_screen(one, {}), "ST057"));
  CHECK_FALSE(shows(render_first_screen(one, {}), "clocks"));
  one.devices.front().use = {1'000, 0, 620, 310, 50, 1};
  const std::string screen = unwrapped(render_first_screen(one, {.columns = 200}));
  CHECK(shows(screen,
              "Another process used this GPU for 62.0 % of the time of the steps [ST057]. Run it alone, or on another "
              "GPU (CUDA_VISIBLE_DEVICES): times and savings hold only beside the other."));
  CHECK(
      shows(screen, "The clocks of this GPU were held down for 31.0 % of the time of the steps, to limit its power."));
  CHECK(shows(screen, "The clocks of this GPU were held down for 5.0 % of the time of the steps, because it was hot."));
  CHECK(screen.find("ST057") < screen.find("one step"));
  // The GPU that it concerns most stands for all.
  one.devices.emplace_back().id = 1;
  one.devices.back().use = {1'000, 0, 900, 0, 0, 2};
  CHECK(
      shows(render_first_screen(one, {.columns = 200}), "Up to 2 other processes used GPU 1 (and 1 more) for 90.0 %"));
  // Where there is no verdict, the sentence is there all the same.
  one.verdict = {};
  CHECK(shows(render_first_screen(one, {}), "ST057"));
}

TEST_CASE("what irregular steps cost is said apart, from a hundredth of the steps' time on") {
  Report one = report();
  one.steps.figures.count = 12;
  one.steps.figures.irregular = 2;
  one.steps.irregular_ns = 10 * kStep / 99 - 10;
  one.steps.irregular_mean_ns = one.steps.irregular_ns / 2;
  CHECK(!shows(render_first_screen(one, {}), "Not in these figures"));
  one.steps.irregular_ns = 8 * kStep;
  one.times = {.before_ns = 2 * kStep, .ordinary_ns = 10 * kStep, .irregular_ns = 8 * kStep};
  one.steps.irregular_mean_ns = 4 * kStep;
  CHECK(shows(render_first_screen(one, {}),
              "Not in these figures: 2 irregular steps took 40.0 ms each (the others 10.0 ms).\n"));
  IdleCause cause;
  cause.rule = &kModuleLoadRule;
  cause.name = "module-load";
  cause.where.file = "train.py";
  cause.where.line = 55;
  cause.irregular_ns = 6 * kStep;
  one.devices.front().causes = {cause};
  const std::string screen = render_first_screen(one, {.columns = 160});
  CAPTURE(screen);
  CHECK(shows(screen, "each (the others 10.0 ms): 30.0 ms of it module-load [ST040], train.py:55."));
  CHECK(shows(screen, "40.0 % of each ordinary step"));
  CHECK(shows(screen, "Savings come from a replay of 10 ordinary steps."));
  CHECK(shows(screen, "Not counted: 20.0 ms outside of the 12 steps (start 20.0 ms)."));  // irregular ones are no part
  one.verdict.word = "gpu-bound";
  const std::string busy = render_first_screen(one, {.columns = 160});
  CHECK(shows(busy, "What there is to gain is in the irregular steps (below)."));
  CHECK(!shows(busy, "little to gain"));
  // What costs an ordinary step as much is not why.
  one.devices.front().causes.front().steady_ns = 30 * kStep;
  CHECK(!shows(render_first_screen(one, {}), "of it module-load"));
}

TEST_CASE("verdict, step, line, what to type and saving stand on it") {
  Report one = report();
  one.savings.remedies = {remedy("Read loss every 50 steps", 2 * kStep, 2 * kStep)};
  const std::string screen = render_first_screen(one, {});
  CAPTURE(screen);
  CHECK(shows(screen, "SYNC-BOUND"));
  CHECK(shows(screen, "40.0 % of each step"));
  CHECK(shows(screen, "python3 train.py --epochs 3"));
  CHECK(shows(screen, "A step takes 10.0 ms. 8.0 ms seem possible: 20.0 % less"));
  CHECK(shows(screen, "Read loss every 50 steps [ST020]"));
  CHECK(shows(screen, "train.py:3   total += loss.item()"));
  CHECK(shows(screen, "-> write this for Read loss"));
  CHECK(shows(screen, "explain ST020"));
  CHECK(shows(screen, "busy 60 %"));
}

TEST_CASE("a change of less than a hundredth is left out, by name") {
  Report one = report();
  one.savings.remedies = {remedy("First", 2 * kStep, 2 * kStep), remedy("Second", kStep / 20, 2 * kStep + kStep / 20)};
  const std::string screen = render_first_screen(one, {});
  CAPTURE(screen);
  CHECK(shows(screen, "Left out, 0.5 % together: Second (train.py:3)."));
  CHECK_FALSE(shows(screen, "write this for Second"));
}

TEST_CASE("a loss is never shown as a saving") {
  Report one = report();
  one.savings.remedies = {remedy("First", 2 * kStep, 2 * kStep), remedy("Second", -kStep, kStep)};
  const std::string screen = render_first_screen(one, {});
  CAPTURE(screen);
  CHECK_FALSE(shows(screen, "Second"));
  CHECK_FALSE(shows(screen, "-1"));
}

TEST_CASE("of several phases it says which one it is about, and a line of each other one") {
  Report one = report();
  one.phases = {phase(1, "train", 41), phase(2, "validate", 88), phase(3, "<module>", 120)};
  one.phases[0].reported = true;
  one.steps.micro_steps = 4;
  one.times = {.warm_up_ns = kStep / 2,
               .ordinary_ns = 10 * kStep,
               .others_ns = 4 * kStep,
               .between_ns = 2 * kStep,
               .after_ns = 7 * kStep / 2};
  one.between_steps = RunPart{2 * kStep, kStep, WorstCause{nullptr, "host-compute", {}, kStep}};
  const std::string screen = render_first_screen(one, {200});
  CAPTURE(screen);
  CHECK(shows(screen, "Steps: train(), train.py:41, 10 found by its loop, 4 micro-batches a step.\n"));
  CHECK(shows(screen,
              "Also: validate(), train.py:88: 10 steps, 10.0 % of the time; GPU idle 25.0 %, most in input-bound "
              "(train.py:7). Its own answer: --phase 2\n"));
  CHECK(shows(screen, "Also: train.py:120: 10 steps"));
  CHECK(shows(screen, "Between steps: 20.0 ms, 10.0 % of the time, most in host-compute.\n"));
  CHECK(shows(screen, "(start 5.0 ms, other phases 40.0 ms, between steps 20.0 ms, end 35.0 ms)."));
  CHECK_FALSE(shows(screen, "guessed"));
  one.has_timeline = false;
  CHECK_FALSE(shows(render_first_screen(one, {200}), "GPU idle"));
}

TEST_CASE("one phase that is sure is not worth a word") {
  Report one = report();
  const std::string before = render_first_screen(one, {});
  one.phases = {phase(1, "train", 41)};
  one.phases.front().reported = true;
  CHECK(render_first_screen(one, {}) == before);
  one.steps.confidence = StepConfidence::kMedium;
  CHECK(render_first_screen(one, {}) == before);
}

TEST_CASE("where steps are guessed it says why, and what to do about it") {
  Report one = report();
  one.phases = {phase(1, "", 0)};
  one.phases.front().reported = true;
  one.steps.confidence = StepConfidence::kLow;
  one.steps.doubt = "no loop was seen";
  const std::string screen = render_first_screen(one, {200});
  CAPTURE(screen);
  CHECK(shows(screen,
              "Steps are guessed (no loop was seen). If they are wrong: --steps NAME, --step-line FILE:LINE, or "
              "synctrace.step().\n"));
}

TEST_CASE("of many phases three are named") {
  Report one = report();
  for (std::size_t i = 1; i <= 7; ++i) one.phases.push_back(phase(i, "loop_" + std::to_string(i), 10));
  one.phases.front().reported = true;
  const std::string screen = render_first_screen(one, {});
  CAPTURE(screen);
  CHECK(shows(screen, "loop_4"));
  CHECK_FALSE(shows(screen, "loop_5"));
  CHECK(shows(screen, "And 3 smaller phases (--full)."));
}

TEST_CASE("however much there is to say, it is thirty lines and fits the terminal") {
  Report one = report();
  for (int i = 1; i <= 12; ++i) {
    one.savings.remedies.push_back(
        remedy("Change number " + std::to_string(i) + std::string(60, 'x'), kStep / 2, i * kStep / 2));
    for (std::uint32_t line = 10; line < 40; ++line)
      one.savings.remedies.back().fixes.push_back(
          fix_at("/home/user/job/a/long/path/of/folders/to/the/model_of_the_network.py", line, std::string(300, 's'),
                 kStep / 10));
  }
  one.losses.push_back(
      {"dropped", 3, Severity::kError,
       std::string(20, 'w') + " of a loss that is told in many words, so that it goes on in a second line"});
  for (const std::size_t columns : {1U, 80U, 99U, 160U, 200U, 5'000U}) {
    const std::string screen = render_first_screen(one, {columns});
    CAPTURE(columns, screen);
    CHECK(std::count(screen.begin(), screen.end(), '\n') <= static_cast<std::ptrdiff_t>(kMostScreenLines));
    std::size_t widest = 0;
    for (std::size_t begin = 0; begin < screen.size();) {
      const std::size_t end = screen.find('\n', begin);
      widest = std::max(widest, columns_of(std::string_view(screen).substr(begin, end - begin)));
      begin = end + 1;
    }
    CHECK(widest <= std::clamp(columns, kFewestColumns, kMostColumns));
    CHECK(shows(screen, "Careful: "));
    CHECK(shows(screen, "More:  "));
  }
}

TEST_CASE("without a GPU timeline the calls that waited are shown, and no saving") {
  Report one = report();
  one.has_timeline = false;
  one.verdict = {};
  one.savings = {};
  CallSite site;
  site.where = fix_at("/home/user/job/train.py", 7, "x = y.cpu()", 0).where;
  site.calls.push_back({&kPageableD2hRule, "cudaMemcpyAsync", "D2H", "pageable", "", {}});
  site.figures.calls = 5;
  site.figures.waited = 4;
  site.figures.host_blocked_ns = kStep;
  one.waits.push_back(site);
  const std::string screen = render_first_screen(one, {});
  CAPTURE(screen);
  CHECK(shows(screen, "train.py:7"));
  CHECK(shows(screen, "[ST012]"));
  CHECK(shows(screen, "4 of 5"));
  CHECK(shows(screen, "--level=timeline"));
  CHECK_FALSE(shows(screen, "saves"));
}

TEST_CASE("what a damaged trace may claim is cut to the screen") {
  Report one = report();
  one.devices.front().name = std::string(300, 'g');
  one.program = std::string(300, '/') + " " + std::string(300, 'p');
  one.verdict.parts = {{"busy", -kStep}, {"waits", 1'000'000 * kStep}};
  one.savings.remedies = {remedy(std::string(300, 't'), 2 * kStep, 2 * kStep)};
  ShownFix& fix = one.savings.remedies.front().fixes.front();
  fix.where.line = 4'294'967'294;
  fix.until_line = 4'294'967'295;
  fix.where.file = "/home/user/job/" + std::string(300, 'f');
  const std::string screen = render_first_screen(one, {80});
  CAPTURE(screen);
  CHECK(std::count(screen.begin(), screen.end(), '\n') <= static_cast<std::ptrdiff_t>(kMostScreenLines));
  CHECK(shows(screen, ":4294967294 to :4294967295"));
}

TEST_CASE("of several processes each has a line, and one is marked") {
  std::vector<Report> reports = {report(), report()};
  reports[0].rank = "0";
  reports[1].rank = "1";
  const std::string text = render_processes(reports, reports[1], {}, {});
  CAPTURE(text);
  CHECK(shows(text, "2 processes"));
  CHECK(text.find("<- shown below") > text.find("     1 "));
  CHECK_FALSE(shows(text, "ends early"));
  reports[0].losses = {{"unclean-end", 1, Severity::kWarning, "the trace was not closed in order"}};
  CHECK(shows(render_processes(reports, reports[1], {}, {}), "ends early"));
  CHECK_FALSE(shows(text, "IS LATE"));
  const LateRank late{1, 660, 668, 21'000'000};
  const std::string told = render_processes(reports, reports[1], late, {80});
  CHECK(shows(told, "RANK 1 IS LATE\n"));
  CHECK(shows(told, "It is the last to call 660 of 668 operations of NCCL, 21.0 ms after the"));
  reports[1].rank.clear();
  reports[1].process_id = 4711;
  CHECK(shows(render_processes(reports, reports[1], late, {80}), "PROCESS 4711 IS LATE\n"));
}

}  // namespace synctrace::testing::first_screen_test
