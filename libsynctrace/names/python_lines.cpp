// SPDX-License-Identifier: Apache-2.0
#include "names/python_lines.h"

namespace synctrace {

namespace {

// Lines of a damaged table may run anywhere; they wrap rather than overflow, and what is not positive is unknown.
class Line {
 public:
  explicit Line(std::int32_t first) noexcept : value_(static_cast<std::uint32_t>(first)) {}

  void step(std::int32_t by) noexcept { value_ += static_cast<std::uint32_t>(by); }

  std::int32_t value() const noexcept {
    const auto line = static_cast<std::int32_t>(value_);
    return line > 0 ? line : SourceRange::kUnknown;
  }

 private:
  std::uint32_t value_;
};

SourceRange whole_line(const Line& line) noexcept { return {line.value(), line.value()}; }

// The bytes of a table, front to back; zeros after its end, where is_cut() says so.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> table) noexcept : table_(table) {}

  bool empty() const noexcept { return next_ >= table_.size(); }
  bool is_cut() const noexcept { return is_cut_; }

  std::uint8_t byte() noexcept {
    if (empty()) {
      is_cut_ = true;
      return 0;
    }
    return std::to_integer<std::uint8_t>(table_[next_++]);
  }

  std::int8_t signed_byte() noexcept { return static_cast<std::int8_t>(byte()); }

  // Groups of six bits, the lowest first; bit 6 says that another follows.
  std::uint32_t varint() noexcept {
    std::uint32_t value = 0;
    for (unsigned shift = 0;; shift += 6) {
      const std::uint32_t group = byte();
      if (shift < 32) value |= (group & 0x3f) << shift;
      if ((group & 0x40) == 0) return value;
    }
  }

  // The sign is the lowest bit.
  std::int32_t signed_varint() noexcept {
    const std::uint32_t value = varint();
    const auto magnitude = static_cast<std::int32_t>(value >> 1);
    return (value & 1) != 0 ? -magnitude : magnitude;
  }

 private:
  std::span<const std::byte> table_;
  std::size_t next_ = 0;
  bool is_cut_ = false;
};

SourceRange find_in_steps(Bytes bytes, std::int32_t first_line, std::int64_t offset) noexcept {
  Line line(first_line);
  std::int64_t address = 0;
  while (!bytes.empty()) {
    address += bytes.byte();
    const std::int8_t step = bytes.signed_byte();
    if (address > offset || bytes.is_cut()) break;
    line.step(step);
  }
  return whole_line(line);
}

SourceRange find_in_ranges(Bytes bytes, std::int32_t first_line, std::int64_t offset) noexcept {
  constexpr std::int8_t kNoLine = -128;
  Line line(first_line);
  std::int64_t end = 0;
  while (!bytes.empty()) {
    end += bytes.byte();
    const std::int8_t step = bytes.signed_byte();
    if (bytes.is_cut()) break;
    if (step != kNoLine) line.step(step);
    if (offset < end) return step == kNoLine ? SourceRange{} : whole_line(line);
  }
  return {};
}

// Numbers of columns and lines come as unsigned values; what does not fit is unknown.
std::int32_t bounded(std::uint64_t value) noexcept {
  return value > 0x7fffffff ? SourceRange::kUnknown : static_cast<std::int32_t>(value);
}

// What follows the first byte of an entry of `kind`; moves `line` along.
SourceRange read_location(Bytes& bytes, unsigned kind, Line& line) noexcept {
  constexpr unsigned kOneLine = 10;  // 10, 11, 12: 0, 1 or 2 lines down, two bytes of columns
  constexpr unsigned kNoColumns = 13;
  constexpr unsigned kLong = 14;
  constexpr unsigned kNone = 15;
  if (kind == kNone) return {};
  if (kind == kNoColumns) {
    line.step(bytes.signed_varint());
    return whole_line(line);
  }
  if (kind == kLong) {
    line.step(bytes.signed_varint());
    SourceRange range = whole_line(line);
    const std::uint32_t more_lines = bytes.varint();
    if (range.line > 0) range.end_line = bounded(std::uint64_t{more_lines} + static_cast<std::uint32_t>(range.line));
    // Columns are kept plus one, and zero says that there is none.
    range.column = bounded(std::uint64_t{bytes.varint()}) - 1;
    range.end_column = bounded(std::uint64_t{bytes.varint()}) - 1;
    if (range.column < 0) range.column = SourceRange::kUnknown;
    if (range.end_column < 0) range.end_column = SourceRange::kUnknown;
    return range;
  }
  if (kind >= kOneLine) {
    line.step(static_cast<std::int32_t>(kind - kOneLine));
    SourceRange range = whole_line(line);
    range.column = bytes.byte();
    range.end_column = bytes.byte();
    return range;
  }
  SourceRange range = whole_line(line);
  const std::uint8_t columns = bytes.byte();
  range.column = static_cast<std::int32_t>(kind << 3 | ((columns >> 4) & 7));
  range.end_column = range.column + (columns & 15);
  return range;
}

SourceRange find_in_locations(Bytes bytes, std::int32_t first_line, std::int64_t offset) noexcept {
  Line line(first_line);
  std::int64_t end = 0;
  while (!bytes.empty()) {
    const std::uint8_t head = bytes.byte();
    if ((head & 0x80) == 0) return {};  // every entry begins with the top bit set, and no other byte has it
    end += 2 * ((head & 7) + 1);
    const SourceRange range = read_location(bytes, (head >> 3) & 15, line);
    if (bytes.is_cut()) return {};
    if (offset < end) return range.line > 0 ? range : SourceRange{};
  }
  return {};
}

}  // namespace

