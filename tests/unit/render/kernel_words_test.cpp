// SPDX-License-Identifier: Apache-2.0
#include "render/kernel_words.h"

#include "support/catch.h"

namespace synctrace::testing {

TEST_CASE("the shares of the classes, with the precisions of products") {
  Report report;
  report.kernel_classes = {
      {"matmul", "float32", 3, 500'000}, {"pointwise", "", 9, 299'000}, {"matmul", "tf32", 2, 150'000},
      {"matmul", "", 1, 50'000},         {"fill", "", 1, 900},          {"sort", "", 1, 100}};
  CHECK(kernel_class_words(report) ==
        "matmul 70.0 % (float32 50.0 %, tf32 15.0 %, not named 5.0 %), pointwise 29.9 %, and 2 more 0.1 %");
}

TEST_CASE("classes of kernels that took no time have no shares") {
  Report report;
  CHECK(kernel_class_words(report).empty());
  report.kernel_classes = {{"other", "", 3, 0}};
  CHECK(kernel_class_words(report).empty());
}

TEST_CASE("a class is named with the layout of its images") {
  CHECK(class_words({.name = "bn", .kind = "normalisation", .precision = "", .layout = "nchw", .library = "cudnn"}) ==
        "normalisation nchw");
  CHECK(class_words({.name = "scale", .kind = "other", .precision = "", .layout = "", .library = ""}) == "other");
}

}  // namespace synctrace::testing
