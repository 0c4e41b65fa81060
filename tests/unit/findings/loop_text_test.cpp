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
  CHECK(collects("self.out[i] = self.head(x[i])"));
}

TEST_CASE("a turn needs the one before, or makes all that it needs") {
  const auto needs = [](std::vector<std::string_view> turn) { return needs_turn_before(turn); };
  CHECK(needs({"h = torch.tanh(x[:, t] + h @ w)"}));
  CHECK(needs({"h, c = step(x[:, t], (h, c))"}));
  CHECK(needs({"self.h = self.cell(x, self.h)"}));
  CHECK(needs({"logits = model(token)", "token = logits.argmax(-1)"}));
  CHECK(needs({"x[i] = f(x[i - 1])"}));
  CHECK(needs({"h = f(outs[-1])", "outs.append(h)"}));
  CHECK(needs({"logits = model(ids.unsqueeze(0))", "ids = torch.cat([ids, logits.argmax(-1)])"}));
  CHECK_FALSE(needs({"loss = loss + f(x[i])"}));
  CHECK_FALSE(needs({"out[:, i] = f(x[i])"}));
  CHECK_FALSE(needs({"self.out[i] = self.head(x[i])"}));
  CHECK_FALSE(needs({"v = q[i] @ k", "v = v.softmax(-1)", "outs.append(v)"}));
  CHECK_FALSE(needs({"x = torch.from_numpy(obs[i]).to(device)", "a = actor(x.unsqueeze(0))[0]",
                     "obs[i], rewards[t, i] = env.step(a.cpu().numpy())"}));
}

TEST_CASE("a batch of one is made on its line") {
  CHECK(takes_one_item("scores.append(model(image.unsqueeze(0)).item())") == "model");
  CHECK(takes_one_item("a = policy.actor(f(x)[None, :])[0] + noise") == "policy.actor");
  CHECK(takes_one_item("x = image.to(device).unsqueeze(0)") == "");
  CHECK(takes_one_item("batch.append(x.unsqueeze(0))") == "");
  CHECK_FALSE(takes_one_item("y = model(x)"));
}

}  // namespace synctrace::testing
