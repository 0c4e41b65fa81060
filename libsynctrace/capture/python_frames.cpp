// SPDX-License-Identifier: Apache-2.0
#include "capture/python_frames.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>

#include "capture/python_walk.h"

namespace synctrace::capture {

namespace {

constexpr std::uint32_t kFirstReleaseCandidate = 0xc0;  // in the low byte of PY_VERSION_HEX

template <class Memory>
class Recorder {
 public:
  using Block = typename Memory::Block;

  Recorder(const PythonLayout& layout, PythonStack& out) noexcept : layout_(layout), out_(out) {}

  bool frame(std::uintptr_t code, const Block& about, std::int64_t offset) noexcept {
    if (!Memory::kIsTrusted && !is_sound(about, offset)) {
      is_sound_ = false;
      return false;
    }
    if (out_.count == PythonStack::kMaxFrames) {
      out_.is_truncated = true;
      return is_open_;  // on to the entry, which says where the kept frames belong on the C stack
    }
    const std::int32_t kept = offset < 0 || offset > INT32_MAX ? -1 : static_cast<std::int32_t>(offset);
    out_.frames[out_.count++] = {code, code_identity(layout_, about), 0, kept, false};
    is_open_ = true;
    return true;
  }

  // Ends the frames of one eval loop. Loops without a frame of their own to show (all incomplete) leave no mark.
  void entry(std::uintptr_t address) noexcept {
    if (!is_open_) return;
    PythonFrame& outermost = out_.frames[out_.count - 1];
    outermost.is_entry = true;
    outermost.entry_address = address;
    is_open_ = false;
  }

  // False when a frame was met that cannot be one.
  bool is_sound() const noexcept { return is_sound_; }

 private:
  bool is_sound(const Block& about, std::int64_t offset) const noexcept {
    for (const std::uint16_t field : {layout_.code_file, layout_.code_name, layout_.code_line_table}) {
      if (!is_plausible(about.pointer(field))) return false;
    }
    if (layout_.position_scale != 0) return offset >= -2;
    return offset >= -2 && offset < 2 * about.template get<std::int64_t>(python_object::kSize);
  }

  const PythonLayout& layout_;
  PythonStack& out_;
  bool is_open_ = false;
  bool is_sound_ = true;
};

// Looks at every frame the way that nothing on the hot path does.
class Checker {
 public:
  explicit Checker(const PythonRuntime& python) noexcept : python_(python) {}

  bool frame(std::uintptr_t code, const PlainMemory::Block&, std::int64_t offset) noexcept {
    const PythonLayout& at = python_.layout;
    ++count_;
    if (!has_type(load_pointer(code + at.code_file), python_.str_type)) {
      failure_ = "a file name of its code is no str";
    } else if (!has_type(load_pointer(code + at.code_name), python_.str_type)) {
      failure_ = "a function name of its code is no str";
    } else if (!has_type(load_pointer(code + at.code_line_table), python_.bytes_type)) {
      failure_ = "a line table of its code is no bytes";
    } else if (at.position_scale != 0 && !has_type(load_pointer(code + at.code_bytecode), python_.bytes_type)) {
      failure_ = "the bytecode of its code is no bytes";
    } else if (offset < -2 || offset >= bytecode_size(at, code)) {
      failure_ = "a frame's position is outside its code";
    }
    return failure_ == nullptr;
  }

  void entry(std::uintptr_t) noexcept {}

  int count() const noexcept { return count_; }
  const char* failure() const noexcept { return failure_; }

