// SPDX-License-Identifier: Apache-2.0
#include "exchange/stack_formats.h"

#include <string_view>

#include "base/shown_text.h"
#include "exchange/chrome_names.h"

namespace synctrace {
namespace {

std::int64_t weight_of(const WeightedStack& stack, std::size_t measure) noexcept { return stack.weights[measure]; }

// A frame in a line of frames: what separates them, and what ends the line, may not be in it.
std::string folded_name(const ProfileFrame& frame) {
  std::string name = valid_text(frame.function);
  if (!frame.file.empty()) name += " (" + valid_text(frame.file) + ":" + std::to_string(frame.line) + ")";
  for (char& c : name) {
    if (c == ';') c = ':';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return name.empty() ? "?" : name;
}

std::string speedscope_frame(const ProfileFrame& frame) {
  std::string text = "{\"name\": " + chrome::quoted(frame.function.empty() ? "?" : frame.function);
  if (!frame.file.empty()) text += ", \"file\": " + chrome::quoted(frame.file);
  if (frame.line != 0) text += ", \"line\": " + std::to_string(frame.line);
  return text + "}";
}

}  // namespace

void write_folded(std::span<const StackProfile> profiles, Measure measure, const TextSink& sink) {
  for (const StackProfile& profile : profiles) {
    std::vector<std::string> names;
    for (const ProfileFrame& frame : profile.frames()) names.push_back(folded_name(frame));
    const std::string root = profiles.size() > 1 ? folded_name({profile.name(), {}, 0}) : std::string();
    for (const WeightedStack& stack : profile.stacks()) {
      const std::int64_t weight = weight_of(stack, static_cast<std::size_t>(measure));
      if (weight == 0) continue;
      std::string line = root;
      for (const std::uint32_t frame : stack.frames) line += (line.empty() ? "" : ";") + names[frame];
      sink(line + " " + std::to_string(weight) + "\n");
    }
  }
}

void write_speedscope(std::span<const StackProfile> profiles, const std::string& name, const TextSink& sink) {
  sink(
      "{\n\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\": "
      "\"synctrace\",\n\"name\": " +
      chrome::quoted(name) + ",\n\"activeProfileIndex\": 0,\n\"shared\": {\"frames\": [");
  std::vector<std::size_t> first_frame;  // for each profile, in the one table
  std::size_t frames = 0;
  for (const StackProfile& profile : profiles) {
    first_frame.push_back(frames);
    for (const ProfileFrame& frame : profile.frames()) sink((frames++ == 0 ? "\n" : ",\n") + speedscope_frame(frame));
  }
  sink("\n]},\n\"profiles\": [");
  bool any = false;
  for (std::size_t measure = 0; measure < kMeasures; ++measure) {
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const std::int64_t total = profiles[i].total(static_cast<Measure>(measure));
      // A reader wants one profile at least.
      if (total == 0 && (any || measure + 1 < kMeasures || i + 1 < profiles.size())) continue;
      const MeasureName& words = kMeasureNames[measure];
      sink(std::string(any ? ",\n" : "\n") + "{\"type\": \"sampled\", \"name\": " +
           chrome::quoted(std::string(words.title) + (profiles.size() > 1 ? ", " + profiles[i].name() : "")) +
           ", \"unit\": \"" + (words.unit == "count" ? "none" : std::string(words.unit)) +
           "\", \"startValue\": 0, \"endValue\": " + std::to_string(total) + ",\n\"samples\": [");
      any = true;
      std::string weights;
      for (const WeightedStack& stack : profiles[i].stacks()) {
        const std::int64_t weight = weight_of(stack, measure);
        if (weight == 0) continue;
        std::string sample = weights.empty() ? "[" : ",[";
        for (const std::uint32_t frame : stack.frames)
          sample += (sample.back() == '[' ? "" : ",") + std::to_string(first_frame[i] + frame);
        sink(sample + "]");
        weights += (weights.empty() ? "" : ",") + std::to_string(weight);
      }
      sink("],\n\"weights\": [" + weights + "]}");
    }
  }
  sink("\n]\n}\n");
}

}  // namespace synctrace
