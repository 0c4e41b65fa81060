# Included last where SYNCTRACE_PRECOMPILE is on: gives the headers that most of a compile goes into, compiled once, to each target
# that links synctrace_sanitized: all but what is injected, which has its own below, and what is made as somebody's program. g++ takes
# such a header only for its own options, so there is one for each set of them, and tests see Catch2, too. That of std::cout would
# put a start into each object.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cpp CONTENT "// Exists so that its target has a source.\n")
set(headers <algorithm> <array> <atomic> <charconv> <cmath> <condition_variable> <cstring> <fstream> <functional> <map> <memory>
            <mutex> <numeric> <optional> <random> <set> <sstream> <string> <string_view> <thread> <unordered_map> <unordered_set>
            <variant> <vector> <fmt/core.h> ${PROJECT_SOURCE_DIR}/libsynctrace/format/records.h)
string(MD5 list "${headers}")  # in the targets' names: of a changed list nothing old is used
string(SUBSTRING ${list} 0 6 list)

# Where the tests spend their time under a sanitizer: optimised a little, they take an eighth of it, and three quarters more to compile.
set(busiest synctrace_contract synctrace_write synctrace_read synctrace_text synctrace_model synctrace_code synctrace_steps synctrace_attribution
            synctrace_whatif synctrace_generator synctrace_loops synctrace_trial synctrace_rollup synctrace_capture)

# The object library that has the header for targets with these options: made when it is first asked for.
function(synctrace_precompiled_for catch options result)
  list(FILTER options INCLUDE REGEX "^-[Og]")
  set(name synctrace_headers_${list}${catch})
  foreach(option IN LISTS options)
    string(APPEND name ${option})
  endforeach()
  if(NOT TARGET ${name})
    add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(${name} PRIVATE synctrace_base synctrace_fmt synctrace_sanitized synctrace_warnings)
    target_compile_options(${name} PRIVATE ${options})
    target_precompile_headers(${name} PRIVATE ${headers})
    if(catch)
      target_link_libraries(${name} PRIVATE synctrace_catch synctrace_support)
      target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/catch.h)
    else()  # tests of records have names of their own for what is in there
      target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/libsynctrace/attribution/evidence.h)
    endif()
  endif()
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# Eight files of a target are compiled as one, which saves what they all include. A package is optimised file by file, so there only
# tests are joined; with SYNCTRACE_JOIN all but what is injected.
function(synctrace_join_files target libraries options)
  if((SYNCTRACE_JOIN AND NOT "-fno-exceptions" IN_LIST options) OR synctrace_catch IN_LIST libraries
     OR NOT CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

function(synctrace_use_precompiled folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(NOT type MATCHES "^(STATIC_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$" OR target MATCHES "^synctrace_(headers|catch)"
       OR NOT synctrace_sanitized IN_LIST libraries)
      continue()
    endif()
    synctrace_join_files(${target} "${libraries}" "${options}")
    if(SYNCTRACE_SANITIZE AND target IN_LIST busiest)
      target_compile_options(${target} PRIVATE -O1)
    endif()
    if("-fno-exceptions" IN_LIST options)
      continue()
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # its collector would go through the header again and again
      # Behind such a header g++ 12 warns of ranges falsely. What is joined is no header, whatever is included.
      target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=524288 -Wno-array-bounds -Wno-stringop-overflow
                             -Wno-stringop-overread -Wno-subobject-linkage)
    endif()
    get_target_property(options ${target} COMPILE_OPTIONS)
    set(catch "")
    if(synctrace_catch IN_LIST libraries)
      set(catch _catch)
    endif()
    synctrace_precompiled_for("${catch}" "${options}" precompiled)
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    synctrace_use_precompiled(${below})
  endforeach()
endfunction()
synctrace_use_precompiled(${PROJECT_SOURCE_DIR})

# Most of a compile of these is CUDA's headers.
set(headers <algorithm> <array> <atomic> <cstring> <string_view>)
if(TARGET synctrace_capture)
  target_precompile_headers(synctrace_capture PRIVATE ${headers} <cupti.h>)
endif()
foreach(target IN ITEMS simgpu_cudart simgpu_cupti)
  if(TARGET ${target})
    target_precompile_headers(${target} PRIVATE ${headers} <map> <memory> <mutex> <string> <unordered_map> <vector>
                              ${PROJECT_SOURCE_DIR}/tests/simgpu/cuda_headers.h)
  endif()
endforeach()
