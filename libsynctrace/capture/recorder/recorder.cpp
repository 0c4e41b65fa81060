// SPDX-License-Identifier: Apache-2.0
#include "capture/recorder/recorder.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "capture/cupti/api_events.h"
#include "capture/process/clocks.h"
#include "capture/process/file_size_limit.h"
#include "capture/process/notice.h"
#include "capture/process/plain_syscalls.h"
#include "capture/process/recorder_state.h"
#include "capture/process/reentry_guard.h"
#include "capture/recorder/report_at_exit.h"
#include "contract/launch_contract.h"
#include "contract/live_messages.h"

namespace synctrace::capture {
namespace {

void decide_on_plain_syscalls(const Settings& settings) noexcept {
  if (!settings.plain_syscalls && !has_filter_of_its_own()) return;
  only_plain_syscalls.store(true, std::memory_order_relaxed);
  if (settings.plain_syscalls) return;
  remark("the program has a seccomp filter; what it might forbid is left out (man synctrace-run, --plain-syscalls)");
}

// Tells `run` where the trace will be.
void append_to_manifest(const Session& s) noexcept {
  if (*s.settings.manifest == '\0') return;
  const int descriptor = open(s.settings.manifest, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return;
  char line[4200];
  const int length = std::snprintf(line, sizeof(line), "%s\n", s.sink.final_path());
  // One write, so that lines of several processes do not mix. If it fails, `run` only knows less.
  const off_t end = lseek(descriptor, 0, SEEK_END);
  if (length > 0 && is_within_size_limit(static_cast<std::uint64_t>(end + length))) [[maybe_unused]]
    const ssize_t written = write(descriptor, line, static_cast<std::size_t>(length));
  close(descriptor);
}

// Closes a trace that will hold nothing but why. Whoever asked for a live window is told, and needs no file.
void give_up(Session& s, const char* reason) noexcept {
  if (s.settings.is_live) return;
  write_cupti_facts(s.stream);
  s.stream.add(format::Fact{"disabled_reason", reason});
  s.stream.want_file();
  s.stream.end("disabled");
}

bool load_cupti(Session& s) noexcept {
  if (cupti->GetVersion != nullptr) return true;  // for an earlier trace
  switch (cupti.load(s.settings.cupti_path)) {
    case CuptiStatus::kLoaded: return true;
    case CuptiStatus::kNotFound:
      notice("no libcupti found%s%s; nothing is recorded (set %s, or run: synctrace doctor)",
             *s.settings.cupti_path == '\0' ? "" : " at ", s.settings.cupti_path, format::kEnvCuptiPath);
      give_up(s, "no CUPTI library was found");
      return false;
    case CuptiStatus::kUnusable:
      notice("%s is not a usable CUPTI library; nothing is recorded (set %s, or run: synctrace doctor)", cupti.path(),
             format::kEnvCuptiPath);
      give_up(s, "the CUPTI library could not be used");
      return false;
    case CuptiStatus::kUnsupported:
      notice("%s is CUPTI %u, which this version does not know (CUDA 12 or 13); nothing is recorded", cupti.path(),
             cupti.version());
      give_up(s, "the CUPTI library has an unsupported version");
      return false;
  }
  return false;
}

bool subscribe(Session& s, CUpti_SubscriberHandle& handle) noexcept {
  char holder[128] = "";
  CUptiResult result = CUPTI_SUCCESS;
  if (cupti->Subscribe_v2 != nullptr) {
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "synctrace";
    params.oldSubscriberName = holder;
    params.oldSubscriberSize = sizeof(holder);
    result = cupti->Subscribe_v2(&handle, on_cupti_callback, nullptr, &params);
  } else {
    result = cupti->Subscribe(&handle, on_cupti_callback, nullptr);
  }
  if (result == CUPTI_SUCCESS) return true;
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    holder[sizeof(holder) - 1] = '\0';
    const char* who = *holder == '\0' ? "another tool" : holder;
    notice("CUPTI is in use by %s, and serves one tool at a time; nothing is recorded", who);
    s.stream.add(format::Fact{"subscriber_holder", who});
    give_up(s, "another tool holds CUPTI");
    return false;
  }
  const char* text = "unknown error";
  cupti->GetResultString(result, &text);
  notice("CUPTI refused the subscription: %s; nothing is recorded (run: synctrace doctor)", text);
  give_up(s, text);
  return false;
}

void warn_about_environment() noexcept {
  const auto is_set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
  };
  if (is_set("CUDA_LAUNCH_BLOCKING"))
    notice("CUDA_LAUNCH_BLOCKING is set: every launch waits, so the times are not those of a normal run");
  if (is_set("TEARDOWN_CUPTI")) notice("TEARDOWN_CUPTI is set: torch.profiler may shut CUPTI down for us too");
}

}  // namespace