LineTableFormat line_table_format(std::uint32_t python_version) noexcept {
  const std::uint32_t minor = (python_version >> 16) & 0xff;
  if (python_version >> 24 != 3 || minor < 8 || minor > 14) return LineTableFormat::kUnknown;
  if (minor <= 9) return LineTableFormat::kSteps;
  return minor == 10 ? LineTableFormat::kRanges : LineTableFormat::kLocations;
}

SourceRange find_range(LineTableFormat format, std::span<const std::byte> table, std::int32_t first_line,
                       std::int32_t offset_bytes) noexcept {
  if (offset_bytes < 0) return format == LineTableFormat::kUnknown ? SourceRange{} : whole_line(Line(first_line));
  switch (format) {
    case LineTableFormat::kSteps: return find_in_steps(Bytes(table), first_line, offset_bytes);
    case LineTableFormat::kRanges: return find_in_ranges(Bytes(table), first_line, offset_bytes);
    case LineTableFormat::kLocations: return find_in_locations(Bytes(table), first_line, offset_bytes);
    case LineTableFormat::kUnknown: break;
  }
  return {};
}

std::int32_t lowest_line_behind(LineTableFormat format, std::span<const std::byte> table, std::int32_t first_line,
                                std::int32_t offset_bytes, bool but_last) noexcept {
  if (format != LineTableFormat::kLocations) return SourceRange::kUnknown;
  Bytes bytes(table);
  Line line(first_line);
  std::int32_t lowest = SourceRange::kUnknown;
  std::int32_t lowest_but_last = SourceRange::kUnknown;
  std::int64_t begin = 0;
  while (!bytes.empty()) {
    const std::uint8_t head = bytes.byte();
    const SourceRange range = read_location(bytes, (head >> 3) & 15, line);
    if ((head & 0x80) == 0 || bytes.is_cut()) break;
    constexpr int kNoPlace = 15;
    if (but_last && begin > offset_bytes && ((head >> 3) & 15) == kNoPlace) break;  // what handles exceptions follows
    if (begin > offset_bytes && range.line > 0 && (lowest < 0 || range.line < lowest)) lowest = range.line;
    const int units = (head & 7) + 1;
    if (units > 1) lowest_but_last = lowest;
    begin += 2 * units;
  }
  return but_last ? lowest_but_last : lowest;
}

}  // namespace synctrace
