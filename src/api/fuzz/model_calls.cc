// Calls for devices and models.
#include <algorithm>
#include <array>
#include <cstring>

#include "api/fuzz/calls.h"

namespace halyard::api::fuzz {
namespace {

// The limits of a small model: operations, elements, and counts in constants. An execution of a
// small model takes little time and memory, for all operations.
constexpr uint32_t kSmallOperations = 6;
constexpr uint64_t kSmallElements = 4096;
constexpr uint32_t kSmallCount = 48;

// Whether all values are small, if the type is one for sizes or counts.
bool smallCounts(int32_t type, const uint8_t* value, size_t size) {
  if (type != ANEURALNETWORKS_INT32 && type != ANEURALNETWORKS_TENSOR_INT32 &&
      type != ANEURALNETWORKS_UINT32) {
    return true;
  }
  for (size_t i = 0; i + 4 <= size; i += 4) {
    int32_t word = 0;
    std::memcpy(&word, value + i, 4);
    if (word > static_cast<int32_t>(kSmallCount)) return false;
  }
  return true;
}

void createModel(ObjectTable& table, ByteSource&) {
  ANeuralNetworksModel* handle = nullptr;
  if (!check(ANeuralNetworksModel_create(&handle))) return;
  if (handle == nullptr) fail("success without a model");
  table.models.push_back(std::make_unique<ModelObject>());
  table.models.back()->handle = handle;
}

void addOperand(ObjectTable& table, ByteSource& bytes) {
  ModelObject* const model = table.pick(table.models, bytes);
  const ANeuralNetworksOperandType type = chooseOperandType(table, bytes);
  const bool null = bytes.oneIn(60);
  const int code =
      ANeuralNetworksModel_addOperand(model ? model->handle : nullptr, null ? nullptr : &type);
  if (!check(code)) return;
  if (model == nullptr || null) fail("an operand out of nothing");
  model->types.push_back(type.type);
  std::vector<uint32_t> dims(type.dimensions, type.dimensions + type.dimensionCount);
  uint64_t elements = 1;
  for (const uint32_t dim : dims) elements = std::min<uint64_t>(elements * dim, 1ull << 40);
  if (elements > kSmallElements) model->small = false;
  model->shapes.push_back(std::move(dims));
}

void setOperandValue(ObjectTable& table, ByteSource& bytes) {
  ModelObject* const model = table.pick(table.models, bytes);
  const uint32_t index = bytes.oneIn(20) || model == nullptr || model->types.empty()
                             ? bytes.number32()
                             : bytes.below(static_cast<uint32_t>(model->types.size()));
  const bool known = model != nullptr && index < model->types.size();
  size_t size = known ? valueSize(model->types[index], model->shapes[index]) : 4;
  if (bytes.oneIn(20)) size = bytes.below(600);
  const uint8_t* const value = bytes.oneIn(20) ? nullptr : table.buffer(size, bytes);
  if (bytes.oneIn(20) && value == nullptr) size = 0;
  const int code = ANeuralNetworksModel_setOperandValue(model ? model->handle : nullptr,
                                                        static_cast<int32_t>(index), value, size);
  if (check(code) && value != nullptr && known && !smallCounts(model->types[index], value, size)) {
    model->small = false;
  }
}

void setOperandValueFromMemory(ObjectTable& table, ByteSource& bytes) {
  ModelObject* const model = table.pick(table.models, bytes);
  const uint32_t index = model == nullptr || model->types.empty()
                             ? bytes.number32()
                             : bytes.below(static_cast<uint32_t>(model->types.size()));
  const MemoryObject* const memory = table.pick(table.memories, bytes);
  const bool known = model != nullptr && index < model->types.size();
  size_t size = known ? valueSize(model->types[index], model->shapes[index]) : 4;
  if (bytes.oneIn(10)) size = bytes.number32();
  const size_t offset = bytes.oneIn(4) ? bytes.number64() : bytes.byte() * 4u;
  const int code = ANeuralNetworksModel_setOperandValueFromMemory(
      model ? model->handle : nullptr, static_cast<int32_t>(index),
      memory ? memory->handle : nullptr, offset, size);
  // The contents of the memory at the time of a run are not known.
  if (check(code)) model->small = false;
}

void setOperandValueFromModel(ObjectTable& table, ByteSource& bytes) {
  ModelObject* const model = table.pick(table.models, bytes);
  const ModelObject* const value = table.pick(table.models, bytes);
  const uint32_t index = bytes.byte();
  const int code = ANeuralNetworksModel_setOperandValueFromModel(model ? model->handle : nullptr,
                                                                 static_cast<int32_t>(index),
                                                                 value ? value->handle : nullptr);
  if (!check(code)) return;
  model->small = model->small && value->small;
  model->operations += value->operations;
}

void setPerChannel(ObjectTable& table, ByteSource& bytes) {
  ModelObject* const model = table.pick(table.models, bytes);
  const uint32_t index = bytes.byte();
  std::vector<float> scales(bytes.below(6));
  for (float& scale : scales) {
    scale = bytes.oneIn(8) ? -1.0f : static_cast<float>(bytes.byte()) / 64.0f;
  }
  const ANeuralNetworksSymmPerChannelQuantParams params = {
      bytes.below(5), static_cast<uint32_t>(scales.size()),
      scales.empty() ? nullptr : scales.data()};
  check(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
      model ? model->handle : nullptr, static_cast<int32_t>(index),
      bytes.oneIn(20) ? nullptr : &params));
}

std::vector<uint32_t> chooseIndices(const ModelObject* model, ByteSource& bytes, uint32_t most) {
  std::vector<uint32_t> indices(bytes.below(most));
  const uint32_t count = model == nullptr ? 0 : static_cast<uint32_t>(model->types.size());
  for (uint32_t& index : indices) {
    index = bytes.byte();
    if (index == 255) index = bytes.number32();
    if (index >= count && index < 250 && count != 0) index %= count;
  }
  return indices;
}

void addOperation(ObjectTable& table, ByteSource& bytes) {
  ModelObject* const model = table.pick(table.models, bytes);
  const uint8_t type = bytes.byte();
  const std::vector<uint32_t> inputs = chooseIndices(model, bytes, 64);
  const std::vector<uint32_t> outputs = chooseIndices(model, bytes, 8);
  const int code = ANeuralNetworksModel_addOperation(
      model ? model->handle : nullptr, type == 255 ? static_cast<int32_t>(bytes.number32()) : type,
      static_cast<uint32_t>(inputs.size()), inputs.data(), static_cast<uint32_t>(outputs.size()),
      outputs.data());
  if (!check(code)) return;
  if (++model->operations > kSmallOperations) model->small = false;
}

void identify(ObjectTable& table, ByteSource& bytes) {
  ModelObject* const model = table.pick(table.models, bytes);
  const std::vector<uint32_t> inputs = chooseIndices(model, bytes, 64);
  const std::vector<uint32_t> outputs = chooseIndices(model, bytes, 8);
  const int code = ANeuralNetworksModel_identifyInputsAndOutputs(
      model ? model->handle : nullptr, static_cast<uint32_t>(inputs.size()), inputs.data(),
      static_cast<uint32_t>(outputs.size()), outputs.data());
  if (!check(code)) return;
  model->inputs = inputs;
  model->outputs = outputs;
}

void relax(ObjectTable& table, ByteSource& bytes) {
  const ModelObject* const model = table.pick(table.models, bytes);
  check(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model ? model->handle : nullptr,
                                                              bytes.oneIn(2)));
}

