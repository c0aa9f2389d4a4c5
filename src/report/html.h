// HtmlPage: a report in one file that needs nothing else, for light and dark screens.
// Thread safety: none; one thread writes a page. Functions are pure.
// Ownership: a page owns its text.
//
// Text is escaped where it enters: by text(), badge() and by every parameter that is called so.
// Parameters named `html` are not escaped. They must come from this folder's functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::report {

// Any text as HTML; control characters other than line ends become U+FFFD.
std::string text(std::string_view text);

// The same in one line, however narrow its place is: for names.
std::string unbroken(std::string_view text);

// How something has turned out, with a sign and a word, so that colour is not all that tells.
enum class Verdict : uint8_t { GOOD, WARNING, BAD, NEUTRAL };
std::string badge(Verdict verdict, std::string_view text);

// A link within the page, or to a file beside it. Addresses with a scheme are not linked.
std::string link(std::string_view target, std::string_view text);

struct Column {
  std::string name;  // text
  bool isNumber = false;
};
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // html, as many cells as columns; fewer: empty ones
};

class HtmlPage {
 public:
  // `title` and `subtitle` are text; the subtitle states subject, time and place of the
  // measurement.
  HtmlPage(std::string_view title, std::string_view subtitle);

  // Headings get an anchor by their text ("Peak memory": #peak-memory).
  void heading(std::string_view text);
  void subheading(std::string_view text);
  void paragraph(std::string_view text);
  // With its line ends, in letters of one width.
  void preformatted(std::string_view text);
  // Large figures in a row: a name and a value each, both text.
  struct Figure {
    std::string name;
    std::string value;
    std::string note;
  };
  void figures(const std::vector<Figure>& figures);
  void table(const Table& table);
  // A chart of charts.h, or other parts of this folder.
  void raw(std::string_view html);
  // Begins a part that is shown when the reader opens it. It ends at `endDetails`.
  void beginDetails(std::string_view text);
  void endDetails();

  // The whole document.
  std::string finish() const;

 private:
  const std::string title_;
  std::string body_;
};

}  // namespace halyard::report
