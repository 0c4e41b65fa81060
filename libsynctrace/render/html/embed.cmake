# SPDX-License-Identifier: Apache-2.0
# Joins the files of this folder into the page's style and script, and writes them as the C++ source OUTPUT, with their
# digests: cmake -DOUTPUT=front_end.cpp -DSTYLES=a.css -DSCRIPTS=a.js,b.js -P embed.cmake
include(${CMAKE_CURRENT_LIST_DIR}/../../raw_literals.cmake)

# The digest of a text in base64, made of its hexadecimal form: three digits of that are two digits of this.
function(base64_sha256 text result)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hex "${text}")
  string(APPEND hex "00")
  set(encoded "")
  foreach(at RANGE 0 63 3)
    string(SUBSTRING "${hex}" ${at} 3 group)
    math(EXPR high "0x${group} >> 6")
    math(EXPR low "0x${group} & 63")
    string(SUBSTRING "${digits}" ${high} 1 first)
    string(SUBSTRING "${digits}" ${low} 1 second)
    string(APPEND encoded "${first}${second}")
  endforeach()
  string(SUBSTRING "${encoded}" 0 43 encoded)
  set(${result} "sha256-${encoded}=" PARENT_SCOPE)
endfunction()

# Brackets and semicolons mean something in lists of CMake, so texts are never put into one.
function(joined files result)
  string(REPLACE "," ";" files "${files}")
  set(all "")
  foreach(file IN LISTS files)
    file(READ "${CMAKE_CURRENT_LIST_DIR}/${file}" text)
    string(APPEND all "${text}")
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

joined("${STYLES}" style)
joined("${SCRIPTS}" script)
base64_sha256("${style}" style_hash)
base64_sha256("${script}" script_hash)
raw_literals("${style}" style_code)
raw_literals("${script}" script_code)
file(WRITE "${OUTPUT}" "// SPDX-License-Identifier: Apache-2.0
// Made by embed.cmake.
#include \"render/page/front_end.h\"

namespace synctrace::page {
namespace {

constexpr char kStyle[] = ${style_code};
constexpr char kScript[] = ${script_code};

}  // namespace

const char* const kStyleHash = \"${style_hash}\";
const char* const kScriptHash = \"${script_hash}\";
std::string_view style() noexcept { return {kStyle, sizeof(kStyle) - 1}; }
std::string_view script() noexcept { return {kScript, sizeof(kScript) - 1}; }

}  // namespace synctrace::page
")
