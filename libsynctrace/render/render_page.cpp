// SPDX-License-Identifier: Apache-2.0
#include "render/render_page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/format_text.h"
#include "base/quantity_text.h"
#include "render/page/front_end.h"
#include "render/page/html_text.h"
#include "render/page/payload.h"
#include "render/page/section_parts.h"

namespace synctrace {
namespace {

using page::HtmlOut;
using page::Limits;
using page::Markup;

constexpr std::size_t kShellBytes = 100'000;  // front end and frame
constexpr std::size_t kMostSections = 16;     // of a page; of more processes the table alone tells
constexpr std::size_t kMostItems = 400'000;   // of a timeline: more would tell no more, and cost memory of the browser
constexpr double kBytesOfItem = 7;            // in the page; a first guess, corrected by what comes out
constexpr int kMostTries = 6;

std::size_t bytes_of_section(const PageOptions& options) {
  const std::size_t most = std::max(options.most_bytes, kFewestPageBytes) - kShellBytes;
  return most / std::clamp<std::size_t>(options.processes, 1, kMostSections);
}

std::string markup_of(const Report& report, const page::Timeline& timeline, const Limits& limits,
                      const std::string& id) {
  HtmlOut out;
  page::write_head(report, out);
  page::write_causes(report, timeline.occurrences(), limits, id, out);
  out.add_markup(
      "<div class=\"timeline-place\"><noscript><p class=\"none\">The timeline needs JavaScript; nothing else on this "
      "page does.</p></noscript></div>\n");
  page::write_savings(report, limits, out);
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    page::write_stacks(report, i, timeline.stacks()[i], id, out);
  }
  page::write_tables(report, limits, out);
  page::write_losses(report, out);
  page::write_foot(report, out);
  return out.take();
}

// With fewer rows until it leaves half of the room to the timeline.
std::string fitting_markup(const Report& report, const page::Timeline& timeline, const std::string& id,
                           std::size_t most_bytes) {
  Limits limits;
  std::string markup = markup_of(report, timeline, limits, id);
  while (markup.size() > most_bytes / 2 && limits.causes > 1) {
    limits = {limits.causes / 2, std::max<std::size_t>(limits.rows / 2, 1),
              std::max<std::size_t>(limits.frames / 2, 1)};
    markup = markup_of(report, timeline, limits, id);
  }
  return markup;
}

// With fewer items until it fits.
std::string fitting_payload(const Report& report, const page::Timeline& timeline, std::size_t most_bytes) {
  double items = std::min(static_cast<double>(most_bytes) / kBytesOfItem, static_cast<double>(kMostItems));
  for (int tries = 0; tries < kMostTries; ++tries) {
    std::string result = page::payload(report, timeline, timeline.detail(static_cast<std::size_t>(items)));
    if (result.size() <= most_bytes) return result;
    items *= 0.9 * static_cast<double>(most_bytes) / static_cast<double>(result.size());
  }
  return {};
}

void overview(std::span<const PageSection> sections, HtmlOut& out) {
  out.add(
      "<section class=\"overview\"><h2>{} processes</h2>\n<div class=\"scroll\"><table><thead><tr><th "
      "scope=\"col\">process</th><th scope=\"col\">verdict</th>"
      "<th scope=\"col\" class=\"num\">GPU idle</th><th scope=\"col\" class=\"num\">step</th></tr></thead><tbody>\n",
      sections.size());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const PageSection& section = sections[i];
    const Markup link = i < kMostSections
                            ? Markup{format_text("<a href=\"#process-{}\">{}</a>", i, page::html_text(section.title))}
                            : Markup{page::html_text(section.title)};
    const double share = section.window_ns > 0
                             ? 100.0 * static_cast<double>(section.idle_ns) / static_cast<double>(section.window_ns)
                             : 0;
    out.add(
        "<tr><td>{}</td><td>{}</td><td class=\"num\">{} <svg class=\"meter\" aria-hidden=\"true\"><rect "
        "width=\"{:.2f}%\" height=\"100%\"/></svg></td><td class=\"num\">{}</td></tr>\n",
        link, section.verdict, share_text(section.idle_ns, section.window_ns), share,
        page::time_or_dash(section.step_ns));
  }
  out.add_markup("</tbody></table></div>\n");
  if (sections.size() > kMostSections)
    out.add("<p class=\"none\">Only the first {} have a section below.</p>\n", kMostSections);
  out.add_markup("</section>\n");
}

void head(std::span<const PageSection> sections, HtmlOut& out) {
  const std::string title = sections.empty() ? std::string() : sections.front().title;
  out.add(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; script-src '{}'; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
      "content=\"light dark\">\n<title>{} – synctrace</title>\n",
      Markup{page::kStyleHash}, Markup{page::kScriptHash}, title);
  out.add("<style>{}</style>\n</head>\n<body>\n<div class=\"top\"><h1>synctrace</h1></div>\n<main>\n",
          Markup{std::string(page::style())});
}

}  // namespace

PageSection page_section(const Report& report, const page::Timeline& timeline, const PageOptions& options) {
  PageSection section;
  section.title =
      (report.program.empty() ? report.path : report.program) + (report.rank.empty() ? "" : ", rank " + report.rank);
  section.verdict = report.verdict.word;
  for (const DeviceReport& device : report.devices) {
    section.idle_ns = add_saturated(section.idle_ns, device.state.idle_ns);
    section.window_ns = add_saturated(section.window_ns, device.state.window_ns);
  }
  if (report.steps.figures.count > 0) section.step_ns = report.steps.figures.mean_ns;
  const std::size_t most_bytes = bytes_of_section(options);
  section.markup = fitting_markup(report, timeline, "p" + std::to_string(options.number), most_bytes);
  if (section.markup.size() < most_bytes) {
    section.payload = fitting_payload(report, timeline, most_bytes - section.markup.size());
  }
  return section;
}

std::string render_page(std::span<const PageSection> sections) {
  HtmlOut out;
  head(sections, out);
  if (sections.size() > 1) overview(sections, out);
  const std::size_t shown = std::min(sections.size(), kMostSections);
  for (std::size_t i = 0; i < shown; ++i) {
    out.add("<section class=\"process\" id=\"process-{}\">\n", i);
    if (sections.size() > 1) out.add("<h2 class=\"process-title\">{}</h2>\n", sections[i].title);
    out.add_markup(sections[i].markup);
    out.add_markup("</section>\n");
  }
  out.add_markup("</main>\n");
  for (std::size_t i = 0; i < shown; ++i) {
    if (sections[i].payload.empty()) continue;
    out.add("<script type=\"application/gzip\" id=\"timeline-{}\">", i);
    out.add_markup(sections[i].payload);
    out.add_markup("</script>\n");
  }
  out.add_markup("<script>");
  out.add_markup(page::script());
  out.add_markup("</script>\n</body>\n</html>\n");
  return out.take();
}

}  // namespace synctrace
