// SPDX-License-Identifier: Apache-2.0
#include "capture/python/python_frames.h"

#include <pthread.h>

#include <cstdlib>

#include "capture/python/python_visit.h"

namespace synctrace::capture {

namespace {

constexpr std::uint32_t kFirstReleaseCandidate = 0xc0;  // in the low byte of PY_VERSION_HEX

template <class Memory>
class FrameKeeper {
 public:
  FrameKeeper(const PythonLayout& layout, Memory& memory, PythonStack& out) noexcept
      : layout_(layout), memory_(memory), out_(out) {}

  bool frame(std::uintptr_t code, std::int64_t offset) noexcept {
    if (out_.count == PythonStack::kMaxFrames) {
      out_.is_truncated = true;
      return is_open_;  // on to the entry, which says where the kept frames belong on the C stack
    }
    const std::int32_t kept = offset < 0 || offset > INT32_MAX ? -1 : static_cast<std::int32_t>(offset);
    out_.frames[out_.count++] = {code, code_identity(memory_, layout_, code), 0, kept, false};
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

 private:
  const PythonLayout& layout_;
  Memory& memory_;
  PythonStack& out_;
  bool is_open_ = false;
};

// Looks at every frame the way that nothing on the hot path does.
class Checker {
 public:
  explicit Checker(const PythonRuntime& python) noexcept : python_(python) {}

  bool frame(std::uintptr_t code, std::int64_t offset) noexcept {
    const PythonLayout& at = python_.layout;
    ++count_;
    if (!has_type(memory_, load_pointer(memory_, code + at.code_file), python_.str_type)) {
      failure_ = "a file name of its code is no str";
    } else if (!has_type(memory_, load_pointer(memory_, code + at.code_name), python_.str_type)) {
      failure_ = "a function name of its code is no str";
    } else if (!has_type(memory_, load_pointer(memory_, code + at.code_line_table), python_.bytes_type)) {
      failure_ = "a line table of its code is no bytes";
    } else if (at.position_scale != 0 &&
               !has_type(memory_, load_pointer(memory_, code + at.code_bytecode), python_.bytes_type)) {
      failure_ = "the bytecode of its code is no bytes";
    } else if (offset < -2 || offset >= bytecode_size(memory_, at, code)) {
      failure_ = "a frame's position is outside its code";
    }
    return failure_ == nullptr;
  }

  void entry(std::uintptr_t) noexcept {}

  int count() const noexcept { return count_; }
  const char* failure() const noexcept { return failure_; }

