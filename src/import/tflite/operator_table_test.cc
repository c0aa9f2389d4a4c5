// Tests that docs/tflite_operators.md lists every builtin operator, and the right ones as
// converted.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/tflite/converters.h"
#include "test_definitions.h"

namespace halyard::import {
namespace {

std::set<std::string> convertedOperators() {
  std::set<std::string> names;
  for (const auto& table :
       {complexConverters(), controlFlowConverters(), convolutionConverters(),
        detectionConverters(), elementwiseConverters(), generatedConverters(), mathConverters(),
        movementConverters(), pickingConverters(), quantizationConverters(), recurrentConverters(),
        reductionConverters(), rnnConverters(), scatterConverters(), shapeConverters(),
        spatialConverters(), stablehloConverters(), variableConverters(), volumeConverters()}) {
    for (const Converter& converter : table) {
      const std::string name = tfl::EnumNameBuiltinOperator(converter.op);
      EXPECT_TRUE(names.insert(name).second) << name << " has two converters";
    }
  }
  return names;
}

struct Row {
  std::string name;
  std::string converted;
};

// Returns the rows of the table by code: "| code | operator | converted | how, or why not |".
std::map<int, Row> documentedOperators() {
  std::ifstream page(HALYARD_SOURCE_DIR "/docs/tflite_operators.md");
  EXPECT_TRUE(page.good());
  std::map<int, Row> rows;
  bool isInTable = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "## All operators") isInTable = true;
    if (!isInTable || line.size() < 3 || line[0] != '|' || line[2] < '0' || line[2] > '9') continue;
    std::vector<std::string> cells;
    for (size_t begin = 2, end = 0; (end = line.find(" |", begin)) != std::string::npos;) {
      cells.push_back(line.substr(begin, end - begin));
      begin = end + 3;
    }
    if (cells.size() != 4) {
      ADD_FAILURE() << line;
      continue;
    }
    EXPECT_FALSE(cells[3].empty()) << line;
    EXPECT_TRUE(rows.emplace(std::stoi(cells[0]), Row{cells[1], cells[2]}).second) << line;
  }
  return rows;
}

TEST(OperatorTable, AgreesWithTheConverters) {
  const std::map<int, Row> rows = documentedOperators();
  const std::set<std::string> converted = convertedOperators();
  size_t found = 0;
  for (const tfl::BuiltinOperator op : tfl::EnumValuesBuiltinOperator()) {
    const std::string name = tfl::EnumNameBuiltinOperator(op);
    const auto row = rows.find(static_cast<int>(op));
    ASSERT_NE(row, rows.end()) << name;
    EXPECT_EQ(row->second.name, name);
    EXPECT_EQ(row->second.converted, converted.contains(name) ? "yes" : "no") << name;
    found += converted.contains(name) ? 1 : 0;
  }
  EXPECT_EQ(found, converted.size());
  EXPECT_EQ(rows.size(), std::size(tfl::EnumValuesBuiltinOperator()));
}

}  // namespace
}  // namespace halyard::import
