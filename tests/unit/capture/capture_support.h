// SPDX-License-Identifier: Apache-2.0
// What the tests of the recorder share: what it says on stderr, a limit on file sizes, and a trace of its own in a
// temporary folder, read back with the offline half's reader.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capture/events/file_sink.h"
#include "capture/events/thread_buffer.h"
#include "capture/events/trace_stream.h"
#include "capture/stacks/stack_table.h"
#include "capture/unwind/module_map.h"
#include "capture/unwind/unwind_table.h"
#include "format/trace_reader.h"
#include "support/catch.h"
#include "support/temporary_folder.h"

namespace synctrace::testing {

// From here on this process takes stacks, as a recorded one does. Once in a process, whatever is asked for later.
inline void start_stacks(capture::StackKinds kinds) {
  static const bool once = [kinds] {
    capture::thread_buffers.set_end_hook(capture::release_thread_stacks);
    capture::thread_buffers.start(64U << 20);
    capture::enable_stacks(kinds);
    capture::build_missing_tables(capture::module_map);
    return true;
  }();
  static_cast<void>(once);
}

// While it lives, stderr goes into memory. One at a time; no check may fail meanwhile (the report would vanish with
// it).
class CapturedStderr {
 public:
  CapturedStderr() : memory_(memfd_create("stderr", MFD_CLOEXEC)), saved_(dup(STDERR_FILENO)) {
    dup2(memory_, STDERR_FILENO);
  }
  ~CapturedStderr() { stop(); }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  // All that was written; stderr is itself again.
  std::string stop() {
    if (saved_ < 0) return text_;
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    saved_ = -1;
    text_.resize(static_cast<std::size_t>(lseek(memory_, 0, SEEK_END)));
    const ssize_t bytes = pread(memory_, text_.data(), text_.size(), 0);
    text_.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    close(memory_);
    return text_;
  }

 private:
  int memory_;
  int saved_;
  std::string text_;
};

// While it lives, no file of this process grows beyond `bytes`: a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{bytes, old_limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int);
};

inline format::OutputName output_name(const std::string& path) {
  format::OutputName name{};
  REQUIRE(path.size() < sizeof(name.path));
  std::memcpy(name.path, path.c_str(), path.size() + 1);
  name.length = path.size();
  return name;
}

// A trace under way in a folder of its own. Never moves: the stream refers to the sink.
struct OpenTrace {
  TemporaryFolder folder;
  capture::FileThread files;  // not started: the file is open in the test's own table
  capture::FileSink sink{files};
  std::unique_ptr<capture::TraceStream> stream;  // a quarter MiB

  OpenTrace() {
    REQUIRE(sink.open(output_name(folder.path("x.synctrace")), 1, false));
    stream = std::make_unique<capture::TraceStream>(sink);
    stream->begin(1);
  }
  OpenTrace(const OpenTrace&) = delete;
  OpenTrace& operator=(const OpenTrace&) = delete;

  std::string path() const { return folder.path("x.synctrace"); }
};

// Calls visitor(record) for each record of the file and returns the damage.
template <class Visitor>
format::Damage read_trace(const std::string& path, Visitor&& visitor) {
  auto reader = format::TraceReader::open(path);
  REQUIRE(static_cast<bool>(reader));
  format::RecordView record;
  while (reader.value().next(record)) format::visit(record, visitor);
  return reader.value().damage();
}

// The Loss and End records of a trace, and how many others there are.
struct Ending {
  std::map<std::string, std::uint64_t> losses;
  std::uint64_t records = 0;  // before End
  std::uint64_t promised_records = 0;
  std::string reason;  // empty without End
};

inline Ending read_ending(const std::string& path) {
  Ending ending;
  read_trace(path, [&](const auto& record) {
    using Record = std::remove_cvref_t<decltype(record)>;
    if constexpr (std::is_same_v<Record, format::Loss>) ending.losses[std::string(record.name)] += record.count;
    if constexpr (std::is_same_v<Record, format::End>) {
      ending.promised_records = record.record_count;
      ending.reason = record.reason;
    } else {
      ++ending.records;
    }
  });
  return ending;
}

}  // namespace synctrace::testing