 private:
  const PythonRuntime& python_;
  PlainMemory memory_;
  int count_ = 0;
  const char* failure_ = nullptr;
};

template <class T>
bool find_symbol(const ModuleSymbols& symbols, const char* name, T& out) noexcept {
  ModuleSymbols::Symbol symbol;
  const bool is_found = symbols.find(name, symbol);
  std::memcpy(&out, &symbol.address, sizeof(symbol.address));
  return is_found;
}

// PY_VERSION_HEX; 0 when it cannot be told.
std::uint32_t find_version(const ModuleSymbols& symbols) noexcept {
  const unsigned long* number = nullptr;
  if (find_symbol(symbols, "Py_Version", number)) return static_cast<std::uint32_t>(*number);
  const char* (*text)() = nullptr;
  if (!find_symbol(symbols, "Py_GetVersion", text)) return 0;
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

// Without it Python and native frames are kept side by side.
void find_eval_loop(const ModuleSymbols& symbols, PythonRuntime& runtime) noexcept {
  ModuleSymbols::Symbol loop;
  if (!symbols.find("_PyEval_EvalFrameDefault", loop)) return;
  runtime.eval_begin = loop.address;
  runtime.eval_end = loop.address + loop.bytes;
}

// What 3.13+ says about itself must be what we know of it. The shape of this table changed within the life of 3.14, so
// there only its head is read, and the check of the first stack has to do.
const char* check_self_description(const PythonLayout& layout, std::uintptr_t runtime) noexcept {
  using namespace python_debug_offsets;
  if (std::memcmp(reinterpret_cast<const void*>(runtime), kCookie, sizeof(kCookie) - 1) != 0) {
    return "this CPython does not describe itself as its version should";
  }
  const auto word = [runtime](int index) {
    return PlainMemory{}.load<std::uint64_t>(runtime + 8 * static_cast<std::uintptr_t>(index));
  };
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

// An interpreter is in one module, a library or the program. Each is looked at once, when it may be called.
bool PythonReader::find_interpreter(const ModuleMap& modules, ModuleSymbols& symbols) noexcept {
  for (const CodeMap::Range& range : modules.current().ranges()) {
    const Module& module = *range.module;
    if (module.is_no_python || !module.is_relocated) continue;
    ModuleSymbols::Symbol symbol;
    if (symbols.open(module) && symbols.find("PyGILState_GetThisThreadState", symbol)) return true;
    module.is_no_python = true;
  }
  return false;
}

PythonReader::State PythonReader::start(const ModuleMap& modules) noexcept {
  if (state() == State::kAbsent) {
    ModuleSymbols symbols;
    if (!find_interpreter(modules, symbols)) return State::kAbsent;
    if (const char* reason = find_runtime(symbols)) {
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
const char* PythonReader::find_runtime(const ModuleSymbols& symbols) noexcept {
  runtime_.version = find_version(symbols);
  const PythonLayout* layout = find_layout(runtime_.version);
  if (layout == nullptr) return "only CPython 3.8 to 3.14 is supported";
  if ((runtime_.version & 0xff) < kFirstReleaseCandidate) return "alpha and beta versions of CPython are not supported";
  runtime_.layout = *layout;
  std::uintptr_t runtime = 0;
  const bool complete = find_symbol(symbols, "_PyRuntime", runtime) &&
                        find_symbol(symbols, "PyGILState_GetThisThreadState", runtime_.this_thread_state) &&
                        find_symbol(symbols, "PyCode_Type", runtime_.code_type) &&
                        find_symbol(symbols, "PyUnicode_Type", runtime_.str_type) &&
                        find_symbol(symbols, "PyBytes_Type", runtime_.bytes_type);
  if (!complete) return "this CPython hides symbols that are needed";
  if (!find_symbol(symbols, "Py_IsFinalizing", runtime_.is_finalizing)) {
    find_symbol(symbols, "_Py_IsFinalizing", runtime_.is_finalizing);
  }
  find_symbol(symbols, "PyInterpreterState_Head", runtime_.newest_interpreter);
  find_symbol(symbols, "PyInterpreterState_Main", runtime_.main_interpreter);
  find_symbol(symbols, "PyInterpreterState_ThreadHead", runtime_.newest_thread);
  if (layout->frame_kind == PythonFrameKind::kObjects) find_eval_loop(symbols, runtime_);
  return layout->minor >= 13 ? check_self_description(*layout, runtime) : nullptr;
}

// The thread state of the calling thread; 0 when it has none, or when the interpreter ends: that takes the frames of
// its other threads away.
std::uintptr_t PythonReader::thread_state_here() const noexcept {
  if (is_ending()) return 0;
  return reinterpret_cast<std::uintptr_t>(runtime_.this_thread_state());
}

bool PythonReader::walk(PythonStack& out) noexcept {
  out.count = 0;
  const State now = state();
  if (now != State::kOn && now != State::kUnchecked) return false;
  const std::uintptr_t thread_state = thread_state_here();
  if (thread_state == 0) return false;
  if (now == State::kUnchecked && !check_first_stack(thread_state)) return false;
  PlainMemory memory;
  PythonVisit visit(runtime_, memory);
  FrameKeeper recorder(runtime_.layout, memory, out);
  out.is_truncated = false;
  if (visit.from(visit.top_of(thread_state), recorder) != VisitEnd::kRoot) out.is_truncated = true;
  out.is_uncertain = has_subinterpreters_.load(std::memory_order_relaxed);
  return out.count != 0;
}

bool PythonReader::walk_interrupted(GuardedMemory& memory, PythonStack& out) noexcept {
  out.count = 0;
  const std::uintptr_t thread_state = state() == State::kOn ? thread_state_here() : 0;
  return thread_state != 0 && walk_guarded(thread_state, memory, out) && out.count != 0;
}

SleeperWalk PythonReader::walk_sleeping(pthread_t thread, std::uintptr_t& thread_state, GuardedMemory& memory,
                                        PythonStack& out) noexcept {
  out.count = 0;
  if (state() != State::kOn || is_ending()) return SleeperWalk::kNone;
  const auto is_of_thread = [&] {
    memory.reset();
    return is_plausible(thread_state) && memory.load<pthread_t>(thread_state + runtime_.layout.thread_id) == thread;
  };
  if (!is_of_thread()) {
    thread_state = find_thread_state(thread, memory);
    if (!is_of_thread()) return SleeperWalk::kNone;
  }
  if (!walk_guarded(thread_state, memory, out)) return SleeperWalk::kFailed;
  return out.count == 0 ? SleeperWalk::kNone : SleeperWalk::kRead;
}

bool PythonReader::is_collecting(GuardedMemory& memory) const noexcept {
  const PythonRuntime* python = runtime();
  if (python == nullptr || python->layout.collecting == 0 || python->main_interpreter == nullptr || is_ending())
    return false;
  memory.reset();
  const auto interpreter = reinterpret_cast<std::uintptr_t>(python->main_interpreter());
  return is_plausible(interpreter) && memory.load<std::int32_t>(interpreter + python->layout.collecting) == 1 &&
         !memory.failed();
}

// In the main interpreter's list, which grows at its head; states that end leave it. 0 when the thread has none.
std::uintptr_t PythonReader::find_thread_state(pthread_t thread, GuardedMemory& memory) const noexcept {
  constexpr int kMaxThreadStates = 4096;
  void* interpreter = runtime_.main_interpreter == nullptr ? nullptr : runtime_.main_interpreter();
  if (interpreter == nullptr || runtime_.newest_thread == nullptr) return 0;
  auto address = reinterpret_cast<std::uintptr_t>(runtime_.newest_thread(interpreter));
  memory.reset();
  for (int i = 0; i < kMaxThreadStates && is_plausible(address); ++i) {
    if (memory.load<pthread_t>(address + runtime_.layout.thread_id) == thread) return address;
    address = load_pointer(memory, address + python_object::kNextThreadState);
  }
  return 0;
}

// False when what was read cannot be a stack. A frame that is being set up may name anything: then the frames outside
// of its eval loop are what can be told.
bool PythonReader::walk_guarded(std::uintptr_t thread_state, GuardedMemory& memory, PythonStack& out) noexcept {
  out.is_uncertain = has_subinterpreters_.load(std::memory_order_relaxed);
  std::uintptr_t top = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    memory.reset();
    PythonVisit visit(runtime_, memory);
    out.count = 0;
    out.is_truncated = attempt != 0;
    top = attempt == 0 ? visit.top_of(thread_state) : visit.next_top(top);
    if (top == 0) return attempt == 0 && !memory.failed();
    FrameKeeper recorder(runtime_.layout, memory, out);
    const VisitEnd end = visit.from(top, recorder);
    if (end != VisitEnd::kRoot) out.is_truncated = true;
    const bool is_whole = end == VisitEnd::kRoot || end == VisitEnd::kStopped || end == VisitEnd::kTooDeep;
    if (is_whole && !memory.failed()) return true;
  }
  out.count = 0;
  return false;
}

// Any number of threads may do this at once: they find the same.
bool PythonReader::check_first_stack(std::uintptr_t thread_state) noexcept {
  PlainMemory memory;
  if (memory.load<pthread_t>(thread_state + runtime_.layout.thread_id) != pthread_self()) {
    switch_off("a thread state of CPython names another thread than its own");
    return false;
  }
  Checker checker(runtime_);
  PythonVisit visit(runtime_, memory);
  const VisitEnd end = visit.from(visit.top_of(thread_state), checker);
  if (checker.failure() != nullptr) {
    switch_off(checker.failure());
  } else if (end == VisitEnd::kBroken) {
    switch_off("the frames of CPython do not lead to the start of the thread");
  } else if (end == VisitEnd::kRoot && checker.count() != 0) {
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