// Has a process of this run already made a trace of that name? The head of a manifest answers for all but huge jobs.
bool Recorder::is_in_manifest(const Session& s, const char* path) noexcept {
  const int descriptor = *s.settings.manifest == '\0' ? -1 : open(s.settings.manifest, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return false;
  const ssize_t length = read(descriptor, scratch_.data(), scratch_.size() - 1);
  close(descriptor);
  if (length <= 0) return false;
  scratch_[static_cast<std::size_t>(length)] = '\0';
  char line[4200];
  std::snprintf(line, sizeof(line), "%s\n", path);
  return std::strstr(scratch_.data(), line) != nullptr;
}

// The head of the trace, in memory: the file is made when the process uses a GPU.
bool Recorder::begin_trace(Session& s) noexcept {
  read_process_identity(s.settings.is_live ? live.environment() : environ, s.identity);
  format::PatternStatus status = format::expand_output_pattern(s.settings.output, s.identity.facts, s.name);
  if (status != format::PatternStatus::kOk) {
    notice("%s=%.80s is no file name; using %s", format::kEnvOutput, s.settings.output, format::kDefaultOutputPattern);
    status = format::expand_output_pattern(nullptr, s.identity.facts, s.name);
    if (status != format::PatternStatus::kOk) return false;
  }
  s.stream.set_limit(s.settings.max_file_bytes);
  s.stream.begin(s.identity.facts.process_id);
  write_process_facts(s.identity, s.settings, s.stream);
  s.stream.add(format::Clock{now_ns(), realtime_ns()});
  return true;
}

bool Recorder::open_file(Session& s) noexcept {
  // A trace that this very run has made is never an old one to overwrite.
  const bool force = s.settings.force_overwrite && !is_in_manifest(s, s.name.path);
  if (!s.sink.open(s.name, s.identity.facts.process_id, force)) {
    if (errno == EISDIR) {
      notice("%s is a folder; nothing is recorded (end %s in '/' to write into it)", s.sink.final_path(),
             format::kEnvOutput);
    } else {
      notice("cannot create %s: %s; nothing is recorded (set %s to a place that can be written)", s.sink.partial_path(),
             std::strerror(errno), format::kEnvOutput);
    }
    return false;
  }
  append_to_manifest(s);
  return true;
}

void Recorder::stop_at_exit() noexcept {
  Session* session = session_;
  if (getpid() != owner_.load(std::memory_order_relaxed)) return;
  const ReentryGuard entry;
  flush_open_poll();
  if (is_dormant_) return live.end_at_exit();
  if (session == nullptr || !session->draining) return;
  session->draining = false;
  const bool is_written = stop_session("exit");
  deliver_notices();
  if (is_written && !session->sink.is_made()) return;  // a process that never used a GPU
  if (!is_written) {
    notice("the end of the trace could not be written in time; %s is readable as it is", session->sink.partial_path());
    return;
  }
  if (windows.never_opened()) {
    notice("no recording window ever opened: check --delay and --capture-range; %s recorded",
           session->settings.only_windows ? "no waits and copies were" : "waits, copies and allocations were");
  }
  if (*session->settings.report != '\0') {
    const std::span<char*> room(reinterpret_cast<char**>(scratch_.data()), scratch_.size() / sizeof(char*));
    report_at_exit(session->sink.final_path(), session->settings.report, room);
  } else if (*session->settings.manifest == '\0') {
    remark("wrote %s; next: synctrace report %s", session->sink.final_path(), session->sink.final_path());
  }
}

bool Recorder::stop_session(const char* reason) noexcept {
  session_->sampler.stop();
  return session_->drain.stop(reason);
}

// False when CUPTI cannot be had, which was told.
bool Recorder::ask_cupti(Session& s) noexcept {
  if (!load_cupti(s)) return false;
  CUpti_SubscriberHandle handle = sources.subscriber();
  if (handle == nullptr && !subscribe(s, handle)) return false;
  const bool has_timeline = s.settings.level == Level::kTimeline || s.settings.test_control;
  // Records of whole graphs can only be asked for before the first graph is made.
  const bool whole_graphs = has_timeline && !s.settings.graph_nodes && !s.settings.is_live;
  const bool has_buffers = gpu.start(s.settings.buffer_bytes / 2);
  if (!has_buffers && sources.subscriber() == nullptr) cupti->Unsubscribe(handle);
  if (!has_buffers || !sources.start(handle, whole_graphs, s.settings.is_live)) {
    notice("CUPTI refused to record; nothing is recorded (run: synctrace doctor)");
    give_up(s, "CUPTI refused to record");
    return false;
  }
  write_cupti_facts(s.stream);
  if (!s.settings.is_live) warn_about_environment();
  return true;
}

void Recorder::start_recording(Session& s) noexcept {
  if (!ask_cupti(s)) return;
  // A live window is drained by the thread that calls this.
  if (s.settings.is_live) {
    s.stream.want_file();
    s.stream.flush();
    if (s.stream.failed()) return;
  } else if (!s.drain.start()) {
    notice("no thread could be made; nothing is recorded");
    give_up(s, "no thread could be made");
    return;
  }
  s.draining = true;
  if (!s.settings.is_live) gpu.set_context_hook([]() noexcept { recorder.session_->drain.await_file(); });
  start_helpers(s);
  if (s.settings.begin_realtime_ns != 0)
    s.settings.delay_ns = std::max<std::int64_t>(0, s.settings.begin_realtime_ns - realtime_ns());
  windows.start(s.settings, now_ns());
}

void Recorder::start_helpers(Session& s) noexcept {
  // Without it stacks go on by libgcc, and modules loaded from here on have no names.
  if (s.settings.stacks != StackKinds::kNone && !s.watch.start()) remark("no thread could be made to watch modules");
  const RecorderState least = s.settings.level == Level::kTimeline ? RecorderState::kTimeline : RecorderState::kSyncs;
  if (s.settings.has_samples() &&
      !s.sampler.start(s.settings.sample_rate_hz, s.settings.stacks, main_thread_, is_preloaded(), least))
    remark("no thread could be made to take samples");
  if (s.settings.host_waits && is_preloaded()) switch_host_waits(true);
}

void Recorder::note_main_thread() noexcept {
  if (syscall(SYS_gettid) == getpid()) main_thread_ = pthread_self();
}

void Recorder::prepare_process() noexcept {
  Dl_info self;
  if (dladdr(this, &self) == 0 || self.dli_fname == nullptr) return;
  char path[4096];
  if (realpath(self.dli_fname, path) == nullptr) return;
  if (std::string_view(self.dli_fname).ends_with(format::kAttachedName)) return start_attached();
  note_main_thread();
  owner_.store(getpid(), std::memory_order_relaxed);
  // Set only where unset: another tool's wish comes first. The driver reads the one at its first call, each NVTX client
  // the other.
  setenv("CUDA_INJECTION64_PATH", path, 0);
  setenv("NVTX_INJECTION64_PATH", path, 0);
}

void Recorder::say_if_missed() const noexcept {
  if (started_.load(std::memory_order_relaxed) || getpid() != owner_.load(std::memory_order_relaxed)) return;
  if (std::getenv("CUDA_INJECTION64_PATH") != nullptr) return;
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) == nullptr && !gpu_is_simulated()) return;
  notice(
      "CUDA_INJECTION64_PATH was taken out of the environment before the first CUDA call; nothing is recorded (let the "
      "program keep it)");
}

