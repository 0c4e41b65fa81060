// SPDX-License-Identifier: Apache-2.0
// Which file a program's name means, and what runs a script.
#pragma once

#include <string>
#include <vector>

namespace synctrace::cli {

// The program's file, searched like exec does; empty: there is none. A name with a slash is the file itself.
std::string program_file(const std::string& name);

// Whether the word can be run: a program, or a script of Python that is here.
bool is_program(const std::string& word);

// A command that begins with a script of Python which is no program itself gets Python's interpreter before it.
std::vector<std::string> with_interpreter(std::vector<std::string> command);

}  // namespace synctrace::cli
