// SPDX-License-Identifier: Apache-2.0
#include "exchange/kineto_events.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/quantity_text.h"
#include "exchange/trace_draft.h"

namespace synctrace {
namespace {

constexpr std::size_t kDeepest = 64;

// A number, or a text; numbers with a point as they were written.
struct Value {
  std::optional<std::int64_t> whole;
  std::optional<double> real;
  std::string_view text;
};

// "1234.567" microseconds -> ns, exactly; digits beyond the third are dropped.
std::optional<Nanoseconds> nanoseconds(const Value& value) {
  constexpr std::int64_t kMostUs = TraceDraft::kFarthestTime / 1000;
  if (value.whole) {
    if (*value.whole < -kMostUs || *value.whole > kMostUs) return std::nullopt;
    return *value.whole * 1000;
  }
  if (!value.real || !(std::fabs(*value.real) < static_cast<double>(kMostUs))) return std::nullopt;
  const std::size_t point = value.text.find('.');
  std::int64_t us = 0;
  const char* const end = value.text.data() + std::min(point, value.text.size());
  const auto whole = std::from_chars(value.text.data(), end, us);
  if (point == std::string_view::npos || whole.ec != std::errc{} || whole.ptr != end ||
      value.text.find_first_of("eE") != std::string_view::npos) {
    return static_cast<Nanoseconds>(std::llround(*value.real * 1000));
  }
  std::int64_t ns = 0;
  for (std::size_t i = 1; i <= 3; ++i) {
    const std::size_t at = point + i;
    ns = ns * 10 + (at < value.text.size() ? value.text[at] - '0' : 0);
  }
  return us * 1000 + (value.text.front() == '-' ? -ns : ns);
}

enum class Place : std::uint8_t { kTop, kEvents, kEvent, kArgs, kDevices, kDevice, kDistributed, kElse };

// Takes what the parser finds. Each function's result says whether to go on.
class Reader {
 public:
  Reader(TextInput& input, KinetoHead& head, const KinetoSink& take) : input_(input), head_(head), take_(take) {}

  bool null() { return value({}); }
  bool boolean(bool flag) { return value({flag ? 1 : 0, std::nullopt, {}}); }
  bool number_integer(std::int64_t number) { return value({number, std::nullopt, {}}); }
  bool number_unsigned(std::uint64_t number) {
    const bool fits = number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return value(fits ? Value{static_cast<std::int64_t>(number), std::nullopt, {}} : Value{});
  }
  bool number_float(double number, const std::string& text) { return value({std::nullopt, number, text}); }
  bool string(const std::string& text) { return value({std::nullopt, std::nullopt, text}); }
  bool binary(const nlohmann::json::binary_t&) { return value({}); }
  bool key(const std::string& text) {
    input_.mark();
    key_ = text;
    return true;
  }

  bool start_object(std::size_t) { return open(true); }
  bool start_array(std::size_t) { return open(false); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    wrong_at_ = position;
    return false;
  }

  std::optional<Error> error;
  std::optional<std::size_t> wrong_at() const noexcept { return wrong_at_; }
  bool too_deep() const noexcept { return places_.size() > kDeepest; }
  bool saw_events() const noexcept { return saw_events_; }
  bool saw_nodes() const noexcept { return saw_nodes_; }

 private:
  Place place_of(bool is_object);
  bool open(bool is_object);
  bool close();
  bool value(const Value& value);
  void take_event(const Value& value);
  void take_arg(const Value& value);
  void take_device(const Value& value);
  void take_top(const Value& value);
  bool finish_event();

