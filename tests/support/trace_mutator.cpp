// SPDX-License-Identifier: Apache-2.0
#include "support/trace_mutator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "format/trace_writer.h"

namespace synctrace::testing {
namespace {

using namespace format;

constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

class Mutator {
 public:
  Mutator(const TraceParts& trace, const TraceParts& donor, std::uint64_t seed) : donor_(donor), random_(seed) {
    parts_.texts = trace.texts;
    cut_out(trace);
  }

  std::vector<std::byte> run() {
    const std::uint64_t changes = 1 + below(4);
    for (std::uint64_t i = 0; i < changes && parts_.records() > 0; ++i) change();
    std::vector<std::byte> bytes = put_together(parts_, kMostMutantBytes);
    if (chance(8)) spoil_payload(bytes);
    return bytes;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }
  bool chance(std::uint64_t of) { return below(of) == 0; }

  // Most mutants of a large trace keep its definitions and a piece of the rest, so that there can be many of them.
  void cut_out(const TraceParts& trace) {
    constexpr std::size_t kMostRecords = 600;
    const std::size_t records = trace.records();
    if (records <= kMostRecords || chance(64)) {
      parts_.chunks = trace.chunks;
      return;
    }
    const auto defines = [](std::uint32_t kind) { return kind < static_cast<std::uint32_t>(RecordKind::kCall); };
    const std::size_t first = below(records - kMostRecords);
    const std::uint64_t rare = chance(8) ? 2 : 8;  // how few of its definitions
    std::size_t at = 0;
    for (const TraceParts::Chunk& chunk : trace.chunks) {
      TraceParts::Chunk kept;
      for (const TraceParts::Record& record : chunk) {
        const bool inside = at >= first && at < first + kMostRecords;
        const bool edge = record.kind == static_cast<std::uint32_t>(RecordKind::kWindow) ||
                          record.kind == static_cast<std::uint32_t>(RecordKind::kEnd);
        if (inside || edge || (defines(record.kind) && chance(at < first ? rare : 8 * rare))) kept.push_back(record);
        ++at;
      }
      if (!kept.empty()) parts_.chunks.push_back(std::move(kept));
    }
  }

  TraceParts::Chunk& any_chunk() { return parts_.chunks[below(parts_.chunks.size())]; }

  void change() {
    switch (below(12)) {
      case 0: return repeat_chunk();
      case 1:
        if (parts_.chunks.size() > 1)
          parts_.chunks.erase(parts_.chunks.begin() + static_cast<std::ptrdiff_t>(below(parts_.chunks.size())));
        return;
      case 2: return std::swap(any_chunk(), any_chunk());
      case 3: return repeat_record();
      case 4: return transplant();
      case 5: return shuffle_or_drop();
      default: return change_field();
    }
  }

  void repeat_chunk() {
    const TraceParts::Chunk chunk = any_chunk();
    for (std::uint64_t left = std::uint64_t{1} << below(6); left > 0; --left) {
      parts_.chunks.insert(parts_.chunks.begin() + static_cast<std::ptrdiff_t>(below(parts_.chunks.size() + 1)), chunk);
    }
  }

  // Maybe each time a little different: later, another id.
  void repeat_record() {
    TraceParts::Chunk& chunk = any_chunk();
    if (chunk.empty()) return;
    const std::size_t at = below(chunk.size());
    TraceParts::Record record = chunk[at];
    const std::vector<Encoding>& encodings = kinds()[record.kind].encodings;
    const std::size_t field = below(encodings.size());
    const bool moves = encodings[field] != Encoding::kText && chance(2);
    const std::uint64_t by = std::uint64_t{1} << below(20);
    TraceParts::Chunk more;
    for (std::uint64_t left = std::uint64_t{1} << below(11); left > 0; --left) {
      if (moves) record.values[field] += by;
      more.push_back(record);
    }
    chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
  }

  void transplant() {
    const TraceParts::Chunk& from = donor_.chunks[below(donor_.chunks.size())];
    if (from.empty()) return;
    TraceParts::Record record = from[below(from.size())];
    const std::vector<Encoding>& encodings = kinds()[record.kind].encodings;
    for (std::size_t i = 0; i < encodings.size(); ++i) {
      if (encodings[i] == Encoding::kText)
        record.values[i] = parts_.text_index(donor_.texts[record.values[i]]);
      else if (chance(3))
        record.values[i] = extreme(record.values[i]);
    }
    TraceParts::Chunk& chunk = any_chunk();
    chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(below(chunk.size() + 1)), std::move(record));
  }

  void shuffle_or_drop() {
    TraceParts::Chunk& chunk = any_chunk();
    if (chunk.size() < 2) return;
    const std::size_t at = below(chunk.size());
    const std::size_t count = std::min<std::size_t>(std::size_t{1} << below(9), chunk.size() - at);
    const auto first = chunk.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    if (chance(2))
      std::reverse(first, last);
    else
      chunk.erase(first, last);
  }

