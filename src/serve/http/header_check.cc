#include "serve/http/header_check.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <charconv>

namespace halyard::serve {
namespace {

// Bytes of hostile text that an error repeats.
constexpr size_t kMostQuoted = 40;

bool isNameCharacter(char c) {
  const bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  const bool isDigit = c >= '0' && c <= '9';
  return isLetter || isDigit ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool isNamed(std::string_view name, std::string_view expected) {
  return name.size() == expected.size() &&
         ::strncasecmp(name.data(), expected.data(), expected.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

bool HeaderCheck::take(char byte) {
  if (!fault_.empty()) return false;
  line_ += byte;
  if (++bytes_ > mostBytes_) {
    fault_ = fmt::format("the header has more than {} bytes", mostBytes_);
  } else if (byte == '\n') {
    endLine();
    line_.clear();
  }
  return fault_.empty();
}

std::optional<uint64_t> HeaderCheck::bodyLength() const {
  if (!hasEnded_ || isEncoded_) return std::nullopt;
  return length_.value_or(0);
}

// The library reads the first line itself, and answers if it is no request.
void HeaderCheck::endLine() {
  if (++lines_ == 1) return;
  std::string_view line = line_;
  if (!line.ends_with("\r\n")) {
    fault_ = fmt::format("line {} of the header ends with LF, expected CR LF", lines_);
    return;
  }
  line.remove_suffix(2);
  if (line.empty()) {
    hasEnded_ = true;
  } else {
    readField(line);
  }
}

void HeaderCheck::readField(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(':'));
  const bool isName = name.size() != line.size() && !name.empty() &&
                      std::all_of(name.begin(), name.end(), isNameCharacter);
  if (!isName) {
    fault_ = fmt::format("line {} of the header is no 'NAME: VALUE'", lines_);
    return;
  }
  const std::string_view value = trimmed(line.substr(name.size() + 1));
  if (value.find('\r') != std::string_view::npos || value.find('\0') != std::string_view::npos) {
    fault_ = fmt::format("line {} of the header has a CR or a zero in its value", lines_);
  } else if (isNamed(name, "Content-Length")) {
    readLength(value);
  } else if (isNamed(name, "Transfer-Encoding")) {
    if (isEncoded_ || value.empty()) fault_ = "Transfer-Encoding is empty or there twice";
    isEncoded_ = true;
  }
  if (isEncoded_ && length_) fault_ = "the header has Content-Length and Transfer-Encoding";
}

void HeaderCheck::readLength(std::string_view value) {
  uint64_t length = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
  if (error != std::errc() || end != value.data() + value.size()) {
    fault_ = fmt::format("Content-Length is '{}', expected a number below 2^64",
                         value.substr(0, kMostQuoted));
  } else if (length_) {
    fault_ = fmt::format("Content-Length is there twice, {} and {}", *length_, length);
  }
  length_ = length;
}

}  // namespace halyard::serve
