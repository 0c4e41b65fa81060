// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "format/trace_format.h"
#include "support/trace_mutator.h"

namespace synctrace::testing {
namespace {

using namespace format;

// Fills a file of the largest size with records of one kind, each field in its own way the same, rising, falling or
// scattered: code that is not linear in the number of anything shows.
class Flood {
 public:
  Flood(const TraceParts& trace, const TraceParts& donor, std::uint64_t seed) : parts_(trace), random_(seed) {
    if (parts_.records() > 5'000) parts_.chunks = donor.chunks, parts_.texts = donor.texts;
    pick(donor, seed);
    if (seed % 3 == 0) add_swollen_stacks();
  }

  std::vector<std::byte> run(std::size_t most_bytes) {
    const KindFields& kind = kinds()[record_.kind];
    TraceParts::Chunk flood;
    std::vector<std::uint64_t> ways(kind.encodings.size());
    for (std::uint64_t& way : ways) way = random_() % 8;
    const std::size_t middle = parts_.chunks.size() / 2;
    for (std::size_t bytes = 0; bytes < most_bytes; bytes += 3 + kind.encodings.size()) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        const bool is_text = kind.encodings[i] == Encoding::kText;
        std::uint64_t& value = record_.values[i];
        value =
            is_text ? next_text(value, ways[i], flood.size(), bytes) : next_number(value, ways[i], kind.encodings[i]);
      }
      flood.push_back(record_);
    }
    parts_.chunks.insert(parts_.chunks.begin() + static_cast<std::ptrdiff_t>(middle), std::move(flood));
    return put_together(parts_, kMostMutantBytes);
  }

 private:
  // A record of the trace itself where it has one of the kind: its ids mean something there.
  void pick(const TraceParts& donor, std::uint64_t seed) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t kind = 2; kind < kMaxKinds; ++kind) {
      if (!kinds()[kind].name.empty()) all.push_back(kind);
    }
    const std::uint32_t kind = all[seed % all.size()];
    for (const TraceParts* from : {&donor, const_cast<const TraceParts*>(&parts_)}) {
      for (const TraceParts::Chunk& chunk : from->chunks) {
        for (const TraceParts::Record& record : chunk) {
          if (record.kind != kind) continue;
          record_ = record;
          if (from == &donor) take_texts(donor);
          break;
        }
      }
    }
  }
  // Thousands of stacks of few bytes, each with a function of many bytes many times.
  void add_swollen_stacks() {
    const auto text = [&](const std::string& word) { return parts_.text_index(word); };
    std::string frames;
    for (int i = 0; i < 12; ++i) frames += "n1:1 ";
    TraceParts::Chunk chunk;
    chunk.push_back(
        {static_cast<std::uint32_t>(RecordKind::kModule), {1, 1, 0, 0, 1U << 20, 0, text("/usr/lib/x.so"), text("")}});
    chunk.push_back({static_cast<std::uint32_t>(RecordKind::kSymbol),
                     {1, 1, 0, 1, 7, 1, text(std::string(16'000, 'f')), text(std::string(16'000, 'g'))}});
    for (std::uint64_t id = 1; id < 2'000; ++id)
      chunk.push_back({static_cast<std::uint32_t>(RecordKind::kStack), {id, text(frames)}});
    parts_.chunks.insert(parts_.chunks.begin() + (parts_.chunks.size() > 1 ? 1 : 0), std::move(chunk));
  }

  void take_texts(const TraceParts& donor) {
    const std::vector<Encoding>& encodings = kinds()[record_.kind].encodings;
    for (std::size_t i = 0; i < encodings.size(); ++i) {
      if (encodings[i] == Encoding::kText) record_.values[i] = parts_.text_index(donor.texts[record_.values[i]]);
    }
  }

  std::uint64_t next_number(std::uint64_t value, std::uint64_t way, Encoding encoding) {
    switch (way) {
      case 0:
      case 1: return value + (encoding == Encoding::kDelta ? 1'000 : 1);
      case 2: return value - 1;
      case 3: return random_() % 64;
      case 4: return encoding == Encoding::kUnsigned ? std::uint64_t{1} << 50 : value + 1;
      default: return value;
    }
  }

  std::uint64_t next_text(std::uint64_t value, std::uint64_t way, std::size_t number, std::size_t& bytes) {
    constexpr std::size_t kWordBytes = 8;
    if (way < 4) {
      bytes += kWordBytes;
      return parts_.text_index("w" + std::to_string(number));
    }
    if (way == 4 && number == 0) return parts_.text_index(std::string(kMaxTextBytes, 'x'));
    if (way == 5 && number == 0) {
      std::string frames;
      while (frames.size() + kWordBytes < kMaxTextBytes) frames += "n1:1 ";
      return parts_.text_index(frames);
    }
    bytes += parts_.texts[value].size();
    return value;
  }

  TraceParts parts_;
  TraceParts::Record record_;
  std::mt19937_64 random_;
};

}  // namespace

std::vector<std::byte> flood_of(const TraceParts& trace, const TraceParts& donor, std::uint64_t seed,
                                std::size_t most_bytes) {
  return Flood(trace, donor, seed).run(std::min(most_bytes, kMostMutantBytes));
}

}  // namespace synctrace::testing
