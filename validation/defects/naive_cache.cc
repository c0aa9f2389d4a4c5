#include "validation/defects/naive_cache.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/sha256.h"
#include "halyard/driver/model_bytes.h"

namespace halyard::defects {
namespace {

struct Header {
  char magic[8] = {'n', 'a', 'i', 'v', 'e', '0', '0', '1'};
  hal::Token token = {};
  uint64_t structureBytes = 0;
  uint64_t valuesBytes = 0;
  Digest digest = {};
};

Digest digestOf(const ModelBytes& bytes, const hal::Token& token) {
  return Sha256().add(token).add(bytes.structure).add(bytes.values).finish();
}

Result<std::vector<uint8_t>> readAll(int fd, bool rewinds) {
  if (rewinds) (void)::lseek(fd, 0, SEEK_SET);
  std::vector<uint8_t> content;
  uint8_t buffer[1 << 14];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0) return opFailed("reading a cache file: {}", std::strerror(errno));
    if (count == 0) return content;
    content.insert(content.end(), buffer, buffer + count);
  }
}

struct Parts {
  Header header;
  ModelBytes bytes;
  size_t extra = 0;  // bytes after the model
};
Result<Parts> partsOf(const std::vector<uint8_t>& content) {
  Parts parts;
  if (content.size() < sizeof parts.header) return opFailed("the cache file is too short");
  std::memcpy(&parts.header, content.data(), sizeof parts.header);
  if (std::memcmp(parts.header.magic, Header().magic, sizeof Header().magic) != 0) {
    return opFailed("it is no cache file of this driver");
  }
  const size_t rest = content.size() - sizeof parts.header;
  const uint64_t structure = parts.header.structureBytes;
  const uint64_t values = parts.header.valuesBytes;
  if (structure > rest || values > rest - structure) return opFailed("the cache file is cut off");
  const auto begin = content.begin() + sizeof parts.header;
  const auto middle = begin + static_cast<std::ptrdiff_t>(structure);
  const auto end = middle + static_cast<std::ptrdiff_t>(values);
  parts.bytes = {{begin, middle}, {middle, end}};
  parts.extra = static_cast<size_t>(content.end() - end);
  return parts;
}

}  // namespace

Status saveNaively(const Model& model, const hal::CacheFiles& files, const CacheFlaws& flaws) {
  if (files.modelCache.empty()) return opFailed("there is no file to save to");
  HALYARD_ASSIGN_OR_RETURN(const ModelBytes bytes, serializeModel(model));
  Header header;
  header.token = files.token;
  header.structureBytes = bytes.structure.size();
  header.valuesBytes = bytes.values.size();
  header.digest = digestOf(bytes, files.token);
  const int fd = files.modelCache[0].get();
  if (flaws.truncates) (void)!::ftruncate(fd, 0);
  if (flaws.rewinds) (void)::lseek(fd, 0, SEEK_SET);
  const auto write = [&](const void* data, size_t size) {
    return ::write(fd, data, size) == static_cast<ssize_t>(size);
  };
  if (!write(&header, sizeof header) || !write(bytes.structure.data(), bytes.structure.size()) ||
      !write(bytes.values.data(), bytes.values.size())) {
    return opFailed("writing a cache file: {}", std::strerror(errno));
  }
  return okStatus();
}

Result<ValidModel> loadNaively(const hal::CacheFiles& files, const CacheFlaws& flaws) {
  if (files.modelCache.empty() || !flaws.loads) return opFailed("nothing is loaded");
  const int fd = files.modelCache[0].get();
  HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> content, readAll(fd, flaws.rewinds));
  HALYARD_ASSIGN_OR_RETURN(Parts parts, partsOf(content));
  if (flaws.checksToken && parts.header.token != files.token) return opFailed("another token");
  if (flaws.checksContent && parts.header.digest != digestOf(parts.bytes, parts.header.token)) {
    return opFailed("the cache file has been changed");
  }
  if (flaws.checksLength && parts.extra != 0) return opFailed("the cache file is too long");
  if (!flaws.readsOnce) {
    // A change must come between the two reads on a busy machine too.
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> again, readAll(fd, true));
    HALYARD_ASSIGN_OR_RETURN(parts, partsOf(again));
  }
  auto model = parseModel(parts.bytes.structure, parts.bytes.values);
  if (!model.ok()) return model.status().withCode(ResultCode::OP_FAILED);
  return model;
}

}  // namespace halyard::defects
