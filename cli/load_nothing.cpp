// SPDX-License-Identifier: Apache-2.0
// For the statically linked command alone. SQLite's extensions and elfutils' client of debuginfod are libraries to be
// loaded at run time: into a program that has a C library of its own, where the machine's would be a second one. So
// nothing can be loaded, and both go without: the linker puts these in place of the C library's. What has to be loaded
// is loaded by synctrace-probe.
extern "C" {
void* __wrap_dlopen(const char*, int) { return nullptr; }
void* __wrap_dlsym(void*, const char*) { return nullptr; }
int __wrap_dlclose(void*) { return -1; }
char* __wrap_dlerror() { return nullptr; }
}
