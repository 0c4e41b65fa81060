// SPDX-License-Identifier: Apache-2.0
#include "support/trace_parts.h"

#include <tuple>

#include "format/trace_reader.h"
#include "format/trace_writer.h"

namespace synctrace::testing {
namespace {

using namespace format;

template <class Record>
void describe(const Record*, std::array<KindFields, kMaxKinds>& all) {
  KindFields& kind = all[static_cast<std::size_t>(Record::kKind)];
  kind.name = Record::kName;
  Record::with_fields([&](const auto&... field) {
    (kind.names.push_back(field.name), ...);
    (kind.encodings.push_back(field.encoding), ...);
  });
}

void append(std::vector<std::byte>& target, std::span<const std::byte> more) {
  target.insert(target.end(), more.begin(), more.end());
}

}  // namespace

const std::array<KindFields, kMaxKinds>& kinds() {
  static const std::array<KindFields, kMaxKinds> all = [] {
    std::array<KindFields, kMaxKinds> result;
    std::apply([&](const auto&... record) { (describe(&record, result), ...); }, AllRecords{});
    return result;
  }();
  return all;
}

std::uint64_t TraceParts::text_index(std::string_view text) {
  if (const auto known = text_indices.find(text); known != text_indices.end()) return known->second;
  texts.emplace_back(text);
  return text_indices.emplace(text, texts.size() - 1).first->second;
}

std::size_t TraceParts::records() const noexcept {
  std::size_t count = 0;
  for (const Chunk& chunk : chunks) count += chunk.size();
  return count;
}

TraceParts take_apart(const std::vector<std::byte>& bytes) {
  TraceParts parts;
  auto reader = TraceReader::from_bytes(bytes, "test");
  if (!reader) return parts;
  RecordView view;
  for (std::uint64_t last = ~std::uint64_t{0}; reader.value().next(view);) {
    const KindFields& kind = kinds()[view.kind()];
    if (kind.encodings.size() != view.values().size()) continue;
    if (parts.chunks.empty() || reader.value().chunk_sequence() != last) parts.chunks.emplace_back();
    last = reader.value().chunk_sequence();
    TraceParts::Record record{view.kind(), {}};
    for (std::size_t i = 0; i < kind.encodings.size(); ++i) {
      const RecordView::Value& value = view.values()[i];
      record.values.push_back(kind.encodings[i] == Encoding::kText ? parts.text_index(value.text) : value.number);
    }
    parts.chunks.back().push_back(std::move(record));
  }
  return parts;
}

std::vector<std::byte> put_together(const TraceParts& parts, std::size_t most_bytes) {
  std::vector<std::byte> bytes;
  const FileHeader header = make_file_header(1'700'000'000'000'000'000, 42);
  append(bytes, std::as_bytes(std::span(&header, 1)));
  std::vector<std::byte> buffer(sizeof(ChunkHeader) + (512U << 10));
  ChunkWriter writer(buffer);
  std::vector<RecordView::Value> values;
  for (const TraceParts::Chunk& chunk : parts.chunks) {
    for (const TraceParts::Record& record : chunk) {
      const std::vector<Encoding>& encodings = kinds()[record.kind].encodings;
      values.clear();
      for (std::size_t i = 0; i < encodings.size(); ++i) {
        const bool is_text = encodings[i] == Encoding::kText;
        values.push_back(
            {record.values[i], is_text ? std::string_view(parts.texts[record.values[i]]) : std::string_view()});
      }
      const auto add = [&] {
        return writer.add_fields(record.kind, std::span<const Encoding>(encodings),
                                 std::span<const RecordView::Value>(values));
      };
      if (!add()) {
        append(bytes, writer.finish());
        (void)add();  // one that no chunk takes is left out
      }
      if (bytes.size() + writer.payload_bytes() + kMaxRecordBytes > most_bytes) {
        append(bytes, writer.finish());
        return bytes;
      }
    }
    append(bytes, writer.finish());
  }
  return bytes;
}

}  // namespace synctrace::testing
