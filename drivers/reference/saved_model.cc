#include "saved_model.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "halyard/driver/model_bytes.h"

namespace halyard::drivers {
namespace {

using Bytes = std::vector<uint8_t>;

// Stored before the structure.
struct Header {
  char magic[4];
  uint8_t stage;
  uint8_t preference;
  uint8_t priority;
  uint8_t dataFiles;  // 1: the values are in files of their own
  uint64_t structureBytes;
  uint64_t valuesBytes;
};
static_assert(sizeof(Header) == 24);
constexpr char kMagic[4] = {'R', 'F', 'M', '1'};

// Divides into parts of about the same size.
std::vector<Bytes> divide(const Bytes& bytes, size_t parts) {
  std::vector<Bytes> divided;
  for (size_t i = 0; i < parts; ++i) {
    const auto begin = static_cast<ptrdiff_t>(bytes.size() * i / parts);
    const auto end = static_cast<ptrdiff_t>(bytes.size() * (i + 1) / parts);
    divided.emplace_back(bytes.begin() + begin, bytes.begin() + end);
  }
  return divided;
}

Bytes join(const std::vector<Bytes>& parts) {
  Bytes joined;
  for (const Bytes& part : parts) joined.insert(joined.end(), part.begin(), part.end());
  return joined;
}

Result<Header> readHeader(const Bytes& code, uint64_t dataBytes) {
  Header header{};
  if (code.size() < sizeof header) return opFailed("{} bytes are no saved model", code.size());
  std::memcpy(&header, code.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 ||
      header.stage > static_cast<uint8_t>(Stage::OPTIMISED) || header.preference > 2 ||
      header.priority > 2 || header.dataFiles > 1) {
    return opFailed("what was saved is no model of this driver");
  }
  const uint64_t rest = code.size() - sizeof header;
  const bool apart = header.dataFiles != 0;
  const uint64_t valuesBytes = apart ? dataBytes : rest - std::min(rest, header.structureBytes);
  const uint64_t structureBytes = apart ? rest : rest - valuesBytes;
  if (structureBytes != header.structureBytes || valuesBytes != header.valuesBytes) {
    return opFailed("a saved model of {} and {} bytes, expected {} and {}", structureBytes,
                    valuesBytes, header.structureBytes, header.valuesBytes);
  }
  return header;
}

}  // namespace

Result<hal::CompileCache::Content> packModel(const SavedModel& saved, size_t modelFiles,
                                             size_t dataFiles) {
  if (modelFiles + dataFiles == 0) return badData("there is no file to save a model in");
  HALYARD_ASSIGN_OR_RETURN(ModelBytes bytes, serializeModel(*saved.model));
  const bool apart = modelFiles != 0 && dataFiles != 0;
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.stage = static_cast<uint8_t>(saved.stage);
  header.preference = static_cast<uint8_t>(saved.preference);
  header.priority = static_cast<uint8_t>(saved.priority);
  header.dataFiles = apart ? 1 : 0;
  header.structureBytes = bytes.structure.size();
  header.valuesBytes = bytes.values.size();
  Bytes code(sizeof header);
  std::memcpy(code.data(), &header, sizeof header);
  code.insert(code.end(), bytes.structure.begin(), bytes.structure.end());
  if (!apart) code.insert(code.end(), bytes.values.begin(), bytes.values.end());
  hal::CompileCache::Content content;
  content.model = divide(code, modelFiles);
  content.data = divide(apart ? bytes.values : code, dataFiles);
  return content;
}

Result<SavedModel> unpackModel(const hal::CompileCache::Content& content) {
  const Bytes first = join(content.model.empty() ? content.data : content.model);
  const Bytes data = content.model.empty() ? Bytes() : join(content.data);
  HALYARD_ASSIGN_OR_RETURN(const Header header, readHeader(first, data.size()));
  const std::span<const uint8_t> code = std::span(first).subspan(sizeof(Header));
  const auto structureBytes = static_cast<size_t>(header.structureBytes);
  const std::span<const uint8_t> values =
      header.dataFiles != 0 ? std::span<const uint8_t>(data) : code.subspan(structureBytes);
  auto model = parseModel(code.first(structureBytes), values);
  if (!model.ok()) return model.takeStatus().withCode(ResultCode::OP_FAILED);
  SavedModel saved{std::move(*model)};
  saved.stage = static_cast<Stage>(header.stage);
  saved.preference = static_cast<hal::ExecutionPreference>(header.preference);
  saved.priority = static_cast<hal::Priority>(header.priority);
  return saved;
}

}  // namespace halyard::drivers
