// SPDX-License-Identifier: Apache-2.0
// A plug-in for native_callers. PLUGIN_PADDING moves plugin_call to another address and gives it another frame, so that
// two builds of this file in one place cannot be taken for each other.
#include <cstring>

extern "C" {

__attribute__((noinline)) int padding(int value) {
#if PLUGIN_PADDING
  for (int i = 0; i < value; ++i) value += (value << 3) ^ (value * 7) ^ i;
  for (int i = 0; i < value; ++i) value -= (value << 5) ^ (value * 11) ^ i;
#endif
  return value;
}

int plugin_call(int (*function)(void*), void* argument) {
  char local[100 + 400 * PLUGIN_PADDING];
  std::memset(local, 1, sizeof local);
  __asm__ volatile("" : : "r"(local) : "memory");
  const int result = function(argument) + padding(0);
  __asm__ volatile("" : : "r"(local) : "memory");
  return result;
}
}
