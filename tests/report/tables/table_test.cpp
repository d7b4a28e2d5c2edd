// Pins how tables read: aligned text, RFC 4180 CSV with ranges as two columns, JSON with KEY, KEY_low and KEY_high of them.
#include "support/catch.hpp"

#include <ulp/report/tables/table.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

using namespace ulp;

namespace {

table example() {
  table t;
  t.columns = {{"name", "name"}, {"n", "count", {}, range_keys::both}, {"x", "value"}, {"", "shown"}, {"hidden", ""}};
  t.rows.push_back({std::string{"a,\"b\""}, count_range{1234567, 1234567}, 0.1, std::string{"s"}, true});
  t.rows.push_back({std::monostate{}, count_range{1, 20000}, std::nan(""), std::string{"t"}, std::int64_t{-5}});
  return t;
}

}  // namespace

TEST_CASE("text aligns numbers to the right and leaves out columns without title") {
  CHECK(to_text(example()) ==
        "name         count  value  shown\n"
        "a,\"b\"    1,234,567    0.1  s\n"
        "-      [1, 20,000]      -  t\n");
}

TEST_CASE("CSV quotes, splits ranges and leaves out columns without key") {
  CHECK(to_csv(example()) ==
        "name,n_low,n_high,x,hidden\n"
        "\"a,\"\"b\"\"\",1234567,1234567,0.1,1\n"
        ",1,20000,,-5\n");
}

TEST_CASE("CSV quotes keys too") {
  table t;
  t.columns = {{"norm_a,b", ""}, {"n \"x\"", "", {}, range_keys::both}};
  t.rows = {{1.5, count_range{1, 2}}};
  CHECK(to_csv(t) == "\"norm_a,b\",\"n \"\"x\"\"_low\",\"n \"\"x\"\"_high\"\n1.5,1,2\n");
}

TEST_CASE("in CSV a range is two columns as soon as a row of it is open") {
  const auto csv_of = [](const table_value& first, const table_value& second) {
    table t;
    t.columns = {{"n", "", {}, range_keys::where_open}};
    t.rows = {{first}, {second}};
    return to_csv(t);
  };
  const value_range unknown{std::nan(""), std::nan("")};
  CHECK(csv_of(count_range{1, 1}, count_range{2, 2}) == "n\n1\n2\n");
  CHECK(csv_of(count_range{1, 1}, count_range{2, 3}) == "n_low,n_high\n1,1\n2,3\n");
  CHECK(csv_of(value_range{0.5, 0.5}, unknown) == "n\n0.5\n\n");
  CHECK(csv_of(unknown, value_range{0.5, 1}) == "n_low,n_high\n,\n0.5,1\n");
  CHECK(csv_of(std::monostate{}, expected_count{{3, 4}, {1, 1}}) == "n_low,n_high\n,\n3,4\n");
}

TEST_CASE("a range whose ends read alike is one number") {
  CHECK(percent_text({0.10001, 0.10002}) == "10 %");
  CHECK(percent_text({0.1, 0.2}) == "[10, 20] %");
  CHECK(percent_text({0.999, 1}) == "[99.9, 100] %");
  CHECK(percent_text({36363.0 / 36368, 36363.0 / 36368}) == "99.99 %");
  CHECK(percent_text({1 - 1e-9, 1}) == "[99.9999999, 100] %");
  CHECK(ends_text("1", "1") == "1");
  CHECK(ends_text("1", "2") == "[1, 2]");
}

TEST_CASE("JSON has integers, the ends of ranges, null and the schema") {
  CHECK(to_json(example(), "s/1") ==
        "[\n"
        R"( {"schema":"s/1","name":"a,\"b\"","n":1234567,"n_low":1234567,"n_high":1234567,"x":0.1,"hidden":true},)"
        "\n"
        R"( {"schema":"s/1","name":null,"n":null,"n_low":1,"n_high":20000,"x":null,"hidden":-5})"
        "\n]\n");
  CHECK(to_json(table{}, "s/1") == "[\n]\n");
  CHECK(to_json(table{}, "s/1", {"a", "b"}) == "[\n {\"schema\":\"s/1\",\"notes\":[\"a\",\"b\"]}\n]\n");
}

