// SPDX-License-Identifier: Apache-2.0
// One of the libraries of many_libraries.cu: thread-local storage, a constructor, RELOCATIONS pointers to relocate.
#ifndef RELOCATIONS
#define RELOCATIONS 100
#endif
static int target;
void* table[RELOCATIONS] = {[0 ... RELOCATIONS - 1] = &target};
__thread int counted = NUMBER;
static int made;
__attribute__((constructor)) static void begin(void) { made = counted; }
int number(void) { return made == NUMBER && table[RELOCATIONS / 2] == (void*)&target ? counted : -1000000; }
