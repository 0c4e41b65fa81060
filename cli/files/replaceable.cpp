// SPDX-License-Identifier: Apache-2.0
#include "files/replaceable.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/name_text.h"
#include "format/trace_format.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

// How a file of ours looks: all that is given must fit. Text that nothing frames has no mark: notes that quote it look
// like it.
struct Mark {
  std::string_view kind;
  std::string_view begin;
  std::string_view within = {};      // somewhere in the first or the last kEnd bytes
  std::string_view first_line = {};  // has this
  std::string_view last_line = {};   // begins so
};

constexpr std::size_t kEnd = 8192;

constexpr Mark kMarks[] = {
    {"page", "<!doctype html>\n", " – synctrace</title>"},
    {"report text", "synctrace report  "},
    {"report text", {}, {}, ".synctrace", "More:  synctrace report "},
    {"report text", {}, {}, " processes", "More:  synctrace report "},
    {"report text", {}, {}, " ranks", "More:  synctrace report "},
    {"report json", "{\n  \"schema_version\": ", "\"simulated\": "},
    {"report md", "## synctrace report: "},
    {"report csv", "trace,rank,gpu,table,rule,"},
    {"report csv", "table,rank,trace,gpu,steps,"},
    {"gate json", "{\n \"schema_version\": ", "\"verdict\": "},
    {"gate sarif", "{\n \"$schema\": \"https://json.schemastore.org/sarif-", "\"name\": \"synctrace\""},
    {"gate junit", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"synctrace gate\""},
    {"gate github", "::", " title=ST"},
    {"gate gitlab", "[\n {\n  \"description\": ", "\"check_name\": \"ST"},
    {"gate gitlab", "[]\n"},
    {"gate md", "### synctrace gate: "},
    {"diff json", "{\n \"schema_version\": ", "\"worse\": "},
    {"fleet json", "{\n  \"schema_version\": ", "\"recordings\": "},
    {"try text", "synctrace try: "},
    {"try json", "{\n \"schema_version\": ", "\"tool\": \"synctrace try\""},
    {"try md", "### synctrace try: "},
    {"try junit", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"synctrace try\""},
    {"dump", "synctrace-text "},
    {"gauges", "# HELP synctrace_"},
    {"table", "PAR1", "synctrace"},
};

struct Ends {
  std::string head, tail;
};

std::optional<Ends> ends_of(const std::string& path, std::uintmax_t size) {
  std::ifstream file(path, std::ios::binary);
  Ends ends{std::string(std::min<std::uintmax_t>(size, kEnd), '\0'), {}};
  ends.tail = ends.head;
  if (!file.read(ends.head.data(), static_cast<std::streamsize>(ends.head.size()))) return std::nullopt;
  file.seekg(static_cast<std::streamoff>(size - ends.tail.size()));
  if (!file.read(ends.tail.data(), static_cast<std::streamsize>(ends.tail.size()))) return std::nullopt;
  return ends;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::string_view last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of('\n');
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  return text.substr(text.rfind('\n') + 1);
}

bool is_of(const Ends& ends, const Mark& mark) {
  return ends.head.starts_with(mark.begin) && last_line(ends.tail).starts_with(mark.last_line) &&
         first_line(ends.head).find(mark.first_line) != std::string_view::npos &&
         (ends.head.find(mark.within) != std::string::npos || ends.tail.find(mark.within) != std::string::npos);
}

// Said before the work, which may take minutes.
std::optional<Error> refuse_folder(const OutputFile& output) {
  const std::string option(output.option);
  std::error_code failed;
  if (fs::is_directory(output.path, failed))
    return Error{option + " " + output.path + ": is a folder; name a file in it."};
  const fs::path parent = fs::path(output.path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (!fs::exists(folder, failed)) {
    return Error{option + " " + output.path + ": there is no folder " + folder + "; make it with mkdir -p " +
                 shell_word(folder) + ", or choose another " + option + "."};
  }
  const bool is_there = fs::exists(output.path, failed);
  if (access(is_there ? output.path.c_str() : folder.c_str(), W_OK) == 0) return std::nullopt;
  return Error{option + " " + output.path + ": " + std::strerror(errno) + "; choose another " + option + "."};
}

}  // namespace

void declare_force_overwrite(const CommandLine& app, bool& force) {
  app.add_flag("-f,--force-overwrite", force, "replace files that exist, whatever they are");
}

std::optional<Error> refuse_to_replace(const OutputFile& output, bool force, std::span<const std::string> inputs) {
  const std::string& path = output.path;
  if (path.empty() || path == "-") return std::nullopt;
  const std::string other = "; choose another " + std::string(output.option);
  std::error_code failed;
  for (const std::string& input : inputs) {
    if (fs::equivalent(input, path, failed)) return Error{path + " is one of the traces" + other + "."};
  }
  if (const auto refused = refuse_folder(output)) return refused;
  if (force || !fs::is_regular_file(path, failed)) return std::nullopt;
  const std::uintmax_t size = fs::file_size(path, failed);
  if (!failed && size == 0) return std::nullopt;
  const std::optional<Ends> ends = failed ? std::nullopt : ends_of(path, size);
  const std::string way_out = other + ", or replace it with -f (--force-overwrite).";
  if (ends && ends->head.starts_with(std::string_view(format::kFileMagic.data(), format::kFileMagic.size())))
    return Error{path + " exists already and is a recording" + way_out};
  const bool is_ours = ends && std::any_of(std::begin(kMarks), std::end(kMarks), [&](const Mark& mark) {
                         return mark.kind == output.kind && is_of(*ends, mark);
                       });
  if (is_ours) return std::nullopt;
  return Error{path + " exists already, and nothing in it says that it is such an output of synctrace" + way_out};
}

}  // namespace synctrace::cli
