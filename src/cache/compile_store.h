// CompileCache::Store: what a driver knows of the files that it saved; a SQLite database.
// Thread safety: any thread, any number of processes; every call ends within about twice the wait.
// Ownership: owns its connection.
#pragma once

#include <sqlite3.h>
#include <sys/types.h>

#include <functional>
#include <mutex>
#include <optional>

#include "base/sha256.h"
#include "halyard/driver/compile_cache.h"

namespace halyard::hal {

class CompileCache::Store {
 public:
  // What was saved.
  struct Entry {
    std::string build;
    Digest model = {};  // of the model cache files together
    Digest data = {};
    std::vector<uint64_t> modelBytes;  // of each content
    std::vector<uint64_t> dataBytes;
  };

  // Connects to nothing yet: the first call that needs the database does.
  Store(const Identity& identity, std::filesystem::path folder, const CompileCacheLimits& limits);

  Status open();
  // What can be told without a connection: whether the folder can be written. Makes the file.
  Status checkPlace();

  // Nothing: there is no entry. OP_FAILED: it could not be looked up.
  Result<std::optional<Entry>> find(const Token& token, uint32_t uid);
  Status put(const Token& token, uint32_t uid, const Entry& entry);
  Status erase(const Token& token, uint32_t uid);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }
  };
  using Database = std::unique_ptr<sqlite3, Close>;
  // Returns a code of SQLite's; SQLITE_OK for success.
  using Work = std::function<int(sqlite3*)>;

  // Does `work` on the database, which it connects to, and replaces if it is no good.
  Status run(const char* what, const Work& work);
  int attempt(const Work& work);
  int connect();
  int prepareFile();
  int checkSchema();
  int noteBuild();
  int readEntry(sqlite3* database, const Token& token, uint32_t uid, std::optional<Entry>* entry,
                bool* old);
  int touch(sqlite3* database, const Token& token, uint32_t uid);
  int evict(sqlite3* database, uint32_t uid);
  bool isCurrent() const;
  Status replace(int code);

  const Identity identity_;
  const std::filesystem::path folder_;
  const std::string path_;
  const CompileCacheLimits limits_;
  std::mutex mutex_;
  Database database_;
  dev_t device_ = 0;  // of the file that is connected to
  ino_t file_ = 0;
};

}  // namespace halyard::hal
