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

TEST_CASE("where the GPU is the limit, its largest classes are said, unless the kernels are the program's own") {
  Report report;
  report.verdict.word = "gpu-bound";
  report.kernel_classes = {{"matmul", "float32", 3, 730'000},
                           {"pointwise", "", 9, 180'000},
                           {"softmax", "", 2, 80'000},
                           {"fill", "", 1, 10'000}};
  CHECK(gpu_work_sentence(report) ==
        "The GPU computes: matmul 73.0 % (float32 73.0 %), pointwise 18.0 %, and 2 more 9.0 %.");
  report.verdict.word = "launch-bound";
  CHECK(gpu_work_sentence(report).empty());
  report.verdict.word = "gpu-bound";
  report.kernel_classes = {{"other", "", 3, 900'000}, {"fill", "", 1, 100'000}};
  CHECK(gpu_work_sentence(report).empty());
  report.kernel_classes.clear();
  CHECK(gpu_work_sentence(report).empty());
}

TEST_CASE("a class is named with the layout of its images") {
  CHECK(class_words({.name = "bn", .kind = "normalisation", .precision = "", .layout = "nchw", .library = "cudnn"}) ==
        "normalisation nchw");
  CHECK(class_words({.name = "scale", .kind = "other", .precision = "", .layout = "", .library = ""}) == "other");
}

}  // namespace synctrace::testing
