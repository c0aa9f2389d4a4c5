#include "tools/halyard/output_file.h"

#include <errno.h>
#include <fmt/format.h>

#include <fstream>

namespace halyard::cli {

Status checkOutputFile(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::binary | std::ios::app)) return okStatus();
  return errnoStatus(ResultCode::BAD_DATA, errno, fmt::format("writing {}", path));
}

Status writeOutputFile(const std::string& path, std::string_view content) {
  if (path.empty()) return okStatus();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (file) return okStatus();
  return errnoStatus(ResultCode::OP_FAILED, errno, fmt::format("writing {}", path));
}

}  // namespace halyard::cli
