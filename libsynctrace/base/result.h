// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or one sentence that says why there is none. For the offline half; C++23's std::expected in
// small.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace synctrace {

// Why something could not be done: one sentence for a user, naming the file or the value concerned.
struct Error {
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const noexcept { return state_.index() == 0; }

  // Only when the result holds a value.
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }

  // Only when it holds none.
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace synctrace
