// SPDX-License-Identifier: Apache-2.0
// The trace file: what is in it, byte by byte and record by record. This header is the contract between the recorder
// (capture/) and everything offline; docs/trace-format.md is the same contract for people, with hex dumps.
//
//   file   = FileHeader chunk*
//   chunk  = ChunkHeader payload            a payload decodes without any other chunk
//   payload = record*
//   record = kind:varint length:varint body[length]
//   body   = field*                          in the order of the kind's schema
//
// A field is an unsigned LEB128 varint ('u'), a zigzag varint ('s'), a zigzag varint of the difference to the same
// field of the previous record of that kind in the chunk ('d'), or a length and bytes ('t'). The schemas of all kinds
// are themselves records of the first chunk, so a reader of any version can name, skip and print every record. A field
// may be added at the end of a kind; a kind number or a field is never reused with another meaning.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace synctrace::format {

static_assert(std::endian::native == std::endian::little, "the file is little-endian; a big-endian port must swap");

inline constexpr std::array<char, 8> kFileMagic = {'S', 'Y', 'N', 'C', 'T', 'R', 'C', '\n'};
inline constexpr std::uint16_t kFormatMajor = 1;  // another number: not readable by this code
inline constexpr std::uint16_t kFormatMinor = 2;  // a higher number: readable, may hold kinds and fields unknown here

// All checksums are CRC-32C (Castagnoli) with initial value and final xor 0xffffffff.
struct FileHeader {
  std::array<char, 8> magic = kFileMagic;
  std::uint16_t major = kFormatMajor;
  std::uint16_t minor = kFormatMinor;
  std::uint32_t header_bytes = 32;  // where the first chunk begins
  std::uint64_t start_realtime_ns = 0;
  std::uint32_t process_id = 0;
  std::uint32_t crc = 0;  // covers the 28 bytes before it
};
static_assert(sizeof(FileHeader) == 32);

inline constexpr std::uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK" on disk: what a reader looks for after damage

enum class Codec : std::uint16_t { kRaw = 0, kZstd = 1 };

struct ChunkHeader {
  std::uint32_t magic = kChunkMagic;
  std::uint32_t stored_bytes = 0;  // payload bytes that follow
  std::uint32_t raw_bytes = 0;     // payload bytes after decoding; equals stored_bytes for Codec::kRaw
  Codec codec = Codec::kRaw;
  std::uint16_t reserved = 0;
  std::uint64_t sequence = 0;     // 0, 1, 2...; a hole is a lost chunk
  std::uint32_t payload_crc = 0;  // covers the stored payload
  std::uint32_t header_crc = 0;   // covers the 28 bytes before it
};
static_assert(sizeof(ChunkHeader) == 32);

// Bounds that every reader enforces before it allocates or loops.
inline constexpr std::uint32_t kMaxChunkBytes = 4U << 20;  // raw payload of one chunk
// Raw bytes of all chunks together: at most this and kMaxSpread times their size in the file.
inline constexpr std::uint64_t kMostFreeBytes = 16U << 20;
inline constexpr std::uint64_t kMaxSpread = 32;
inline constexpr std::uint32_t kMaxRecordBytes = 64U << 10;  // one record, so also one text
inline constexpr std::uint32_t kMaxTextBytes = 16U << 10;    // longer texts are cut by the writer
inline constexpr std::uint32_t kMaxFields = 24;              // fields of one kind
inline constexpr std::uint32_t kMaxKinds = 64;               // kind numbers are below this
inline constexpr std::uint32_t kMaxVarintBytes = 10;

// Whether chunks of so many bytes in the file, headers included, may hold so many of records: compressed ones can hold
// a thousand times as many, and reading a file should cost what its size lets one expect. A writer leaves a chunk raw
// that would break this rule, which no recording comes near to.
constexpr bool is_honest_size(std::uint64_t stored_bytes, std::uint64_t raw_bytes) noexcept {
  return raw_bytes <= kMostFreeBytes + kMaxSpread * stored_bytes;
}

enum class RecordKind : std::uint8_t {
  kSchema = 1,
  kFact = 2,
  kClock = 3,
  kString = 4,
  kApiName = 5,
  kThread = 6,
  kDevice = 7,
  kContext = 8,
  kStream = 9,
  kLaunchShape = 10,
  kStack = 11,
  kCode = 12,
  kModule = 13,
  kSymbol = 14,
  kSourceLine = 15,
  kCall = 20,
  kLaunch = 21,
  kPoll = 22,
  kKernel = 23,
  kCopy = 24,
  kMemset = 25,
  kGraph = 26,
  kOverhead = 27,
  kNvtxDomain = 28,
  kNvtxPush = 29,
  kNvtxPop = 30,
  kNvtxStart = 31,
  kNvtxEnd = 32,
  kNvtxMark = 33,
  kResource = 34,
  kWindow = 35,
  kLoss = 36,
  kEnd = 37,
  kHostWait = 38,
  kSample = 39,
  kChildLook = 40,
  kCommunicator = 41,
  kCollective = 42,
  kCollectiveLaunch = 43,
  kGpuUse = 44,
};

enum class Encoding : char { kUnsigned = 'u', kSigned = 's', kDelta = 'd', kText = 't' };

template <class Record, class Value>
struct Field {
  std::string_view name;
  Encoding encoding;
  Value Record::*member;
};
template <class Record, class Value>
Field(const char*, Encoding, Value Record::*) -> Field<Record, Value>;

}  // namespace synctrace::format
