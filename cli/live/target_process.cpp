// SPDX-License-Identifier: Apache-2.0
#include "live/target_process.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/format_text.h"
#include "contract/launch_contract.h"

namespace synctrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstead = "start it with synctrace run --dormant instead";

// mov $15, %rax; syscall: rt_sigreturn, as each C library for x86-64 has it.
constexpr std::array<unsigned char, 9> kSignalReturn = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

Error refuse(int pid, const std::string& reason) { return Error{format_text("process {}: {}", pid, reason)}; }

std::vector<Mapping> read_mappings(int pid) {
  std::vector<Mapping> mappings;
  std::ifstream file(format_text("/proc/{}/maps", pid));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string range;
    std::string rights;
    std::string device;
    std::string inode;
    Mapping one;
    words >> range >> rights >> std::hex >> one.file_offset >> device >> inode;
    std::getline(words >> std::ws, one.path);
    const std::size_t dash = range.find('-');
    if (dash == std::string::npos || rights.size() < 3) continue;
    std::from_chars(range.data(), range.data() + dash, one.begin, 16);
    std::from_chars(range.data() + dash + 1, range.data() + range.size(), one.end, 16);
    one.is_code = rights[2] == 'x';
    mappings.push_back(std::move(one));
  }
  return mappings;
}

std::string status_field(int pid, std::string_view name) {
  std::ifstream file(format_text("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return {};
}

// An ELF file, open as long as the object lives.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    if (descriptor_ >= 0) elf_ = elf_begin(descriptor_, ELF_C_READ, nullptr);
  }
  ~ElfFile() {
    if (elf_ != nullptr) elf_end(elf_);
    if (descriptor_ >= 0) close(descriptor_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool is_x86_64() const {
    GElf_Ehdr header;
    return elf_ != nullptr && gelf_getehdr(elf_, &header) != nullptr && header.e_machine == EM_X86_64;
  }

  // The ELF address of the first byte of the file; none where that is not loaded.
  std::optional<std::uint64_t> first_address() const {
    std::size_t count = 0;
    if (elf_ == nullptr || elf_getphdrnum(elf_, &count) != 0) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr part;
      if (gelf_getphdr(elf_, static_cast<int>(i), &part) != nullptr && part.p_type == PT_LOAD && part.p_offset == 0)
        return part.p_vaddr;
    }
    return std::nullopt;
  }

  std::optional<std::uint64_t> function(const char* name) const {
    for (Elf_Scn* section = nullptr; elf_ != nullptr && (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM || header.sh_entsize == 0) continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      for (int i = 0; data != nullptr && i < static_cast<int>(header.sh_size / header.sh_entsize); ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(data, i, &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
        const char* found = elf_strptr(elf_, header.sh_link, symbol.st_name);
        if (found != nullptr && std::strcmp(found, name) == 0 && GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
          return symbol.st_value;
      }
    }
    return std::nullopt;
  }

 private:
  int descriptor_;
  Elf* elf_ = nullptr;
};

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The first mapping of a file with that name.
const Mapping* find_library(const std::vector<Mapping>& mappings, std::string_view name) {
  const auto found = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& one) {
    return one.path.starts_with("/") && one.file_offset == 0 && file_name(one.path) == name;
  });
  return found == mappings.end() ? nullptr : &*found;
}

std::uint64_t function_in(const std::vector<Mapping>& mappings, std::string_view library, const char* name) {
  const Mapping* head = find_library(mappings, library);
  if (head == nullptr) return 0;
  const ElfFile file(head->path);
  const std::optional<std::uint64_t> address = file.function(name);
  const std::optional<std::uint64_t> first = file.first_address();
  return address && first ? head->begin - *first + *address : 0;
}

std::uint64_t find_signal_return(const std::vector<Mapping>& mappings) {
  const Mapping* head = find_library(mappings, "libc.so.6");
  if (head == nullptr) return 0;
  std::ifstream file(head->path, std::ios::binary);
  for (const Mapping& code : mappings) {
    if (code.path != head->path || !code.is_code) continue;
    std::string bytes(code.end - code.begin, '\0');
    file.seekg(static_cast<std::streamoff>(code.file_offset));
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    file.clear();
    const auto found = std::search(bytes.begin(), bytes.end(), kSignalReturn.begin(), kSignalReturn.end(),
                                   [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; });
    if (found != bytes.end()) return code.begin + static_cast<std::uint64_t>(found - bytes.begin());
  }
  return 0;
}

bool shares_namespace(int pid, const char* which) {
  std::error_code failed;
  const fs::path theirs = fs::read_symlink(format_text("/proc/{}/ns/{}", pid, which), failed);
  const fs::path ours = fs::read_symlink(format_text("/proc/self/ns/{}", which), failed);
  return !failed && theirs == ours;
}

// Empty, or why not.
std::string problem_of(int pid, const std::vector<Mapping>& mappings) {
  struct stat owner {};
  if (has_ended(pid)) return "there is no such process, or it has ended";
  if (stat(format_text("/proc/{}", pid).c_str(), &owner) != 0) return "/proc tells nothing about it";
  if (geteuid() != 0 && owner.st_uid != geteuid()) return "it is another user's; ask as that user, or as root";
  if (const std::string tracer = status_field(pid, "TracerPid"); tracer != "0" && !tracer.empty())
    return "process " + tracer + " traces it; end that debugger first";
  if (!shares_namespace(pid, "mnt") || !shares_namespace(pid, "pid"))
    return "it is in a container; run this command inside of it, as docker exec CONTAINER synctrace attach PID";
  if (mappings.empty()) return "its memory map cannot be read; ask as root";
  if (!ElfFile(format_text("/proc/{}/exe", pid)).is_x86_64())
    return std::string("it is no program for x86-64; ") + kInstead;
  if (find_library(mappings, "libc.so.6") == nullptr)
    return "it is static, or its C library is not glibc: no recorder can be loaded";
  if (status_field(pid, "x86_Thread_features").find("shstk") != std::string::npos)
    return std::string("its shadow stack forbids to call a function in it; ") + kInstead;
  if (status_field(pid, "Seccomp") == "1") return "it is in seccomp's strict mode";
  return {};
}

}  // namespace

