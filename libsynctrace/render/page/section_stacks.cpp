// SPDX-License-Identifier: Apache-2.0
// Idle time by stack as a drawing: outermost function on top, each as wide as its share. It needs no script to be read;
// the script lets a click widen a part of it.
#include <algorithm>
#include <string>
#include <utility>

#include "base/format_text.h"
#include "base/name_text.h"
#include "base/quantity_text.h"
#include "render/columns.h"
#include "render/page/section_parts.h"

namespace synctrace::page {
namespace {

constexpr int kLevelHeight = 20;

class Drawing {
 public:
  Drawing(const Report& report, const StackTree& tree, std::string causes, HtmlOut& out)
      : report_(report), tree_(tree), causes_(std::move(causes)), out_(out) {}

  int levels(std::size_t at) const {
    int most = 0;
    for (const std::size_t child : tree_.nodes[at].children) most = std::max(most, levels(child));
    return most + 1;
  }

  void node(std::size_t at, double from, int level) {
    const StackNode& node = tree_.nodes[at];
    const double width = share(node.idle_ns);
    const std::string file = node.file.empty() ? "" : path_text(node.file, report_.folder);
    const std::string where =
        file.empty() ? "" : format_text(" ({}{})", file, node.line == 0 ? "" : ":" + std::to_string(node.line));
    const bool is_cause = node.cause != StackNode::kNoCause;
    out_.add(
        "<svg class=\"{}\" x=\"{:.4f}%\" y=\"{}\" width=\"{:.4f}%\" height=\"{}\" data-level=\"{}\" "
        "data-from=\"{:.4f}\" data-width=\"{:.4f}\"",
        is_cause ? cause_colour(node.cause) : colour_of(node), from, level * kLevelHeight, width, kLevelHeight - 1,
        level, from, width);
    if (is_cause) out_.add(" data-cause=\"{}{}\"", causes_, node.cause);
    out_.add_markup(">");
    out_.add("<title>{}{}: {}, {} of all</title><rect width=\"100%\" height=\"100%\"/>", node.function, where,
             duration_text(node.idle_ns), share_text(node.idle_ns, tree_.nodes[0].idle_ns));
    out_.add("<text x=\"4\" y=\"14\">{}</text></svg>\n", fitted(node.function.empty() ? "?" : node.function, 60));
    for (const std::size_t child : node.children) {
      this->node(child, from, level + 1);
      from += share(tree_.nodes[child].idle_ns);
    }
  }

 private:
  double share(Nanoseconds ns) const {
    return 100.0 * static_cast<double>(ns) / static_cast<double>(tree_.nodes[0].idle_ns);
  }

  // Each file has one colour, so that a library's functions look alike.
  static std::string colour_of(const StackNode& node) {
    std::uint32_t hash = 2166136261U;
    for (const char c : node.file) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return "f" + std::to_string(hash % 4);
  }

  const Report& report_;
  const StackTree& tree_;
  std::string causes_;  // what the ids of their rows begin with
  HtmlOut& out_;
};

}  // namespace

void write_stacks(const Report& report, std::size_t device, const StackTree& tree, const std::string& id,
                  HtmlOut& out) {
  if (tree.nodes.size() < 2 || tree.nodes[0].idle_ns <= 0) return;
  Drawing drawing(report, tree, format_text("{}-d{}-idle-", id, device), out);
  out.add("<h3>Idle time of GPU {} by stack <small>{} in all{}</small></h3>\n", report.devices[device].id,
          duration_text(tree.nodes[0].idle_ns),
          tree.left_out == 0 ? std::string()
                             : format_text("; {} parts under 0.2 % are not drawn", count_text(tree.left_out)));
  out.add(
      "<div class=\"stacks-box\"><svg class=\"stacks\" id=\"{}-stacks-{}\" height=\"{}\" role=\"img\" "
      "aria-label=\"idle time by stack\">\n",
      id, device, drawing.levels(0) * kLevelHeight);
  drawing.node(0, 0, 0);
  out.add_markup("</svg></div>\n");
}

}  // namespace synctrace::page
