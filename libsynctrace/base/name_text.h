// SPDX-License-Identifier: Apache-2.0
// Names of functions and paths as a reader knows them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace synctrace {

// The name of a function without its parameters, the arguments of its templates, and "(anonymous namespace)::":
// "ns::step<..>" for "void ns::(anonymous namespace)::step<float, 4>(float*)".
std::string function_text(std::string_view function);

// The same of a function of Python by the name that its `def` has: "step" for "build.<locals>.step". What has no name
// is a part of what defines it: "update" for "update.<locals>.<lambda>".
std::string defined_name(std::string_view function);

// Like function_text, in at most `columns` (8 or more), of a longer one its end, from one of its parts on:
// "..::Trainer::step".
std::string short_function_text(std::string_view function, std::size_t columns);

// The same as function_text without any trace of its templates: kernels of one family share it.
std::string family_text(std::string_view function);

// A path as the program's user would write it: relative to its working folder where it lies inside.
std::string path_text(std::string_view path, std::string_view folder);

// Quoted, where it has to be, so that a shell reads it as one word.
std::string shell_word(std::string_view text);

}  // namespace synctrace
