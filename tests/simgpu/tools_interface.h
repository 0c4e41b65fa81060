// SPDX-License-Identifier: Apache-2.0
//
// The private wire between the two halves of the simulated GPU: libcudart.so.13 (the runtime)
// and libcupti.so.13 (the tools library). Each finds the other at run time by one exported
// symbol, so that either works alone. Plain C types only. All times that cross this wire are
// nanoseconds of CLOCK_MONOTONIC; the tools library puts them on the tool's clock.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIMGPU_RUNTIME_SYMBOL "simgpu_runtime_interface"  // SimgpuRuntime* (void), in libcudart
#define SIMGPU_TOOLS_SYMBOL "simgpu_tools_interface"      // const SimgpuTools* (void), in libcupti

// What a tool wants to know about one API function; bits of SimgpuTools::interest. OFF_ALONE: its callback went off by
// cuptiEnableCallback, not with its domain.
enum { SIMGPU_WANTS_CALLBACK = 1, SIMGPU_WANTS_RECORD = 2, SIMGPU_OFF_ALONE = 4 };

// One activity before its times are known. `kind` is a CUpti_ActivityKind; the union's member
// follows from it. Strings must live until the process ends.
typedef struct SimgpuActivity {
  uint32_t kind;
  uint32_t correlation;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  uint32_t graph;
  uint64_t graph_node;
  union {
    struct {
      const char* name;
      int32_t grid[3];
      int32_t block[3];
      int32_t static_shared;
      int32_t dynamic_shared;
      uint32_t registers;
    } kernel;
    struct {
      uint64_t bytes;
      uint8_t copy_kind;    // CUpti_ActivityMemcpyKind
      uint8_t source_kind;  // CUpti_ActivityMemoryKind
      uint8_t target_kind;
      uint8_t asynchronous;  // the API was the Async form
      uint32_t source_device;
      uint32_t target_device;
    } copy;
    struct {
      uint64_t bytes;
      uint32_t value;
      uint16_t memory_kind;
      uint8_t asynchronous;
    } fill;
    struct {
      uint32_t type;  // CUpti_ActivitySynchronizationType
      uint32_t event;
      uint32_t result;
    } synchronization;
    struct {
      uint32_t cbid;
      uint32_t result;
    } api;
    struct {
      uint32_t flag;  // CUpti_ActivityStreamFlag
      int32_t priority;
    } stream;
    struct {
      uint32_t null_stream;
      uint32_t multiprocessors;
    } context;
    struct {
      const char* name;
      const uint8_t* uuid;  // 16 bytes
      uint64_t memory_bytes;
    } device;
    struct {
      uint32_t overhead_kind;  // CUpti_ActivityOverheadKind
    } overhead;
  } what;
} SimgpuActivity;

// Provided by the tools library; every function may be called from any thread, never under a
// lock of the runtime.
typedef struct SimgpuTools {
  uint32_t (*interest)(uint32_t domain, uint32_t cbid);
  void (*callback)(uint32_t domain, uint32_t cbid, const void* data);
  int (*collects)(uint32_t kind);
  // True while a graph that is made now cannot be launched (README.md).
  int (*breaks_graphs)(void);
  // Reserves a record on the calling thread's buffer; NULL when the kind is off or dropped.
  void* (*begin)(const SimgpuActivity* activity);
  // Ends a reserved record; each token exactly once.
  void (*complete)(void* token, int64_t start_ns, int64_t end_ns);
} SimgpuTools;

// Provided by the runtime.
typedef struct SimgpuRuntime {
  void (*attach)(const SimgpuTools* tools);
  // Ends the records of all work that is over by now.
  void (*retire)(void);
  // Emits one record per live object of a DEVICE, CONTEXT or STREAM kind.
  void (*announce)(uint32_t kind);
  // Handles to ids; 0 on success.
  int (*context_id)(const void* context, uint32_t* id);
  int (*context_device)(const void* context, uint32_t* device);
  int (*stream_id)(const void* context, const void* stream, int per_thread, uint32_t* id);
  int (*graph_id)(const void* graph, uint32_t* id);
  int (*graph_exec_id)(const void* graph_exec, uint32_t* id);
  int (*graph_node_id)(const void* node, uint64_t* id);
  // True in a forked child of a process that had initialised the runtime.
  int (*dead)(void);
} SimgpuRuntime;

#ifdef __cplusplus
}
#endif
