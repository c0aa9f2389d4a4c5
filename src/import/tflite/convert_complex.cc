// Converts operators on complex numbers, which kTfliteExtension represents as pairs of floats.
#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

using enum OperationType;

Status convertRfft2d(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  if (to.type != tfl::TensorType::COMPLEX64) {
    return badData("the output ({}) is {}, expected COMPLEX64", to.text(), tensorTypeName(to.type));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t length, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(RFFT2D, {x, length}, {y});
}

// Computes one real number for each complex number.
template <OperationType kType>
Status convertPart(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor from, node.inputInfo(0));
  if (from.type != tfl::TensorType::COMPLEX64) {
    return unsupported("{} is {}, expected COMPLEX64", from.text(), tensorTypeName(from.type));
  }
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  if (to.type != tfl::TensorType::FLOAT32) {
    return badData("the output ({}) is {}, expected FLOAT32", to.text(), tensorTypeName(to.type));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(kType, {x}, {y});
}

}  // namespace

Status castComplex(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor from, node.inputInfo(0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  if (from.type == tfl::TensorType::COMPLEX64 && to.type == tfl::TensorType::FLOAT32) {
    return convertPart<REAL>(node);
  }
  return unsupported("of {} to {}", tensorTypeName(from.type), tensorTypeName(to.type));
}

namespace {

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;
constexpr Takes kComplexTakes = kTakesComplex | kTakesOpenRank;

constexpr Converter kComplexConverters[] = {
    {Op::RFFT2D, Opt::Rfft2dOptions, OptionsNeed::OPTIONAL, convertRfft2d, kComplexTakes},
    {Op::COMPLEX_ABS, Opt::NONE, OptionsNeed::OPTIONAL, convertPart<COMPLEX_ABS>, kComplexTakes},
    {Op::REAL, Opt::NONE, OptionsNeed::OPTIONAL, convertPart<REAL>, kComplexTakes},
    {Op::IMAG, Opt::NONE, OptionsNeed::OPTIONAL, convertPart<IMAG>, kComplexTakes},
};

}  // namespace

std::span<const Converter> complexConverters() { return kComplexConverters; }

}  // namespace halyard::import
