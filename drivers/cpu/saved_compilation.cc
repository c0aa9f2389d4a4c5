// The formats are in docs/cache_format.md; numbers are in the machine's byte order.
#include "saved_compilation.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "halyard/driver/model_bytes.h"

namespace halyard::cpudriver {
namespace {

struct Header {
  uint64_t magic;
  uint64_t structureBytes;
  uint64_t valuesBytes;
  uint32_t released;
  uint32_t pieces;
  uint8_t preference;
  uint8_t priority;
  uint8_t unused[2];
  uint32_t choices;
};
static_assert(sizeof(Header) == 40);
// The last byte is the version.
constexpr uint64_t kMagic = 0x02'55'50'43'4c'41'48'93;

// Pieces up to this are in the model file: decisions are among them.
constexpr uint64_t kMaxSmallBytes = 512;

uint64_t padded(uint64_t bytes) {
  return (bytes + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
}

// What kernels may take for sizes and indices is kept: plans have copies of it.
bool mayGo(const Operand& operand) {
  return !isScalarType(operand.type) && operand.type != OperandType::TENSOR_INT32;
}

// Released constants are inputs in the bytes, behind those that the model has. The others are
// copied from where the plan has them: the pools may hold them no more. What the plan has made
// constants by folding is made so again.
Model withoutReleased(const Model& model, const CompiledModel& compiled,
                      const PackingRecorder& recorder, uint32_t* released) {
  Model reduced = model;
  std::vector<Operand>& operands = reduced.main.operands;
  std::map<std::pair<const void*, uint32_t>, DataLocation> copied;
  for (uint32_t i = 0; i < operands.size(); ++i) {
    const void* const data = compiled.constant(i);
    if (data == nullptr || operands[i].lifetime == Lifetime::TEMPORARY_VARIABLE) continue;
    if (!mayGo(operands[i]) || !recorder.isReleased(data)) {
      if (operands[i].lifetime != Lifetime::CONSTANT_REFERENCE) continue;
      const uint32_t length = operands[i].location.length;
      const auto [at, isNew] = copied.try_emplace({data, length});
      if (isNew) at->second = appendConstant(reduced, data, length);
      operands[i].lifetime = Lifetime::CONSTANT_COPY;
      operands[i].location = at->second;
      continue;
    }
    operands[i].lifetime = Lifetime::SUBGRAPH_INPUT;
    operands[i].location = {};
    reduced.main.inputIndexes.push_back(i);
    ++*released;
  }
  return reduced;
}

template <typename T>
void append(std::vector<uint8_t>& to, const T& value) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

void append(std::vector<uint8_t>& to, const PackedPiece& piece) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(piece.memory.get());
  to.insert(to.end(), bytes, bytes + piece.bytes);
}

// The bits of a choice's byte.
constexpr uint8_t kFiner = 0x80;

void append(std::vector<uint8_t>& to, StepChoice choice) {
  to.push_back(static_cast<uint8_t>(choice.way | (choice.finer ? kFiner : 0)));
}

// Reads what unpackCompilation is given, from front to back.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : left_(bytes) {}

  Result<std::span<const uint8_t>> take(uint64_t size) {
    if (size > left_.size())
      return opFailed("{} bytes are needed, {} are left", size, left_.size());
    const auto taken = left_.first(static_cast<size_t>(size));
    left_ = left_.subspan(static_cast<size_t>(size));
    return taken;
  }
  template <typename T>
  Status get(T* to) {
    HALYARD_ASSIGN_OR_RETURN(const auto from, take(sizeof *to));
    std::memcpy(to, from.data(), sizeof *to);
    return okStatus();
  }
  std::span<const uint8_t> left() const { return left_; }

 private:
  std::span<const uint8_t> left_;
};

Packing::Bytes copyOf(std::span<const uint8_t> from) {
  return Packing::make(from.size(), [&](std::byte* to) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  });
}

