// SPDX-License-Identifier: Apache-2.0
// Programs of every shape that the analysis has to explain: several devices and streams, threads that hand work to each
// other and wake each other, syncs of every kind, dense runs of short kernels, graphs, loaders. Seeded.
#pragma once

#include <cstdint>

#include "support/generator/program.h"

namespace synctrace::testing::generator {

// `scale` stretches the host's own times: at 1, stretches of 60 us to 3 ms. `steps`: how many; 0: 3 to 6.
Program random_program(std::uint64_t seed, Nanoseconds scale = 1, std::uint32_t steps = 0);

}  // namespace synctrace::testing::generator
