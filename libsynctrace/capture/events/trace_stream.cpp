// SPDX-License-Identifier: Apache-2.0
#include "capture/events/trace_stream.h"

#include <cerrno>
#include <cstring>

#include "capture/process/clocks.h"
#include "capture/process/notice.h"

namespace synctrace::capture {

TraceStream::TraceStream(FileSink& sink, Opener opener) noexcept
    : sink_(sink), opener_(opener), is_wanted_(opener == nullptr), writer_(std::span(buffer_)) {}

void TraceStream::begin(std::uint32_t process_id) noexcept {
  header_ = format::make_file_header(static_cast<std::uint64_t>(realtime_ns()), process_id);
  format::for_each_schema([this](const format::Schema& schema) noexcept { add(schema); });
}

StringId TraceStream::string_id(std::string_view text) noexcept {
  if (text.empty()) return StringId{};
  const InternTable::Answer answer = strings_.find_or_add(hash_bytes(text.data(), text.size()));
  const auto id = static_cast<StringId>(answer.id);
  if (answer.is_new) add(format::String{id, text});
  return id;
}

ShapeId TraceStream::shape_id(const format::LaunchShape& shape) noexcept {
  const std::array<std::uint32_t, 9> key = {shape.grid_x,
                                            shape.grid_y,
                                            shape.grid_z,
                                            shape.block_x,
                                            shape.block_y,
                                            shape.block_z,
                                            shape.registers_per_thread,
                                            shape.static_shared_bytes,
                                            shape.dynamic_shared_bytes};
  const InternTable::Answer answer = shapes_.find_or_add(hash_bytes(key.data(), sizeof(key)));
  const auto id = static_cast<ShapeId>(answer.id);
  if (answer.is_new) {
    format::LaunchShape definition = shape;
    definition.id = id;
    add(definition);
  }
  return id;
}

void TraceStream::add_loss(std::string_view name, std::uint64_t count) noexcept {
  if (count != 0) add(format::Loss{now_ns(), name, count});
}

// The file, with its header; false where it cannot be had, which was told then.
bool TraceStream::ensure_file() noexcept {
  if (has_file() || failed_) return !failed_;
  if (opener_ != nullptr && !opener_()) {
    failed_ = true;
    return false;
  }
  if (!sink_.append(std::as_bytes(std::span(&header_, 1)))) report_failure();
  return !failed_;
}

void TraceStream::flush() noexcept {
  if (!is_wanted_) return;
  const std::span<const std::byte> chunk = writer_.finish();
  if (chunk.empty()) return;
  const std::uint64_t records = writer_.record_count() - flushed_records_;
  flushed_records_ = writer_.record_count();
  if (!ensure_file()) {
    lost_records_ += records;
    return;
  }
  // Once a chunk was lost, those behind it may lean on what it defined.
  const bool limit_reached = over_limit_records_ != 0;
  if (limit_bytes_ != 0 && (limit_reached || sink_.written_bytes() + chunk.size() + kReserveBytes > limit_bytes_)) {
    if (over_limit_records_ == 0) over_limit_since_ns_ = last_flush_ns_;
    over_limit_records_ += records;
    writer_.reuse_number();
    return;
  }
  last_flush_ns_ = now_ns();
  if (!sink_.append(chunk)) {
    lost_records_ += records;
    report_failure();
  }
}

void TraceStream::report_failure() noexcept {
  if (failed_) return;
  failed_ = true;
  notice("cannot write %s: %s; recording stopped, the program goes on", sink_.partial_path(), std::strerror(errno));
}

void TraceStream::end(std::string_view reason) noexcept {
  if (!is_wanted_) return;
  flush();
  if (!has_file()) return;
  const bool was_told = failed_;
  if (failed_) {
    // The file was cut back to its last whole chunk; a short chunk may fit where a long one did not.
    failed_ = false;
    add_loss("file-error", lost_records_);
    reason = "file-error";
  }
  if (over_limit_records_ != 0) {
    // The record of the window's end may have been lost with the rest: nothing is known from here on.
    add(format::Window{over_limit_since_ns_, 0, "max-size"});
    add_loss("max-size", over_limit_records_);
  }
  add(format::End{now_ns(), writer_.record_count(), reason});
  const std::span<const std::byte> chunk = writer_.finish();
  const bool complete = sink_.append(chunk);
  if (!complete && !was_told) report_failure();
  if (!sink_.close() && complete) notice("cannot rename %s: %s", sink_.partial_path(), std::strerror(errno));
}

}  // namespace synctrace::capture
