// SPDX-License-Identifier: Apache-2.0
#include "findings/job/job_kernels.h"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.h"

namespace synctrace::testing::job_kernels_test {
namespace {

struct Times {
  std::string kernel;
  Nanoseconds late_ns;
  Nanoseconds usual_ns;
};

// How many kernels are told as one because of more work.
std::ptrdiff_t more_work(const std::vector<Times>& times) {
  JobParts names;
  std::vector<StretchPart> late, usual;
  for (const Times& one : times) {
    const std::uint32_t name = names.number_of({one.kernel, nullptr, {}, true, {}, false, 0, 0});
    late.push_back({0, name, one.late_ns});
    usual.push_back({0, name, one.usual_ns});
  }
  late.push_back({0, names.number_of({"host-compute", nullptr, {}, false, {}, false, 0, 0}), 10'000});
  const KernelsAsOne found = more_work_of(names, late, usual);
  return std::count(found.rows.begin(), found.rows.end(), true);
}

KernelLines::mapped_type line(const std::string& file, std::uint32_t number, Nanoseconds ns) {
  SourceLine where;
  where.file = file;
  where.line = number;
  where.function = "forward";
  return {{{file, number}, {ns, where}}};
}

}  // namespace

TEST_CASE("a rank with more work has several kinds of kernels that are longer, and may have some of another size") {
  const std::vector<Times> larger_batch = {{"nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN", 600, 0},
                                           {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", 0, 400},
                                           {"flash_fwd_kernel", 300, 200},
                                           {"layer_norm_kernel", 150, 100},
                                           {"multi_tensor_apply_kernel", 100, 100}};
  CHECK(more_work(larger_batch) == 4);
}

TEST_CASE("one longer kernel, or kernels that are longer by little, are no more work") {
  CHECK(more_work({{"nvjet_a", 600, 400}, {"layer_norm_kernel", 100, 100}, {"flash_fwd_kernel", 200, 200}}) == 0);
  CHECK(more_work({{"nvjet_a", 440, 400}, {"layer_norm_kernel", 110, 100}, {"flash_fwd_kernel", 220, 200}}) == 0);
  // Most of it is in one kernel, and that is not longer by much.
  CHECK(more_work(
            {{"nvjet_a", 4'400, 4'000}, {"layer_norm_kernel", 12, 10}, {"flash_fwd_kernel", 24, 20}, {"my", 9, 6}}) ==
        0);
}

TEST_CASE("kernels that are told as one have the lines of all of them") {
  KernelLines lines;
  lines[0] = line("a.py", 1, 10);
  lines[1] = line("a.py", 1, 20);
  lines[2] = line("b.py", 2, 40);
  join_kernel_lines({"more-work", {true, true, false}}, 7, lines);
  REQUIRE(lines.contains(7));
  CHECK(lines[7].size() == 1);
  CHECK(lines[7].begin()->second.first == 30);
}

TEST_CASE("a line of a file comes before native code without one") {
  KernelLines::mapped_type late = line("", 0, 90);
  late.merge(line("a.py", 5, 10));
  CHECK(more_launched_at(late, {}).line == 5);
  // The late rank has no more of it there than the usual one, and still that is the place.
  CHECK(more_launched_at(late, line("a.py", 5, 10)).line == 5);
  CHECK(more_launched_at({}, line("c.py", 9, 1)).line == 9);
}

}  // namespace synctrace::testing::job_kernels_test
