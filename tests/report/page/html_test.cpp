// Pins the page: well-formed, self-contained, text of strangers made harmless.
#include <ulp/report/page/html.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace ulp;

namespace {

report_page page_of(int steps) {
  report_page page{.input = "run.ulp", .format_name = "float16", .how = {float16}};
  page.tensors = {{.name = "layer<1>.\"weight\"", .kind = tensor_kind::weight_grad}};
  page.steps = static_cast<std::uint64_t>(steps);
  page.replays.push_back({.name = "pytorch_gradscaler", .parameters = "init_scale=65536"});
  for (int i = 0; i < steps; ++i) {
    const std::vector<float> values{1, 0x1p-30F, 0};
    page.binades.at_step(i).add(count_cells(std::span{values}), 1);
    page.losses.at_step(i).add({.tensor = 0, .counts = {.numel = 3, .zero = 1, .underflow = {1, 1}}});
    trajectory_row row;
    row.key.step = i;
    row.scale_used = row.scale_next = i % 2 == 0 ? 65536 : 32768;
    row.skipped = i % 2 == 0;
    row.critical_scale = 50000;
    row.norm = 1.5;
    page.replays.front().sum.add(row);
    page.replays.front().scales.at_step(i).add(row);
  }
  page.findings.push_back({"topic", "Which?", "a & b", {"x < y"}, "z", {}});
  page.commands.push_back({"ulp replay run.ulp --scaler 'it''s'", ""});
  page.replays.front().warnings.push_back("<script>alert(1)</script>");
  return page;
}

// Whether every tag that is opened is closed, in order.
bool is_balanced(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = html.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag[0] == '/' ? 1 : 0));
    if (tag[0] == '!' || tag.ends_with("/") || name == "meta") continue;
    if (tag[0] != '/') {
      open.push_back(name);
    } else {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    }
  }
  return open.empty();
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("the page is balanced, and needs nothing from anywhere") {
  for (const int steps : {2, 500}) {
    CAPTURE(steps);
    const std::string html = html_of(page_of(steps));
    CHECK(html.starts_with("<!DOCTYPE html>"));
    CHECK(is_balanced(html));
    for (const char* const outside : {"http", "src=", "href=", "url(", "@import", "<script"})
      CHECK(html.find(outside) == std::string::npos);
    CHECK(html.find("nan") == std::string::npos);
    CHECK(html.find("inf\"") == std::string::npos);
    CHECK(count_of(html, "role=\"img\"") == 4);
  }
}

TEST_CASE("names and messages cannot become markup") {
  const std::string html = html_of(page_of(3));
  CHECK(html.find("layer&lt;1&gt;.&quot;weight&quot;") != std::string::npos);
  CHECK(html.find("&lt;script&gt;alert(1)&lt;/script&gt;") != std::string::npos);
  CHECK(html.find("a &amp; b") != std::string::npos);
}

TEST_CASE("one step of one tensor is not called several") {
  const std::string html = html_of(page_of(1));
  CHECK(html.find("run.ulp: 1 step, 1 tensor</p>") != std::string::npos);
  CHECK(html.find("<p>1 step, of which 1 skipped") != std::string::npos);
  CHECK(html_of(page_of(2)).find("run.ulp: 2 steps, 1 tensor</p>") != std::string::npos);
}

TEST_CASE("formats whose blocks share a scale have a section: a table, three pictures, and the others folded") {
  report_page page = page_of(3);
  for (const char* const name : {"mxfp8", "mxfp4", "nvfp4", "mxint8", "fp8_128x128"}) {
    compared_blocks of{.of = block_formats_named({name}, "").front(), .basis = block_basis::scale, .counted = 1};
    of.exponents.by_exponent = {{-12, {3, 3}}, {-4, {1, 2}}, {1, {80, 80}}};
    of.exponents.numel = of.outcomes.numel = 84;
    of.has_outcomes = true;
    page.blocks.push_back(of);
  }
  page.blocks.back().basis = block_basis::tensor_scale;
  page.blocks.back().has_outcomes = false;
  page.blocks.back().why_open = "the input has no tables of such blocks (ulp record --blocks 128x128)";
  const std::string html = html_of(page);
  CHECK(is_balanced(html));
  CHECK(html.find("<h2>Formats whose blocks share a scale</h2>") != std::string::npos);
  CHECK(count_of(html, "values by magnitude over the block") == 4);
  CHECK(html.find("<summary>the other 2</summary>") != std::string::npos);
  CHECK(html.find("below it values may become zero") != std::string::npos);
  CHECK(html.find("--blocks</span> 128x128") != std::string::npos);
  CHECK(html.find("in one of two binades") != std::string::npos);
  CHECK(html_of(page_of(3)).find("share a scale") == std::string::npos);
}

