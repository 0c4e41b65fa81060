// SPDX-License-Identifier: Apache-2.0
//
// CUDA's and CUPTI's own headers, in the one order that compiles: the generated parameter
// structs name types of old API versions, which cuda.h declares only for CUDA itself.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL

#include <cuda_runtime_api.h>

#include <generated_cuda_meta.h>
#include <generated_cuda_runtime_api_meta.h>

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>
