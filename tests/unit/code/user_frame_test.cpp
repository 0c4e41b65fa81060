// SPDX-License-Identifier: Apache-2.0
#include "code/user_frame.h"

#include <limits>

#include "code/code_places.h"
#include "support/catch.h"

namespace synctrace::user_frame_test {
namespace {

ResolvedFrame python(const std::string& file, std::uint32_t line = 7) {
  ResolvedFrame frame;
  frame.kind = FrameKind::kPython;
  frame.named = true;
  frame.function = std::string("step");
  frame.file = file;
  frame.line = line;
  return frame;
}

ResolvedFrame native(const std::string& module, const std::string& function = {}, const std::string& file = {},
                     std::uint32_t line = 0) {
  ResolvedFrame frame;
  frame.named = !function.empty();
  frame.function = function;
  frame.module = module;
  frame.file = file;
  frame.line = line;
  return frame;
}

constexpr CodeOwner kUser = CodeOwner::kUser;
constexpr CodeOwner kPackage = CodeOwner::kPackage;
constexpr CodeOwner kFramework = CodeOwner::kFramework;
constexpr CodeOwner kRuntime = CodeOwner::kRuntime;
constexpr CodeOwner kCuda = CodeOwner::kCuda;

struct PythonCase {
  const char* file;
  CodeOwner owner;
};

const PythonCase kPythonCases[] = {
    // The user's, wherever it lies.
    {"train.py", kUser},
    {"./train.py", kUser},
    {"/home/ada/llm/train.py", kUser},
    {"/workspace/src/model/attention.py", kUser},
    {"/opt/app/main.py", kUser},
    {"/usr/local/src/job.py", kUser},
    {"/home/ada/torch/train.py", kUser},
    {"/home/ada/numpy/exercises.py", kUser},
    {"/home/ada/jax/train.py", kUser},
    {"/home/ada/proj/utils/data/loader.py", kUser},
    {"/home/ada/lib/helpers.py", kUser},
    {"/home/ada/python3.11/train.py", kUser},
    {"/home/ada/python/train.py", kUser},
    {"/home/ada/bin/train.py", kUser},
    {"/home/ada/bin/train", kUser},
    {"/home/ada/my-site-packages-notes/a.py", kUser},
    {"/home/ada/transformers/src/transformers/trainer.py", kUser},  // an editable install is being worked on
    {"/mnt/c/Users/ada/train.py", kUser},
    {"C:\\Users\\ada\\train.py", kUser},
    {"..\\..\\train.py", kUser},
    // Not files.
    {"<string>", kUser},
    {"<stdin>", kUser},
    {"<ipython-input-12-0a1b2c3d4e5f>", kUser},
    {"<doctest a[0]>", kUser},
    {"/tmp/ipykernel_4711/3936428837.py", kUser},
    {"/home/ann/.ipykernel/1834/command-5127-12", kUser},
    {"<frozen importlib._bootstrap>", kRuntime},
    {"<frozen runpy>", kRuntime},
    {"<__array_function__ internals>", kFramework},
    {"<eval_with_key>.17", kFramework},
    {"<attrs generated init a.B>", kPackage},
    {"<decorator-gen-3>", kPackage},
    {"", kRuntime},
    {"<", kUser},
    // pip, venv, user installs, Debian, conda, pyenv, uv, eggs.
    {"/usr/local/lib/python3.10/site-packages/transformers/trainer.py", kPackage},
    {"/home/ada/.local/lib/python3.10/site-packages/lightning/fabric/loader.py", kPackage},
    {"/home/ada/venv/lib/python3.12/site-packages/tqdm/std.py", kPackage},
    {"/home/ada/venv/lib64/python3.9/site-packages/PIL/Image.py", kPackage},
    {"/usr/lib/python3/dist-packages/yaml/__init__.py", kPackage},
    {"/usr/local/lib/python3.10/dist-packages/accelerate/accelerator.py", kPackage},
    {"/opt/conda/lib/python3.11/site-packages/datasets/arrow.py", kPackage},
    {"/home/ada/.pyenv/versions/3.11.4/lib/python3.11/site-packages/einops/einops.py", kPackage},
    {"/home/ada/venv/lib/python3.12/site-packages/__editable___proj_0_1_finder.py", kPackage},
    {"/home/ada/x/apex-0.1-py3.10-linux-x86_64.egg/apex/amp.py", kPackage},
    {"C:\\Python311\\Lib\\site-packages\\tqdm\\std.py", kPackage},
    {"/opt/conda/bin/torchrun", kPackage},
    {"/home/ada/venv/bin/pytest", kPackage},
    {"/usr/local/lib/python3.10/site-packages/ipykernel/ipkernel.py", kPackage},
    {"/usr/local/lib/python3.10/site-packages/torchmetrics/metric.py", kPackage},
    // The standard library.
    {"/usr/lib/python3.11/threading.py", kRuntime},
    {"/usr/lib64/python3.9/runpy.py", kRuntime},
    {"/usr/lib/python3.13t/threading.py", kRuntime},
    {"/opt/conda/lib/python3.11/concurrent/futures/thread.py", kRuntime},
    {"/home/ada/.pyenv/versions/3.8.20/lib/python3.8/contextlib.py", kRuntime},
    {"/home/ada/.local/share/uv/python/cpython-3.12.3-linux-x86_64-gnu/lib/python3.12/asyncio/base_events.py",
     kRuntime},
    {"/nix/store/0abc-python3-3.11.9/lib/python3.11/queue.py", kRuntime},
    {"/usr/lib/python311.zip/json/decoder.py", kRuntime},
    {"/home/ada/cpython/Lib/threading.py", kRuntime},
    {"C:\\Python311\\Lib\\asyncio\\events.py", kRuntime},
    {"/usr/lib/pypy3.10/socket.py", kRuntime},
    // Frameworks, installed or built from source, and what they generate.
    {"/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py", kFramework},
    {"/opt/conda/lib/python3.11/site-packages/torch/utils/_foreach_utils.py", kFramework},
    {"/usr/lib/python3/dist-packages/numpy/core/numeric.py", kFramework},
    {"/home/ada/venv/lib/python3.12/site-packages/jax/_src/api.py", kFramework},
    {"/home/ada/venv/lib/python3.12/site-packages/triton/runtime/jit.py", kFramework},
    {"/home/ada/venv/lib/python3.12/site-packages/cupy/_core/core.py", kFramework},
    {"/home/ada/pytorch/torch/nn/modules/linear.py", kFramework},
    {"/home/ada/pytorch/torch/_tensor.py", kFramework},
    {"/home/ada/pytorch/torch/utils/data/dataloader.py", kFramework},
    {"/home/ada/jax/jax/_src/dispatch.py", kFramework},
    {"/home/ada/triton/python/triton/runtime/jit.py", kFramework},
    {"/tmp/torchinductor_ada/xy/cxyz3k2lqf.py", kFramework},
    {"/tmp/torchinductor_root/triton/0/ABC/kernel.py", kFramework},
    {"/home/ada/.triton/cache/0a1b/kernel.py", kFramework},
    {"/home/ada/proj/torch_compile_debug/run_1/torchinductor/model__0/output_code.py", kFramework},
};

struct NativeCase {
  const char* module;
  const char* function;
  const char* file;
  CodeOwner owner;
};

const NativeCase kNativeCases[] = {
    {"/home/ada/sim/build/sim", "step(int)", "/home/ada/sim/step.cpp", kUser},
    {"/home/ada/sim/build/sim", "step(int)", "", kUser},
    {"/home/ada/sim/build/sim", "", "", kUser},
    {"/home/ada/sim/build/libphysics.so", "advance()", "", kUser},
    {"/home/ada/proj/_ext.cpython-311-x86_64-linux-gnu.so", "run(int)", "", kUser},
    {"/usr/bin/renderer", "draw()", "", kUser},  // the executable itself
    {"/usr/bin/other", "draw()", "", kPackage},
    {"/home/ada/sim/build/sim", "std::vector<int>::at(unsigned long)", "/usr/include/c++/12/bits/stl_vector.h",
     kPackage},
    {"/home/ada/sim/build/sim", "thrust::sort()", "/usr/local/cuda-13.0/targets/x86_64-linux/include/thrust/sort.h",
     kPackage},
    {"/home/ada/sim/build/sim", "__device_stub__Z4stepi", "/tmp/tmpxft_00001_step.cudafe1.stub.c", kPackage},
    {"/home/ada/sim/build/sim", "std::thread::join()", "", kRuntime},
    {"/home/ada/sim/build/sim", "_start", "", kRuntime},
    {"/home/ada/sim/build/sim", "cudaMemcpy", "", kCuda},
    {"/home/ada/sim/build/sim", "__cudart812", "", kCuda},
    {"/home/ada/sim/build/sim", "cutoff(float)", "", kUser},
    {"/usr/lib/x86_64-linux-gnu/libcuda.so.580.65", "cuMemcpyDtoH_v2", "", kCuda},
    {"/home/ada/cuda/lib/libcudart.so.13", "cudaMemcpy", "", kCuda},
    {"/home/ada/venv/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn.so.9", "", "", kCuda},
    {"/opt/conda/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so", "at::native::item()", "", kFramework},
    {"/home/ada/pytorch/build/lib/libtorch_python.so", "THPVariable_item", "", kFramework},
    {"/home/ada/libtorch/lib/libc10_cuda.so", "c10::cuda::memcpy_and_sync", "", kFramework},
    {"/usr/lib/x86_64-linux-gnu/libc.so.6", "poll", "", kRuntime},
    {"/lib64/ld-linux-x86-64.so.2", "", "", kRuntime},
    {"/home/ada/gcc/lib/libstdc++.so.6.0.33", "std::thread::join()", "", kRuntime},
    {"/opt/conda/bin/python3.11", "_PyEval_EvalFrameDefault", "", kRuntime},
    {"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", "PyObject_Call", "", kRuntime},
    {"/usr/lib/x86_64-linux-gnu/libmpi.so.40", "MPI_Wait", "", kPackage},
    {"/opt/conda/lib/libopenblas.so.0", "dgemm", "", kPackage},
    {"/home/ada/miniconda3/envs/ml/lib/libprotobuf.so", "", "", kPackage},
    {"/home/ada/synctrace/build/release/lib/libsynctrace.so", "record", "", CodeOwner::kSynctrace},
    {"[vdso]", "clock_gettime", "", kRuntime},
    {"/home/ada/.pyenv/versions/3.11.7/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so",
     "_call_function_pointer", "/tmp/python-build/Python-3.11.7/Modules/_ctypes/callproc.c", kRuntime},
    {"/home/ada/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so", "at::empty", "", kFramework},
    {"", "", "", kRuntime},
};

}  // namespace

TEST_CASE("whose Python file it is") {
  const UserCode code("/usr/bin/python3");
  for (const PythonCase& one : kPythonCases) {
    CAPTURE(one.file);
    CHECK(static_cast<int>(code.owner_of(python(one.file))) == static_cast<int>(one.owner));
  }
}

TEST_CASE("whose native code it is") {
  const UserCode code("/usr/bin/renderer");
  for (const NativeCase& one : kNativeCases) {
    CAPTURE(one.module, one.function, one.file);
    CHECK(static_cast<int>(code.owner_of(native(one.module, one.function, one.file))) == static_cast<int>(one.owner));
  }
}

TEST_CASE("an interpreter is nobody's program") {
  CHECK(UserCode("/home/ada/bin/python3.12").owner_of(native("/home/ada/bin/python3.12", "main")) ==
        CodeOwner::kRuntime);
}

TEST_CASE("the innermost user frame is shown, through frameworks and native code") {
  const std::vector<ResolvedFrame> stack = {
      native("/usr/lib/libcuda.so.1", "cuMemcpyDtoHAsync_v2"),
      native("/opt/conda/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so", "at::native::item"),
      python("/opt/conda/lib/python3.11/site-packages/torch/_tensor.py"),
      python("/opt/conda/lib/python3.11/contextlib.py"),
      python("/home/ada/metrics.py", 12),
      python("/opt/conda/lib/python3.11/site-packages/lightning/loop.py"),
      python("/home/ada/train.py", 88)};
  const ChosenFrame chosen = choose_frame(stack, UserCode("/opt/conda/bin/python3.11"));
  CHECK(chosen.basis == FrameBasis::kUserCode);
  CHECK(chosen.index == 4);
}

TEST_CASE("a user frame with a line is preferred to one without") {
  const UserCode code("/home/ada/sim");
  const std::vector<ResolvedFrame> stack = {native("/usr/lib/libc.so.6", "poll"), native("/home/ada/libfast.so"),
                                            native("/home/ada/libfast.so", "fast()"),
                                            native("/home/ada/sim", "main", "/home/ada/sim.cpp", 9)};
  CHECK(choose_frame(stack, code).index == 3);
  CHECK(choose_frame(std::span(stack).first(3), code).index == 2);
  CHECK(choose_frame(std::span(stack).first(2), code).index == 1);
  CHECK(choose_frame(std::span(stack).first(2), code).basis == FrameBasis::kUserCode);
}

TEST_CASE("an inlined standard function gives way to its caller") {
  const std::vector<ResolvedFrame> stack = {
      native("/home/ada/sim", "std::vector<int>::data()", "/usr/include/c++/12/bits/stl_vector.h", 1100),
      native("/home/ada/sim", "copy_back()", "/home/ada/sim.cu", 41)};
  CHECK(choose_frame(stack, UserCode("/home/ada/sim")).index == 1);
}

TEST_CASE("a launch is where the kernel is called, not what nvcc writes for it") {
  const char* sim = "/home/ada/sim";
  const char* stubs = "/tmp/tmpxft_00001_step.cudafe1.stub.c";
  const ResolvedFrame launch = native("/usr/local/cuda/lib64/libcudart.so.13", "cudaLaunchKernel");
  const ResolvedFrame caller = native(sim, "advance()", "/home/ada/sim.cu", 41);
  const UserCode code(sim);
  struct Case {
    std::vector<ResolvedFrame> frames;  // between the launch and its caller
    bool covered;
  };
  const Case cases[] = {
      {{native(sim, "__device_stub__Z4stepx(long long)", stubs, 15),
        native(sim, "step(long long)", "/home/ada/k.h", 9)},
       true},
      {{native(sim, "__device_stub__ZN4deep5scaleIfEEvPT_S1_", stubs, 3),
        native(sim, "__wrapper__device_stub_scale<float>", stubs, 3), native(sim, "scale<float>", "/home/ada/k.h", 2)},
       true},
      // Without debug information: the symbols' names.
      {{native(sim, "__device_stub__ZN4deep5scaleIfEEvPT_S1_(float*, float)"),
        native(sim, "void deep::__wrapper__device_stub_scale<float>(float*&, float&)"),
        native(sim, "void deep::scale<float>(float*, float)")},
       true},
      {{native(sim, "__device_stub__ZN12_GLOBAL__N_14stepEx(long long)"),
        native(sim, "(anonymous namespace)::step(long long)")},
       true},
      {{native(sim, "__device_stub__Z4stepx(long long)")}, true},  // the host function is part of its caller
      {{native(sim, "__device_stub__Z4stepx(long long)"), native(sim, "tep()", "/home/ada/sim.cu", 7)}, false},
      {{native(sim, "step(long long)", "/home/ada/k.h", 9)}, false},  // no kernel's
  };
  for (const Case& one : cases) {
    INFO(one.frames.back().function);
    std::vector<ResolvedFrame> stack = {launch};
    stack.insert(stack.end(), one.frames.begin(), one.frames.end());
    stack.push_back(caller);
    const ChosenFrame chosen = choose_frame(stack, code);
    CHECK(chosen.basis == FrameBasis::kUserCode);
    CHECK(chosen.index == stack.size() - (one.covered ? 1 : 2));
  }
}

TEST_CASE("without user code: Python outside frameworks, then a named function, then the API") {
  const ResolvedFrame cuda = native("/usr/lib/libcuda.so.1", "cuStreamSynchronize");
  const ResolvedFrame torch =
      native("/x/site-packages/torch/lib/libtorch_cpu.so", "torch::autograd::Engine::thread_main");
  const ResolvedFrame torch_python = python("/x/site-packages/torch/nn/modules/module.py");
  const ResolvedFrame package = python("/x/site-packages/lightning/loop.py");
  const UserCode code("/usr/bin/python3");
  const std::vector<ResolvedFrame> with_package = {cuda, torch, torch_python, package, python("<frozen runpy>")};
  CHECK(choose_frame(with_package, code).basis == FrameBasis::kPython);
  CHECK(choose_frame(with_package, code).index == 3);
  const std::vector<ResolvedFrame> engine = {cuda, native("/x/site-packages/torch/lib/libtorch_cuda.so"), torch,
                                             torch_python};
  CHECK(choose_frame(engine, code).basis == FrameBasis::kNative);
  CHECK(choose_frame(engine, code).index == 2);
  const std::vector<ResolvedFrame> nothing = {native("/y/libsynctrace.so", "record"), cuda,
                                              native("/usr/lib/libcuda.so.1")};
  CHECK(choose_frame(nothing, code).basis == FrameBasis::kNone);
  CHECK(choose_frame({}, code).basis == FrameBasis::kNone);
}

TEST_CASE("patterns cover whole components and what is below them") {
  CHECK(matches_path("/opt/vendor", "/opt/vendor/a/b.py"));
  CHECK(matches_path("/opt/vendor/", "/opt/vendor/a/b.py"));
  CHECK_FALSE(matches_path("/opt/vendor", "/opt/vendors/a.py"));
  CHECK_FALSE(matches_path("/opt/vendor", "/home/opt/vendor/a.py"));
  CHECK(matches_path("vendor", "/opt/vendor/a.py"));
  CHECK(matches_path("vendor/*_gen.py", "/opt/vendor/x/a_gen.py"));
  CHECK(matches_path("train.py", "train.py"));
  CHECK_FALSE(matches_path("train.py", "/a/retrain.py"));
  CHECK(matches_path("*/b?.py", "/a/b1.py"));
  CHECK_FALSE(matches_path("*/b?.py", "/a/b.py"));
  CHECK(matches_path("<string>", "<string>"));
  CHECK(matches_path("/", "/a"));
  CHECK_FALSE(matches_path("", "/a"));
  CHECK_FALSE(matches_path("*", ""));
  CHECK_FALSE(matches_path("*", std::string(1 << 20, 'x')));
  CHECK_FALSE(matches_path("*a*a*a*a*a*a*a*a*a*a*a*b", std::string(4096, 'a')));
}

TEST_CASE("options move code to and from the user; the longer pattern counts") {
  UserCode code("/usr/bin/python3");
  REQUIRE_FALSE(code.add_user_pattern("site-packages/ourlib"));
  REQUIRE_FALSE(code.add_user_pattern("/opt/conda/*/torch/nn"));
  REQUIRE_FALSE(code.add_library_pattern("/home/ada/vendor"));
  REQUIRE_FALSE(code.add_user_pattern("/home/ada/vendor/mine"));
  REQUIRE_FALSE(code.add_library_pattern("*/libours.so"));
  CHECK(code.owner_of(python("/v/lib/python3.12/site-packages/ourlib/a.py")) == CodeOwner::kUser);
  CHECK(code.owner_of(python("/v/lib/python3.12/site-packages/ourlib2/a.py")) == CodeOwner::kPackage);
  CHECK(code.owner_of(python("/opt/conda/lib/python3.11/site-packages/torch/nn/a.py")) == CodeOwner::kUser);
  CHECK(code.owner_of(python("/home/ada/vendor/a.py")) == CodeOwner::kPackage);
  CHECK(code.owner_of(python("/home/ada/vendor/mine/a.py")) == CodeOwner::kUser);
  CHECK(code.owner_of(native("/home/ada/libours.so", "f", "/home/ada/f.cpp", 3)) == CodeOwner::kPackage);
  REQUIRE_FALSE(code.add_library_pattern("site-packages/ourlib"));
  CHECK(code.owner_of(python("/v/lib/python3.12/site-packages/ourlib/a.py")) == CodeOwner::kUser);
}

TEST_CASE("a pattern that can match nothing is an error") {
  UserCode code;
  CHECK(code.add_user_pattern(""));
  CHECK(code.add_library_pattern(std::string(UserCode::kLongestPattern + 1, 'x')));
  CHECK_FALSE(code.add_library_pattern(std::string(UserCode::kLongestPattern, '*')));
}

TEST_CASE("any text is a file name") {
  UserCode code(std::string(1 << 20, '/'));
  REQUIRE_FALSE(code.add_user_pattern("*\xff*"));
  for (const std::string& text : {std::string(1 << 20, '/'), std::string(1 << 20, 'x'), std::string("\xff\xfe/\x80"),
                                  std::string(1 << 20, '\0'), std::string("//"), std::string("C:"), std::string("C:\\"),
                                  std::string("\\\\host\\share\\a.py"), std::string("<\n")}) {
    const std::vector<ResolvedFrame> stack = {python(text, std::numeric_limits<std::uint32_t>::max()),
                                              native(text, text, text, 1U << 31), python(text, 0)};
    CHECK(choose_frame(stack, code).index < stack.size());
  }
}

TEST_CASE("the interpreter's own frames are told from those of the user") {
  const ResolvedFrame loop = [] {
    ResolvedFrame frame = native("/home/ada/app/embeds_python", "eval");
    frame.is_eval_loop = true;
    return frame;
  }();
  const ResolvedFrame interpreter = native("/usr/lib/libpython3.12.so.1.0", "PyObject_Call");
  const ResolvedFrame libc = native("/lib/x86_64-linux-gnu/libc.so.6", "qsort");
  const ResolvedFrame extension = native("/home/ada/app/ops.so", "forward");
  const ResolvedFrame script = python("/home/ada/train.py");
  using Hidden = std::vector<bool>;
  CHECK(interpreter_frames(std::vector<ResolvedFrame>{}).empty());
  // What is inside of the innermost Python frame stays, the interpreter's part of it too.
  CHECK(interpreter_frames(std::vector{libc, interpreter, script, loop, interpreter, libc}) ==
        Hidden{false, false, false, true, true, true});
  // Between Python frames only the interpreter is hidden; a start of a thread ends at the first frame of the user's.
  CHECK(interpreter_frames(
            std::vector{script, interpreter, libc, extension, interpreter, script, loop, libc, extension, libc}) ==
        Hidden{false, true, false, false, true, false, true, false, false, true});
  CHECK(interpreter_frames(std::vector{interpreter, libc}) == Hidden{false, false});
}

TEST_CASE("NVIDIA's libraries are known by their names") {
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/x/nvidia/cudnn/lib/libcudnn.so.9",
                           "libcupti.so.13", "/x/libnccl.so.2", "libnvidia-ml.so.1", "/y/libcublasLt.so.12"}) {
    CHECK(places::is_nvidia_library(path));
  }
  for (const char* path : {"", "/", "/usr/lib/libcudart/libfoo.so", "/home/a/libcurl.so.4", "libc.so.6"}) {
    CHECK_FALSE(places::is_nvidia_library(path));
  }
}

}  // namespace synctrace::user_frame_test