TEST_CASE("a step log has no window and no losses") {
  report_page page = page_of(5);
  page.binades = {};
  page.losses = {};
  const std::string html = html_of(page);
  CHECK(is_balanced(html));
  CHECK(html.find("Underflow by tensor") == std::string::npos);
  CHECK(html.find("The loss scale") != std::string::npos);
}

TEST_CASE("aligned evidence is a table, a long command is folded under a short one") {
  report_page page = page_of(3);
  CHECK(html_of(page).find(
            "<details class=\"evidence\" open><summary>evidence and limits</summary><ul><li>x &lt; y</li></ul>") !=
        std::string::npos);
  page.findings.push_back(
      {"topic", "Which?", "one", {"all:", "a     1 %, few", "bcde  2 % (or 3, at most), many"}, "", {}});
  page.commands.push_back({"ulp info a b c <d>", "ulp info a [3 more files]"});
  const std::string html = html_of(page);
  CHECK(is_balanced(html));
  CHECK(html.find("<tr><th colspan=\"3\">all:</th></tr><tr><td>a</td><td>1 %</td><td>few</td></tr>"
                  "<tr><td>bcde</td><td>2 % (or 3, at most)</td><td>many</td></tr>") != std::string::npos);
  CHECK(html.find("<details><summary><code>ulp info a [3 more files]</code></summary><pre>ulp info a b c "
                  "&lt;d&gt;</pre></details>") != std::string::npos);
}

TEST_CASE("lines of evidence with different numbers of parts keep their sentences whole") {
  report_page page = page_of(3);
  page.findings.front().evidence = {"a  1 %, few", "b  2 %", "and so on"};
  CHECK(html_of(page).find("<tr><td>a</td><td>1 %, few</td></tr><tr><td>b</td><td>2 %</td></tr>"
                           "<tr><td colspan=\"2\">and so on</td></tr>") != std::string::npos);
}

TEST_CASE("the evidence of the first two findings is open, that of the others folded") {
  report_page page = page_of(3);
  for (int i = 0; i < 3; ++i) page.findings.push_back({"topic", "Which?", "one", {"x"}, "", {}});
  const std::string html = html_of(page);
  CHECK(count_of(html, "<details class=\"evidence\" open>") == 2);
  CHECK(count_of(html, "<details class=\"evidence\">") == 2);
  // Without evidence and limits there is nothing to fold.
  page.findings = {{"topic", "Which?", "one", {}, "", {}}};
  CHECK(count_of(html_of(page), "<details class=\"evidence\"") == 0);
}

TEST_CASE("every table and every picture scrolls in itself") {
  for (const int steps : {1, 30}) {
    report_page page = page_of(steps);
    page.matrix.columns = {{"", "kind"}, {"", "float16", alignment::right}};
    page.matrix.rows = {{std::string{"a"}, std::string{"1 %"}}};
    page.findings.push_back({"topic", "Which?", "one", {"a  1", "b  2"}, "", {}});
    const std::string html = html_of(page);
    CHECK(count_of(html, "<table") > 3);
    CHECK(count_of(html, "<table") == count_of(html, "<div class=\"wide\"><table"));
    CHECK(count_of(html, "role=\"img\"") == count_of(html, "<div class=\"plot\"><svg viewBox=\"0 0 960"));
    for (const char* const rule : {".wide{overflow-x:auto", ".plot{overflow-x:auto"}) CHECK(count_of(html, rule) == 1);
  }
}

