// halyard cache: lists, verifies and prunes saved compilations.
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cache/inventory.h"
#include "tools/halyard/command.h"
#include "tools/halyard/terminal.h"
#include "tools/halyard/text_table.h"

namespace halyard::cli {
namespace {

using cache::CacheItem;
using cache::CacheState;
using Json = nlohmann::json;

constexpr int64_t kDay = 24 * 60 * 60;
constexpr size_t kLettersShown = 12;

struct CacheCommandOptions {
  enum class Action : uint8_t { LS, VERIFY, PRUNE };

  Action action = Action::LS;
  std::vector<std::string> paths;
  bool json = false;
  std::optional<uint64_t> maxSize;
  std::optional<double> maxAgeDays;
  bool damaged = false;
  bool dryRun = false;
};

Result<std::vector<std::filesystem::path>> pathsOf(const CacheCommandOptions& options) {
  std::vector<std::filesystem::path> paths(options.paths.begin(), options.paths.end());
  if (paths.empty()) {
    HALYARD_ASSIGN_OR_RETURN(const std::filesystem::path folder, cache::defaultCompilationFolder());
    // Before the first compilation there is no folder. That is not an error.
    std::error_code error;
    if (std::filesystem::exists(folder, error)) paths.push_back(folder);
    for (const std::filesystem::path& file : cache::defaultBlobFiles()) paths.push_back(file);
  }
  return paths;
}

Result<std::vector<CacheItem>> itemsOf(const std::vector<std::filesystem::path>& paths) {
  std::vector<CacheItem> items;
  for (const std::filesystem::path& path : paths) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<CacheItem> found, cache::listCaches(path));
    std::move(found.begin(), found.end(), std::back_inserter(items));
  }
  return items;
}

std::string ageOf(int64_t seconds) {
  if (seconds < 0) return "0 s";
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 2 * 60 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 2 * kDay) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / kDay);
}

Json jsonOf(const CacheItem& item, int64_t now) {
  const bool blobs = item.kind == CacheItem::Kind::BLOBS;
  Json json = {{"kind", blobs ? "blobs" : "compilation"},
               {"name", item.name},
               {"driver", item.driver},
               {"bytes", item.bytes},
               {"last_used", item.lastUsed},
               {"age_seconds", std::max<int64_t>(0, now - item.lastUsed)},
               {"files", Json::array()}};
  for (const auto& file : item.files) json["files"].push_back(file.string());
  if (blobs) json["entries"] = item.entries;
  if (item.state != CacheState::UNCHECKED) json["state"] = cache::nameOf(item.state);
  if (!item.problem.empty()) json["problem"] = item.problem;
  return json;
}

std::string tableOf(const std::vector<CacheItem>& items, int64_t now, bool states) {
  if (items.empty()) return {};
  std::vector<TableRow> rows = {{"WHAT", "DRIVER", "FILES", "BYTES", "LAST USED"}};
  if (states) rows[0].emplace_back("STATE");
  for (const CacheItem& item : items) {
    const bool blobs = item.kind == CacheItem::Kind::BLOBS;
    rows.push_back({blobs ? fmt::format("{} blobs in {}", item.entries, printable(item.name))
                          : item.name.substr(0, kLettersShown) + "...",
                    item.driver.empty() ? "-" : printable(item.driver),
                    std::to_string(item.files.size()), std::to_string(item.bytes),
                    ageOf(now - item.lastUsed)});
    if (!states) continue;
    const std::string problem = item.problem.empty() ? "" : ": " + printable(item.problem);
    rows.back().push_back(cache::nameOf(item.state) + problem);
  }
  return alignedRows(rows);
}

uint64_t bytesOf(const std::vector<CacheItem>& items) {
  uint64_t bytes = 0;
  for (const CacheItem& item : items) bytes += item.bytes;
  return bytes;
}

void writeJson(const Json& json) {
  print("{}\n", json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace));
}

CommandResult show(const CacheCommandOptions& options, std::vector<CacheItem> items, int64_t now) {
  const bool verifies = options.action == CacheCommandOptions::Action::VERIFY;
  size_t damaged = 0;
  for (CacheItem& item : items) {
    if (verifies) cache::verify(item);
    damaged += item.state == CacheState::DAMAGED ? 1 : 0;
  }
  if (options.json) {
    Json list = Json::array();
    for (const CacheItem& item : items) list.push_back(jsonOf(item, now));
    Json document = {{"items", list}, {"bytes", bytesOf(items)}};
    if (verifies) document["damaged"] = damaged;
    writeJson(document);
  } else {
    writeOutput(tableOf(items, now, verifies));
    print("{} in the cache, {} bytes{}\n", items.size(), bytesOf(items),
          verifies ? fmt::format(", {} damaged", damaged) : "");
  }
  if (!verifies || damaged == 0) return {};
  return {badData("{} of {} are damaged", damaged, items.size()), false};
}

