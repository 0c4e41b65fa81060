// SPDX-License-Identifier: Apache-2.0
//
// The smallest tool that CUDA_INJECTION64_PATH can name: it counts how often it was initialised.
#define PROBE_EXPORT extern "C" __attribute__((visibility("default")))

PROBE_EXPORT int injection_calls;
int injection_calls = 0;

PROBE_EXPORT int InitializeInjection() {
  ++injection_calls;
  return 1;
}
