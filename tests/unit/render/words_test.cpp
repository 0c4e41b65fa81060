// SPDX-License-Identifier: Apache-2.0

#include <limits>
#include <utility>

#include "base/name_text.h"
#include "base/quantity_text.h"
#include "base/shown_text.h"
#include "render/columns.h"
#include "support/catch.h"

namespace synctrace {

TEST_CASE("durations keep three or four figures") {
  CHECK(duration_text(0) == "0 ns");
  CHECK(duration_text(999) == "999 ns");
  CHECK(duration_text(1'000) == "1.0 us");
  CHECK(duration_text(999'949) == "999.9 us");
  CHECK(duration_text(999'950) == "1.0 ms");
  CHECK(duration_text(999'950'000) == "1.000 s");
  CHECK(duration_text(83'123'456'789) == "83.123 s");
}

TEST_CASE("sizes and counts") {
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(8U << 20) == "8.0 MiB");
  CHECK(bytes_text(1017U << 20) == "1.0 GiB");  // else a column of tables is too narrow
  CHECK(bytes_text((1U << 20) - 1) == "1.0 MiB");
  CHECK(bytes_text(std::numeric_limits<std::uint64_t>::max()) == "16.0 EiB");
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1'000) == "1,000");
  CHECK(count_text(1'234'567) == "1,234,567");
}

TEST_CASE("a share is 100 % only when it is all") {
  CHECK(share_text(1, 1) == "100.0 %");
  CHECK(share_text(999'999, 1'000'000) == "99.9 %");
  CHECK(share_text(0, 5) == "0.0 %");
  CHECK(share_text(0, 0) == "-");
}

TEST_CASE("recorded names cannot steer the terminal") {
  CHECK(printable("caf\xc3\xa9 \xe6\xbc\xa2") == "caf\xc3\xa9 \xe6\xbc\xa2");
  CHECK(printable("\x1b[31m") == "?[31m");
  CHECK(printable("a\nb") == "a?b");
  CHECK(printable("\xc2\x9b"
                  "31m") == "?31m");
  CHECK(printable("\xff\xc3") == "??");
  CHECK(printable("\xed\xa0\x80") == "???");
  CHECK(printable("\xc0\xaf") == "??");
}

TEST_CASE("a function is shown without parameters and template arguments") {
  const std::pair<const char*, const char*> cases[] = {
      {"main", "main"},
      {"Trainer.step", "Trainer.step"},
      {"main.<locals>.inner", "main.<locals>.inner"},
      {"<module>", "<module>"},
      {"train::epoch(float*)", "train::epoch"},
      {"int train::step<float>(float*)", "train::step<..>"},
      {"void at::native::(anonymous namespace)::copy<std::vector<int>, 4>(at::Tensor const&)", "at::native::copy<..>"},
      {"(anonymous namespace)::Trainer::step()", "Trainer::step"},
      {"std::map<int, std::pair<int, int> >::at(int const&)", "std::map<..>::at"},
      {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
      {"bool ns::operator<(ns::A const&, ns::A const&)", "ns::operator<"},
      {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<<<..>"},
      {"operator new(unsigned long)", "operator new"},
      {"(", "("},
      {"f<(", "f<..>"},
      {"{(", "{("},
      {"", ""},
  };
  for (const auto& [function, shown] : cases) {
    CAPTURE(function);
    CHECK(function_text(function) == shown);
  }
}

TEST_CASE("a long name keeps its end") {
  CHECK(defined_name("build.<locals>.step") == "step");
  CHECK(defined_name("build.<locals>.Net.forward") == "Net.forward");
  CHECK(defined_name("update.<locals>.<lambda>") == "update");
  CHECK(defined_name("f.<locals>.g.<locals>.<listcomp>") == "g");
  CHECK(defined_name("void ns::step<float>(float*)") == "ns::step<..>");
  CHECK(short_function_text("ns::Trainer::step(int)", 20) == "ns::Trainer::step");
  CHECK(short_function_text("void a::b::Trainer::step<float>(float*)", 21) == "..::Trainer::step<..>");
  CHECK(short_function_text("at::native::Trainer::step()", 19) == "..::Trainer::step");
  CHECK(short_function_text("step_with_a_very_long_name()", 12) == "step_with_..");
  CHECK(short_function_text("step_\xc3\xa4\xc3\xa4\xc3\xa4", 10) == "step_\xc3\xa4..");
  const std::string kernels = "void at::native::(anonymous namespace)::launch<at::native::Functor<float, 4>, " +
                              std::string(300, 'x') + ">(int, at::native::Functor<float, 4>)";
  CHECK(short_function_text(kernels, 80) == "at::native::launch<..>");
}

TEST_CASE("a path inside the working folder is shown from there") {
  CHECK(path_text("/home/ada/train.py", "/home/ada") == "train.py");
  CHECK(path_text("/home/ada/src/a.py", "/home/ada/") == "src/a.py");
  CHECK(path_text("/home/adams/train.py", "/home/ada") == "/home/adams/train.py");
  CHECK(path_text("/home/ada", "/home/ada") == "/home/ada");
  CHECK(path_text("/home/ada/", "/home/ada") == "/home/ada/");
  CHECK(path_text("train.py", "") == "train.py");
  CHECK(path_text("/train.py", "/") == "/train.py");
}

TEST_CASE("a text is cut to its columns at either end, at whole characters") {
  CHECK(fitted("abcdef", 6) == "abcdef");
  CHECK(fitted("abcdef", 5) == "abc..");
  CHECK(fitted_tail("abcdef", 6) == "abcdef");
  CHECK(fitted_tail("abcdef", 5) == "..def");
  CHECK(fitted("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 4) == "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f");
  CHECK(fitted("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 3) == "\xc3\xa4..");
  CHECK(fitted_tail("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 3) == "..\xc3\x9f");
  CHECK(columns_of("\xc3\xa4"
                   "b") == 2);
}

}  // namespace synctrace
