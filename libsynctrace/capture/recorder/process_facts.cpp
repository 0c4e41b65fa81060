// SPDX-License-Identifier: Apache-2.0
#include "capture/recorder/process_facts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "capture/cupti/cupti_api.h"
#include "capture/cupti/gpu_events.h"
#include "capture/process/plain_syscalls.h"
#include "capture/waits/host_waits.h"
#include "contract/launch_contract.h"

namespace synctrace::capture {
namespace {

// Up to `room` bytes of a small file; 0 when it cannot be read.
std::size_t read_file(const char* path, char* out, std::size_t room) noexcept {
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  std::size_t used = 0;
  while (used < room) {
    const ssize_t got = read(descriptor, out + used, room - used);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  close(descriptor);
  return used;
}

void add_fact(TraceStream& out, std::string_view key, std::string_view value) noexcept {
  if (!value.empty()) out.add(format::Fact{key, value});
}

void add_number(TraceStream& out, std::string_view key, std::int64_t value) noexcept {
  char text[24];
  const std::to_chars_result result = std::to_chars(text, text + sizeof(text), value);
  add_fact(out, key, {text, static_cast<std::size_t>(result.ptr - text)});
}

// Set variables change what a trace means, or spoil it; the report says so.
void add_environment(TraceStream& out, const char* const* environment, const char* variable) noexcept {
  const char* value = format::find_variable(environment, variable);
  if (value == nullptr) return;
  char key[64];
  const int length = std::snprintf(key, sizeof(key), "env.%s", variable);
  add_fact(out, {key, static_cast<std::size_t>(length)}, value);
}

// The version in NVIDIA's "NVRM version: ... Kernel Module  580.159.04  Release Build ...": the first word of digits
// and dots.
std::string_view driver_version(char* text, std::size_t room) noexcept {
  const std::string_view whole(text, read_file("/proc/driver/nvidia/version", text, room));
  const std::string_view line = whole.substr(0, whole.find('\n'));
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    const bool is_version =
        word.find('.') != std::string_view::npos && word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (is_version) return word;
    begin = end + 1;
  }
  return {};
}

void add_job(TraceStream& out, const char* const* environment) noexcept {
  if (const JobName job = find_job(environment); job.id != nullptr) {
    add_fact(out, "job_id", job.id);
    add_fact(out, "job_source", job.variable);
  }
  const char* address = format::find_variable(environment, "MASTER_ADDR");
  const char* port = format::find_variable(environment, "MASTER_PORT");
  if (address == nullptr || port == nullptr) return;
  char meeting[300];
  const int length = std::snprintf(meeting, sizeof(meeting), "%.255s:%.31s", address, port);
  add_fact(out, "job_meeting", {meeting, static_cast<std::size_t>(length)});
}

// What tells whether two processes have one clock, and what the wall clock is worth.
void add_clocks(TraceStream& out) noexcept {
  char text[128];
  std::string_view line(text, read_file("/proc/sys/kernel/random/boot_id", text, sizeof(text)));
  add_fact(out, "boot_id", line.substr(0, line.find('\n')));
  // "monotonic  seconds  nanoseconds", "boottime ...": not there, or zero, outside of time namespaces.
  const std::string_view offsets(text, read_file("/proc/self/timens_offsets", text, sizeof(text)));
  if (offsets.find_first_of("123456789") != std::string_view::npos) add_fact(out, "time_namespace", "1");
  if (plain_syscalls_only()) return;
  timex clock{};
  const int state = adjtimex(&clock);  // asks, changes nothing
  if (state < 0) return;
  add_fact(out, "clock_synchronised", state == TIME_ERROR || (clock.status & STA_UNSYNC) != 0 ? "0" : "1");
  add_number(out, "clock_max_error_ns", std::int64_t{clock.maxerror} * 1000);
}

void write_settings(const Settings& settings, TraceStream& out) noexcept {
  add_fact(out, "level", settings.level == Level::kTimeline ? "timeline" : "syncs");
  if (settings.has_samples()) add_number(out, "sample_rate_hz", settings.sample_rate_hz);
  add_number(out, "buffer_bytes", static_cast<std::int64_t>(settings.buffer_bytes));
  if (settings.delay_ns != 0) add_number(out, "delay_ns", settings.delay_ns);
  if (settings.duration_ns != 0) add_number(out, "duration_ns", settings.duration_ns);
  if (settings.duty.period_ns != 0) {
    add_number(out, "duty_on_ns", settings.duty.on_ns);
    add_number(out, "duty_period_ns", settings.duty.period_ns);
  }
  const char* range = std::getenv(format::kEnvCaptureRange);  // none where the program has taken it out
  if (settings.range.kind != format::RangeKind::kNone && range != nullptr) add_fact(out, "capture_range", range);
  if (settings.is_live) add_fact(out, "live_window", "1");
  if (settings.only_windows && settings.level == Level::kTimeline) add_fact(out, "only_windows", "1");
  if (settings.max_file_bytes != 0)
    add_number(out, "max_file_bytes", static_cast<std::int64_t>(settings.max_file_bytes));
  add_fact(out, "host_waits", !settings.host_waits ? "off" : is_preloaded() ? "preload" : "not-preloaded");
  add_fact(out, "graph_nodes", settings.graph_nodes ? "1" : "0");
  if (plain_syscalls_only())
    add_fact(out, "plain_syscalls", settings.plain_syscalls ? "asked for" : "the program has a seccomp filter");
}

}  // namespace

JobName find_job(const char* const* environment) noexcept {
  for (const char* variable : {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PMIX_NAMESPACE", "PBS_JOBID", "LSB_JOBID"}) {
    const char* value = format::find_variable(environment, variable);
    // torchrun's name of a job that nobody named: of no use, for all of them have it.
    if (value != nullptr && *value != '\0' && std::string_view(value) != "none") return {value, variable};
  }
  return {};
}

void read_process_identity(const char* const* environment, ProcessIdentity& identity) noexcept {
  if (gethostname(identity.host, sizeof(identity.host) - 1) != 0) identity.host[0] = '\0';
  identity.command_line_bytes = read_file("/proc/self/cmdline", identity.command_line, sizeof(identity.command_line));
  identity.program = format::program_name({identity.command_line, identity.command_line_bytes});
  identity.facts.process_id = static_cast<std::uint32_t>(getpid());
  identity.facts.host = identity.host;
  identity.facts.program = identity.program.text;
  identity.facts.rank = format::detect_rank(environment);
  identity.facts.environment = environment;
}

void write_process_facts(const ProcessIdentity& identity, const Settings& settings, TraceStream& out) noexcept {
  if (!settings.no_arguments) {
    char command[sizeof(identity.command_line)];
    std::size_t length = identity.command_line_bytes;
    std::replace_copy(identity.command_line, identity.command_line + length, command, '\0', ' ');
    while (length > 0 && command[length - 1] == ' ') --length;
    add_fact(out, "command_line", {command, length});
  }
  add_fact(out, "program", identity.program.text);
  char executable[4096];
  const ssize_t link_length = readlink("/proc/self/exe", executable, sizeof(executable));
  if (link_length > 0) add_fact(out, "executable", {executable, static_cast<std::size_t>(link_length)});
  char folder[4096];
  if (getcwd(folder, sizeof(folder)) != nullptr) add_fact(out, "working_folder", folder);
  add_fact(out, "host", identity.host);
  add_number(out, "pid", identity.facts.process_id);
  add_number(out, "parent_pid", getppid());
  const format::Rank& rank = identity.facts.rank;
  if (rank.known()) {
    add_number(out, "rank", rank.rank);
    if (rank.local_rank >= 0) add_number(out, "local_rank", rank.local_rank);
    if (rank.world_size >= 0) add_number(out, "world_size", rank.world_size);
    add_fact(out, "rank_source", format::describe(rank.source));
  }
  add_job(out, identity.facts.environment);
  add_clocks(out);
  add_fact(out, "library_version", SYNCTRACE_VERSION);
  char text[512];
  add_fact(out, "driver_version", driver_version(text, sizeof(text)));
  for (const char* variable :
       {"CUDA_LAUNCH_BLOCKING", "TEARDOWN_CUPTI", "CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING"}) {
    add_environment(out, identity.facts.environment, variable);
  }
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof(processors), &processors) == 0) add_number(out, "processors", CPU_COUNT(&processors));
  write_settings(settings, out);
}

// The simulated runtime exports a symbol of this name; the real one cannot.
bool gpu_is_simulated() noexcept {
  void* runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return runtime != nullptr && dlsym(runtime, "simgpu_is_simulated") != nullptr;
}

void write_cupti_facts(TraceStream& out) noexcept {
  if (cupti.version() != 0) add_number(out, "cupti_version", cupti.version());
  add_fact(out, "cupti_path", cupti.path());
  add_fact(out, "timestamp_source", gpu_events.clock_is_monotonic() ? "monotonic" : "realtime-shifted");
  if (gpu_is_simulated()) add_fact(out, "simulated", "1");
}

}  // namespace synctrace::capture
