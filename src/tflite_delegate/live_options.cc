// optionsOf: one line for each structure of options.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "tflite_delegate/live_node.h"

namespace halyard::tflite {
namespace {

using flatbuffers::FlatBufferBuilder;
using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
using Opt2 = tfl::BuiltinOptions2;

// Reads the members of a structure one after another. All integers have 4 bytes.
class Members {
 public:
  explicit Members(const void* data) : at_(static_cast<const uint8_t*>(data)) {}
  int32_t number() { return next<int32_t>(); }
  float real() { return next<float>(); }
  bool truth() { return next<uint8_t>() != 0; }
  std::vector<int32_t> numbers(size_t count) {
    std::vector<int32_t> values(count);
    for (int32_t& value : values) value = number();
    return values;
  }
  tfl::ActivationFunctionType activation() {
    // Both count none, relu, relu -1 to 1, relu 6, tanh and sign bit from 0 on.
    return static_cast<tfl::ActivationFunctionType>(checked(number(), 0, 5));
  }
  // Numbers of 64 bits.
  std::vector<int64_t> wideNumbers(size_t count) {
    std::vector<int64_t> values(count);
    for (int64_t& value : values) value = next<int64_t>();
    return values;
  }
  // 1 SAME, 2 VALID; the file has them from 0 on.
  tfl::Padding padding() { return static_cast<tfl::Padding>(checked(number(), 1, 2) - 1); }
  tfl::MirrorPadMode mirror() {
    return static_cast<tfl::MirrorPadMode>(checked(number(), 1, 2) - 1);
  }
  // A number from 0 to `most` that means the same in the file.
  template <typename T>
  T oneOf(int32_t most) {
    return static_cast<T>(checked(number(), 0, most));
  }
  template <typename T>
  const T* address() {
    return next<const T*>();
  }
  // Whether all values were those of the format.
  bool isValid() const { return isValid_; }

