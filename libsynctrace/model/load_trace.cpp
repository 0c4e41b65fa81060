// SPDX-License-Identifier: Apache-2.0
#include "model/load_trace.h"

#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "base/in_turns.h"
#include "base/in_two_stages.h"
#include "format/chunk_reader.h"
#include "format/record_decoder.h"
#include "model/clock_map.h"
#include "model/table_rows.h"
#include "model/trace_loader.h"

namespace synctrace {
namespace {

void count_damage(const format::Damage& damage, LoadStats& stats) {
  stats.add(kLossSkippedBytes, damage.skipped_bytes);
  stats.add(kLossBadChunks, damage.bad_chunks);
  stats.add(kLossMissingChunks, damage.missing_chunks);
  stats.add(kLossBadRecords, damage.bad_records);
  stats.add(kLossUnknownRecords, damage.unknown_records);
  stats.add(kLossTruncated, damage.truncated ? 1 : 0);
}

// A chunk on its way from the file into the tables. The damage is that of the file up to its end.
struct ReadChunk {
  std::vector<std::byte> payload;
  format::Damage of_chunks;
  double share_read = 0;
};
struct ParsedChunk {
  ReadChunk read;  // the rows have texts of it
  ParsedRows parsed;
  format::Damage of_records;
  std::size_t known_layouts = 0;  // when it was begun
};
struct DecodedWork {
  std::vector<Operation> operations;
  double share_read = 0;
};

// The layouts that finished chunks have declared, for chunks that are begun.
class Layouts {
 public:
  std::size_t give_to(format::RecordDecoder& decoder) const {
    const std::lock_guard lock(mutex_);
    decoder.set_schemas(schemas_);
    return schemas_.declared_count();
  }
  void take_from(const format::RecordDecoder& decoder) {
    const std::lock_guard lock(mutex_);
    if (decoder.schemas().declared_count() != schemas_.declared_count()) schemas_ = decoder.schemas();
  }
  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return schemas_.declared_count();
  }

 private:
  mutable std::mutex mutex_;
  format::SchemaTable schemas_;
};

// What one thread needs to parse chunks. Two that share a cache line take 1.1 times as long for a whole report.
class alignas(128) ChunkParser {
 public:
  ParsedChunk parse(ReadChunk&& chunk, const Layouts& layouts) {
    ParsedChunk result{std::move(chunk), {}, {}, layouts.give_to(decoder_)};
    decoder_.begin_chunk(result.read.payload);
    decoder_.visit_all(rows_, result.of_records);
    result.parsed = rows_.take();
    return result;
  }
  const format::RecordDecoder& decoder() const noexcept { return decoder_; }

 private:
  format::RecordDecoder decoder_;
  RowParser rows_;
};

// From the file to the tables, with the chunks in their order. Sees from the damage where in the file records are
// missing.
class FileLoader {
 public:
  FileLoader(format::ChunkReader& reader, Trace& trace) : reader_(reader), trace_(trace), loader_(trace) {}

  void load() {
    constexpr std::size_t kBytesOfARecord = 14;
    const auto records = static_cast<std::size_t>(reader_.file_bytes() / kBytesOfARecord);
    const auto decode = [&](auto&& give) {
      in_turns(
          records, [&] { return next_chunk(); },
          [&](std::size_t worker, ReadChunk&& chunk) { return parsers_[worker].parse(std::move(chunk), layouts_); },
          [&](std::size_t worker, ParsedChunk&& chunk) { give(finish(parsers_[worker], std::move(chunk))); });
    };
    in_two_stages<DecodedWork>(
        records, decode, [&](const DecodedWork& work) { append_operations(work.operations, work.share_read, trace_); });
    look_for_hole(reader_.damage());
    reader_.damage().bad_records += of_records_.bad_records;
    reader_.damage().unknown_records += of_records_.unknown_records;
    loader_.finish();
  }

 private:
  std::optional<ReadChunk> next_chunk() {
    format::Chunk chunk;
    if (!reader_.next(chunk)) return std::nullopt;
    return ReadChunk{{chunk.payload.begin(), chunk.payload.end()}, reader_.damage(), reader_.share_read()};
  }

  // All but the GPU's work goes to its table here, beside that: memory that is touched for the first time costs more
  // than the records themselves.
  DecodedWork finish(ChunkParser& parser, ParsedChunk&& chunk) {
    if (chunk.known_layouts != layouts_.count()) chunk = parser.parse(std::move(chunk.read), layouts_);
    layouts_.take_from(parser.decoder());
    look_for_hole(chunk.read.of_chunks);
    loader_.add(chunk.parsed);
    of_records_.bad_records += chunk.of_records.bad_records;
    of_records_.unknown_records += chunk.of_records.unknown_records;
    look_for_hole(chunk.read.of_chunks);
    append_host_rows(chunk.parsed.rows, chunk.read.share_read, trace_);
    return {std::move(chunk.parsed.rows.operations), chunk.read.share_read};
  }

  void look_for_hole(const format::Damage& of_chunks) {
    const std::uint64_t lost = of_chunks.skipped_bytes + of_chunks.bad_chunks + of_chunks.missing_chunks +
                               of_records_.bad_records + (of_chunks.truncated ? 1U : 0U);
    if (lost == seen_) return;
    seen_ = lost;
    loader_.hole();
  }

  format::ChunkReader& reader_;
  Trace& trace_;
  TraceLoader loader_;
  Layouts layouts_;
  std::array<ChunkParser, 2> parsers_;
  format::Damage of_records_;
  std::uint64_t seen_ = 0;
};

Result<LoadedTrace> load(Result<format::ChunkReader> opened, const std::string& name) {
  if (!opened) return opened.error();
  format::ChunkReader reader = std::move(opened).value();
  LoadedTrace loaded;
  Trace& trace = loaded.trace;
  trace.path = name;
  trace.process_id = reader.header().process_id;
  trace.start_realtime_ns = reader.header().start_realtime_ns;
  FileLoader(reader, trace).load();
  if (const ClockRepair clock = repair_clock(trace, &loaded.joins); !clock.is_usable()) {
    trace.stats.add(kLossClockUnusable, clock.broken_after);
    trace.lossy = {{0, kLatestTime + 1}};
  }
  count_damage(reader.damage(), trace.stats);
  return loaded;
}

}  // namespace

Result<LoadedTrace> load_trace(const std::string& path) { return load(format::ChunkReader::open(path), path); }

Result<Trace> load_trace_bytes(std::vector<std::byte> bytes, const std::string& name) {
  Result<LoadedTrace> loaded = load(format::ChunkReader::from_bytes(std::move(bytes), name), name);
  if (!loaded) return loaded.error();
  return std::move(loaded).value().trace;
}

}  // namespace synctrace
