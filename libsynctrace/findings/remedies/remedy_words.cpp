// SPDX-License-Identifier: Apache-2.0
#include "findings/remedies/remedy_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/format_text.h"
#include "base/name_text.h"
#include "findings/remedies/break_words.h"
#include "findings/remedies/launch_words.h"
#include "findings/remedies/read_words.h"

namespace synctrace {
namespace {

using Lines = std::vector<SourceLine>;

// What to write in the terms of each framework.
struct Typed {
  std::string cuda, torch, jax, cupy;

  const std::string& in(Framework framework) const {
    switch (framework) {
      case Framework::kPyTorch: return torch;
      case Framework::kJax: return jax;
      case Framework::kCupy: return cupy;
      case Framework::kCuda: break;
    }
    return cuda;
  }
};

RemedyWords drop_call(const SourceLine& where) {
  RemedyWords words;
  for (const NeedlessCall& each : needless_calls(where)) {
    words.title += (words.title.empty() ? "Delete " : " and ") + std::string(each.name);
    words.to_type.emplace_back(each.to_type);
  }
  return words;
}

RemedyWords of_library(const LibraryRemedy& library) {
  RemedyWords words{std::string(library.title), {std::string(library.to_type)}};
  if (!library.keeps.empty()) words.to_type.push_back("(" + std::string(library.keeps) + ")");
  return words;
}

RemedyWords pinned(Framework framework, const Lines& lines) {
  const SourceLine& where = lines.front();
  const bool copies = where.source.empty() || has_text(where, ".to(") || has_text(where, ".cuda(") ||
                      has_text(where, "copy_(") || has_text(where, "device=");
  if (framework == Framework::kPyTorch && !copies)
    return {"Keep what this call copies on the GPU",
            {"the copy is made inside of the call: give it tensors of the GPU"}};
  const Typed typed = {.cuda = "cudaMallocHost(&host, bytes) once; cudaMemcpyAsync(device, host, bytes, kind, stream)",
                       .torch = "DataLoader(..., pin_memory=True); a tensor of your own: tensor.pin_memory() once",
                       .jax = "jax.device_put the next batch before the step of this one is waited for",
                       .cupy = "host = cupyx.empty_pinned(shape, dtype); array.set(host, stream=stream)"};
  RemedyWords words{"Copy from pinned memory without waiting", {typed.in(framework)}};
  // A module's parameters are in no pinned memory.
  const bool is_module = has_file(where, "/torch/nn/modules/module.py");
  const std::string changed =
      framework == Framework::kPyTorch && !is_module ? with_non_blocking(where.source) : std::string();
  if (!changed.empty()) words.to_type.push_back(changed);
  return words;
}

RemedyWords wait_later(Framework framework) {
  const Typed typed = {
      .cuda = "cudaMemcpyAsync(pinned, device, bytes, kind, stream); cudaEventRecord(done, stream); wait later",
      .torch = "pinned.copy_(tensor, non_blocking=True); done.record(); later done.synchronize()",
      .jax = "array.copy_to_host_async(); np.asarray(array) one step later",
      .cupy = "array.get(stream=stream, out=pinned, blocking=False)"};
  return {"Copy to pinned memory, wait when the data is needed", {typed.in(framework)}};
}

RemedyWords remove_wait(Framework framework) {
  const Typed typed = {.cuda = "delete it; between streams: cudaStreamWaitEvent(stream, event, 0)",
                       .torch = "delete the synchronize(); between streams: stream.wait_event(event)",
                       .jax = "delete block_until_ready(), or call it once after the loop",
                       .cupy = "delete synchronize(); between streams: stream.wait_event(event)"};
  return {"Remove the wait", {typed.in(framework)}};
}

// The host and the GPU share managed memory: without the wait the host may read it while the GPU writes.
RemedyWords copy_managed() {
  return {"Copy what the host reads, and wait for it later",
          {"the host may read managed memory behind this wait, so do not delete it alone",
           "copy what it reads into pinned memory on the stream; wait for that copy one step later"}};
}

RemedyWords stop_polling(Framework framework) {
  if (framework == Framework::kPyTorch)
    return {"Stop polling the event",
            {"event.synchronize() where the result is needed; event.query() once a step at most"}};
  return {"Stop polling the event", {"cudaEventSynchronize where the result is needed; query once a step at most"}};
}

RemedyWords one_copy(Framework framework, const Lines& lines) {
  const auto is_constant = [](const SourceLine& each) {
    return !each.source.empty() && !has_text(each, ".to(") && !has_text(each, "tensor(") && !has_text(each, ".cuda(");
  };
  if (framework == Framework::kPyTorch && std::all_of(lines.begin(), lines.end(), is_constant))
    return {"Make these constants on the GPU once",
            {"value = torch.tensor(x, device=device) before the loop, used in place of x"}};
  const Typed typed = {
      .cuda = "pack them into one pinned buffer; one cudaMemcpyAsync",
      .torch = "batch = torch.stack(rows).pin_memory().to(device, non_blocking=True), then cast on the GPU",
      .jax = "batch = jax.device_put(numpy.stack(rows))",
      .cupy = "batch = cupy.asarray(numpy.stack(rows))"};
  return {"Make one copy of the many small ones", {typed.in(framework)}};
}

// A function that only reports what it reads need not run in each step.
bool only_reports(const std::string& function) {
  constexpr std::array<std::string_view, 8> kWords = {"log",     "watch",  "hook",  "stat",
                                                      "monitor", "report", "debug", "check"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return function.find(word) != std::string::npos; });
}

RemedyWords on_gpu(Framework framework, const CpuFunction& function) {
  const std::string name = defined_name(function.function);
  return {format_text("Compute {} on the GPU", name.empty() ? "this" : name),
          {format_text("keep what line {} copies to the CPU: {} operations in place of NumPy and loops", function.most,
                       framework == Framework::kCupy ? "cupy" : "torch"),
           "what the host needs at the end: copy the result alone"}};
}

std::string turns_of(const HostLoop& loop) {
  const std::string lines = loop.first_line == loop.last_line
                                ? format_text("line {} runs", loop.first_line)
                                : format_text("lines {} to {} run", loop.first_line, loop.last_line);
  return format_text("{} {} times in each step", lines, loop.turns);
}

// The loop may be inside of another one, over time: then each turn of that one needs its own call.
RemedyWords one_batch(const HostLoop& loop) {
  const std::string model = loop.model.empty() ? "the model" : loop.model;
  return {format_text("Call {} once for all items of a loop", model),
          {format_text("{}: put the items into one tensor first, torch.stack(items)", turns_of(loop)),
           format_text("one call of {} with it, one .cpu() of the result, then the loop without both", model)},
          {9, 10}};
}

RemedyWords all_at_once(Framework framework, const HostLoop& loop) {
  if (loop.takes_single_items && loop.runs_modules) return one_batch(loop);
  const std::string name = defined_name(loop.function);
  const std::string where = turns_of(loop);
  const std::string read = framework == Framework::kCupy ? ".get()" : ".tolist()";
  const auto turns = static_cast<std::int32_t>(std::min<std::uint64_t>(loop.turns, 10'000));
  const Share part = {turns - 1, turns};
  if (loop.kind == HostLoop::Turns::kRead)
    return {format_text("Read the {} values of a loop at once", loop.turns),
            {format_text("{}: one {} of the whole tensor in front of the loop", where, read)},
            part};
  RemedyWords words{format_text("Do {} turns of a loop in one operation", loop.turns), {}, part};
  words.to_type.push_back(
      loop.of_parameters             ? format_text("{}: all tensors in one list, torch._foreach_norm(tensors)", where)
      : framework == Framework::kJax ? format_text("{}: a function of one item, jax.jit(jax.vmap(function))", where)
                                     : format_text("{}: give the whole tensor to one operation", where));
  if (loop.reads)
    words.to_type.push_back(
        format_text("what the host must see: one {} in front of the loop, not one in each turn", read));
  else if (loop.runs_modules)
    words.to_type.push_back("modules of one shape: their weights in one tensor, and torch.bmm or torch.einsum");
  if (only_reports(name)) words.to_type.push_back(format_text("if {} only reports: run it every 50 steps", name));
  return words;
}

RemedyWords host_data(const DataOfHost& data) {
  const std::string name = defined_name(data.function);
  switch (data.made) {
    case DataOfHost::Made::kInForward:
      return {
          format_text("Keep the tensors that {} builds", name),
          {format_text("make what line {} copies once, in __init__: self.register_buffer(\"name\", tensor)", data.line),
           "what depends on the batch: torch operations on the GPU, as torch.arange(n, device=x.device)"}};
    case DataOfHost::Made::kInLoader:
      return {format_text("Let workers make the samples of {}", name),
              {format_text("{} returns CPU tensors: no device=, no .cuda() there", name),
               "DataLoader(..., num_workers=4, pin_memory=True); batch.to(device, non_blocking=True) in the loop"}};
    case DataOfHost::Made::kInStep: break;
  }
  if (data.takes_half_of_steps)
    return {format_text("Have ready what {} makes in each step", name),
            {"hold the data on the GPU, and index and change it there: then nothing is copied",
             "or make it ahead in several processes: it takes most of a step, so one thread is too slow"}};
  return {format_text("Have ready what {} makes in each step", name),
          {"make it for the next step in a thread, while this one runs",
           "or hold the data on the GPU, and index it there: then nothing is copied"}};
}

// "if change.item() < tol:" in every tenth turn alone.
RemedyWords test_less(const HostLoop& loop) {
  const std::string name = defined_name(loop.function);
  const bool is_named = !name.empty() && name != "main" && name.find('<') == std::string::npos;
  RemedyWords words{
      format_text("Test in every tenth turn whether {} is done", is_named ? name : "the loop"), {}, {9, 10}};
  const bool is_if = loop.test.starts_with("if ");
  words.to_type.push_back(is_if ? "if turn % 10 == 9 and " + loop.test.substr(3)
                                : format_text("line {}: only where turn % 10 == 9", loop.last_line));
  if (loop.first_line != loop.last_line)
    words.to_type.push_back(format_text("line {} too: only where turn % 10 == 9", loop.first_line));
  words.to_type.push_back("turn counts the turns; up to 9 of them then run beyond the limit");
  return words;
}

// A function that holds the whole loop is not what is to be faster, but its line.
RemedyWords host_code(const Lines& lines) {
  const SourceLine& where = lines.front();
  const std::string name = function_text(where.function);
  const bool is_whole = name.empty() || name == "main" || name == "<module>" || name.starts_with("main.<locals>");
  const std::string file = where.file.substr(where.file.rfind('/') + 1);
  const std::string what = !is_whole                         ? defined_name(name)
                           : where.line == 0 || file.empty() ? std::string("this host code")
                                                             : format_text("{}:{}", file, where.line);
  return {format_text("Make {} twice as fast", what),
          {"do less there in each step; what needs no result of the GPU can be done ahead, in a thread"}};
}

RemedyWords keep_memory(Framework framework, const Lines& lines) {
  const bool empties = any_has_text(lines, "empty_cache(");
  const Typed typed = {
      .cuda = "allocate once, before the loop; or cudaMallocAsync with a pool that keeps its memory",
      .torch = empties ? "delete torch.cuda.empty_cache(); allocate buffers once, before the loop"
                       : "allocate the buffer once, before the loop; or PYTORCH_ALLOC_CONF=expandable_segments:True",
      .jax = "XLA_PYTHON_CLIENT_PREALLOCATE=true (the default)",
      .cupy = "keep CuPy's memory pool; allocate the array once, before the loop"};
  return {"Keep the memory from step to step", {typed.in(framework)}};
}

RemedyWords keep_pool() {
  return {"Let the memory pool keep its memory at each wait",
          {"uint64_t all = UINT64_MAX; cudaMemPool_t pool; cudaDeviceGetDefaultMemPool(&pool, device);",
           "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);  // once, before the loop"}};
}

RemedyWords by_index() {
  return {"Take batches of the GPU's tensors without a DataLoader",
          {"order = torch.randperm(len(x), device=x.device)  # workers cannot use tensors of the GPU",
           "for index in order.split(batch_size): xb, yb = x[index], y[index]"}};
}

RemedyWords feed() {
  return {"Have the next batch ready", {"load the next batch in a thread or process of its own while the step runs"}};
}

// The line makes an array of the host's values, and reads the result back.
RemedyWords on_host(Framework framework, const SourceLine& where) {
  const std::string name = defined_name(where.function);
  const bool is_named = !name.empty() && name != "main" && name.find('<') == std::string::npos;
  const std::string what = is_named ? name : "this line";
  if (framework == Framework::kPyTorch)
    return {"Compute " + what + " on the CPU", {"torch.tensor(...) without device=, or math"}};
  return {
      "Compute " + what + " with NumPy",
      {framework == Framework::kJax ? "np.array(...) in place of jnp.array(...): the values come from the host"
                                    : "numpy.array(...) in place of cupy.array(...): the values come from the host"}};
}

RemedyWords optimizer() {
  return {"Let the optimizer launch one kernel for all parameters",
          {"torch.optim.AdamW(model.parameters(), ..., fused=True); also Adam, SGD"}};
}

RemedyWords preload(Framework framework) {
  if (framework == Framework::kCuda)
    return {"Load the code before the steps",
            {"launch each kernel once before the loop, or CUDA_MODULE_LOADING=EAGER"}};
  return {"Load the code before the steps", {"run one step of each shape before the loop, as a warm-up"}};
}

// The helper that all the lines call, "to_numpy"; empty: there is no one such helper.
std::string helper_of(const Lines& lines) {
  if (lines.empty()) return {};
  const HelperLine& first = lines.front().through;
  const bool is_one = first.is_users() && std::all_of(lines.begin(), lines.end(), [&](const SourceLine& each) {
                        return each.through.file == first.file && each.through.function == first.function;
                      });
  const std::string name = is_one ? family_text(first.function) : std::string();
  return name.substr(name.find_last_of(".:") + 1);
}

// A read or a wait is left out where the helper is called, not inside of it, where others need it.
RemedyWords of_helper(RemedyKind kind, Framework framework, const Lines& lines, const std::string& helper) {
  const std::string& source = lines.front().source;
  const std::string call = lines.size() > 1 || source.empty() ? "these calls of " + helper : source;
  if (kind == RemedyKind::kRemoveWait) {
    RemedyWords words{"Remove the call of " + helper, remove_wait(framework).to_type};
    words.to_type.insert(words.to_type.begin(), "delete " + call);
    return words;
  }
  constexpr std::string_view kAtOnce = "put the values side by side on the GPU, and read all at once";
  const std::string rarely = call + ": every 50 steps, not in each";
  if (framework == Framework::kCuda && lines.size() > 1 &&
      !lines.front().file.ends_with(".py")) {  // what the host decides by them stays as it is
    const auto count = static_cast<std::int32_t>(lines.size());
    return {format_text("Read the {} values of {} at once", count, helper),
            {std::string(kAtOnce), "or " + rarely},
            {count - 1, count}};
  }
  RemedyWords words{format_text("Call {} every 50 steps", helper), {rarely}};
  if (lines.size() > 1) words.to_type.push_back("or " + std::string(kAtOnce));
  return words;
}

// The words of a change of the lines themselves.
RemedyWords of_lines(const RemedyGroup& group, Framework framework, const Lines& lines,
                     const std::vector<LaunchTarget>& modules) {
  switch (group.kind) {
    case RemedyKind::kNone: break;
    case RemedyKind::kGraph: return graph_words(framework, lines, modules);
    case RemedyKind::kLoopOfKernels: return loop_words(framework, group.function, lines);
    case RemedyKind::kOptimizer: return optimizer();
    case RemedyKind::kReadLater: return read_later(framework, lines);
    case RemedyKind::kRemoveWait: return remove_wait(framework);
    case RemedyKind::kCopyManaged: return copy_managed();
    case RemedyKind::kStopPolling: return stop_polling(framework);
    case RemedyKind::kOneCopy: return one_copy(framework, lines);
    case RemedyKind::kWaitLater: return wait_later(framework);
    case RemedyKind::kPinned: return pinned(framework, lines);
    case RemedyKind::kKeepMemory: return keep_memory(framework, lines);
    case RemedyKind::kKeepPool: return keep_pool();
    case RemedyKind::kFeed: return feed();
    case RemedyKind::kByIndex: return by_index();
    case RemedyKind::kOneGraph: return one_graph(lines);
    case RemedyKind::kOnGpu: return on_gpu(framework, *group.on_cpu);
    case RemedyKind::kAllAtOnce: return all_at_once(framework, *group.loop);
    case RemedyKind::kTestLess: return test_less(*group.loop);
    case RemedyKind::kHostData: return host_data(*group.data);
    case RemedyKind::kOnHost: return on_host(framework, lines.front());
    case RemedyKind::kHostCode: return host_code(lines);
    case RemedyKind::kCompile: return compile_words(framework, group.function, lines);
    case RemedyKind::kDropCall: return drop_call(lines.front());
    case RemedyKind::kLibrary: return of_library(*group.library);
    case RemedyKind::kNoCollection:
      return {"Keep the garbage collector out of the steps",
              {"gc.freeze(); gc.disable() before the loop, gc.collect() every 1000 steps"}};
    case RemedyKind::kPreload: return preload(framework);
    case RemedyKind::kDropDependency:
      return {"Do not let the stream wait for the event",
              {"drop the wait_event where the stream does not use that data"}};
  }
  return {};
}

}  // namespace

std::vector<std::string> recompile_words(Framework framework, const SourceLine& where) {
  if (framework == Framework::kJax)
    return {"same shapes: call jax.jit once, outside of the loop; give what changes as an argument",
            "new shapes: pad the inputs to a few, multiples of 128; static values that change: as arrays"};
  if (framework != Framework::kPyTorch) return {};
  const std::string_view numbers =
      has_file(where, "torch/_dynamo/") ? "numbers that change in each step: as tensors. " : "";
  return {"torch.compile(..., dynamic=True), or pad the inputs to a few lengths",
          std::string(numbers) + "TORCH_LOGS=recompiles says why"};
}

std::string with_non_blocking(const std::string& source) {
  std::string text = source;
  bool changed = false;
  for (const std::string_view call : {".to(", ".cuda("}) {
    for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
      std::size_t end = at + call.size();
      for (int open = 1; end < text.size(); ++end) {
        if (text[end] == '(') ++open;
        if (text[end] == ')' && --open == 0) break;
      }
      if (end == text.size()) return {};  // the call goes on in the next line
      const std::string inside = text.substr(at + call.size(), end - at - call.size());
      if (inside.find("non_blocking") != std::string::npos) continue;
      text.insert(end, inside.empty() ? "non_blocking=True" : ", non_blocking=True");
      changed = true;
    }
  }
  return changed ? text : std::string();
}

RemedyWords remedy_words(const RemedyGroup& group, Framework framework, const std::vector<ShownFix>& fixes,
                         const std::vector<LaunchTarget>& modules) {
  Lines lines;
  for (const ShownFix& fix : fixes) lines.push_back(fix.where);
  const std::string helper = helper_of(lines);
  if (!helper.empty() && (group.kind == RemedyKind::kReadLater || group.kind == RemedyKind::kRemoveWait))
    return of_helper(group.kind, framework, lines, helper);
  // What else is to change in a helper stands in its own line.
  for (SourceLine& each : lines) {
    if (each.through.is_users()) each.source = each.through.source;
  }
  return of_lines(group, framework, lines, modules);
}

}  // namespace synctrace
