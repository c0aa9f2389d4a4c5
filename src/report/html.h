// HtmlPage: a report in one file without other files, for light and dark screens.
// Thread safety: none; one thread writes a page. Functions are pure.
// Ownership: a page owns its text.
//
// Text is escaped where it enters: by text(), badge() and every parameter named `text`. A parameter
// named `html` is inserted unchanged and must come from this folder's functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::report {

// Returns any text as HTML. Control characters except line ends become U+FFFD.
std::string text(std::string_view text);

// The same without line breaks, for names in narrow places.
std::string unbroken(std::string_view text);

// The outcome of something. A sign and a word show it as well as the colour.
enum class Verdict : uint8_t { GOOD, WARNING, BAD, NEUTRAL };
std::string badge(Verdict verdict, std::string_view text);

// Returns a link within the page or to a file beside it. Addresses with a scheme are not linked.
std::string link(std::string_view target, std::string_view text);

struct Column {
  std::string name;  // text
  bool isNumber = false;
};
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // html, one cell per column; missing cells are empty
};

class HtmlPage {
 public:
  // `title` and `subtitle` are plain text. The subtitle gives the subject, time and place of the
  // measurement.
  HtmlPage(std::string_view title, std::string_view subtitle);

  // Adds a heading with an anchor by its text ("Peak memory": #peak-memory).
  void heading(std::string_view text);
  void subheading(std::string_view text);
  void paragraph(std::string_view text);
  // Large figures in a row: a name and a value each, both plain text.
  struct Figure {
    std::string name;
    std::string value;
    std::string note;
  };
  void figures(const std::vector<Figure>& figures);
  void table(const Table& table);
  // Adds a chart of charts.h, or other parts of this folder.
  void raw(std::string_view html);
  // Begins a section that is hidden until the reader opens it. It contains everything added until
  // `endDetails`.
  void beginDetails(std::string_view text);
  void endDetails();

  // Returns the whole document.
  std::string finish() const;

 private:
  const std::string title_;
  std::string body_;
};

}  // namespace halyard::report
