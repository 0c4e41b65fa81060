// SPDX-License-Identifier: Apache-2.0
#include "contract/output_pattern.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace synctrace::format {
namespace {

// An environment as execve takes it.
class Variables {
 public:
  Variables(std::initializer_list<const char*> entries) : entries_(entries) { entries_.push_back(nullptr); }
  const char* const* get() const { return entries_.data(); }

 private:
  std::vector<const char*> entries_;
};

ProcessFacts plain_facts() { return {1234, "node7", "train", {}, nullptr}; }

std::string expanded(const char* pattern, const ProcessFacts& facts = plain_facts()) {
  OutputName name;
  const PatternStatus status = expand_output_pattern(pattern, facts, name);
  CHECK(status == PatternStatus::kOk);
  CHECK(name.length == std::string_view(name.path).size());
  return name.path;
}

OutputName refused(const char* pattern, PatternStatus expected) {
  OutputName name;
  const PatternStatus status = expand_output_pattern(pattern, plain_facts(), name);
  CHECK(status == expected);
  CHECK(std::string_view(name.path).empty());
  return name;
}

std::string program(std::initializer_list<std::string_view> arguments) {
  std::string line;
  for (const std::string_view argument : arguments) line.append(argument).push_back('\0');
  return program_name(line).text;
}

TEST_CASE("each pattern expands to its fact") {
  ProcessFacts facts = plain_facts();
  facts.rank = {3, 1, 8, RankSource::kTorchrun};
  CHECK(expanded("%p", facts) == "1234.synctrace");
  CHECK(expanded("%h/%e-%r.%l.%w-%%p%p", facts) == "node7/train-3.1.8-%p1234.synctrace");
  CHECK(expanded(nullptr) == "train.1234.synctrace");
}

TEST_CASE("a process without a launcher is rank 0 of 1") { CHECK(expanded("a%r.%l.%w") == "a0.0.1.synctrace"); }

TEST_CASE("the suffix is added once") {
  CHECK(expanded("a") == "a.synctrace");
  CHECK(expanded("a.synctrace") == "a.synctrace");
  CHECK(expanded("a.synctrace.b") == "a.synctrace.b.synctrace");
}

TEST_CASE("a folder gets the default name") { CHECK(expanded("out/%h/") == "out/node7/train.1234.synctrace"); }

TEST_CASE("the default name has the rank of one of many") {
  ProcessFacts facts = plain_facts();
  facts.rank = {3, 1, 8, RankSource::kSlurm};
  CHECK(expanded(nullptr, facts) == "train.rank3.1234.synctrace");
  CHECK(expanded("out/", facts) == "out/train.rank3.1234.synctrace");
  CHECK(expanded("/home/me/%e.%p", facts) == "/home/me/train.rank3.1234.synctrace");
  CHECK(expanded("/home/me/x%e.%p", facts) == "/home/me/xtrain.1234.synctrace");
  facts.rank.world_size = 1;
  CHECK(expanded("out/", facts) == "out/train.1234.synctrace");
}

TEST_CASE("variables expand, and an unset one is empty and named") {
  const Variables variables{"JOB=42", "JOBS=no", "EMPTY="};
  ProcessFacts facts = plain_facts();
  facts.environment = variables.get();
  OutputName name;
  REQUIRE(expand_output_pattern("a%q{JOB}b%q{EMPTY}c", facts, name) == PatternStatus::kOk);
  CHECK(std::string_view(name.path) == "a42bc.synctrace");
  CHECK(std::string_view(name.unset_variable).empty());
  REQUIRE(expand_output_pattern("a%q{JO}%q{X}", facts, name) == PatternStatus::kOk);
  CHECK(std::string_view(name.path) == "a.synctrace");
  CHECK(std::string_view(name.unset_variable) == "JO");
}

TEST_CASE("values stay in their place in the path") {
  const Variables variables{"UP=../../etc/passwd", "DOTS=..", "LINES=a\nb\x7f"};
  ProcessFacts facts{1, "no/de", ".hidden", {}, variables.get()};
  CHECK(expanded("t/%q{UP}", facts) == "t/_._.._etc_passwd.synctrace");
  CHECK(expanded("t/%q{DOTS}/x", facts) == "t/_./x.synctrace");
  CHECK(expanded("%q{LINES}", facts) == "a_b_.synctrace");
  CHECK(expanded("%h.%e", facts) == "no_de._hidden.synctrace");
}

TEST_CASE("several ranks never share a name") {
  ProcessFacts facts = plain_facts();
  facts.rank = {5, -1, 8, RankSource::kSlurm};
  OutputName name;
  for (const char* pattern : {"a", "a.synctrace", "a%l", "a%%p", "a%e%w"}) {
    REQUIRE(expand_output_pattern(pattern, facts, name) == PatternStatus::kOk);
    CHECK(name.rank_added);
    CHECK(std::string_view(name.path).ends_with(".rank5.synctrace"));
  }
  for (const char* pattern : {"a%p", "a%r", "%h", "out/"}) {
    REQUIRE(expand_output_pattern(pattern, facts, name) == PatternStatus::kOk);
    CHECK_FALSE(name.rank_added);
  }
  facts.rank.world_size = 1;
  CHECK(expanded("a", facts) == "a.synctrace");
  facts.rank.world_size = -1;  // a rank of nobody knows how many
  CHECK(expanded("a", facts) == "a.rank5.synctrace");
  facts.rank.rank = 0;  // and so its first one has the name that was given
  CHECK(expanded("a", facts) == "a.synctrace");
  facts.rank.source = RankSource::kUser;
  CHECK(expanded("a", facts) == "a.rank0.synctrace");
}

TEST_CASE("a program of one rank has the name that was given") {
  const Variables alone[] = {
      {"LOCAL_RANK=0"},
      {"RANK=0", "LOCAL_RANK=0"},
      {"RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=1"},
      {"SLURM_PROCID=0", "LOCAL_RANK=0"},
      {"SLURM_PROCID=0", "SLURM_NTASKS=1"},
      {"SLURM_PROCID=0", "LOCAL_RANK=0", "WORLD_SIZE=1"},
      {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1"},
      {"PMIX_RANK=0", "LOCAL_RANK=0"},
  };
  for (const Variables& variables : alone) {
    ProcessFacts facts = plain_facts();
    facts.rank = detect_rank(variables.get());
    CHECK(expanded("a", facts) == "a.synctrace");
  }
  const Variables many[] = {{"PMIX_RANK=0", "SLURM_PROCID=0", "SLURM_NTASKS=4"}, {"RANK=0", "WORLD_SIZE=2"}};
  for (const Variables& variables : many) {
    ProcessFacts facts = plain_facts();
    facts.rank = detect_rank(variables.get());
    CHECK(expanded("a", facts) == "a.rank0.synctrace");
  }
}

TEST_CASE("what is wrong is refused, with its place") {
  CHECK(refused("ab%z", PatternStatus::kUnknownPattern).error_at == 2);
  CHECK(refused("100%", PatternStatus::kUnknownPattern).error_at == 3);
  CHECK(refused("%p%q", PatternStatus::kUnclosedBrace).error_at == 2);
  CHECK(refused("%q{JOB", PatternStatus::kUnclosedBrace).error_at == 0);
  CHECK(refused("%q{}", PatternStatus::kUnclosedBrace).error_at == 0);
  refused("", PatternStatus::kEmpty);
  refused(".synctrace", PatternStatus::kEmpty);
  refused("%q{NOT_SET}", PatternStatus::kEmpty);
  refused("out/.synctrace", PatternStatus::kEmpty);
}

TEST_CASE("a name fits or is refused, at every length") {
  for (std::size_t length = 4000; length < 4200; ++length) {
    const std::string pattern(length, 'x');
    OutputName name;
    const PatternStatus status = expand_output_pattern(pattern.c_str(), plain_facts(), name);
    // With the suffixes .synctrace and .partial and the end mark it has to fit PATH_MAX (4096).
    const bool fits = length + 10 + 8 + 1 <= 4096;
    CHECK((status == PatternStatus::kOk) == fits);
    CHECK((status == PatternStatus::kTooLong) == !fits);
    if (fits) CHECK(name.length == length + 10);
  }
}

TEST_CASE("a taken name gets the process id") {
  OutputName name;
  REQUIRE(expand_output_pattern("out/a", plain_facts(), name) == PatternStatus::kOk);
  REQUIRE(add_number(name, 77));
  CHECK(std::string_view(name.path) == "out/a.77.synctrace");
  CHECK(name.length == std::string_view(name.path).size());
  REQUIRE(expand_output_pattern(std::string(4070, 'x').c_str(), plain_facts(), name) == PatternStatus::kOk);
  CHECK_FALSE(add_number(name, 1234567));
}

TEST_CASE("a name that holds the process id is known to hold it") {
  const auto holds = [](const char* pattern, std::uint32_t number) {
    OutputName name;
    REQUIRE(expand_output_pattern(pattern, plain_facts(), name) == PatternStatus::kOk);
    return has_number(name, number);
  };
  CHECK(holds(nullptr, 1234));
  CHECK(holds("%e.%p.rank%r", 1234));
  CHECK(holds("x.4294967295", 4294967295));
  CHECK_FALSE(holds(nullptr, 123));
  CHECK_FALSE(holds(nullptr, 234));
  CHECK_FALSE(holds("%e-%p", 1234));
  CHECK_FALSE(holds("out.1234.d/x", 1234));  // a folder's name makes no difference between the files in it
}

TEST_CASE("ranks are found with each launcher") {
  struct Case {
    Variables variables;
    Rank expected;
  };
  const Case cases[] = {
      {{"RANK=3", "LOCAL_RANK=1", "WORLD_SIZE=8", "SLURM_PROCID=0", "SLURM_NTASKS=2"},
       {3, 1, 8, RankSource::kTorchrun}},
      {{"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_SIZE=4"},
       {2, 0, 4, RankSource::kOpenMpi}},
      {{"PMIX_RANK=2"}, {2, -1, -1, RankSource::kPmi}},
      {{"PMI_RANK=6", "PMI_SIZE=7", "MPI_LOCALRANKID=2"}, {6, 2, 7, RankSource::kPmi}},
      {{"MV2_COMM_WORLD_RANK=1", "MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_SIZE=2"},
       {1, 1, 2, RankSource::kMvapich2}},
      {{"SLURM_PROCID=9", "SLURM_LOCALID=1", "SLURM_NTASKS=16"}, {9, 1, 16, RankSource::kSlurm}},
      {{"SYNCTRACE_RANK=5"}, {5, -1, -1, RankSource::kUser}},
      {{"SYNCTRACE_RANK=5", "RANK=3", "LOCAL_RANK=1", "WORLD_SIZE=8"}, {5, 1, 8, RankSource::kUser}},
      {{"RANK=3"}, {}},  // too common a name to trust alone
      {{"RANK=three", "WORLD_SIZE=8"}, {}},
      {{"SLURM_PROCID=-1"}, {}},
      {{"SLURM_PROCID=1x"}, {}},
      {{"SLURM_PROCID=99999999999"}, {}},
      {{}, {}},
  };
  for (const Case& test : cases) {
    const Rank rank = detect_rank(test.variables.get());
    CHECK(rank.rank == test.expected.rank);
    CHECK(rank.local_rank == test.expected.local_rank);
    CHECK(rank.world_size == test.expected.world_size);
    CHECK(rank.source == test.expected.source);
  }
  CHECK_FALSE(detect_rank(nullptr).known());
}

TEST_CASE("programs are called what a user calls them") {
  CHECK(program({"/usr/bin/train", "--lr", "1"}) == "train");
  CHECK(program({"/usr/bin/python3.12", "-u", "src/train.py", "x.py"}) == "train");
  CHECK(program({"python", "-X", "dev", "-Wignore", "-W", "error", "-B", "a.b.py"}) == "a.b");
  CHECK(program({"python3", "-m", "torch.distributed.run", "train.py"}) == "torch.distributed.run");
  CHECK(program({"python3", "-um", "train"}) == "train");
  CHECK(program({"python3", "-mtrain"}) == "train");
  CHECK(program({"python3", "--check-hash-based-pycs", "never", "project/"}) == "project");
  CHECK(program({"pypy3", "/opt/bin/torchrun", "--nproc-per-node", "8"}) == "torchrun");
  CHECK(program({"python3", "-c", "print(1)"}) == "python3");
  CHECK(program({"python3", "-"}) == "python3");
  CHECK(program({"python3"}) == "python3");
  CHECK(program({"python-config", "a.py"}) == "python-config");
  CHECK(program({"pythonic", "a.py"}) == "pythonic");
  CHECK(program({}) == "program");
  CHECK(program({""}) == "program");
  CHECK(program({"/bin/"}) == "program");
  CHECK(program({std::string(500, 'n')}) == std::string(127, 'n'));
  // A command line that the process overwrote (setproctitle) has no end mark.
  CHECK(program_name(std::span<const char>("worker: idle", 12)).text == std::string("worker: idle"));
}

TEST_CASE("parent folders are made") {
  namespace fs = std::filesystem;
  char folder[] = "/tmp/synctrace-output-pattern-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string base = folder;
  CHECK(make_parent_folders((base + "/a/b//c/file").c_str()));
  CHECK(fs::is_directory(base + "/a/b/c"));
  CHECK_FALSE(fs::exists(base + "/a/b/c/file"));
  CHECK(make_parent_folders((base + "/a/b/other").c_str()));
  CHECK(make_parent_folders("file"));
  CHECK_FALSE(make_parent_folders("/proc/self/cmdline/x/file"));
  CHECK_FALSE(make_parent_folders((base + "/" + std::string(5000, 'x') + "/file").c_str()));
  fs::remove_all(base);
}

}  // namespace
}  // namespace synctrace::format