TEST_CASE("JSON of an object has schema, summary, notes and rows") {
  table t;
  t.columns = {{"n", ""}};
  t.rows = {{std::int64_t{1}}, {std::int64_t{2}}};
  CHECK(to_json(named_values{{{"steps", std::int64_t{2}}}}, "steps", t, "s/1", {"a"}) ==
        "{\"schema\":\"s/1\",\"summary\":{\"steps\":2},\"notes\":[\"a\"],\n"
        "\"steps\":[\n {\"n\":1},\n {\"n\":2}\n]}\n");
}

TEST_CASE("a drawn count has bounds of its mean, the mean where it is known, and itself where it is always the same") {
  const auto json_of = [](const expected_count& c) {
    table t;
    t.columns = {{"n", "", {}, range_keys::both}};
    t.rows = {{c}};
    return to_json(t, "");
  };
  CHECK(json_of({{3, 3}, {0, 0}}) == "[\n {\"n\":3,\"n_low\":3.0,\"n_high\":3.0,\"n_mean\":3.0}\n]\n");
  CHECK(json_of({{3, 3}, {1, 1}}) == "[\n {\"n\":null,\"n_low\":3.0,\"n_high\":3.0,\"n_mean\":3.0}\n]\n");
  CHECK(json_of({{3, 4}, {1, 1}}) == "[\n {\"n\":null,\"n_low\":3.0,\"n_high\":4.0,\"n_mean\":null}\n]\n");
}

TEST_CASE("columns say what stands in them") {
  struct thing {
    std::string name;
    double size;
  };
  const std::vector<column<thing>> columns = {
      {"name", "name", &thing::name},
      {"size", "", [](const thing& x) { return x.size; }},
      {"", "twice", [](const thing& x) { return shortest(2 * x.size); }, {}, alignment::right},
  };
  const table t = table_of(columns, std::vector<thing>{{"a", 5}, {"b", 10}});
  CHECK(to_csv(t) == "name,size\na,5\nb,10\n");
  CHECK(to_text(t) == "name  twice\na        10\nb        20\n");
}

TEST_CASE("values under names are an object in JSON, and its text in CSV") {
  table t;
  t.columns = {{"numbers", ""}};
  t.rows.push_back({named_values{{{"rate", value_range{0.25, 0.5}},
                                  {"none", {}},
                                  {"of", named_values{{{"n", std::int64_t{3}}, {"x", std::nan("")}}}}}}});
  CHECK(to_json(t, "") ==
        "[\n "
        "{\"numbers\":{\"rate\":null,\"rate_low\":0.25,\"rate_high\":0.5,\"none\":null,\"of\":{\"n\":3,\"x\":null}}}\n]"
        "\n");
  CHECK(to_csv(t) ==
        "numbers\n\"{\"\"rate\"\":null,\"\"rate_low\"\":0.25,\"\"rate_high\"\":0.5,\"\"none\"\":null,\"\"of\"\":{"
        "\"\"n\"\":3,\"\"x\"\":null}}\"\n");
}

TEST_CASE("numbers as text") {
  CHECK(shortest(65536) == "65536");
  CHECK(shortest(0x1p-14) == "6.103515625e-05");
  CHECK(shortest(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(as_power(0x1p-14) == "2^-14");
  CHECK(as_power(4) == "4");
  CHECK(as_power(1000) == "1000");
  CHECK(as_power(0) == "0");
  CHECK(power_text(0.5) == "2^0.50");
  CHECK(power_text(std::numeric_limits<double>::quiet_NaN()) == "-");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(999) == "999");
  CHECK(count_text(0, "step") == "0 steps");
  CHECK(count_text(1, "step") == "1 step");
  CHECK(count_text(1000, "step") == "1,000 steps");
}

TEST_CASE("text of strangers is printable in tables, exact in JSON and CSV") {
  const std::string name = "a\x1B[2J\xC2\x9B\xE2\x80\xAE\xE2\x80\xA8\n\xFF";
  table t;
  t.columns = {{"name", "na\x1Bme"}};
  t.rows.push_back({name});
  CHECK(to_text(t) == "na\\x1Bme\na\\x1B[2J\\x9B\\u{202E}\\u{2028}\\x0A\\xFF\n");
  CHECK(to_cell(name) == "a\\x1B[2J\\x9B\\u{202E}\\u{2028}\\x0A\\xFF");
  CHECK(to_csv(t) == "name\n\"" + name + "\"\n");
  CHECK(to_json(t, "") == "[\n {\"name\":\"a\\u001b[2J\\u009B\\u202E\\u2028\\n\xEF\xBF\xBD\"}\n]\n");
}