TEST_CASE("a single step is a histogram, and no line has one point") {
  report_page page = page_of(1);
  page.logged.at_step(0).loss.add(2);
  const std::string html = html_of(page);
  CHECK(is_balanced(html));
  CHECK(count_of(html, "role=\"img\"") == 1);
  CHECK(count_of(html, "aria-label=\"values by magnitude, with the limits of float16 under pytorch_gradscaler\"") == 1);
  CHECK(html.find("The L2 norm of the unscaled weight gradients is 1.5.") != std::string::npos);
  // Two values in [2^-30, 2^-29) and [1, 2), of 1 high; the limits at 2^16 are those of float16 by 2^-16: 65520, 2^-14, 2^-25.
  const std::string picture =
      html.substr(html.find("aria-label=\"values"),
                  html.find("</svg>", html.find("aria-label")) - html.find("aria-label=\"values"));
  CHECK(count_of(picture, "opacity=\"0.75\"") == 2);
  const auto x_after = [&](const std::string& what) {
    const std::size_t at = picture.find(what);
    REQUIRE(at != std::string::npos);
    return std::stod(picture.substr(at + what.size()));
  };
  const double over = x_after("class=\"over\" d=\"M");
  const double normal = x_after("class=\"normal\" d=\"M");
  const double zero = x_after("class=\"zero\" d=\"M");
  const double binade = (over - normal) / (std::log2(65520.0) - 16 - (-14 - 16));
  CHECK((normal - zero) / binade == Approx(11).margin(0.05));
  CHECK(count_of(picture, ">2⁻³⁰</text>") == 1);
}

TEST_CASE("steps are labelled with round numbers, and powers are raised") {
  const std::string html = html_of(page_of(250));
  for (const char* const step : {"0", "50", "100", "150", "200"})
    CHECK(count_of(html, std::string{">"} + step + "</text>") >= 3);
  for (const char* const step : {"31", "32", "62", "64"})
    CHECK(count_of(html, std::string{">"} + step + "</text>") == 0);
  CHECK(count_of(html, ">2⁻²⁰</text>") >= 1);
  CHECK(html.find("2^") == std::string::npos);
  CHECK(html.find("from 2¹⁶ to 2¹⁵.") != std::string::npos);
}

TEST_CASE("loss and learning rate come first, and lost losses are marked") {
  report_page page = page_of(4);
  CHECK(html_of(page).find("Loss and learning rate") == std::string::npos);
  for (int i = 0; i < 4; ++i) {
    logged_values& logged = page.logged.at_step(i);
    if (i < 3) logged.loss.add(std::pow(10, -i));
    if (i == 3) logged.losses_lost = 1;
    logged.learning_rate.add(0.125);
  }
  const std::string html = html_of(page);
  CHECK(is_balanced(html));
  CHECK(html.find("What the run logged") < html.find("What float16 sees"));
  const std::size_t loss = html.find("aria-label=\"loss by step\"");
  const std::string picture = html.substr(loss, html.find("</svg>", loss) - loss);
  // Over two decades the axis is logarithmic: the values are on a line.
  CHECK(picture.find(">0.01</text>") != std::string::npos);
  CHECK(picture.find(">1</text>") != std::string::npos);
  CHECK(count_of(picture, "class=\"mark\"") == 1);
  CHECK(html.find("steps whose loss is NaN or infinite") != std::string::npos);
  CHECK(count_of(html, "aria-label=\"learning rate by step\"") == 1);
}

TEST_CASE("a learning rate stays until it is logged again, and zero has no place among decades") {
  const auto path_of = [](const std::vector<double>& rates) {
    report_page page = page_of(static_cast<int>(rates.size()));
    for (std::size_t i = 0; i < rates.size(); ++i)
      page.logged.at_step(static_cast<std::int64_t>(i)).learning_rate.add(rates[i]);
    const std::string html = html_of(page);
    const std::size_t at = html.find("class=\"rate\" d=\"");
    REQUIRE(at != std::string::npos);
    return html.substr(at, html.find("/>", at) - at);
  };
  CHECK(path_of({1, not_known, not_known, 2}) == path_of({1, 1, 1, 2}));
  // From 0.001 to 1: the rest of the line, without the last step.
  const std::string whole = path_of({1, 0.1, 0.01, 0.001});
  const std::string ended = path_of({1, 0.001, 0, 0});
  CHECK(count_of(whole, "H") == 4);
  CHECK(count_of(ended, "H") == 2);
}

