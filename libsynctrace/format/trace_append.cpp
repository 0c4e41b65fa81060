// SPDX-License-Identifier: Apache-2.0
#include "format/trace_append.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "contract/launch_contract.h"
#include "format/schema_table.h"
#include "format/trace_reader.h"

namespace synctrace::format {
namespace {

// What a trace says of itself that whoever adds to it must know.
struct Ending {
  std::uint64_t next_sequence = 0;
  bool intact = false;
  bool has_our_layouts = true;
};

Result<Ending> read_ending(const std::string& path) {
  Result<TraceReader> opened = TraceReader::open(path);
  if (!opened) return opened.error();
  TraceReader& reader = opened.value();
  Ending ending;
  const SchemaTable ours;
  RecordView record;
  while (reader.next(record)) {
    ending.next_sequence = reader.chunk_sequence() + 1;
    visit(record, [&](const Schema& schema) {
      const SchemaTable::Entry* known = ours.find(schema.kind);
      if (known == nullptr) return;
      std::string fields;
      for (std::size_t i = 0; i < known->layout.fields.size(); ++i) {
        fields +=
            (fields.empty() ? "" : " ") + known->layout.fields[i].name + ':' + static_cast<char>(known->encodings[i]);
      }
      ending.has_our_layouts = ending.has_our_layouts && fields == schema.field_list;
    });
  }
  ending.intact = reader.damage().none();
  return ending;
}

// The file open for writing at its end. Goes back to its old length unless all was written.
class Tail {
 public:
  explicit Tail(const std::string& path) : descriptor_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {
    struct stat status {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) error_ = errno;
    old_size_ = status.st_size;
  }
  Tail(const Tail&) = delete;
  Tail& operator=(const Tail&) = delete;
  ~Tail() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void write(std::span<const std::byte> bytes) noexcept {
    while (error_ == 0 && !bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        error_ = errno;
        [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, old_size_);
        return;
      }
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  int error() const noexcept { return error_; }

 private:
  int descriptor_;
  int error_ = 0;  // the first errno
  off_t old_size_ = 0;
};

}  // namespace

std::optional<Error> append_records(const std::string& path, const std::function<void(RecordBuffer&)>& fill) {
  const auto refuse = [&](const std::string& why) { return Error{path + ": nothing can be added: " + why}; };
  if (path.ends_with(kPartialSuffix)) return refuse("its process has not closed it");
  const Result<Ending> ending = read_ending(path);
  if (!ending) return ending.error();
  if (!ending.value().intact) return refuse("the trace is damaged");
  if (!ending.value().has_our_layouts) return refuse("it was recorded by another version of synctrace");
  RecordBuffer buffer(ending.value().next_sequence);
  fill(buffer);
  const std::vector<std::byte> chunks = buffer.take();
  if (chunks.empty()) return std::nullopt;
  Tail tail(path);
  tail.write(chunks);
  if (tail.error() != 0) return refuse(std::strerror(tail.error()));
  return std::nullopt;
}

}  // namespace synctrace::format