CommandResult prune(const CacheCommandOptions& options, std::vector<CacheItem> items, int64_t now) {
  if (!options.maxSize && !options.maxAgeDays && !options.damaged) {
    return {badData("no option selects entries to remove: --max-size, --max-age or --damaged"),
            true};
  }
  cache::PruneLimits limits{.bytes = options.maxSize, .maxAge = {}, .damaged = options.damaged};
  if (options.maxAgeDays) limits.maxAge = static_cast<int64_t>(*options.maxAgeDays * kDay);
  if (options.damaged) {
    for (CacheItem& item : items) cache::verify(item);
  }
  const std::vector<CacheItem> gone = cache::chooseForPruning(items, limits, now);
  size_t blobs = 0;
  if (!options.dryRun) {
    for (const CacheItem& item : gone) {
      Status removed = cache::removeFiles(item);
      if (!removed.ok()) return {std::move(removed), false};
    }
    for (const CacheItem& item : items) {
      if (item.kind != CacheItem::Kind::BLOBS || !limits.maxAge) continue;
      auto removed = cache::pruneBlobs(item.files[0], now - *limits.maxAge);
      if (!removed.ok()) return {removed.takeStatus(), false};
      blobs += *removed;
    }
  }
  if (options.json) {
    Json list = Json::array();
    for (const CacheItem& item : gone) list.push_back(jsonOf(item, now));
    writeJson({{"removed", list},
               {"removed_bytes", bytesOf(gone)},
               {"removed_blobs", blobs},
               {"left", items.size()},
               {"left_bytes", bytesOf(items)},
               {"dry_run", options.dryRun}});
  } else {
    writeOutput(tableOf(gone, now, options.damaged));
    print("{} {}, {} bytes; left are {}, {} bytes\n", gone.size(),
          options.dryRun ? "would be removed" : "removed", bytesOf(gone), items.size(),
          bytesOf(items));
    if (blobs > 0) print("{} old blobs removed from files that stay\n", blobs);
  }
  return {};
}

CommandResult runCache(const CacheCommandOptions& options) {
  const auto paths = pathsOf(options);
  if (!paths.ok()) return {paths.status(), false};
  auto items = itemsOf(*paths);
  if (!items.ok()) return {items.takeStatus(), false};
  const auto now = static_cast<int64_t>(std::time(nullptr));
  if (options.action == CacheCommandOptions::Action::PRUNE) {
    return prune(options, std::move(*items), now);
  }
  return show(options, std::move(*items), now);
}

// AsSizeValue takes -1 for the largest number.
std::string refuseNegative(const std::string& size) {
  return size.starts_with('-') ? "'" + size + "', expected a number of bytes from 0" : "";
}

CLI::App* addAction(CLI::App& cache, const std::shared_ptr<CacheCommandOptions>& options,
                    const char* name, const char* help, CacheCommandOptions::Action action) {
  CLI::App* app = cache.add_subcommand(name, help);
  app->add_option("PATH", options->paths,
                  "Folders of compilations and files of blobs; by default those of `halyard run` "
                  "and of drivers");
  app->add_flag("--json", options->json, "The same as JSON");
  app->callback([options, action] { options->action = action; });
  return app;
}

}  // namespace

Command addCacheCommand(CLI::App& parent) {
  auto options = std::make_shared<CacheCommandOptions>();
  using Action = CacheCommandOptions::Action;
  CLI::App* app = parent.add_subcommand("cache", "Show, verify and prune cached compilations");
  app->require_subcommand(1);
  app->footer(
      "verify finds damage, by digests in the files. Only a driver knows whether a compilation is\n"
      "the one that it saved, and it looks each time: what is forged is compiled again.");
  addAction(*app, options, "ls", "List the entries: driver, bytes, last use", Action::LS);
  addAction(*app, options, "verify", "Read all of it; exit status 1 for damage", Action::VERIFY);
  CLI::App* prune = addAction(*app, options, "prune", "Remove some of it", Action::PRUNE);
  prune
      ->add_option("--max-size", options->maxSize,
                   "Bytes that may stay, such as 500MB; those used longest ago go first")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
      ->transform(CLI::Validator(refuseNegative, ""))  // comes before the one above
      ->option_text("SIZE");
  prune->add_option("--max-age", options->maxAgeDays, "Days since the last use")
      ->check(CLI::Range(0.0, 36500.0))
      ->option_text("DAYS");
  prune->add_flag("--damaged", options->damaged,
                  "Remove everything that verify reports as damaged");
  prune->add_flag("--dry-run", options->dryRun, "Only list the entries that would be removed");
  return {app, [options] { return runCache(*options); }};
}

}  // namespace halyard::cli