TEST_CASE("skipped steps are marked below the gradients and the losses") {
  const std::string html = html_of(page_of(4));  // every other one is skipped
  for (const std::string picture : {"gradients by magnitude", "underflow by tensor", "loss scale by step"}) {
    CAPTURE(picture);
    const std::size_t at = html.find("aria-label=\"" + picture);
    const std::size_t mark = html.find("class=\"mark\" d=\"", at);
    REQUIRE(mark < html.find("</svg>", at));
    const std::string path = html.substr(mark, html.find("/>", mark) - mark);
    CHECK(count_of(path, "M") == 2);
    CHECK(count_of(html.substr(0, at), "skipped steps") >= 1);
  }
}

TEST_CASE("long names are cut in the middle and told whole") {
  report_page page = page_of(3);
  const std::string name = "transformer.encoder.block.layers.17.attention.query_projection.weight";
  page.tensors.front().name = name;
  const std::string html = html_of(page);
  CHECK(html.find("<title>" + name + "</title>transformer…tion.weight</text>") != std::string::npos);
  CHECK(html.find("<td title=\"" + name + "\">transformer.encoder.blo….query_projection.weight</td>") !=
        std::string::npos);
}

TEST_CASE("where nothing is lost a sentence says so") {
  report_page page = page_of(2);
  page.losses = {};
  page.losses.at_step(0).add({.tensor = 0, .counts = {.numel = 3}});
  const std::string html = html_of(page);
  CHECK(html.find("Under pytorch_gradscaler no gradient that is not zero becomes zero.") != std::string::npos);
  CHECK(count_of(html, "role=\"img\"") == 3);
}

TEST_CASE("cells of a heat map meet") {
  const std::string html = html_of(page_of(97));
  // The cells of the losses: a row of them, each in its column.
  const std::size_t losses = html.find("underflow by tensor and step");
  const auto value = [&](std::size_t from, const std::string& name) {
    return std::stod(html.substr(html.find(name + "=\"", from) + name.size() + 2));
  };
  double end = 0;
  int cells = 0;
  for (std::size_t at = html.find("<rect x=", losses); at < html.find("</svg>", losses);
       at = html.find("<rect x=", at + 1)) {
    const double x = value(at, " x");
    if (cells > 0) CHECK(x == Approx(end).margin(1e-6));
    end = x + value(at, " width");
    ++cells;
  }
  CHECK(cells == 97);
}

TEST_CASE("what is missing is hatched, what loses nothing is left empty") {
  report_page page = page_of(3);
  const std::string whole = html_of(page);
  CHECK(count_of(whole, "class=\"missing\"") == 0);
  CHECK(whole.find("no data") == std::string::npos);
  CHECK(count_of(whole, "nothing lost") == 1);

  // A tensor that loses nothing and is not in the second column, and a step without any.
  page.tensors.push_back({.name = "whole", .kind = tensor_kind::weight_grad});
  columns_of<tensor_losses> losses;
  for (int i = 0; i < 4; ++i) {
    tensor_losses& column = losses.at_step(i);
    if (i < 3) column.add({.tensor = 0, .counts = {.numel = 3, .zero = 1, .underflow = {1, 1}}});
    if (i != 1 && i < 3) column.add({.tensor = 1, .counts = {.numel = 3}});
  }
  page.losses = losses;
  page.binades.at_step(3);
  const std::string html = html_of(page);
  CHECK(is_balanced(html));
  // A column of the window, and the last column of the tensor that loses some; the other one has no row.
  CHECK(count_of(html, "class=\"missing\"") == 1 + 1 + 2);  // and the entries of two legends
  CHECK(count_of(html, "class=\"hatch\"") == 1 + 1 + 2);
  CHECK(count_of(html, "no data") == 2);
  CHECK(html.find("<details><summary>1 tensor loses nothing</summary><p>whole</p></details>") != std::string::npos);
}

