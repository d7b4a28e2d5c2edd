// Pins where recordings are written with a write-ahead log and where not, and that the other journal gives the same file.
#include "support/catch.hpp"

#include <ulp/io/recording/recording.hpp>

#include <filesystem>

#include "database/journal.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;
using io::journal;

TEST_CASE("file systems of several machines get a rollback journal") {
  // f_type in statfs(2) and in the headers of the kernel.
  for (const std::uint64_t local : {0xEF53U, 0x58465342U, 0x9123683EU, 0x01021994U, 0x794C7630U, 0x2FC12FC1U})
    CHECK(io::journal_on(local) == journal::write_ahead);  // ext4 XFS Btrfs tmpfs overlayfs ZFS
  for (const std::uint64_t shared : {0x6969U, 0xFF534D42U, 0xFE534D42U, 0x0BD00BD0U, 0x65735546U, 0x00C36400U,
                                     0x47504653U, 0x19830326U, 0x01021997U})
    CHECK(io::journal_on(shared) == journal::rollback);  // NFS CIFS SMB2 Lustre FUSE Ceph GPFS BeeGFS 9P
  // On 32-bit machines f_type is signed.
  CHECK(io::journal_on(0xFFFFFFFFFE534D42U) == journal::rollback);
}

TEST_CASE("a rollback journal leaves nothing beside the file and keeps others out until it is closed") {
  const temporary_dir dir;
  const std::string path = (dir / "r.db").string();
  {
    io::database db({.shown = path, .file = path, .access = io::file_access::writing, .create = true});
    io::set_journal(db, journal::rollback);
    db.run("CREATE TABLE t(x)");
    CHECK_FALSE(std::filesystem::exists(path + "-wal"));
    CHECK_FALSE(std::filesystem::exists(path + "-shm"));
    io::database other({.shown = path, .file = path});
    sqlite3_busy_timeout(other.get(), 1);
    CHECK_THROWS_AS(other.run("SELECT * FROM t"), input_error);
  }
  io::database after({.shown = path, .file = path});
  after.run("SELECT * FROM t");
}

TEST_CASE("a write-ahead log lets others read") {
  const temporary_dir dir;
  const std::string path = (dir / "r.db").string();
  io::database db({.shown = path, .file = path, .access = io::file_access::writing, .create = true});
  io::set_journal(db, journal::write_ahead);
  db.run("CREATE TABLE t(x)");
  CHECK(std::filesystem::exists(path + "-wal"));
  io::database other({.shown = path, .file = path});
  other.run("SELECT * FROM t");
}

TEST_CASE("a file system that nobody can ask gets a write-ahead log") {
  CHECK(io::journal_at("/nowhere/at/all.ulp") == journal::write_ahead);
}
