// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/unwind_table.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/catch.h"

namespace {

using namespace synctrace::capture;

const Module* module_with(const char* symbol) {
  module_map.refresh();
  build_missing_tables(module_map);
  return module_map.current().find(reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, symbol)));
}

struct Frames {
  MappedBytes header;
  MappedBytes eh_frame;
};

Frames frames_of(const Module& module) {
  Frames frames;
  const auto* start = reinterpret_cast<const std::byte*>(module.eh_frame_header);
  frames.header = {{start, module.eh_frame_header_bytes}, module.eh_frame_header};
  EhFrameHeader header;
  REQUIRE(header.parse(frames.header));
  const std::uintptr_t begin = header.eh_frame_address();
  frames.eh_frame = {{reinterpret_cast<const std::byte*>(begin), module.frame_data_end - begin}, begin};
  return frames;
}

// `symbol` names a module that defines it.
void compare_at_every_pc(const char* symbol) {
  const Module* module = module_with(symbol);
  REQUIRE(module != nullptr);
  const UnwindTable* table = module->table.load();
  REQUIRE(table != nullptr);
  EhFrame frames(frames_of(*module).eh_frame);  // in the section's order: the table was built from the header's
  std::size_t functions = 0;
  std::size_t pcs = 0;
  std::size_t different = 0;
  Fde fde;
  for (EhFrame::Entry entry = frames.next(fde); entry != EhFrame::Entry::kEnd; entry = frames.next(fde)) {
    if (entry != EhFrame::Entry::kFde) continue;
    ++functions;
    CfiRows rows(fde, kThisMachine);
    for (CfiRow row; rows.next(row);) {
      for (std::uint64_t pc = row.begin; pc < row.end; ++pc, ++pcs) different += table->find(pc) == row.rule ? 0 : 1;
    }
  }
  CAPTURE(module->path, functions, pcs);
  CHECK(different == 0);
  CHECK(functions == table->counts().functions);
  CHECK(functions > 1000);
  CHECK(table->counts().damaged_functions == 0);
}

TEST_CASE("A table says at every pc of libc and libstdc++ what the instructions say") {
  compare_at_every_pc("qsort");
  compare_at_every_pc("_ZSt9terminatev");
}

// One row as binutils sees it, in its notation: "rsp+16", "c-16" or "u".
struct TheirRow {
  std::uint64_t pc = 0;
  std::string cfa;
  std::string fp = "u";
  std::string ra = "c-8";
};

std::string describe_cfa(const UnwindRule& rule) {
  const std::string sign = rule.cfa_offset < 0 ? "" : "+";
  if (rule.cfa == CfaKind::kSp) return "rsp" + sign + std::to_string(rule.cfa_offset);
  if (rule.cfa == CfaKind::kFp) return "rbp" + sign + std::to_string(rule.cfa_offset);
  if (rule.cfa == CfaKind::kRbx) return "rbx" + sign + std::to_string(rule.cfa_offset);
  if (rule.cfa == CfaKind::kR10) return "r10" + sign + std::to_string(rule.cfa_offset);
  if (rule.cfa == CfaKind::kR13) return "r13" + sign + std::to_string(rule.cfa_offset);
  return "exp";
}

std::string describe_fp(const UnwindRule& rule) {
  if (rule.fp == SlotKind::kAtCfa) return "c" + std::to_string(rule.fp_offset);
  return rule.fp == SlotKind::kAtFp ? "exp" : "u";
}

struct Agreement {
  std::size_t rows = 0;
  std::size_t different = 0;
  std::size_t unsupported = 0;
};

void check_row(const UnwindRule& rule, const TheirRow& theirs, Agreement& agreement) {
  ++agreement.rows;
  if (rule.cfa == CfaKind::kUnsupported) {
    // Only what the tables are documented to leave out: expressions, and CFAs from other registers.
    ++agreement.unsupported;
    const bool usual = theirs.cfa.substr(0, 3) == "rsp" || theirs.cfa.substr(0, 3) == "rbp";
    if (usual && theirs.ra == "c-8" && theirs.fp != "exp") ++agreement.different;
    return;
  }
  bool equal = rule.cfa == CfaKind::kEnd ? theirs.ra == "u" : describe_cfa(rule) == theirs.cfa;
  const bool has_fp = rule.cfa == CfaKind::kSp || rule.cfa == CfaKind::kFp || rule.cfa == CfaKind::kFpDeref;
  if (has_fp) equal = equal && (describe_fp(rule) == theirs.fp || (theirs.fp == "s" && rule.fp == SlotKind::kSame));
  if (!equal && ++agreement.different < 5) {
    UNSCOPED_INFO(std::hex << theirs.pc << ": " << describe_cfa(rule) << ' ' << describe_fp(rule) << ", binutils "
                           << theirs.cfa << ' ' << theirs.fp << ' ' << theirs.ra);
  }
}

