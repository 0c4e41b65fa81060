// SPDX-License-Identifier: Apache-2.0
// Charges waits for what they did to the time after them. A wait that held the host up while the device worked made the
// host late by that much; so of the host time in the gaps that follow, as much as the wait had cost is the wait's
// doing, up to the next wait that really waited. Parts that have a fix of their own (input, dependencies) are left
// alone.
#pragma once

#include <map>
#include <vector>

#include "attribution/classify.h"

namespace synctrace {

// The waits on each device, by their end.
class DeviceWaits {
 public:
  DeviceWaits(const Evidence& evidence, const HostClassifier& classifier);

  struct Wait {
    Nanoseconds end_ns = 0;
    Nanoseconds waited_ns = 0;
    Owner owner;
    CauseKind kind = CauseKind::kUnknown;
  };
  const std::vector<Wait>& of(DeviceId device) const;

 private:
  std::map<DeviceId, std::vector<Wait>> waits_;
};

class DrainCredit {
 public:
  // `least`: how sure it is of a recorded wait that it is the cause of what it delayed.
  DrainCredit(const std::vector<DeviceWaits::Wait>& waits, Confidence least) : waits_(waits), least_(least) {}

  // `parts` come by begin, and later calls with later parts. A part that is charged in part is split.
  void charge(std::vector<Part>& parts);

 private:
  const std::vector<DeviceWaits::Wait>& waits_;
  const Confidence least_;
  std::size_t next_ = 0;
  DeviceWaits::Wait current_;
  Nanoseconds credit_ns_ = 0;
  std::vector<Part> charged_;
};

}  // namespace synctrace
