#include <ulp/report/tables/table.hpp>

int main() {
  const ulp::table t{.columns = {{.key = "format", .title = "format"}}, .rows = {{std::string{"float16"}}}};
  return ulp::to_csv(t) == "format\nfloat16\n" ? 0 : 1;
}
