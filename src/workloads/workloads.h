// Models with random weights, for measurements of the speed of devices. They have the architectures
// on which the performance figures of NNAPI drivers are based.
// Thread safety: pure functions. Ownership: the caller shares the models.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "halyard/driver/model.h"

namespace halyard::workloads {

// The types of the tensors of a network.
enum class Numbers : uint8_t {
  FLOAT32,
  RELAXED,  // float32, may be computed in float16
  FLOAT16,
  QUANT8,         // TENSOR_QUANT8_ASYMM, also for filters
  QUANT8_SIGNED,  // TENSOR_QUANT8_ASYMM_SIGNED, also for filters
  PER_CHANNEL,    // TENSOR_QUANT8_ASYMM_SIGNED, filters TENSOR_QUANT8_SYMM_PER_CHANNEL
};

// Howard et al., MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
// Applications, 2017, table 1. Full width, for 224 x 224 pixels.
std::shared_ptr<const Model> mobileNetV1(Numbers numbers);
// Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks, 2018, table 2.
std::shared_ptr<const Model> mobileNetV2(Numbers numbers);
// An acoustic model for speech recognition: layers of LSTM over a sequence of frames. FLOAT32,
// RELAXED or FLOAT16.
std::shared_ptr<const Model> acousticLstm(Numbers numbers);
// Steps of an LSTM whose states have 16 bits (QUANTIZED_16BIT_LSTM).
std::shared_ptr<const Model> quantizedLstm();
// Many branches, and many iterations of a loop, with almost no computation. They measure the cost
// of control flow.
std::shared_ptr<const Model> branches();
std::shared_ptr<const Model> loop();

// The performance figure of a device that a workload measures.
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
  std::string_view what;  // a description for people
  Figure figure;
  std::shared_ptr<const Model> (*make)();
};
std::span<const Workload> referenceWorkloads();
// nullptr if no workload has that name.
const Workload* findWorkload(std::string_view name);

}  // namespace halyard::workloads
