// Models with random weights, by which devices are measured: the architectures that NNAPI's figures
// of a driver are made from, where only speed matters. Thread safety: pure functions. Ownership:
// models are the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "halyard/driver/model.h"

namespace halyard::workloads {

// How a network's numbers are kept.
enum class Numbers : uint8_t {
  FLOAT32,
  RELAXED,  // float32 that may be computed in float16
  FLOAT16,
  QUANT8,         // TENSOR_QUANT8_ASYMM, filters too
  QUANT8_SIGNED,  // TENSOR_QUANT8_ASYMM_SIGNED, filters too
  PER_CHANNEL,    // TENSOR_QUANT8_ASYMM_SIGNED, filters TENSOR_QUANT8_SYMM_PER_CHANNEL
};

// Howard et al., MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
// Applications, 2017, table 1: full width, for 224 x 224.
std::shared_ptr<const Model> mobileNetV1(Numbers numbers);
// Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks, 2018, table 2.
std::shared_ptr<const Model> mobileNetV2(Numbers numbers);
// An acoustic model for speech recognition: layers of LSTM over a sequence of frames. FLOAT32,
// RELAXED or FLOAT16.
std::shared_ptr<const Model> acousticLstm(Numbers numbers);
// Steps of an LSTM whose states have 16 bits (QUANTIZED_16BIT_LSTM).
std::shared_ptr<const Model> quantizedLstm();
// Many branches, and many turns of a loop, around next to no work: what control flow itself takes.
std::shared_ptr<const Model> branches();
std::shared_ptr<const Model> loop();

// What a workload says of a device.
enum class Figure : uint8_t {
  FLOAT32,
  RELAXED,
  FLOAT16,
  QUANT8,
  QUANT8_SIGNED,
  QUANT16,
  BRANCH,
  LOOP,
};

struct Workload {
  std::string_view name;
  std::string_view what;  // for people
  Figure figure;
  std::shared_ptr<const Model> (*make)();
};
std::span<const Workload> referenceWorkloads();
// nullptr when there is none of that name.
const Workload* findWorkload(std::string_view name);

}  // namespace halyard::workloads
