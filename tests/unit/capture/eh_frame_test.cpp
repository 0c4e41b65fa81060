// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/eh_frame.h"

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "capture/unwind/cfi_rows.h"
#include "support/catch.h"

namespace {

using namespace synctrace::capture;

using Byte = std::uint8_t;

// Assembles one CIE and FDEs for functions at 0x1000.
class FrameBuilder {
 public:
  static constexpr std::uint64_t kAddress = 0x5000;

  explicit FrameBuilder(std::vector<Byte> initial, const char* augmentation = "zR", Byte return_register = 16) {
    std::vector<Byte> body{0, 0, 0, 0, 1};
    for (const char* letter = augmentation; *letter != '\0'; ++letter) body.push_back(static_cast<Byte>(*letter));
    body.insert(body.end(), {0, 1, 0x78, return_register, 1, 0x1b});  // code 1, data -8, pc-relative sdata4
    body.insert(body.end(), initial.begin(), initial.end());
    add_entry(body);
  }

  void add_function(std::uint64_t begin, std::uint32_t length, std::vector<Byte> instructions) {
    std::vector<Byte> body;
    add_u32(body, static_cast<std::uint32_t>(bytes_.size() + 4));  // back to the CIE at 0
    add_u32(body, static_cast<std::uint32_t>(begin - (kAddress + bytes_.size() + 8)));
    add_u32(body, length);
    body.push_back(0);
    body.insert(body.end(), instructions.begin(), instructions.end());
    add_entry(body);
  }

  MappedBytes section() {
    sealed_ = bytes_;
    sealed_.insert(sealed_.end(), 4, 0);
    return {std::as_bytes(std::span(sealed_)), kAddress};
  }

 private:
  static void add_u32(std::vector<Byte>& to, std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) to.push_back(static_cast<Byte>(value >> shift));
  }
  void add_entry(std::vector<Byte> body) {
    while (body.size() % 4 != 0) body.push_back(0);
    add_u32(bytes_, static_cast<std::uint32_t>(body.size()));
    bytes_.insert(bytes_.end(), body.begin(), body.end());
  }
  std::vector<Byte> bytes_;
  std::vector<Byte> sealed_;
};

const std::vector<Byte> kX86Initial{0x0c, 7, 8, 0x90, 1};  // CFA = rsp + 8, return address at CFA - 8

std::vector<CfiRow> rows_of(FrameBuilder& builder, Machine machine = Machine::kX86_64) {
  EhFrame frames(builder.section());
  Fde fde;
  REQUIRE(frames.next(fde) == EhFrame::Entry::kFde);
  std::vector<CfiRow> rows;
  CfiRows run(fde, machine);
  for (CfiRow row; run.next(row);) rows.push_back(row);
  return rows;
}

TEST_CASE("A usual prologue gives a row for each change") {
  FrameBuilder builder(kX86Initial);
  // push rbp; mov rbp, rsp; ...; leave; ret
  builder.add_function(0x1000, 0x40, {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x3a, 0x0c, 7, 8});
  const std::vector<CfiRow> rows = rows_of(builder);
  REQUIRE(rows.size() == 4);
  CHECK((rows[0].begin == 0x1000 && rows[0].end == 0x1001 && rows[0].rule.cfa == CfaKind::kSp &&
         rows[0].rule.cfa_offset == 8));
  CHECK((rows[1].rule.cfa_offset == 16 && rows[1].rule.fp == SlotKind::kAtCfa && rows[1].rule.fp_offset == -16));
  CHECK((rows[2].rule.cfa == CfaKind::kFp && rows[2].rule.cfa_offset == 16 && rows[2].begin == 0x1004));
  CHECK((rows[3].begin == 0x103e && rows[3].end == 0x1040 && rows[3].rule.cfa == CfaKind::kSp));
  for (const CfiRow& row : rows) CHECK((row.rule.ra == SlotKind::kAtCfa && row.rule.ra_offset == -8));
}

TEST_CASE("Remembered states come back, and an early return's rows with them") {
  FrameBuilder builder(kX86Initial);
  builder.add_function(0x1000, 0x20, {0x41, 0x0e, 32, 0x44, 0x0a, 0x0e, 8, 0x41, 0x0b, 0x44, 0x0e, 8});
  const std::vector<CfiRow> rows = rows_of(builder);
  REQUIRE(rows.size() == 5);
  const std::int32_t offsets[] = {8, 32, 8, 32, 8};
  for (std::size_t i = 0; i < 5; ++i) CHECK(rows[i].rule.cfa_offset == offsets[i]);
}

