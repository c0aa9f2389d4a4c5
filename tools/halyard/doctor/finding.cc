#include "tools/halyard/doctor/finding.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "report/printable.h"

namespace halyard::cli {

using Json = nlohmann::json;
using report::printable;

std::string_view nameOf(FindingLevel level) {
  switch (level) {
    case FindingLevel::OK:
      return "ok";
    case FindingLevel::WARNING:
      return "warning";
    case FindingLevel::PROBLEM:
      return "problem";
  }
  return "unknown";
}

size_t countOf(const std::vector<FindingSection>& sections, FindingLevel level) {
  size_t count = 0;
  for (const FindingSection& section : sections) {
    for (const Finding& finding : section.findings) count += finding.level == level ? 1 : 0;
  }
  return count;
}

std::string findingsText(const std::vector<FindingSection>& sections) {
  std::string text;
  for (const FindingSection& section : sections) {
    text += section.name + "\n";
    for (const Finding& finding : section.findings) {
      text += fmt::format("  {:<7}  {}: {}\n", nameOf(finding.level), printable(finding.subject),
                          printable(finding.text));
      if (!finding.command.empty()) {
        text += fmt::format("           repair: {}\n", printable(finding.command));
      }
    }
    text += "\n";
  }
  return text + fmt::format("problems: {}, warnings: {}, ok: {}\n",
                            countOf(sections, FindingLevel::PROBLEM),
                            countOf(sections, FindingLevel::WARNING),
                            countOf(sections, FindingLevel::OK));
}

std::string findingsJson(const std::vector<FindingSection>& sections) {
  Json findings = Json::array();
  for (const FindingSection& section : sections) {
    for (const Finding& finding : section.findings) {
      findings.push_back({{"section", section.name},
                          {"status", nameOf(finding.level)},
                          {"subject", finding.subject},
                          {"text", finding.text},
                          {"command", finding.command}});
    }
  }
  const Json document = {{"problems", countOf(sections, FindingLevel::PROBLEM)},
                         {"warnings", countOf(sections, FindingLevel::WARNING)},
                         {"findings", findings}};
  return document.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::string asRoot(const std::string& command) {
  return ::geteuid() == 0 ? command : "sudo " + command;
}

}  // namespace halyard::cli
