// SPDX-License-Identifier: Apache-2.0
#include "format/trace_compress.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "format/chunk_reader.h"
#include "format/trace_writer.h"

namespace synctrace::format {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
};

// A new file beside the trace, with the trace's permissions; removed again unless it took the trace's place.
class Replacement {
 public:
  explicit Replacement(const std::string& target) : target_(target), path_(target + ".XXXXXX") {
    struct stat status {};
    descriptor_ = ::mkostemp(path_.data(), O_CLOEXEC);
    if (descriptor_ < 0) {
      error_ = errno;
      return;
    }
    if (::stat(target.c_str(), &status) != 0 || ::fchmod(descriptor_, status.st_mode & 0777U) != 0) error_ = errno;
    // Root's compression leaves a user's trace the user's; for others there is nothing to change.
    [[maybe_unused]] const int denied = ::fchown(descriptor_, status.st_uid, status.st_gid);
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    if (!committed_) ::unlink(path_.c_str());
  }

  void write(std::span<const std::byte> bytes) noexcept {
    while (ok() && !bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        error_ = errno;
        return;
      }
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void commit() noexcept {
    committed_ = ok() && ::fdatasync(descriptor_) == 0 && ::rename(path_.c_str(), target_.c_str()) == 0;
    if (ok() && !committed_) error_ = errno;
  }

  bool ok() const noexcept { return error_ == 0; }
  std::string why() const { return std::strerror(error_); }

 private:
  std::string target_;
  std::string path_;
  int descriptor_ = -1;
  int error_ = 0;  // the first errno
  bool committed_ = false;
};

class ChunkCompressor {
 public:
  explicit ChunkCompressor(int level) : context_(ZSTD_createCCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 0);  // the chunk has its own
  }

  // The compressed payload, valid until the next call; empty when it would not be smaller.
  std::span<const std::byte> compress(std::span<const std::byte> payload) {
    buffer_.resize(ZSTD_compressBound(payload.size()));
    const std::size_t size =
        ZSTD_compress2(context_.get(), buffer_.data(), buffer_.size(), payload.data(), payload.size());
    if (ZSTD_isError(size) != 0 || size >= payload.size()) return {};
    return std::span<const std::byte>(buffer_).first(size);
  }

 private:
  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::vector<std::byte> buffer_;
};

template <class Header>
std::span<const std::byte> bytes_of(const Header& header) noexcept {
  return std::as_bytes(std::span(&header, 1));
}

}  // namespace

Result<Compression> compress_trace(const std::string& path, int level) {
  Result<ChunkReader> opened = ChunkReader::open(path);
  if (!opened) return opened.error();
  ChunkReader& reader = opened.value();
  const auto refuse = [&](const std::string& why) { return Error{path + ": not compressed: " + why}; };
  if (reader.header().header_bytes != sizeof(FileHeader)) return refuse("its header is a later version's");

  // A symbolic link stays one: what it points to is replaced.
  std::error_code problem;
  const std::string target = std::filesystem::canonical(path, problem).string();
  if (problem) return refuse(problem.message());
  Replacement replacement(target);
  replacement.write(bytes_of(reader.header()));
  Compression result{sizeof(FileHeader), sizeof(FileHeader), 0};
  ChunkCompressor compressor(level);
  std::uint64_t stored_sum = 0;
  std::uint64_t raw_sum = 0;
  Chunk chunk;
  while (replacement.ok() && reader.next(chunk)) {
    const bool raw = chunk.header.codec == Codec::kRaw;
    auto smaller = raw ? compressor.compress(chunk.payload) : std::span<const std::byte>();
    raw_sum += chunk.payload.size();
    if (!is_honest_size(stored_sum + sizeof(ChunkHeader) + smaller.size(), raw_sum)) smaller = {};
    const auto stored = smaller.empty() ? chunk.stored : smaller;
    const Codec codec = smaller.empty() ? chunk.header.codec : Codec::kZstd;
    replacement.write(bytes_of(make_chunk_header(stored, chunk.header.raw_bytes, codec, chunk.header.sequence)));
    replacement.write(stored);
    stored_sum += sizeof(ChunkHeader) + stored.size();
    result.bytes_before += sizeof(ChunkHeader) + chunk.stored.size();
    result.bytes_after += sizeof(ChunkHeader) + stored.size();
    result.compressed_chunks += smaller.empty() ? 0 : 1;
  }
  if (replacement.ok() && !reader.damage().none()) return refuse("the trace is damaged");
  if (replacement.ok() && result.compressed_chunks == 0) return result;
  replacement.commit();
  if (!replacement.ok()) return refuse(replacement.why());
  return result;
}

}  // namespace synctrace::format
