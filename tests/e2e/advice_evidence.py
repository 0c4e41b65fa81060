# SPDX-License-Identifier: Apache-2.0
"""What must be in a recording before a line is printed that a user types: rows of that line, and of what the recording must hold.
A name that the line takes from the program stands in braces: {0} is the first group of the row's first pattern."""
import re

PYTHON = r"^code .*file="
TORCH = r'^(code|source_line) .*(/torch/|import torch|torch\.)'
JAX = r'^code .*file="[^"]*/jax/'
CUPY = r'^code .*file="[^"]*/cupy/'
CUDA = r'^api_name .*"cu'
LOADER = r'^code .*file="[^"]*/torch/utils/data/'
OPTIMIZER = r'^code .*file="[^"]*/torch/optim/'
COMPILED = r'^code .*file="[^"]*/torch/_dynamo/'
MODULE = r'^code .*file="[^"]*/torch/nn/modules/module\.py"'
LIGHTNING = r'^code .*file="[^"]*/(pytorch_lightning|lightning)/'
TRANSFORMERS = r'^code .*file="[^"]*/transformers/'
THRUST = r'^(symbol|source_line) .*thrust'
COPIES = r"^call .*copy_kind=[12]"
UPLOADS = r"^call .*copy_kind=1"
READS = r"^call .*copy_kind=2"
SLEEPS = r"^host_wait "
SAMPLED = r"^sample "
LAUNCHES = r"^launch "
FUNCTION = r'^code .*function="([^"]*\.)?{0}"'
FORWARD = r'^code .*function="([^"]*\.)?{0}\.(forward|__call__)"'
CALLED = r'^source_line .*text="[^"]*\b{0}\b'
FLOAT32 = r'^string .*(f32f32_f32f32|sgemm|ffma)'
TF32 = r'^string .*(tf32|tensorop_s1688gemm)'
TURNS = r'^string .*(nchwTo[Nn]hwc|nhwcTo[Nn]chw)'
FUSES = r'^string .*(elementwise|reduce_kernel|[nN]orm|[sS]oft[mM]ax|CatArray|index|gather|cudnn.*bn_)'
LOADS = r"^api_name .*(Module|Library|Graph|LoadData)|compile"

