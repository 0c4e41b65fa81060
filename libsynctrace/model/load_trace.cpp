// SPDX-License-Identifier: Apache-2.0
#include "model/load_trace.h"

#include <optional>
#include <utility>

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

// A chunk on its way from the file to the decoder, and its GPU work on its way to the table. `damage` and `share_read`
// are those of the file up to its end.
struct ReadChunk {
  std::vector<std::byte> payload;
  format::Damage damage;
  double share_read = 0;
};
struct DecodedWork {
  std::vector<Operation> operations;
  double share_read = 0;
};

void read_chunks(format::ChunkReader& reader, auto&& give) {
  format::Chunk chunk;
  while (reader.next(chunk))
    give(ReadChunk{{chunk.payload.begin(), chunk.payload.end()}, reader.damage(), reader.share_read()});
}

// Sees from the damage where in the file records are missing.
class ChunkDecoder {
 public:
  explicit ChunkDecoder(TraceLoader& loader) : loader_(loader) {}

  TableRows decode(const ReadChunk& chunk) {
    look_for_hole(chunk.damage);
    decoder_.begin_chunk(chunk.payload);
    decoder_.visit_all(loader_, of_records_);
    look_for_hole(chunk.damage);
    return loader_.take_rows();
  }

  void look_for_hole(const format::Damage& of_chunks) {
    const std::uint64_t lost = of_chunks.skipped_bytes + of_chunks.bad_chunks + of_chunks.missing_chunks +
                               of_records_.bad_records + (of_chunks.truncated ? 1U : 0U);
    if (lost == seen_) return;
    seen_ = lost;
    loader_.hole();
  }

  const format::Damage& of_records() const noexcept { return of_records_; }

 private:
  TraceLoader& loader_;
  format::RecordDecoder decoder_;
  format::Damage of_records_;
  std::uint64_t seen_ = 0;
};

// Three stages: to read and check the chunks, to decode their records, to find room for the GPU's work in memory. All
// other rows go to their tables in the second stage: the last alone would take longer than both others together,
// because memory that is touched for the first time costs more than the records themselves.
void read_all(format::ChunkReader& reader, TraceLoader& loader, Trace& trace) {
  constexpr std::size_t kBytesOfARecord = 14;
  const auto records = static_cast<std::size_t>(reader.file_bytes() / kBytesOfARecord);
  ChunkDecoder decoder(loader);
  const auto read = [&](auto&& give) { read_chunks(reader, give); };
  const auto decode = [&](auto&& give) {
    in_two_stages<ReadChunk>(records, read, [&](const ReadChunk& chunk) {
      TableRows rows = decoder.decode(chunk);
      append_host_rows(rows, chunk.share_read, trace);
      give(DecodedWork{std::move(rows.operations), chunk.share_read});
    });
  };
  in_two_stages<DecodedWork>(
      records, decode, [&](const DecodedWork& work) { append_operations(work.operations, work.share_read, trace); });
  decoder.look_for_hole(reader.damage());
  reader.damage().bad_records += decoder.of_records().bad_records;
  reader.damage().unknown_records += decoder.of_records().unknown_records;
}

Result<Trace> load(Result<format::ChunkReader> opened, const std::string& name, std::optional<Joins>* joins = nullptr) {
  if (!opened) return opened.error();
  format::ChunkReader reader = std::move(opened).value();
  Trace trace;
  trace.path = name;
  trace.process_id = reader.header().process_id;
  trace.start_realtime_ns = reader.header().start_realtime_ns;
  TraceLoader loader(trace);
  read_all(reader, loader, trace);
  loader.finish();
  if (const ClockRepair clock = repair_clock(trace, joins); !clock.is_usable()) {
    trace.stats.add(kLossClockUnusable, clock.broken_after);
    trace.lossy = {{0, kLatestTime + 1}};
  }
  count_damage(reader.damage(), trace.stats);
  return trace;
}

}  // namespace

Result<Trace> load_trace(const std::string& path, std::optional<Joins>* joins) {
  return load(format::ChunkReader::open(path), path, joins);
}

Result<Trace> load_trace_bytes(std::vector<std::byte> bytes, const std::string& name) {
  return load(format::ChunkReader::from_bytes(std::move(bytes), name), name);
}

}  // namespace synctrace