void finishModel(ObjectTable& table, ByteSource& bytes) {
  ModelObject* const model = table.pick(table.models, bytes);
  if (check(ANeuralNetworksModel_finish(model ? model->handle : nullptr))) model->finished = true;
}

void askDevices(ObjectTable& table, ByteSource& bytes) {
  const ModelObject* const model = table.pick(table.models, bytes);
  uint32_t count = 0;
  if (!check(ANeuralNetworks_getDeviceCount(&count)) || count == 0) fail("no devices");
  ANeuralNetworksDevice* device = nullptr;
  if (!check(ANeuralNetworks_getDevice(bytes.oneIn(10) ? bytes.number32() : count - 1, &device))) {
    return;
  }
  const char* name = nullptr;
  int64_t level = 0;
  if (!check(ANeuralNetworksDevice_getName(device, &name)) || *name == '\0') fail("no name");
  if (!check(ANeuralNetworksDevice_getFeatureLevel(device, &level)) || level <= 0) fail("no level");
  const auto supported = std::make_unique<bool[]>(model ? model->operations + 1 : 1);
  const ANeuralNetworksDevice* const devices[] = {device, bytes.oneIn(10) ? nullptr : device};
  check(ANeuralNetworksModel_getSupportedOperationsForDevices(
      model ? model->handle : nullptr, devices, bytes.oneIn(6) ? bytes.below(3) : 1,
      supported.get()));
}

}  // namespace

size_t valueSize(int32_t type, std::span<const uint32_t> dims) {
  static constexpr std::array<uint8_t, 16> kSizes = {4, 4, 4, 4, 4, 1, 1, 2,
                                                     2, 1, 2, 1, 2, 1, 1, 0};
  uint64_t size = type >= 0 && type < 16 ? kSizes[static_cast<size_t>(type)] : 4;
  for (const uint32_t dim : dims) size = std::min<uint64_t>(size * dim, 1 << 20);
  return size;
}

ANeuralNetworksOperandType chooseOperandType(ObjectTable& table, ByteSource& bytes) {
  ANeuralNetworksOperandType type = {};
  const uint8_t code = bytes.byte();
  type.type = code < 240 ? code % 16 : static_cast<int32_t>(bytes.number32());
  type.dimensionCount = bytes.oneIn(40) ? bytes.number32() % 4096 : bytes.below(6);
  auto* const dims = reinterpret_cast<uint32_t*>(table.buffer(type.dimensionCount * 4 + 4));
  for (uint32_t i = 0; i < type.dimensionCount && i < 64; ++i) {
    const uint8_t dim = bytes.byte();
    dims[i] = dim < 250 ? dim % 10u : bytes.number32();
  }
  type.dimensions = type.dimensionCount == 0 ? nullptr : dims;
  const uint8_t scale = bytes.byte();
  if (scale > 250) {
    const uint32_t word = bytes.word();
    std::memcpy(&type.scale, &word, 4);
  } else {
    type.scale = static_cast<float>(scale) / 128.0f;
  }
  type.zeroPoint = bytes.oneIn(10) ? static_cast<int32_t>(bytes.number32()) : bytes.byte();
  return type;
}

std::span<const Call> modelCalls() {
  static constexpr Call kCalls[] = {
      createModel,
      addOperand,
      setOperandValue,
      setOperandValueFromMemory,
      setOperandValueFromModel,
      setPerChannel,
      addOperation,
      identify,
      relax,
      finishModel,
      askDevices,
  };
  return kCalls;
}

}  // namespace halyard::api::fuzz
