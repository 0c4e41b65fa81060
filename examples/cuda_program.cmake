# SPDX-License-Identifier: Apache-2.0
# synctrace_cuda_program(<name> <source>... [FLAGS <flag>...]): builds ${CMAKE_BINARY_DIR}/bin/<name> with nvcc, as a user
# would. Custom commands, because enable_language(CUDA) runs a test program that a machine without a GPU driver or
# with a newer host compiler may refuse. `-cudart shared` lets the simulated GPU stand in for the runtime: RUNPATH comes
# after LD_LIBRARY_PATH, so a plain start uses the toolkit and `synctrace run --simgpu` the simulation.
get_filename_component(SYNCTRACE_CUDA_BIN_DIR "${SYNCTRACE_NVCC}" REALPATH)
get_filename_component(SYNCTRACE_CUDA_BIN_DIR "${SYNCTRACE_CUDA_BIN_DIR}" DIRECTORY)
get_filename_component(SYNCTRACE_CUDA_LIB_DIR "${SYNCTRACE_CUDA_BIN_DIR}/../lib64" ABSOLUTE)

# Code for sm_90, and the PTX that it is made of, which the drivers of other GPUs from Turing on compile when the program
# starts. One PTX for all: each takes a fifth of nvcc's time.
set(SYNCTRACE_NVCC_FLAGS -std=c++17 -O2 -g -lineinfo -cudart shared
  -gencode arch=compute_75,code=[compute_75,sm_90]
  -Xcompiler -Wall,-Wextra -I${CMAKE_CURRENT_LIST_DIR}/cuda)

# The same, to any file; nvcc gets the FLAGS at the end. STATIC_RUNTIME: with the runtime inside, so for a GPU only.
# UNOPTIMISED: as one builds for a debugger.
function(synctrace_cuda_output name output)
  cmake_parse_arguments(ARG "STATIC_RUNTIME;UNOPTIMISED" "" "FLAGS" ${ARGN})
  set(flags ${SYNCTRACE_NVCC_FLAGS})
  if(ARG_STATIC_RUNTIME)
    list(TRANSFORM flags REPLACE "^shared$" static)
  endif()
  if(ARG_UNOPTIMISED)
    list(TRANSFORM flags REPLACE "^-O2$" -O0)
  endif()
  list(TRANSFORM ARG_UNPARSED_ARGUMENTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  add_custom_command(OUTPUT ${output}
    COMMAND ${SYNCTRACE_NVCC} ${flags} -MD -MF ${CMAKE_CURRENT_BINARY_DIR}/${name}.d
            -Xlinker -rpath,${SYNCTRACE_CUDA_LIB_DIR},--enable-new-dtags
            -o ${output} ${sources} ${ARG_FLAGS}
    DEPENDS ${sources} DEPFILE ${CMAKE_CURRENT_BINARY_DIR}/${name}.d
    COMMENT "nvcc ${name}" VERBATIM)
  add_custom_target(cuda_${name} ALL DEPENDS ${output})
endfunction()

function(synctrace_cuda_program name)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  synctrace_cuda_output(${name} ${CMAKE_BINARY_DIR}/bin/${name} ${ARGN})
endfunction()