 private:
  const PythonRuntime& python_;
  int count_ = 0;
  const char* failure_ = nullptr;
};

template <class T>
bool find_symbol(const char* name, T& out) noexcept {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  std::memcpy(&out, &symbol, sizeof(symbol));
  return symbol != nullptr;
}

// PY_VERSION_HEX; 0 when it cannot be told.
std::uint32_t find_version() noexcept {
  const unsigned long* number = nullptr;
  if (find_symbol("Py_Version", number)) return static_cast<std::uint32_t>(*number);
  const char* (*text)() = nullptr;
  if (!find_symbol("Py_GetVersion", text)) return 0;
  char* end = nullptr;
  const unsigned long major = std::strtoul(text(), &end, 10);
  if (*end != '.') return 0;
  const unsigned long minor = std::strtoul(end + 1, &end, 10);
  const unsigned long micro = *end == '.' ? std::strtoul(end + 1, &end, 10) : 0;
  const bool is_early = *end == 'a' || *end == 'b';
  return static_cast<std::uint32_t>((major & 0xff) << 24 | (minor & 0xff) << 16 | (micro & 0xff) << 8 |
                                    (is_early ? 0xa0 : 0xf0));
}

const PythonLayout* find_layout(std::uint32_t version) noexcept {
  if (version >> 24 != 3) return nullptr;
  for (const PythonLayout& layout : kPythonLayouts) {
    if (layout.minor == ((version >> 16) & 0xff)) return &layout;
  }
  return nullptr;
}

// What 3.13+ says about itself must be what we know of it. The shape of this table changed within the life of 3.14, so
// there only its head is read, and the check of the first stack has to do.
const char* check_self_description(const PythonLayout& layout, std::uintptr_t runtime) noexcept {
  using namespace python_debug_offsets;
  if (std::memcmp(reinterpret_cast<const void*>(runtime), kCookie, sizeof(kCookie) - 1) != 0) {
    return "this CPython does not describe itself as its version should";
  }
  const auto word = [runtime](int index) { return load<std::uint64_t>(runtime + 8 * index); };
  if (word(kFreeThreaded) != 0) return "free-threaded builds of CPython are not supported yet";
  if (layout.minor != 13) return nullptr;
  const bool is_known = word(kThreadFrame313) == layout.thread_frame && word(kThreadId313) == layout.thread_id &&
                        word(kFramePrevious313) == layout.frame_previous && word(kFrameCode313) == layout.frame_code &&
                        word(kFramePosition313) == layout.frame_position &&
                        word(kFrameOwner313) == layout.frame_owner && word(kCodeFile313) == layout.code_file &&
                        word(kCodeName313) == layout.code_name && word(kCodeLineTable313) == layout.code_line_table &&
                        word(kCodeFirstLine313) == layout.code_first_line &&
                        word(kCodeBytecode313) == layout.code_bytecode;
  return is_known ? nullptr : "this build of CPython lays out its frames in a way of its own";
}

}  // namespace

PythonReader& python_reader() noexcept {
  static constinit PythonReader reader;
  return reader;
}

PythonReader::State PythonReader::start() noexcept {
  if (state() == State::kAbsent) {
    void* symbol = nullptr;
    if (!find_symbol("PyGILState_GetThisThreadState", symbol)) return State::kAbsent;
    if (const char* reason = find_runtime()) {
      switch_off(reason);
    } else {
      state_.store(State::kUnchecked, std::memory_order_release);
    }
  }
  // New interpreters go to the head of the list, so two addresses tell without touching memory that may be gone.
  if (runtime() != nullptr && runtime_.layout.minor <= 11 && runtime_.newest_interpreter != nullptr &&
      runtime_.main_interpreter != nullptr && runtime_.newest_interpreter() != runtime_.main_interpreter()) {
    has_subinterpreters_.store(true, std::memory_order_relaxed);
  }
  return state();
}

// Why the interpreter cannot be read, or null.
const char* PythonReader::find_runtime() noexcept {
  runtime_.version = find_version();
  const PythonLayout* layout = find_layout(runtime_.version);
  if (layout == nullptr) return "only CPython 3.8 to 3.14 is supported";
  if ((runtime_.version & 0xff) < kFirstReleaseCandidate) return "alpha and beta versions of CPython are not supported";
  runtime_.layout = *layout;
  std::uintptr_t runtime = 0;
  const bool complete =
      find_symbol("_PyRuntime", runtime) && find_symbol("PyGILState_GetThisThreadState", runtime_.this_thread_state) &&
      find_symbol("PyCode_Type", runtime_.code_type) && find_symbol("PyUnicode_Type", runtime_.str_type) &&
      find_symbol("PyBytes_Type", runtime_.bytes_type);
  if (!complete) return "this CPython hides symbols that are needed";
  if (!find_symbol("Py_IsFinalizing", runtime_.is_finalizing)) {
    find_symbol("_Py_IsFinalizing", runtime_.is_finalizing);
  }
  find_symbol("PyInterpreterState_Head", runtime_.newest_interpreter);
  find_symbol("PyInterpreterState_Main", runtime_.main_interpreter);
  find_symbol("PyInterpreterState_ThreadHead", runtime_.newest_thread);
  return layout->minor >= 13 ? check_self_description(*layout, runtime) : nullptr;
}

bool PythonReader::walk(PythonStack& out) noexcept {
  out.count = 0;
  const State now = state();
  if (now != State::kOn && now != State::kUnchecked) return false;
  // An interpreter that ends takes the frames of its other threads away.
  if (runtime_.is_finalizing != nullptr && runtime_.is_finalizing() != 0) return false;
  const auto thread_state = reinterpret_cast<std::uintptr_t>(runtime_.this_thread_state());
  if (thread_state == 0) return false;
  if (now == State::kUnchecked && !check_first_stack(thread_state)) return false;
  out.is_truncated = false;
  PlainMemory memory;
  Recorder<PlainMemory> recorder(runtime_.layout, out);
  const std::uintptr_t top = load_pointer(thread_state + runtime_.layout.thread_frame);
  if (visit_frames(runtime_, memory, top, recorder) != FramesEnd::kRoot) out.is_truncated = true;
  out.is_uncertain = has_subinterpreters_.load(std::memory_order_relaxed);
  return out.count != 0;
}

bool PythonReader::can_check() const noexcept {
  return state() == State::kOn && (runtime_.is_finalizing == nullptr || runtime_.is_finalizing() == 0);
}

CheckedWalk PythonReader::walk_interrupted(CheckedMemory& memory, PythonStack& out) noexcept {
  out.count = 0;
  if (!can_check()) return CheckedWalk::kNone;
  const auto thread_state = reinterpret_cast<std::uintptr_t>(runtime_.this_thread_state());
  if (thread_state == 0) return CheckedWalk::kNone;
  CheckedMemory::Block state;
  memory.start_walk();
  if (!memory.open(thread_state, thread_bytes(runtime_.layout), state)) return CheckedWalk::kFailed;
  return walk_from(state.pointer(runtime_.layout.thread_frame), memory, out);
}

CheckedWalk PythonReader::walk_other(pthread_t thread, std::uintptr_t& thread_state, CheckedMemory& memory,
                                     PythonStack& out) noexcept {
  out.count = 0;
  if (!can_check()) return CheckedWalk::kNone;
  const PythonLayout& at = runtime_.layout;
  CheckedMemory::Block state;
  memory.start_walk();
  const auto is_of_thread = [&](std::uintptr_t address) {
    return is_plausible(address) && memory.open(address, thread_bytes(at), state) &&
           state.get<pthread_t>(at.thread_id) == thread;
  };
  if (!is_of_thread(thread_state)) {
    thread_state = find_thread_state(thread, memory);
    if (!is_of_thread(thread_state)) return CheckedWalk::kNone;
  }
  return walk_from(state.pointer(at.thread_frame), memory, out);
}

// In the main interpreter's list, which grows at its head; states that end leave it.
std::uintptr_t PythonReader::find_thread_state(pthread_t thread, CheckedMemory& memory) const noexcept {
  constexpr int kMaxThreadStates = 4096;
  void* interpreter = runtime_.main_interpreter == nullptr ? nullptr : runtime_.main_interpreter();
  if (interpreter == nullptr || runtime_.newest_thread == nullptr) return 0;
  auto address = reinterpret_cast<std::uintptr_t>(runtime_.newest_thread(interpreter));
  CheckedMemory::Block state;
  for (int i = 0; i < kMaxThreadStates && is_plausible(address); ++i) {
    if (!memory.open(address, thread_bytes(runtime_.layout), state)) return 0;
    if (state.get<pthread_t>(runtime_.layout.thread_id) == thread) return address;
    address = state.pointer(python_object::kNextThreadState);
  }
  return 0;
}

CheckedWalk PythonReader::walk_from(std::uintptr_t top, CheckedMemory& memory, PythonStack& out) noexcept {
  const auto attempt = [&] {
    out.count = 0;
    out.is_truncated = false;
    Recorder<CheckedMemory> recorder(runtime_.layout, out);
    const FramesEnd end = visit_frames(runtime_, memory, top, recorder);
    out.is_truncated |= end == FramesEnd::kStopped || end == FramesEnd::kTooDeep;
    return end != FramesEnd::kBroken && recorder.is_sound();
  };
  bool is_whole = attempt();
  if (!is_whole && (runtime_.layout.minor == 11 || runtime_.layout.minor == 12)) {
    // An eval loop that has just begun puts its record in place before it says what runs: the one before is whole.
    const std::size_t previous = runtime_.layout.minor == 11 ? python_object::kRecordPrevious311 : python_object::kRecordPrevious312;
    CheckedMemory::Block record;
    if (is_plausible(top) && memory.open(top, previous + sizeof(top), record)) {
      top = record.pointer(previous);
      is_whole = attempt();
    }
  }
  out.is_uncertain = has_subinterpreters_.load(std::memory_order_relaxed);
  if (!is_whole) out.count = 0;
  if (!is_whole) return CheckedWalk::kFailed;
  return out.count == 0 ? CheckedWalk::kNone : CheckedWalk::kRead;
}

// Any number of threads may do this at once: they find the same.
bool PythonReader::check_first_stack(std::uintptr_t thread_state) noexcept {
  if (load<pthread_t>(thread_state + runtime_.layout.thread_id) != pthread_self()) {
    switch_off("a thread state of CPython names another thread than its own");
    return false;
  }
  PlainMemory memory;
  Checker checker(runtime_);
  const std::uintptr_t top = load_pointer(thread_state + runtime_.layout.thread_frame);
  const FramesEnd end = visit_frames(runtime_, memory, top, checker);
  if (checker.failure() != nullptr) {
    switch_off(checker.failure());
  } else if (end == FramesEnd::kBroken) {
    switch_off("the frames of CPython do not lead to the start of the thread");
  } else if (end == FramesEnd::kRoot && checker.count() != 0) {
    State expected = State::kUnchecked;
    state_.compare_exchange_strong(expected, State::kOn, std::memory_order_acq_rel);
  }
  return state() != State::kOff;
}

void PythonReader::switch_off(const char* reason) noexcept {
  const char* expected = nullptr;
  off_reason_.compare_exchange_strong(expected, reason, std::memory_order_acq_rel);
  state_.store(State::kOff, std::memory_order_release);
}

}  // namespace synctrace::capture
