// SPDX-License-Identifier: Apache-2.0
// Catch2 of whichever version the system has: 2 on Debian 12 and Ubuntu 22.04, 3 on later ones.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