Packing::Bytes shared(std::span<const uint8_t> from, const std::shared_ptr<const void>& owner) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(from.data());
  if (reinterpret_cast<uintptr_t>(bytes) % kPackedAlignment != 0) return copyOf(from);
  return Packing::Bytes(owner, bytes);
}

Result<Header> readHeader(Bytes& code) {
  Header header{};
  HALYARD_RETURN_IF_ERROR(code.get(&header));
  if (header.magic != kMagic || header.preference > 2 || header.priority > 2) {
    return opFailed("it is no compilation of this driver");
  }
  // Each has its size.
  if (uint64_t{header.pieces} * sizeof(uint64_t) > code.left().size()) {
    return opFailed("{} pieces cannot be in {} bytes", header.pieces, code.left().size());
  }
  return header;
}

// Behind each piece of the data file are the bytes that may be read there: those of the next one,
// or of the file's end.
Result<std::vector<PackedPiece>> readPieces(uint32_t count, Bytes& code, Bytes& data,
                                            const std::shared_ptr<const void>& owner) {
  std::vector<uint64_t> sizes(count);
  for (uint64_t& size : sizes) HALYARD_RETURN_IF_ERROR(code.get(&size));
  std::vector<PackedPiece> pieces;
  for (const uint64_t size : sizes) {
    const bool isSmall = size <= kMaxSmallBytes;
    HALYARD_ASSIGN_OR_RETURN(const auto bytes, (isSmall ? code : data).take(size));
    pieces.push_back({isSmall ? copyOf(bytes) : shared(bytes, owner), bytes.size()});
    if (!isSmall) HALYARD_RETURN_IF_ERROR(data.take(padded(size) - size).takeStatus());
  }
  HALYARD_RETURN_IF_ERROR(data.take(kPackedAlignment).takeStatus());
  if (data.left().empty()) return pieces;
  return opFailed("{} bytes too many", data.left().size());
}

Result<std::vector<StepChoice>> readChoices(uint32_t count, Bytes& code) {
  HALYARD_ASSIGN_OR_RETURN(const auto bytes, code.take(count));
  std::vector<StepChoice> choices;
  for (const uint8_t byte : bytes) {
    choices.push_back({static_cast<uint8_t>(byte & ~kFiner), (byte & kFiner) != 0});
  }
  return choices;
}

// Where constants begin in memory that stands for them: no number, should one be looked at.
Status putNans(const SharedMemory& memory, size_t bytes) {
  const std::vector<uint8_t> nans(bytes, uint8_t{0xff});
  const ssize_t put = ::pwrite(memory.fd(), nans.data(), bytes, 0);
  if (put == static_cast<ssize_t>(bytes)) return okStatus();
  return errnoStatus(ResultCode::OP_FAILED, put < 0 ? errno : ENOSPC,
                     fmt::format("{} bytes for released constants", bytes));
}

// Makes the inputs that stand for released constants constants again.
Result<std::shared_ptr<const Model>> withReleased(std::shared_ptr<const Model> reduced,
                                                  uint32_t released) {
  if (released == 0) return reduced;
  Model model = *reduced;
  std::vector<uint32_t>& inputs = model.main.inputIndexes;
  if (released > inputs.size()) {
    return opFailed("{} of {} inputs are constants", released, inputs.size());
  }
  // Each has an address of its own, for who releases what is known by it; their bytes, which nobody
  // reads, may be the same.
  uint64_t end = 0;
  for (uint32_t i = 0; i < released; ++i) {
    Operand& operand = model.main.operands[inputs.back()];
    inputs.pop_back();
    const auto bytes = knownByteSize(operand.type, operand.dimensions);
    if (!bytes || *bytes == 0 || !mayGo(operand)) return opFailed("a constant without a size");
    const uint64_t offset = uint64_t{i} * kPackedAlignment;
    end = std::max(end, offset + *bytes);
    if (end > UINT32_MAX) return opFailed("{} constants of {} bytes", released, *bytes);
    operand.lifetime = Lifetime::CONSTANT_REFERENCE;
    operand.location = {0, static_cast<uint32_t>(offset), *bytes};
  }
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr memory, SharedMemory::create(end, "halyard-released"));
  HALYARD_RETURN_IF_ERROR(
      putNans(*memory, std::min<uint64_t>(end, uint64_t{released} * kPackedAlignment)));
  model.pools.push_back(std::move(memory));
  return std::make_shared<const Model>(std::move(model));
}

}  // namespace

