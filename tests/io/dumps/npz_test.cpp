#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/cell_table.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::vector<float> weights{0.5F, -0.25F, 3.0F, 0.0F};
const std::vector<double> biases{1e-9, -2.0};
const std::string weight_file = npy(npy_dict("<f4", "(2, 2)"), raw(weights));
const std::string bias_file = npy(npy_dict("<f8", "(2,)"), raw(biases));

void check_both(const contents& read) {
  CHECK(read.table("w") == count_cells(weights));
  CHECK(read.table("b") == count_cells(biases));
  CHECK(read.tensor("w").shape == std::vector<std::uint64_t>{2, 2});
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("npz: stored, deflated, zip64 and commented archives hold the same values") {
  const playground place;
  check_both(
      place.open("a.npz", zip({{.name = "w.npy", .contents = weight_file}, {.name = "b.npy", .contents = bias_file}})));
  check_both(place.open("a.npz", zip({{.name = "w.npy", .contents = weight_file, .deflated = true},
                                      {.name = "b.npy", .contents = bias_file, .deflated = true}})));
  check_both(place.open("a.npz", zip({{.name = "w.npy", .contents = weight_file, .local_zip64 = true},
                                      {.name = "b.npy", .contents = bias_file, .zip64 = true}})));
  check_both(
      place.open("a.npz", zip({{.name = "w.npy", .contents = weight_file}, {.name = "b.npy", .contents = bias_file}},
                              {.zip64_end = true})));
  check_both(
      place.open("a.npz", zip({{.name = "w.npy", .contents = weight_file}, {.name = "b.npy", .contents = bias_file}},
                              {.comment = "PK\x05\x06 is not the end"})));
}

TEST_CASE("npz: a deflated array larger than a chunk") {
  const playground place;
  std::vector<float> many;
  for (int i = 0; i < 300'001; ++i) many.push_back(static_cast<float>(i % 1000 * 7) - 300.25F);
  const std::string file = npy(npy_dict("<f4", "(300001,)"), raw(many));
  CHECK(place.open("a.npz", zip({{.name = "x.npy", .contents = file, .deflated = true}})).table("x") ==
        count_cells(many));
}

TEST_CASE("npz: names are labels, other members are left out") {
  const playground place;
  const contents read =
      place.open("a.npz", zip({{.name = "folder/"},
                               {.name = "../../etc/x.npy", .contents = weight_file},
                               {.name = "wgrad/fc.weight.npy", .contents = weight_file},
                               {.name = "agrad__fc.npy", .contents = weight_file},
                               {.name = "ids.npy", .contents = npy(npy_dict("<i8", "(1,)"), std::string(8, '\0'))},
                               {.name = "meta.npy", .contents = npy(npy_dict("|O", "()"), "pickle")},
                               {.name = "readme.txt", .contents = "hello"}}));
  REQUIRE(read.tensors.size() == 3);
  CHECK(read.tensors[0].name == "../../etc/x");
  CHECK(read.tensors[0].kind == tensor_kind::unknown);
  CHECK(read.tensor("wgrad/fc.weight").kind == tensor_kind::weight_grad);
  CHECK(read.tensor("agrad__fc").kind == tensor_kind::activation_grad);
  CHECK(read.description == "npz dump");
}

TEST_CASE("npz: an archive without floating-point arrays is refused, or an empty step that names what it holds") {
  const playground place;
  const std::string empty = place.path("a.npz") + ": holds no readable tensor; its step is empty";
  const contents none = place.open("a.npz", zip({}), empty_allowed());
  CHECK(none.notes == std::vector<std::string>{empty});
  REQUIRE(none.steps.size() == 1);
  CHECK(none.steps[0].tensors.empty());
  const std::string ids = npy(npy_dict("<i8", "(1,)"), "12345678");
  const std::string others = zip({{.name = "ids.npy", .contents = ids}, {.name = "x.txt", .contents = "x"}});
  CHECK(place.error("a.npz", zip({})) == "a.npz: holds no readable tensor; --allow-empty accepts it as an empty step");
  CHECK(place.error("a.npz", others) ==
        "a.npz: holds no readable tensor; not read: 'ids' (<i8), 'x.txt' (not a .npy); --allow-empty accepts it as an "
        "empty step");
  CHECK(place.open("a.npz", others, empty_allowed()).notes ==
        std::vector<std::string>{empty, place.path("a.npz") + ": not read: 'ids' (<i8), 'x.txt' (not a .npy)"});
  CHECK(place.error("a.npz", zip({{.name = "o.npy", .contents = npy(npy_dict("|O", "()"), "pickle")}})) ==
        "a.npz: member 'o.npy': an object array is a Python pickle, which can run any code; it is never unpacked; save "
        "float arrays");
}

TEST_CASE("npz: each way an archive can be wrong") {
  const playground place;
  const auto error_of = [&](const std::vector<zip_entry>& entries) { return place.error("a.npz", zip(entries)); };
  const std::string member = "a.npz: member 'w.npy': ";
  const zip_entry good{.name = "w.npy", .contents = weight_file};
  const zip_entry small{.name = "w.npy", .contents = weight_file, .deflated = true};
  const auto with = [](zip_entry entry, auto change) {
    change(entry);
    return std::vector{entry};
  };
  const std::string packed = std::to_string(weight_file.size());

  CHECK(error_of({good, good}) == member + "appears twice");
  CHECK(error_of(with(good, [](zip_entry& e) { e.crc_error = 1; })) ==
        member + "its CRC-32 does not match its contents; the file is damaged");
  CHECK(error_of(with(small, [](zip_entry& e) { e.crc_error = 1; })) ==
        member + "its CRC-32 does not match its contents; the file is damaged");
  CHECK(error_of(with(good, [](zip_entry& e) { e.flags = 1; })) ==
        member + "is encrypted; save the arrays without a password");
  CHECK(error_of(with(good, [](zip_entry& e) { e.method = 12; })) ==
        member + "is compressed by method 12; stored and deflated members are read");
  CHECK(error_of(with(good, [](zip_entry& e) { e.local_method = 8; })) ==
        member + "its own header gives it another compression method");
  CHECK(error_of(with(good, [](zip_entry& e) { e.local_name = "v.npy"; })) ==
        member + "its own header gives it another name");
  CHECK(error_of(with(good, [](zip_entry& e) { e.local_name = "longer.npy"; })) ==
        member + "its own header gives it another name");
  CHECK(error_of(with(good, [](zip_entry& e) { e.size = 7; })) ==
        member + "is stored as " + packed + " bytes, but its size is given as 7");
  CHECK(error_of(with(good, [](zip_entry& e) { e.size = e.packed_size = 1 << 20; })) ==
        member + "its 1048576 bytes from byte 35 run into the central directory");
  CHECK(error_of(with(good, [](zip_entry& e) { e.offset = 5; })) == member + "no header stands at byte 5");
  CHECK(error_of(with(good, [](zip_entry& e) { e.offset = 1 << 20; })) ==
        member + "its header at byte 1048576 lies outside the archive's data");
  CHECK(error_of(with(good, [](zip_entry& e) {
          e.zip64 = true;
          e.offset = INT64_MAX;
        })) == member + "its header at byte 9223372036854775807 lies outside the archive's data");
  CHECK(error_of(with(good, [](zip_entry& e) {
          e.zip64 = e.local_zip64 = true;
          e.size = e.packed_size = INT64_MAX;
        })) == member + "its 9223372036854775807 bytes from byte 55 run into the central directory");
  // Two directory entries share one member: the quoted overlap of zip bombs.
  CHECK(error_of({{.name = "a.npy", .contents = weight_file, .size = 40, .packed_size = 40},
                  {.name = "b.npy", .contents = weight_file, .offset = 0}})
            .starts_with("a.npz: member 'b.npy': "));
  CHECK(error_of({{.name = "w.npy", .contents = "hello"}}) ==
        member + "npy header: 8 bytes are needed, but only 5 are left");
  CHECK(error_of({{.name = "w.npy", .contents = weight_file + "x"}}) ==
        member + "the array needs 16 bytes of values, but 17 follow: 1 too many");
  CHECK(error_of({{.name = "w.npy", .contents = weight_file.substr(0, weight_file.size() - 1), .deflated = true}}) ==
        member + "the array needs 16 bytes of values, but 15 follow: 1 missing; the file was cut short");
  CHECK(error_of({{.name = "\xFF.npy", .contents = weight_file}}) == "a.npz: the tensor name '\\xFF' is not UTF-8");
  CHECK(error_of({{.name = "a\nb.npy", .contents = weight_file}}) ==
        "a.npz: the tensor name 'a\\x0Ab' has control characters");
  CHECK(error_of({{.name = repeated("long", 300) + ".npy", .contents = weight_file}}) ==
        "a.npz: the tensor name '" + repeated("long", 19) + "lon...' is longer than 1024 bytes");
}

TEST_CASE("npz: overlapping members are refused") {
  const playground place;
  // The second header lies in the first member's data.
  const std::string inner = zip({{.name = "b.npy", .contents = bias_file}});
  const std::string inside = inner.substr(0, 30 + 5 + bias_file.size());
  CHECK(place.error("a.npz", zip({{.name = "a.bin", .contents = inside},
                                  {.name = "b.npy", .contents = bias_file, .offset = 35}})) ==
        "a.npz: member 'b.npy': overlaps the member 'a.bin'");
}

TEST_CASE("npz: deflated data that does not match its sizes") {
  const playground place;
  const std::string zeros = npy(npy_dict("<f4", "(100000,)"), std::string(400'000, '\0'));
  const std::string member = "a.npz: member 'w.npy': ";
  const auto error_of = [&](zip_entry entry) { return place.error("a.npz", zip({std::move(entry)})); };
  // A bomb: the data inflates to 400 kB, but the header promises one value.
  const std::string bomb = npy(npy_dict("<f4", "(1,)"), std::string(400'000, '\0'));
  CHECK(error_of({.name = "w.npy", .contents = bomb, .deflated = true}) ==
        member + "the array needs 4 bytes of values, but 400000 follow: 399996 too many");
  const auto honest = static_cast<std::int64_t>(bomb.size()) - 399'996;
  CHECK(error_of({.name = "w.npy", .contents = bomb, .deflated = true, .size = honest}) ==
        member + "inflates to more bytes than its size");
  CHECK(error_of({.name = "w.npy",
                  .contents = npy(npy_dict("<f4", "(100001,)"), std::string(400'000, '\0')),
                  .deflated = true,
                  .size = static_cast<std::int64_t>(zeros.size()) + 4}) ==
        member + "inflates to fewer bytes than its size");
  CHECK(error_of({.name = "w.npy", .contents = zeros, .deflated = true, .packed_size = 200}) ==
        member + "its compressed data ends too early");
  CHECK(error_of({.name = "w.npy", .contents = std::string(300, '\xFF'), .method = 8}) ==
        member + "its compressed data is damaged");
  const std::string archive = zip({{.name = "w.npy", .contents = weight_file, .deflated = true}});
  const std::size_t directory = archive.find("PK\x01\x02");
  const std::string stream = archive.substr(35, directory - 35);
  CHECK(error_of({.name = "w.npy",
                  .contents = stream + "more",
                  .method = 8,
                  .size = static_cast<std::int64_t>(weight_file.size())}) ==
        member + "has bytes after the end of its compressed data");
}

TEST_CASE("npz: a central directory that lies") {
  const playground place;
  const std::string good = zip({{.name = "w.npy", .contents = weight_file}});
  const std::size_t end = good.size() - 22;
  const auto changed = [&](std::size_t at, const std::string& bytes) {
    std::string file = good;
    return file.replace(at, bytes.size(), bytes);
  };
  const std::string place_of_end = "a.npz: byte " + std::to_string(good.size() - 2) + ": end of zip: ";
  CHECK(place.error("a.npz", changed(end + 10, little(9, 2))) ==
        place_of_end + "9 members do not fit into a directory of 51 bytes");
  CHECK(place.error("a.npz", changed(end + 10, little(0, 2))) ==
        "a.npz: byte " + std::to_string(end - 51) +
            ": central directory: more follows than the 0 members it should hold");
  CHECK(place.error("a.npz", changed(end + 12, little(50, 4)))
            .find("which does not lead to its end record at byte " + std::to_string(end)) != std::string::npos);
  CHECK(place.error("a.npz", changed(end + 16, little(0xFFFFFFF0, 4))).starts_with("a.npz: byte "));
  CHECK(place.error("a.npz", changed(end + 4, little(1, 2))).find("archives in several parts are not read") !=
        std::string::npos);
  CHECK(place.error("a.npz", changed(end - 51, "XX")) ==
        "a.npz: byte " + std::to_string(end - 47) + ": central directory: the signature of a member is missing");
  CHECK(place.error("a.npz", "more" + good).find("which does not lead to its end record") != std::string::npos);
  CHECK(place.error("a.npz", good + "more") ==
        "a.npz: end of file: no zip directory is here; the file was cut short or has bytes after its end");

  const std::string zip64 = zip({{.name = "w.npy", .contents = weight_file}}, {.zip64_end = true});
  const std::size_t locator = zip64.size() - 22 - 20;
  const auto changed64 = [&](std::size_t at, const std::string& bytes) {
    std::string file = zip64;
    return file.replace(at, bytes.size(), bytes);
  };
  CHECK(place.error("a.npz", changed64(locator + 8, little(~std::uint64_t{0}, 8)))
            .find("zip64 locator: points to byte 18446744073709551615, past itself") != std::string::npos);
  CHECK(place.error("a.npz", changed64(locator + 8, little(1, 8))).find("its signature is missing") !=
        std::string::npos);
  CHECK(place.error("a.npz", changed64(locator - 56 + 40, little(~std::uint64_t{0}, 8)))
            .find("which does not lead to its end record") != std::string::npos);
  CHECK(place.error("a.npz", changed64(locator, "XX")).find("which does not lead to its end record") !=
        std::string::npos);
}

TEST_CASE("npz: every prefix of a good archive is rejected") {
  const playground place;
  for (const zip_options& options : {zip_options{}, zip_options{.zip64_end = true}}) {
    const std::string good = zip({{.name = "w.npy", .contents = weight_file, .deflated = true, .zip64 = true},
                                  {.name = "b.npy", .contents = bias_file, .local_zip64 = true}},
                                 options);
    REQUIRE(place.error("a.npz", good).empty());
    for (std::size_t size = 0; size < good.size(); ++size) {
      INFO(size << " bytes");
      CHECK(place.error("a.npz", good.substr(0, size)).starts_with("a.npz: "));
    }
  }
}

TEST_CASE("npz: no change of a byte is read past the archive's bounds") {
  const playground place;
  const std::string good = zip({{.name = "w.npy", .contents = weight_file, .deflated = true, .zip64 = true},
                                {.name = "b.npy", .contents = bias_file, .local_zip64 = true}},
                               {.zip64_end = true});
  // Accepted or not, under the sanitizers it must not fault.
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const char byte : {'\x00', '\x7F', '\xFF'}) {
      std::string file = good;
      file[at] = byte;
      static_cast<void>(place.error("a.npz", file));
    }
}

TEST_CASE("npz: a flipped bit in a deflated archive loses no tensor") {
  const playground place;
  const std::string ids = npy(npy_dict("<i8", "(2,)"), std::string(16, '\1'));
  const std::string good = zip({{.name = "w.npy", .contents = weight_file, .deflated = true},
                                {.name = "b.npy", .contents = bias_file, .local_zip64 = true},
                                {.name = "ids.npy", .contents = ids, .deflated = true},
                                {.name = "note.txt", .contents = "for people", .sizes_follow = true}});
  const contents before = place.open("a.npz", good);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string file = good;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8));
    if (!place.error("a.npz", file).empty()) continue;
    const contents after = place.open({"a.npz"});
    INFO("bit " << bit);
    CHECK(after.notes == before.notes);
    CHECK(after.tensors == before.tensors);
    CHECK(after.table("w") == before.table("w"));
    CHECK(after.table("b") == before.table("b"));
  }
}

TEST_CASE("npz: a damaged type is an error that names member and type") {
  const playground place;
  const zip_entry good{.name = "w.npy", .contents = weight_file, .deflated = true};
  std::string damaged = weight_file;
  damaged[damaged.find("<f4") + 2] = '=';
  CHECK(place.error("a.npz", zip({good, {.name = "v.npy", .contents = damaged, .deflated = true}})) ==
        "a.npz: member 'v.npy': npy header: '<f=' is not a numpy type; the file is damaged");
}

TEST_CASE("npz: members that are not read have their CRC checked") {
  const playground place;
  const zip_entry good{.name = "w.npy", .contents = weight_file};
  const std::string ids = npy(npy_dict("<i8", "(100000,)"), std::string(800'000, '\1'));
  for (const zip_entry& other :
       {zip_entry{.name = "ids.npy", .contents = ids, .deflated = true, .crc_error = 4},
        zip_entry{.name = "ids.npy", .contents = ids, .crc_error = 4},
        zip_entry{.name = "x.txt", .contents = "x", .crc_error = 4}, zip_entry{.name = "empty", .crc_error = 4},
        zip_entry{.name = "empty", .deflated = true, .crc_error = 4}})
    CHECK(place.error("a.npz", zip({good, other})) ==
          "a.npz: member '" + other.name + "': its CRC-32 does not match its contents; the file is damaged");
}

TEST_CASE("npz: local headers agree with the directory") {
  const playground place;
  const std::string member = "a.npz: member 'w.npy': ";
  CHECK(place.error("a.npz", zip({{.name = "w.npy", .contents = weight_file, .local_crc_error = 1}})) ==
        member + "its own header gives it another CRC-32");
  CHECK(place.error("a.npz", zip({{.name = "w.npy", .contents = weight_file, .local_size = 3}})) ==
        member + "its own header gives it another size");
  CHECK(place.error("a.npz", zip({{.name = "w.npy", .contents = weight_file, .sizes_follow = true}})) == "");
  CHECK(place.error("a.npz", zip({{.name = "w.npy", .contents = weight_file, .flags = 8}})) == "");
}

TEST_CASE("npz: archives beyond the limits are refused in words that tell how to raise them") {
  const playground place;
  const auto refused = [&](const std::string& bytes, const source_options& raised, const std::string& error) {
    CHECK(place.error("a.npz", bytes) == error);
    CHECK(place.error("a.npz", bytes, raised) == "");
  };
  // 270 MiB of zeros in 270 kB.
  const std::string header = npy(npy_dict("<f4", "(70778880,)"), "");
  const std::string bomb =
      zip({{.name = "w.npy", .contents = header + std::string(std::size_t{270} << 20, '\0'), .deflated = true}});
  source_options ratio;
  ratio.limits.inflate_ratio = 1100;
  refused(bomb, ratio,
          "a.npz: " + std::to_string(bomb.size()) +
              " compressed bytes become 283115648 or more; the limit is 200 for each; "
              "--limit inflate-ratio=N raises it, --limit inflate-ratio=none lifts it, for files that you trust");
}

TEST_CASE("npz: gradients of zeros are read") {
  const playground place;
  const std::string zeros = npy(npy_dict("<f4", "(25000000,)"), std::string(100'000'000, '\0'));
  CHECK(place.open("a.npz", zip({{.name = "w.npy", .contents = zeros, .deflated = true}})).table("w").zeros ==
        25'000'000);
}

// numpy.load asks for the first bytes of a member, not for its name (numpy, lib/npyio.py, NpzFile.__getitem__).
TEST_CASE("npz: a member without suffix is an array where it begins as one") {
  const playground place;
  const contents read = place.open("a.npz", zip({{.name = "w", .contents = weight_file},
                                                 {.name = "b.npy", .contents = bias_file},
                                                 {.name = "notes", .contents = "\x93NUMP"},
                                                 {.name = "empty", .contents = ""}}));
  check_both(read);
  CHECK(read.tensors.size() == 2);
  CHECK(read.notes ==
        std::vector<std::string>{place.path("a.npz") + ": not read: 'notes' (not a .npy), 'empty' (not a .npy)"});
}
