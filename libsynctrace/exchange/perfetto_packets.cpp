// SPDX-License-Identifier: Apache-2.0
#include "exchange/perfetto_packets.h"
#include "base/shown_text.h"

#include <algorithm>
#include <array>

namespace synctrace::perfetto {
namespace {

constexpr std::size_t kBlockBytes = 64 << 10;

// Fields of TracePacket.
constexpr std::uint32_t kTimestamp = 8;
constexpr std::uint32_t kSequence = 10;
constexpr std::uint32_t kTrackEvent = 11;
constexpr std::uint32_t kInterned = 12;
constexpr std::uint32_t kSequenceFlags = 13;
constexpr std::uint32_t kTrackDescriptor = 60;

// Types of TrackEvent.
constexpr std::uint64_t kSliceBegin = 1;
constexpr std::uint64_t kSliceEnd = 2;
constexpr std::uint64_t kInstant = 3;

ProtoMessage descriptor(std::uint64_t track, std::string_view name, std::uint64_t parent) {
  ProtoMessage result;
  result.number(1, track);
  if (parent != 0) result.number(5, parent);
  if (!name.empty()) result.text(2, valid_utf8(name));
  return result;
}

ProtoMessage packet_of(const ProtoMessage& track) {
  ProtoMessage packet;
  packet.message(kTrackDescriptor, track);
  return packet;
}

}  // namespace

void Packets::write(ProtoMessage& packet) {
  constexpr std::uint64_t kStateCleared = 1;
  constexpr std::uint64_t kNeedsState = 2;
  packet.number(kSequence, 1);
  packet.number(kSequenceFlags, begun_ ? kNeedsState : kStateCleared);
  begun_ = true;
  if (!interned_.empty()) packet.message(kInterned, interned_);
  interned_.clear();
  ProtoMessage framed;
  framed.message(1, packet);
  block_ += framed.bytes();
  if (block_.size() >= kBlockBytes) flush();
}

void Packets::flush() {
  if (!block_.empty()) sink_(block_);
  block_.clear();
}

std::uint64_t Packets::intern(Table table, std::string_view text) {
  // Fields of InternedData.
  constexpr std::array<std::uint32_t, kTables> kFields = {2, 1, 3, 29, 5, 18};
  const auto [entry, is_new] = tables_[table].try_emplace(std::string(text), tables_[table].size() + 1);
  if (is_new) {
    ProtoMessage defined;
    defined.number(1, entry->second);
    defined.text(2, valid_utf8(text));
    interned_.message(kFields[table], defined);
  }
  return entry->second;
}

std::uint64_t Packets::stack(const std::vector<ResolvedFrame>& frames) {
  ProtoMessage stack;
  stack.number(1, ++stacks_);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const std::uint64_t function = intern(kFunctions, frame->kind == FrameKind::kMissing ? ".." : frame->function);
    const std::uint64_t path = frame->file.empty() ? 0 : intern(kPaths, frame->file);
    const auto [entry, is_new] = frames_.try_emplace({{function, path}, frame->line}, frames_.size() + 1);
    if (is_new) {
      ProtoMessage defined;
      defined.number(1, entry->second);
      defined.number(2, function);
      if (path != 0) defined.number(5, path);
      if (frame->line != 0) defined.number(6, frame->line);
      interned_.message(6, defined);
    }
    stack.number(2, entry->second);
  }
  interned_.message(7, stack);
  return stacks_;
}

void Packets::process_track(std::uint64_t track, std::int64_t pid, std::string_view name,
                            const std::vector<std::string>& labels) {
  ProtoMessage process;
  process.number(1, static_cast<std::uint64_t>(pid));
  process.text(6, valid_utf8(name));
  for (const std::string& label : labels) process.text(8, valid_utf8(label));
  ProtoMessage result = descriptor(track, "", 0);
  result.message(3, process);
  ProtoMessage packet = packet_of(result);
  write(packet);
}

void Packets::thread_track(std::uint64_t track, std::int64_t pid, std::int64_t tid, std::string_view name,
                           std::uint64_t parent) {
  ProtoMessage thread;
  thread.number(1, static_cast<std::uint64_t>(pid));
  thread.number(2, static_cast<std::uint64_t>(tid));
  if (!name.empty()) thread.text(5, valid_utf8(name));
  ProtoMessage result = descriptor(track, "", parent);
  result.message(4, thread);
  ProtoMessage packet = packet_of(result);
  write(packet);
}

void Packets::plain_track(std::uint64_t track, std::string_view name, std::uint64_t parent, std::int32_t rank) {
  ProtoMessage result = descriptor(track, name, parent);
  constexpr std::uint64_t kExplicitOrder = 3;
  result.number(11, kExplicitOrder);
  if (rank > 0) result.number(12, static_cast<std::uint64_t>(rank));
  ProtoMessage packet = packet_of(result);
  write(packet);
}

void Packets::track_event(Nanoseconds t, std::uint64_t track, std::uint64_t type, ProtoMessage event) {
  event.number(9, type);
  event.number(11, track);
  ProtoMessage packet;
  packet.number(kTimestamp, static_cast<std::uint64_t>(std::max<Nanoseconds>(0, t)));
  packet.message(kTrackEvent, event);
  write(packet);
}

void Packets::begin(std::uint64_t track, Nanoseconds t, ProtoMessage event) {
  track_event(t, track, kSliceBegin, std::move(event));
}

void Packets::end(std::uint64_t track, Nanoseconds t) { track_event(t, track, kSliceEnd, {}); }

void Packets::instant(std::uint64_t track, Nanoseconds t, std::uint64_t name) {
  ProtoMessage event;
  event.number(10, name);
  track_event(t, track, kInstant, std::move(event));
}

}  // namespace synctrace::perfetto
