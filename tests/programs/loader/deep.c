// SPDX-License-Identifier: Apache-2.0
// A library that needs 80 others and takes long to relocate: both names are in the last of these, and in turns they
// defeat the loader's memory of the name before. All in all some 80 ms.
__asm__(
    ".section .data.rel,\"aw\"\n"
    ".balign 8\n"
    ".rept 120000\n"
    ".quad last_call\n"
    ".quad last_number\n"
    ".endr\n"
    ".previous\n");
