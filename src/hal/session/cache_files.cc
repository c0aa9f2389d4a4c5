#include "hal/session/cache_files.h"

#include <fstream>
#include <string>

#include "base/file_facts.h"

namespace halyard::hal {
namespace {

// lseek() would wait for a read by another process that has the same open file.
Result<int64_t> offsetOf(int fd) {
  std::ifstream info(fmt::format("/proc/self/fdinfo/{}", fd));
  std::string name;
  int64_t offset = 0;
  if (info >> name >> offset && name == "pos:") return offset;
  return opFailed("/proc/self/fdinfo/{} does not tell its offset", fd);
}

// The descriptor must be valid, of a regular file, and open for reading and writing. `size`
// receives the size of the file.
Status checkFile(int fd, off_t* size) {
  if (fd < 0) return badData("there is no descriptor, or more than one");
  HALYARD_ASSIGN_OR_RETURN(const FileFacts file, examineFile(fd));
  if (file.isDmaBuf) return badData("it is not a regular file");
  if (!file.writable) return badData("it is not open for reading and writing");
  *size = static_cast<off_t>(file.size);
  return okStatus();
}

Status checkCounts(const CacheFiles& files, uint32_t modelFiles, uint32_t dataFiles) {
  if (files.modelCache.size() == modelFiles && files.dataCache.size() == dataFiles) {
    return okStatus();
  }
  return badData("{} model and {} data cache files, expected {} and {}", files.modelCache.size(),
                 files.dataCache.size(), modelFiles, dataFiles);
}

Status checkEach(const CacheFiles& files) {
  off_t size = 0;
  for (size_t i = 0; i < files.modelCache.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(checkFile(files.modelCache[i].get(), &size), "model cache file {}", i);
  }
  for (size_t i = 0; i < files.dataCache.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(checkFile(files.dataCache[i].get(), &size), "data cache file {}", i);
  }
  return okStatus();
}

}  // namespace

Status checkEmptyFile(int fd) {
  off_t size = 0;
  HALYARD_RETURN_IF_ERROR(checkFile(fd, &size));
  if (size != 0) return badData("it has {} bytes, expected 0", size);
  HALYARD_ASSIGN_OR_RETURN(const int64_t offset, offsetOf(fd));
  if (offset != 0) return badData("its offset is {}, expected 0", offset);
  return okStatus();
}

Status checkFilesToSave(const DeviceInfo& info, const CacheFiles& files) {
  if (files.modelCache.empty() && files.dataCache.empty()) return okStatus();
  HALYARD_RETURN_IF_ERROR(checkCounts(files, info.modelCacheFiles, info.dataCacheFiles));
  return checkEach(files);
}

Status checkFilesToLoad(const DeviceInfo& info, const CacheFiles& files) {
  if (files.modelCache.size() != 1 || files.dataCache.size() != 1) {
    HALYARD_RETURN_IF_ERROR(checkCounts(files, info.modelCacheFiles, info.dataCacheFiles));
  }
  return checkEach(files);
}

}  // namespace halyard::hal
