// SPDX-License-Identifier: Apache-2.0
#include "names/symbolize.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <random>

#include "names/symbol_table.h"
#include "support/catch.h"
#include "support/temporary_folder.h"

namespace synctrace {
namespace {

using testing::read_file;
using testing::TemporaryFolder;
using Frames = std::vector<ResolvedFrame>;

// A library that is loaded into this process, as the recorder would describe it.
struct LoadedLibrary {
  explicit LoadedLibrary(const std::string& path) : handle(::dlopen(path.c_str(), RTLD_NOW)) {
    REQUIRE(handle != nullptr);
    link_map* map = nullptr;
    REQUIRE(::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0);
    module.path = map->l_name;
    module.load_bias = map->l_addr;
  }
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;
  ~LoadedLibrary() { ::dlclose(handle); }

  // The return address that the function of that name answers with, relative to the library.
  NativeAddress site(const char* name) const {
    const auto function = reinterpret_cast<const void* (*)()>(::dlsym(handle, name));
    REQUIRE(function != nullptr);
    return {module_address(module, reinterpret_cast<std::uint64_t>(function())), true};
  }

  void* handle;
  NativeModule module;
};

Frames resolve_one(const NativeModule& module, NativeAddress address) {
  Symbolizer symbolizer({.roots = SourceRoots::everywhere()});
  return symbolizer.resolve(module, {&address, 1}).front();
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void check_frame(const ResolvedFrame& frame, const std::string& function, std::uint32_t line, bool inlined) {
  CHECK(frame.kind == FrameKind::kNative);
  CHECK(frame.named);
  CHECK(frame.function == function);
  CHECK(file_name(frame.file) == "symbolize_program.cpp");
  CHECK(frame.file.front() == '/');
  CHECK(frame.line == line);
  CHECK(frame.inlined == inlined);
}

void check_sites(const std::string& path) {
  const LoadedLibrary library(path);
  const Frames plain = resolve_one(library.module, library.site("plain_site"));
  REQUIRE(plain.size() == 1);
  check_frame(plain[0], "plain_site", 29, false);
  const Frames inlined = resolve_one(library.module, library.site("inlined_site"));
  REQUIRE(inlined.size() == 3);
  check_frame(inlined[0], "void const* shapes::Site::innermost<int>(int)", 15, true);
  check_frame(inlined[1], "shapes::Site::middle(int)", 20, true);
  check_frame(inlined[2], "inlined_site", 36, false);
}

// The functions of .dynsym, read from a copy of the file without help from elfutils.
struct Exported {
  std::string name;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

std::vector<Exported> exported_functions(const std::string& path) {
  const std::string bytes = read_file(path);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), bytes.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  std::vector<Exported> functions;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM) continue;
    for (std::uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes.data() + section.sh_offset + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
      functions.push_back(
          {bytes.data() + sections[section.sh_link].sh_offset + symbol.st_name, symbol.st_value, symbol.st_size});
    }
  }
  return functions;
}

NativeModule loaded_module(const void* inside) {
  Dl_info info{};
  REQUIRE(::dladdr(inside, &info) != 0);
  NativeModule module;
  module.path = info.dli_fname;
  return module;
}

// How many files this process holds open.
std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

NativeModule libstdcxx() { return loaded_module(reinterpret_cast<const void*>(&std::_Hash_bytes)); }

}  // namespace

TEST_CASE("a return address gets the line of its call and the functions inlined there") {
  check_sites(SYMBOLIZE_LIBRARY);
}

TEST_CASE("DWARF 4 says the same") { check_sites(SYMBOLIZE_LIBRARY_DWARF4); }

TEST_CASE("a file without an address table says the same") { check_sites(SYMBOLIZE_LIBRARY_NO_ARANGES); }

TEST_CASE("without debugging information there are names only") {
  const LoadedLibrary library(SYMBOLIZE_LIBRARY_STRIPPED);
  const NativeAddress site = library.site("inlined_site");
  const Frames frames = resolve_one(library.module, site);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function == "inlined_site");
  CHECK(frames[0].named);
  CHECK(frames[0].file.empty());
  CHECK(frames[0].line == 0);
}

TEST_CASE("a return address after the last instruction belongs to the call before it") {
  const NativeModule module = libstdcxx();
  const std::vector<Exported> functions = exported_functions(module.path);
  const auto is_alone = [&](const Exported& one) {
    const std::uint64_t end = one.begin + one.size;
    return std::none_of(functions.begin(), functions.end(),
                        [&](const Exported& other) { return other.begin <= end && end < other.begin + other.size; });
  };
  const auto found = std::find_if(functions.begin(), functions.end(), is_alone);
  REQUIRE(found != functions.end());
  CHECK(resolve_one(module, {found->begin + found->size, true}).back().named);
  CHECK_FALSE(resolve_one(module, {found->begin + found->size, false}).back().named);
}

