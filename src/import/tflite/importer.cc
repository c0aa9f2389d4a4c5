// Converts a .tflite file to a model: check, convert node by node, validate.
#include "import/tflite/importer.h"

#include <algorithm>

#include "import/tflite/converters.h"
#include "import/tflite/graph_builder.h"
#include "import/tflite/model_file.h"
#include "import/tflite/verified_file.h"

namespace halyard::import {

const Converter* converterOf(tfl::BuiltinOperator op) {
  for (const auto& table :
       {complexConverters(), controlFlowConverters(), convolutionConverters(),
        detectionConverters(), elementwiseConverters(), generatedConverters(), mathConverters(),
        movementConverters(), pickingConverters(), quantizationConverters(), recurrentConverters(),
        reductionConverters(), rnnConverters(), scatterConverters(), shapeConverters(),
        spatialConverters(), stablehloConverters(), variableConverters(), volumeConverters()}) {
    const auto found =
        std::find_if(table.begin(), table.end(), [op](const Converter& c) { return c.op == op; });
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

const CustomConverter* customConverterOf(std::string_view name) {
  static constexpr CustomConverter kConverters[] = {
      {"TFLite_Detection_PostProcess", convertDetectionPostprocess},
      {"Convolution2DTransposeBias", convertTransposeConvBias},
  };
  const auto* const found =
      std::find_if(std::begin(kConverters), std::end(kConverters),
                   [name](const CustomConverter& c) { return c.name == name; });
  return found == std::end(kConverters) ? nullptr : found;
}

namespace {

// Returns the converters of the file's operator codes; null for an unsupported operator.
std::vector<const Converter*> convertersOf(const VerifiedFile& file) {
  std::vector<const Converter*> converters;
  for (size_t i = 0; i < file.operatorCodeCount(); ++i) {
    converters.push_back(converterOf(file.operatorCode(i)));
  }
  return converters;
}

// Returns the number that errors give node `i` of the builder's subgraph.
int64_t nodeNumberOf(size_t i, const GraphBuilder& builder) {
  const std::span<const int32_t> numbers = builder.options().nodeNumbers;
  if (builder.file().number() != 0 || i >= numbers.size()) return static_cast<int64_t>(i);
  return numbers[i];
}

// The check of the operators comes first. An error then names the unsupported operator, and not a
// tensor that only this operator reads.
Status checkOperators(const GraphBuilder& builder, std::span<const Converter* const> converters) {
  const VerifiedFile& file = builder.file();
  for (size_t i = 0; i < file.operatorCount(); ++i) {
    if (converters[file.op(i).code] != nullptr) continue;
    if (file.builtin(i) == tfl::BuiltinOperator::CUSTOM) {
      if (customConverterOf(file.customName(i)) != nullptr) continue;
      return badData("operator {} of node {} is not supported: no such custom operator is known",
                     file.operatorName(i), nodeNumberOf(i, builder));
    }
    return badData(
        "operator {} of node {} is not supported: the importer has no conversion to NNAPI for it",
        file.operatorName(i), nodeNumberOf(i, builder));
  }
  return okStatus();
}

// `known`: null for a custom operator.
Status convertNode(GraphBuilder& builder, size_t index, const Converter* known) {
  if (known == nullptr) {
    Node node(builder, index, kTakesPlain);
    return customConverterOf(builder.file().customName(index))->convert(node);
  }
  const Converter& converter = *known;
  Node node(builder, index, converter.takes);
  const tfl::BuiltinOptions found = node.op().optionsType;
  const bool present = static_cast<bool>(node.op().options);
  if (present && found != converter.options) {
    const char* name = tfl::EnumNameBuiltinOptions(converter.options);
    return badData("has options of kind {} ({}), expected {}", static_cast<int>(found),
                   tfl::EnumNameBuiltinOptions(found), name);
  }
  if (!present && converter.need == OptionsNeed::REQUIRED) {
    return badData("has no options, expected {}", tfl::EnumNameBuiltinOptions(converter.options));
  }
  HALYARD_RETURN_IF_ERROR(node.loadOptions());
  HALYARD_RETURN_IF_ERROR(converter.convert(node));
  return node.finish();
}

// Converts the two kinds of converters' errors to one.
Status withNode(Status status, const GraphBuilder& builder, size_t i) {
  const VerifiedFile& file = builder.file();
  const int64_t node = nodeNumberOf(i, builder);
  if (status.code() == ResultCode::OP_FAILED) {
    status.annotate(
        fmt::format("operator {} of node {} is not supported", file.operatorName(i), node));
    return status.withCode(ResultCode::BAD_DATA);
  }
  status.annotate(fmt::format("operator {} of node {}", file.operatorName(i), node));
  return status;
}

Status asBadData(Status status) {
  return status.code() == ResultCode::OP_FAILED ? status.withCode(ResultCode::BAD_DATA) : status;
}

Status convertNodes(GraphBuilder& builder, std::span<const Converter* const> converters) {
  const VerifiedFile& file = builder.file();
  for (size_t i = 0; i < file.operatorCount(); ++i) {
    Status status = convertNode(builder, i, converters[file.op(i).code]);
    if (!status.ok()) return withNode(std::move(status), builder, i);
  }
  return okStatus();
}

}  // namespace

Status convertGraph(GraphBuilder& builder) {
  const std::vector<const Converter*> converters = convertersOf(builder.file());
  HALYARD_RETURN_IF_ERROR(checkOperators(builder, converters));
  return convertNodes(builder, converters);
}

Result<ImportedModel> importTflite(ModelFile& bytes, const ImportOptions& options) {
  Result<VerifiedFile> file = VerifiedFile::create(bytes);
  if (!file.ok()) return asBadData(file.takeStatus());
  if (options.calleesBegin) {
    HALYARD_ASSIGN_OR_RETURN(VerifiedFile callees,
                             VerifiedFile::create(bytes, *options.calleesBegin),
                             "the model with the further subgraphs");
    file->setCallees(std::make_shared<const VerifiedFile>(std::move(callees)));
  }
  GraphBuilder builder(*file, options);
  const std::vector<const Converter*> converters = convertersOf(*file);
  HALYARD_RETURN_IF_ERROR(checkOperators(builder, converters));
  HALYARD_RETURN_IF_ERROR(asBadData(builder.beginGraph()));
  HALYARD_RETURN_IF_ERROR(convertNodes(builder, converters));
  Result<ImportedModel> result = builder.finish();
  if (!result.ok()) return asBadData(result.takeStatus());
  return result;
}

Result<ImportedModel> importTflite(std::span<const uint8_t> bytes, const ImportOptions& options) {
  ModelFile file = ModelFile::ofMemory(bytes);
  return importTflite(file, options);
}

Result<ImportedModel> importTfliteFile(const std::string& path, const ImportOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(ModelFile file, ModelFile::open(path), "{}", path);
  HALYARD_ASSIGN_OR_RETURN(ImportedModel model, importTflite(file, options), "{}", path);
  return model;
}

}  // namespace halyard::import
