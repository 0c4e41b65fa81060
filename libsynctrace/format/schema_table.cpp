// SPDX-License-Identifier: Apache-2.0
#include "format/schema_table.h"

#include <algorithm>
#include <utility>

#include "format/trace_writer.h"

namespace synctrace::format {
namespace {

constexpr std::size_t kMaxNameBytes = 64;  // of a kind or a field

bool is_name(std::string_view name) noexcept {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_inner = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= kMaxNameBytes && is_letter(name[0]) && std::all_of(name.begin(), name.end(), is_inner);
}

std::optional<Encoding> encoding_of(std::string_view letter) noexcept {
  if (letter.size() != 1) return std::nullopt;
  const auto encoding = static_cast<Encoding>(letter[0]);
  switch (encoding) {
    case Encoding::kUnsigned:
    case Encoding::kSigned:
    case Encoding::kDelta:
    case Encoding::kText:
      return encoding;
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

SchemaTable::SchemaTable() {
  for_each_schema([this](const Schema& schema) {
    std::optional<Entry> entry = parse(schema);
    entry->known = true;
    built_in_[schema.kind] = entry->layout;
    find_known_fields(*entry);
    entries_[schema.kind] = std::move(entry);
  });
}

bool SchemaTable::learn(const Schema& schema) {
  std::optional<Entry> entry = parse(schema);
  if (!entry || !fits(*entry)) return false;
  std::optional<Entry>& place = entries_[schema.kind];
  if (place && place->declared) return true;
  entry->declared = true;
  entry->known = built_in_[schema.kind].has_value();
  if (entry->known) find_known_fields(*entry);
  place = std::move(entry);
  return true;
}

const SchemaTable::Entry* SchemaTable::find(std::uint64_t kind) const noexcept {
  return kind < kMaxKinds && entries_[kind] ? &*entries_[kind] : nullptr;
}

const SchemaTable::Entry* SchemaTable::find(std::string_view name) const noexcept {
  for (const auto& entry : entries_) {
    if (entry && entry->layout.name == name) return &*entry;
  }
  return nullptr;
}

std::optional<SchemaTable::Entry> SchemaTable::parse(const Schema& schema) {
  if (schema.kind == 0 || schema.kind >= kMaxKinds || !is_name(schema.name)) return std::nullopt;
  if (!schema.field_list.empty() && schema.field_list.back() == ' ') return std::nullopt;
  Entry entry;
  entry.layout.kind = schema.kind;
  entry.layout.name = schema.name;
  std::vector<FieldLayout>& fields = entry.layout.fields;
  std::string_view list = schema.field_list;
  while (!list.empty()) {
    std::optional<FieldLayout> field = take_field(list);
    const auto has_its_name = [&](const FieldLayout& other) { return other.name == field->name; };
    if (!field || fields.size() == kMaxFields || std::any_of(fields.begin(), fields.end(), has_its_name)) return std::nullopt;
    entry.encodings[fields.size()] = field->encoding;
    fields.push_back(*std::move(field));
  }
  return entry;
}

// Whether a declaration agrees with what is known of its kind.
bool SchemaTable::fits(const Entry& entry) const {
  const KindLayout& layout = entry.layout;
  const Entry* namesake = find(layout.name);
  if (namesake != nullptr && namesake->layout.kind != layout.kind) return false;
  const Entry* current = find(layout.kind);
  if (current == nullptr) return true;
  if (current->layout.name != layout.name) return false;
  if (current->declared) return layout.fields.size() == current->layout.fields.size() && begins_with(layout.fields, current->layout);
  // Schema records are read by the built-in layout before the trace can declare one.
  return layout.kind != static_cast<std::uint32_t>(RecordKind::kSchema) || begins_with(layout.fields, current->layout);
}

void SchemaTable::find_known_fields(Entry& entry) const {
  const auto& fields = entry.layout.fields;
  for (const FieldLayout& known : built_in_[entry.layout.kind]->fields) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldLayout& f) { return f.name == known.name; });
    entry.layout.known_fields.push_back(found == fields.end() ? -1 : static_cast<int>(found - fields.begin()));
  }
}

}  // namespace synctrace::format
