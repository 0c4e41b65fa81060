// SPDX-License-Identifier: Apache-2.0
#include "format/chunk_reader.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "format/byte_window.h"
#include "format/trace_writer.h"

namespace synctrace::format {
namespace {

constexpr std::uint32_t kMaxHeaderBytes = 4096;  // a later minor version may have extended the file header

// What is shorter than a header may be the begin of one.
bool may_be_a_trace(std::span<const std::byte> bytes) {
  const std::size_t count = std::min(bytes.size(), kFileMagic.size());
  return std::memcmp(bytes.data(), kFileMagic.data(), count) == 0;
}

template <class Header>
Header header_from(std::span<const std::byte> bytes) noexcept {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

bool is_chunk_header(const ChunkHeader& header, std::span<const std::byte> bytes) noexcept {
  return header.magic == kChunkMagic && header.stored_bytes <= kMaxChunkBytes && header.raw_bytes <= kMaxChunkBytes &&
         header.header_crc == crc32c(bytes.first(offsetof(ChunkHeader, header_crc)));
}

// Where in `bytes` the first possible chunk header begins, at or after `from`: its magic, or at the end the magic's
// first bytes.
std::size_t find_magic(std::span<const std::byte> bytes, std::size_t from) noexcept {
  constexpr auto kFirst = static_cast<int>(kChunkMagic & 0xffU);
  while (from < bytes.size()) {
    const void* found = std::memchr(bytes.data() + from, kFirst, bytes.size() - from);
    if (found == nullptr) return bytes.size();
    from = static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data());
    const std::size_t comparable = std::min(sizeof(kChunkMagic), bytes.size() - from);
    if (std::memcmp(bytes.data() + from, &kChunkMagic, comparable) == 0) return from;
    ++from;
  }
  return bytes.size();
}

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

}  // namespace

struct ChunkReader::State {
  explicit State(ByteWindow input) noexcept : window(std::move(input)) {}

  bool find_header(ChunkHeader& header);
  bool decode(const ChunkHeader& header, std::span<const std::byte> stored, Chunk& chunk);
  bool accept_sequence(std::uint64_t sequence) noexcept;
  void give_up(const ChunkHeader& header, std::size_t available) noexcept;
  void skip_damage(std::size_t count) noexcept;

