// Reads lines through zlib.
#include "conformance/gzip_lines.h"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace halyard::conformance {

struct GzipLines::State {
  explicit State(gzFile opened) : file(opened) {}
  ~State() { gzclose_r(file); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  gzFile file;
  std::array<char, 1 << 16> buffer;
  size_t begin = 0;  // of the bytes that next() has not returned yet
  size_t end = 0;
  size_t lineNumber = 0;
};

GzipLines::GzipLines(std::unique_ptr<State> state) : state_(std::move(state)) {}
GzipLines::GzipLines(GzipLines&&) noexcept = default;
GzipLines& GzipLines::operator=(GzipLines&&) noexcept = default;
GzipLines::~GzipLines() = default;

Result<GzipLines> GzipLines::open(const std::string& path) {
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rbe");
  if (file == nullptr) {
    return errnoStatus(ResultCode::BAD_DATA, errno == 0 ? ENOMEM : errno,
                       fmt::format("opening {}", path));
  }
  return GzipLines(std::make_unique<State>(file));
}

Result<std::optional<std::string>> GzipLines::next() {
  State& state = *state_;
  std::string line;
  for (;;) {
    if (state.begin == state.end) {
      const int count =
          gzread(state.file, state.buffer.data(), static_cast<unsigned>(state.buffer.size()));
      int error = Z_OK;
      const char* text = gzerror(state.file, &error);
      // For a truncated stream, zlib returns its last bytes first, together with Z_BUF_ERROR.
      if (count < 0 || (count == 0 && error != Z_OK && error != Z_STREAM_END)) {
        return badData("decompression failed after line {}: {}", state.lineNumber, text);
      }
      if (count == 0) {
        if (line.empty()) return std::optional<std::string>();
        ++state.lineNumber;
        return std::optional<std::string>(std::move(line));
      }
      state.begin = 0;
      state.end = static_cast<size_t>(count);
    }
    const char* from = state.buffer.data() + state.begin;
    const size_t available = state.end - state.begin;
    const auto* newline = static_cast<const char*>(std::memchr(from, '\n', available));
    const size_t taken = newline ? static_cast<size_t>(newline - from) : available;
    if (line.size() + taken > kMaxLine) {
      return badData("line {} has more than {} bytes", state.lineNumber + 1, kMaxLine);
    }
    line.append(from, taken);
    state.begin += taken;
    if (newline) {
      ++state.begin;
      ++state.lineNumber;
      return std::optional<std::string>(std::move(line));
    }
  }
}

size_t GzipLines::lineNumber() const { return state_->lineNumber; }

}  // namespace halyard::conformance