ROWS = [
    # what a library has a switch for
    (r"^\(", []),  # what the switch changes; the line before it is looked at
    (r"thrust::", [THRUST]),
    (r"enable_cudnn_sdp", [r'^(code|source_line) .*(sdpa_attention|scaled_dot_product_attention)']),
    (r"self\.log\(|enable_progress_bar", [LIGHTNING]),
    (r"TrainingArguments|cache_implementation|model\.generate", [TRANSFORMERS]),
    (r"metric\.compute\(\) every 50 steps", [r'^code .*file="[^"]*/torchmetrics/']),
    (r"torch\.optim\.\w+\(", [OPTIMIZER, LAUNCHES]),
    # loops, and work on the CPU
    (r"run[s]? \d+ times in each step: (one|give)", [PYTHON, LAUNCHES]),
    (r"run[s]? \d+ times in each step: all tensors in one list, torch", [TORCH, READS]),
    (r"run[s]? \d+ times in each step: a function of one item, jax", [JAX, LAUNCHES]),
    (r"put the items into one tensor first, torch\.stack|^one call of .* with it, one \.cpu\(\) of the result", [MODULE, READS]),
    (r"^modules of one shape: their weights in one tensor", [TORCH, LAUNCHES]),
    (r"turn % 10 == 9|^turn counts the turns; ", [PYTHON, READS]),
    (r"^make what line \d+ copies once, |^what depends on the batch: torch operations", [TORCH, UPLOADS]),
    (r"returns CPU tensors: no device=, ", [TORCH, UPLOADS, LOADER]),
    (r"^make it for the next step in a thread, |^(or )?hold the data on the GPU, and index|^or make it ahead in several processes", [PYTHON, SAMPLED]),
    (r"^what the host must see: one \.(tolist|get)\(\) in front of the loop", [PYTHON, READS]),
    (r"^if [\w.]+ only reports: run it every 50 steps", [PYTHON, READS]),
    (r"^keep what line \d+ copies to the CPU: ", [PYTHON, READS]),
    (r"^what the host needs at the end: copy the result alone", [PYTHON, READS]),
    (r"index_select\(0, |^the rows in the forward part that are taken by x\[index\]", [TORCH, r"^string .*indexing_backward"]),
    (r"^delete (\w+)\(\)$", [PYTHON, CALLED]),
    (r"^the host may read managed memory|^copy what it reads into pinned memory", [r'^api_name .*Managed']),
    # kernels that take a slow way
    (r"^n of 2, 3, 5 and 7 alone", [r"^string .*bluestein"]),
    (r"thrust::less<Key>|^an order that looks up keys: ", [r"^string .*DeviceMergeSort"]),
    (r"^x\.topk\(k|^cupy\.argpartition", [r"^string .*[sS]ort", r"^source_line .*sort"]),
    (r"lu_factor\(([\w.]+)\) once|^lu_solve\(lu, b\) in each step", [r"^string .*getrf", r"^source_line .*\.solve\("]),
    (r"^cupy\.asarray\(x, dtype=cupy\.float32\)", [CUPY, r"^string .*(f64|float64)"]),
    (r"^the copy is made inside of the call: ", [PYTHON, UPLOADS]),
    (r"need_weights=False", [r'^code .*function="multi_head_attention_forward"', r"^string .*[sS]oft[mM]ax"]),
    (r"scaled_dot_product_attention", [TORCH, r"^string .*[sS]oft[mM]ax"]),
    # loaders
    (r"^crop and sample before other transforms|^it begins anew there: draw fewer indices", [LOADER]),
    (r"num_workers|persistent_workers", [LOADER]),
    (r"DataLoader\(\.\.\., pin_memory=True\)", [TORCH, COPIES]),
    (r"load the next batch in a thread", [PYTHON]),
    # launches
    (r"above def (\w+): @torch\.compile", [TORCH, LAUNCHES, FUNCTION]),
    (r"above def (\w+): @cupy\.fuse\(\)", [CUPY, LAUNCHES, FUNCTION]),
    (r"above def (\w+): @jax\.jit", [JAX, LAUNCHES, FUNCTION]),
    (r"above forward of (\w+): @torch\.compile", [MODULE, LAUNCHES, FORWARD]),
    (r"above forward of \w+: @torch\.compile(;|$)", [FUSES]),
    (r"^fast_\w+ = torch\.compile\(([\w.]+), ", [MODULE, LAUNCHES, CALLED]),
    (r"^fast_\w+ = torch\.compile\(([\w.]+)\) before the loop", [MODULE, LAUNCHES, CALLED, FUSES]),
    (r"^call fast_\w+ in place of ([\w.]+) in [\w.]+:\d+(?:; likewise \d+ more)?$", [MODULE, CALLED]),
    (r"of the module that ([\w.]+):\d+ calls(?:; likewise \d+ more)?$", [MODULE, LAUNCHES, r'^code .*file="[^"]*/{0}"']),
    (r"torch\.compile\(\.\.\.\) of the module", [FUSES]),
    (r"^model\.compile\(.*\) before the loop; model: your (\w+)", [MODULE, LAUNCHES, FORWARD]),
    (r"^model\.compile\(\) before the loop", [FUSES]),
    (r"^move lines? .* into a function, with @torch\.compile", [TORCH, LAUNCHES]),
    (r"^move lines? .* into a function, with @jax\.jit", [JAX, LAUNCHES]),
    (r"cudaGraphInstantiate|cudaStreamBeginCapture", [CUDA, LAUNCHES]),
    (r"TORCH_LOGS=graph_breaks|outside of the compiled model|^self\.\w+ = [\w.()]+$", [COMPILED, r'file="[^"]*torchinductor_']),
    (r"torch\.compile\(\.\.\., dynamic=True\)|TORCH_LOGS=recompiles", [COMPILED]),
    (r"run one step of each shape before the loop", [PYTHON, LOADS]),
    # reads and waits
    (r"keep (\w+)\.detach\(\)", [TORCH, CALLED, READS]),
    (r"keep the tensor; call|print the tensor|torch\.where\(|read all at once", [CUDA, READS]),
    (r"fixed upper bound in place of a size", [TORCH]),
    (r"^(?:or )?these calls of (\w+)", [READS, r'^(symbol|code) .*\b{0}\b']),
    (r"keep (?!the )(\w+); call float\(\)", [JAX, CALLED]),
    (r"keep the array; call float\(\) on the one", [JAX]),
    (r"keep the array; call float\(\) or \.get\(\)", [CUPY, READS]),
    (r"delete block_until_ready", [JAX]),
    (r"delete synchronize\(\)", [CUPY]),
    (r"delete the synchronize\(\)", [TORCH]),
    (r"delete it; between streams", [CUDA]),
    (r"cudaEventSynchronize where the result", [r"^poll "]),
    (r"event\.synchronize\(\) where the result", [TORCH, r"^poll "]),
    # kernels
    (r"torch\.set_float32_matmul_precision\(", [TORCH, FLOAT32]),
    (r"jax_default_matmul_precision", [JAX, FLOAT32]),
    (r"CUPY_TF32=1", [CUPY, FLOAT32]),
    (r"cublasSetMathMode\(", [CUDA, FLOAT32]),
    (r"^([\w.]+)\.to\(memory_format=torch\.channels_last\) before the loop$", [MODULE, CALLED, TURNS]),
    (r"torch\.backends\.cudnn\.benchmark = True", [TORCH, TF32, FLOAT32]),
    (r"torch\.autocast\(\"cuda\", dtype=torch\.bfloat16\)", [TORCH, TF32]),
    # copies
    (r"pinned\.copy_\(", [TORCH, COPIES]),
    (r"cudaMallocHost|cudaMemcpyAsync", [CUDA, COPIES]),
    (r"cupy\.fft\.config\.get_plan_cache", [CUPY, r'^code .*file="[^"]*/cupy/fft/_fft.py"']),
    (r"formats only what is shown", [TORCH, r'^code .*file="[^"]*/torch/_tensor_str.py"']),
    (r"cupyx\.empty_pinned", [CUPY, COPIES]),
    (r"torch\.stack\(rows\)|torch\.tensor\(x, device=device\)", [TORCH, UPLOADS]),
    (r"^.*\.(to|cuda)\(.*non_blocking=True", [TORCH, UPLOADS]),
    # memory, host code
    (r"cudaDeviceGetDefaultMemPool|cudaMemPoolAttrReleaseThreshold", [CUDA, r'^api_name .*"(cuda|cu)Mem(AllocAsync|.*Async)|"cudaMallocAsync']),
    (r"allocate once, before the loop", [CUDA, r'^api_name .*"(cuda|cu)(Malloc|Free|Mem|HostAlloc)']),
    (r"allocate the buffer once, before the loop", [TORCH, r'^api_name .*"(cuda|cu)(Malloc|Free|Mem)']),
    (r"torch\.cuda\.empty_cache\(\)", [TORCH, r'^source_line .*empty_cache']),
    (r"XLA_PYTHON_CLIENT_PREALLOCATE", [JAX]),
    (r"gc\.freeze\(\)", [r"^sample .*state=4|gc_collect"]),
    (r"gc\.collect\(\)$|delete .*gc\.collect", [r'^source_line .*gc\.collect']),
    (r"^do it less often, or in another thread$", [r"^(sample|launch|call|host_wait) "]),
    (r"do less there in each step|^busiest lines there", [r"^(sample|launch|call|host_wait) "]),
]


def lacking(typed, dump):
    """What a line needs and the recording does not have; a sentence for a line that no row knows."""
    rows = [(match, needs) for pattern, needs in ROWS if (match := re.search(pattern, typed))]
    if not rows:
        return ["a row in advice_evidence.py"]
    return [need for match, needs in rows for need in needs
            if not re.search(re.sub(r"\{(\d)\}", lambda group: re.escape(match.groups()[int(group[1])]), need), dump, re.MULTILINE)]
