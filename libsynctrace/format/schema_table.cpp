// SPDX-License-Identifier: Apache-2.0
#include "format/schema_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "format/trace_writer.h"

namespace synctrace::format {
namespace {

constexpr std::size_t kMaxNameBytes = 64;  // for a kind or a field

bool is_name(std::string_view name) noexcept {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_inner = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= kMaxNameBytes && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), is_inner);
}

std::optional<Encoding> encoding_of(std::string_view letter) noexcept {
  if (letter.size() != 1) return std::nullopt;
  const auto encoding = static_cast<Encoding>(letter[0]);
  switch (encoding) {
    case Encoding::kUnsigned:
    case Encoding::kSigned:
    case Encoding::kDelta:
    case Encoding::kText: return encoding;
  }
  return std::nullopt;
}

// Takes "name:e" off the front of a field list.
std::optional<FieldLayout> take_field(std::string_view& list) {
  const std::string_view item = list.substr(0, list.find(' '));
  list.remove_prefix(std::min(list.size(), item.size() + 1));
  const std::size_t colon = item.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto encoding = encoding_of(item.substr(colon + 1));
  if (!encoding || !is_name(item.substr(0, colon))) return std::nullopt;
  return FieldLayout{std::string(item.substr(0, colon)), *encoding};
}

bool same_field(const FieldLayout& a, const FieldLayout& b) { return a.name == b.name && a.encoding == b.encoding; }

// Whether `fields` are those of `layout`, and perhaps more behind them.
bool begins_with(const std::vector<FieldLayout>& fields, const KindLayout& layout) {
  return fields.size() >= layout.fields.size() &&
         std::equal(layout.fields.begin(), layout.fields.end(), fields.begin(), same_field);
}

}  // namespace

const SchemaTable::BuiltIn& SchemaTable::built_in() {
  static const BuiltIn table = [] {
    BuiltIn built;
    for_each_schema([&](const Schema& schema) {
      std::unique_ptr<Entry> entry = parse(schema);
      match(*entry, entry->layout);
      built[schema.kind] = std::move(entry);
    });
    return built;
  }();
  return table;
}

SchemaTable::SchemaTable() {
  std::transform(built_in().begin(), built_in().end(), entries_.begin(), [](const auto& entry) { return entry.get(); });
}

bool SchemaTable::learn(const Schema& schema) {
  std::unique_ptr<Entry> entry = parse(schema);
  if (!entry || !fits(*entry)) return false;
  if (declared_[schema.kind]) return true;
  entry->declared = true;
  if (const auto& known = built_in()[schema.kind]) match(*entry, known->layout);
  entries_[schema.kind] = entry.get();
  declared_[schema.kind] = std::move(entry);
  ++declared_count_;
  return true;
}

const SchemaTable::Entry* SchemaTable::find(std::uint64_t kind) const noexcept {
  return kind < kMaxKinds ? entries_[kind] : nullptr;
}

const SchemaTable::Entry* SchemaTable::find(std::string_view name) const noexcept {
  const auto has_it = [&](const Entry* entry) { return entry != nullptr && entry->layout.name == name; };
  const auto found = std::find_if(entries_.begin(), entries_.end(), has_it);
  return found == entries_.end() ? nullptr : *found;
}

// Null when it is malformed.
std::unique_ptr<SchemaTable::Entry> SchemaTable::parse(const Schema& schema) {
  if (schema.kind == 0 || schema.kind >= kMaxKinds || !is_name(schema.name)) return nullptr;
  if (!schema.field_list.empty() && schema.field_list.back() == ' ') return nullptr;
  auto entry = std::make_unique<Entry>();
  entry->layout.kind = schema.kind;
  entry->layout.name = schema.name;
  std::vector<FieldLayout>& fields = entry->layout.fields;
  std::string_view list = schema.field_list;
  while (!list.empty()) {
    std::optional<FieldLayout> field = take_field(list);
    const auto has_its_name = [&](const FieldLayout& other) { return other.name == field->name; };
    if (!field || fields.size() == kMaxFields || std::any_of(fields.begin(), fields.end(), has_its_name))
      return nullptr;
    entry->encodings[fields.size()] = field->encoding;
    fields.push_back(*std::move(field));
  }
  return entry;
}

// Whether a declaration agrees with what is known of its kind.
bool SchemaTable::fits(const Entry& entry) const noexcept {
  const KindLayout& layout = entry.layout;
  const Entry* namesake = find(layout.name);
  if (namesake != nullptr && namesake->layout.kind != layout.kind) return false;
  const Entry* current = find(layout.kind);
  if (current == nullptr) return true;
  if (current->layout.name != layout.name) return false;
  const bool extends = begins_with(layout.fields, current->layout);
  if (current->declared) return extends && layout.fields.size() == current->layout.fields.size();
  // Schema records are read by the built-in layout before the trace can declare one.
  return extends || layout.kind != static_cast<std::uint32_t>(RecordKind::kSchema);
}

void SchemaTable::match(Entry& entry, const KindLayout& known) {
  const auto& fields = entry.layout.fields;
  entry.known = true;
  entry.plain = fields.size() == known.fields.size() && begins_with(fields, known);
  for (const FieldLayout& wanted : known.fields) {
    const auto found =
        std::find_if(fields.begin(), fields.end(), [&](const FieldLayout& f) { return f.name == wanted.name; });
    entry.layout.known_fields.push_back(found == fields.end() ? -1 : static_cast<int>(found - fields.begin()));
  }
}

}  // namespace synctrace::format
