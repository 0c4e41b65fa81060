// SPDX-License-Identifier: Apache-2.0
// What is read from memory, beside what the loader says of the same modules: this program loads nothing meanwhile.
#include "capture/unwind/module_image.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "capture/unwind/module_map.h"
#include "capture/unwind/module_symbols.h"
#include "support/catch.h"

namespace {

using namespace synctrace::capture;

struct Loaded {
  std::uintptr_t bias = 0;
  std::uintptr_t code = 0;
  std::uintptr_t eh_frame_header = 0;
  std::uintptr_t end = 0;
};

std::vector<Loaded> modules_of_loader() {
  std::vector<Loaded> all;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        Loaded one{info->dlpi_addr};
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0 && one.code == 0) one.code = begin;
          if (header.p_type == PT_LOAD) one.end = begin + header.p_memsz;
          if (header.p_type == PT_GNU_EH_FRAME) one.eh_frame_header = begin;
        }
        static_cast<std::vector<Loaded>*>(into)->push_back(one);
        return 0;
      },
      &all);
  return all;
}

const Module& module_at(std::uintptr_t address) {
  const Module* module = module_map.current().find(address);
  REQUIRE(module != nullptr);
  return *module;
}

std::uintptr_t address_of(const char* name) { return reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, name)); }

// A file of its own in memory, mapped as a loader would begin: whole, for reading and running.
class MappedFile {
 public:
  explicit MappedFile(const std::vector<char>& bytes, int rights) : bytes_(bytes.size()) {
    const int file = memfd_create("module", MFD_CLOEXEC);
    REQUIRE(write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    memory_ = mmap(nullptr, bytes_, rights, MAP_PRIVATE, file, 0);
    REQUIRE(memory_ != MAP_FAILED);
    close(file);
  }
  ~MappedFile() { munmap(memory_, bytes_); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

bool read_image_at(std::uintptr_t begin, ModuleImage& image) {
  ProcessMaps maps;
  REQUIRE(maps.read());
  const MappedPiece* piece = maps.at(begin);
  REQUIRE(piece != nullptr);
  return read_module_image(maps, *piece, image);
}

TEST_CASE("All that the loader has is found where it has it") {
  module_map.refresh();
  const std::vector<Loaded> all = modules_of_loader();
  REQUIRE(all.size() >= 4);
  for (const Loaded& loaded : all) {
    const Module& module = module_at(loaded.code);
    CAPTURE(module.path);
    CHECK(module.bias == loaded.bias);
    CHECK(module.end == loaded.end);
    CHECK(module.eh_frame_header == loaded.eh_frame_header);
    CHECK_FALSE(module.build_id().empty());
  }
}

TEST_CASE("The program itself and what is bound at its start may be called") {
  module_map.refresh();
  CHECK(module_at(reinterpret_cast<std::uintptr_t>(&read_image_at)).is_relocated);
  CHECK(module_at(address_of("gnu_get_libc_version")).is_relocated);
}

TEST_CASE("A file that is mapped as data, or that the loader has just begun with, is no module") {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  ModuleImage image;
  const MappedFile data(bytes, PROT_READ);
  CHECK_FALSE(read_image_at(data.begin(), image));
  const MappedFile out_of_reach(bytes, PROT_NONE);
  CHECK_FALSE(read_image_at(out_of_reach.begin(), image));
  const MappedFile short_of_headers({bytes.begin(), bytes.begin() + 32}, PROT_READ | PROT_EXEC);
  CHECK_FALSE(read_image_at(short_of_headers.begin(), image));
}

TEST_CASE("Headers may say anything") {
  std::ifstream file(SYNCTRACE_PROBE, std::ios::binary);
  const std::vector<char> whole{std::istreambuf_iterator<char>(file), {}};
  std::mt19937 random(7);
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  int found = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<char> bytes = whole;
    for (std::size_t changes = below(6); changes != 0; --changes)
      bytes[64 + below(1000)] = static_cast<char>(below(2) == 0 ? below(256) : 0xff);
    const MappedFile mapped(bytes, PROT_READ | PROT_EXEC);
    ModuleImage image;
    if (!read_image_at(mapped.begin(), image)) continue;
    ++found;
    ModuleSymbols symbols;
    ModuleSymbols::Symbol symbol;
    if (symbols.open(image)) symbols.find("probe_call", symbol);
  }
  CHECK(found < 3000);
}

TEST_CASE("A library whose file is gone keeps its name") {
  const std::string path = "/tmp/module_image_test." + std::to_string(getpid()) + ".so";
  std::ofstream(path, std::ios::binary) << std::ifstream(SYNCTRACE_PROBE, std::ios::binary).rdbuf();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  unlink(path.c_str());
  REQUIRE(library != nullptr);
  module_map.refresh();
  CHECK(module_at(reinterpret_cast<std::uintptr_t>(dlsym(library, "probe_call"))).path == path);
  dlclose(library);
}

TEST_CASE("A second namespace has modules of its own") {
  void* library = dlmopen(LM_ID_NEWLM, SYNCTRACE_PROBE, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;  // a sanitizer's runtime cannot be loaded twice
  module_map.refresh();
  CHECK(module_map.current().find(reinterpret_cast<std::uintptr_t>(dlsym(library, "probe_call"))) != nullptr);
  dlclose(library);
}

TEST_CASE("Symbols are found where the loader finds them") {
  module_map.refresh();
  ModuleSymbols symbols;
  void* library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);  // a sanitizer has some of its functions, too
  REQUIRE(symbols.open(module_at(address_of("gnu_get_libc_version"))));
  for (const char* name : {"gnu_get_libc_version", "qsort", "environ", "fclose", "getauxval", "__libc_start_main"}) {
    CAPTURE(name);
    ModuleSymbols::Symbol symbol;
    REQUIRE(symbols.find(name, symbol));
    CHECK(symbol.bytes != 0);
    // The program has a copy of the library's variable.
    if (std::strcmp(name, "environ") != 0)
      CHECK(symbol.address == reinterpret_cast<std::uintptr_t>(dlsym(library, name)));
  }
  ModuleSymbols::Symbol symbol;
  CHECK_FALSE(symbols.find("no_such_function", symbol));
  CHECK_FALSE(symbols.find("", symbol));
  CHECK_FALSE(symbols.find(std::string(500, 'x').c_str(), symbol));
}

TEST_CASE("How much code is mapped changes when a library comes") {
  const std::uint64_t before = mapped_code_kib();
  REQUIRE(before != 0);
  void* library = dlopen(SYNCTRACE_PROBE, RTLD_NOW | RTLD_LOCAL);
  CHECK(mapped_code_kib() > before);
  dlclose(library);
}

}  // namespace
