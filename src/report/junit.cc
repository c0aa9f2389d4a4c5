#include "report/junit.h"

#include <fmt/format.h>

#include <algorithm>

namespace halyard::report {
namespace {

using Outcome = JUnitCase::Outcome;

std::string propertiesText(const JUnitProperties& properties, std::string_view indent) {
  if (properties.empty()) return "";
  std::string text = fmt::format("{}<properties>\n", indent);
  for (const auto& [name, value] : properties) {
    text += fmt::format("{}  <property name=\"{}\" value=\"{}\"/>\n", indent, xmlText(name),
                        xmlText(value));
  }
  return text + fmt::format("{}</properties>\n", indent);
}

std::string caseText(const JUnitCase& one) {
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}\"",
                                 xmlText(one.className), xmlText(one.name));
  for (const auto& [name, value] : one.attributes) {
    text += fmt::format(" {}=\"{}\"", name, xmlText(value));
  }
  text += fmt::format(" time=\"{:.6f}\"", one.seconds);
  std::string inner = propertiesText(one.properties, "      ");
  if (one.outcome == Outcome::SKIPPED) {
    inner += fmt::format("      <skipped message=\"{}\"/>\n", xmlText(one.message));
  } else if (one.outcome == Outcome::FAILED) {
    const std::string type = one.type.empty() ? "" : fmt::format("type=\"{}\" ", xmlText(one.type));
    inner += fmt::format("      <failure {}message=\"{}\">{}</failure>\n", type,
                         xmlText(one.message), xmlText(one.details));
  }
  if (!one.log.empty()) {
    inner += fmt::format("      <system-err>{}</system-err>\n", xmlText(one.log));
  }
  return text + (inner.empty() ? "/>\n" : ">\n" + inner + "    </testcase>\n");
}

std::string suiteText(const JUnitSuite& suite) {
  std::string text = fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n",
      xmlText(suite.name), suite.cases.size(), suite.count(Outcome::FAILED),
      suite.count(Outcome::SKIPPED), suite.seconds);
  text += propertiesText(suite.properties, "    ");
  for (const JUnitCase& one : suite.cases) text += caseText(one);
  return text + "  </testsuite>\n";
}

}  // namespace

size_t JUnitSuite::count(JUnitCase::Outcome outcome) const {
  return static_cast<size_t>(
      std::count_if(cases.begin(), cases.end(),
                    [outcome](const JUnitCase& one) { return one.outcome == outcome; }));
}

std::string junitDocument(std::string_view name, const std::vector<JUnitSuite>& suites,
                          size_t errors, double seconds) {
  size_t tests = 0;
  size_t failures = 0;
  size_t skipped = 0;
  std::string inner;
  for (const JUnitSuite& suite : suites) {
    tests += suite.cases.size();
    failures += suite.count(Outcome::FAILED);
    skipped += suite.count(Outcome::SKIPPED);
    inner += suiteText(suite);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n{}</testsuites>\n",
      xmlText(name), tests, failures, errors, skipped, seconds, inner);
}

std::string xmlText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      default:
        escaped += c >= ' ' && c < 0x7f ? c : '?';
    }
  }
  return escaped;
}

}  // namespace halyard::report
