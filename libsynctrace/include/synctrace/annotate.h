// SPDX-License-Identifier: Apache-2.0
// Says to `synctrace gate` what parts of a program mean: NVTX ranges of the domain "synctrace", and nothing else. Needs
// NVTX3's headers (any CUDA toolkit has them) and links nothing. Without a tool in the process each costs a few
// nanoseconds. C++17; every object belongs on the stack of the thread that made it.
//
//   {
//     synctrace::allow waits("ST020", "the loss is printed every fifty steps");
//     print(loss);
//   }
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <string>

namespace synctrace {

inline nvtxDomainHandle_t annotation_domain() noexcept {
  static const nvtxDomainHandle_t domain = nvtxDomainCreateA("synctrace");
  return domain;
}

// A range from here to the end of the block.
class annotation {
 public:
  annotation(const annotation&) = delete;
  annotation& operator=(const annotation&) = delete;
  ~annotation() { nvtxDomainRangePop(annotation_domain()); }

 protected:
  explicit annotation(const char* text) noexcept {
    nvtxEventAttributes_t event = {};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = text;
    nvtxDomainRangePushEx(annotation_domain(), &event);
  }
  explicit annotation(const std::string& text) noexcept : annotation(text.c_str()) {}
};

// Calls of these rules ("ST001,ST011") may wait inside. Without a reason nothing is allowed. max_per_step 0: any
// number.
class allow : public annotation {
 public:
  allow(const std::string& rules, const std::string& reason, unsigned max_per_step = 0)
      : annotation("allow:" + rules + (max_per_step > 0 ? ";max=" + std::to_string(max_per_step) : "") +
                   ";reason=" + reason) {}
};

// Any synchronisation of this thread inside fails the gate, whatever else is allowed.
class expect_no_sync : public annotation {
 public:
  expect_no_sync() noexcept : annotation("expect-no-sync") {}
  explicit expect_no_sync(const std::string& name) : annotation("expect-no-sync:" + name) {}
};

// One step of the program.
class step : public annotation {
 public:
  step() noexcept : annotation("step") {}
  explicit step(unsigned long long number) : annotation("step:" + std::to_string(number)) {}
};

// Not judged.
class warmup : public annotation {
 public:
  warmup() noexcept : annotation("warmup") {}
};
class ignore : public annotation {
 public:
  ignore() noexcept : annotation("ignore") {}
};

}  // namespace synctrace
