#include "journal.hpp"

#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>

namespace ulp::io {
namespace {

// File systems of several machines, and those of which nobody knows (FUSE).
constexpr std::array<std::uint64_t, 22> shared_file_systems{
    // linux/magic.h
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF534D42,  // CIFS
    0xFE534D42,  // SMB2
    0x564C,      // NCP
    0x73757245,  // Coda
    0x5346414F,  // AFS
    0x6B414653,  // kAFS
    0x00C36400,  // Ceph
    0x65735546,  // FUSE: sshfs, GlusterFS, object stores
    0x01021997,  // 9P
    0x7461636F,  // OCFS2
    // GNU coreutils, src/stat.c
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS (Storage Scale)
    0x19830326,  // BeeGFS, FhGFS before
    0x01161970,  // GFS2
    0xAAD7AAEA,  // PanFS
    0x013111A8,  // IBRIX
    0xA501FCF5,  // VxFS
    0xBACBACBC,  // folders of a VMware host
    0x786F4256,  // folders of a VirtualBox host
    // Linux, fs/orangefs/protocol.h
    0x20030528,  // OrangeFS, PVFS2
};

}  // namespace

journal journal_on(std::uint64_t file_system) noexcept {
  const bool shared = std::ranges::find(shared_file_systems, file_system & 0xFFFFFFFF) != shared_file_systems.end();
  return shared ? journal::rollback : journal::write_ahead;
}

journal journal_at(const std::string& path) noexcept {
  try {
    struct statfs info {};
    const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
    if (statfs(path.c_str(), &info) != 0 && statfs(folder.c_str(), &info) != 0) return journal::write_ahead;
    return journal_on(static_cast<std::uint64_t>(info.f_type));
  } catch (const std::exception&) {
    return journal::write_ahead;
  }
}

journal set_journal(database& db, journal how) {
  const auto set = [&](const char* pragma) {
    statement s(db, pragma);
    return s.row() ? std::string{s.bytes(0)} : std::string{};
  };
  if (how == journal::write_ahead && set("PRAGMA journal_mode=WAL") == "wal") return journal::write_ahead;
  // The lock comes first: without shared memory a log that a killed writer left is read under it only.
  db.run("PRAGMA locking_mode=EXCLUSIVE");
  db.run("PRAGMA journal_mode=TRUNCATE");
  return journal::rollback;
}

}  // namespace ulp::io
