#include "validation/kit/process_figures.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace halyard::validation {

Result<ProcessFigures> figuresOf(pid_t process) {
  const std::string folder = fmt::format("/proc/{}", process);
  std::ifstream status(folder + "/status");
  if (!status) return opFailed("{}/status cannot be read", folder);
  ProcessFigures figures;
  std::string word;
  while (status >> word) {
    size_t value = 0;
    if (word == "RssAnon:" || word == "RssShmem:") {
      status >> value;
      figures.memoryBytes += value * 1024;
    } else if (word == "Threads:") {
      status >> figures.threads;
    }
  }
  std::error_code error;
  std::filesystem::directory_iterator descriptors(folder + "/fd", error);
  if (error) return opFailed("{}/fd cannot be read: {}", folder, error.message());
  for (auto it = std::filesystem::begin(descriptors); it != std::filesystem::end(descriptors);
       it.increment(error)) {
    if (error) break;
    ++figures.descriptors;
  }
  return figures;
}

}  // namespace halyard::validation