std::vector<std::string> words_of(const char* line) {
  std::vector<std::string> words;
  for (const char* at = line; *at != '\0';) {
    const std::size_t length = std::strcspn(at, " \n");
    if (length != 0) words.emplace_back(at, length);
    at += length + (at[length] == '\0' ? 0 : 1);
  }
  return words;
}

// binutils interprets the same file's instructions, by other people's code.
Agreement compare_with_binutils(const Module& module) {
  const UnwindTable& table = *module.table.load();
  const std::string command = std::string("readelf -wF ") + module.path + " 2>/dev/null";
  std::FILE* output = popen(command.c_str(), "r");
  REQUIRE(output != nullptr);
  Agreement agreement;
  std::vector<std::string> columns;
  bool in_function = false;
  char line[4096];
  while (std::fgets(line, sizeof(line), output) != nullptr) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 2) continue;
    if (words.size() > 3 && (words[3] == "FDE" || words[3] == "CIE")) in_function = words[3] == "FDE";
    if (words[0] == "LOC") columns = words;
    if (!in_function || words[0].size() != 16 || words.size() != columns.size()) continue;
    TheirRow row;
    row.pc = std::strtoull(words[0].c_str(), nullptr, 16) + module.bias;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (columns[i] == "CFA") row.cfa = words[i];
      if (columns[i] == "rbp") row.fp = words[i];
      if (columns[i] == "ra") row.ra = words[i];
    }
    check_row(table.find(row.pc), row, agreement);
  }
  pclose(output);
  return agreement;
}

#if defined(__x86_64__)
TEST_CASE("Tables equal binutils' interpretation of libc and libstdc++") {
  if (std::system("readelf --version >/dev/null 2>&1") != 0) {
    WARN("binutils are not installed");
    return;
  }
  for (const char* symbol : {"qsort", "_ZSt9terminatev"}) {
    const Module* module = module_with(symbol);
    REQUIRE(module != nullptr);
    const Agreement agreement = compare_with_binutils(*module);
    CAPTURE(module->path, agreement.rows, agreement.unsupported);
    CHECK(agreement.different == 0);
    CHECK(agreement.rows > 10'000);
    CHECK(agreement.unsupported * 500 < agreement.rows);
    std::printf("%s: %zu rows compared, %zu unsupported\n", module->path, agreement.rows, agreement.unsupported);
  }
}
#endif

TEST_CASE("Outside every function there is no rule") {
  const Module* libc = module_with("qsort");
  REQUIRE(libc != nullptr);
  const UnwindTable& table = *libc->table.load();
  CHECK(table.find(0).cfa == CfaKind::kNoRule);
  CHECK(table.find(libc->begin).cfa == CfaKind::kNoRule);
  CHECK(table.find(libc->end).cfa == CfaKind::kNoRule);
  CHECK(table.find(~std::uintptr_t{0}).cfa == CfaKind::kNoRule);
}

TEST_CASE("Damaged frame information makes tables, never trouble") {
  const Module* module = module_with("_ZSt9terminatev");
  REQUIRE(module != nullptr);
  const Frames good = frames_of(*module);
  // The first functions suffice, and the copies are exact: AddressSanitizer sees the first byte read beyond them.
  const std::vector<std::byte> frame_bytes(good.eh_frame.bytes.begin(), good.eh_frame.bytes.begin() + 40'000);
  const std::vector<std::byte> header_bytes(good.header.bytes.begin(), good.header.bytes.begin() + 4'000);
  std::mt19937_64 random(7);
  std::uint64_t functions = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<std::byte> frames = frame_bytes;
    std::vector<std::byte> header = header_bytes;
    const std::uint64_t changes = 1 + random() % 200;
    for (std::uint64_t i = 0; i < changes; ++i) frames[random() % frames.size()] = static_cast<std::byte>(random());
    for (std::uint64_t i = 0; i < changes / 8; ++i) header[random() % header.size()] = static_cast<std::byte>(random());
    UnwindTable::Source source;
    source.header = {header, good.header.address};
    if (round % 2 == 0) source.header = {};
    source.eh_frame = {frames, good.eh_frame.address};
    source.base = module->begin;
    source.code = module->code();
    const UnwindTable* table = UnwindTable::build(source);
    REQUIRE(table != nullptr);
    functions += table->counts().functions;
    for (int i = 0; i < 50; ++i) table->find(module->begin + random() % (module->end - module->begin));
    UnwindTable::destroy(table);
  }
  CHECK(functions > 50'000);
}

}  // namespace
