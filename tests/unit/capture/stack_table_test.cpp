// SPDX-License-Identifier: Apache-2.0
// Stacks of this program: taken, drained, written, read back.
#include "capture/stacks/stack_table.h"

#include <dlfcn.h>
#include <signal.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "capture/stacks/stack_records.h"
#include "capture/unwind/module_map.h"
#include "capture/unwind/unwind_table.h"
#include "capture_support.h"

namespace synctrace::capture {
namespace {

using testing::OpenTrace;
using testing::read_trace;
using testing::start_stacks;

struct ReadBack {
  std::map<std::uint32_t, std::string> stacks;
  std::map<std::uint32_t, std::string> modules;  // id -> path
  std::map<std::uint32_t, std::uint64_t> biases;
  bool modules_come_first = true;
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

// All that the rings hold, by way of a file.
ReadBack drain_and_read() {
  OpenTrace trace;
  StackRecords records(*trace.stream);
  // Each trace of this process is to have its modules.
  for (const Module* module = module_map.newest(); module != nullptr; module = module->previous)
    module->is_in_trace = false;
  thread_buffers.for_each([&](ThreadBuffer& buffer) {
    buffer.take_all([&](const EventView& event) {
      if (event.kind == format::RecordKind::kStack) records.add_stack(event);
      if (event.kind == format::RecordKind::kCode) records.add_code(event);
    });
  });
  trace.stream->end("exit");
  ReadBack result;
  read_trace(trace.path(), [&](const auto& record) {
    using Record = std::remove_cvref_t<decltype(record)>;
    if constexpr (std::is_same_v<Record, format::Module>) {
      result.modules[record.id] = record.path;
      result.biases[record.id] = record.bias;
    }
    if constexpr (std::is_same_v<Record, format::Stack>) {
      result.stacks[number(record.id)] = record.frames;
      for (const std::string& word : words(std::string(record.frames))) {
        if (word[0] != 'n' && word[0] != 'i') continue;
        const auto id = static_cast<std::uint32_t>(std::stoul(word.substr(1)));
        result.modules_come_first = result.modules_come_first && (id == 0 || result.modules.count(id) == 1);
      }
    }
  });
  return result;
}

// This program's own frames count as the recorder's, since both are one module: the probe calls from outside.
using ProbeCall = int (*)(int (*)(void*), void*);

ProbeCall load_probe(void*& library) {
  library = dlopen(SYNCTRACE_PROBE, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  module_map.refresh();
  build_missing_tables(module_map);
  return reinterpret_cast<ProbeCall>(dlsym(library, "probe_call"));
}

int capture_into(void* id) {
  *static_cast<StackId*>(id) = capture_stack();
  return 0;
}

TEST_CASE("a stack has an id of its own, is written once, and names its modules") {
  start_stacks(StackKinds::kAll);
  void* library = nullptr;
  const ProbeCall call = load_probe(library);
  drain_and_read();
  StackId ids[3]{};
  for (StackId& id : ids) call(capture_into, &id);
  CHECK(ids[0] != StackId{});
  CHECK(ids[1] == ids[2]);  // one place in a loop
  const ReadBack trace = drain_and_read();
  CHECK(trace.modules_come_first);
  REQUIRE(trace.stacks.count(number(ids[1])) == 1);
  const std::vector<std::string> frames = words(trace.stacks.at(number(ids[1])));
  REQUIRE(frames.size() > 2);
  CHECK(frames[0][0] == 'n');
  const auto module = static_cast<std::uint32_t>(std::stoul(frames[0].substr(1)));
  CHECK(trace.modules.at(module).find("native_unwind_probe") != std::string::npos);
  CHECK(frames.back() != "~");
  // The address leads back into the function that called.
  const std::uint64_t address =
      std::stoull(frames[0].substr(frames[0].find(':') + 1), nullptr, 16) + trace.biases.at(module);
  Dl_info caller;
  REQUIRE(dladdr(reinterpret_cast<void*>(address), &caller) != 0);
  CHECK(caller.dli_saddr == reinterpret_cast<void*>(call));
  CHECK(drain_and_read().stacks.empty());
  dlclose(library);
  module_map.refresh();
}

TEST_CASE("the next trace has each stack again, in the threads that were there before") {
  start_stacks(StackKinds::kAll);
  void* library = nullptr;
  const ProbeCall call = load_probe(library);
  drain_and_read();
  ReadBack first;
  StackId ids[8]{};
  for (StackId& id : ids) {  // one place
    if (&id == &ids[4]) {
      first = drain_and_read();
      shared_stacks.trace.fetch_add(1);
    }
    call(capture_into, &id);
  }
  const ReadBack second = drain_and_read();
  CHECK(ids[2] == ids[3]);
  CHECK(ids[6] == ids[7]);
  CHECK(ids[3] != ids[7]);
  REQUIRE(first.stacks.count(number(ids[3])) == 1);
  REQUIRE(second.stacks.count(number(ids[7])) == 1);
  CHECK(first.stacks.at(number(ids[3])) == second.stacks.at(number(ids[7])));
  CHECK(second.modules_come_first);
  dlclose(library);
  module_map.refresh();
}

TEST_CASE("a module that comes back elsewhere is another module, and its stack another stack") {
  start_stacks(StackKinds::kAll);
  void* first_library = nullptr;
  StackId first{};
  load_probe(first_library)(capture_into, &first);
  const ReadBack before = drain_and_read();
  dlclose(first_library);
  // Takes its place.
  void* other = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  void* second_library = nullptr;
  const ProbeCall call = load_probe(second_library);
  StackId second{};
  call(capture_into, &second);
  const ReadBack after = drain_and_read();
  CHECK(after.modules_come_first);
  if (after.stacks.count(number(second)) == 1) {
    const std::string frame = words(after.stacks.at(number(second))).front();
    const auto module = static_cast<std::uint32_t>(std::stoul(frame.substr(1)));
    CHECK(after.modules.at(module).find("native_unwind_probe") != std::string::npos);
  } else {
    CHECK(second == first);  // it came back to the same place
  }
  dlclose(second_library);
  if (other != nullptr) dlclose(other);
  module_map.refresh();
}

TEST_CASE("every thread prepares itself and gives everything back") {
  start_stacks(StackKinds::kAll);
  void* library = nullptr;
  const ProbeCall call = load_probe(library);
  CHECK(stack_budget_here() != nullptr);
  std::set<StackId> ids;
  for (int i = 0; i < 3; ++i) {
    StackId id{};
    bool before = true;
    bool after = false;
    std::thread([&] {
      before = stacks_prepared_here();
      call(capture_into, &id);
      after = stacks_prepared_here();
    }).join();
    CHECK_FALSE(before);
    CHECK(after);
    CHECK(id != StackId{});
    ids.insert(id);
  }
  CHECK(ids.size() == 3);
  drain_and_read();
  dlclose(library);
  module_map.refresh();
}

StackId in_handler{};

void on_signal(int, siginfo_t*, void* context) { in_handler = capture_interrupted_stack(context); }

TEST_CASE("what a signal interrupted is a stack as well") {
  start_stacks(StackKinds::kAll);
  REQUIRE(stack_budget_here() != nullptr);
  drain_and_read();
  struct sigaction action {};
  struct sigaction before {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);
  in_handler = StackId{};
  raise(SIGUSR1);
  CHECK(in_handler != StackId{});
  const ReadBack trace = drain_and_read();
  REQUIRE(trace.stacks.count(number(in_handler)) == 1);
  const std::vector<std::string> frames = words(trace.stacks.at(number(in_handler)));
  CHECK(frames[0][0] == 'i');  // in the C library, at exactly this instruction
  CHECK(frames.back() != "~");

  // A thread that is not prepared has none.
  in_handler = StackId{1};
  std::thread([] { raise(SIGUSR1); }).join();
  CHECK(in_handler == StackId{});
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("python alone and none take no native frames; a forked child takes none at all") {
  start_stacks(StackKinds::kAll);
  void* library = nullptr;
  const ProbeCall call = load_probe(library);
  StackId id{};
  enable_stacks(StackKinds::kPython);
  call(capture_into, &id);
  CHECK(id == StackId{});  // no Python here
  enable_stacks(StackKinds::kNone);
  CHECK(stack_budget_here() == nullptr);
  enable_stacks(StackKinds::kAll);
  call(capture_into, &id);
  CHECK(id != StackId{});
  switch_stacks(StackKinds::kNone);
  call(capture_into, &id);
  CHECK(id == StackId{});
  enable_stacks(StackKinds::kAll);
  dlclose(library);
  module_map.refresh();
}

}  // namespace
}  // namespace synctrace::capture
