// Fault 10: small files of others that would take memory and time beyond measure; each limit names its override.
#include <ulp/io/bytes/limits.hpp>

#include "io/builders.hpp"
#include "io/tf_builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// With so few tensors allowed.
source_options at_most(std::uint64_t tensors) {
  source_options options;
  options.limits.tensors = tensors;
  return options;
}

const std::string raise_tensors =
    " or more; the limit is 2 tensors; --limit tensors=N raises it, --limit tensors=none lifts it, for files that you "
    "trust";

std::string entry(const std::string& name) {
  return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("limits: tensors are counted in every kind of file, and over all files") {
  const playground place;
  const std::string one = npy(npy_dict("<f4", "(0,)"), "");
  const auto check = [&](const std::string& name, const std::string& bytes, const std::string& where,
                         std::uint64_t enough = 3) {
    INFO(name);
    CHECK(place.error(name, bytes, at_most(2)) == name + ": " + where + raise_tensors);
    CHECK(place.error(name, bytes, at_most(enough)) == "");
  };
  check("a.safetensors", safetensors("{" + entry("a") + "," + entry("b") + "," + entry("c") + "}", ""),
        "header: holds 3 tensors");
  check("a.safetensors", safetensors("{" + entry("a") + R"(,"__metadata__":{"a":"","b":"","c":"","d":""}})", ""),
        "header: holds 4 keys in one object", 4);
  check("a.npz",
        zip({{.name = "a.npy", .contents = one}, {.name = "b.npy", .contents = one}, {.name = "c", .contents = ""}}),
        "central directory: holds 3 members");
  const std::string row = ",1,1,0,0,0,0,\n";
  check("a.csv", "step,tensor,n,zero,nan,inf,max_abs,e_min,counts\n1,a" + row + "1,b" + row + "1,c" + row,
        "holds 3 tensors");
  check("a.csv", "step,layer,found_inf\n1,a,0\n1,b,0\n1,c,1\n", "step 1: holds 3 layers");

  for (const std::string name : {"step1/a.npy", "step1/b.npy", "step2/c.npy"}) place.write(name, one);
  const std::vector<std::string> three{"step1/a.npy", "step1/b.npy", "step2/c.npy"};
  CHECK(place.error(three, at_most(2)) ==
        "step2/c.npy: holds 3 different tensors, with those of other inputs," + raise_tensors);
  CHECK(place.error(three, at_most(3)) == "");
}

TEST_CASE("limits: event files with many tags or values") {
  const playground place;
  const made_histogram h{.min = 1, .max = 1, .num = 1, .sum_squares = 1, .limits = {2}, .counts = {1}};
  const std::string tags = tf_begin() + tf_event(1, {tf_histogram("a", h)}) + tf_event(2, {tf_histogram("b", h)}) +
                           tf_event(3, {tf_scalar("c", 1)});
  CHECK(place.error("a.tfevents", tags, at_most(2)).ends_with("holds 3 different tags" + raise_tensors));
  CHECK(place.error("a.tfevents", tags, at_most(3)) == "");
  const std::string values = tf_begin() + tf_event(1, {tf_histogram("a", h), tf_scalar("a", 1), tf_scalar("a", 1)});
  CHECK(place.error("a.tfevents", values, at_most(2)).find("--limit tensors=N") != std::string::npos);
  // An empty value is two bytes of a record and two hundred of memory.
  const std::string summary = repeated(std::string("\x0A\0", 2), 200'000);
  const std::string many = tf_begin() + tf_record(pb_int(2, 1) + pb_bytes(5, summary));
  CHECK(place.error("a.tfevents", many).find("an event of more than 100000 values") != std::string::npos);
}

TEST_CASE("limits: a header of empty tensors") {
  const playground place;
  std::string header = "{" + entry("t");
  for (int i = 0; i < 200'000; ++i) header += "," + entry("t" + std::to_string(i));
  CHECK(place.error("a.safetensors", safetensors(header + "}", "")).find("; --limit header-share=N raises it") !=
        std::string::npos);
  source_options options;
  options.limits.header_share = read_limits::none;
  CHECK(
      place.error("a.safetensors", safetensors(header + "}", ""), options) ==
      "a.safetensors: header: holds 100001 tensors or more; the limit is 100000 tensors; --limit tensors=N raises it, "
      "--limit tensors=none lifts it, for files that you trust");
  options.limits.header = 10'000;
  CHECK(place.error("a.safetensors", safetensors(header + "}", ""), options).find("; --limit header=N raises it") !=
        std::string::npos);
}

TEST_CASE("limits: text that inflates beyond measure") {
  const playground place;
  const std::string rows = "step,found_inf\n0,0\n" + repeated(std::string(1023, ' ') + "\n", 40'000) + "1,1\n";
  const std::string error = place.error("a.csv.gz", gzip(rows));
  CHECK(error.starts_with("a.csv.gz: "));
  CHECK(error.find("; --limit inflate-ratio=N raises it") != std::string::npos);
  source_options options;
  options.limits.inflate_ratio = read_limits::none;
  CHECK(place.error("a.csv.gz", gzip(rows), options) == "");
  options.limits.text = 1'000'000;
  CHECK(place.error("a.csv.gz", gzip(rows), options).find("; --limit text=N raises it") != std::string::npos);
  CHECK(place.error("a.csv", rows, options) == "");
  // --scalars likewise.
  place.write("step0.npy", npy(npy_dict("<f4", "(0,)"), ""));
  place.write("s.csv.gz", gzip(rows));
  source_options scalars;
  scalars.scalars = "s.csv.gz";
  CHECK(place.error(std::vector<std::string>{"step0.npy"}, scalars).find("; --limit inflate-ratio=N raises it") !=
        std::string::npos);
}

TEST_CASE("limits: many layers of a step take no time") {
  const playground place;
  std::string log = "step,layer,found_inf\n";
  for (int i = 0; i < 90'000; ++i) log += "1," + std::to_string(i) + ",0\n";
  CHECK(place.open("a.csv", log).steps[0].layers.size() == 90'000);
  CHECK(place.error("a.csv", log + "1,7,0\n") ==
        "a.csv: line 90002, column 'layer': layer '7' has a second row in this step");
}
