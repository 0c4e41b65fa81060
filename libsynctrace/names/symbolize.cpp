// SPDX-License-Identifier: Apache-2.0
#include "names/symbolize.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/format_text.h"
#include "base/regular_file.h"
#include "names/dwarf_frames.h"
#include "names/symbol_table.h"

namespace synctrace {
namespace {

using ElfHandle = std::unique_ptr<Elf, decltype(&elf_end)>;
using DwflHandle = std::unique_ptr<Dwfl, decltype(&dwfl_end)>;

// libdwfl asks the servers of this variable whenever it is set.
class WithoutDebuginfod {
 public:
  explicit WithoutDebuginfod(bool wanted) {
    const char* value = wanted ? std::getenv(kVariable) : nullptr;
    if (value == nullptr) return;
    saved_ = value;
    ::unsetenv(kVariable);
  }
  WithoutDebuginfod(const WithoutDebuginfod&) = delete;
  WithoutDebuginfod& operator=(const WithoutDebuginfod&) = delete;
  ~WithoutDebuginfod() {
    if (saved_) ::setenv(kVariable, saved_->c_str(), 1);
  }

 private:
  static constexpr const char* kVariable = "DEBUGINFOD_URLS";
  std::optional<std::string> saved_;
};

// The kernel's own pages ("[vdso]", and linux-vdso.so.1 in every process) and unnamed memory are no files: nothing was
// lost with them.
bool is_file_name(std::string_view path) noexcept {
  return !path.empty() && path.front() != '[' && path.find('/') != std::string_view::npos;
}

std::string build_id_of(Elf* elf) {
  const void* bytes = nullptr;
  const ssize_t length = dwelf_elf_gnu_build_id(elf, &bytes);
  std::string text;
  for (ssize_t i = 0; i < length; ++i) text += format_text("{:02x}", static_cast<const unsigned char*>(bytes)[i]);
  return text;
}

// A file that could be the module; else none, and the name of the loss. Nothing of it is read but its first bytes.
std::optional<RegularFile> open_module(const NativeModule& module, const SymbolizeOptions& options,
                                       std::string_view& loss) {
  struct stat status {};
  loss = kLossSymbolsMissing;
  const bool is_name =
      !module.path.empty() && module.path.front() == '/' && module.path.find('\0') == std::string::npos;
  if (!is_name || ::stat(module.path.c_str(), &status) != 0) return std::nullopt;
  // Without a build-id nothing says that it is the file that ran.
  loss = kLossSymbolsOutside;
  if (module.build_id.empty() && options.roots.allowed(module.path).empty()) return std::nullopt;
  loss =
      S_ISREG(status.st_mode) && ::access(module.path.c_str(), R_OK) != 0 ? kLossSymbolsMissing : kLossSymbolsUnusable;
  Result<RegularFile> file = RegularFile::open(module.path, options.max_file_bytes);
  char magic[SELFMAG];
  if (!file || file.value().read(magic, sizeof magic) != SELFMAG || std::memcmp(magic, ELFMAG, SELFMAG) != 0) {
    return std::nullopt;
  }
  loss = {};
  return std::move(file).value();
}

bool is_usable(int fd) noexcept {
  elf_version(EV_CURRENT);
  const ElfHandle elf(elf_begin(fd, ELF_C_READ_MMAP, nullptr), &elf_end);
  GElf_Ehdr header{};
  return elf && elf_kind(elf.get()) == ELF_K_ELF && gelf_getehdr(elf.get(), &header) != nullptr &&
         (header.e_type == ET_DYN || header.e_type == ET_EXEC);
}

std::string build_id_of(int fd) {
  const ElfHandle elf(elf_begin(fd, ELF_C_READ_MMAP, nullptr), &elf_end);
  return elf ? build_id_of(elf.get()) : std::string();
}

// libdwfl opens whatever lies beside the module under the name that the module gives, and would wait for a FIFO.
bool is_file_or_absent(const std::string& path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

int find_debuginfo(Dwfl_Module* module, void** user_data, const char* name, Dwarf_Addr base, const char* file,
                   const char* link, GElf_Word crc, char** found) {
  if (file != nullptr && link != nullptr) {
    const std::string folder = std::string(file, std::string_view(file).rfind('/') + 1);
    if (!is_file_or_absent(folder + link) || !is_file_or_absent(folder + ".debug/" + link)) return -1;
  }
  return dwfl_standard_find_debuginfo(module, user_data, name, base, file, link, crc, found);
}

// One file, opened for questions in its own addresses.
class OpenModule {
 public:
  // Takes the descriptor when it succeeds.
  OpenModule(const std::string& path, RegularFile& file) : session_(dwfl_begin(&kCallbacks), &dwfl_end) {
    if (!session_) return;
    dwfl_report_begin(session_.get());
    module_ = dwfl_report_elf(session_.get(), path.c_str(), path.c_str(), file.descriptor(), 0, true);
    if (module_ != nullptr) file.release();
    if (dwfl_report_end(session_.get(), nullptr, nullptr) != 0) module_ = nullptr;
  }
  Dwfl_Module* module() const noexcept { return module_; }

 private:
  static constexpr Dwfl_Callbacks kCallbacks{dwfl_build_id_find_elf, find_debuginfo, dwfl_offline_section_address,
                                             nullptr};
  DwflHandle session_;
  Dwfl_Module* module_ = nullptr;
};

ResolvedFrame unnamed_frame(const NativeModule& module, std::uint64_t address) {
  ResolvedFrame frame;
  frame.function = offset_text(module.path, address);
  frame.module = module.path;
  return frame;
}

// One address with all that is known of it.
class AddressReader {
 public:
  AddressReader(const NativeModule& module, Dwfl_Module* opened) : module_(module), symbols_(opened), dwarf_(opened) {}

  std::vector<ResolvedFrame> frames_at(std::uint64_t address, std::uint64_t lookup) {
    std::vector<ResolvedFrame> frames = dwarf_.frames_at(lookup);
    if (frames.empty()) frames.emplace_back();
    if (frames.back().function.empty()) {
      if (const char* name = symbols_.name_at(lookup)) frames.back().function = demangled(name);
    }
    for (ResolvedFrame& frame : frames) {
      frame.module = module_.path;
      frame.named = !frame.function.empty();
      if (!frame.named) frame.function = unnamed_frame(module_, address).function;
    }
    return frames;
  }

 private:
  const NativeModule& module_;
  SymbolTable symbols_;
  DwarfFrames dwarf_;
};

struct Question {
  std::uint64_t lookup = 0;
  std::uint64_t address = 0;
  std::size_t place = 0;
};

// In the order of addresses, which is the order of compilation units.
std::vector<Question> questions_of(std::span<const NativeAddress> addresses) {
  std::vector<Question> questions;
  questions.reserve(addresses.size());
  for (const NativeAddress& asked : addresses) {
    const bool is_before = asked.is_return_address && asked.address > 0;
    questions.push_back({asked.address - (is_before ? 1 : 0), asked.address, questions.size()});
  }
  std::sort(questions.begin(), questions.end(), [](const Question& a, const Question& b) {
    return std::pair(a.lookup, a.address) < std::pair(b.lookup, b.address);
  });
  return questions;
}

}  // namespace

std::vector<std::vector<ResolvedFrame>> Symbolizer::resolve(const NativeModule& module,
                                                            std::span<const NativeAddress> addresses) {
  const WithoutDebuginfod guard(!options_.debuginfod);
  std::string_view loss;
  std::optional<RegularFile> file = open_module(module, options_, loss);
  std::optional<OpenModule> opened;
  std::optional<AddressReader> reader;
  if (!file) {
    lose(loss, module);
  } else if (!is_usable(file->descriptor())) {
    lose(kLossSymbolsUnusable, module);
  } else if (!module.build_id.empty() && build_id_of(file->descriptor()) != module.build_id) {
    lose(kLossSymbolsChanged, module);
  } else if (opened.emplace(module.path, *file); opened->module() == nullptr) {
    lose(kLossSymbolsUnusable, module);
  } else {
    if (module.build_id.empty()) lose(kLossSymbolsUnverified, module);
    reader.emplace(module, opened->module());
  }

  std::vector<std::vector<ResolvedFrame>> answers(addresses.size());
  const Question* previous = nullptr;
  const std::vector<Question> questions = questions_of(addresses);
  for (const Question& question : questions) {
    std::vector<ResolvedFrame>& frames = answers[question.place];
    if (previous != nullptr && previous->lookup == question.lookup && previous->address == question.address) {
      frames = answers[previous->place];
      continue;
    }
    if (reader)
      frames = reader->frames_at(question.address, question.lookup);
    else
      frames.push_back(unnamed_frame(module, question.address));
    ++counts_.addresses;
    counts_.named += frames.back().named ? 1 : 0;
    counts_.with_line += frames.front().line > 0 ? 1 : 0;
    previous = &question;
  }
  return answers;
}

void Symbolizer::lose(std::string_view name, const NativeModule& module) {
  if (is_file_name(module.path)) losses_.add(name);
}

bool can_be_opened(const NativeModule& module, const SymbolizeOptions& options, LoadStats& losses) {
  std::string_view loss;
  const bool opened = open_module(module, options, loss).has_value();
  if (!opened && is_file_name(module.path)) losses.add(loss);
  return opened;
}

}  // namespace synctrace