 private:
  template <typename T>
  T next() {
    at_ = reinterpret_cast<const uint8_t*>((reinterpret_cast<uintptr_t>(at_) + alignof(T) - 1) /
                                           alignof(T) * alignof(T));
    T value;
    std::memcpy(&value, at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  int32_t checked(int32_t value, int32_t least, int32_t most) {
    isValid_ = isValid_ && value >= least && value <= most;
    return std::clamp(value, least, most);
  }

  const uint8_t* at_;
  bool isValid_ = true;
};

// Makes a writer that calls one of the generated functions with these arguments.
template <auto kCreate, typename... Args>
OptionsWriter writer(Args... args) {
  return [=](FlatBufferBuilder& to) { return kCreate(to, args...).Union(); };
}

using Reader = OptionsWriter (*)(Members& m);

OptionsWriter conv2d(Members& m) {
  const auto padding = m.padding();
  const int32_t strideW = m.number();
  const int32_t strideH = m.number();
  const auto activation = m.activation();
  const int32_t dilationW = m.number();
  const int32_t dilationH = m.number();
  return writer<tfl::CreateConv2DOptions>(padding, strideW, strideH, activation, dilationW,
                                          dilationH);
}

OptionsWriter conv3d(Members& m) {
  const auto padding = m.padding();
  const std::vector<int32_t> strides = m.numbers(3);  // width, height, depth
  const std::vector<int32_t> dilations = m.numbers(3);
  const auto activation = m.activation();
  return writer<tfl::CreateConv3DOptions>(padding, strides[2], strides[0], strides[1], activation,
                                          dilations[2], dilations[0], dilations[1]);
}

OptionsWriter depthwise(Members& m) {
  const auto padding = m.padding();
  const int32_t strideW = m.number();
  const int32_t strideH = m.number();
  const int32_t multiplier = m.number();
  const auto activation = m.activation();
  const int32_t dilationW = m.number();
  const int32_t dilationH = m.number();
  return writer<tfl::CreateDepthwiseConv2DOptions>(padding, strideW, strideH, multiplier,
                                                   activation, dilationW, dilationH);
}

OptionsWriter pool(Members& m) {
  const auto padding = m.padding();
  const int32_t strideW = m.number();
  const int32_t strideH = m.number();
  const int32_t filterW = m.number();
  const int32_t filterH = m.number();
  const auto activation = m.activation();
  return writer<tfl::CreatePool2DOptions>(padding, strideW, strideH, filterW, filterH, activation);
}

OptionsWriter fullyConnected(Members& m) {
  const auto activation = m.activation();
  const auto weights = m.oneOf<tfl::FullyConnectedOptionsWeightsFormat>(1);
  const bool keepsDims = m.truth();
  return writer<tfl::CreateFullyConnectedOptions>(activation, weights, keepsDims);
}

OptionsWriter transposeConv(Members& m) {
  const auto padding = m.padding();
  const int32_t strideW = m.number();
  const int32_t strideH = m.number();
  const auto activation = m.activation();
  return writer<tfl::CreateTransposeConvOptions>(padding, strideW, strideH, activation);
}

OptionsWriter concatenation(Members& m) {
  const int32_t axis = m.number();
  const auto activation = m.activation();
  return writer<tfl::CreateConcatenationOptions>(axis, activation);
}

// The structures of one activation.
template <auto kCreate>
OptionsWriter activated(Members& m) {
  return writer<kCreate>(m.activation());
}
template <auto kCreate>
OptionsWriter oneNumber(Members& m) {
  return writer<kCreate>(m.number());
}
template <auto kCreate>
OptionsWriter twoNumbers(Members& m) {
  const int32_t first = m.number();
  return writer<kCreate>(first, m.number());
}
template <auto kCreate>
OptionsWriter oneReal(Members& m) {
  return writer<kCreate>(m.real());
}
template <auto kCreate>
OptionsWriter oneTruth(Members& m) {
  return writer<kCreate>(m.truth());
}
template <auto kCreate>
OptionsWriter twoTruths(Members& m) {
  const bool first = m.truth();
  return writer<kCreate>(first, m.truth());
}

// A list of up to 8 numbers, followed by its length.
std::vector<int32_t> list(Members& m) {
  std::vector<int32_t> values = m.numbers(8);
  values.resize(static_cast<size_t>(std::clamp(m.number(), 0, 8)));
  return values;
}

std::vector<int64_t> wideList(Members& m) {
  std::vector<int64_t> values = m.wideNumbers(8);
  values.resize(static_cast<size_t>(std::clamp(m.number(), 0, 8)));
  return values;
}

// The lists have no length: the importer takes as many numbers as there are dimensions.
OptionsWriter stablehloPad(Members& m) {
  const std::vector<int64_t> low = m.wideNumbers(8);
  const std::vector<int64_t> high = m.wideNumbers(8);
  const std::vector<int64_t> interior = m.wideNumbers(8);
  return [=](FlatBufferBuilder& to) {
    return tfl::CreateStablehloPadOptionsDirect(to, &low, &high, &interior).Union();
  };
}

OptionsWriter stablehloReduceWindow(Members& m) {
  const std::vector<int64_t> window = m.wideNumbers(8);
  const std::vector<int64_t> strides = m.wideNumbers(8);
  const std::vector<int64_t> baseDilations = m.wideNumbers(8);
  const std::vector<int64_t> dilations = m.wideNumbers(8);
  const std::vector<int64_t> padding = m.wideNumbers(16);
  return [=, body = m.number()](FlatBufferBuilder& to) {
    return tfl::CreateStablehloReduceWindowOptionsDirect(to, &window, &strides, &baseDilations,
                                                         &dilations, &padding, body)
        .Union();
  };
}

OptionsWriter stablehloGather(Members& m) {
  const std::vector<int64_t> offsets = wideList(m);
  const std::vector<int64_t> collapsed = wideList(m);
  const std::vector<int64_t> indexMap = wideList(m);
  const int64_t vectorDim = m.wideNumbers(1)[0];
  const std::vector<int64_t> sizes = wideList(m);
  return [=](FlatBufferBuilder& to) {
    return tfl::CreateStablehloGatherOptionsDirect(to, &offsets, &collapsed, &indexMap, vectorDim,
                                                   &sizes)
        .Union();
  };
}

OptionsWriter reduceWindow(Members& m) {
  return writer<tfl::CreateReduceWindowOptions>(m.oneOf<tfl::ReduceWindowFunction>(6));
}

OptionsWriter reshape(Members& m) {
  return [shape = list(m)](FlatBufferBuilder& to) {
    return tfl::CreateReshapeOptionsDirect(to, &shape).Union();
  };
}

OptionsWriter squeeze(Members& m) {
  return [dims = list(m)](FlatBufferBuilder& to) {
    return tfl::CreateSqueezeOptionsDirect(to, &dims).Union();
  };
}

OptionsWriter stridedSlice(Members& m) {
  const std::vector<int32_t> masks = m.numbers(5);
  const bool offset = m.truth();
  return [masks, offset](FlatBufferBuilder& to) {
    return tfl::CreateStridedSliceOptions(to, masks[0], masks[1], masks[2], masks[3], masks[4],
                                          offset)
        .Union();
  };
}

OptionsWriter responseNormalization(Members& m) {
  const int32_t radius = m.number();
  const float bias = m.real();
  const float alpha = m.real();
  const float beta = m.real();
  return writer<tfl::CreateLocalResponseNormalizationOptions>(radius, bias, alpha, beta);
}

OptionsWriter sequenceLstm(Members& m) {
  const auto activation = m.activation();
  const float cellClip = m.real();
  const float projectionClip = m.real();
  const bool timeMajor = m.truth();
  const bool asymmetric = m.truth();
  const bool diagonal = m.truth();
  return writer<tfl::CreateUnidirectionalSequenceLSTMOptions>(activation, cellClip, projectionClip,
                                                              timeMajor, asymmetric, diagonal);
}

OptionsWriter reverseSequence(Members& m) {
  const int32_t sequence = m.number();
  return writer<tfl::CreateReverseSequenceOptions>(sequence, m.number());
}

OptionsWriter fakeQuant(Members& m) {
  const float least = m.real();
  const float most = m.real();
  const int32_t bits = m.number();
  return writer<tfl::CreateFakeQuantOptions>(least, most, bits, m.truth());
}

OptionsWriter bucketize(Members& m) {
  const auto count = static_cast<size_t>(std::clamp(m.number(), 0, 1 << 20));
  const auto* const values = m.address<float>();
  std::vector<float> boundaries;
  if (values != nullptr) boundaries.assign(values, values + count);
  return [boundaries](FlatBufferBuilder& to) {
    return tfl::CreateBucketizeOptionsDirect(to, &boundaries).Union();
  };
}

OptionsWriter projection(Members& m) {
  return writer<tfl::CreateLSHProjectionOptions>(m.oneOf<tfl::LSHProjectionType>(2));
}

OptionsWriter svdf(Members& m) {
  const int32_t rank = m.number();
  return writer<tfl::CreateSVDFOptions>(rank, m.activation());
}

OptionsWriter sequenceRnn(Members& m) {
  const bool timeMajor = m.truth();
  return writer<tfl::CreateSequenceRNNOptions>(timeMajor, m.activation());
}

OptionsWriter bidirectionalRnn(Members& m) {
  const bool timeMajor = m.truth();
  const auto activation = m.activation();
  return writer<tfl::CreateBidirectionalSequenceRNNOptions>(timeMajor, activation, m.truth());
}

OptionsWriter lstm(Members& m) {
  const auto activation = m.activation();
  const float cellClip = m.real();
  const float projectionClip = m.real();
  return writer<tfl::CreateLSTMOptions>(activation, cellClip, projectionClip,
                                        m.oneOf<tfl::LSTMKernelType>(1));
}

OptionsWriter bidirectionalLstm(Members& m) {
  const auto activation = m.activation();
  const float cellClip = m.real();
  const float projectionClip = m.real();
  const bool merges = m.truth();
  return writer<tfl::CreateBidirectionalSequenceLSTMOptions>(activation, cellClip, projectionClip,
                                                             merges, m.truth());
}

constexpr int32_t kMostBranches = 20;  // the length of the list in the structure

std::vector<int32_t> branchesOf(Members& m) {
  std::vector<int32_t> branches = m.numbers(kMostBranches);
  branches.resize(m.oneOf<size_t>(kMostBranches));
  return branches;
}

OptionsWriter choice(Members& m) {
  return [branches = branchesOf(m)](FlatBufferBuilder& to) {
    return tfl::CreateStablehloCaseOptionsDirect(to, &branches).Union();
  };
}

OptionsWriter composite(Members& m) {
  const char* const text = m.address<char>();
  const std::string name = text != nullptr ? text : "";
  return [name, graph = m.number()](FlatBufferBuilder& to) {
    return tfl::CreateStableHLOCompositeOptionsDirect(to, name.c_str(), graph).Union();
  };
}

struct Entry {
  Op op;
  Opt type;
  Reader read;
  Opt2 type2 = Opt2::NONE;
};

constexpr Entry kEntries[] = {
    {Op::ADD, Opt::AddOptions, activated<tfl::CreateAddOptions>},
    {Op::AVERAGE_POOL_2D, Opt::Pool2DOptions, pool},
    {Op::BATCH_MATMUL, Opt::BatchMatMulOptions, twoTruths<tfl::CreateBatchMatMulOptions>},
    {Op::BIDIRECTIONAL_SEQUENCE_LSTM, Opt::BidirectionalSequenceLSTMOptions, bidirectionalLstm},
    {Op::BIDIRECTIONAL_SEQUENCE_RNN, Opt::BidirectionalSequenceRNNOptions, bidirectionalRnn},
    {Op::BUCKETIZE, Opt::BucketizeOptions, bucketize},
    {Op::CALL_ONCE, Opt::CallOnceOptions, oneNumber<tfl::CreateCallOnceOptions>},
    {Op::CONCATENATION, Opt::ConcatenationOptions, concatenation},
    {Op::CONV_2D, Opt::Conv2DOptions, conv2d},
    {Op::CONV_3D, Opt::Conv3DOptions, conv3d},
    {Op::CONV_3D_TRANSPOSE, Opt::Conv3DOptions, conv3d},
    {Op::CUMSUM, Opt::CumsumOptions, twoTruths<tfl::CreateCumsumOptions>},
    {Op::DEPTHWISE_CONV_2D, Opt::DepthwiseConv2DOptions, depthwise},
    {Op::DEPTH_TO_SPACE, Opt::DepthToSpaceOptions, oneNumber<tfl::CreateDepthToSpaceOptions>},
    {Op::DIV, Opt::DivOptions, activated<tfl::CreateDivOptions>},
    {Op::FAKE_QUANT, Opt::FakeQuantOptions, fakeQuant},
    {Op::FULLY_CONNECTED, Opt::FullyConnectedOptions, fullyConnected},
    {Op::GATHER, Opt::GatherOptions, twoNumbers<tfl::CreateGatherOptions>},
    {Op::GELU, Opt::GeluOptions, oneTruth<tfl::CreateGeluOptions>},
    {Op::IF, Opt::IfOptions, twoNumbers<tfl::CreateIfOptions>},
    {Op::L2_NORMALIZATION, Opt::L2NormOptions, activated<tfl::CreateL2NormOptions>},
    {Op::L2_POOL_2D, Opt::Pool2DOptions, pool},
    {Op::LEAKY_RELU, Opt::LeakyReluOptions, oneReal<tfl::CreateLeakyReluOptions>},
    {Op::LOCAL_RESPONSE_NORMALIZATION, Opt::LocalResponseNormalizationOptions,
     responseNormalization},
    {Op::LSH_PROJECTION, Opt::LSHProjectionOptions, projection},
    {Op::LSTM, Opt::LSTMOptions, lstm},
    {Op::MAX_POOL_2D, Opt::Pool2DOptions, pool},
    {Op::MEAN, Opt::ReducerOptions, oneTruth<tfl::CreateReducerOptions>},
    {Op::MIRROR_PAD, Opt::MirrorPadOptions,
     [](Members& m) { return writer<tfl::CreateMirrorPadOptions>(m.mirror()); }},
    {Op::MUL, Opt::MulOptions, activated<tfl::CreateMulOptions>},
    {Op::ONE_HOT, Opt::OneHotOptions, oneNumber<tfl::CreateOneHotOptions>},
    {Op::PACK, Opt::PackOptions, twoNumbers<tfl::CreatePackOptions>},
    {Op::REDUCE_ANY, Opt::ReducerOptions, oneTruth<tfl::CreateReducerOptions>},
    {Op::REDUCE_WINDOW, Opt::NONE, reduceWindow, Opt2::ReduceWindowOptions},
    {Op::REDUCE_MAX, Opt::ReducerOptions, oneTruth<tfl::CreateReducerOptions>},
    {Op::REDUCE_MIN, Opt::ReducerOptions, oneTruth<tfl::CreateReducerOptions>},
    {Op::REDUCE_PROD, Opt::ReducerOptions, oneTruth<tfl::CreateReducerOptions>},
    {Op::REDUCE_ALL, Opt::ReducerOptions, oneTruth<tfl::CreateReducerOptions>},
    {Op::RESHAPE, Opt::ReshapeOptions, reshape},
    {Op::RESIZE_BILINEAR, Opt::ResizeBilinearOptions, twoTruths<tfl::CreateResizeBilinearOptions>},
    {Op::RESIZE_NEAREST_NEIGHBOR, Opt::ResizeNearestNeighborOptions,
     twoTruths<tfl::CreateResizeNearestNeighborOptions>},
    {Op::REVERSE_SEQUENCE, Opt::ReverseSequenceOptions, reverseSequence},
    {Op::RNN, Opt::RNNOptions, activated<tfl::CreateRNNOptions>},
    {Op::SOFTMAX, Opt::SoftmaxOptions, oneReal<tfl::CreateSoftmaxOptions>},
    {Op::SPACE_TO_DEPTH, Opt::SpaceToDepthOptions, oneNumber<tfl::CreateSpaceToDepthOptions>},
    {Op::SPLIT, Opt::SplitOptions, oneNumber<tfl::CreateSplitOptions>},
    {Op::SPLIT_V, Opt::SplitVOptions, oneNumber<tfl::CreateSplitVOptions>},
    {Op::SQUEEZE, Opt::SqueezeOptions, squeeze},
    {Op::STABLEHLO_CASE, Opt::NONE, choice, Opt2::StablehloCaseOptions},
    {Op::STABLEHLO_COMPOSITE, Opt::NONE, composite, Opt2::StableHLOCompositeOptions},
    {Op::STABLEHLO_GATHER, Opt::NONE, stablehloGather, Opt2::StablehloGatherOptions},
    {Op::STABLEHLO_REDUCE_WINDOW, Opt::NONE, stablehloReduceWindow,
     Opt2::StablehloReduceWindowOptions},
    {Op::STABLEHLO_PAD, Opt::NONE, stablehloPad, Opt2::StablehloPadOptions},
    {Op::STRIDED_SLICE, Opt::StridedSliceOptions, stridedSlice},
    {Op::SUB, Opt::SubOptions, activated<tfl::CreateSubOptions>},
    {Op::SUM, Opt::ReducerOptions, oneTruth<tfl::CreateReducerOptions>},
    {Op::SVDF, Opt::SVDFOptions, svdf},
    {Op::TRANSPOSE_CONV, Opt::TransposeConvOptions, transposeConv},
    {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, Opt::UnidirectionalSequenceLSTMOptions, sequenceLstm},
    {Op::UNIDIRECTIONAL_SEQUENCE_RNN, Opt::SequenceRNNOptions, sequenceRnn},
    {Op::UNPACK, Opt::UnpackOptions, twoNumbers<tfl::CreateUnpackOptions>},
    {Op::WHILE, Opt::WhileOptions, twoNumbers<tfl::CreateWhileOptions>},
};

const Entry* entryOf(int32_t code) {
  const auto found = std::ranges::find(kEntries, static_cast<Op>(code), &Entry::op);
  return found == std::end(kEntries) ? nullptr : found;
}

}  // namespace

std::vector<int32_t> calleesOf(int32_t builtinCode, const void* data) {
  Members members(data);
  switch (static_cast<Op>(builtinCode)) {
    case Op::IF:
    case Op::WHILE:
      return members.numbers(2);
    case Op::STABLEHLO_CASE:
      return branchesOf(members);
    case Op::STABLEHLO_COMPOSITE:
      members.address<char>();
      return members.numbers(1);
    case Op::STABLEHLO_REDUCE_WINDOW:
      members.wideNumbers(48);  // its lists
      return members.numbers(1);
    default:
      return {};
  }
}

bool hasLiveOptions(int32_t builtinCode) { return entryOf(builtinCode) != nullptr; }

Result<LiveOptions> optionsOf(int32_t builtinCode, const void* data) {
  const Entry* const entry = entryOf(builtinCode);
  if (entry == nullptr) return LiveOptions();
  if (data == nullptr) return badData("the interpreter has no options for it");
  Members members(data);
  LiveOptions options{entry->type, entry->type2, entry->read(members)};
  if (!members.isValid()) return badData("the interpreter has options that the format has not");
  return options;
}

}  // namespace halyard::tflite
