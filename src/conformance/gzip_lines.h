// GzipLines: iterates over the lines of a gzip-compressed text file.
// Thread safety: none; one object belongs to one thread.
// Ownership: owns the open file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "halyard/driver/status.h"

namespace halyard::conformance {

class GzipLines {
 public:
  // Returns BAD_DATA with the path when the file cannot be opened. A file that is not compressed is
  // read unchanged.
  static Result<GzipLines> open(const std::string& path);
  GzipLines(GzipLines&&) noexcept;
  GzipLines& operator=(GzipLines&&) noexcept;
  ~GzipLines();

  // Returns the next line without its end, or nullopt after the last. Returns BAD_DATA for damaged
  // or truncated compression and for a line longer than kMaxLine.
  Result<std::optional<std::string>> next();
  // Returns the number of the line that next() returned last; the first is 1.
  size_t lineNumber() const;

  // Limits the length of a line, because a small file can unpack to an endless one.
  static constexpr size_t kMaxLine = size_t{256} << 20;

 private:
  struct State;
  explicit GzipLines(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace halyard::conformance
