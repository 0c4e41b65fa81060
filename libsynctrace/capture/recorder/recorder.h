// SPDX-License-Identifier: Apache-2.0
// The recorder of this process: one object that owns all the parts, and their life. Never started, recording, ended: it
// starts at the first CUDA call; it ends at exit(), or at once when it cannot record. A dormant one records nothing
// until it is asked, then as often as it is asked (live_windows.h). A forked child is silent from its
// first instruction. Nothing of it is ever destroyed: callbacks and NVTX calls may come until the process is gone.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "capture/cupti/call_stacks.h"
#include "capture/cupti/cupti_api.h"
#include "capture/cupti/cupti_switch.h"
#include "capture/cupti/gpu_events.h"
#include "capture/cupti/memory_ranges.h"
#include "capture/cupti/window.h"
#include "capture/events/file_sink.h"
#include "capture/events/thread_buffer.h"
#include "capture/events/trace_stream.h"
#include "capture/nvtx/nccl_counters.h"
#include "capture/nvtx/nvtx_names.h"
#include "capture/nvtx/test_control.h"
#include "capture/process/file_thread.h"
#include "capture/process/helper_thread.h"
#include "capture/process/settings.h"
#include "capture/python/python_frames.h"
#include "capture/recorder/drain_thread.h"
#include "capture/recorder/live_windows.h"
#include "capture/recorder/process_facts.h"
#include "capture/samples/sample_queue.h"
#include "capture/samples/sampler.h"
#include "capture/stacks/module_watch.h"
#include "capture/stacks/stack_table.h"
#include "capture/unwind/module_map.h"
#include "capture/waits/host_waits.h"

namespace synctrace::capture {

// One trace: the file and the threads, in the order in which they start.
struct Session {
  Session(const Settings& from_environment, TraceStream::Opener opener) noexcept
      : settings(from_environment), stream(sink, opener) {}

  Settings settings;
  ProcessIdentity identity;
  format::OutputName name{};
  FileThread files;
  FileSink sink{files};
  TraceStream stream;
  ModuleWatch watch;
  DrainThread drain{stream, files, watch, settings};
  Sampler sampler;
  bool draining = false;
};

class Recorder {
 public:
  // From the library's constructor, in every process that loads us: points CUDA and NVTX at this library and returns.
  // Nothing else happens until the process uses CUDA.
  void prepare_process() noexcept;

  // From the library's destructor: one line when the program used CUDA and we never heard of it, since the environment
  // had lost the variable that names us.
  void say_if_missed() const noexcept;

  // From InitializeInjection, on the thread of the first CUDA call, inside cuInit: no CUDA call is allowed here.
  void start() noexcept;

  // The life of a trace, in this order; the first on any thread. The others on a thread that may call CUPTI: begins to
  // record, false when that cannot be and was said; records on this thread until stop_session() or the end of a live
  // window; closes the trace, and where the `program_goes_on` asks CUPTI for as little as can be.
  void make_session(const Settings& settings) noexcept;
  bool begin_session() noexcept;
  void record_session() noexcept;
  void end_session(bool program_goes_on) noexcept;

  // Any other thread, while it is recorded: its trace is closed when this returns true. False after two seconds without
  // progress.
  bool stop_session(const char* reason) noexcept;

  // The trace's final name, once it is recorded.
  const char* session_path() const noexcept { return session_->sink.final_path(); }

  // What callbacks reach without an argument, each by a reference of its room (parts.cpp). All are there from the first
  // instruction on: without a constructor at run time, and their first state is nothing but zero bytes, which take no
  // room in the file. Lines of their own, because different threads write them.
  static constexpr std::size_t kLine = 64;
  alignas(kLine) HelperThreads helpers;
  alignas(kLine) NvtxNames names;
  alignas(kLine) NcclCounters nccl;
  alignas(kLine) TestControl control;
  alignas(kLine) CuptiApi api;
  alignas(kLine) ThreadBuffers rings;
  alignas(kLine) GpuEvents gpu;
  alignas(kLine) CuptiSwitch sources;
  alignas(kLine) MemoryRanges ranges;
  alignas(kLine) ModuleMap modules;
  alignas(kLine) PythonReader python;
  alignas(kLine) SharedStacks stacks;
  alignas(kLine) CallStackCounts stack_counts;
  alignas(kLine) HostWaits waits;
  alignas(kLine) WindowControl windows;
  alignas(kLine) SampleQueue samples;
  alignas(kLine) LiveWindows live;

 private:
  void note_main_thread() noexcept;
  void go_dormant(const Settings& settings, bool is_awaited) noexcept;
  void start_attached() noexcept;
  void prepare_once(const Settings& settings) noexcept;
  void forget_last_trace() noexcept;
  bool begin_trace(Session& session) noexcept;
  bool open_file(Session& session) noexcept;
  bool is_in_manifest(const Session& session, const char* path) noexcept;
  bool ask_cupti(Session& session) noexcept;
  void start_recording(Session& session) noexcept;
  void start_helpers(Session& session) noexcept;
  void stop_at_exit() noexcept;
  void go_silent_in_child() noexcept;

  std::atomic<bool> started_{false};
  bool is_dormant_ = false;
  std::atomic<pid_t> owner_{0};  // the process that records; a forked child is another
  // The program's first thread, if it loaded the library or made the first CUDA call: its handle is found nowhere else.
  pthread_t main_thread_{};
  Session* session_ = nullptr;  // set by the starting thread; of a dormant recorder by the one that listens
  alignas(Session) std::array<std::byte, sizeof(Session)> session_room_{};
  // What would not fit on a stack of unknown size: at the start the head of the manifest, at the end an environment.
  alignas(kLine) std::array<char, 64 << 10> scratch_{};
};

[[gnu::visibility("hidden")]] extern Recorder recorder;

}  // namespace synctrace::capture
