// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <array>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "base/shown_text.h"
#include "exchange/proto_message.h"
#include "exchange/stack_formats.h"

namespace synctrace {
namespace {

// Packs what it is given, piece by piece.
class Gzip {
 public:
  explicit Gzip(const TextSink& sink) : sink_(sink) {
    constexpr int kWithHeader = 16 + MAX_WBITS;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWithHeader, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void write(std::string_view bytes, int flush = Z_NO_FLUSH) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(room_.data());
      stream_.avail_out = static_cast<uInt>(room_.size());
      deflate(&stream_, flush);
      sink_({room_.data(), room_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }
  void finish() { write({}, Z_FINISH); }

 private:
  const TextSink& sink_;
  z_stream stream_{};
  std::array<char, 16 << 10> room_{};
};

// Fields of Profile.
constexpr std::uint32_t kSampleType = 1;
constexpr std::uint32_t kSample = 2;
constexpr std::uint32_t kLocation = 4;
constexpr std::uint32_t kFunction = 5;
constexpr std::uint32_t kString = 6;
constexpr std::uint32_t kDefaultType = 14;

class PprofWriter {
 public:
  explicit PprofWriter(const TextSink& sink) : gzip_(sink) {
    string("");  // number 0 is the empty text
    for (const MeasureName& measure : kMeasureNames) {
      ProtoMessage type;
      type.number(1, string(measure.name));
      type.number(2, string(measure.unit));
      write(kSampleType, type);
    }
    ProtoMessage first;
    first.number(kDefaultType, string(kMeasureNames[0].name));
    gzip_.write(first.bytes());
  }

  void add(const StackProfile& profile) {
    const std::uint64_t first = locations_ + 1;
    for (const ProfileFrame& frame : profile.frames()) location(frame);
    ProtoMessage label;
    label.number(1, string("process"));
    label.number(2, string(profile.name()));
    for (const WeightedStack& stack : profile.stacks()) {
      ProtoMessage sample;
      for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) sample.number(1, first + *frame);
      for (const std::int64_t weight : stack.weights) sample.number(2, static_cast<std::uint64_t>(weight));
      sample.message(3, label);
      write(kSample, sample);
    }
  }
  void finish() { gzip_.finish(); }

 private:
  void write(std::uint32_t field, const ProtoMessage& message) {
    ProtoMessage framed;
    framed.message(field, message);
    gzip_.write(framed.bytes());
  }

  // Texts are numbered in the order in which they are written.
  std::uint64_t string(std::string_view text) {
    const auto [entry, is_new] = strings_.try_emplace(std::string(text), strings_.size());
    if (is_new) {
      ProtoMessage defined;
      defined.text(kString, valid_utf8(text));
      gzip_.write(defined.bytes());
    }
    return entry->second;
  }

  void location(const ProfileFrame& frame) {
    const std::uint64_t id = ++locations_;
    ProtoMessage function;
    function.number(1, id);
    function.number(2, string(frame.function));
    function.number(3, string(frame.function));
    if (!frame.file.empty()) function.number(4, string(frame.file));
    write(kFunction, function);
    ProtoMessage line;
    line.number(1, id);
    if (frame.line != 0) line.number(2, frame.line);
    ProtoMessage place;
    place.number(1, id);
    place.message(4, line);
    write(kLocation, place);
  }

  Gzip gzip_;
  std::unordered_map<std::string, std::uint64_t> strings_;
  std::uint64_t locations_ = 0;
};

}  // namespace

void write_pprof(std::span<const StackProfile> profiles, const TextSink& sink) {
  PprofWriter writer(sink);
  for (const StackProfile& profile : profiles) writer.add(profile);
  writer.finish();
}

}  // namespace synctrace
