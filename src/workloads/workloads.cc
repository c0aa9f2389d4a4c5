#include "workloads/workloads.h"

namespace halyard::workloads {
namespace {

constexpr Workload kWorkloads[] = {
    {"mobilenet_v1_float", "MobileNet v1, float32", Figure::FLOAT32,
     [] { return mobileNetV1(Numbers::FLOAT32); }},
    {"mobilenet_v2_float", "MobileNet v2, float32", Figure::FLOAT32,
     [] { return mobileNetV2(Numbers::FLOAT32); }},
    {"lstm_acoustic_float", "LSTM acoustic model, float32", Figure::FLOAT32,
     [] { return acousticLstm(Numbers::FLOAT32); }},
    {"mobilenet_v1_relaxed", "MobileNet v1, float32 that may be float16", Figure::RELAXED,
     [] { return mobileNetV1(Numbers::RELAXED); }},
    {"mobilenet_v2_relaxed", "MobileNet v2, float32 that may be float16", Figure::RELAXED,
     [] { return mobileNetV2(Numbers::RELAXED); }},
    {"lstm_acoustic_relaxed", "LSTM acoustic model, float32 that may be float16", Figure::RELAXED,
     [] { return acousticLstm(Numbers::RELAXED); }},
    {"mobilenet_v1_float16", "MobileNet v1, float16", Figure::FLOAT16,
     [] { return mobileNetV1(Numbers::FLOAT16); }},
    {"mobilenet_v2_float16", "MobileNet v2, float16", Figure::FLOAT16,
     [] { return mobileNetV2(Numbers::FLOAT16); }},
    {"mobilenet_v1_uint8", "MobileNet v1, unsigned 8 bits", Figure::QUANT8,
     [] { return mobileNetV1(Numbers::QUANT8); }},
    {"mobilenet_v2_uint8", "MobileNet v2, unsigned 8 bits", Figure::QUANT8,
     [] { return mobileNetV2(Numbers::QUANT8); }},
    {"mobilenet_v1_int8", "MobileNet v1, signed 8 bits, a scale for each channel",
     Figure::QUANT8_SIGNED, [] { return mobileNetV1(Numbers::PER_CHANNEL); }},
    {"mobilenet_v2_int8", "MobileNet v2, signed 8 bits, a scale for each channel",
     Figure::QUANT8_SIGNED, [] { return mobileNetV2(Numbers::PER_CHANNEL); }},
    {"lstm_quant16", "LSTM of 8 bits with states of 16", Figure::QUANT16, quantizedLstm},
    {"branches", "50 IFs around a sum", Figure::BRANCH, branches},
    {"loop", "200 turns of WHILE around a sum", Figure::LOOP, loop},
};

}  // namespace

std::span<const Workload> referenceWorkloads() { return kWorkloads; }

const Workload* findWorkload(std::string_view name) {
  for (const Workload& workload : kWorkloads) {
    if (workload.name == name) return &workload;
  }
  return nullptr;
}

}  // namespace halyard::workloads
