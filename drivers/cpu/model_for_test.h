// Models that tests put together.
// Thread safety: none needed.
// Ownership: models are the caller's.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "halyard/driver/model.h"

namespace halyard::cpudriver::testing {

// Makes models operand by operand.
class Builder {
 public:
  uint32_t tensor(const Shape& dims, Lifetime lifetime = Lifetime::TEMPORARY_VARIABLE) {
    return quantized(OperandType::TENSOR_FLOAT32, dims, 0, 0, lifetime);
  }
  uint32_t quantized(OperandType type, const Shape& dims, float scale, int32_t zeroPoint,
                     Lifetime lifetime = Lifetime::TEMPORARY_VARIABLE) {
    Operand operand;
    operand.type = type;
    operand.dimensions = dims;
    operand.scale = scale;
    operand.zeroPoint = zeroPoint;
    operand.lifetime = lifetime;
    const uint32_t index = add(operand);
    if (lifetime == Lifetime::SUBGRAPH_INPUT) model_.main.inputIndexes.push_back(index);
    if (lifetime == Lifetime::SUBGRAPH_OUTPUT) model_.main.outputIndexes.push_back(index);
    return index;
  }
  uint32_t input(const Shape& dims) { return tensor(dims, Lifetime::SUBGRAPH_INPUT); }
  uint32_t output(const Shape& dims) { return tensor(dims, Lifetime::SUBGRAPH_OUTPUT); }
  uint32_t constant(const Shape& dims) {
    std::vector<float> values(*knownElementCount(dims));
    for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(engine_);
    return floats(dims, values);
  }
  uint32_t floats(const Shape& dims, const std::vector<float>& values) {
    const uint32_t index = tensor(dims, Lifetime::CONSTANT_COPY);
    model_.main.operands[index].location =
        appendConstant(model_, values.data(), values.size() * sizeof(float));
    return index;
  }
  template <typename T>
  uint32_t scalar(OperandType type, T value) {
    Operand operand;
    operand.type = type;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = appendConstant(model_, &value, sizeof value);
    return add(operand);
  }
  uint32_t int32(int32_t value) { return scalar(OperandType::INT32, value); }
  uint32_t floatScalar(float value) { return scalar(OperandType::FLOAT32, value); }
  uint32_t boolean(bool value) { return scalar(OperandType::BOOL, static_cast<uint8_t>(value)); }
  uint32_t int32s(const Shape& dims, const std::vector<int32_t>& values) {
    Operand operand;
    operand.type = OperandType::TENSOR_INT32;
    operand.dimensions = dims;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = appendConstant(model_, values.data(), values.size() * sizeof(int32_t));
    return add(operand);
  }
  uint32_t bytes(OperandType type, const Shape& dims, float scale, int32_t zeroPoint,
                 const std::vector<uint8_t>& values) {
    const uint32_t index = quantized(type, dims, scale, zeroPoint, Lifetime::CONSTANT_COPY);
    model_.main.operands[index].location = appendConstant(model_, values.data(), values.size());
    return index;
  }
  // Signed bytes with a scale for each element of the first dimension.
  uint32_t bytesByChannel(const Shape& dims, std::vector<float> scales,
                          const std::vector<uint8_t>& values) {
    const uint32_t index = bytes(OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, dims, 0, 0, values);
    model_.main.operands[index].extraParams = SymmPerChannelQuantParams{std::move(scales), 0};
    return index;
  }
  // An optional input that is left out.
  uint32_t omitted() { return tensor({0, 0}, Lifetime::NO_VALUE); }
  void operation(OperationType type, const std::vector<uint32_t>& inputs,
                 const std::vector<uint32_t>& outputs) {
    model_.main.operations.push_back({type, inputs, outputs});
  }
  std::shared_ptr<const Model> take() { return std::make_shared<const Model>(std::move(model_)); }

 private:
  uint32_t add(const Operand& operand) {
    model_.main.operands.push_back(operand);
    return static_cast<uint32_t>(model_.main.operands.size() - 1);
  }

  Model model_;
  std::mt19937 engine_{5};
};

// The model with its constants of 100 bytes or more in the file `fd`, behind each other from
// `begin` on. The file could become shorter, so the driver reads them when a kernel needs them.
inline std::shared_ptr<const Model> inFile(const Model& model, int fd, uint32_t begin = 0) {
  Model moved = model;
  uint32_t end = begin;
  for (Operand& operand : moved.main.operands) {
    if (operand.lifetime != Lifetime::CONSTANT_COPY || operand.location.length < 100) continue;
    const DataLocation from = operand.location;
    EXPECT_EQ(::pwrite(fd, model.operandValues.data() + from.offset, from.length, end),
              static_cast<ssize_t>(from.length));
    operand.lifetime = Lifetime::CONSTANT_REFERENCE;
    operand.location = {0, end, from.length};
    end += (from.length + 3) / 4 * 4;
  }
  EXPECT_EQ(::ftruncate(fd, end), 0);
  moved.pools = {SharedMemory::ofConstants(*SharedMemory::fromFd(end, PROT_READ, fd, 0).value())};
  return std::make_shared<const Model>(std::move(moved));
}

// A file without a name.
class TemporaryFile {
 public:
  TemporaryFile() : file_(std::tmpfile()) {}
  ~TemporaryFile() { std::fclose(file_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  int fd() const { return ::fileno(file_); }

 private:
  std::FILE* const file_;
};

}  // namespace halyard::cpudriver::testing
