// SPDX-License-Identifier: Apache-2.0
#include "run/gpu_looks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "base/time_span.h"
#include "format/trace_append.h"
#include "format/trace_reader.h"

namespace synctrace::cli {
namespace {

constexpr std::size_t kMostGpus = 64;
constexpr std::size_t kMostNumbers = 256;  // in a line; the probe writes 134 at most

// NVML's bits of why clocks are below what was asked for (nvmlClocksEventReason*).
constexpr std::uint64_t kSoftwarePower = 0x4;
constexpr std::uint64_t kHardwareSlowdown = 0x8;  // beside the next but one, or the one behind it, or by itself
constexpr std::uint64_t kSoftwareThermal = 0x20;
constexpr std::uint64_t kHardwareThermal = 0x40;
constexpr std::uint64_t kPowerBrake = 0x80;

bool is_thermal(std::uint64_t reasons) { return (reasons & (kSoftwareThermal | kHardwareThermal)) != 0; }
bool is_power(std::uint64_t reasons) {
  return (reasons & (kSoftwarePower | kPowerBrake)) != 0 ||
         ((reasons & kHardwareSlowdown) != 0 && (reasons & kHardwareThermal) == 0);
}

std::string hexadecimal_digits(std::string_view uuid) {
  if (uuid.starts_with("GPU-")) uuid.remove_prefix(4);
  std::string digits(uuid);
  std::erase(digits, '-');
  return digits;
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

// The numbers of a line; nothing when one of its words is none.
std::optional<std::vector<std::uint64_t>> numbers_of(std::string_view line) {
  std::vector<std::uint64_t> numbers;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    std::uint64_t number = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (failed != std::errc() || end != word.data() + word.size() || numbers.size() == kMostNumbers)
      return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

struct Seen {
  WatchedGpu gpu;
  bool sees_own = false;
};

// Two stretches in a row become one.
void join_neighbours(std::vector<format::GpuUse>& uses) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i + 1 < uses.size(); i += 2) {
    format::GpuUse& use = uses[kept++] = uses[i];
    const format::GpuUse& next = uses[i + 1];
    use.duration_ns = static_cast<std::uint64_t>(next.begin_ns - use.begin_ns) + next.duration_ns;
    use.others = std::max(use.others, next.others);
    use.busy_ns += next.busy_ns;
    use.others_ns += next.others_ns;
    use.power_ns += next.power_ns;
    use.thermal_ns += next.thermal_ns;
  }
  uses.resize(kept);
}

class LookReader {
 public:
  explicit LookReader(const std::vector<std::uint32_t>& own) : own_(own) {}

  void take(std::string_view line) {
    const std::string_view kind = next_word(line);
    if (kind == "gpu") {
      const auto index = numbers_of(next_word(line));
      if (index && index->size() == 1 && index->front() < kMostGpus)
        gpus_[index->front()].gpu.uuid = hexadecimal_digits(next_word(line));
    } else if (kind == "use") {
      if (const auto numbers = numbers_of(line)) take_use(*numbers);
    }
  }

  std::vector<WatchedGpu> gpus() {
    std::vector<WatchedGpu> result;
    for (auto& [index, seen] : gpus_) {
      for (format::GpuUse& use : seen.gpu.uses) {
        if (seen.sees_own) break;
        use.others = 0;
        use.others_ns = 0;
      }
      seen.gpu.is_used = seen.sees_own;
      result.push_back(std::move(seen.gpu));
    }
    return result;
  }

 private:
  // BEGIN END INDEX BUSY REASONS OWN [PID PERCENT]...
  void take_use(const std::vector<std::uint64_t>& numbers) {
    constexpr std::size_t kOwnAt = 5;
    constexpr std::size_t kProcessesAt = 6;
    if (numbers.size() < kProcessesAt || numbers.size() % 2 != 0) return;
    const auto found = gpus_.find(numbers[2]);
    if (found == gpus_.end() || numbers[1] > static_cast<std::uint64_t>(kLatestTime) || numbers[0] >= numbers[1])
      return;
    Seen& seen = found->second;
    std::vector<format::GpuUse>& uses = seen.gpu.uses;
    format::GpuUse use;
    use.begin_ns = static_cast<std::int64_t>(numbers[0]);
    use.duration_ns = numbers[1] - numbers[0];
    if (!uses.empty() && use.begin_ns < uses.back().begin_ns + static_cast<std::int64_t>(uses.back().duration_ns))
      return;
    const auto part = [&](std::uint64_t percent) {
      return use.duration_ns / 100 * std::min<std::uint64_t>(100, percent);
    };
    std::uint64_t percent = 0;
    seen.sees_own = seen.sees_own || numbers[kOwnAt] > 0;
    for (std::size_t i = kProcessesAt; i < numbers.size(); i += 2) {
      if (std::find(own_.begin(), own_.end(), numbers[i]) != own_.end()) {
        seen.sees_own = true;
        continue;
      }
      if (numbers[i + 1] > 0) ++use.others;
      percent += std::min<std::uint64_t>(100, numbers[i + 1]);
    }
    use.busy_ns = part(numbers[3]);
    use.others_ns = part(percent);
    use.power_ns = is_power(numbers[4]) ? use.duration_ns : 0;
    use.thermal_ns = is_thermal(numbers[4]) ? use.duration_ns : 0;
    uses.push_back(use);
    if (uses.size() == kMostGpuUses) join_neighbours(uses);
  }

  const std::vector<std::uint32_t>& own_;
  std::map<std::uint64_t, Seen> gpus_;
};

std::vector<std::uint32_t> processes_of(const std::vector<std::string>& traces) {
  std::vector<std::uint32_t> processes;
  for (const std::string& path : traces) {
    const Result<format::TraceReader> reader = format::TraceReader::open(path);
    if (reader) processes.push_back(reader.value().header().process_id);
  }
  return processes;
}

// The devices of a trace by uuid.
std::map<std::string, DeviceId> devices_of(const std::string& path) {
  std::map<std::string, DeviceId> devices;
  Result<format::TraceReader> reader = format::TraceReader::open(path);
  format::RecordView record;
  while (reader && reader.value().next(record)) {
    format::visit(record, [&](const format::Device& device) {
      if (devices.size() < kMostGpus) devices.insert_or_assign(hexadecimal_digits(device.uuid), device.device);
    });
  }
  return devices;
}

}  // namespace

std::vector<WatchedGpu> read_gpu_looks(std::string_view lines, const std::vector<std::uint32_t>& own) {
  LookReader reader(own);
  for (std::size_t end = lines.find('\n'); end != std::string_view::npos; end = lines.find('\n')) {
    reader.take(lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
  return reader.gpus();
}

std::optional<Error> store_gpu_looks(std::string_view lines, const std::vector<std::string>& traces) {
  const std::vector<WatchedGpu> gpus = read_gpu_looks(lines, processes_of(traces));
  std::optional<Error> first;
  for (const std::string& path : traces) {
    const std::map<std::string, DeviceId> devices = gpus.empty() ? std::map<std::string, DeviceId>() : devices_of(path);
    if (devices.empty()) continue;
    const auto failed = format::append_records(path, [&](format::RecordBuffer& out) {
      for (const WatchedGpu& gpu : gpus) {
        const auto device = devices.find(gpu.uuid);
        if (device == devices.end()) continue;
        for (format::GpuUse use : gpu.uses) {
          use.device = device->second;
          out.add(use);
        }
      }
    });
    if (failed && !first) first = failed;
  }
  return first;
}

}  // namespace synctrace::cli
