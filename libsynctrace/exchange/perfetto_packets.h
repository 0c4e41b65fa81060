// SPDX-License-Identifier: Apache-2.0
// Perfetto's packets: tracks, slices on them, and names that are written once. The fields are those of its public
// trace.proto; the test's minimal copy of it (tests/golden/export/perfetto.proto) says which.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exchange/exporter.h"
#include "exchange/proto_message.h"
#include "model/frames.h"

namespace synctrace::perfetto {

// One sequence of packets: what it has named before, it names no more.
class Packets {
 public:
  explicit Packets(TextSink sink) : sink_(std::move(sink)) {}
  ~Packets() = default;
  Packets(const Packets&) = delete;
  Packets& operator=(const Packets&) = delete;

  std::uint64_t new_track() noexcept { return ++tracks_; }
  void process_track(std::uint64_t track, std::int64_t pid, std::string_view name,
                     const std::vector<std::string>& labels);
  void thread_track(std::uint64_t track, std::int64_t pid, std::int64_t tid, std::string_view name,
                    std::uint64_t parent);
  void plain_track(std::uint64_t track, std::string_view name, std::uint64_t parent, std::int32_t rank);

  // Ids of texts and stacks, for events.
  std::uint64_t name(std::string_view text) { return intern(kNames, text); }
  std::uint64_t category(std::string_view text) { return intern(kCategories, text); }
  std::uint64_t key(std::string_view text) { return intern(kKeys, text); }
  std::uint64_t value(std::string_view text) { return intern(kValues, text); }
  std::uint64_t stack(const std::vector<ResolvedFrame>& frames);  // innermost first; a new one each time

  void begin(std::uint64_t track, Nanoseconds t, ProtoMessage event);
  void end(std::uint64_t track, Nanoseconds t);
  void instant(std::uint64_t track, Nanoseconds t, std::uint64_t name);
  void flush();

 private:
  enum Table : std::uint8_t { kNames, kCategories, kKeys, kValues, kFunctions, kPaths };
  static constexpr std::size_t kTables = kPaths + 1;

  std::uint64_t intern(Table table, std::string_view text);
  void track_event(Nanoseconds t, std::uint64_t track, std::uint64_t type, ProtoMessage event);
  void write(ProtoMessage& packet);

  TextSink sink_;
  std::string block_;
  bool begun_ = false;
  std::uint64_t tracks_ = 0;
  ProtoMessage interned_;  // not written yet
  std::unordered_map<std::string, std::uint64_t> tables_[kTables];
  std::map<std::pair<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t>, std::uint64_t> frames_;
  std::uint64_t stacks_ = 0;
};

// The args of an event.
class Event {
 public:
  Event(Packets& packets, std::string_view category, std::uint64_t name) : packets_(packets) {
    message.number(3, packets.category(category));
    message.number(10, name);
  }
  void arg(std::string_view key, std::uint64_t value) { annotate(key, 3, value); }
  void flag(std::string_view key) { annotate(key, 2, 1); }
  void arg(std::string_view key, std::string_view value) { annotate(key, 17, packets_.value(value)); }
  void stack(std::uint64_t stack) { message.number(56, stack); }
  void starts_flow(std::uint64_t flow) { message.fixed64(47, flow); }
  void ends_flow(std::uint64_t flow) { message.fixed64(48, flow); }

  ProtoMessage message;

 private:
  void annotate(std::string_view key, std::uint32_t field, std::uint64_t value) {
    ProtoMessage annotation;
    annotation.number(1, packets_.key(key));
    annotation.number(field, value);
    message.message(4, annotation);
  }
  Packets& packets_;
};

}  // namespace synctrace::perfetto
