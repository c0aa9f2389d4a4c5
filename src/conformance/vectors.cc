// Files of cases, and variants of their models.
#include "conformance/vectors.h"

#include <algorithm>

namespace halyard::conformance {

VectorFile::VectorFile(std::string path, GzipLines lines)
    : path_(std::move(path)), lines_(std::move(lines)) {}

Result<VectorFile> VectorFile::open(const std::string& path) {
  HALYARD_ASSIGN_OR_RETURN(GzipLines lines, GzipLines::open(path));
  return VectorFile(path, std::move(lines));
}

Result<std::optional<VectorLine>> VectorFile::nextLine() {
  for (;;) {
    HALYARD_ASSIGN_OR_RETURN(std::optional<std::string> line, lines_.next(), "{}", path_);
    if (!line) return std::optional<VectorLine>();
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    return std::optional<VectorLine>({std::move(*line), lines_.lineNumber()});
  }
}

Result<std::optional<VectorCase>> VectorFile::next() {
  HALYARD_ASSIGN_OR_RETURN(const std::optional<VectorLine> line, nextLine());
  if (!line) return std::optional<VectorCase>();
  HALYARD_ASSIGN_OR_RETURN(VectorCase parsed, parseVectorCase(line->text), "{} line {}", path_,
                           line->number);
  return std::optional<VectorCase>(std::move(parsed));
}

Model withOutputShapes(const VectorCase& vectorCase, OutputShapes shapes) {
  Model model = vectorCase.model;
  for (uint32_t index : model.main.outputIndexes) {
    Operand& operand = model.main.operands[index];
    if (isScalarType(operand.type)) continue;
    if (shapes == OutputShapes::UNKNOWN_DIMENSIONS) {
      std::fill(operand.dimensions.begin(), operand.dimensions.end(), 0);
    } else if (shapes == OutputShapes::UNKNOWN_RANK) {
      operand.dimensions.clear();
    }
  }
  return model;
}

}  // namespace halyard::conformance