void Recorder::go_silent_in_child() noexcept {
  recorder_state.store(RecorderState::kOff, std::memory_order_relaxed);
  switch_stacks(StackKinds::kNone);
  if (session_ != nullptr) session_->sink.abandon_after_fork();
}

// Nothing that was written is known to the next trace, and what happened in between was not seen.
void Recorder::forget_last_trace() noexcept {
  shared_stacks.trace.fetch_add(1, std::memory_order_relaxed);
  modules.forget_written();
  names.forget_written();
  nccl.forget_written();
  ranges.begin_late();
  forget_last_trace_calls();
  stack_counts.reset();
  samples.take_until(samples.ready(), [](const SampledRun&) {});
  samples.counts.reset();
  rings.for_each([](ThreadBuffer& buffer) {
    buffer.take_all([](const EventView&) {});
    buffer.forget_name();
  });
}

void Recorder::make_session(const Settings& settings) noexcept {
  // Never destroyed: its parts have descriptors in the tables of threads that have ended.
  if (session_ != nullptr) session_->stream.release();
  session_ =
      new (session_room_.data()) Session(settings, []() noexcept { return recorder.open_file(*recorder.session_); });
}

bool Recorder::begin_session() noexcept {
  Session& s = *session_;
  s.files.start();
  if (s.settings.is_live) forget_last_trace();
  if (s.settings.stacks == StackKinds::kNone) module_map.refresh();
  if (s.settings.stacks != StackKinds::kNone) enable_stacks(s.settings.stacks);
  if (begin_trace(s)) start_recording(s);
  if (!s.draining) s.files.stop();
  return s.draining;
}