const Mapping* TargetProcess::mapping_of(std::uint64_t address) const noexcept {
  const auto found =
      std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& one) { return one.holds(address); });
  return found == mappings.end() ? nullptr : &*found;
}

Result<TargetProcess> look_at_process(int pid) {
  TargetProcess target;
  target.pid = pid;
  target.mappings = read_mappings(pid);
  if (const std::string problem = problem_of(pid, target.mappings); !problem.empty()) return refuse(pid, problem);
  target.has_recorder = find_library(target.mappings, format::kLibraryName) != nullptr;
  target.dlopen = function_in(target.mappings, "libc.so.6", "dlopen");
  // Before glibc 2.34 it is in a library of its own, if the program uses it.
  if (target.dlopen == 0) target.dlopen = function_in(target.mappings, "libdl.so.2", "dlopen");
  target.signal_return = find_signal_return(target.mappings);
  if (target.dlopen == 0 || target.signal_return == 0)
    return refuse(pid, std::string("its C library has no dlopen that can be called; ") + kInstead);
  return target;
}

bool has_ended(int pid) { return (kill(pid, 0) != 0 && errno == ESRCH) || status_field(pid, "State").starts_with("Z"); }

std::vector<int> threads_of(int pid) {
  std::vector<int> threads;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(format_text("/proc/{}/task", pid), failed)) {
    const std::string name = entry.path().filename().string();
    int thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0 && thread != pid) threads.push_back(thread);
  }
  threads.push_back(pid);
  return threads;
}

}  // namespace synctrace::cli