  TextInput& input_;
  KinetoHead& head_;
  const KinetoSink& take_;
  std::vector<Place> places_;
  std::string key_;
  KinetoEvent event_;
  bool event_has_bad_time_ = false;
  std::optional<std::int64_t> device_id_;
  Device device_;
  bool saw_events_ = false;
  bool saw_nodes_ = false;
  std::optional<std::size_t> wrong_at_;
};

// An array as the whole file is the format's oldest form: events alone.
Place Reader::place_of(bool is_object) {
  if (places_.empty()) return is_object ? Place::kTop : Place::kEvents;
  switch (places_.back()) {
    case Place::kTop:
      if (key_ == "traceEvents" && !is_object) return Place::kEvents;
      saw_nodes_ = saw_nodes_ || (key_ == "nodes" && !is_object);
      if (key_ == "deviceProperties" && !is_object) return Place::kDevices;
      return key_ == "distributedInfo" && is_object ? Place::kDistributed : Place::kElse;
    case Place::kEvents: return is_object ? Place::kEvent : Place::kElse;
    case Place::kEvent: return is_object && key_ == "args" ? Place::kArgs : Place::kElse;
    case Place::kDevices: return is_object ? Place::kDevice : Place::kElse;
    default: return Place::kElse;
  }
}

bool Reader::open(bool is_object) {
  input_.mark();
  places_.push_back(place_of(is_object));
  if (places_.back() == Place::kEvents) saw_events_ = true;
  if (places_.back() == Place::kEvent) {
    event_ = {};
    event_has_bad_time_ = false;
  }
  if (places_.back() == Place::kDevice) {
    device_id_.reset();
    device_ = {};
  }
  return !too_deep();
}

bool Reader::close() {
  input_.mark();
  const Place place = places_.back();
  places_.pop_back();
  if (place == Place::kDevice && device_id_ && *device_id_ >= 0 && *device_id_ < 1 << 16) {
    head_.devices[static_cast<DeviceId>(*device_id_)] = device_;
  }
  return place != Place::kEvent || finish_event();
}

bool Reader::finish_event() {
  ++head_.events;
  if (event_has_bad_time_) {
    ++head_.events_left_out;
    return true;
  }
  error = take_(event_);
  return !error;
}

bool Reader::value(const Value& value) {
  input_.mark();
  if (places_.empty()) return true;
  switch (places_.back()) {
    case Place::kTop: take_top(value); break;
    case Place::kEvent: take_event(value); break;
    case Place::kArgs: take_arg(value); break;
    case Place::kDevice: take_device(value); break;
    case Place::kDistributed:
      if (value.whole && (key_ == "rank" || key_ == "world_size")) head_.facts[key_] = std::to_string(*value.whole);
      break;
    default: break;
  }
  return true;
}

void Reader::take_top(const Value& value) {
  if (key_ == "baseTimeNanoseconds") head_.base_ns = value.whole;
  if (key_ == "baseTimeMonotonicNanoseconds") head_.base_monotonic_ns = value.whole;
  if (key_ == "simulated" && value.whole == 1) head_.facts["simulated"] = "1";
}

void Reader::take_event(const Value& value) {
  if (key_ == "ph") event_.phase = value.text;
  if (key_ == "cat") event_.category = value.text;
  if (key_ == "name") event_.name = value.text;
  if (key_ == "pid") event_.process = value.whole;
  if (key_ == "tid") event_.thread = value.whole;
  if (key_ == "id") event_.id = value.whole;
  if (key_ != "ts" && key_ != "dur") return;
  const std::optional<Nanoseconds> time_ns = nanoseconds(value);
  event_has_bad_time_ = event_has_bad_time_ || !time_ns || (key_ == "dur" && *time_ns < 0);
  (key_ == "ts" ? event_.begin_ns : event_.duration_ns) = time_ns;
}

void Reader::take_arg(const Value& value) {
  if (key_ == "correlation") event_.correlation = value.whole;
  if (key_ == "device") event_.device = value.whole;
  if (key_ == "context") event_.context = value.whole;
  if (key_ == "stream") event_.stream = value.whole;
  if (key_ == "bytes") event_.bytes = value.whole;
  if (key_ == "graph") event_.graph = value.whole;
  if (key_ == "cbid") event_.callback_id = value.whole;
  if (key_ == "name") event_.label = value.text;
}

void Reader::take_device(const Value& value) {
  const auto small = [&](std::uint32_t& field) {
    if (value.whole && *value.whole >= 0 && *value.whole < 1 << 30) field = static_cast<std::uint32_t>(*value.whole);
  };
  if (key_ == "id") device_id_ = value.whole;
  if (key_ == "name") device_.name = value.text;
  if (key_ == "uuid") device_.uuid = value.text;
  if (key_ == "computeMajor") small(device_.capability_major);
  if (key_ == "computeMinor") small(device_.capability_minor);
  if (key_ == "numSms") small(device_.multiprocessors);
  if (key_ == "totalGlobalMem" && value.whole && *value.whole >= 0)
    device_.memory_bytes = static_cast<std::uint64_t>(*value.whole);
}

}  // namespace

std::optional<Error> read_kineto(TextInput& input, const std::string& name, KinetoHead& head, const KinetoSink& take) {
  Reader reader(input, head, take);
  const bool whole = !input.error() && nlohmann::json::sax_parse(input.begin(), TextInput::end(), &reader);
  if (input.error()) return input.error();
  if (reader.error) return reader.error;
  if (input.stopped()) return Error{name + " holds a text of more than " + bytes_text(TextInput::kLongestToken)};
  if (reader.too_deep()) return Error{name + " is no trace: its JSON is nested too deeply"};
  if (!whole) {
    const std::string where =
        reader.wrong_at() ? " (at byte " + std::to_string(*reader.wrong_at()) + ")" : std::string();
    return Error{name + (input.at_end() ? " is cut off: its JSON has no end" : " is no JSON") + where};
  }
  if (!reader.saw_events() && reader.saw_nodes()) {
    return Error{name + " is an execution trace of PyTorch, which has no times of the GPU; import what " +
                 "export_chrome_trace() of torch.profiler wrote"};
  }
  if (!reader.saw_events()) return Error{name + " is JSON, but no trace: it has no traceEvents"};
  return std::nullopt;
}

}  // namespace synctrace
