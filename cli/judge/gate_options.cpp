// SPDX-License-Identifier: Apache-2.0
#include "judge/gate_options.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "asked/narrator.h"
#include "asked/source_root.h"
#include "asked/step_options.h"
#include "base/name_text.h"
#include "base/shown_text.h"
#include "exit_status.h"
#include "files/replaceable.h"
#include "files/way_out.h"
#include "files/whole_file.h"
#include "files/written.h"
#include "gate/render_ci.h"
#include "gate/render_gate_text.h"
#include "messages.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

toml::Date today() {
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  gmtime_r(&now, &day);
  return {day.tm_year + 1900, day.tm_mon + 1, day.tm_mday};
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// A configuration is written by hand.
constexpr std::uint64_t kMostConfigBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostBaselineBytes = std::uint64_t{64} << 20;

Result<std::optional<GateConfig>> read_config(const std::string& path) {
  if (is_recording(path)) return Error{"--config " + path + ": is a trace, no configuration; leave it out."};
  const Result<std::string> text = read_whole_file(path, kMostConfigBytes);
  if (!text) return Error{text.error().message + " Without a configuration: --no-config."};
  return parse_gate_config(text.value(), path);
}

// The nearest file from the current folder up, not beyond the repository.
Result<GateConfig> find_config() {
  for (fs::path folder(current_folder());; folder = folder.parent_path()) {
    for (const char* name : {"synctrace.toml", "pyproject.toml"}) {
      const fs::path path = folder / name;
      if (!is_there(path)) continue;
      Result<std::optional<GateConfig>> config = read_config(path.lexically_proximate(current_folder()).string());
      if (!config) return config.error();
      if (config.value()) return std::move(*config.value());
    }
    if (is_there(folder / ".git") || folder == folder.parent_path()) return GateConfig();
  }
}

Result<GateConfig> take_config(const GateOptions& options) {
  if (options.no_config) return GateConfig();
  if (options.config.empty()) return find_config();
  Result<std::optional<GateConfig>> config = read_config(options.config);
  if (!config) return config.error();
  if (!config.value()) return Error{options.config + " has no [tool.synctrace]"};
  return std::move(*config.value());
}

// The folder with .git, or else that of the configuration, or else the current one.
std::string find_root(const GateOptions& options, const GateConfig& config) {
  std::error_code ignored;
  if (!options.root.empty()) return fs::absolute(options.root, ignored).lexically_normal().string();
  if (const auto folder = folder_with_git()) return *folder;
  if (config.path.empty()) return current_folder();
  return fs::absolute(config.path, ignored).parent_path().lexically_normal().string();
}

std::optional<Error> take_flags(const GateOptions& options, GateConfig& config) {
  if (!options.steps.empty()) {
    const auto slice = parse_step_slice(options.steps);
    if (!slice)
      return Error{"--judge-steps=" + options.steps +
                   " makes no sense: expected FIRST: or FIRST:LAST, counted from 0."};
    config.steps = *slice;
  }
  if (!options.step_range.empty() || !options.step_line.empty()) {
    config.step_range = options.step_range;
    config.step_line = options.step_line;
  }
  config.only_zones = config.only_zones || options.only_zones;
  config.unfinished = options.unfinished;
  for (const std::string& output : options.write) {
    const std::size_t equals = output.find('=');
    if (equals == std::string::npos || equals + 1 == output.size() || !is_gate_format(output.substr(0, equals))) {
      return Error{"--write=" + output +
                   " makes no sense: expected FORMAT=FILE, with text, json, sarif, junit, github, gitlab or md."};
    }
  }
  return std::nullopt;
}

bool append_to(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

}  // namespace

void declare_gate_options(const CommandLine& app, GateOptions& options) {
  const CommandOption config =
      app.add("--gate-config,--config", options.config,
              "the configuration (default: the nearest synctrace.toml or pyproject.toml)", "FILE");
  app.add_flag("--no-config", options.no_config, "no configuration: nothing is allowed").excludes(config);
  app.add("--root", options.root, "the folder that paths are written from (default: that with .git)", "FOLDER");
  app.add("--baseline", options.baseline, "findings that are known and do not fail", "FILE");
  app.add("--judge-steps", options.steps, "the steps that count, from 0 (default 3:)", "FIRST:LAST");
  const CommandOption range = declare_step_range(app, "--step-range", options.step_range);
  declare_step_line(app, options.step_line).excludes(range);
  app.add_flag("--only-zones", options.only_zones, "judge nothing but what is in expect-no-sync ranges");
}

void declare_gate_results(const CommandLine& app, GateOptions& options) {
  app.add("--write", options.write,
          "write a result too: text, json, sarif, junit, github, gitlab or md; may be repeated", "FORMAT=FILE")
      .one_value_each();
  app.add_number("--error-exitcode", options.error_exit_code, 1, 255, "the exit status when the gate fails (default 1)",
                 "N");
}

Result<PreparedGate> prepare_gate(const GateOptions& options, bool needs_baseline) {
  Result<GateConfig> config = take_config(options);
  if (!config) return config.error();
  PreparedGate gate;
  gate.config = std::move(config).value();
  if (const auto wrong = take_flags(options, gate.config)) return *wrong;
  gate.root = find_root(options, gate.config);
  if (!options.root.empty() || !holds_a_home(gate.root)) gate.roots.add(gate.root);
  gate.baseline_path = options.baseline;
  if (options.baseline.empty() && !gate.config.baseline.empty())
    gate.baseline_path = (fs::path(gate.config.path).parent_path() / gate.config.baseline).string();
  if (gate.baseline_path.empty()) return gate;
  if (!needs_baseline && !is_there(gate.baseline_path)) return gate;
  const std::string makes_one =
      "; synctrace baseline create --baseline " + shell_word(gate.baseline_path) + " TRACE makes it.";
  if (is_recording(gate.baseline_path)) {
    return Error{"--baseline " + gate.baseline_path + ": is a trace, no baseline; synctrace baseline create " +
                 shell_word(gate.baseline_path) + " makes one of it."};
  }
  Result<std::string> text = read_whole_file(gate.baseline_path, kMostBaselineBytes);
  if (!text && !is_there(gate.baseline_path)) return Error{"there is no " + gate.baseline_path + makes_one};
  if (!text) return text.error();
  Result<Baseline> baseline = parse_baseline(text.value(), gate.baseline_path);
  if (!baseline) return baseline.error();
  gate.baseline = std::move(baseline).value();
  return gate;
}

GateRun run_gate(const PreparedGate& gate, std::span<const std::string> files, const StackOptions& stacks,
                 const char* who, std::optional<JobReport>* job) {
  AskedNames names = stacks.names;
  names.how.roots.add(gate.roots);
  Narrator narrator(who, &names);
  Asking asking = narrator.asking(stacks.user_code);
  ask_for_gate(gate.config, asking);
  Recordings recordings({files.begin(), files.end()}, std::move(asking));
  if (job != nullptr) narrator.find_job(recordings);
  const Repository repository(gate.root, names.how.roots);
  const Baseline* baseline = gate.baseline ? &*gate.baseline : nullptr;
  GateRun run = judge_recordings(recordings, {gate.config, repository, baseline, today(), gate.guessed_steps});
  if (job != nullptr && recordings.is_job()) *job = recordings.job();
  return run;
}

bool is_gate_format(const std::string& format) {
  for (const char* known : {"text", "json", "sarif", "junit", "github", "gitlab", "md"}) {
    if (format == known) return true;
  }
  return false;
}

namespace {

std::string rendered(const GateResult& result, const std::string& format, bool all, bool colour) {
  if (format == "json") return render_gate_json(result);
  if (format == "sarif") return render_sarif(result, all);
  if (format == "junit") return render_junit(result);
  if (format == "github") return render_github(result);
  if (format == "gitlab") return render_gitlab(result);
  if (format == "md") return render_gate_markdown(result);
  return render_gate_text(result, {colour, all});
}

}  // namespace

// What comes from traces is printable by now; what a configuration or a baseline says is not.
std::string rendered_gate(const GateResult& result, const std::string& format, bool all, bool colour) {
  return valid_utf8(rendered(result, format, all, colour));
}

std::optional<Error> refuse_gate_files(const GateOptions& options, bool force) {
  for (const std::string& output : options.write) {
    const std::size_t equals = output.find('=');
    if (auto wrong =
            refuse_to_replace({output.substr(equals + 1), "gate " + output.substr(0, equals), "--write"}, force))
      return wrong;
  }
  return std::nullopt;
}

bool write_gate_files(const GateOptions& options, const GateResult& result, std::FILE* notes, const char* who) {
  bool all_written = true;
  for (const std::string& output : options.write) {
    const std::size_t equals = output.find('=');
    if (const auto error = write_whole_file(output.substr(equals + 1),
                                            rendered_gate(result, output.substr(0, equals), false, false))) {
      say::error(who, error->message);
      all_written = false;
    } else {
      say_written(who, {output.substr(equals + 1)});
    }
  }
  const char* on_github = std::getenv("GITHUB_ACTIONS");
  if (on_github == nullptr || std::string_view(on_github) != "true") return all_written;
  std::fputs(rendered_gate(result, "github", false, false).c_str(), notes);
  const char* summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (summary != nullptr && *summary != '\0' && !append_to(summary, rendered_gate(result, "md", false, false))) {
    say::warn(who, "the step summary cannot be written: " + std::string(summary));
  }
  return all_written;
}

int gate_status(const GateOptions& options, const GateRun& run) {
  if (run.result.status == GateStatus::kFail) return options.error_exit_code.value_or(kExitNegative);
  if (run.unreadable) return kExitUnusable;
  return run.result.status == GateStatus::kNothing ? kExitNothing : kExitOk;
}

}  // namespace synctrace::cli
