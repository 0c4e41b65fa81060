// SPDX-License-Identifier: Apache-2.0
// glibc 2.32: says that the process has one thread, which lets libstdc++ count without atomics. Before, nobody knows.
extern "C" {
extern __attribute__((visibility("hidden"))) char __libc_single_threaded;
char __libc_single_threaded = 0;
}
