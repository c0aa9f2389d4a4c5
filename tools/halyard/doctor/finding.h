// Findings of `halyard doctor`, and their form as text and as JSON.
// Thread safety: plain data and pure functions. Ownership: findings own their texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::cli {

enum class FindingLevel : uint8_t {
  OK,
  WARNING,  // works, but with less speed, protection or choice
  PROBLEM,  // does not work
};
std::string_view nameOf(FindingLevel level);

struct Finding {
  FindingLevel level = FindingLevel::OK;
  std::string subject;  // a file, a device, a feature
  std::string text;
  std::string command = {};  // for the shell; repairs it. Empty for OK
};

struct FindingSection {
  std::string name;
  std::vector<Finding> findings;
};

size_t countOf(const std::vector<FindingSection>& sections, FindingLevel level);
// A line for each finding, the command below it, and a line with the numbers at the end.
std::string findingsText(const std::vector<FindingSection>& sections);
std::string findingsJson(const std::vector<FindingSection>& sections);

// `command` with sudo before it, unless this user is root.
std::string asRoot(const std::string& command);

}  // namespace halyard::cli