void Recorder::record_session() noexcept { session_->drain.drain_until_end(); }

void Recorder::end_session(bool program_goes_on) noexcept {
  Session& s = *session_;
  if (s.draining) {
    s.sampler.stop();
    switch_host_waits(false);
    s.draining = false;
    s.drain.close_trace();
    switch_stacks(StackKinds::kNone);
  }
  helper_threads.stop();
  if (!program_goes_on) return;  // then there is no use in it
  gpu.rest();
  sources.rest();
}

void Recorder::prepare_once(const Settings& settings) noexcept {
  decide_on_plain_syscalls(settings);
  pthread_atfork(nullptr, nullptr, [] { recorder.go_silent_in_child(); });
  prepare_host_waits();
  rings.set_end_hook([]() noexcept {
    const ReentryGuard entry;
    flush_open_poll();
    release_thread_stacks();
  });
  rings.start(settings.buffer_bytes / 2);
  std::atexit([] { recorder.stop_at_exit(); });
}

void Recorder::go_dormant(const Settings& settings, bool is_awaited) noexcept {
  is_dormant_ = true;
  live.start(settings, is_awaited);
}

// In the loader, on a thread of the program that was sent there (synctrace attach). The program knows nothing of us, so
// nothing is said on its stderr and nothing is set in its environment.
void Recorder::start_attached() noexcept {
  if (started_.exchange(true)) return;
  set_quiet(true);
  Settings settings = read_settings();
  settings.quiet = settings.dormant = true;
  note_main_thread();
  owner_.store(getpid(), std::memory_order_relaxed);
  prepare_once(settings);
  go_dormant(settings, false);  // in the loader nobody is waited for
}

void Recorder::start() noexcept {
  if (started_.exchange(true)) return;
  const Settings settings = read_settings();
  if (!settings.enabled) return;
  set_quiet(settings.quiet);
  note_main_thread();
  owner_.store(getpid(), std::memory_order_relaxed);
  prepare_once(settings);
  if (settings.test_control) control.allow(settings);
  if (settings.dormant) return go_dormant(settings, true);
  make_session(settings);
  begin_session();
}

}  // namespace synctrace::capture
