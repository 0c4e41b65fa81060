// SPDX-License-Identifier: Apache-2.0
#include "capture/unwind/known_walks.h"

#include <algorithm>

namespace synctrace::capture {

// Saved registers of other functions' frames: AddressSanitizer knows nothing of them. Innermost first: another walk
// mostly differs there.
__attribute__((no_sanitize("address"))) bool WalkReads::hold() const noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (*reinterpret_cast<const std::uintptr_t*>(sp_ + offsets_[i]) != words_[i]) return false;
  }
  return true;
}

void WalkReads::copy(const WalkReads& from) noexcept {
  sp_ = from.sp_;
  count_ = from.count_;
  is_whole_ = from.is_whole_;
  std::copy_n(from.offsets_.begin(), count_, offsets_.begin());
  std::copy_n(from.words_.begin(), count_, words_.begin());
}

std::size_t KnownWalks::set_of(const WalkStart& start) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  return ((start.sp ^ start.pc << 32) * kOdd) >> (64 - kSetBits);
}

std::uint64_t KnownWalks::name_of(const Of& of) const noexcept {
  const Set& set = sets_[set_of(of.start)];
  for (std::size_t place = 0; place < kPlaces; ++place) {
    const Known& known = set.walks[place];
    if (known.name != 0 && known.of == of && set.reads[place].hold()) return known.name;
  }
  return 0;
}

void KnownWalks::keep(const Of& of, const WalkReads& reads, std::uint64_t name) noexcept {
  Set& set = sets_[set_of(of.start)];
  const auto is_taken = [&](const Known& known) {
    return known.name != 0 && known.of.map_generation == of.map_generation;
  };
  std::size_t place = 0;
  while (place < kPlaces && is_taken(set.walks[place])) ++place;
  if (place == kPlaces) {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;  // Knuth's, of MMIX
    place = random_ >> 62;
  }
  set.walks[place] = {of, name};
  set.reads[place].copy(reads);
}

}  // namespace synctrace::capture
