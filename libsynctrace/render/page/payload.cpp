// SPDX-License-Identifier: Apache-2.0
#include "render/page/payload.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "base/json.h"
#include "base/shown_text.h"
#include "render/columns.h"
#include "render/page/section_parts.h"

namespace synctrace::page {
namespace {

constexpr std::size_t kNameColumns = 160;
constexpr std::size_t kMostNameBytes = 400'000;  // all names together; later ones are left out
constexpr std::size_t kMostWindows = 1'000;
constexpr std::size_t kMostCauses = 300;

std::string name_text(std::string_view text) {
  return fitted(printable(text.substr(0, 4 * kNameColumns + 4)), kNameColumns);
}

// [kind, text], of causes [kind, device, row], of a wait for a rank [kind, operation, label of the rank].
Json names_json(const Timeline& timeline, const TimelineDetail& detail) {
  Json names = Json::array();
  std::size_t bytes = 0;
  for (const SliceName name : detail.names) {
    const SliceKind kind = kind_of(name);
    const std::string_view word = slice_kind_name(kind);
    if (kind == SliceKind::kIdle || kind == SliceKind::kOnlyCopying) {
      names.push_back({word, number_of(name) >> 32, number_of(name) & 0xffff'ffff});
      continue;
    }
    std::string text = bytes < kMostNameBytes ? name_text(timeline.text_of(name)) : std::string("(name left out)");
    bytes += text.size();
    if (kind == SliceKind::kRankWait)
      names.push_back({word, std::move(text), timeline.waits_for(name)});
    else
      names.push_back({word, std::move(text)});
  }
  return names;
}

Json spans_json(const std::vector<TimeSpan>& spans, Nanoseconds base_ns) {
  Json result = Json::array();
  for (const TimeSpan span : spans) {
    result.push_back(span.begin_ns - base_ns);
    result.push_back(span.end_ns - base_ns);
  }
  return result;
}

// Nothing where it is empty.
Json span_json(TimeSpan span, Nanoseconds base_ns) {
  return span.length_ns() > 0 ? spans_json({span}, base_ns) : Json::array();
}

// `first_row`: where its rows begin in the packed bytes.
Json lanes_json(const Timeline& timeline, const TimelineDetail& detail) {
  constexpr const char* kKinds[] = {"steps", "idle", "exchange", "stream", "ranges", "thread"};
  Json lanes = Json::array();
  for (const Lane& lane : timeline.lanes()) {
    lanes.push_back({{"kind", kKinds[static_cast<std::size_t>(lane.kind)]},
                     {"device", lane.device},
                     {"label", name_text(lane.label)},
                     {"rows", Json::array()}});
  }
  for (const DetailRow& row : detail.rows) {
    lanes[row.lane]["rows"].push_back({{"items", row.items},
                                       {"slices", row.slices},
                                       {"busy_ns", row.busy_ns},
                                       {"exact_from_ns", row.exact_from_ns},
                                       {"cell_ns", row.cell_ns},
                                       {"bytes", row.packed.size()}});
  }
  return lanes;
}

// Rows far down the table are told apart no more.
Json causes_json(const Report& report, const std::vector<IdleCause>& causes,
                 const std::vector<CauseOccurrences>& occurrences, Nanoseconds base_ns) {
  Json result = Json::array();
  for (std::size_t row = 0; row < std::min(causes.size(), kMostCauses); ++row) {
    const IdleCause& cause = causes[row];
    result.push_back({{"name", cause.name},
                      {"rule", cause.rule == nullptr ? std::string_view() : cause.rule->id},
                      {"where", name_text(place_text(report, cause.where))},
                      {"call", name_text(cause.call)},
                      {"edge", is_edge(cause.kind)},
                      {"idle_ns", cause.idle_ns},
                      {"total", occurrences[row].idle.total},
                      {"typical", span_json(occurrences[row].typical, base_ns)},
                      {"spans", spans_json(occurrences[row].longest, base_ns)}});
  }
  return result;
}

Json devices_json(const Report& report, const std::vector<DeviceOccurrences>& occurrences, Nanoseconds base_ns) {
  Json devices = Json::array();
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    devices.push_back(
        {{"id", report.devices[i].id},
         {"idle", causes_json(report, report.devices[i].causes, occurrences[i].idle, base_ns)},
         {"copying", causes_json(report, report.devices[i].copy_causes, occurrences[i].copying, base_ns)}});
  }
  return devices;
}

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;  // the largest window, and gzip's frame
  if (deflateInit2(&stream, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib has no memory");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  // zlib does not write to what it reads; its interface is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string payload(const Report& report, const Timeline& timeline, const TimelineDetail& detail) {
  std::vector<TimeSpan> windows(
      report.windows.begin(),
      report.windows.begin() + static_cast<std::ptrdiff_t>(std::min(kMostWindows, report.windows.size())));
  std::vector<TimeSpan> stretches = detail.stretches;
  const Json head = {{"length_ns", detail.end_ns - detail.base_ns},
                     {"slices", detail.slices},
                     {"items", detail.items},
                     {"opening", span_json(timeline.opening(), detail.base_ns)},
                     {"step_ns", report.steps.figures.p50_ns},
                     {"lanes_left_out", timeline.lanes_left_out()},
                     {"windows", spans_json(windows, detail.base_ns)},
                     {"stretches", spans_json(stretches, 0)},
                     {"lanes", lanes_json(timeline, detail)},
                     {"names", names_json(timeline, detail)},
                     {"devices", devices_json(report, timeline.occurrences(), detail.base_ns)}};
  const std::string json = head.dump();
  std::string bytes;
  for (std::size_t k = 0; k < 4; ++k) bytes += static_cast<char>(json.size() >> (8 * k) & 0xff);
  bytes += json;
  for (const DetailRow& row : detail.rows) bytes += row.packed;
  return base64(gzip(bytes));
}

}  // namespace synctrace::page
