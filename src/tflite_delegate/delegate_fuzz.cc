// libFuzzer target: graphs of random nodes and tensors under the delegate.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdlib>

#include "tflite_delegate/delegate.h"
#include "tflite_delegate/testing/host.h"

namespace halyard::tflite {
namespace {

constexpr size_t kMostTensors = 8;
constexpr size_t kMostNodes = 4;
constexpr size_t kConstantBytes = 4096;
constexpr size_t kMostOutput = size_t{1} << 20;
constexpr int32_t kOperators = 210;
// Their options have an address, which the interpreter has made.
constexpr int32_t kBucketize = 147;
constexpr int32_t kComposite = 206;
// At least as long as the longest options, those of STABLEHLO_REDUCE_WINDOW.
constexpr size_t kOptionBytes = 400;

LiteDelegate* theDelegate() {
  DelegateOptions options;
  options.devices = {"nnapi-reference"};
  options.claimsAll = true;
  Result<LiteDelegate*> made = createDelegate(options);
  if (!made.ok()) std::abort();
  return *made;
}

int32_t addTensor(FuzzedDataProvider& from, testing::Host& host, const uint8_t* constants) {
  const auto type = static_cast<LiteType>(from.ConsumeIntegralInRange(1, 18));
  std::vector<int32_t> dims(from.ConsumeIntegralInRange<size_t>(0, 4));
  for (int32_t& dimension : dims) dimension = from.ConsumeIntegralInRange(0, 5);
  const bool isConstant = from.ConsumeBool();
  const int32_t tensor =
      isConstant ? host.constant(type, dims, constants) : host.tensor(type, dims);
  if (from.ConsumeBool()) {
    host.quantize(tensor, from.ConsumeFloatingPointInRange(0.0f, 2.0f),
                  from.ConsumeIntegralInRange(-200, 300));
  }
  host.tensorAt(tensor).isVariable = !isConstant && from.ConsumeBool();
  return tensor;
}

std::vector<int32_t> someTensors(FuzzedDataProvider& from, size_t tensors, int32_t least) {
  std::vector<int32_t> list(from.ConsumeIntegralInRange<size_t>(0, 6));
  for (int32_t& tensor : list) {
    tensor = from.ConsumeIntegralInRange(least, static_cast<int32_t>(tensors) - 1);
  }
  return list;
}

void run(FuzzedDataProvider& from) {
  static LiteDelegate* const delegate = theDelegate();
  alignas(64) uint8_t constants[kConstantBytes] = {};
  testing::Host host;
  const size_t tensors = from.ConsumeIntegralInRange<size_t>(1, kMostTensors);
  for (size_t i = 0; i < tensors; ++i) addTensor(from, host, constants);
  const size_t nodes = from.ConsumeIntegralInRange<size_t>(1, kMostNodes);
  for (size_t i = 0; i < nodes; ++i) {
    struct Options {
      uint8_t bytes[kOptionBytes] = {};
    } options;
    int32_t code = from.ConsumeIntegralInRange(0, kOperators - 1);
    if (code == kBucketize || code == kComposite) code = 0;
    from.ConsumeData(options.bytes, sizeof(options.bytes));
    const std::vector<int32_t> inputs = someTensors(from, tensors, kOmittedTensor);
    host.node(code, inputs, someTensors(from, tensors, 0), options);
  }
  const std::vector<uint8_t> values = from.ConsumeRemainingBytes<uint8_t>();
  std::copy_n(values.begin(), std::min(values.size(), kConstantBytes), constants);
  if (host.apply(delegate) != LiteStatus::OK) return;
  if (host.allocate() != LiteStatus::OK) return;
  for (size_t i = 0; i < tensors; ++i) {
    if (host.tensorAt(static_cast<int32_t>(i)).bytes > kMostOutput) return;
  }
  (void)host.invoke();
}

}  // namespace
}  // namespace halyard::tflite

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider from(data, size);
  halyard::tflite::run(from);
  return 0;
}
