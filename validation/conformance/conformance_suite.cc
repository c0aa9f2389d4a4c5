#include "validation/conformance/conformance_suite.h"
#include "base/shell_word.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

#include "conformance/case_source.h"
#include "conformance/hal_target.h"
#include "conformance/report.h"
#include "conformance/runner.h"
#include "validation/kit/target.h"

namespace halyard::validation {
namespace {

namespace fs = std::filesystem;
using conformance::SourceCase;
using conformance::Variant;

// Enough to see the fault of a file; `halyard conformance` shows all.
constexpr size_t kMaxFailures = 3;
constexpr double kSecondsPerCase = 0.003;

// The other variants are similar to these. A quick run leaves them out.
constexpr Variant kQuick[] = {Variant::PLAIN, Variant::UNKNOWN_RANK, Variant::POOLS,
                              Variant::TWICE, Variant::THREADS,      Variant::BURST,
                              Variant::FENCED};

struct VectorFileCases {
  std::string file;
  std::string name;  // of the checks
  std::vector<SourceCase> cases;
};

std::shared_ptr<conformance::Target> conformanceTarget(Target& target,
                                                       const std::shared_ptr<hal::Device>& device) {
  // Made again with the device.
  struct Kept {
    std::shared_ptr<hal::Device> device;
    std::shared_ptr<conformance::Target> target;
  };
  std::shared_ptr<void>& slot = target.kept("conformance");
  auto kept = std::static_pointer_cast<Kept>(slot);
  if (kept == nullptr || kept->device != device) {
    kept = std::make_shared<Kept>(
        Kept{device, std::shared_ptr<conformance::Target>(conformance::makeHalTarget(device))});
    slot = kept;
  }
  return kept->target;
}

CheckResult runFile(Target& target, const VectorFileCases& file, Variant variant) {
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<hal::Device> device, target.device());
  const auto tested = conformanceTarget(target, device);
  std::vector<std::string> failures;
  std::map<std::string, size_t> skipped;
  size_t failed = 0;
  for (const SourceCase& one : file.cases) {
    // If the check crashes or hangs, this is the last line of its log.
    const std::string mark = fmt::format("case {}\n", one.name);
    (void)!::write(STDERR_FILENO, mark.data(), mark.size());
    conformance::CaseResult result;
    const auto parsed = conformance::parseVectorCase(one.text);
    if (!one.error.ok()) {
      result = {conformance::Outcome::FAILED, one.error.toString()};
    } else if (!parsed.ok()) {
      result = {conformance::Outcome::FAILED, parsed.status().toString()};
    } else {
      result = conformance::runCase(*tested, *parsed, variant);
    }
    if (result.outcome == conformance::Outcome::SKIPPED) ++skipped[result.reason];
    if (result.outcome != conformance::Outcome::FAILED) continue;
    if (++failed <= kMaxFailures) {
      failures.push_back(fmt::format("{}:{} {}: {}", one.file, one.line, one.name, result.reason));
    }
  }
  if (failed > 0) {
    return opFailed(
        "{} of {} cases failed; `halyard conformance {} --via hal --variants {}` "
        "shows all of them\n{}",
        failed, file.cases.size(), shellWord(file.file), conformance::traitsOf(variant).name,
        fmt::join(failures, "\n"));
  }
  size_t skips = 0;
  for (const auto& [reason, count] : skipped) skips += count;
  if (skips == file.cases.size()) return CheckResult::skipped(skipped.begin()->first);
  return CheckResult::passed(
      skips == 0 ? "" : fmt::format("{} of {} cases skipped", skips, file.cases.size()));
}

// "V1_2/add" of ROOT/V1_2/add.jsonl.gz.
std::string nameOf(const fs::path& file, const fs::path& root) {
  std::string name =
      fs::is_directory(root) ? file.lexically_relative(root).string() : file.filename().string();
  for (const std::string_view ending : {".gz", ".jsonl"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

Status readFiles(const std::string& root, std::vector<VectorFileCases>* to) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                           conformance::findVectorFiles({root}));
  for (const std::string& file : files) {
    VectorFileCases cases{file, nameOf(file, root), {}};
    conformance::CaseSource source({file}, {});
    while (auto one = source.next()) cases.cases.push_back(std::move(*one));
    if (!cases.cases.empty()) to->push_back(std::move(cases));
  }
  return okStatus();
}

std::vector<std::string> requirementsOf(Variant variant) {
  switch (variant) {
    case Variant::UNKNOWN_DIMENSIONS:
    case Variant::UNKNOWN_RANK:
      return {"ND-046", "ND-047", "ND-052"};
    case Variant::TWICE:
      return {"ND-035", "ND-052"};
    case Variant::THREADS:
      return {"ND-040", "ND-052"};
    default:
      return {"ND-021", "ND-041", "ND-052"};
  }
}

}  // namespace

Result<std::vector<Check>> listConformance(const TargetSpec& /*target*/, const Plan& plan) {
  std::vector<std::string> roots = plan.vectors;
  const fs::path own = plan.prefix / "share/halyard/vectors";
  std::error_code error;
  if (fs::exists(own, error)) roots.insert(roots.begin(), own.string());
  if (roots.empty()) {
    return badData("no vectors: {} does not exist, and --vectors names no others", own.string());
  }
  std::vector<VectorFileCases> read;
  for (const std::string& root : roots) {
    HALYARD_RETURN_IF_ERROR(readFiles(root, &read));
  }
  const auto files = std::make_shared<const std::vector<VectorFileCases>>(std::move(read));
  std::vector<Check> checks;
  for (const conformance::VariantTraits& traits : conformance::allVariants()) {
    // Only the API has this launch; see the area cts.
    if (traits.launch == conformance::Launch::ASYNC) continue;
    const bool isQuick =
        std::find(std::begin(kQuick), std::end(kQuick), traits.variant) != std::end(kQuick);
    if (!isQuick && !plan.full) continue;
    for (size_t i = 0; i < files->size(); ++i) {
      const VectorFileCases& file = (*files)[i];
      Check check;
      check.name = fmt::format("{}/{}", file.name, traits.name);
      check.what = fmt::format("the {} cases of {} give the expected results ({})",
                               file.cases.size(), file.name, traits.description);
      check.requirements = requirementsOf(traits.variant);
      check.limit = std::chrono::seconds(120);
      check.expectedSeconds = kSecondsPerCase * static_cast<double>(file.cases.size());
      check.run = [files, i, variant = traits.variant](Target& target) {
        return runFile(target, (*files)[i], variant);
      };
      checks.push_back(std::move(check));
    }
  }
  return checks;
}

}  // namespace halyard::validation
