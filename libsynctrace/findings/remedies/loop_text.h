// SPDX-License-Identifier: Apache-2.0
// What the text of a line of Python says of the loop that it may be in. The line is all that is known: a name stands
// for its value, and the words of a test for what it is for.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace synctrace {

// "change = (new - old).norm()": change. Empty: the line assigns nothing, or not to one name.
std::string_view assigned_name(std::string_view source);

// "if change.item() < tol:": change. Empty: the test computes what it reads.
std::string_view tested_name(std::string_view source);

// The loop goes on until what it computes is good enough, so each turn needs the result of the one before.
bool decides_on_turns(std::string_view source);

// "parts.append(head(x[:, i]))", "[head(part) for part in parts]", "out[:, i] = head(x[:, i])"; but not a cell, or
// "states[i] = step(states[i])".
bool collects(std::string_view source);

// The lines of one turn, in order. "h = torch.tanh(x[:, t] + h @ w)": it needs the turn before. A sum does not, as
// "loss = loss + f(x)", nor "x[i] = f(x[i])", nor a name that the turn has made itself.
bool needs_turn_before(const std::vector<std::string_view>& turn);

// "y = model(x[i].unsqueeze(0))": model gets a batch of one. Empty: such a batch is made, but not in its call.
std::optional<std::string_view> takes_one_item(std::string_view source);

}  // namespace synctrace
