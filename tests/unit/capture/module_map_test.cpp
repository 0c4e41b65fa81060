// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/module_map.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "support/catch.h"

namespace {

using namespace synctrace::capture;

const Module* module_of(const void* address) {
  return module_map.current().find(reinterpret_cast<std::uintptr_t>(address));
}

int here() { return 1; }

TEST_CASE("Every function is found in the module it lies in") {
  module_map.refresh();
  const Module* program = module_of(reinterpret_cast<const void*>(&here));
  const Module* libc = module_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  REQUIRE(program != nullptr);
  REQUIRE(libc != nullptr);
  CHECK(program != libc);
  CHECK(std::string(program->path).find("unit_capture") != std::string::npos);
  CHECK(std::string(libc->path).find("libc.so") != std::string::npos);
  Dl_info info{};
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info) != 0);
  CHECK(libc->bias == reinterpret_cast<std::uintptr_t>(info.dli_fbase));
  CHECK(libc->build_id().size() == 20);
  CHECK(module_map.current().find(0) == nullptr);
  CHECK(module_map.current().find(~std::uintptr_t{0}) == nullptr);
  int on_stack = 0;
  CHECK(module_of(&on_stack) == nullptr);
}

TEST_CASE("A module is known again by its page, or by the start of a segment of one with holes") {
  ModuleImage image;
  image.begin = 0x10000920;
  image.end = 0x10080000;
  image.eh_frame_header = 0x10030000;
  const Module module(image);
  CHECK(module.is_at(0x10000000, 0x10030000));
  CHECK(module.is_at(0x10048920, 0x10030000));
  CHECK_FALSE(module.is_at(0x10048920, 0x10030004));
  CHECK_FALSE(module.is_at(0x0fff0920, 0x10030000));
  CHECK_FALSE(module.is_at(0x10080000, 0x10030000));
}

TEST_CASE("Segments' file offsets lead to the code that is mapped") {
  module_map.refresh();
  const Module* libc = module_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  REQUIRE(libc != nullptr);
  const ModuleSegment& code = libc->code()[0];
  std::FILE* file = std::fopen(libc->path, "rb");
  REQUIRE(file != nullptr);
  unsigned char bytes[64] = {};
  REQUIRE(std::fseek(file, static_cast<long>(code.file_offset), SEEK_SET) == 0);
  REQUIRE(std::fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes));
  std::fclose(file);
  CHECK(std::equal(std::begin(bytes), std::end(bytes), reinterpret_cast<const unsigned char*>(code.begin)));
}

TEST_CASE("A map is sorted, without overlaps, and both ends of each range are exact") {
  module_map.refresh();
  const CodeMap& map = module_map.current();
  std::uintptr_t last = 0;
  for (const CodeMap::Range& range : map.ranges()) {
    CHECK(range.begin >= last);
    CHECK(range.end > range.begin);
    CHECK(map.find(range.begin) == range.module);
    CHECK(map.find(range.end - 1) == range.module);
    CHECK(map.find(range.end) != range.module);
    last = range.end;
  }
  CHECK(map.ranges().size() >= 3);
}

TEST_CASE("Loading and unloading make new maps; what was unloaded stays known; what comes back is the same") {
  module_map.refresh();
  CHECK(!module_map.refresh());
  const CodeMap& before = module_map.current();

  void* library = dlopen(SYNCTRACE_PROBE, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  CHECK(module_map.refresh());
  const void* function = dlsym(library, "probe_call");
  const Module* loaded = module_of(function);
  REQUIRE(loaded != nullptr);
  CHECK(module_map.current().generation() == before.generation() + 1);
  CHECK(before.find(reinterpret_cast<std::uintptr_t>(function)) == nullptr);  // the old map is as it was

  dlclose(library);
  CHECK(module_map.refresh());
  CHECK(module_of(function) == nullptr);
  bool known = false;
  std::set<std::uint32_t> ids;
  for (const Module* module = module_map.newest(); module != nullptr; module = module->previous) {
    known = known || module == loaded;
    CHECK(ids.insert(module->id).second);
  }
  CHECK(known);

  library = dlopen(SYNCTRACE_PROBE, RTLD_NOW | RTLD_LOCAL);
  CHECK(module_map.refresh());
  if (dlsym(library, "probe_call") == function) CHECK(module_of(function) == loaded);
  dlclose(library);
}

}  // namespace
