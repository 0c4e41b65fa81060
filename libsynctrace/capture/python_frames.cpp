// SPDX-License-Identifier: Apache-2.0
#include "capture/python_frames.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>

namespace synctrace::capture {

namespace {

// Frames visited on one walk, shims and incomplete ones included. Far above any stack whose recursion limit was left
// alone; it is what ends a chain that runs in a circle.
constexpr int kMaxVisited = 4096;

constexpr std::uint32_t kFirstReleaseCandidate = 0xc0;  // in the low byte of PY_VERSION_HEX

enum class WalkEnd { kRoot, kStopped, kTooDeep, kBroken };

// 3.8-3.10: frame objects.
template <class Visitor>
WalkEnd visit_objects(const PythonRuntime& python, std::uintptr_t thread_state, Visitor& visitor) noexcept {
  const PythonLayout& at = python.layout;
  std::uintptr_t frame = load_pointer(thread_state + at.thread_frame);
  for (int i = 0; frame != 0; ++i) {
    if (i == kMaxVisited) return WalkEnd::kTooDeep;
    if (!is_plausible(frame)) return WalkEnd::kBroken;
    const std::uintptr_t code = load_pointer(frame + at.frame_code);
    if (!has_type(code, python.code_type)) return WalkEnd::kBroken;
    const std::int64_t position = load<std::int32_t>(frame + at.frame_position);
    if (!visitor.frame(code, position * at.position_scale)) return WalkEnd::kStopped;
    visitor.entry(0);
    frame = load_pointer(frame + at.frame_previous);
  }
  return WalkEnd::kRoot;
}

// 3.11+: whether the frame of `code` has begun; its offset, if so. A frame that has not is being set up, or is one of
// the interpreter's own (3.13 has a hidden __init__ for every class that is called).
inline bool has_begun(const PythonLayout& at, std::uintptr_t frame, std::uintptr_t code, std::uint8_t owner,
                      std::int64_t& offset) noexcept {
  const std::uintptr_t position = load_pointer(frame + at.frame_position);
  offset = static_cast<std::int64_t>(position - (code + at.code_bytecode));
  return owner == python_object::kOwnedByGenerator || offset >= 2 * load<std::int32_t>(code + at.code_traceable);
}

// 3.11: a flag marks the entries, and the records on the C stack run in step with them.
template <class Visitor>
WalkEnd visit_flagged(const PythonRuntime& python, std::uintptr_t thread_state, Visitor& visitor) noexcept {
  const PythonLayout& at = python.layout;
  std::uintptr_t record = load_pointer(thread_state + at.thread_frame);
  if (!is_plausible(record)) return WalkEnd::kBroken;
  std::uintptr_t frame = load_pointer(record + python_object::kRecordFrame311);
  for (int i = 0; frame != 0; ++i) {
    if (i == kMaxVisited) return WalkEnd::kTooDeep;
    if (!is_plausible(frame)) return WalkEnd::kBroken;
    const std::uintptr_t code = load_pointer(frame + at.frame_code);
    if (!has_type(code, python.code_type)) return WalkEnd::kBroken;
    std::int64_t offset = 0;
    if (has_begun(at, frame, code, load<std::uint8_t>(frame + at.frame_owner), offset) &&
        !visitor.frame(code, offset)) {
      return WalkEnd::kStopped;
    }
    if (load<std::uint8_t>(frame + python_object::kEntryFlag311) != 0) {
      visitor.entry(record);
      if (record != 0) record = load_pointer(record + python_object::kRecordPrevious311);
      if (record != 0 && !is_plausible(record)) return WalkEnd::kBroken;
    }
    frame = load_pointer(frame + at.frame_previous);
  }
  return WalkEnd::kRoot;
}

// 3.12+: the shim that ends an eval loop's frames lies in that loop's C frame.
template <class Visitor>
WalkEnd visit_shimmed(const PythonRuntime& python, std::uintptr_t thread_state, Visitor& visitor) noexcept {
  const PythonLayout& at = python.layout;
  std::uintptr_t frame = load_pointer(thread_state + at.thread_frame);
  if (at.minor == 12) {  // through a record on the C stack, whose first field it is
    if (!is_plausible(frame)) return WalkEnd::kBroken;
    frame = load_pointer(frame);
  }
  for (int i = 0; frame != 0; ++i) {
    if (i == kMaxVisited) return WalkEnd::kTooDeep;
    if (!is_plausible(frame)) return WalkEnd::kBroken;
    const std::uint8_t owner = load<std::uint8_t>(frame + at.frame_owner);
    if (owner >= python_object::kOwnedByC) {
      visitor.entry(frame);
    } else {
      // 3.14 keeps flags in the low bits; 3.13 and later run things that are no code objects.
      const std::uintptr_t code = load_pointer(frame + at.frame_code) & ~std::uintptr_t{7};
      std::int64_t offset = 0;
      if (has_type(code, python.code_type) && has_begun(at, frame, code, owner, offset) &&
          !visitor.frame(code, offset)) {
        return WalkEnd::kStopped;
      }
    }
    frame = load_pointer(frame + at.frame_previous);
  }
  return WalkEnd::kRoot;
}

template <class Visitor>
WalkEnd visit_frames(const PythonRuntime& python, std::uintptr_t thread_state, Visitor& visitor) noexcept {
  switch (python.layout.frame_kind) {
    case PythonFrameKind::kObjects:
      return visit_objects(python, thread_state, visitor);
    case PythonFrameKind::kEntryFlag:
      return visit_flagged(python, thread_state, visitor);
    case PythonFrameKind::kShimFrames:
      return visit_shimmed(python, thread_state, visitor);
  }
  return WalkEnd::kBroken;
}

class Recorder {
 public:
  Recorder(const PythonLayout& layout, PythonStack& out) noexcept : layout_(layout), out_(out) {}

  bool frame(std::uintptr_t code, std::int64_t offset) noexcept {
    if (out_.count == PythonStack::kMaxFrames) {
      out_.is_truncated = true;
      return is_open_;  // on to the entry, which says where the kept frames belong on the C stack
    }
    const std::int32_t kept = offset < 0 || offset > INT32_MAX ? -1 : static_cast<std::int32_t>(offset);
    out_.frames[out_.count++] = {code, code_identity(layout_, code), 0, kept, false};
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
  Recorder recorder(runtime_.layout, out);
  if (visit_frames(runtime_, thread_state, recorder) != WalkEnd::kRoot) out.is_truncated = true;
  out.is_uncertain = has_subinterpreters_.load(std::memory_order_relaxed);
  return out.count != 0;
}

// Any number of threads may do this at once: they find the same.
bool PythonReader::check_first_stack(std::uintptr_t thread_state) noexcept {
  if (load<pthread_t>(thread_state + runtime_.layout.thread_id) != pthread_self()) {
    switch_off("a thread state of CPython names another thread than its own");
    return false;
  }
  Checker checker(runtime_);
  const WalkEnd end = visit_frames(runtime_, thread_state, checker);
  if (checker.failure() != nullptr) {
    switch_off(checker.failure());
  } else if (end == WalkEnd::kBroken) {
    switch_off("the frames of CPython do not lead to the start of the thread");
  } else if (end == WalkEnd::kRoot && checker.count() != 0) {
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
