// SPDX-License-Identifier: Apache-2.0
#include "runtime/copy.h"

#include <cstring>
#include <memory>
#include <vector>

#include "runtime/device.h"
#include "runtime/settings.h"

namespace synctrace::simgpu {
namespace {

// Up to here a copy from pageable memory is staged and returns at once; above it the host waits.
constexpr std::size_t kStagedBytes = 64 * 1024;
constexpr Nanoseconds kCopyLatency = kMicrosecond;
constexpr double kDeviceGbps = 2000;  // inside the device; 1 GB/s is one byte per nanosecond

void copy_box(char* target, const Layout& to, const char* source, const Layout& from, const Box& box) {
  for (std::size_t slice = 0; slice < box.depth; ++slice) {
    for (std::size_t row = 0; row < box.height; ++row) {
      std::memmove(target + slice * to.slice_pitch + row * to.row_pitch,
                   source + slice * from.slice_pitch + row * from.row_pitch, box.width);
    }
  }
}

bool device_side(const Located& where) { return where.on_device() || where.managed(); }

cudaMemcpyKind direction(const Located& target, const Located& source) {
  if (device_side(source)) {
    return device_side(target) ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost;
  }
  return device_side(target) ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost;
}

// The direction must fit the pointers: a device side must be memory that the device can reach.
bool plausible(cudaMemcpyKind kind, const Located& target, const Located& source) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return (!to_device || target.known) && (!from_device || source.known) && (to_device || !target.on_device()) &&
         (from_device || !source.on_device());
}

std::uint8_t memory_kind(const Located& where) {
  if (!where.known) return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  switch (where.allocation.kind) {
    case Allocation::Kind::device: return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    case Allocation::Kind::managed: return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    case Allocation::Kind::pinned:
    case Allocation::Kind::registered: break;
  }
  return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
}

std::uint8_t copy_kind(cudaMemcpyKind kind, bool peer) {
  if (peer) return CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  switch (kind) {
    case cudaMemcpyHostToDevice: return CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    case cudaMemcpyDeviceToHost: return CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    case cudaMemcpyDeviceToDevice: return CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
    default: return CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
  }
}

Nanoseconds duration_of(cudaMemcpyKind kind, bool pageable, std::size_t bytes) {
  const bool inside = kind == cudaMemcpyDeviceToDevice;
  const double gbps = inside ? kDeviceGbps : pageable ? settings().pageable_gbps : settings().pinned_gbps;
  return kCopyLatency + static_cast<Nanoseconds>(static_cast<double>(bytes) / gbps);
}

bool host_waits(const CopyRequest& request, cudaMemcpyKind kind, bool pageable) {
  if (kind == cudaMemcpyDeviceToDevice) return false;
  if (kind == cudaMemcpyHostToHost || !request.asynchronous) return true;
  if (!pageable) return false;
  return kind == cudaMemcpyDeviceToHost || request.box.bytes() > kStagedBytes;
}

// The copy's effect. What the host may change after the call has returned is staged now.
std::function<void()> effect_of(const CopyRequest& request, bool staged) {
  auto* target = static_cast<char*>(request.target);
  const auto* source = static_cast<const char*>(request.source);
  const Box box = request.box;
  if (!staged) {
    return [=, to = request.target_layout, from = request.source_layout] { copy_box(target, to, source, from, box); };
  }
  auto bytes = std::make_shared<std::vector<char>>(box.bytes());
  const Layout packed{box.width, box.width * box.height};
  copy_box(bytes->data(), packed, source, request.source_layout, box);
  return [=, to = request.target_layout] { copy_box(target, to, bytes->data(), packed, box); };
}

}  // namespace

CopyPlan plan_copy(Device& device, const CopyRequest& request) {
  CopyPlan plan;
  const Located target = locate(request.target);
  const Located source = locate(request.source);
  plan.kind = request.kind == cudaMemcpyDefault ? direction(target, source) : request.kind;
  if (plan.kind < cudaMemcpyHostToHost || plan.kind > cudaMemcpyDefault) {
    plan.error = cudaErrorInvalidMemcpyDirection;
  } else if (request.box.bytes() > 0 && !plausible(plan.kind, target, source)) {
    plan.error = cudaErrorInvalidValue;
  }
  if (plan.error != cudaSuccess) return plan;

  const bool upload = plan.kind == cudaMemcpyHostToDevice;
  const bool download = plan.kind == cudaMemcpyDeviceToHost;
  const bool pageable = (upload && !source.known) || (download && !target.known);
  plan.host_waits = host_waits(request, plan.kind, pageable);
  Work& work = plan.work;
  work.duration = duration_of(plan.kind, pageable, request.box.bytes());
  if (upload) work.engine = &device.copies_in;
  if (download) work.engine = &device.copies_out;
  work.visible_to_host = !plan.host_waits && (download || target.managed());
  work.effect = effect_of(request, upload && pageable && !plan.host_waits);

  const bool peer = target.on_device() && source.on_device() && target.allocation.device != source.allocation.device;
  work.activity.kind = peer ? CUPTI_ACTIVITY_KIND_MEMCPY2 : CUPTI_ACTIVITY_KIND_MEMCPY;
  auto& record = work.activity.what.copy;
  record.bytes = request.box.bytes();
  record.copy_kind = copy_kind(plan.kind, peer);
  record.source_kind = memory_kind(source);
  record.target_kind = memory_kind(target);
  record.asynchronous = request.asynchronous ? 1 : 0;
  record.source_device = static_cast<std::uint32_t>(source.allocation.device);
  record.target_device = static_cast<std::uint32_t>(target.allocation.device);
  return plan;
}

cudaError_t run_copy(Stream& stream, CopyPlan plan) {
  if (plan.error != cudaSuccess) return plan.error;
  const Submission submission = enqueue(stream, std::move(plan.work));
  if (submission.error != cudaSuccess || submission.captured) return submission.error;
  if (plan.host_waits) timeline().wait(submission.end);
  return cudaSuccess;
}

Work fill_work(const FillRequest& request) {
  Work work;
  work.duration = duration_of(cudaMemcpyDeviceToDevice, false, request.box.bytes());
  const Located where = locate(request.target);
  work.visible_to_host = where.known && !where.on_device();
  work.effect = [request] {
    for (std::size_t slice = 0; slice < request.box.depth; ++slice) {
      for (std::size_t row = 0; row < request.box.height; ++row) {
        char* line =
            static_cast<char*>(request.target) + slice * request.layout.slice_pitch + row * request.layout.row_pitch;
        if (request.element_bytes == 1) {
          std::memset(line, static_cast<int>(request.value), request.box.width);
          continue;
        }
        for (std::size_t at = 0; at < request.box.width; at += request.element_bytes) {
          std::memcpy(line + at, &request.value, request.element_bytes);
        }
      }
    }
  };
  work.activity.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  work.activity.what.fill = {request.box.bytes(), request.value, memory_kind(where),
                             static_cast<std::uint8_t>(request.asynchronous ? 1 : 0)};
  return work;
}

}  // namespace synctrace::simgpu
