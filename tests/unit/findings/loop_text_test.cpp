// SPDX-License-Identifier: Apache-2.0
// What the text of a line says of its loop.
#include "findings/remedies/loop_text.h"

#include "support/catch.h"

namespace synctrace::testing {

TEST_CASE("a test names what it reads, and an assignment its one name") {
  CHECK(tested_name("if change.item() < tol:") == "change");
  CHECK(tested_name("while float(err) > tol:") == "err");
  CHECK(tested_name("if (x - y).norm() < tol:").empty());
  CHECK(assigned_name("change = (x - y).norm()") == "change");
  CHECK(assigned_name("x, y = f(z)").empty());
  CHECK(assigned_name("out[i] = f(z)").empty());
}

TEST_CASE("a line ends a loop by its words, not by any comparison") {
  CHECK(decides_on_turns("if residual.item() < self.tol:"));
  CHECK(decides_on_turns("while bool(todo.any()):"));
  CHECK(decides_on_turns("delta = (x_new - x).abs().max().item()"));
  CHECK_FALSE(decides_on_turns("if scores[j] < SCORE_THRESHOLD:"));
  CHECK_FALSE(decides_on_turns("norm = p.grad.norm().item()"));
}

TEST_CASE("a line collects what each turn computes, unless a turn goes on from the one before") {
  for (const char* source :
       {"parts.append(head(x[:, i]))", "parts = [head(part) for part in parts]", "out[:, i] = head(x[:, i])"})
    CHECK(collects(source));
  for (const char* source : {"states[i] = step(states[i])", "chosen[:, i] = farthest", "outs.append(self.cell(x, h))",
                             "for part in parts[1:]:", "x = head(x)"})
    CHECK_FALSE(collects(source));
  CHECK(goes_on("h = torch.tanh(x[:, t] + h @ w)"));
  CHECK(goes_on("h, c = step(x[:, t], (h, c))"));
  CHECK_FALSE(goes_on("loss = loss + f(x[i])"));
  CHECK_FALSE(goes_on("out[:, i] = f(x[i])"));
}

}  // namespace synctrace::testing