  ByteWindow window;
  FileHeader header;
  Damage damage;
  std::size_t current_bytes = 0;  // size of the chunk that the caller looks at
  std::uint64_t next_sequence = 0;
  std::uint64_t stored_sum = 0;  // bytes of the chunks given so far, headers included
  std::uint64_t raw_sum = 0;
  std::uint64_t searched_until = 0;  // end of the last bad chunk whose inside is being searched
  std::vector<std::byte> decompressed;
  std::unique_ptr<ZSTD_DCtx, FreeContext> zstd;
};

void ChunkReader::State::skip_damage(std::size_t count) noexcept {
  damage.skipped_bytes += count;
  window.skip(count);
}

// Stops in front of the next valid chunk header; false at the end of the file.
bool ChunkReader::State::find_header(ChunkHeader& found) {
  constexpr std::size_t kSearchBytes = 64U << 10;
  while (true) {
    const auto head = window.peek(sizeof(ChunkHeader));
    if (head.size() < sizeof(ChunkHeader)) {
      damage.truncated |= window.read_failed() || (!head.empty() && find_magic(head, 0) < head.size());
      skip_damage(head.size());
      return false;
    }
    found = header_from<ChunkHeader>(head);
    if (is_chunk_header(found, head)) return true;
    skip_damage(find_magic(window.peek(kSearchBytes), 1));
  }
}

bool ChunkReader::State::decode(const ChunkHeader& found, std::span<const std::byte> stored, Chunk& chunk) {
  if (crc32c(stored) != found.payload_crc) return false;
  chunk = {found, stored, stored};
  if (found.codec == Codec::kRaw) return found.raw_bytes == found.stored_bytes;
  if (found.codec != Codec::kZstd ||
      !is_honest_size(stored_sum + sizeof(found) + found.stored_bytes, raw_sum + found.raw_bytes))
    return false;
  if (!zstd) zstd.reset(ZSTD_createDCtx());
  if (!zstd) throw std::bad_alloc();
  if (decompressed.size() < found.raw_bytes) decompressed.resize(found.raw_bytes);
  // One call into a buffer of the declared size: zstd allocates no window, whatever the frame asks for.
  const std::size_t size =
      ZSTD_decompressDCtx(zstd.get(), decompressed.data(), found.raw_bytes, stored.data(), stored.size());
  chunk.payload = std::span<const std::byte>(decompressed).first(found.raw_bytes);
  return ZSTD_isError(size) == 0 && size == found.raw_bytes;
}

// A number seen before means a copied or foreign chunk: its records would be counted twice.
bool ChunkReader::State::accept_sequence(std::uint64_t sequence) noexcept {
  if (sequence < next_sequence || sequence == std::numeric_limits<std::uint64_t>::max()) return false;
  damage.missing_chunks += sequence - next_sequence;
  next_sequence = sequence + 1;
  return true;
}

// Moves past a chunk whose payload is not usable. A write that was cut short leaves a header that claims intact chunks
// behind it as its payload, so the search goes on right behind the header. Bad chunks found by that search are skipped
// whole: otherwise a hostile file of nothing but headers would take quadratic time.
void ChunkReader::State::give_up(const ChunkHeader& bad, std::size_t available) noexcept {
  const bool nested = window.position() < searched_until;
  if (!nested) searched_until = window.position() + sizeof(bad) + bad.stored_bytes;
  if (available < bad.stored_bytes) {
    damage.truncated = true;
  } else {
    ++damage.bad_chunks;
  }
  skip_damage(sizeof(bad) + (nested ? available : 0));
}

Result<ChunkReader> ChunkReader::open(const std::string& path) {
  Result<ByteWindow> window = ByteWindow::open(path);
  if (!window) return window.error();
  return start(std::make_unique<State>(std::move(window).value()), path);
}

Result<ChunkReader> ChunkReader::from_bytes(std::vector<std::byte> bytes, const std::string& name) {
  return start(std::make_unique<State>(ByteWindow(std::move(bytes))), name);
}

Result<ChunkReader> ChunkReader::start(std::unique_ptr<State> state, const std::string& name) {
  const auto bytes = state->window.peek(sizeof(FileHeader));
  if (state->window.read_failed()) return Error{name + ": cannot be read"};
  if (bytes.empty()) return Error{name + ": is empty, so it is not a synctrace trace"};
  if (!may_be_a_trace(bytes)) return Error{name + ": is not a synctrace trace"};
  if (bytes.size() < sizeof(FileHeader)) return Error{name + ": is cut off before its first record"};
  const auto header = header_from<FileHeader>(bytes);
  const bool intact = header.crc == crc32c(bytes.first(offsetof(FileHeader, crc))) &&
                      header.header_bytes >= sizeof(FileHeader) && header.header_bytes <= kMaxHeaderBytes;
  if (!intact) {
    state->skip_damage(sizeof(FileHeader));
    return ChunkReader(std::move(state));
  }
  if (header.major != kFormatMajor) {
    return Error{name + ": was written in trace format " + std::to_string(header.major) +
                 "; this synctrace reads format " + std::to_string(kFormatMajor)};
  }
  state->header = header;
  state->window.skip(state->window.peek(header.header_bytes).size());
  return ChunkReader(std::move(state));
}

ChunkReader::ChunkReader(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
ChunkReader::ChunkReader(ChunkReader&&) noexcept = default;
ChunkReader& ChunkReader::operator=(ChunkReader&&) noexcept = default;
ChunkReader::~ChunkReader() = default;

const FileHeader& ChunkReader::header() const noexcept { return state_->header; }
Damage& ChunkReader::damage() noexcept { return state_->damage; }
const Damage& ChunkReader::damage() const noexcept { return state_->damage; }

std::uint64_t ChunkReader::file_bytes() const noexcept { return state_->window.size(); }

double ChunkReader::share_read() const noexcept {
  const std::uint64_t read = state_->window.position() + state_->current_bytes;
  return read >= state_->window.size()
             ? 1.0
             : static_cast<double>(std::max<std::uint64_t>(1, read)) / static_cast<double>(state_->window.size());
}

bool ChunkReader::next(Chunk& chunk) {
  State& state = *state_;
  state.window.skip(std::exchange(state.current_bytes, 0));
  ChunkHeader header;
  while (state.find_header(header)) {
    const auto bytes = state.window.peek(sizeof(header) + header.stored_bytes);
    const auto stored = bytes.subspan(sizeof(header));
    if (stored.size() == header.stored_bytes && state.decode(header, stored, chunk) &&
        state.accept_sequence(header.sequence)) {
      state.current_bytes = bytes.size();
      state.stored_sum += bytes.size();
      state.raw_sum += header.raw_bytes;
      return true;
    }
    state.give_up(header, stored.size());
  }
  return false;
}

}  // namespace synctrace::format
