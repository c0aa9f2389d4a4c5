#include "report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Html, TextIsEscaped) {
  EXPECT_EQ(text("a < b & \"c\" > 'd'"), "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;");
  EXPECT_EQ(text("line\nline\ttab"), "line\nline\ttab");
  EXPECT_EQ(text(std::string_view("\x1b[31m\0x", 7)), "\xEF\xBF\xBD[31m\xEF\xBF\xBDx");
  EXPECT_EQ(text("\xC3\xA4"), "\xC3\xA4");
}

TEST(Html, NamesAreNotBroken) {
  EXPECT_EQ(unbroken("a-b <c>"), "<span class=\"unbroken\">a-b &lt;c&gt;</span>");
}

TEST(Html, BadgesHaveASignAndAWord) {
  EXPECT_EQ(badge(Verdict::BAD, "<failed>"),
            "<span class=\"badge bad\">&#10007; &lt;failed&gt;</span>");
  EXPECT_THAT(badge(Verdict::GOOD, "passed"), HasSubstr("class=\"badge good\">&#10003; passed"));
}

TEST(Html, LinksStayInThePageOrBesideIt) {
  EXPECT_EQ(link("#memory", "Memory"), "<a href=\"#memory\">Memory</a>");
  EXPECT_EQ(link("details/a b.json", "a"), "<a href=\"details/a b.json\">a</a>");
  EXPECT_EQ(link("javascript:alert(1)", "a"), "a");
  EXPECT_EQ(link("//elsewhere.example/", "a"), "a");
}

TEST(Html, PageHasWhatWasAddedInOrder) {
  HtmlPage page("Models <1>", "today & here");
  page.heading("Peak memory (MiB)");
  page.paragraph("a < b");
  page.beginDetails("more");
  page.table({{{"name", false}, {"ms", true}}, {{text("x"), "1.0"}, {text("y")}}});
  page.endDetails();
  page.figures({{"models", "3", "of 4"}});
  page.preformatted("a <b>\nc");
  page.raw("<svg></svg>");
  const std::string html = page.finish();
  EXPECT_THAT(html, ::testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(html, HasSubstr("<title>Models &lt;1&gt;</title>"));
  EXPECT_THAT(html, HasSubstr("today &amp; here"));
  EXPECT_THAT(html, HasSubstr("<h2 id=\"peak-memory-mib\">Peak memory (MiB)</h2>\n<p>a &lt; b</p>\n"
                              "<details><summary>more</summary>\n<div class=\"scroll\"><table>"));
  EXPECT_THAT(html, HasSubstr("<tr><td>x</td><td class=\"number\">1.0</td></tr>"));
  EXPECT_THAT(html, HasSubstr("<tr><td>y</td><td class=\"number\"></td></tr>"));
  EXPECT_THAT(html, HasSubstr("</details>\n<div class=\"figures\">"));
  EXPECT_THAT(html, HasSubstr("<pre>a &lt;b&gt;\nc</pre>\n<svg></svg>"));
}

TEST(Html, PageNeedsNothingElse) {
  const std::string html = HtmlPage("a", "b").finish();
  for (const char* from : {"http:", "https:", "src=", "@import", "url(", "<script", "<link"}) {
    EXPECT_THAT(html, Not(HasSubstr(from)));
  }
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

}  // namespace
}  // namespace halyard::report