  // One field of one record, of the next ones of its kind, or of all of them. All kinds are equally likely.
  void change_field() {
    std::array<bool, kMaxKinds> seen{};
    for (const TraceParts::Chunk& chunk : parts_.chunks) {
      for (const TraceParts::Record& record : chunk) seen[record.kind] = true;
    }
    std::vector<std::uint32_t> there;
    for (std::uint32_t kind = 0; kind < kMaxKinds; ++kind) {
      if (seen[kind]) there.push_back(kind);
    }
    const std::uint32_t kind = there[below(there.size())];
    std::vector<TraceParts::Record*> records;
    for (TraceParts::Chunk& chunk : parts_.chunks) {
      for (TraceParts::Record& record : chunk) {
        if (record.kind == kind) records.push_back(&record);
      }
    }
    const std::size_t first = chance(6) ? 0 : below(records.size());
    const std::size_t count = first == 0 ? records.size() : chance(4) ? std::size_t{1} << below(8) : 1;
    const std::size_t field = below(kinds()[kind].encodings.size());
    const bool is_text = kinds()[kind].encodings[field] == Encoding::kText;
    const bool all_alike = chance(2);
    const std::uint64_t same =
        is_text ? hostile_text(records[first]->values[field]) : extreme(records[first]->values[field]);
    for (std::size_t i = first; i < std::min(first + count, records.size()); ++i) {
      std::uint64_t& value = records[i]->values[field];
      value = all_alike   ? same
              : is_text   ? hostile_text(value)
              : chance(8) ? records[below(records.size())]->values[field]
                          : extreme(value);
    }
  }

  std::uint64_t extreme(std::uint64_t value) {
    constexpr std::array kEnds = {std::uint64_t{0},
                                  std::uint64_t{1},
                                  ~std::uint64_t{0},
                                  kSignBit,
                                  kSignBit - 1,
                                  std::uint64_t{0xffff'ffff},
                                  std::uint64_t{0x8000'0000},
                                  std::uint64_t{0x7fff'ffff},
                                  std::uint64_t{1} << 60,
                                  (std::uint64_t{1} << 60) + 1,
                                  (std::uint64_t{1} << 60) - 1,
                                  std::uint64_t{1'000'000'000},
                                  std::uint64_t{0xff},
                                  std::uint64_t{2},
                                  std::uint64_t{3},
                                  std::uint64_t{0x1'0000'0000}};
    switch (below(6)) {
      case 0: return value + 1;
      case 1: return value - 1;
      case 2: return chance(2) ? std::uint64_t{0} - value : ~value;
      case 3: return value + (std::uint64_t{1} << below(64));
      default: return kEnds[below(kEnds.size())];
    }
  }

  std::uint64_t hostile_text(std::uint64_t index) {
    static const std::array<std::string, 9> kTexts = {"",
                                                      std::string(1, '\0'),
                                                      std::string(16'000, 'x'),
                                                      std::string(8'000, '\x01'),
                                                      "\xff\xfe\xc0\x80",
                                                      "</script><b>\"',;\n\r\t",
                                                      "n1:1 n1:1 p1:0! p1:-1 i0:ffffffffffffffff ~ | n1:0",
                                                      "..",
                                                      "../../../../../../etc/passwd"};
    const std::string old = parts_.texts[index];
    switch (below(5)) {
      case 0: return parts_.text_index(old.substr(0, below(old.size() + 1)));
      case 1: {
        std::string longer;
        while (!old.empty() && longer.size() + old.size() < kMaxTextBytes) longer += old + (chance(2) ? " " : "");
        return parts_.text_index(longer);
      }
      case 2: return below(parts_.texts.size());
      default: return parts_.text_index(kTexts[below(kTexts.size())]);
    }
  }

  // Bytes of one payload, and both checksums of the chunk.
  void spoil_payload(std::vector<std::byte>& file) {
    std::vector<std::size_t> chunks;
    for (std::size_t at = sizeof(FileHeader); at + sizeof(ChunkHeader) <= file.size();) {
      ChunkHeader header;
      std::memcpy(&header, &file[at], sizeof(header));
      chunks.push_back(at);
      at += sizeof(header) + header.stored_bytes;
    }
    if (chunks.empty()) return;
    const std::size_t at = chunks[below(chunks.size())];
    ChunkHeader header;
    std::memcpy(&header, &file[at], sizeof(header));
    const std::span<std::byte> payload(file.data() + at + sizeof(header), header.stored_bytes);
    for (std::uint64_t left = 1 + below(8); left > 0 && !payload.empty(); --left) {
      payload[below(payload.size())] = static_cast<std::byte>(chance(2) ? 0xff : below(256));
    }
    header = make_chunk_header(payload, header.raw_bytes, header.codec, chance(4) ? below(4) : header.sequence);
    std::memcpy(&file[at], &header, sizeof(header));
  }

  const TraceParts& donor_;
  std::mt19937_64 random_;
  TraceParts parts_;
};

}  // namespace

std::vector<std::byte> mutant_of(const TraceParts& trace, const TraceParts& donor, std::uint64_t seed) {
  return Mutator(trace, donor, seed).run();
}

}  // namespace synctrace::testing
