// SPDX-License-Identifier: Apache-2.0
// The traces of one run: the manifest that the recorded processes write to (contract/launch_contract.h), and what is to
// be done with each trace once the program has ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace synctrace::cli {

// A temporary file, removed with the object. Where none could be made, path() is empty: recording works all the same,
// only `run` will not know the names of the traces.
class TraceManifest {
 public:
  TraceManifest();
  ~TraceManifest();
  TraceManifest(const TraceManifest&) = delete;
  TraceManifest& operator=(const TraceManifest&) = delete;

  const std::string& path() const noexcept { return path_; }

  // The traces announced so far, each once, in order. A line that is being written counts from its end on.
  std::vector<std::string> traces() const;

 private:
  std::string path_;
};

enum class TraceState : std::uint8_t {
  kClosed,    // by the recorder, in order
  kCutShort,  // its process died; renamed to its final name
  kGrowing,   // its process is still there and keeps the partial name
  kMissing,   // neither name exists (the program removed it, or it never held anything)
};

// Brings one announced trace to its final name when its process is gone. Waits until `deadline_ns` (CLOCK_MONOTONIC)
// for one that is just ending.
TraceState settle_trace(const std::string& path, std::int64_t deadline_ns);

std::int64_t monotonic_ns();

}  // namespace synctrace::cli
