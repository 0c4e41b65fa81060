// SPDX-License-Identifier: Apache-2.0
// What the text of a line of Python says of the loop that it may be in. The line is all that is known: a name stands
// for its value, and the words of a test for what it is for.
#pragma once

#include <string_view>

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

// "h = torch.tanh(x[:, t] + h @ w)": the next turn needs this one's. A sum does not: "loss = loss + f(x)".
bool goes_on(std::string_view source);

}  // namespace synctrace