TEST_CASE("notes are before the pictures, and folded where there are many") {
  report_page page = page_of(3);
  CHECK(html_of(page).find("class=\"notes\"") == std::string::npos);
  page.notes = {"this is unknown", "that is 2^-3"};
  std::string html = html_of(page);
  CHECK(html.find("<details class=\"notes\" open><summary>2 notes") < html.find("<svg"));
  CHECK(html.find("<li>this is unknown</li>\n<li>that is 2⁻³</li>") < html.find("<svg"));
  page.notes.resize(3, "more");
  html = html_of(page);
  CHECK(html.find("<details class=\"notes\"><summary>3 notes") < html.find("<svg"));
}

TEST_CASE("a scale that collapses does not stretch the picture of the gradients") {
  const auto picture_of = [](int steps) {
    report_page page = page_of(2);
    for (int i = 2; i < steps; ++i) {
      trajectory_row row;
      row.key.step = i;
      row.scale_used = row.scale_next = std::exp2(16 - 2 * i);
      page.replays.front().scales.at_step(i).add(row);
      page.binades.at_step(i);
    }
    const std::string html = html_of(page);
    const std::size_t at = html.find("aria-label=\"gradients");
    return html.substr(at, html.find("</svg>", at) - at);
  };
  CHECK(picture_of(10).find(">2⁰</text>") != std::string::npos);
  // The largest gradient is below 2: 30 binades above it and no more.
  CHECK(picture_of(60).find(">2³⁰</text>") != std::string::npos);
  for (const char* const beyond : {">2⁴⁰</text>", ">2⁶⁰</text>", ">2⁸⁰</text>", ">2¹⁰⁰</text>"})
    CHECK(picture_of(60).find(beyond) == std::string::npos);
}

TEST_CASE("a collapsed scale leaves gaps, not broken numbers") {
  report_page page = page_of(5);
  trajectory_row row;
  row.key.step = 5;
  row.scale_used = 0;
  page.replays.front().scales.at_step(5).add(row);
  page.binades.at_step(5);
  const std::string html = html_of(page);
  CHECK(is_balanced(html));
  CHECK(html.find("inf") == std::string::npos);
}

TEST_CASE("nothing on the page acts on the text around it") {
  const std::string hostile = "x\x1B\xC2\x9B\xE2\x80\xAE\xE2\x80\xA8\xFF\n<b>";
  report_page page = page_of(2);
  page.input = page.replays.front().warnings.front() = page.tensors.front().name = hostile;
  page.notes.push_back(hostile);
  page.findings.front().evidence = {hostile};
  page.commands.front().text = hostile;
  const std::string html = html_of(page);
  for (const std::string_view bad : {"\x1B", "\xC2\x9B", "\xE2\x80\xAE", "\xE2\x80\xA8", "\xFF", "<b>"})
    CHECK(html.find(bad) == std::string::npos);
  CHECK(html.find(R"(x\x1B\x9B\u{202E}\u{2028}\xFF\x0A&lt;b&gt;)") != std::string::npos);
}

