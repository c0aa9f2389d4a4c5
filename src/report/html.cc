#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

namespace halyard::report {
namespace {

// Colours are variables, so that charts follow the screen's scheme, too. Each series keeps its
// place in the order of colours.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark;
  --page: #fcfcfb; --panel: #f4f3f0; --line: #e1e0d9; --axis: #b9b8b0;
  --ink: #0b0b0b; --soft: #52514e;
  --series-1: #2a78d6; --series-2: #eb6834; --series-3: #1baf7a;
  --series-4: #b87d00; --series-5: #c9558a; --series-6: #4a3aa7;
  --good: #0a7d0a; --warning: #8a5a00; --bad: #b92c2c; }
@media (prefers-color-scheme: dark) { :root {
  --page: #1a1a19; --panel: #242422; --line: #33332f; --axis: #5c5b55;
  --ink: #ffffff; --soft: #c3c2b7;
  --series-1: #3987e5; --series-2: #d95926; --series-3: #199e70;
  --series-4: #c98500; --series-5: #d55181; --series-6: #9085e9;
  --good: #4cc04c; --warning: #fab219; --bad: #f07070; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem 1rem 4rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p { max-width: 48rem; } .soft, .subtitle, figcaption { color: var(--soft); }
.subtitle { margin: .25rem 0 1.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; margin: .75rem 0; }
th, td { padding: .3rem .8rem .3rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; border-bottom-color: var(--axis); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.badge { font-weight: 600; white-space: nowrap; }
.good { color: var(--good); } .warning { color: var(--warning); } .bad { color: var(--bad); }
.neutral { color: var(--soft); }
.figures { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
.figure { background: var(--panel); border-radius: 8px; padding: .6rem 1rem; min-width: 9rem; }
.figure b { display: block; font-size: 1.5rem; line-height: 1.3; }
.figure span, .figure small { color: var(--soft); display: block; }
figure { margin: 1rem 0; } figcaption { font-size: .9rem; margin-bottom: .25rem; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px
  system-ui, sans-serif; } svg .soft { fill: var(--soft); }
svg .value { paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
.unbroken { white-space: nowrap; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .85rem; margin: .2rem 0; }
.legend i { display: inline-block; width: .7rem; height: .7rem; border-radius: 3px;
  margin-right: .4rem; }
pre { background: var(--panel); border-radius: 8px; padding: .5rem .8rem; margin: .4rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace; }
details { margin: .75rem 0; } summary { cursor: pointer; color: var(--soft); }
a { color: var(--series-1); }
)";

std::string anchorOf(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const bool isLetter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool isCapital = c >= 'A' && c <= 'Z';
    if (isLetter || isCapital) {
      anchor += isCapital ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!anchor.empty() && anchor.back() != '-') {
      anchor += '-';
    }
  }
  while (anchor.ends_with('-')) anchor.pop_back();
  return anchor;
}

}  // namespace

std::string text(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
          html += "\xEF\xBF\xBD";
        } else {
          html += c;
        }
      }
    }
  }
  return html;
}

std::string badge(Verdict verdict, std::string_view words) {
  struct Look {
    const char* name;
    const char* sign;
  };
  constexpr Look kLooks[] = {
      {"good", "&#10003;"}, {"warning", "&#9888;"}, {"bad", "&#10007;"}, {"neutral", "&#8211;"}};
  const Look& look = kLooks[static_cast<size_t>(verdict)];
  return fmt::format("<span class=\"badge {}\">{} {}</span>", look.name, look.sign, text(words));
}

std::string unbroken(std::string_view words) {
  return fmt::format("<span class=\"unbroken\">{}</span>", text(words));
}

std::string link(std::string_view target, std::string_view words) {
  if (target.find(':') != std::string_view::npos || target.starts_with("//")) return text(words);
  return fmt::format("<a href=\"{}\">{}</a>", text(target), text(words));
}

HtmlPage::HtmlPage(std::string_view title, std::string_view subtitle)
    : title_(report::text(title)) {
  body_ =
      fmt::format("<h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n", title_, report::text(subtitle));
}

void HtmlPage::heading(std::string_view words) {
  body_ += fmt::format("<h2 id=\"{}\">{}</h2>\n", anchorOf(words), report::text(words));
}
void HtmlPage::subheading(std::string_view words) {
  body_ += fmt::format("<h3 id=\"{}\">{}</h3>\n", anchorOf(words), report::text(words));
}
void HtmlPage::paragraph(std::string_view words) {
  body_ += fmt::format("<p>{}</p>\n", report::text(words));
}

void HtmlPage::preformatted(std::string_view words) {
  body_ += fmt::format("<pre>{}</pre>\n", report::text(words));
}

void HtmlPage::figures(const std::vector<Figure>& figures) {
  body_ += "<div class=\"figures\">\n";
  for (const Figure& figure : figures) {
    body_ += fmt::format("<div class=\"figure\"><span>{}</span><b>{}</b><small>{}</small></div>\n",
                         report::text(figure.name), report::text(figure.value),
                         report::text(figure.note));
  }
  body_ += "</div>\n";
}

void HtmlPage::table(const Table& table) {
  body_ += "<div class=\"scroll\"><table>\n<thead><tr>";
  const auto classOf = [](const Column& column) {
    return column.isNumber ? " class=\"number\"" : "";
  };
  for (const Column& column : table.columns) {
    body_ += fmt::format("<th{}>{}</th>", classOf(column), report::text(column.name));
  }
  body_ += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    body_ += "<tr>";
    for (size_t i = 0; i < table.columns.size(); ++i) {
      body_ += fmt::format("<td{}>{}</td>", classOf(table.columns[i]),
                           i < row.size() ? row[i] : std::string());
    }
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void HtmlPage::raw(std::string_view html) { body_ += html; }

void HtmlPage::beginDetails(std::string_view words) {
  body_ += fmt::format("<details><summary>{}</summary>\n", report::text(words));
}
void HtmlPage::endDetails() { body_ += "</details>\n"; }

std::string HtmlPage::finish() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      title_, kStyle, body_);
}

}  // namespace halyard::report