TEST_CASE("no name for an address outside every symbol's size") {
  const Frames frames = resolve_one(libstdcxx(), {0x10, false});
  REQUIRE(frames.size() == 1);
  CHECK_FALSE(frames[0].named);
  CHECK(frames[0].function == file_name(libstdcxx().path) + "+0x10");
}

TEST_CASE("every exported function of libstdc++ is found by each of its ends") {
  const NativeModule module = libstdcxx();
  const std::vector<Exported> functions = exported_functions(module.path);
  REQUIRE(functions.size() > 1000);
  std::vector<NativeAddress> addresses;
  for (const Exported& function : functions) {
    addresses.push_back({function.begin, false});
    addresses.push_back({function.begin + function.size - 1, false});
  }
  Symbolizer symbolizer({.roots = SourceRoots::everywhere()});
  const auto answers = symbolizer.resolve(module, addresses);
  REQUIRE(answers.size() == addresses.size());
  std::size_t unnamed = 0;
  for (const Frames& frames : answers) unnamed += frames.back().named ? 0 : 1;
  CHECK(unnamed == 0);
}

TEST_CASE("10,000 addresses take less than a second") {
  const NativeModule module = libstdcxx();
  std::vector<NativeAddress> addresses;
  for (std::uint64_t i = 0; i < 10'000; ++i) addresses.push_back({0xa0000 + i * 97, true});
  Symbolizer symbolizer({.roots = SourceRoots::everywhere()});
  const auto begin = std::chrono::steady_clock::now();
  symbolizer.resolve(module, addresses);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  CHECK(symbolizer.counts().addresses == 10'000);
  CHECK(symbolizer.counts().named > 1'000);
  INFO("10,000 addresses of libstdc++: " << taken.count() * 1e3 << " ms");
  CHECK(taken.count() < 10.0);  // a bound against quadratic work only: the machine may be slow
}

TEST_CASE("the same address twice is one question and two answers") {
  const NativeModule module = libstdcxx();
  const std::vector<NativeAddress> addresses = {{0xb0001, true}, {0x10, false}, {0xb0001, true}};
  Symbolizer symbolizer({.roots = SourceRoots::everywhere()});
  const auto answers = symbolizer.resolve(module, addresses);
  CHECK(symbolizer.counts().addresses == 2);
  CHECK(answers[0].back().function == answers[2].back().function);
  CHECK(answers[0].back().function != answers[1].back().function);
}

TEST_CASE("a file that is not the one that ran is not used") {
  NativeModule module = libstdcxx();
  module.build_id = "00112233445566778899aabbccddeeff00112233";
  Symbolizer symbolizer({.roots = SourceRoots::everywhere()});
  const std::vector<NativeAddress> address = {{0xb0001, true}};
  CHECK_FALSE(symbolizer.resolve(module, address)[0].back().named);
  CHECK(symbolizer.losses().count(kLossSymbolsChanged) == 1);
}

TEST_CASE("the file that ran is known by its build-id, and opened wherever it lies") {
  LoadedLibrary library(SYMBOLIZE_LIBRARY);
  const NativeAddress address = library.site("plain_site");
  for (const std::string build_id : {SYMBOLIZE_BUILD_ID, SYMBOLIZE_BUILD_ID "00"}) {
    library.module.build_id = build_id;
    Symbolizer symbolizer;  // no folder is allowed
    const Frames frames = symbolizer.resolve(library.module, {&address, 1}).front();
    const bool is_it = build_id == SYMBOLIZE_BUILD_ID;
    CHECK(frames.back().function == (is_it ? "plain_site" : offset_text(library.module.path, address.address)));
    CHECK(symbolizer.losses().count(kLossSymbolsChanged) == (is_it ? 0 : 1));
    CHECK(symbolizer.losses().count(kLossSymbolsUnverified) == 0);
  }
}

TEST_CASE("what is no program is counted, and its addresses keep their numbers") {
  const TemporaryFolder folder;
  const std::string text = "#!/bin/sh\nexit 0\n";
  const std::string script = folder.write("script", std::as_bytes(std::span(text)));
  const std::string fifo = folder.path("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  struct Case {
    std::string path;
    std::string_view loss;
  };
  const std::vector<Case> cases = {{script, kLossSymbolsUnusable},
                                   {fifo, kLossSymbolsUnusable},
                                   {folder.path("."), kLossSymbolsUnusable},
                                   {"/dev/zero", kLossSymbolsUnusable},
                                   {folder.write("empty", {}), kLossSymbolsUnusable},
                                   {folder.path("absent"), kLossSymbolsMissing},
                                   {"relative/name.so", kLossSymbolsMissing},
                                   {script + std::string("\0x", 2), kLossSymbolsMissing},
                                   {"/" + std::string(1 << 20, 'x'), kLossSymbolsMissing}};
  for (const Case& one : cases) {
    CAPTURE(one.path.substr(0, 100));
    NativeModule module;
    module.path = one.path;
    Symbolizer symbolizer({.roots = SourceRoots::everywhere()});
    const std::vector<NativeAddress> addresses = {{0x1234, true}, {0, true}, {~std::uint64_t{0}, false}};
    const auto answers = symbolizer.resolve(module, addresses);
    REQUIRE(answers.size() == 3);
    for (const Frames& frames : answers) {
      REQUIRE(frames.size() == 1);
      CHECK_FALSE(frames[0].named);
    }
    CHECK(answers[0][0].function.ends_with("+0x1234"));
    CHECK(symbolizer.losses().count(one.loss) == 1);
    CHECK_FALSE(describe_loss(one.loss).sentence.empty());
  }
}

TEST_CASE("files over the limit are not opened") {
  SymbolizeOptions options{.roots = SourceRoots::everywhere()};
  options.max_file_bytes = 1000;
  Symbolizer symbolizer(options);
  const std::vector<NativeAddress> address = {{0xb0001, true}};
  CHECK_FALSE(symbolizer.resolve(libstdcxx(), address)[0].back().named);
  CHECK(symbolizer.losses().count(kLossSymbolsUnusable) == 1);
}

TEST_CASE("the kernel's pages are no loss") {
  NativeModule module;
  module.path = "[vdso]";
  Symbolizer symbolizer({.roots = SourceRoots::everywhere()});
  const std::vector<NativeAddress> address = {{0x9d0, true}};
  CHECK(symbolizer.resolve(module, address)[0][0].function == "[vdso]+0x9d0");
  CHECK(symbolizer.losses().counters().empty());
}

TEST_CASE("debuginfod's variable is back afterwards") {
  ::setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
  CHECK(resolve_one(libstdcxx(), {0x10, false}).size() == 1);
  REQUIRE(std::getenv("DEBUGINFOD_URLS") != nullptr);
  CHECK(std::string(std::getenv("DEBUGINFOD_URLS")) == "http://localhost:1");
  ::unsetenv("DEBUGINFOD_URLS");
}

TEST_CASE("a symbol that a file has many times is one name") {
  const NativeModule library = libstdcxx();
  std::string bytes = read_file(library.path);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  Elf64_Sym function{};
  for (Elf64_Half i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_DYNSYM) continue;
    for (std::uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      char* const place = bytes.data() + section.sh_offset + at;
      Elf64_Sym symbol;
      std::memcpy(&symbol, place, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
      if (function.st_size == 0) function = symbol;
      std::memcpy(place, &function, sizeof function);
    }
  }
  REQUIRE(function.st_size > 0);
  const TemporaryFolder folder;
  NativeModule module;
  module.path = folder.write("alike.so", std::as_bytes(std::span(bytes)));
  const Frames frames = resolve_one(module, {function.st_value, false});
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].named);
}

TEST_CASE("damaged files never crash the reader") {
  const TemporaryFolder folder;
  const std::string whole = read_file(SYMBOLIZE_LIBRARY);
  const std::vector<NativeAddress> addresses = {{0x1100, true}, {0x1120, true}, {0x1140, true}, {0x1160, false}};
  const std::ptrdiff_t open_before = open_files();
  std::mt19937 random(20261121);
  for (int round = 0; round < SYMBOLIZE_DAMAGE_ROUNDS; ++round) {
    std::string bytes = whole;
    const std::size_t damages = 1 + random() % 64;
    for (std::size_t i = 0; i < damages; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 4 == 0) bytes[random() % 64] = static_cast<char>(random());
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    NativeModule module;
    module.path = folder.write("damaged.so", std::as_bytes(std::span(bytes)));
    Symbolizer symbolizer({.roots = SourceRoots::everywhere()});
    CHECK(symbolizer.resolve(module, addresses).size() == addresses.size());
  }
  CHECK(open_files() == open_before);
}

TEST_CASE("names in words") {
  CHECK(demangled("_ZN6shapes4Site6middleEi") == "shapes::Site::middle(int)");
  CHECK(demangled("plain_site") == "plain_site");
  CHECK(demangled("_Znonsense") == "_Znonsense");
  CHECK(demangled("_Z").size() == 2);
  // No reference to another part of the name, however often these letters come.
  std::string letters;
  for (int i = 0; i < 60; ++i) letters += "SaTb";
  CHECK(demangled(("_Z240" + letters + "v").c_str()) == letters + "()");
  CHECK(demangled(std::string(1 << 20, 'x').c_str()).size() == kLongestName);
}

TEST_CASE("a short name that stands for gigabytes stays as it is") {
  // Each level names the one before twice.
  std::string bomb = "_Z1f1AI1BS0_E";
  for (int i = 0; i < 60; ++i)
    bomb += "1AIS" + std::string(1, static_cast<char>('0' + i % 10)) + "_S" +
            std::string(1, static_cast<char>('0' + i % 10)) + "_E";
  CHECK(demangled(bomb.c_str()) == bomb);
}

}  // namespace synctrace