TEST_CASE("Special rules are known by their expressions and marks") {
  const auto only_rule = [](std::vector<Byte> instructions) {
    FrameBuilder builder(kX86Initial);
    builder.add_function(0x1000, 0x20, std::move(instructions));
    return rows_of(builder).at(0).rule;
  };
  const UnwindRule plt = only_rule({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  CHECK((plt.cfa == CfaKind::kPlt && plt.cfa_offset == 11));
  const UnwindRule realigned = only_rule({0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 0x06});
  CHECK((realigned.cfa == CfaKind::kFpDeref && realigned.cfa_offset == -8 && realigned.fp == SlotKind::kAtFp));
  const UnwindRule realigning = only_rule({0x0c, 10, 0});
  CHECK((realigning.cfa == CfaKind::kR10 && realigning.cfa_offset == 0));
  const UnwindRule by_rbx = only_rule({0x0c, 3, 24});
  CHECK((by_rbx.cfa == CfaKind::kRbx && by_rbx.cfa_offset == 24));
  CHECK(only_rule({0x0c, 13, 0}).cfa == CfaKind::kR13);
  CHECK(only_rule({0x07, 16}).cfa == CfaKind::kEnd);
  CHECK(only_rule({0x0c, 12, 24}).cfa == CfaKind::kUnsupported);   // CFA from r12
  CHECK(only_rule({0x0f, 1, 0x77}).cfa == CfaKind::kUnsupported);  // an expression cut short
  CHECK(only_rule({0x3f}).cfa == CfaKind::kUnsupported);           // no such instruction
  CHECK(only_rule({0x0b}).cfa == CfaKind::kUnsupported);           // nothing to restore
}

TEST_CASE("The kernel's signal frame must be the one we know") {
  FrameBuilder builder({}, "zRS");
  builder.add_function(0x1000, 9,
                       {0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 16, 3, 0x77, 0xa8, 1});
  CHECK(rows_of(builder).at(0).rule.cfa == CfaKind::kSignalFrame);
  FrameBuilder other({}, "zRS");
  other.add_function(0x1000, 9, {0x0f, 4, 0x77, 0xa8, 1, 0x06, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 16, 3, 0x77, 0xa8, 1});
  CHECK(rows_of(other).at(0).rule.cfa == CfaKind::kUnsupported);
}

TEST_CASE("aarch64: the return address is in the link register until it is saved") {
  FrameBuilder builder({0x0c, 31, 0}, "zR", 30);
  // stp x29, x30, [sp, -32]!; ...; paciasp's mark
  builder.add_function(0x1000, 0x20, {0x2d, 0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x50, 0xdd, 0xde, 0x0e, 0});
  const std::vector<CfiRow> rows = rows_of(builder, Machine::kAarch64);
  REQUIRE(rows.size() == 3);
  CHECK((rows[0].rule.cfa == CfaKind::kSp && rows[0].rule.ra == SlotKind::kSame && rows[0].rule.cfa_offset == 0));
  CHECK((rows[1].rule.ra == SlotKind::kAtCfa && rows[1].rule.ra_offset == -24 && rows[1].rule.fp_offset == -32));
  CHECK((rows[2].rule == rows[0].rule));
}

TEST_CASE("Every cut of a section is read without harm, and what is whole before the cut is found") {
  FrameBuilder builder(kX86Initial);
  for (unsigned i = 0; i < 4; ++i) builder.add_function(0x1000 + 0x40 * i, 0x40, {0x41, 0x0e, 16, 0x86, 2});
  const MappedBytes whole = builder.section();
  std::size_t last = 0;
  for (std::size_t length = 0; length <= whole.bytes.size(); ++length) {
    const std::vector<std::byte> copy(whole.bytes.begin(), whole.bytes.begin() + static_cast<std::ptrdiff_t>(length));
    EhFrame frames({copy, whole.address});
    std::size_t found = 0;
    Fde fde;
    for (EhFrame::Entry entry = frames.next(fde); entry != EhFrame::Entry::kEnd; entry = frames.next(fde)) {
      found += entry == EhFrame::Entry::kFde ? 1 : 0;
    }
    CHECK(found >= last);
    last = found;
  }
  CHECK(last == 4);
}

TEST_CASE("A header's table must fit the header") {
  // version 1; eh_frame pcrel sdata4, count udata4, table datarel sdata4
  std::vector<Byte> bytes{1, 0x1b, 0x03, 0x3b, 0x00, 0x10, 0, 0, 1, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff, 0x20, 0, 0, 0};
  EhFrameHeader header;
  REQUIRE(header.parse({std::as_bytes(std::span(bytes)), 0x2000}));
  CHECK(header.eh_frame_address() == 0x2004 + 0x1000);
  REQUIRE(header.fde_count() == 1);
  CHECK(header.fde_address(0) == 0x2020);
  bytes[8] = 2;
  REQUIRE(header.parse({std::as_bytes(std::span(bytes)), 0x2000}));
  CHECK(header.fde_count() == 0);
  bytes[0] = 2;
  CHECK(!header.parse({std::as_bytes(std::span(bytes)), 0x2000}));
  for (std::size_t length = 0; length < 8; ++length)
    CHECK(!header.parse({std::as_bytes(std::span(bytes).first(length)), 0x2000}));
}

}  // namespace
