// SPDX-License-Identifier: Apache-2.0
#include "files/way_out.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "base/name_text.h"
#include "contract/launch_contract.h"
#include "format/trace_format.h"
#include "nearest_word.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeadBytes = 4096;

constexpr std::string_view kMakesOne = "synctrace run -- PROGRAM makes a trace";

std::string head_of(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

// "run.synctrace" for "results/run.pt.trace.json": beside which the user stands.
std::string trace_of(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return shell_word(name.substr(0, name.find('.', 1)) + std::string(format::kTraceSuffix));
}

// The file of that folder whose name is nearest to one that is not there.
std::string missing(const std::string& path) {
  std::error_code failed;
  const std::string whole = path + std::string(format::kTraceSuffix);
  if (fs::is_regular_file(whole, failed)) return "; did you mean " + shell_word(whole) + "?";
  const std::string nearest = nearest_file(path);
  return nearest.empty() ? "; " + std::string(kMakesOne) : "; did you mean " + shell_word(nearest) + "?";
}

struct Known {
  std::string_view begin;
  std::string_view within;  // somewhere in the first bytes
  std::string_view before;  // what to type, without the file's name
  std::string_view after;
};

// What the first bytes tell. The first row that fits counts.
constexpr Known kKnown[] = {
    {"SQLite format 3", "", "; if Nsight Systems made it: synctrace import ", " -o "},
    {"\x1f\x8b", "", "; if torch.profiler made it: synctrace import ", " -o "},
    {"{", "\"findings\"", "; it is a baseline: synctrace gate --baseline ", " TRACE"},
    {"{", "\"schema_version\"", "; it is a result of synctrace in JSON, made from a trace: synctrace report TRACE", {}},
    {"{", "", "; if torch.profiler made it: synctrace import ", " -o "},
    {"<!doctype html>",
     "synctrace",
     "; it is a page of synctrace: open it in a browser, or synctrace report TRACE",
     {}},
    {"synctrace-text ", "", "; it is a trace as text: synctrace dump --assemble ", " -o "},
    {"PAR1", "", "; it is a table of synctrace rollup: synctrace fleet report DATASET", {}},
    {"#!", "", "; it is a program: synctrace run -- ", {}},
    {"\x7f"
     "ELF",
     "",
     "; it is a program: synctrace run -- ",
     {}},
};

std::string by_content(const std::string& path) {
  const std::string head = head_of(path);
  const std::string word = shell_word(path);
  for (const Known& known : kKnown) {
    if (!head.starts_with(known.begin) || head.find(known.within) == std::string_view::npos) continue;
    std::string sentence(known.before);
    if (known.before.ends_with(' ')) sentence += word;
    sentence += known.after;
    return known.after.ends_with(' ') ? sentence + trace_of(path) : sentence;
  }
  return {};
}

std::string by_name(const std::string& path) {
  const std::string word = shell_word(path);
  if (path.ends_with(".py")) return "; it is a program: synctrace run -- python3 " + word;
  if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep")) {
    return "; it is of Nsight Systems: nsys export --type sqlite " + word + ", then synctrace import " +
           shell_word(fs::path(path).replace_extension(".sqlite").string()) + " -o " + trace_of(path);
  }
  if (path.ends_with(".ncu-rep"))
    return "; it is of Nsight Compute and has single kernels, not what the host did: " + std::string(kMakesOne);
  return {};
}

}  // namespace

std::string way_out(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found) return missing(path);
  if (status.type() == fs::file_type::directory) return "; name a file of it: " + shell_word(path) + "/FILE";
  if (status.type() == fs::file_type::unknown || access(path.c_str(), R_OK) != 0)
    return "; read it as its owner, or let all read it: chmod a+r " + shell_word(path);
  if (status.type() != fs::file_type::regular) return "; write what comes from it into a file, and name that";
  // A recording that cannot be read as one.
  if (head_of(path).empty() || is_recording(path)) return "; record again: " + std::string(kMakesOne);
  const std::string known = what_it_is(path);
  return known.empty() ? "; " + std::string(kMakesOne) : known;
}

std::string what_it_is(const std::string& path) {
  std::error_code failed;
  if (!fs::exists(path, failed)) {
    const std::string nearest = nearest_file(path);
    return nearest.empty() ? "" : "; did you mean " + shell_word(nearest) + "?";
  }
  if (is_recording(path)) return "; it is a trace: synctrace report " + shell_word(path);
  std::string known = by_name(path);
  return known.empty() ? by_content(path) : known;
}

bool is_recording(const std::string& path) {
  return head_of(path).starts_with(std::string_view(format::kFileMagic.data(), format::kFileMagic.size()));
}

std::string nearest_file(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code failed;
  const fs::path ending = fs::path(path).extension();
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, failed)) {
    if (entry.path().extension() == ending && entry.is_regular_file(failed))
      names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string nearest = nearest_word(fs::path(path).stem().string(), candidates);
  return nearest.empty() ? "" : (folder / (nearest + ending.string())).string();
}

std::string no_traces_in(const std::string& folder) {
  return "no *.synctrace file in " + folder + "; synctrace run -o " +
         shell_word(folder + (folder.ends_with('/') ? "" : "/")) + " -- PROGRAM writes one there.";
}

std::string no_tables_in(const std::string& dataset) {
  const std::string word = shell_word(dataset);
  const bool is_trace = is_recording(dataset);
  return "no tables in " + dataset + (is_trace ? ", which is a trace" : "") + "; synctrace rollup " +
         (is_trace ? word + " -o DATASET" : "TRACE... -o " + word) + " makes them.";
}

}  // namespace synctrace::cli
