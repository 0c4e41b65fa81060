// SPDX-License-Identifier: Apache-2.0
// Bytes -> records. Trusts nothing: every length is checked against its bound and against what is there, a damaged
// chunk is skipped and counted (chunk_reader.h), and reading goes on at the next intact one. Memory is bounded by two
// chunks and kMaxKinds schemas, whatever the length of the trace. Single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "format/chunk_reader.h"
#include "format/records.h"

namespace synctrace::format {

struct FieldLayout {
  std::string name;
  Encoding encoding = Encoding::kUnsigned;
};

// The layout of one kind as the file declares it.
struct KindLayout {
  std::uint32_t kind = 0;
  std::string name;
  std::vector<FieldLayout> fields;
  // For a kind known to this version: file field index of each field of the struct, or -1 when the file lacks it.
  std::vector<int> known_fields;
};

// One record, decoded by the file's own schema. Valid until the reader moves on.
class RecordView {
 public:
  struct Value {
    std::uint64_t number = 0;  // two's complement for signed and delta fields
    std::string_view text;
  };

  std::uint32_t kind() const noexcept { return layout_->kind; }
  const KindLayout& layout() const noexcept { return *layout_; }
  std::span<const Value> values() const noexcept { return {values_.data(), layout_->fields.size()}; }

  // The record as a struct: fields that the file lacks keep their defaults, numbers too large for their field are
  // cut to its width. Only when kind() is the struct's kind.
  template <class Record>
  Record as() const noexcept;

 private:
  friend class TraceReader;
  friend class RecordDecoder;
  const KindLayout* layout_ = nullptr;
  std::array<Value, kMaxFields> values_{};
};

class RecordDecoder;

class TraceReader {
 public:
  // Fails when there is no such file, it is not a regular file or not a trace, or its major version is not ours; the
  // message names the path. A file header that fails its checksum is damage, not failure: its fields read as zero.
  static Result<TraceReader> open(const std::string& path);
  // `name` stands for the path in messages.
  static Result<TraceReader> from_bytes(std::vector<std::byte> bytes, const std::string& name);

  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader();

  const FileHeader& header() const noexcept;

  // Moves to the next readable record; false at the end. `record` and its texts are valid until the next call.
  [[nodiscard]] bool next(RecordView& record);

  // Number of the chunk (0, 1...) that the current record came from. It never falls, and has holes where chunks are
  // lost.
  std::uint64_t chunk_sequence() const noexcept;

  // Final once next() has returned false.
  const Damage& damage() const noexcept;

  // For visit_records() (record_decoder.h): the records of the next chunk, or null at the end; not to be mixed with
  // next().
  RecordDecoder* next_chunk();
  Damage& damage_of_chunks() noexcept;

 private:
  struct State;
  explicit TraceReader(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

// Calls visitor(const Kind&) with the struct of the record's kind; kinds unknown to this version, and kinds that the
// visitor takes no overload for, are passed over. True when the visitor was called.
template <class Visitor>
bool visit(const RecordView& record, Visitor&& visitor);

template <class Record>
Record RecordView::as() const noexcept {
  Record record;
  Record::with_fields([&](const auto&... field) {
    std::size_t index = 0;
    const auto take = [&](const auto& known) {
      const int position = layout_->known_fields[index++];
      if (position < 0) return;
      const Value& value = values_[static_cast<std::size_t>(position)];
      using Member = std::remove_reference_t<decltype(record.*known.member)>;
      if constexpr (std::is_same_v<Member, std::string_view>) {
        record.*known.member = value.text;
      } else {
        record.*known.member = static_cast<Member>(value.number);
      }
    };
    (take(field), ...);
  });
  return record;
}

template <class Visitor>
bool visit(const RecordView& record, Visitor&& visitor) {
  bool called = false;
  const auto attempt = [&]<class Record>(const Record*) {
    if constexpr (std::is_invocable_v<Visitor&, const Record&>) {
      if (!called && record.kind() == static_cast<std::uint32_t>(Record::kKind)) {
        visitor(record.template as<Record>());
        called = true;
      }
    }
  };
  [&]<class... Record>(const std::tuple<Record...>*) {
    (attempt(static_cast<const Record*>(nullptr)), ...);
  }(static_cast<const AllRecords*>(nullptr));
  return called;
}

}  // namespace synctrace::format