TEST_CASE("scales of tensors under a recipe are pictures of the worst and a table of all") {
  report_page page = page_of(4);
  report_recipe recipe{.name = "te_delayed:hybrid", .lines = {{"saturation", "in 1 of 4 steps of a tensor", {}}}};
  recipe.tensors.columns = {{"tensor", "tensor"}};
  recipe.tensors.rows = {{std::string{"a<b"}}};
  recipe.worst.push_back({"a<b", {}});
  for (std::int64_t i = 0; i < 4; ++i) {
    fp8_row row{
        .key = {.step = i}, .amax = 1, .multiplied_by = i == 0 ? 1.0 : 224.0, .ideal = 448, .saturates = i == 2};
    recipe.worst.front().columns.at_step(i).add(row);
  }
  CHECK(html_of(page).find("A scale for each tensor") == std::string::npos);
  page.recipe = recipe;
  const std::string html = html_of(page);
  CHECK(is_balanced(html));
  CHECK(html.find("A scale for each tensor: te_delayed:hybrid") != std::string::npos);
  CHECK(html.find("in 1 of 4 steps of a tensor") != std::string::npos);
  CHECK(html.find("scale of a&lt;b") != std::string::npos);
  CHECK(html.find("nan") == std::string::npos);
  // Amaxes alone: steps that saturate, and those in which the scale is off.
  CHECK(html.find("By tensor and step: steps in which values saturate") != std::string::npos);
  CHECK(html.find("By tensor and step: steps in which the scale is off by more than a binade") != std::string::npos);
  CHECK(html.find("share of the nonzero values that saturate") == std::string::npos);
  // One step has no curve.
  report_page single = page_of(1);
  single.recipe = recipe;
  CHECK(html_of(single).find("scale of a&lt;b") == std::string::npos);
}

TEST_CASE("what happened under a recipe is told first, and its findings are below the pictures") {
  report_page page = page_of(4);
  report_recipe recipe{.name = "te_delayed:e5m2 margin=1", .happened = "1 of 2 tensors saturates"};
  recipe.grade = finding_grade::trouble;
  recipe.findings = {
      {.topic = "fp8_saturation", .question = "What saturates?", .conclusion = "a<b does", .limits = "open"}};
  recipe.tensors.columns = {{"tensor", "tensor"}};
  for (const std::string name : {"early", "late"}) {
    recipe.worst.push_back({name, {}});
    for (std::int64_t i = name == "late" ? 2 : 0; i < 4; ++i) {
      fp8_row row{.key = {.step = i}, .amax = 1, .multiplied_by = 448, .ideal = 448, .saturates = i == 3};
      row.has_counts = true;
      row.counts = {.numel = 10, .zero = 2, .overflow = {i == 3 ? 4U : 0U, i == 3 ? 4U : 0U}};
      recipe.worst.back().columns.at_step(i).add(row);
    }
  }
  page.recipe = recipe;
  const std::string html = html_of(page);
  CHECK(is_balanced(html));
  CHECK(html.find("<dl class=\"first ill\"><dt>What happened</dt><dd>1 of 2 tensors saturates</dd>") !=
        std::string::npos);
  CHECK(html.find("<h3>What saturates?</h3><p>a&lt;b does</p>") != std::string::npos);
  CHECK(html.find("By tensor and step: share of the nonzero values that saturate") != std::string::npos);
  CHECK(html.find("By tensor and step: steps in which the scale") == std::string::npos);  // none is off
  // The tensor that came late is hatched before.
  CHECK(html.find("no nonzero value") != std::string::npos);
}

TEST_CASE("a plan is a map whose cells say why, and another run is marked where it differs") {
  report_page page = page_of(30);
  plan_answer plan{.hardware = &plan_hardware_named("hopper")};
  plan.treatments = plan.hardware->rows();
  plan.info = page.tensors;
  plan.tensors.push_back({.tensor = 0, .numel = 12});
  plan.tensors.back().of.resize(plan.treatments.size());
  page.plan = plan;
  compare_answer other;
  other.a.name = "run.ulp";
  other.b.name = "<other>.ulp";
  for (std::int64_t i = 0; i < 30; ++i) {
    other.a.losses.push_back({i, 2.0});
    other.b.losses.push_back({i, i < 20 ? 2.0 : 3.0});
  }
  other.found.first = parted_step{.step = 20, .parts = {{.part = step_part::loss, .change = 0.5, .a = 2, .b = 3}}};
  page.comparisons.push_back(other);
  const std::string html = html_of(page);
  CHECK(is_balanced(html));
  CHECK(html.find("<title>layer&lt;1&gt;") != std::string::npos);
  CHECK(html.find("step 20: the loss") != std::string::npos);
  CHECK(html.find("<other>") == std::string::npos);
}
