// SPDX-License-Identifier: Apache-2.0
// glibc 2.36: where std::random_device takes its numbers from.
#include <sys/syscall.h>
#include <unistd.h>

extern "C" __attribute__((visibility("hidden"))) unsigned arc4random();

unsigned arc4random() {
  unsigned value = 0;
  while (syscall(SYS_getrandom, &value, sizeof value, 0) != sizeof value) {
  }
  return value;
}