Result<hal::CompileCache::Content> packCompilation(const Model& model,
                                                   const CompiledModel& compiled,
                                                   const PackingRecorder& recorder,
                                                   const hal::PrepareOptions& options) {
  Header header{};
  const Model reduced = withoutReleased(model, compiled, recorder, &header.released);
  HALYARD_ASSIGN_OR_RETURN(ModelBytes bytes, serializeModel(reduced));
  header.magic = kMagic;
  header.structureBytes = bytes.structure.size();
  header.valuesBytes = bytes.values.size();
  header.pieces = static_cast<uint32_t>(recorder.pieces().size());
  header.preference = static_cast<uint8_t>(options.preference);
  header.priority = static_cast<uint8_t>(options.priority);
  header.choices = static_cast<uint32_t>(compiled.choices().size());
  std::vector<uint8_t> code;
  append(code, header);
  std::vector<uint8_t> data = std::move(bytes.values);
  uint64_t dataBytes = padded(data.size()) + kPackedAlignment;
  for (const PackedPiece& piece : recorder.pieces()) {
    append(code, uint64_t{piece.bytes});
    if (piece.bytes > kMaxSmallBytes) dataBytes += padded(piece.bytes);
  }
  data.reserve(dataBytes);
  data.resize(padded(data.size()));
  for (const PackedPiece& piece : recorder.pieces()) {
    if (piece.bytes <= kMaxSmallBytes) {
      append(code, piece);
      continue;
    }
    append(data, piece);
    data.resize(padded(data.size()));
  }
  data.resize(data.size() + kPackedAlignment);
  for (const StepChoice choice : compiled.choices()) append(code, choice);
  code.insert(code.end(), bytes.structure.begin(), bytes.structure.end());
  return hal::CompileCache::Content{{std::move(code)}, {std::move(data)}};
}

Result<SavedCompilation> unpackCompilation(std::span<const uint8_t> model,
                                           std::span<const uint8_t> data,
                                           const std::shared_ptr<const void>& owner) {
  Bytes code(model);
  Bytes numbers(data);
  HALYARD_ASSIGN_OR_RETURN(const Header header, readHeader(code));
  HALYARD_ASSIGN_OR_RETURN(const auto values, numbers.take(header.valuesBytes));
  HALYARD_RETURN_IF_ERROR(
      numbers.take(padded(header.valuesBytes) - header.valuesBytes).takeStatus());
  SavedCompilation saved;
  HALYARD_ASSIGN_OR_RETURN(saved.pieces, readPieces(header.pieces, code, numbers, owner));
  HALYARD_ASSIGN_OR_RETURN(saved.choices, readChoices(header.choices, code));
  if (code.left().size() != header.structureBytes) {
    return opFailed("{} bytes of a model, expected {}", code.left().size(), header.structureBytes);
  }
  auto parsed = parseModel(code.left(), values);
  if (!parsed.ok()) return parsed.takeStatus().withCode(ResultCode::OP_FAILED);
  HALYARD_ASSIGN_OR_RETURN(saved.model, withReleased(std::move(*parsed), header.released));
  saved.preference = static_cast<hal::ExecutionPreference>(header.preference);
  saved.priority = static_cast<hal::Priority>(header.priority);
  return saved;
}

}  // namespace halyard::cpudriver
