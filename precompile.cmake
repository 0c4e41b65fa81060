# Included last where SYNCTRACE_PRECOMPILE is on: gives the headers that most of a compile goes into, compiled once, to
# each target that has the sanitizer's options, if there are any. Three of them: tests see Catch2, too, with definitions of its
# own, and under a sanitizer some targets are optimised.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cpp CONTENT "// Exists so that its target has a source.\n")
set(headers <algorithm> <array> <atomic> <charconv> <cmath> <condition_variable> <cstring> <fstream> <functional> <iostream>
            <map> <memory> <mutex> <numeric> <optional> <random> <set> <sstream> <string> <string_view> <thread> <unordered_map>
            <unordered_set> <variant> <vector> <fmt/core.h> ${PROJECT_SOURCE_DIR}/libsynctrace/format/records.h)
add_library(synctrace_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
target_link_libraries(synctrace_precompiled PRIVATE synctrace_base synctrace_fmt synctrace_sanitized synctrace_warnings)
target_precompile_headers(synctrace_precompiled PRIVATE ${headers})
if(SYNCTRACE_BUILD_TESTS)
  add_library(synctrace_precompiled_tests OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(synctrace_precompiled_tests PRIVATE synctrace_catch synctrace_support synctrace_base synctrace_fmt synctrace_sanitized
    synctrace_warnings)
  target_precompile_headers(synctrace_precompiled_tests PRIVATE ${headers} ${PROJECT_SOURCE_DIR}/tests/support/catch.h)
endif()

# Where the tests spend their time: optimised a little, they take an eighth of it, and three quarters more to compile.
set(busiest "")
if(SYNCTRACE_SANITIZE)
  set(busiest synctrace_write synctrace_read synctrace_text synctrace_model synctrace_attribution synctrace_whatif synctrace_generator
              synctrace_loops)
  add_library(synctrace_precompiled_busiest OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(synctrace_precompiled_busiest PRIVATE synctrace_base synctrace_fmt synctrace_sanitized synctrace_warnings)
  target_compile_options(synctrace_precompiled_busiest PRIVATE -O1)
  target_precompile_headers(synctrace_precompiled_busiest PRIVATE ${headers})
endif()

function(synctrace_use_precompiled folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(NOT type MATCHES "^(STATIC_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$" OR target MATCHES "^synctrace_(precompiled|catch)"
       OR NOT synctrace_sanitized IN_LIST libraries OR "-fno-exceptions" IN_LIST options)
      continue()
    elseif(target IN_LIST busiest)
      target_compile_options(${target} PRIVATE -O1)
      target_precompile_headers(${target} REUSE_FROM synctrace_precompiled_busiest)
    elseif(synctrace_catch IN_LIST libraries)
      target_precompile_headers(${target} REUSE_FROM synctrace_precompiled_tests)
    else()
      target_precompile_headers(${target} REUSE_FROM synctrace_precompiled)
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    synctrace_use_precompiled(${below})
  endforeach()
endfunction()
synctrace_use_precompiled(${PROJECT_SOURCE_DIR})
